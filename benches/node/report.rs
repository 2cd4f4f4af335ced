//! The table, as Markdown.

use crate::job::{Jobs, mpirun};
use crate::judge::Measured;
use crate::row::{Job, Row, Unit};
use aurora_apps::report::Spread;

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

    fn show(self, value: f64) -> String {
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
        "| {} | {} | {} | {} | {} | {reached} | {} | {:.0} % |",
        row.name,
        row.what,
        row.job.ranks,
        row.goal(),
        row.unit.spread(measured.ours),
        beside(row, measured).unwrap_or("-".into()),
        measured.busy * 100.0,
    )
}

fn beside(row: &Row, measured: &Measured) -> Option<String> {
    let (pick, spread) = (row.beside?, measured.beside?);
    let who = pick.kind.unwrap_or(pick.implementation);
    let times = measured.ours.median / spread.median;
    let times = if times.is_finite() { format!(" ({times:.2} x)") } else { String::new() };
    Some(format!("{who} {}{times}", row.unit.spread(spread)))
}

/// What was run.
pub fn commands(jobs: &Jobs) -> String {
    let line = |job: Job| {
        let (mpirun, arguments) = (mpirun(job.ranks).join(" "), jobs.arguments(job).join(" "));
        format!("- `mpirun.openmpi {mpirun} aurora {arguments}`\n")
    };
    jobs.done.iter().map(|(job, _)| line(*job)).collect()
}
