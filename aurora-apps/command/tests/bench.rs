//! `aurora bench` as a user types it, on ranks that it starts itself.

mod support;

use serde_json::Value;
use support::{aurora, stderr, stdout, with_figures};

/// Every operation, small, with its minimum number of ranks.
const OPERATIONS: [(&str, usize); 25] = [
    ("read-cache --bytes 100003", 1),
    ("read-cache --bytes 1", 1),
    ("read-cache --late-rank-ms 20", 1),
    ("exchange --keys 100003", 1),
    ("exchange --keys 2", 1),
    ("gather --bytes 4099", 2),
    ("gather --bytes 4099 --pull", 2),
    ("get", 2),
    ("put --target computing", 2),
    ("fetch-add", 2),
    ("fetch-add --tasks", 1),
    ("local", 1),
    ("scalar-sum", 1),
    ("all-reduce", 1),
    ("all-reduce --bytes 800K", 2),
    ("barrier", 1),
    ("stream --bytes 100003 --impl aurora,tcp", 2),
    ("copy --bytes 100003", 2),
    ("copy --bytes 1 --target computing", 2),
    ("updates --table 1009 --updates 30011", 1),
    ("updates --table 300007 --updates 50021", 1),
    ("updates --table 1 --updates 1", 1),
    ("reads --table 10007 --reads 5003 --batch 64", 1),
    ("reads --table 1 --reads 3", 1),
    ("first-touch --bytes 200003", 1),
];

fn report(line: &str) -> Value {
    let output = aurora(line);
    assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
    assert_eq!(stderr(&output), "", "{line}");
    let text = stdout(&output);
    with_figures(text.lines().last().expect("a line"))
}

fn assert_spread(of: &Value, line: &str) {
    let figure = |name: &str| of[name].as_f64().unwrap_or_else(|| panic!("{line}: {of}"));
    assert!(figure("min") <= figure("median") && figure("median") <= figure("max"), "{line}: {of}");
}

#[test]
fn every_operation_is_verified_and_tells_its_figures() {
    for (operation, least) in OPERATIONS {
        for ranks in least..=3 {
            let line = format!("bench {operation} --ranks {ranks} --reps 2 --route udp --json");
            let report = report(&line);
            assert_eq!(report["bench"], operation.split(' ').next().unwrap());
            assert_eq!(report["impl"], "aurora");
            assert_eq!(report["ranks"], ranks);
            assert_eq!(report["reps"], 2);
            let results = report["results"].as_array().expect("a list");
            let also = match operation.split(' ').next() {
                Some("first-touch") => 5,
                Some("local") => 6,
                Some("copy") => 1,
                _ => usize::from(operation.contains("tcp")),
            };
            assert_eq!(results.len(), 1 + also, "{line}");
            for result in results.iter().chain([&report]) {
                assert_eq!(result["verified"], true, "{line}");
                assert!(result["bytes"].is_u64(), "{line}");
                assert_spread(&result["seconds"], &line);
                assert_spread(&result["cpu_seconds"], &line);
                for (figure, of) in [
                    ("with_read_seconds", &["read-cache"][..]),
                    ("ready_seconds", &["read-cache"]),
                    ("pss_bytes", &["read-cache"]),
                    ("per_second", &["updates", "reads"]),
                    ("gigabytes_per_second", &["first-touch"]),
                ] {
                    match &result[figure] {
                        Value::Null => assert!(!of.contains(&operation.split(' ').next().unwrap()), "{line}: {figure}"),
                        spread => assert_spread(spread, &line),
                    }
                }
            }
            // A single rank has no socket.
            for packets in
                ["messages_sent", "bytes_sent", "packets_sent", "packets_resent"].into_iter().filter(|_| ranks > 1)
            {
                assert_spread(&report[packets], &line);
            }
        }
    }
}

/// A vector that all ranks of a machine cache exists once; caches of their own would be visible in the memory.
#[test]
fn ranks_of_one_machine_have_a_cached_vector_once() {
    // A rank's block is larger than the memory that an allocator keeps after a release.
    const BYTES: f64 = (160 << 20) as f64;
    let pss = |route: &str, bytes: f64| {
        let line = format!("bench read-cache --bytes {bytes} --ranks 4 --reps 1 --route {route} --json");
        let report = report(&line);
        assert_eq!(report["verified"], true);
        report["pss_bytes"]["median"].as_f64().expect("a number")
    };
    let shared = pss("shm", BYTES);
    assert!((BYTES..=BYTES * 560.0 / 512.0).contains(&shared), "{shared} bytes of memory for {BYTES}");
    let apart = pss("udp", BYTES / 10.0);
    assert!(apart >= 0.5 * BYTES, "{apart} bytes of memory, with four caches of a tenth of {BYTES}");
}

#[test]
fn ranks_that_are_threads_are_verified_too_and_have_no_packets() {
    for (operation, least) in OPERATIONS {
        let report = report(&format!("bench {operation} --ranks {} --reps 1 --route local --json", least.max(2)));
        assert_eq!(report["verified"], true);
        assert!(report["packets_sent"].is_null());
    }
}

#[test]
fn damage_is_exit_code_1() {
    for (operation, least) in OPERATIONS {
        for ranks in least..=3 {
            let output = aurora(&format!("bench {operation} --ranks {ranks} --reps 1 --damage"));
            assert_eq!(output.status.code(), Some(1), "{operation} on {ranks} ranks: {}", stderr(&output));
            assert!(stdout(&output).contains("NOT VERIFIED"), "{operation} on {ranks} ranks");
        }
    }
}

#[test]
fn damage_of_every_kind_of_memory_is_seen() {
    let output = aurora("bench first-touch --bytes 200003 --ranks 2 --reps 1 --damage --json");
    let report = with_figures(stdout(&output).trim());
    for result in report["results"].as_array().expect("a list") {
        assert_eq!(result["verified"], false, "{result}");
    }
}

#[test]
fn a_table_says_verified_once() {
    let output = aurora("bench stream --bytes 10000 --impl tcp,aurora --ranks 2 --reps 1");
    let text = stdout(&output);
    for word in ["verified", "aurora", "tcp", "median"] {
        assert_eq!(text.matches(word).count(), 1, "{word} in {text}");
    }
}

#[test]
fn seconds_are_for_one_operation_after_the_latest_rank_has_begun() {
    let seconds = |report: &Value| report["seconds"]["min"].as_f64().expect("a number");
    // A rank that does not get the processor in the first operation makes that operation look long, but hardly each
    // time.
    let is_repeated = |_: u32| {
        let barrier = report("bench barrier --ranks 2 --reps 1 --route udp --json");
        let times = barrier["times"].as_f64().expect("a number");
        times > 1.0 && seconds(&barrier) * times > 1e-3
    };
    assert!((0..5).any(is_repeated));
    let late = report("bench read-cache --bytes 1000 --late-rank-ms 400 --ranks 2 --reps 5 --json");
    assert!(seconds(&late) < 0.4, "{late}");
    assert_eq!(late["variant"], "late-rank-ms=400");
}

#[test]
fn rates_are_those_of_all_ranks_in_the_slowest_ones_time() {
    for (line, each) in [("updates --updates 20000", 20_000.0), ("reads --reads 30000 --batch 1000", 30_000.0)] {
        let report = report(&format!("bench {line} --table 5000 --ranks 3 --reps 1 --json"));
        let [rate, seconds] = ["per_second", "seconds"].map(|name| report[name]["median"].as_f64().expect("a number"));
        assert!((rate * seconds / (3.0 * each) - 1.0).abs() < 1e-6, "{report}");
    }
    let report = report("bench first-touch --bytes 1000000 --ranks 2 --reps 1 --json");
    for result in report["results"].as_array().expect("a list") {
        let figure = |name: &str| result[name]["median"].as_f64().expect("a number");
        assert!((figure("gigabytes_per_second") * figure("seconds") / 1e-3 - 1.0).abs() < 1e-6, "{result}");
    }
    let memory = report["results"].as_array().expect("a list").iter().map(|result| result["memory"].clone());
    let names = ["anonymous", "huge-pages", "memfd", "vector", "first-read-cache", "second-read-cache"];
    assert_eq!(memory.collect::<Vec<_>>(), names);
}

#[test]
fn the_bytes_of_a_vector_pass_through_the_network() {
    let report = report("bench read-cache --bytes 1000000 --ranks 2 --reps 3 --route udp --json");
    assert_eq!(report["bytes"], 1_000_000);
    // Half of it goes in each direction, in datagrams of at most 64 KiB.
    assert!(report["packets_sent"]["min"].as_f64().expect("a number") >= 1e6 / 65536.0, "{report}");
}

#[test]
fn wrong_arguments_are_exit_code_2_and_name_what_is_allowed() {
    let mpi: &[&str] = if cfg!(feature = "mpi") { &["--impl", "mpirun -n"] } else { &["--impl", "--features mpi"] };
    let cases: [(&str, &[&str]); 30] = [
        ("read-cach", &["read-cache"]),
        ("read-cache --bytes 0", &["--bytes", "from 1 on"]),
        ("read-cache --bytes 10MB", &["--bytes", "K, M, G or T"]),
        ("read-cache --bytes 90000000000000", &["--bytes", "the most that fits"]),
        ("exchange --keys 90000000000000", &["--keys", "the most that fits"]),
        ("exchange --bytes 5", &["--bytes"]),
        ("exchange --impl mpi-allgather", &["mpi-collective", "mpi-isend"]),
        ("exchange --impl aurora,aurora", &["--impl", "more than once"]),
        ("exchange --impl mpi-isend", mpi),
        ("barrier --late-rank-ms 5", &["--late-rank-ms"]),
        ("barrier --impl mpi-isend", &["--impl", "aurora, mpi-collective"]),
        ("gather --push --pull", &["--push", "--pull"]),
        ("gather --ranks 1", &["--ranks", "at least 2"]),
        ("get --ranks 1", &["--ranks", "at least 2"]),
        ("get --target busy", &["--target", "idle", "computing"]),
        ("get --impl mpi-collective", &["--impl", "aurora, mpi-isend"]),
        ("get --impl tcp", &["--impl", "aurora, mpi-isend"]),
        ("get --impl mpi-alltoallv", &["--impl", "aurora, mpi-isend"]),
        ("update", &["updates"]),
        ("updates --table 0", &["--table", "from 1 on"]),
        ("updates --table 1e-6", &["--table", "1e-6"]),
        ("updates --table 90000000000000", &["--table", "the most that fits"]),
        ("updates --updates 0", &["--updates", "from 1 to"]),
        ("updates --batch 5", &["--batch"]),
        ("updates --impl mpi-collective", &["--impl", "aurora, mpi-alltoallv"]),
        ("updates --impl mpi-alltoallv", mpi),
        ("reads --batch 0", &["--batch", "from 1 to 16777216"]),
        ("reads --reads 100 --batch 101", &["--batch", "the most that makes sense is 100"]),
        ("first-touch --bytes 0", &["--bytes", "from 1 on"]),
        ("first-touch --impl tcp", &["--impl", "possible values: aurora]"]),
    ];
    for (line, expected) in cases {
        let output = aurora(&format!("bench {line}"));
        assert_eq!(output.status.code(), Some(2), "{line}");
        let text = stderr(&output);
        for part in expected {
            assert!(text.contains(part), "{line}: {part} is not in {text}");
        }
        assert_eq!(stdout(&output), "", "{line}");
    }
}
