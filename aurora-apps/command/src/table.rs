//! A report for people.

use aurora_apps::clock::Kind;
use aurora_apps::implementation::Implementation;
use aurora_apps::report::{Comparison, Report, Spread};
use std::fmt::{self, Display, Formatter};

/// Shows a report as a table.
pub struct Table<'r, R>(pub &'r R);

impl Display for Table<'_, Comparison<Report>> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (number, report) in self.0.results.iter().enumerate() {
            let space = if number > 0 { "\n" } else { "" };
            write!(f, "{space}{}", Table(report))?;
        }
        let of = |name: &str| self.0.results.iter().find(|report| report.implementation == name);
        for (behaviour, naive) in ["aurora", "pages", "accumulate"].iter().filter_map(|name| of(name).zip(of("naive")))
        {
            let (ratio, name) = (naive.seconds.median / behaviour.seconds.median, &behaviour.implementation);
            writeln!(f, "\nwithout a behaviour it takes {ratio:.1} times as long as by `{name}`")?;
        }
        Ok(())
    }
}

impl Display for Table<'_, Report> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let report = self.0;
        writeln!(
            f,
            "{} {}{}{}, {}: {}, {}, seed {}",
            report.app,
            report.size,
            if report.variant.is_empty() { String::new() } else { format!(" {}", report.variant) },
            report.measures.iter().map(|(name, value)| format!(", {name} {value}")).collect::<String>(),
            report.implementation,
            count(report.ranks, "rank"),
            count(report.reps, "repetition"),
            report.seed
        )?;
        writeln!(f)?;
        writeln!(f, "{:34}{:>12}{:>12}{:>12}", "seconds", "min", "median", "max")?;
        for phase in &report.phases {
            let kind = match phase.kind {
                Kind::Computing => "computing",
                Kind::Sharing => "sharing",
            };
            line(f, &format!("  {:20}{kind}", phase.name), phase.seconds)?;
        }
        line(f, "repetition", report.seconds)?;
        line(f, "  of it sharing", report.sharing_seconds)?;
        if report.hidden_seconds.max > 0.0 {
            line(f, "  hidden behind computing", report.hidden_seconds)?;
        }
        let name = "sequential program";
        writeln!(f, "{name:34}{:>24.6}", report.sequential_seconds)?;
        writeln!(f)?;
        writeln!(f, "speed-up   {:.2}{}", report.speedup, why_none(report).unwrap_or_default())?;
        if let (Some(messages), Some(bytes)) = (report.messages, report.bytes) {
            writeln!(f, "sent       {}, {bytes} bytes in a repetition", count(messages as usize, "message"))?;
        }
        let verdict = if report.verified { "verified" } else { "NOT VERIFIED: the result is wrong" };
        writeln!(f, "result     {verdict}")
    }
}

/// Returns the reason why several ranks gain very little.
fn why_none(report: &Report) -> Option<String> {
    let is_parallel = report.ranks > 1 && report.implementation != Implementation::Sequential.name();
    let sharing = report.sharing_seconds.median / report.seconds.median;
    match sharing {
        _ if !is_parallel || report.speedup >= 1.2 => None,
        sharing if sharing > 0.3 => Some(format!(": {:.0} % of a repetition is sharing", 100.0 * sharing)),
        _ => Some(": the ranks compute no faster together, as with very little work, or on fewer free cores".into()),
    }
}

/// Writes a row with the spread of one figure.
pub fn line(f: &mut Formatter<'_>, name: &str, of: Spread) -> fmt::Result {
    writeln!(f, "{name:34}{:>12.6}{:>12.6}{:>12.6}", of.min, of.median, of.max)
}

pub fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}
