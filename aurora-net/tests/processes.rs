//! Ranks that are processes. This binary is the test driver. Started by itself with a body's name, it is the job under
//! test, which starts its ranks in the same way.

mod support;

use aurora_net::bootstrap::{Launch, Options, VARIABLE, run};
use libtest_mimic::{Arguments, Trial};
use std::process::Command;
use std::time::{Duration, Instant};
use support::bodies::{LAST_WORDS, body, print, print_error};
use support::job::{FAILURE_LIMIT, Job, LIMIT, Outcome, check};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("body") => body_main(&arguments[2..]),
        _ => driver_main(),
    }
}

// ---- the job under test ----

fn body_main(arguments: &[String]) {
    let [_marker, size, name, rest @ ..] = arguments else {
        panic!("body <marker> <size> <name> ...");
    };
    let launch = match std::env::var(VARIABLE) {
        Ok(ticket) => Launch::Child(ticket),
        Err(_) if rest.last().is_some_and(|word| word == "threads") => Launch::Threads(size.parse().unwrap()),
        Err(_) => Launch::Processes(size.parse().unwrap()),
    };
    let mut options = Options::default();
    if name == "twice" {
        run(Launch::Processes(1), options.clone(), |_| Ok(())).expect("the first start");
    }
    if let Some(grace) = rest.get(3) {
        options.grace = Duration::from_millis(grace.parse().unwrap());
    }
    let before = holdings();
    let outcome = run(launch, options, |seat| body(&seat, name, rest));
    let deadline = Instant::now() + Duration::from_secs(1);
    // A joined thread is still listed for a moment.
    while holdings() != before && Instant::now() < deadline {
        std::thread::yield_now();
    }
    if holdings() != before {
        print_error(&format!("left behind: {:?} instead of {before:?}", holdings()));
    }
    match outcome {
        Ok(text) => print(&text),
        Err(failure) => {
            print_error(&format!("error: {failure}"));
            std::process::exit(1);
        }
    }
}

fn holdings() -> (usize, usize) {
    let count = |what| std::fs::read_dir(format!("/proc/self/{what}")).unwrap().count();
    (count("fd"), count("task"))
}

// ---- the driver ----

fn driver_main() {
    let mut arguments = Arguments::from_args();
    // The jobs measure time and use all cores.
    arguments.test_threads = Some(1);
    let mut trials = vec![
        Trial::test("output_is_prefixed_and_rank_0_is_not", output),
        Trial::test("shm_random_transfers_arrive_intact_between_2", || transfers(2, "shm")),
        Trial::test("shm_random_transfers_arrive_intact_between_4", || transfers(4, "shm")),
        Trial::test("udp_random_transfers_arrive_intact_between_2", || transfers(2, "udp")),
        Trial::test("udp_random_transfers_arrive_intact_between_4", || transfers(4, "udp")),
        Trial::test("ranks_of_one_machine_share_memory", share),
        Trial::test("an_idle_rank_uses_no_processor_time_over_shm", || idle("shm")),
        Trial::test("an_idle_rank_uses_no_processor_time_over_udp", || idle("udp")),
        Trial::test("what_a_killed_rank_has_sent_before_arrives", last_words),
        Trial::test("a_second_start_is_refused", second_start),
        Trial::test("children_die_with_a_killed_rank_0", || orphans("KILL")),
        Trial::test("children_die_with_an_interrupted_rank_0", || orphans("INT")),
        Trial::test("a_stale_ticket_is_refused", stale_ticket),
        Trial::test("exit_in_a_rank_that_is_a_thread_is_a_failure", thread_exit),
    ];
    for fault in ["error", "panic", "exit0", "exit3", "kill", "stop"] {
        for rank in [0, 2] {
            // A stopped rank 0 stops the job; its death is tested separately.
            if rank == 0 && ["stop", "kill"].contains(&fault) {
                continue;
            }
            for place in ["finish", "wait", "share", "compute"] {
                let name = format!("fault_{fault}_in_rank_{rank}_others_in_{place}");
                trials.push(Trial::test(name, move || fault_trial(fault, rank, place)));
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn output() -> Outcome {
    let ended = Job::start(&[], 3, &["hello"]).end();
    let mut lines: Vec<&str> = ended.stderr.lines().collect();
    lines.sort_unstable();
    let expected = ["[1] hello from rank 1 of 3", "[2] hello from rank 2 of 3"];
    check(ended.status.success() && lines == expected, || format!("{ended:?}"))?;
    check(ended.stdout == "hello from rank 0 of 3\ndone\n", || format!("{ended:?}"))?;
    check(ended.leftover.is_empty(), || format!("{ended:?}"))
}

fn transfers(size: usize, route: &str) -> Outcome {
    let ended = Job::start(&[], size, &["exchange", "17", route]).end();
    let clean = ended.status.success() && ended.stderr.is_empty() && ended.leftover.is_empty();
    check(clean && ended.stdout == "received true\n", || format!("{ended:?}"))
}

fn share() -> Outcome {
    let ended = Job::start(&[], 3, &["share"]).end();
    let clean = ended.status.success() && ended.stderr.is_empty() && ended.leftover.is_empty();
    check(clean && ended.stdout == "shared by 3 of 3\n", || format!("{ended:?}"))
}

fn last_words() -> Outcome {
    let ended = Job::start(&[], 3, &["last-words", "", "", "", "2000"]).end();
    let expected = format!("[2] heard {LAST_WORDS}, faults []\n");
    let heard = ended.stderr.contains(&expected) && ended.stdout.starts_with("heard 0, faults []\n");
    check(heard && ended.leftover.is_empty(), || format!("not {expected}: {ended:?}"))
}

fn idle(route: &str) -> Outcome {
    let ended = Job::start(&[], 3, &["idle", route]).end();
    let clean = ended.status.success() && ended.stderr.is_empty();
    check(clean && ended.stdout == "idle\n", || format!("{ended:?}"))
}

fn fault_trial(fault: &str, rank: usize, place: &str) -> Outcome {
    // Computing ranks use all of it.
    let grace = if fault == "stop" { "2000" } else { "700" };
    let ended = Job::start(&[], 3, &["fault", fault, &rank.to_string(), place, grace]).end();
    let cause = match fault {
        "error" => "out of tea",
        "panic" => "panicked: out of cheese (at aurora-net/tests/support/bodies.rs:",
        "exit0" | "exit3" => "the program called `exit` inside `run`",
        "kill" => "its process was killed by signal 9 (SIGKILL)",
        _ => "its process has been stopped for 2s",
    };
    let message = format!("rank {rank} failed: {cause}");
    let lines: Vec<&str> = ended.stderr.lines().collect();
    check(matches!(lines[..], [line] if line.contains(&message)), || {
        format!("not the one message `{message}`: {ended:?}")
    })?;
    check(ended.status.code() == Some(1), || format!("exit code: {ended:?}"))?;
    check(ended.took < FAILURE_LIMIT, || format!("too late: {ended:?}"))?;
    check(ended.stdout.is_empty() && ended.leftover.is_empty(), || format!("left: {ended:?}"))
}

fn orphans(signal: &str) -> Outcome {
    // Background jobs of a script ignore Ctrl-C, and their children inherit this.
    let job = Job::start(&["env", "--default-signal=INT"], 3, &["fault", "none", "9", "compute", "2000"]);
    let deadline = Instant::now() + LIMIT;
    while job.processes().len() < 3 {
        check(Instant::now() < deadline, || "not started".into())?;
    }
    std::thread::sleep(Duration::from_millis(100));
    let pid = job.process.id().to_string();
    check(Command::new("kill").args(["-s", signal, &pid]).status()?.success(), || "kill".into())?;
    let ended = job.end();
    check(!ended.status.success() && ended.leftover.is_empty(), || format!("{ended:?}"))?;
    check(ended.stderr.is_empty() && ended.took < FAILURE_LIMIT, || format!("{ended:?}"))
}

fn second_start() -> Outcome {
    let ended = Job::start(&[], 1, &["twice"]).end();
    let expected = "error: the job cannot start: this process has started ranks before";
    check(ended.stderr.starts_with(expected), || format!("{ended:?}"))?;
    check(ended.status.code() == Some(1), || format!("{ended:?}"))
}

fn thread_exit() -> Outcome {
    for (fault, rank) in [("exit0", 0), ("exit3", 2)] {
        let rank_word = rank.to_string();
        let body = ["fault", fault, &rank_word, "compute", "2000", "threads"];
        let ended = Job::start(&[], 3, &body).end();
        let expected = format!("aurora: rank {rank} failed: the program called `exit` inside `run`\n");
        let said = ended.stderr == expected && ended.stdout.is_empty();
        check(said && ended.status.code() == Some(1), || format!("{ended:?}"))?;
    }
    Ok(())
}

fn stale_ticket() -> Outcome {
    for ticket in ["nonsense", "aurora-0:1:2:0"] {
        let output = Command::new(std::env::current_exe()?)
            .args(["body", "marker", "2", "hello"])
            .env(VARIABLE, ticket)
            .output()?;
        let text = String::from_utf8_lossy(&output.stderr);
        let expected = "the job cannot start: AURORA_JOB does not belong to a running job";
        check(output.status.code() == Some(1) && text.contains(expected), || format!("{output:?}"))?;
    }
    Ok(())
}
