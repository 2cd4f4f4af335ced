//! Jobs on a system that allows few descriptors or no files: they work, or name the missing resource.

use crate::environment::started_by;
use std::time::{Duration, Instant};

/// Ten times the allowed time of a job that fails.
const LATEST: Duration = Duration::from_secs(20);

#[test]
fn few_descriptors() {
    for route in ["local", "auto", "shm", "udp"] {
        let mut refused = 0;
        for allowed in (8..=44).step_by(2) {
            let began = Instant::now();
            let variables = [("AURORA_RANKS", "3"), ("AURORA_ROUTE", route)];
            let output = started_by(&format!("ulimit -n {allowed}"), &variables);
            let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
            let what = format!("{route}, {allowed} allowed, {:?}: {text}", began.elapsed());
            assert!(began.elapsed() < LATEST, "{what}");
            if output.status.success() {
                assert!(text.contains("3 ranks"), "{what}");
            } else {
                let words = format!("this process may have {allowed} open files, and needs more");
                assert!(text.contains(&words) && text.contains("`ulimit -n`"), "{what}");
                refused += 1;
            }
        }
        assert!((1..19).contains(&refused), "{refused} are refused over {route}: this has tested nothing");
    }
}

#[test]
fn no_files() {
    let output = started_by("ulimit -f 0", &[("AURORA_RANKS", "3")]);
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("files of this process may have 0 bytes") && text.contains("`ulimit -f`"), "{output:?}");
    assert_eq!(output.status.code(), Some(101), "{output:?}");
}

#[test]
fn a_trace_that_may_not_be_written() {
    let path = std::env::temp_dir().join(format!("aurora-scarce-{}.json", std::process::id()));
    let path = path.to_string_lossy();
    let variables = [("AURORA_RANKS", "1"), ("AURORA_TRACE", &path)];
    let output = started_by("ulimit -f 0", &variables);
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let _ = std::fs::remove_file(&*path);
    assert!(text.contains(&*path) && text.contains("files of this process may have 0 bytes"), "{output:?}");
    assert_eq!(output.status.code(), Some(101), "{output:?}");
}
