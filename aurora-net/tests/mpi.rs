//! Ranks started by mpirun. This binary is the test driver and, under mpirun, the job under test.
//!
//! `MPIRUN` names the mpirun of the MPI that this was built for, `OTHER_MPIRUN` that of another one, if there is one.

mod support;

use aurora_net::bootstrap::{Announced, Launch, Options, run};
use libtest_mimic::{Arguments, Trial};
use support::bodies::{body, print, print_error};
use support::job::{Ended, Job, Outcome, check};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("body") => body_main(&arguments[2..]),
        _ => driver_main(),
    }
}

fn body_main(arguments: &[String]) {
    let [_marker, size, name, rest @ ..] = arguments else {
        panic!("body <marker> <size> <name> ...");
    };
    let launch = || Launch::Mpi(Announced { size: size.parse().ok(), ..Announced::default() });
    let mut outcome = run(launch(), Options::default(), |seat| body(&seat, name, rest));
    if name == "exchange" {
        // A program may run several jobs in sequence.
        outcome = run(launch(), Options::default(), |seat| body(&seat, name, rest));
    }
    match outcome {
        Ok(text) => print(&text),
        Err(failure) => {
            print_error(&format!("error: {failure}"));
            std::process::exit(1);
        }
    }
}

fn driver_main() {
    let mut arguments = Arguments::from_args();
    // Most of them wait for time-outs.
    arguments.test_threads = Some(2);
    let mut trials = vec![
        Trial::test("random_transfers_arrive_intact_between_1", || transfers(1, "shm")),
        Trial::test("shm_random_transfers_arrive_intact_between_2", || transfers(2, "shm")),
        Trial::test("shm_random_transfers_arrive_intact_between_4", || transfers(4, "shm")),
        Trial::test("udp_random_transfers_arrive_intact_between_2", || transfers(2, "udp")),
        Trial::test("bulk_random_transfers_arrive_intact_between_2", || transfers(2, "bulk")),
        Trial::test("bulk_random_transfers_arrive_intact_between_4", || transfers(4, "bulk")),
        Trial::test("ranks_that_are_told_differently_what_moves_bulk_data_are_told", differ),
        Trial::test("ranks_of_one_machine_share_memory", share),
    ];
    if let Ok(other) = std::env::var("OTHER_MPIRUN") {
        let name = "another_mpirun_is_refused_by_every_rank";
        trials.push(Trial::test(name, move || mismatch(&other)));
    }
    for fault in ["error", "panic", "exit0", "exit3", "kill", "stop"] {
        for rank in [0, 2] {
            let places: &[&str] = match (fault, rank) {
                // A stopped rank is noticed only when a reply is missing.
                ("stop", _) => &["ask"],
                (_, 0) => &["wait", "share"],
                _ => &["finish", "wait", "share", "compute"],
            };
            for &place in places {
                let name = format!("fault_{fault}_in_rank_{rank}_others_in_{place}");
                trials.push(Trial::test(name, move || fault_trial(fault, rank, place)));
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn start(mpirun: &str, size: usize, body: &[&str]) -> Ended {
    let count = size.to_string();
    let mut launcher = vec![mpirun, "-n", &count];
    let version = std::process::Command::new(mpirun).arg("--version").output();
    if String::from_utf8_lossy(&version.expect("an mpirun").stdout).contains("Open") {
        launcher.extend(["--allow-run-as-root", "--oversubscribe"]);
    }
    Job::start(&launcher, size, body).end()
}

fn mpirun() -> String {
    std::env::var("MPIRUN").unwrap_or_else(|_| "mpirun".into())
}

fn transfers(size: usize, route: &str) -> Outcome {
    let ended = start(&mpirun(), size, &["exchange", "17", route]);
    let received = format!("received {}\n", size > 1).repeat(size);
    let clean = ended.status.success() && ended.leftover.is_empty();
    check(clean && ended.stdout == received, || format!("{ended:?}"))
}

fn share() -> Outcome {
    let ended = start(&mpirun(), 3, &["share"]);
    let clean = ended.status.success() && ended.leftover.is_empty();
    check(clean && ended.stdout == "shared by 3 of 3\n".repeat(3), || format!("{ended:?}"))
}

fn differ() -> Outcome {
    let ended = start(&mpirun(), 3, &["differ"]);
    let told =
        "rank 0 is set to move bulk data by `mpi`, rank 1 by `udp`: set AURORA_BULK to one value for all ranks\n";
    check(ended.status.success() && ended.stdout == told.repeat(3), || format!("{ended:?}"))
}

fn mismatch(other: &str) -> Outcome {
    let ended = start(other, 2, &["hello"]);
    let expected = "as one of 2 ranks, but MPI sees 1";
    let said = ended.stderr.matches(expected).count() + ended.stdout.matches(expected).count();
    check(!ended.status.success() && said >= 1, || format!("{ended:?}"))?;
    check(!ended.stdout.contains("hello"), || format!("{ended:?}"))
}

fn fault_trial(fault: &str, rank: usize, place: &str) -> Outcome {
    let ended = start(&mpirun(), 3, &["fault", fault, &rank.to_string(), place, "2000"]);
    let cause = match fault {
        "error" => "out of tea",
        "panic" => "panicked: out of cheese (at aurora-net/tests/",
        "exit0" | "exit3" => "the program called `exit` inside `run`",
        // The message is from mpirun, or from a rank that has waited for mpirun.
        _ => "",
    };
    let text = format!("{}{}", ended.stdout, ended.stderr);
    let ours: Vec<&str> = text.lines().filter(|line| line.contains("aurora: ")).collect();
    let told = match fault {
        "kill" => ours.len() <= 1,
        "stop" => ours.len() == 1 && ours[0].contains(&format!("rank {rank} is silent")),
        _ => ours.len() == 1 && ours[0].contains(&format!("aurora: rank {rank} failed: {cause}")),
    };
    check(told, || format!("not the one message: {ended:?}"))?;
    check(!ended.status.success(), || format!("exit code: {ended:?}"))?;
    let limit = support::job::FAILURE_LIMIT;
    check(ended.took < limit && ended.leftover.is_empty(), || format!("{ended:?}"))
}
