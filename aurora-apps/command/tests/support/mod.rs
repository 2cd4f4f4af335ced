//! The `aurora` command, started as by a user.

use serde_json::Value;
use std::process::{Command, Output};

/// Runs a command line. `--route local` makes the ranks threads, so that a test does not depend on how processes are
/// started.
#[allow(dead_code, reason = "some tests are of mpirun")]
pub fn aurora(line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_aurora"))
        .args(line.split_whitespace())
        .env_remove("AURORA_RANKS")
        .output()
        .expect("the command starts")
}

#[allow(dead_code, reason = "some tests are of mpirun")]
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[allow(dead_code, reason = "some tests are of mpirun")]
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns an object that a command has printed, with the figures of this library, or of the first implementation, at
/// its top level.
#[allow(dead_code, reason = "not every test reads figures")]
pub fn with_figures(text: &str) -> Value {
    let mut object: Value = serde_json::from_str(text.trim()).unwrap_or_else(|error| panic!("{error}: {text}"));
    let results = object["results"].as_array().expect("a list of results");
    let main = results.iter().find(|result| result["impl"] == "aurora").unwrap_or(&results[0]).clone();
    for (name, figure) in main.as_object().expect("an object") {
        assert!(object.get(name).is_none(), "{name} stands at the top too: {object}");
        object[name] = figure.clone();
    }
    object
}
