//! The tables of `aurora sparse-mm`.

use crate::table::{Table, line};
use aurora_apps::report::Comparison;
use aurora_apps::sparse_mm::{Launch, SparseReport};
use std::fmt::{self, Display, Formatter};

impl Display for Table<'_, Comparison<SparseReport>> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (number, report) in self.0.results.iter().enumerate() {
            let space = if number > 0 { "\n" } else { "" };
            write!(f, "{space}{}", Table(&report.run))?;
            report.launch.iter().try_for_each(|launch| write!(f, "\n{}", Table(launch)))?;
        }
        Ok(())
    }
}

impl Display for Table<'_, Launch> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let launch = self.0;
        writeln!(f, "{:34}{:>12}{:>12}{:>12}", "before the launch: seconds", "min", "median", "max")?;
        line(f, "creation of blocks", launch.creation_seconds)?;
        writeln!(f, "entries       {}\n", launch.entries)?;
        Table(&launch.figures).fmt(f)
    }
}
