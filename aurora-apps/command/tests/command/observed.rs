//! The reports of a job about itself: the counters of `AURORA_STATS=1`, and the file of `AURORA_TRACE`.

use crate::support::stderr;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn observed(line: &str, variables: &[(&str, &Path)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aurora"));
    command.args(line.split_whitespace()).env_remove("AURORA_RANKS").envs(variables.iter().copied());
    command.output().expect("the command starts")
}

/// A file that does not exist yet.
fn file(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("aurora-{}-{name}.json", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

fn events(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("the trace is there");
    let trace: Value = serde_json::from_str(&text).expect("the trace is JSON");
    std::fs::remove_file(path).expect("the trace can be removed");
    trace["traceEvents"].as_array().expect("a list of events").clone()
}

/// Checks that each begin has its end, no span has a negative length, and no event was dropped. Returns the names of
/// each rank's spans, by category.
fn spans(events: &[Value]) -> BTreeMap<u64, BTreeMap<String, Vec<String>>> {
    let mut open: BTreeMap<String, f64> = BTreeMap::new();
    let mut spans = BTreeMap::<u64, BTreeMap<String, Vec<String>>>::new();
    for event in events {
        let text = |key: &str| event[key].as_str().expect(key).to_string();
        let (rank, number) =
            (event["pid"].as_u64().expect("a rank"), format!("{} {}", event["pid"], event["id2"]["local"]));
        let at = event["ts"].as_f64();
        match event["ph"].as_str().expect("a phase") {
            "M" => {
                assert!(event["name"] != "aurora_dropped" || event["args"]["events"] == 0, "{event}");
                continue;
            }
            "X" => assert!(event["dur"].as_f64() >= Some(0.0), "{event}"),
            "b" => assert_eq!(open.insert(number, at.expect("a time")), None, "{event}"),
            "e" => {
                let begun = open.remove(&number);
                assert!(begun.is_some() && begun <= at, "{event}");
                continue;
            }
            "i" => {}
            other => panic!("{other}: {event}"),
        }
        spans.entry(rank).or_default().entry(text("cat")).or_default().push(text("name"));
    }
    assert!(open.is_empty(), "{open:?}");
    spans
}

const JOB: &str = "diffusion --rows 40 --cols 20 --steps 9 --reps 1 --impl aurora --ranks 3 --route udp";

#[test]
fn one_table_for_the_job_and_one_trace() {
    let trace = file("whole");
    let output = observed(JOB, &[("AURORA_STATS", Path::new("1")), ("AURORA_TRACE", &trace)]);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert_eq!(text.matches("aurora: counters (AURORA_STATS=1)").count(), 1, "{text}");
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    let head = lines.iter().position(|line| line.first() == Some(&"rank")).expect("the head of the table");
    for rank in 0..3 {
        let row: Vec<f64> = lines[head + 1 + rank].iter().map(|cell| cell.parse().expect("a number")).collect();
        assert_eq!((row[0], row.len()), (rank as f64, 9), "{text}");
        // Computing, sharing and waiting make up the whole; each is rounded.
        assert!((row[1] - row[2] - row[3] - row[4]).abs() < 0.003 && row[5] > 0.0, "{text}");
    }
    let vector = text.find("GVector<f64> of 40 x 20").unwrap_or_else(|| panic!("{text}"));
    assert!(text[vector..].contains("  halo "), "{text}");

    let spans = spans(&events(&trace));
    assert_eq!(spans.keys().copied().collect::<Vec<_>>(), [0, 1, 2]);
    for (rank, spans) in &spans {
        let has = |category: &str, name: &str| {
            let found = spans.get(category).is_some_and(|names| names.iter().any(|found| found.contains(name)));
            assert!(found, "no {category} {name} of rank {rank}: {spans:?}");
        };
        has("scope", "HaloCache");
        has("call", "HaloCache");
        has("call", "a barrier");
        has("transfer", "halo of GVector<f64> of 40 x 20 to rank");
        has("deliver", "halo from rank");
        has("wait", "wait: ");
    }
}

#[test]
fn a_job_that_fails_says_as_much_as_it_can() {
    let trace = file("failed");
    let line = "mm2 --size 64 --reps 1 --impl aurora-whole --ranks 3 --route udp";
    let limit = ("AURORA_CACHE_LIMIT", Path::new("1K"));
    let output = observed(line, &[limit, ("AURORA_STATS", Path::new("1")), ("AURORA_TRACE", &trace)]);
    let text = stderr(&output);
    assert_ne!(output.status.code(), Some(0), "{text}");
    assert_eq!(text.matches("aurora: counters (AURORA_STATS=1), without those of 2 ranks").count(), 1, "{text}");
    let spans = spans(&events(&trace));
    assert_eq!(spans.keys().copied().collect::<Vec<_>>(), [0, 1, 2], "{text}");
    assert!(spans.values().all(|spans| spans["call"].contains(&"a construction".to_string())), "{spans:?}");
}

#[test]
fn a_trace_that_cannot_be_written_is_an_error_before_any_work() {
    let output = observed(JOB, &[("AURORA_TRACE", Path::new("/nowhere/at/all.json"))]);
    assert_ne!(output.status.code(), Some(0));
    let text = stderr(&output);
    assert!(text.contains("the trace /nowhere/at/all.json cannot be written"), "{text}");
    assert!(text.contains("AURORA_TRACE") && output.stdout.is_empty(), "{text}");
}
