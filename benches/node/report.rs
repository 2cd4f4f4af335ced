//! The table, as Markdown.

use aurora_apps::report::Spread;
use aurora_suite::figures::Table;
use aurora_suite::figures::job::Run;
use aurora_suite::figures::judge::{Measured, Share};
use aurora_suite::figures::row::three_digits;
use aurora_suite::machine::{commit, description, today};
use aurora_suite::mpi::Flavour;

/// The figures of Aurora, and the best figures of the other systems: minimum, median and maximum.
pub fn figures(measured: &Measured) -> [String; 2] {
    let figure = measured.row.figure;
    let spread = |Spread { min, median, max }: Spread| {
        let [min, median, max] = [min, median, max].map(|value| figure.show(value));
        format!("{min} / **{median}** / {max} {}", figure.unit)
    };
    let ours = measured.ours().next().expect("a complete row has ours");
    let beside = measured.best().first().map_or("-".into(), |Share { who, value, .. }| {
        let times = ours.value.median / value.median;
        let times = if times.is_finite() { format!(" ({} x)", three_digits(times)) } else { String::new() };
        format!("{who} {}{times}", spread(*value))
    });
    [spread(ours.value), beside]
}

/// The section of `benches/RESULTS.md`.
pub fn section(table: &Table, reps: usize) -> String {
    let command = |(run, _): &(Run, _)| format!("- `mpirun.openmpi {} aurora {}`\n", run.mpirun(), run.words);
    let commands: String = table.done.iter().map(command).collect();
    let (machine, commit, today) = (description(), commit(), today());
    let (mpi, took, text) = (Flavour::Open.version(), &table.took, table.text());
    format!(
        "Written by `benches/one-node`; what is measured how: [aurora bench](../aurora-apps/src/bench/README.md).\n\n\
         - Machine: {machine}.\n\
         - Open MPI {mpi}, rayon; all implementations of a job in turns on the same data, every byte checked.\n\
         - Commit {commit}, {today}; {took}, {reps} repetitions unless the command says fewer.\n\
         - Least, middle and most of the repetitions, whose times are the slowest rank's; \
         what is to be reached is the middle.\n\n\
         {text}## The commands\n\n{commands}",
    )
}

#[cfg(test)]
mod tests {
    use crate::row::ROWS;
    use aurora_suite::results;

    #[test]
    fn the_results_have_each_row() {
        let results = results::read(results::FILE).expect("they are there");
        let missing = ROWS.iter().find(|row| !results.contains(&format!("| {} | {} |", row.name, row.what)));
        assert!(missing.is_none(), "run benches/one-node: {missing:?}");
    }

    /// `benches/one-node` finds the rows at the beginnings of lines.
    #[test]
    fn a_row_begins_a_line() {
        assert_eq!(include_str!("row.rs").matches("\n    row(\"").count(), ROWS.len());
    }

    #[test]
    fn names_are_given_once_and_ours_comes_first() {
        for (number, row) in ROWS.iter().enumerate() {
            assert!(ROWS[..number].iter().all(|other| other.name != row.name), "{}", row.name);
            let ours = ["aurora", "accumulate"].contains(&row.picks()[0].0);
            assert!(ours || row.name == "memory-mpi", "{}", row.name);
        }
    }
}
