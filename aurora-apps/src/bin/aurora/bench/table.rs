//! A bench's report for people.

use crate::table::{Table, count};
use aurora_apps::bench::Figures;
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
        writeln!(f, "{:18}{:18}{:>14}{:>14}{:>14}", "", "", "min", "median", "max")?;
        for figures in &self.0.results {
            let kind = figures.memory.or(figures.access);
            seconds(f, kind.unwrap_or(figures.implementation), "seconds", figures.seconds)?;
            if let Some(ready) = figures.ready_seconds {
                seconds(f, "", "after last entry", ready)?;
            }
            if let Some(with_read) = figures.with_read_seconds {
                seconds(f, "", "with full read", with_read)?;
            }
            if let Some(Spread { min, median, max }) = figures.pss_bytes {
                const MIB: f64 = (1 << 20) as f64;
                one_digit(f, "MiB in memory", Spread { min: min / MIB, median: median / MIB, max: max / MIB })?;
            }
            if let Some(Spread { min, median, max }) = figures.per_second {
                let millions = Spread { min: min / 1e6, median: median / 1e6, max: max / 1e6 };
                one_digit(f, "million a second", millions)?;
            }
            if let Some(rate) = figures.gigabytes_per_second {
                writeln!(f, "{:18}{:18}{:>14.2}{:>14.2}{:>14.2}", "", "GB/s", rate.min, rate.median, rate.max)?;
            }
            seconds(f, "", "CPU seconds", figures.cpu_seconds)?;
            if let Some(packets) = figures.packets_sent {
                one_digit(f, "packets sent", packets)?;
            }
            if let Some(packets) = figures.packets_resent {
                one_digit(f, "packets resent", packets)?;
            }
        }
        writeln!(f)?;
        let verdict = if self.0.verified() { "verified" } else { "NOT VERIFIED: what arrived is wrong" };
        writeln!(f, "{:18}{verdict}", "result")
    }
}

fn seconds(f: &mut Formatter<'_>, name: &str, what: &str, of: Spread) -> fmt::Result {
    // Of what takes nanoseconds, their fractions too.
    let digits = if of.median < 1e-7 { 12 } else { 9 };
    writeln!(f, "{name:18}{what:18}{:>14.digits$}{:>14.digits$}{:>14.digits$}", of.min, of.median, of.max)
}

fn one_digit(f: &mut Formatter<'_>, what: &str, of: Spread) -> fmt::Result {
    writeln!(f, "{:18}{what:18}{:>14.1}{:>14.1}{:>14.1}", "", of.min, of.median, of.max)
}
