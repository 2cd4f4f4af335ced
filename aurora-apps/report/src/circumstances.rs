//! How a run came about: the command, the machine, the date, and what its user says about it.

use super::label::Labels;
use super::{machine, profile};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs;
use std::time::SystemTime;

/// The form of the JSON objects. It counts up with each change that a reader must know of; objects without a number are
/// of the form before, in which the figures of the first implementation stand at the top too.
pub const SCHEMA: u32 = 1;

/// Stands in each JSON object beside the figures.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Circumstances {
    /// [`SCHEMA`] of the version that has written it; 0 in files from before there was one.
    pub schema: u32,
    /// Aurora's.
    pub version: String,
    /// Of Aurora's repository, with `-modified` behind it if there are other changes; empty for a build without one.
    pub commit: String,
    /// As typed, the variables before it that Aurora reads included; under a launcher, that one's command.
    pub command: String,
    /// Processor, cores, memory, kernel.
    pub machine: String,
    /// By which profile the command was built; nothing in files from before that was told.
    pub profile: String,
    /// When it began, by universal time.
    pub date: String,
    /// What the user says about it.
    pub labels: Labels,
}

/// A figure with how it came about, as one JSON object.
#[derive(Debug, Serialize)]
pub struct Told<'r, R> {
    /// How it came about.
    #[serde(flatten)]
    pub circumstances: &'r Circumstances,
    /// What it came to.
    #[serde(flatten)]
    pub report: &'r R,
}

impl Circumstances {
    /// Those of this process, which begins now.
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

    /// The command, or what is known instead.
    pub fn command(&self) -> &str {
        if self.command.is_empty() { "(no command on record)" } else { &self.command }
    }

    /// The machine, or what is known instead.
    pub fn machine(&self) -> &str {
        if self.machine.is_empty() { "an unknown machine" } else { &self.machine }
    }
}

/// What Aurora was told by the environment, as one would type it. Nothing is decided by these here.
fn variables() -> Vec<String> {
    let ours = std::env::vars_os().map(|(name, value)| (lossy(name), lossy(value)));
    // That one is not the user's.
    let ours = ours.filter(|(name, value)| name.starts_with("AURORA_") && name != "AURORA_JOB" && !value.is_empty());
    let mut ours: Vec<_> = ours.map(|(name, value)| format!("{name}={}", quoted(&value))).collect();
    ours.sort();
    ours
}

fn lossy(text: OsString) -> String {
    text.to_string_lossy().into_owned()
}

/// The command of the nearest ancestor that starts MPI's ranks, if it is on this machine.
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

/// As a shell wants it.
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
        let text = serde_json::to_string(&Told { circumstances: &circumstances, report: &report }).unwrap();
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
