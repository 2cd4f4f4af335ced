//! The circumstances of a run: the command, the machine, the date, and the user's labels.

use super::label::Labels;
use super::{machine, profile};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs;
use std::time::SystemTime;

/// The version of the JSON objects' form. It increases with each change that a reader must know about. Objects without
/// a number have the previous form, in which the figures of the first implementation are also at the top level.
pub const SCHEMA: u32 = 1;

/// The part of each JSON object that accompanies the figures.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Circumstances {
    /// [`SCHEMA`] of the Aurora version that has written the object; 0 in older files without it.
    pub schema: u32,
    /// The version of Aurora.
    pub version: String,
    /// The commit of Aurora's repository, with `-modified` behind it if there are other changes; empty for a build
    /// outside of a repository.
    pub commit: String,
    /// The command as typed, after the environment variables that Aurora reads; under a launcher, the launcher's
    /// command.
    pub command: String,
    /// Processor, cores, memory, kernel.
    pub machine: String,
    /// The Cargo profile of the build; empty in older files.
    pub profile: String,
    /// The start of the run, in universal time.
    pub date: String,
    /// The user's labels.
    pub labels: Labels,
}

/// A figure with its circumstances, as one JSON object.
#[derive(Debug, Serialize)]
pub struct WithCircumstances<'r, R> {
    /// The circumstances.
    #[serde(flatten)]
    pub circumstances: &'r Circumstances,
    /// The figures.
    #[serde(flatten)]
    pub report: &'r R,
}

impl Circumstances {
    /// Returns the circumstances of this process. The date is now.
    pub fn here(commit: &str, labels: Labels, under_launcher: bool) -> Self {
        let launcher = if under_launcher { launcher() } else { None };
        let words = launcher.unwrap_or_else(|| std::env::args_os().map(lossy).collect());
        let command: Vec<_> = variables().into_iter().chain(words.iter().map(|word| quoted(word))).collect();
        Circumstances {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            commit: commit.into(),
            command: command.join(" "),
            machine: machine::description(),
            profile: profile::HERE.into(),
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            labels,
        }
    }

    /// Returns the command, or a text that says it is unknown.
    pub fn command(&self) -> &str {
        if self.command.is_empty() { "(no command on record)" } else { &self.command }
    }

    /// Returns the machine, or a text that says it is unknown.
    pub fn machine(&self) -> &str {
        if self.machine.is_empty() { "an unknown machine" } else { &self.machine }
    }
}

/// Returns Aurora's environment variables in the form in which one would type them, for the record only.
fn variables() -> Vec<String> {
    let ours = std::env::vars_os().map(|(name, value)| (lossy(name), lossy(value)));
    // `AURORA_JOB` does not come from the user.
    let ours = ours.filter(|(name, value)| name.starts_with("AURORA_") && name != "AURORA_JOB" && !value.is_empty());
    let mut ours: Vec<_> = ours.map(|(name, value)| format!("{name}={}", quoted(&value))).collect();
    ours.sort();
    ours
}

fn lossy(text: OsString) -> String {
    text.to_string_lossy().into_owned()
}

/// Returns the command of the nearest ancestor process that starts MPI's ranks, if it is on this machine.
fn launcher() -> Option<Vec<String>> {
    let mut process = std::os::unix::process::parent_id();
    for _ in 0..32 {
        let line = fs::read(format!("/proc/{process}/cmdline")).ok()?;
        let line = String::from_utf8_lossy(line.strip_suffix(b"\0").unwrap_or(&line));
        let words: Vec<String> = line.split('\0').map(String::from).collect();
        if is_launcher(&words[0]) {
            return Some(words);
        }
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        process = status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())?;
    }
    None
}

fn is_launcher(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default();
    ["mpirun", "mpiexec", "orterun", "prterun", "srun"].iter().any(|launcher| name.starts_with(launcher))
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./=:,@%+-".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_cut_them_and_launchers_go_by_several_names() {
        for (word, shown) in [("--size=704", "--size=704"), ("", "''"), ("a b", "'a b'"), ("it's", r"'it'\''s'")] {
            assert_eq!(quoted(word), shown);
        }
        let names = ["mpirun", "/usr/bin/mpirun.openmpi", "mpiexec.hydra", "srun", "bash", "aurora", ""];
        assert_eq!(names.map(is_launcher), [true, true, true, true, false, false, false]);
    }

    #[test]
    fn they_stand_beside_the_figures() {
        let circumstances = Circumstances::here("f00", Labels::default(), false);
        let report = serde_json::json!({ "app": "mm2" });
        let text =
            serde_json::to_string(&WithCircumstances { circumstances: &circumstances, report: &report }).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["app"], "mm2");
        assert_eq!(value["labels"], serde_json::json!({}));
        assert_eq!((&value["schema"], &value["commit"]), (&SCHEMA.into(), &"f00".into()));
        assert_eq!(value["version"], env!("CARGO_PKG_VERSION"));
        let read: Circumstances = serde_json::from_value(value).unwrap();
        assert_eq!(read, circumstances);
        assert!(read.date.ends_with('Z') && read.date.len() == 20, "{}", read.date);
        assert!(!read.command.is_empty() && !read.machine.is_empty());
    }
}
