//! The report of a bench, for people.

use crate::table::{Table, count};
use aurora_apps::bench::Figures;
use aurora_apps::report::profile;
use aurora_apps::report::{Comparison, Measured, Spread};
use std::fmt::{self, Display, Formatter};

impl Display for Table<'_, Comparison<Figures>> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let main = &self.0.main;
        write!(f, "{}", main.bench)?;
        if main.bytes > 0 {
            write!(f, " of {} bytes", main.bytes)?;
        }
        if !main.variant.is_empty() {
            write!(f, ", {}", main.variant)?;
        }
        writeln!(f, ": {}, {}, seed {}", count(main.ranks, "rank"), count(main.reps, "repetition"), main.seed)?;
        writeln!(f)?;
        row(f, "", "", ["min", "median", "max"])?;
        for figures in &self.0.results {
            let kind = figures.memory.as_ref().or(figures.access.as_ref());
            time(f, kind.unwrap_or(&figures.implementation), "time", figures.seconds)?;
            if let Some(ready) = figures.ready_seconds {
                time(f, "", "after last entry", ready)?;
            }
            if let Some(with_read) = figures.with_read_seconds {
                time(f, "", "with full read", with_read)?;
            }
            if let Some(Spread { min, median, max }) = figures.pss_bytes {
                const MIB: f64 = (1 << 20) as f64;
                one_digit(f, "MiB in memory", Spread { min: min / MIB, median: median / MIB, max: max / MIB })?;
            }
            if let Some(Spread { min, median, max }) = figures.per_second {
                let millions = Spread { min: min / 1e6, median: median / 1e6, max: max / 1e6 };
                one_digit(f, "million a second", millions)?;
            }
            if let Some(shares) = figures.shares {
                digits(f, "most / least", 2, shares)?;
            }
            if let Some(rate) = figures.gigabytes_per_second {
                digits(f, "GB/s", 2, rate)?;
            }
            time(f, "", "CPU time", figures.cpu_seconds)?;
            if let Some(packets) = figures.packets_sent {
                one_digit(f, "packets sent", packets)?;
            }
            if let Some(packets) = figures.packets_resent {
                one_digit(f, "packets resent", packets)?;
            }
        }
        writeln!(f)?;
        let verdict = if self.0.verified() { "verified" } else { "NOT VERIFIED: what arrived is wrong" };
        writeln!(f, "{:18}{verdict}", "result")?;
        profile::notice(profile::HERE).map_or(Ok(()), |notice| writeln!(f, "{:18}{notice}", "note"))
    }
}

/// Writes times in the unit that suits the median, so that the three values are easy to compare.
fn time(f: &mut Formatter<'_>, name: &str, what: &str, of: Spread) -> fmt::Result {
    let units = [("s", 1.0), ("ms", 1e3), ("us", 1e6)];
    let (unit, scale) = units.into_iter().find(|(_, scale)| of.median * scale >= 1.0).unwrap_or(("ns", 1e9));
    row(f, name, what, [of.min, of.median, of.max].map(|seconds| format!("{:.3} {unit}", seconds * scale)))
}

fn one_digit(f: &mut Formatter<'_>, what: &str, of: Spread) -> fmt::Result {
    digits(f, what, 1, of)
}

fn digits(f: &mut Formatter<'_>, what: &str, digits: usize, of: Spread) -> fmt::Result {
    row(f, "", what, [of.min, of.median, of.max].map(|value| format!("{value:.digits$}")))
}

/// Writes a row with at least one space between columns.
fn row(f: &mut Formatter<'_>, name: &str, what: &str, [min, median, max]: [impl Display; 3]) -> fmt::Result {
    writeln!(f, "{name:17} {what:17} {min:>13} {median:>13} {max:>13}")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Line(f64);

    impl Display for Line {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            time(f, "second-read-cache", "time", Spread { min: self.0 / 2.0, median: self.0, max: self.0 * 1e9 })
        }
    }

    #[test]
    fn times_have_a_unit_and_stand_apart() {
        for (seconds, median) in [
            (0.0, "0.000 ns"),
            (1.6201e-8, "16.201 ns"),
            (2e-6, "2.000 us"),
            (0.0125, "12.500 ms"),
            (3e4, "30000.000 s"),
        ] {
            let line = Line(seconds).to_string();
            let words: Vec<&str> = line.split_whitespace().collect();
            assert_eq!((words.len(), words[4..6].join(" ")), (8, median.to_string()), "{line}");
        }
    }
}
