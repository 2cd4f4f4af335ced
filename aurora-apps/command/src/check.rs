//! `aurora check`: what the race detector says of each application, and what it costs.

use crate::arguments::CheckArguments;
use crate::launch::speaks;
use crate::{FAILED, complain, say};
use aurora_core::Surroundings;
use serde_json::Value;
use std::process::{Command, ExitCode};

/// The applications with data that a checked run takes about a second for.
const APPLICATIONS: [&str; 8] = [
    "mm2 --size 200",
    "psrs --keys 200000",
    "histogram --table 10000 --updates 50000",
    "histogram --impl accumulate --table 10000 --updates 50000",
    "wordcount --bytes 200000 --words 2000",
    "indexgather --table 10000 --reads 50000",
    "diffusion --rows 200 --cols 200 --steps 50",
    "tsp --instance gr17",
];

/// Runs each application twice in turn, as it is and with `AURORA_CHECK=1`, and prints what that has taken. It fails
/// if a result is wrong, or if the library says anything.
pub fn show(arguments: &CheckArguments, starter: Surroundings) -> ExitCode {
    match starter {
        Surroundings::Alone => check(arguments).unwrap_or_else(|code| code),
        _ if speaks(starter) => refuse("aurora check starts ranks by itself: call it without mpirun"),
        _ => ExitCode::from(FAILED),
    }
}

fn refuse(why: &str) -> ExitCode {
    complain(why);
    ExitCode::from(FAILED)
}

fn check(arguments: &CheckArguments) -> Result<ExitCode, ExitCode> {
    say(&format!("{:58}{:>12}{:>16}{:>12}\n", "", "seconds", "AURORA_CHECK=1", "times"))?;
    for application in APPLICATIONS {
        let seconds = ["0", "1"].map(|check| run(application, check, arguments));
        let [without, with] = match seconds {
            [Ok(without), Ok(with)] => [without, with],
            [Err(why), _] | [_, Err(why)] => return Err(refuse(&format!("aurora {application}: {why}"))),
        };
        say(&format!("{application:58}{without:>12.5}{with:>16.5}{:>12.1}\n", with / without))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The seconds of an application, or what is wrong with it.
fn run(application: &str, check: &str, arguments: &CheckArguments) -> Result<f64, String> {
    let mut command = Command::new(std::env::current_exe().map_err(|error| error.to_string())?);
    command.args(application.split_whitespace()).args(["--json", "--reps", "3"]).env("AURORA_CHECK", check);
    command.args(["--ranks", &arguments.ranks.to_string(), "--route", &arguments.route]);
    let output = command.output().map_err(|error| error.to_string())?;
    let (said, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if let Some(notice) = told.lines().find(|line| line.contains("aurora: ")) {
        return Err(format!("AURORA_CHECK={check} says: {notice}"));
    }
    let report = said.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
    let report = report.filter(|report| output.status.success() && report["verified"] == true);
    let seconds = report.and_then(|report| report["seconds"]["median"].as_f64());
    seconds.ok_or_else(|| format!("AURORA_CHECK={check} fails: {said}{told}"))
}
