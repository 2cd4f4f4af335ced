//! The machine: its properties and its load.

pub use aurora_apps::cores::Ticks;
pub use aurora_apps::report::machine::{allowed_cores, cores, description};
use std::process::Command;

/// The first line of a command's output that contains `word`.
pub fn said(program: &str, arguments: &[&str], word: &str) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().find(|line| line.contains(word)).unwrap_or("unknown").trim().to_string()
}

/// The project's commit, marked if a file differs from the commit.
pub fn commit() -> String {
    said("git", &["describe", "--always", "--dirty", "--exclude=*"], "")
}

/// The date, by universal time.
pub fn today() -> String {
    said("date", &["-u", "+%F"], "")
}
