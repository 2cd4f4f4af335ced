//! The file of measured jobs: a JSON object in each line, as `aurora report` reads them. An interrupted study continues
//! from the file.

use aurora_suite::figures::job::Seen;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// A line of the file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// The key of the job. A job that the file has already is not measured again.
    pub study: Value,
    pub seen: Seen,
    /// The output of `aurora --json`, with the command and the labels of the job.
    #[serde(flatten)]
    pub object: Map<String, Value>,
}

/// The records of the file in order, and the number of other lines, for example a line that was cut off by an
/// interruption.
pub fn load(file: &Path) -> Result<(Vec<Record>, usize), String> {
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.map_err(|error| at(file, error))?,
    };
    let lines: Vec<_> = text.lines().filter(|line| !line.is_empty()).collect();
    let records: Vec<Record> = lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let others = lines.len() - records.len();
    Ok((records, others))
}

/// Adds a line, on its own whatever the end of the file is, and waits until it is written to the disk.
pub fn append(file: &Path, record: &Record) -> Result<(), String> {
    let append = || {
        let mut open = File::options().create(true).append(true).open(file)?;
        open.write_all(format!("\n{}", line(record)?).as_bytes()).and_then(|()| open.sync_data())
    };
    append().map_err(|error| at(file, error))
}

/// Writes only these records.
pub fn write<'r>(file: &Path, records: impl Iterator<Item = &'r Record>) -> Result<(), String> {
    let text = records.map(|record| Ok(line(record)? + "\n")).collect::<io::Result<String>>();
    text.and_then(|text| fs::write(file, text)).map_err(|error| at(file, error))
}

/// The last record of this job.
pub fn done<'r>(records: &'r [Record], study: &Value) -> Option<&'r Record> {
    records.iter().rfind(|record| record.study == *study)
}

fn line(record: &Record) -> io::Result<String> {
    Ok(serde_json::to_string(record)?)
}

fn at(file: &Path, error: io::Error) -> String {
    format!("{}: {error}", file.display())
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use serde_json::json;

    pub fn record(key: &str) -> Record {
        let spread = json!({ "min": 0.1, "median": 0.2, "max": 0.3 });
        let run = json!({
            "app": "mm2", "impl": "aurora", "ranks": 4, "size": 704, "reps": 5, "verified": true, "seconds": spread,
            "sharing_seconds": spread, "sequential_seconds": 0.03, "cores_busy": 0.25, "seed": 7,
            "phases": [{ "name": "load R", "kind": "sharing", "seconds": spread }],
        });
        let seen = Seen { busy: Some(0.5), network: Some([1, 0, 2]), remarks: Vec::new() };
        let object = json!({ "app": "mm2", "results": [run], "labels": { "nodes": "4" } });
        Record { study: json!({ "key": key }), seen, object: object.as_object().cloned().unwrap_or_default() }
    }

    #[test]
    fn an_interrupted_study_goes_on_where_it_was() {
        let file = std::env::temp_dir().join(format!("study-{}.jsonl", std::process::id()));
        let _ = fs::remove_file(&file);
        assert_eq!(load(&file), Ok((Vec::new(), 0)));
        append(&file, &record("a")).expect("written");
        let half = line(&record("b")).expect("a line");
        let mut open = File::options().append(true).open(&file).expect("the file");
        write!(open, "\n{}", &half[..half.len() / 2]).expect("written");
        append(&file, &record("c")).expect("written");
        let (mut records, others) = load(&file).expect("read");
        fs::remove_file(&file).expect("removed");
        assert_eq!((&records[..], others), (&[record("a"), record("c")][..], 1));
        // The last measurement counts.
        let mut again = record("c");
        again.seen.remarks.push("again".into());
        records.push(again.clone());
        assert_eq!(done(&records, &json!({ "key": "c" })), Some(&again));
        for other in [json!({ "key": "b" }), json!({ "key": "c", "reps": 3 })] {
            assert_eq!(done(&records, &other), None);
        }
    }

    #[test]
    fn a_line_is_what_the_program_has_said_and_more() {
        let value = serde_json::to_value(record("a")).expect("an object");
        assert_eq!((&value["app"], &value["labels"]["nodes"]), (&json!("mm2"), &json!("4")));
        assert_eq!((&value["results"][0]["seed"], &value["seen"]["busy"]), (&json!(7), &json!(0.5)));
    }
}
