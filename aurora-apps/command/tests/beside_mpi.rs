//! The `aurora` command under mpirun, compared with MPI. `MPIRUN` names the mpirun of the MPI with which this test was
//! built.
#![cfg(feature = "mpi")]

mod support;

use serde_json::Value;
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};
use support::with_figures;

/// One job at a time: MPI's ranks poll while they wait, and would take the cores from other jobs.
static CORES: Mutex<()> = Mutex::new(());

fn mpirun(ranks: usize, line: &str) -> Output {
    let _alone = CORES.lock().unwrap_or_else(PoisonError::into_inner);
    let mpirun = std::env::var("MPIRUN").unwrap_or_else(|_| "mpirun".into());
    let version = Command::new(&mpirun).arg("--version").output().expect("an mpirun");
    let mut command = Command::new(&mpirun);
    command.args(["-n", &ranks.to_string()]);
    if String::from_utf8_lossy(&version.stdout).contains("Open") {
        // More ranks than cores, and as root, are ordinary in a test.
        command.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]);
        command.args(["--mca", "mpi_yield_when_idle", "1"]);
    }
    command.arg(env!("CARGO_BIN_EXE_aurora")).args(line.split_whitespace()).env_remove("AURORA_RANKS");
    command.output().expect("mpirun starts")
}

fn report(ranks: usize, line: &str) -> Value {
    let output = mpirun(ranks, &format!("{line} --json"));
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {text}{errors}");
    with_figures(text.lines().last().expect("a line"))
}

/// Every operation with all its implementations, and the minimum number of ranks.
const BENCHES: [(&str, &str, usize); 14] = [
    ("read-cache --bytes 100003", "aurora,mpi-collective,mpi-isend", 1),
    ("read-cache --bytes 1 --late-rank-ms 20", "mpi-isend,aurora,mpi-collective", 1),
    ("exchange --keys 100003", "aurora,mpi-collective,mpi-isend", 1),
    ("gather --bytes 4099", "mpi-collective,mpi-isend,aurora", 2),
    ("get", "aurora,mpi-isend", 2),
    ("get --target computing", "mpi-isend,aurora", 2),
    ("put", "aurora,mpi-isend", 2),
    ("barrier", "mpi-collective,aurora", 1),
    ("stream --bytes 100003", "aurora,mpi-isend,tcp", 2),
    ("updates --table 100003 --updates 200003", "aurora,mpi-alltoallv", 1),
    ("updates --table 1 --updates 1", "mpi-alltoallv,aurora", 1),
    ("reads --table 100003 --reads 40009", "aurora,mpi-alltoallv", 1),
    ("reads --table 100003 --reads 40009 --batch 1001", "mpi-alltoallv,aurora", 1),
    ("reads --table 2 --reads 3", "aurora,mpi-alltoallv", 1),
];

#[test]
fn implementations_take_turns_in_one_job() {
    for (operation, implementations, least) in BENCHES {
        for ranks in [Some(3), (least < 2).then_some(least)].into_iter().flatten() {
            // The route is UDP, so that there are packets to count.
            let line = format!("bench {operation} --impl {implementations} --reps 2 --route udp");
            let report = report(ranks, &line);
            assert_eq!(report["impl"], "aurora", "{line}");
            let results = report["results"].as_array().expect("a list");
            let names: Vec<_> = results.iter().filter_map(|result| result["impl"].as_str()).collect();
            assert_eq!(names.join(","), implementations);
            for result in results {
                assert_eq!((&result["verified"], &result["reps"]), (&Value::Bool(true), &Value::from(2)), "{line}");
                // A single rank has no socket.
                let ours = result["impl"] == "aurora" && ranks > 1;
                assert_eq!(result["packets_sent"].is_null(), !ours, "{line}");
            }
        }
    }
}

#[test]
fn the_first_is_shown_where_aurora_does_not_take_part() {
    let report = report(2, "bench exchange --keys 1000 --impl mpi-isend,mpi-collective --reps 1");
    assert_eq!(report["impl"], "mpi-isend");
    assert!(report["packets_sent"].is_null());
}

#[test]
fn damage_is_seen_by_each_implementation() {
    for (operation, implementations, least) in BENCHES {
        let output = mpirun(least, &format!("bench {operation} --impl {implementations} --reps 1 --damage --json"));
        assert!(!output.status.success(), "{operation}");
        let text = String::from_utf8_lossy(&output.stdout);
        let report = with_figures(text.lines().next().expect("a line"));
        for result in report["results"].as_array().expect("a list") {
            assert_eq!(result["verified"], false, "{operation}: {result}");
        }
    }
}

/// The implementations over MPI of `mm2`.
const MM2: &str = "mpi-isend,mpi-isend-whole,mpi-ring,mpi-collective";

/// The implementations over MPI of the other programs.
const BOTH: &str = "mpi-isend,mpi-collective";

/// Programs, also with less data than ranks.
const PROGRAMS: [(&str, &str, usize); 22] = [
    ("mm2 --size 301", MM2, 2),
    ("mm2 --size 2", MM2, 3),
    ("mm2 --size 33", MM2, 1),
    ("psrs --keys 100003", BOTH, 3),
    ("psrs --keys 100003 --input reverse", BOTH, 4),
    ("psrs --keys 5000 --input equal", BOTH, 2),
    ("psrs --keys 5000 --input zipf", BOTH, 1),
    ("psrs --keys 0", BOTH, 2),
    ("psrs --keys 2", BOTH, 3),
    // With a barrier after each phase of sharing, behaviours still open.
    ("mm2 --size 129 --apart", MM2, 3),
    ("psrs --keys 100003 --apart", BOTH, 4),
    ("diffusion --rows 40 --cols 30 --steps 25", BOTH, 3),
    ("diffusion --rows 4 --cols 700 --steps 8", BOTH, 4),
    ("diffusion --rows 2 --cols 3 --steps 2", BOTH, 3),
    ("diffusion --rows 9 --cols 9 --steps 3", BOTH, 1),
    // Counting first, and in batches; and a table with fewer counters than ranks.
    ("histogram --table 1001 --updates 3003", BOTH, 4),
    ("histogram --table 300007 --updates 200003", BOTH, 3),
    ("histogram --table 2 --updates 1", BOTH, 3),
    ("wordcount --bytes 200003 --words 5000", "mpi-collective", 3),
    ("wordcount --bytes 5 --words 1", "mpi-collective", 3),
    ("wordcount --bytes 0", "mpi-collective", 2),
    ("tsp --cities 3", BOTH, 2),
];

#[test]
fn programs_are_right_over_mpi_too() {
    for (program, implementations, ranks) in PROGRAMS {
        let report = report(ranks, &format!("{program} --impl {implementations},aurora --reps 2"));
        assert_eq!((&report["impl"], &report["verified"]), (&Value::from("aurora"), &Value::Bool(true)), "{program}");
        for (implementation, mpi) in implementations.split(',').zip(report["results"].as_array().expect("a list")) {
            assert_eq!((&mpi["impl"], &mpi["verified"]), (&implementation.into(), &Value::Bool(true)), "{program}");
            assert!(mpi["sharing_seconds"]["median"].is_f64() && mpi["messages"].is_null(), "{program}: {mpi}");
            let phases =
                |of: &Value| of["phases"].as_array().expect("a list").iter().map(|p| p["name"].clone()).collect();
            let (ours, theirs): (Vec<Value>, Vec<Value>) = (phases(&report), phases(mpi));
            assert_eq!(ours, theirs);
        }
    }
}

/// Bounds and parts go from rank to rank while all ranks search.
#[test]
fn a_search_over_mpi_finds_the_optimum() {
    for (ranks, line, optimum) in [(1, "--instance gr17", 2085), (4, "--instance gr21 --chunk 3", 2707)] {
        let report = report(ranks, &format!("tsp {line} --impl {BOTH},sequential --reps 3"));
        for result in report["results"].as_array().expect("a list") {
            assert_eq!(
                (&result["verified"], &result["length"]),
                (&Value::Bool(true), &Value::from(optimum)),
                "{result}"
            );
        }
    }
}

#[test]
fn programs_that_are_wrong_over_mpi_are_found_out() {
    for (program, implementations) in [
        ("mm2 --size 33", MM2),
        ("psrs --keys 1000", BOTH),
        ("diffusion --rows 30 --cols 30", BOTH),
        ("histogram --table 1000 --updates 100", BOTH),
        ("tsp --cities 8", BOTH),
    ] {
        let output = mpirun(3, &format!("{program} --impl {implementations} --reps 1 --damage --json"));
        assert!(!output.status.success(), "{program}");
        let text = String::from_utf8_lossy(&output.stdout);
        let report = with_figures(text.lines().next().expect("a line"));
        for result in report["results"].as_array().expect("a list") {
            assert_eq!(result["verified"], false, "{program}: {result}");
        }
    }
}

#[test]
fn what_mpi_cannot_do_is_refused_once() {
    for (ranks, line, expected) in [
        (2, "bench get --impl mpi-collective", "aurora, mpi-isend"),
        (1, "bench get --impl mpi-isend", "at least 2 ranks"),
        (2, "bench stream --impl mpi-collective", "aurora, mpi-isend, tcp"),
        (2, "bench updates --impl mpi-isend", "aurora, mpi-alltoallv"),
        (2, "bench reads --impl mpi-collective", "aurora, mpi-alltoallv"),
        (2, "psrs --impl mpi-ring", "aurora, mpi-isend, mpi-collective, sequential, naive, rayon"),
    ] {
        let output = mpirun(ranks, line);
        assert!(!output.status.success(), "{line}");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(text.matches(expected).count(), 1, "{line}: {text}");
    }
}
