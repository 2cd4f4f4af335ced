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
        writeln!(f, "{:16}{:18}{:>14}{:>14}{:>14}", "", "", "min", "median", "max")?;
        for figures in &self.0.results {
            seconds(f, figures.implementation, "seconds", figures.seconds)?;
            seconds(f, "", "CPU seconds", figures.cpu_seconds)?;
            if let Some(packets) = figures.packets_sent {
                packet_count(f, "packets sent", packets)?;
            }
            if let Some(packets) = figures.packets_resent {
                packet_count(f, "packets resent", packets)?;
            }
        }
        writeln!(f)?;
        let verdict = if self.0.verified() { "verified" } else { "NOT VERIFIED: what arrived is wrong" };
        writeln!(f, "result          {verdict}")
    }
}

fn seconds(f: &mut Formatter<'_>, name: &str, what: &str, of: Spread) -> fmt::Result {
    writeln!(f, "{name:16}{what:18}{:>14.9}{:>14.9}{:>14.9}", of.min, of.median, of.max)
}

fn packet_count(f: &mut Formatter<'_>, what: &str, of: Spread) -> fmt::Result {
    writeln!(f, "{:16}{what:18}{:>14.1}{:>14.1}{:>14.1}", "", of.min, of.median, of.max)
}
