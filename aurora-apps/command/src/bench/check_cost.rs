//! `aurora bench check-cost`: the applications under the race detector, and its cost.

use crate::arguments::RouteName;
use crate::check::end_of;
use crate::launch::speaks;
use crate::{FAILED, complain, say};
use aurora_apps::values::{number, seconds};
use aurora_core::LaunchInfo;
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::Value;
use std::io::{self, Read};
use std::process::{Command, ExitCode, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

#[derive(Args, Debug)]
pub struct CheckCostArguments {
    /// Only these applications; several, separated by commas
    #[arg(long, value_name = "APP", value_delimiter = ',', value_parser = PossibleValuesParser::new(names()))]
    pub app: Vec<String>,
    /// How many ranks to start
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = number::<u32>(1..=1024))]
    pub ranks: u32,
    /// How the ranks reach each other
    #[arg(long, value_enum, default_value_t)]
    pub route: RouteName,
    /// Kill an application that runs longer, which usually takes some seconds, and fail
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds)]
    pub limit: Duration,
}

/// The applications, with data for which a checked run takes about a second.
const APPLICATIONS: [&str; 13] = [
    "mm2 --size 200",
    "psrs --keys 200000",
    "histogram --table 10000 --updates 50000",
    "histogram --impl accumulate --table 10000 --updates 50000",
    "wordcount --bytes 200000 --words 2000",
    "indexgather --table 10000 --reads 50000",
    "diffusion --rows 200 --cols 200 --steps 50",
    "sor --size s",
    "sor --impl pages --size s",
    "sor --impl treadmarks --size s",
    "sparse-mm --size 500 --block 50",
    "cholesky --size 300 --tile 50",
    "tsp --instance gr17",
];

/// Returns the names of the applications, each once.
fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = APPLICATIONS.iter().filter_map(|line| line.split(' ').next()).collect();
    names.dedup();
    names
}

/// The user's variables that change the output of the applications, or the checks. They are not passed on.
const NOT_PASSED_ON: [&str; 3] = ["AURORA_SCALAR", "AURORA_STATS", "AURORA_TRACE"];

/// Runs each application twice, without and with `AURORA_CHECK=1`, and prints the time of both runs. Fails if a result
/// is wrong, if the library reports anything, or if an application runs longer than `--limit`.
pub fn show(arguments: &CheckCostArguments, starter: LaunchInfo) -> ExitCode {
    match starter {
        LaunchInfo::Alone => check(arguments).unwrap_or_else(|code| code),
        _ if speaks(starter) => refuse("aurora bench check-cost starts ranks by itself: call it without mpirun"),
        _ => ExitCode::from(FAILED),
    }
}

fn refuse(why: &str) -> ExitCode {
    complain(why);
    ExitCode::from(FAILED)
}

fn check(arguments: &CheckCostArguments) -> Result<ExitCode, ExitCode> {
    say(&format!("{:58}{:>12}{:>16}{:>12}\n", "", "seconds", "AURORA_CHECK=1", "times"))?;
    let is_wanted =
        |line: &&str| arguments.app.is_empty() || arguments.app.iter().any(|app| line.split(' ').next() == Some(app));
    for application in APPLICATIONS.into_iter().filter(is_wanted) {
        let seconds =
            |check| run(application, check, arguments).map_err(|why| refuse(&format!("aurora {application}: {why}")));
        let (without, with) = (seconds("0")?, seconds("1")?);
        say(&format!("{application:58}{without:>12.5}{with:>16.5}{:>12.1}\n", with / without))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the seconds of an application, or an error text.
fn run(application: &str, check: &str, arguments: &CheckCostArguments) -> Result<f64, String> {
    let mut command = Command::new(std::env::current_exe().map_err(|error| error.to_string())?);
    for variable in NOT_PASSED_ON {
        command.env_remove(variable);
    }
    command.args(application.split_whitespace()).args(["--json", "--reps", "3"]).env("AURORA_CHECK", check);
    command.args(["--ranks", &arguments.ranks.to_string(), "--route", &arguments.route.to_string()]);
    let (output, in_time) = output_of(&mut command, arguments.limit).map_err(|error| error.to_string())?;
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !in_time {
        let limit = arguments.limit.as_secs_f64();
        let ended = format!("AURORA_CHECK={check} has not ended after {limit} s and was killed (--limit)");
        return Err(format!("{ended}: {stdout}{stderr}"));
    }
    if let Some(notice) =
        stderr.lines().find(|line| line.contains("aurora: ") && !line.contains("aurora: the race detector has watched"))
    {
        return Err(format!("AURORA_CHECK={check} says: {notice}"));
    }
    let report = stdout.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
    let report = report.filter(|report| output.status.success() && report["results"][0]["verified"] == true);
    let seconds = report.and_then(|report| report["results"][0]["seconds"]["median"].as_f64());
    seconds.ok_or_else(|| format!("AURORA_CHECK={check} fails: {stdout}{stderr}"))
}

/// Returns the output of a command, and whether the command has ended by itself.
fn output_of(command: &mut Command, limit: Duration) -> io::Result<(Output, bool)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (stdout, stderr) = (child.stdout.take().map(read_all), child.stderr.take().map(read_all));
    let ended = end_of(&mut child, Some(limit))?;
    let all = |pipe: Option<JoinHandle<Vec<u8>>>| pipe.and_then(|pipe| pipe.join().ok()).unwrap_or_default();
    let output = Output { status: ended.unwrap_or_default(), stdout: all(stdout), stderr: all(stderr) };
    Ok((output, ended.is_some()))
}

/// Reads a pipe to its end, so that its writer does not wait.
fn read_all(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // A pipe that cannot be read counts as empty.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_passed_on_exists() {
        assert!(NOT_PASSED_ON.iter().all(|variable| aurora_core::VARIABLES.contains(variable)));
    }
}
