//! The tables of `aurora cholesky`.

use crate::table::Table;
use aurora_apps::cholesky::CholeskyReport;
use aurora_apps::report::Comparison;
use std::fmt::{self, Display, Formatter};

impl Display for Table<'_, Comparison<CholeskyReport>> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (number, report) in self.0.results.iter().enumerate() {
            let space = if number > 0 { "\n" } else { "" };
            write!(f, "{space}{}", Table(&report.run))?;
            writeln!(f, "residual   {:.2} x machine epsilon x norm of A", report.residual)?;
            report.launches.iter().try_for_each(|launches| write!(f, "\n{}", Table(launches)))?;
        }
        Ok(())
    }
}
