//! The table, as Markdown.

use crate::job::{Jobs, mpirun};
use crate::judge::{Beside, Measured};
use crate::row::{Job, Row, Unit};
use aurora_apps::report::Spread;
use aurora_suite::machine;

/// A row, or why there is none.
pub type Line = (Row, Result<Measured, Vec<String>>);

/// The head of the table.
pub const HEAD: &str = "\
| row | what | ranks | to be reached | Aurora: min / median / max | reached | beside: min / median / max | cores busy |
|---|---|---|---|---|---|---|---|";

impl Unit {
    /// Of what a report says: seconds, bytes, parts of one.
    pub fn of(self, said: Spread) -> Spread {
        said.map(|value| match self {
            Unit::Nanos => value * 1e9,
            Unit::Micros => value * 1e6,
            Unit::Millis => value * 1e3,
            Unit::Millions => value / 1e6,
            Unit::Gigabytes => value,
            Unit::Mebibytes => value / (1 << 20) as f64,
            Unit::Percent => value * 100.0,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Unit::Nanos => "ns",
            Unit::Micros => "us",
            Unit::Millis => "ms",
            Unit::Millions => "million/s",
            Unit::Gigabytes => "GB/s",
            Unit::Mebibytes => "MiB",
            Unit::Percent => "%",
        }
    }

    /// Whether more of it is better.
    pub fn is_a_rate(self) -> bool {
        matches!(self, Unit::Millions | Unit::Gigabytes)
    }

    pub fn show(self, value: f64) -> String {
        let digits = match value {
            _ if value >= 100.0 => 0,
            _ if value >= 10.0 => 1,
            _ => 2,
        };
        format!("{value:.digits$}")
    }

    fn spread(self, Spread { min, median, max }: Spread) -> String {
        let [min, median, max] = [min, median, max].map(|value| self.show(value));
        format!("{min} / **{median}** / {max} {}", self.name())
    }
}

/// A row of the table; a failure is a line of its own.
pub fn summary((row, result): &Line) -> String {
    let measured = match result {
        Err(reasons) => return format!("\nNOT A ROW: {} ({}): {}\n", row.what, row.name, reasons.join("; ")),
        Ok(measured) => measured,
    };
    let reached = match row.is_reached(measured) {
        Some(true) => "yes",
        Some(false) => "**no**",
        None => "-",
    };
    format!(
        "| {} | {} | {}{} | {} | {} | {reached} | {} | {:.0} % |",
        row.name,
        row.what,
        row.job.ranks,
        crowd(machine::allowed_cores(), row.job.ranks),
        row.goal(),
        row.unit.spread(measured.ours),
        beside(row, measured).unwrap_or("-".into()),
        measured.busy * 100.0,
    )
}

/// On how many cores so many ranks are, if these are fewer: then they take turns, and who polls while he waits takes
/// another's time.
pub fn crowd(cores: usize, ranks: usize) -> String {
    match cores {
        _ if ranks <= cores => String::new(),
        1 => " on 1 core".into(),
        _ => format!(" on {cores} cores"),
    }
}

fn beside(row: &Row, measured: &Measured) -> Option<String> {
    let Beside { who, spread } = measured.beside.as_ref()?;
    let times = measured.ours.median / spread.median;
    let times = if times.is_finite() { format!(" ({times:.2} x)") } else { String::new() };
    Some(format!("{who} {}{times}", row.unit.spread(*spread)))
}

/// The head of the short table.
pub const SHORT_HEAD: &str = "\
| what | Aurora | MPI | Aurora / MPI |
|---|---|---|---|";

/// A row that stands beside MPI, in short; but not the bare load, where Aurora lends memory and MPI copies it.
pub fn short((row, result): &Line, cores: usize) -> Option<String> {
    let measured = result.as_ref().ok()?;
    let Beside { who, spread } = measured.beside.as_ref().filter(|beside| beside.who.starts_with("mpi"))?;
    if row.name.starts_with("load") || row.unit == Unit::Percent {
        return None;
    }
    let (ours, theirs, unit) = (measured.ours.median, spread.median, row.unit);
    let ratio = ours / theirs;
    let loses = if unit.is_a_rate() { ratio < 1.0 } else { ratio > 1.0 };
    let bold = if loses { "**" } else { "" };
    let ranks = match row.job.ranks {
        2 if cores >= 2 => String::new(),
        number => format!(", {number} ranks{}", crowd(cores, number)),
    };
    Some(format!(
        "| {}{ranks} | {} {unit} | {who} {} {unit} | {bold}{ratio:.2}{bold} |\n",
        row.what,
        unit.show(ours),
        unit.show(theirs),
        unit = unit.name(),
    ))
}

/// What was run.
pub fn commands(jobs: &Jobs) -> String {
    let line = |job: Job| {
        let (mpirun, arguments) = (mpirun(job.ranks).join(" "), jobs.arguments(job).join(" "));
        format!("- `mpirun.openmpi {mpirun} aurora {arguments}`\n")
    };
    jobs.done.iter().map(|(job, _)| line(*job)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::ROWS;

    #[test]
    fn more_ranks_than_cores_are_said() {
        let spread = Spread { min: 1.0, median: 1.0, max: 1.0 };
        let beside = Some(Beside { who: "mpi-collective".into(), spread });
        let measured = Measured { ours: spread, beside, busy: 1.0 };
        let line = |name: &str, cores| {
            let row = ROWS.into_iter().find(|row| row.name == name).expect("a row");
            short(&(row, Ok(measured.clone())), cores).expect("it stands beside MPI")
        };
        assert!(line("barrier", 2).starts_with("| barrier |"));
        assert!(line("barrier", 1).starts_with("| barrier, 2 ranks on 1 core |"));
        assert!(line("barrier-by-4", 2).starts_with("| barrier, 4 ranks on 2 cores |"));
        assert!(line("barrier-by-4", 4).starts_with("| barrier, 4 ranks |"));
    }
}
