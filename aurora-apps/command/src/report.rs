//! `aurora report`: one page from the recorded output of runs.

use crate::arguments::ReportArguments;
use crate::launch::speaks;
use crate::{FAILED, complain, say};
use aurora_apps::bench;
use aurora_apps::lines;
use aurora_apps::report::out::{self, Unwritten};
use aurora_apps::report::page::{Known, page};
use aurora_apps::report::read::{self, Unread};
use aurora_core::LaunchInfo;
use std::process::ExitCode;
use thiserror::Error;

/// The reason why there is no page.
#[derive(Debug, Error)]
enum NoPage {
    #[error(transparent)]
    Unread(#[from] Unread),
    #[error(transparent)]
    Unwritten(#[from] Unwritten),
}

/// Reads the runs and writes the page. No ranks are started. If a launcher has started ranks, one rank does this.
pub fn write(arguments: &ReportArguments, starter: LaunchInfo) -> ExitCode {
    if !speaks(starter) {
        return ExitCode::SUCCESS;
    }
    match try_write(arguments) {
        Ok(runs) => {
            let runs = crate::table::count(runs, "run");
            let printed = say(&format!("{}: {runs}\n", arguments.out.display()));
            printed.err().unwrap_or(ExitCode::SUCCESS)
        }
        Err(error) => {
            complain(error);
            ExitCode::from(FAILED)
        }
    }
}

fn try_write(arguments: &ReportArguments) -> Result<usize, NoPage> {
    // Checked before reading, because standard input may take a while.
    out::check(&arguments.out, &arguments.files)?;
    let runs = read::read(&arguments.files)?;
    let known = Known { versions: &lines::versions(), payload: bench::payload };
    out::write(&arguments.out, &page(&runs, arguments.title.as_deref(), known))?;
    Ok(runs.len())
}
