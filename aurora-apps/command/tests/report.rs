//! `aurora report` as a user types it: runs, files, a page.

mod support;

use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};
use support::{aurora, stderr, stdout};
use tempfile::TempDir;

/// Returns the name of a file in a folder.
fn file(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_str().expect("text").to_string()
}

#[test]
fn runs_become_a_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let (runs, page) = (file(&folder, "runs.json"), file(&folder, "page.html"));
    let mut printed = String::new();
    for line in [
        "mm2 --size 33 --reps 2 --ranks 1 --route local --json --label network=8Mbit/s --label place=<here>",
        "mm2 --size 33 --reps 2 --ranks 3 --route local --json --label network=8Mbit/s --label place=<here>",
        "bench exchange --keys 1003 --reps 2 --ranks 3 --route local --json --label network=8Mbit/s --label nodes=3",
    ] {
        let output = aurora(line);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
        let run: Value = serde_json::from_str(&stdout(&output)).expect("one object");
        assert!(run["command"].as_str().is_some_and(|command| command.contains(&line[..20])), "{run}");
        assert!(run["machine"].as_str().is_some_and(|machine| machine.contains("Linux")), "{run}");
        assert!(run["date"].as_str().is_some_and(|date| date.ends_with('Z')), "{run}");
        assert_eq!(run["labels"]["network"], "8Mbit/s");
        printed += &stdout(&output);
    }
    fs::write(&runs, &printed).expect("written");
    for _ in 0..2 {
        let output = aurora(&format!("report {runs} --out {page}"));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(stdout(&output), format!("{page}: 3 runs\n"));
    }
    let html = fs::read_to_string(&page).expect("a page");
    for part in
        ["Measured speed-up: mm2 33, tiled", "rate of the wire", "place &lt;here&gt;", "prefers-color-scheme: dark"]
    {
        assert!(html.contains(part), "{part} is not in the page");
    }

    let mut child = Command::new(env!("CARGO_BIN_EXE_aurora"))
        .args(["report", "-", "--title", "From a pipe", "--out", &page])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the command starts");
    std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), printed.as_bytes()).expect("written");
    assert!(child.wait().expect("it ends").success());
    assert!(fs::read_to_string(&page).expect("a page").contains("<h1>From a pipe</h1>"));
}

#[test]
fn what_is_no_run_is_named_and_leaves_the_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let (runs, page) = (file(&folder, "runs.json"), file(&folder, "page.html"));
    fs::write(&page, "<!DOCTYPE html>before").expect("written");
    for (text, expected) in [
        ("", "no run in"),
        ("\n{\"app\": ", "line 2: not JSON"),
        ("{}\n", "line 1: JSON, but no run"),
        ("{\"app\":\"mm2\"}", "line 1: a run that cannot be"),
    ] {
        fs::write(&runs, text).expect("written");
        let output = aurora(&format!("report {runs} --out {page}"));
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(stderr(&output).contains(expected) && stderr(&output).contains("--json"), "{}", stderr(&output));
        assert_eq!(fs::read_to_string(&page).expect("a page"), "<!DOCTYPE html>before");
    }
    for (out, expected) in
        [(&runs, "one of the files with runs"), (&file(&folder, "no/page.html"), "there is no folder")]
    {
        let output = aurora(&format!("report {runs} --out {out}"));
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

#[test]
fn labels_are_checked_before_anything_runs() {
    for (label, expected) in [
        ("--label network", "KEY=VALUE"),
        ("--label =x", "begins with a letter"),
        ("--label nodes=some", "number from 1 on"),
        ("--label mpi=a --label mpi=b", "mpi is given more than once"),
    ] {
        for program in ["mm2", "bench barrier", "info"] {
            let output = aurora(&format!("{program} --json {label}"));
            assert_eq!(output.status.code(), Some(2), "{program} {label}");
            assert!(stderr(&output).contains(expected) && stderr(&output).contains("--label"), "{}", stderr(&output));
        }
    }
    assert_eq!(aurora("report").status.code(), Some(2));
    // Labels appear only in the JSON object.
    let output = aurora("mm2 --label setting=defaults");
    assert!(output.status.code() == Some(2) && stderr(&output).contains("--json"), "{}", stderr(&output));
}
