//! The file of what has been measured: a JSON object in each line, as `aurora report` reads them. A study that was
//! interrupted goes on from it.

use aurora_apps::report::recorded::Program;
use aurora_suite::figures::job::Seen;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// One line: what `aurora --json` has said, with labels and what was seen from outside.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Of this study only.
    pub study: Study,
    /// One for each implementation.
    results: Vec<Value>,
    /// All else.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// What the job did not say itself.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Study {
    /// Which job of the study it is.
    pub key: String,
    /// Of the project.
    pub commit: String,
    pub reps: usize,
    /// The variables that set up the MPI.
    pub variables: String,
    #[serde(flatten)]
    pub seen: Seen,
}

impl Record {
    /// From what the program has said, and more.
    ///
    /// # Errors
    /// That it has another form.
    pub fn new(mut rest: Map<String, Value>, more: Value, study: Study) -> Result<Self, String> {
        let results = rest.remove("results").and_then(|results| results.as_array().cloned());
        let results = results.ok_or("the job said figures of another form: there are no results")?;
        rest.extend(more.as_object().cloned().unwrap_or_default());
        let record = Record { study, results, rest };
        record.runs()?;
        Ok(record)
    }

    /// What each implementation took.
    ///
    /// # Errors
    /// That it has another form.
    pub fn runs(&self) -> Result<Vec<Program>, String> {
        let runs = self.results.iter().map(Program::deserialize).collect::<Result<_, _>>();
        runs.map_err(|error| format!("the job said figures of another form: {error}"))
    }
}

/// What is in the file, in order, and how many lines are none of ours, such as one that was being written at an
/// interruption.
///
/// # Errors
/// That it cannot be read.
pub fn load(file: &Path) -> Result<(Vec<Record>, usize), String> {
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((Vec::new(), 0)),
        other => other.map_err(|error| format!("{}: {error}", file.display()))?,
    };
    let lines: Vec<_> = text.lines().filter(|line| !line.is_empty()).collect();
    let records: Vec<Record> = lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let others = lines.len() - records.len();
    Ok((records, others))
}

/// Adds a line, on its own whatever the file ends with, and waits until it is on its way to the disk.
///
/// # Errors
/// What the system says.
pub fn append(file: &Path, record: &Record) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", file.display());
    let mut line = serde_json::to_string(record).map_err(|error| error.to_string())? + "\n";
    let cut_off = fs::read(file).is_ok_and(|bytes| bytes.last().is_some_and(|last| *last != b'\n'));
    if cut_off {
        line.insert(0, '\n');
    }
    let mut open = File::options().create(true).append(true).open(file).map_err(failed)?;
    open.write_all(line.as_bytes()).and_then(|()| open.sync_data()).map_err(failed)
}

/// Writes these and nothing else.
///
/// # Errors
/// What the system says.
pub fn write(file: &Path, records: &[Record]) -> Result<(), String> {
    let lines = records.iter().map(|record| serde_json::to_string(record).map(|line| line + "\n"));
    let text = lines.collect::<Result<String, _>>().map_err(|error| error.to_string())?;
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

/// The last record of this job, as often repeated, of the same commit and with the MPI set up by the same variables.
pub fn done<'r>(records: &'r [Record], key: &str, reps: usize, commit: &str, variables: &str) -> Option<&'r Record> {
    let same = |record: &&Record| {
        let Study { key: of, commit: by, reps: times, variables: with, .. } = &record.study;
        of == key && by == commit && *times == reps && with == variables
    };
    records.iter().rfind(same)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use aurora_suite::figures::job::Network;
    use serde_json::json;

    pub fn study(key: &str) -> Study {
        let network = Some(Network { overflowed: 1, lost: 0, tcp_resent: 2 });
        let seen = Seen { busy: Some(0.5), network, remarks: Vec::new() };
        Study { key: key.into(), commit: "abc".into(), reps: 5, variables: String::new(), seen }
    }

    fn record(key: &str) -> Record {
        let spread = json!({ "min": 0.1, "median": 0.2, "max": 0.3 });
        let phase = json!({ "name": "load R", "kind": "sharing", "seconds": spread });
        let run = json!({
            "app": "mm2", "impl": "aurora", "ranks": 4, "size": 704, "reps": 5, "verified": true, "seconds": spread,
            "sharing_seconds": spread, "sequential_seconds": 0.03, "phases": [phase], "cores_busy": 0.25, "seed": 7
        });
        let said = json!({ "app": "mm2", "results": [run] });
        let labels = json!({ "labels": { "nodes": "4" } });
        Record::new(said.as_object().cloned().unwrap_or_default(), labels, study(key)).expect("a record")
    }

    #[test]
    fn an_interrupted_study_goes_on_where_it_was() {
        let directory = std::env::temp_dir().join(format!("study-{}", std::process::id()));
        fs::create_dir_all(&directory).expect("a directory");
        let file = directory.join("study.jsonl");
        let _ = fs::remove_file(&file);
        assert_eq!(load(&file), Ok((Vec::new(), 0)));
        append(&file, &record("a")).expect("written");
        let half = serde_json::to_string(&record("b")).expect("a line");
        let mut open = File::options().append(true).open(&file).expect("the file");
        open.write_all(&half.as_bytes()[..half.len() / 2]).expect("written");
        append(&file, &record("c")).expect("written");
        let (mut records, others) = load(&file).expect("read");
        fs::remove_dir_all(&directory).expect("removed");
        assert_eq!((records.as_slice(), others), ([record("a"), record("c")].as_slice(), 1));
        // What is measured again counts.
        let mut again = record("c");
        again.study.seen.remarks.push("again".into());
        records.push(again.clone());
        assert_eq!(done(&records, "c", 5, "abc", ""), Some(&again));
        for (key, reps, commit, variables) in
            [("b", 5, "abc", ""), ("c", 3, "abc", ""), ("c", 5, "abd", ""), ("c", 5, "abc", "A=1")]
        {
            assert_eq!(done(&records, key, reps, commit, variables), None);
        }
    }

    #[test]
    fn a_line_is_what_the_program_has_said_and_more() {
        let value = serde_json::to_value(record("a")).expect("an object");
        assert_eq!((&value["app"], &value["labels"]["nodes"]), (&json!("mm2"), &json!("4")));
        assert_eq!((&value["results"][0]["seed"], &value["study"]["busy"]), (&json!(7), &json!(0.5)));
        assert_eq!(record("a").runs().expect("runs")[0].cores_busy, Some(0.25));
        assert!(Record::new(Map::new(), json!({}), study("a")).is_err());
    }
}
