//! The `aurora` command, started as a user does.

use std::process::{Command, Output};

/// Runs a command line. `--route local` makes the ranks threads, so that a test does not depend on how processes are
/// started.
pub fn aurora(line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_aurora"))
        .args(line.split_whitespace())
        .env_remove("AURORA_RANKS")
        .output()
        .expect("the command starts")
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
