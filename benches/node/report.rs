//! The table, as Markdown; what the README has of it.

use aurora_apps::report::Spread;
use aurora_suite::figures::Table;
use aurora_suite::figures::job::{Run, crowd};
use aurora_suite::figures::judge::{Measured, Share};
use aurora_suite::figures::row::Reach;
use aurora_suite::machine::{allowed_cores, commit, description, today};
use aurora_suite::mpi::Flavour;

/// The head of the table.
pub const HEAD: &str = "\
| row | what | ranks | to be reached | Aurora: min / median / max | reached | beside: min / median / max | cores busy |
|---|---|---|---|---|---|---|---|";

/// Ours, and the best of the others.
fn both(measured: &Measured) -> (&Share, Option<&Share>) {
    let ours = measured.ours().next().expect("a complete row has ours");
    (ours, measured.best().first().copied())
}

/// A row of the table.
pub fn line(measured: &Measured) -> String {
    let row = measured.row;
    let spread = |Spread { min, median, max }: Spread| {
        let [min, median, max] = [min, median, max].map(|value| row.figure.show(value));
        format!("{min} / **{median}** / {max} {}", row.figure.unit)
    };
    let (ours, beside) = both(measured);
    let beside = beside.map_or("-".into(), |Share { who, value, .. }| {
        let times = ours.value.median / value.median;
        let times = if times.is_finite() { format!(" ({times:.2} x)") } else { String::new() };
        format!("{who} {}{times}", spread(*value))
    });
    let reached = match measured.shortfalls()[..] {
        _ if row.reach == Reach::Any => "-",
        [] => "yes",
        _ => "**no**",
    };
    let (name, what, goal, ranks) = (row.name, row.what, row.goal(), row.job.ranks);
    let (crowd, ours, busy) = (crowd(allowed_cores(), ranks), spread(ours.value), measured.busy() * 100.0);
    format!("| {name} | {what} | {ranks}{crowd} | {goal} | {ours} | {reached} | {beside} | {busy:.0} % |")
}

/// A row that stands beside MPI, in short; but not the bare load, where Aurora lends memory and MPI copies it.
fn short_line(measured: &Measured, cores: usize) -> Option<String> {
    let row = measured.row;
    let (ours, beside) = both(measured);
    let theirs = beside.filter(|beside| beside.who.starts_with("mpi"))?;
    if row.name.starts_with("load") || row.figure.unit == "%" {
        return None;
    }
    let ratio = ours.value.median / theirs.value.median;
    let bold = if (ratio < 1.0) == row.figure.is_a_rate() && ratio != 1.0 { "**" } else { "" };
    let ranks = match row.job.ranks {
        2 if cores >= 2 => String::new(),
        number => format!(", {number} ranks{}", crowd(cores, number)),
    };
    let [ours, beside] = [ours, theirs].map(|of| format!("{} {}", row.figure.show(of.value.median), row.figure.unit));
    Some(format!("| {}{ranks} | {ours} | {} {beside} | {bold}{ratio:.2}{bold} |\n", row.what, theirs.who))
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

/// The rows that stand beside MPI, in short.
pub fn short(table: &Table) -> String {
    let rows: String = table.rows.iter().filter_map(|row| short_line(row, allowed_cores())).collect();
    format!(
        "By `benches/one-node` on {}, {}; Open MPI in the same job, in turns, on the same data, every byte checked. \
         Medians on 2 ranks, or as many as it says; beside programs stands the faster of their two forms over MPI. \
         Where a ratio is **bold**, MPI is faster.\n\n\
         | what | Aurora | MPI | Aurora / MPI |\n|---|---|---|---|\n{}\n\n\
         More, with least and most, and the commands: [RESULTS.md](benches/RESULTS.md).\n",
        description(),
        today(),
        rows.trim_end(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::ROWS;
    use aurora_suite::figures::job::{Outcome, Seen};

    #[test]
    fn more_ranks_than_cores_are_said() {
        for (name, cores, begin) in [
            ("barrier", 2, "| barrier |"),
            ("barrier", 1, "| barrier, 2 ranks on 1 core |"),
            ("barrier-by-4", 2, "| barrier, 4 ranks on 2 cores |"),
            ("barrier-by-4", 4, "| barrier, 4 ranks |"),
        ] {
            let row = *ROWS.iter().find(|row| row.name == name).expect("a row");
            let share = |(who, _)| {
                let value = Spread::exactly(1.0);
                Share { job: 0, who, is_ours: who == "aurora", value, said: Default::default() }
            };
            let outcome = Outcome { run: row.job.whole(1), object: Default::default(), seen: Seen::default() };
            let shares = row.picks().into_iter().map(share).collect();
            let line = short_line(&Measured { row, outcomes: vec![outcome], shares }, cores);
            assert!(line.as_ref().is_some_and(|line| line.starts_with(begin)), "{line:?}");
        }
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
