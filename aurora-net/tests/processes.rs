//! Ranks that are processes. This binary is the test driver, and, started by it with a body's name, the job under test,
//! whose ranks it starts once more.

mod support;

use aurora_net::bootstrap::{Failure, Launch, Options, Seat, VARIABLE, run};
use libtest_mimic::{Arguments, Trial};
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use support::{Random, connect, exchange, wait};

/// No job of this file takes longer, failures included.
const LIMIT: Duration = Duration::from_secs(15);

/// What the issue of a failure may take.
const FAILURE_LIMIT: Duration = Duration::from_secs(5);

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
        Err(_) => Launch::Processes(size.parse().unwrap()),
    };
    let mut options = Options::default();
    if name == "twice" {
        run(Launch::Processes(1), options.clone(), |_| Ok(())).expect("the first start");
    }
    if let Some(grace) = rest.get(3) {
        options.grace = Duration::from_millis(grace.parse().unwrap());
    }
    let outcome = run(launch, options, |seat| body(&seat, name, rest));
    match outcome {
        Ok(text) => print(&text),
        Err(failure) => {
            print_error(&format!("error: {failure}"));
            std::process::exit(1);
        }
    }
}

fn body(seat: &Seat, name: &str, rest: &[String]) -> Result<String, Failure> {
    let me = seat.rank();
    match name {
        "hello" => {
            print(&format!("hello from {me} of {}", seat.size()));
            Ok("done".into())
        }
        "exchange" => {
            let seed = rest[0].parse().unwrap();
            let received = exchange(seat, None, seed, 200)?;
            Ok(format!("received {}", received > 0))
        }
        "fault" => {
            let [fault, rank, place, _grace] = rest else {
                panic!("fault <fault> <rank> <place> <grace>");
            };
            if me == rank.parse::<usize>().unwrap() {
                let _endpoint = (place == "wait").then(|| connect(seat, None)).transpose()?;
                // So that the others are where they are meant to be.
                std::thread::sleep(Duration::from_millis(200));
                return Err(commit(seat, fault));
            }
            match place.as_str() {
                "finish" => seat.finish()?,
                "wait" => {
                    let endpoint = connect(seat, None)?;
                    wait(&endpoint, me, |_, _| None::<()>)?;
                }
                "compute" => loop {
                    std::thread::sleep(Duration::from_millis(100));
                },
                other => panic!("no place {other}"),
            }
            Ok("done".into())
        }
        other => panic!("no body {other}"),
    }
}

/// What the driver asks a rank to do wrong.
fn commit(seat: &Seat, fault: &str) -> Failure {
    match fault {
        "error" => return Failure::of(seat.rank(), "out of tea"),
        "panic" => panic!("out of cheese"),
        "exit0" => std::process::exit(0),
        "exit3" => std::process::exit(3),
        "kill" => signal("KILL"),
        "stop" => signal("STOP"),
        other => panic!("no fault {other}"),
    }
    // The signal takes a moment.
    std::thread::sleep(Duration::from_secs(60));
    panic!("alive after {fault}");
}

fn signal(name: &str) {
    let me = std::process::id().to_string();
    let status = Command::new("kill").args(["-s", name, &me]).status();
    assert!(status.unwrap().success());
}

#[allow(clippy::print_stdout)]
fn print(text: &str) {
    println!("{text}");
}

#[allow(clippy::print_stderr)]
fn print_error(text: &str) {
    eprintln!("{text}");
}

// ---- the driver ----

fn driver_main() {
    let mut arguments = Arguments::from_args();
    // The jobs measure time and use all cores.
    arguments.test_threads = Some(1);
    let mut trials = vec![
        Trial::test("output_is_prefixed_and_rank_0_is_not", output),
        Trial::test("udp_random_transfers_arrive_intact_between_2", || {
            transfers(2)
        }),
        Trial::test("udp_random_transfers_arrive_intact_between_4", || {
            transfers(4)
        }),
        Trial::test("a_second_start_is_refused", second_start),
        Trial::test("children_die_with_a_killed_rank_0", || orphans("KILL")),
        Trial::test("children_die_with_an_interrupted_rank_0", || orphans("INT")),
        Trial::test("a_stale_ticket_is_refused", stale_ticket),
    ];
    for fault in ["error", "panic", "exit0", "exit3", "kill", "stop"] {
        for rank in [0, 2] {
            // Nobody ends a rank 0 that is stopped; its death has a test of its own.
            if rank == 0 && ["stop", "kill"].contains(&fault) {
                continue;
            }
            for place in ["finish", "wait", "compute"] {
                let name = format!("fault_{fault}_in_rank_{rank}_others_in_{place}");
                trials.push(Trial::test(name, move || fault_trial(fault, rank, place)));
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

type Outcome = Result<(), libtest_mimic::Failed>;

fn check(condition: bool, what: impl FnOnce() -> String) -> Outcome {
    if condition {
        Ok(())
    } else {
        Err(what().into())
    }
}

/// A job under test.
struct Job {
    process: Child,
    /// Found on the command line of each of its processes.
    marker: String,
    start: Instant,
}

#[derive(Debug)]
struct Ended {
    status: ExitStatus,
    stdout: String,
    stderr: String,
    took: Duration,
    leftover: Vec<u32>,
}

impl Job {
    fn start(size: usize, body: &[&str]) -> Self {
        let seed = Instant::now().elapsed().as_nanos() as u64 ^ u64::from(std::process::id());
        let clock = std::time::SystemTime::UNIX_EPOCH
            .elapsed()
            .unwrap()
            .as_nanos() as u64;
        let marker = format!("marker-{:016x}", Random::new(seed ^ clock).next());
        let process = Command::new(std::env::current_exe().unwrap())
            .args(["body", &marker, &size.to_string()])
            .args(body)
            // With it a panic is printed as usual beside the failure.
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Job {
            process,
            marker,
            start: Instant::now(),
        }
    }

    fn processes(&self) -> Vec<u32> {
        let all = std::fs::read_dir("/proc").unwrap();
        all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|pid: &u32| {
                let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                line.split(|byte| *byte == 0)
                    .any(|word| word == self.marker.as_bytes())
            })
            .collect()
    }

    fn end(mut self) -> Ended {
        let read = |pipe: Box<dyn Read + Send>| {
            std::thread::spawn(move || {
                let (mut pipe, mut text) = (pipe, String::new());
                pipe.read_to_string(&mut text).unwrap();
                text
            })
        };
        let stdout = read(Box::new(self.process.stdout.take().unwrap()));
        let stderr = read(Box::new(self.process.stderr.take().unwrap()));
        let status = loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                break status;
            }
            if self.start.elapsed() > LIMIT {
                self.process.kill().unwrap();
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let took = self.start.elapsed();
        // The kernel ends orphans a moment later.
        std::thread::sleep(Duration::from_millis(50));
        let leftover = self.processes();
        for pid in &leftover {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
        Ended {
            status,
            stdout: stdout.join().unwrap(),
            stderr: stderr.join().unwrap(),
            took,
            leftover,
        }
    }
}

fn output() -> Outcome {
    let ended = Job::start(3, &["hello"]).end();
    let mut lines: Vec<&str> = ended.stderr.lines().collect();
    lines.sort_unstable();
    let expected = ["[1] hello from rank 1 of 3", "[2] hello from rank 2 of 3"];
    check(ended.status.success() && lines == expected, || {
        format!("{ended:?}")
    })?;
    check(ended.stdout == "hello from rank 0 of 3\ndone\n", || {
        format!("{ended:?}")
    })?;
    check(ended.leftover.is_empty(), || format!("{ended:?}"))
}

fn transfers(size: usize) -> Outcome {
    let ended = Job::start(size, &["exchange", "17"]).end();
    let clean = ended.status.success() && ended.stderr.is_empty() && ended.leftover.is_empty();
    check(clean && ended.stdout == "received true\n", || {
        format!("{ended:?}")
    })
}

fn fault_trial(fault: &str, rank: usize, place: &str) -> Outcome {
    // Ranks that compute use all of it.
    let grace = if fault == "stop" { "2000" } else { "700" };
    let ended = Job::start(3, &["fault", fault, &rank.to_string(), place, grace]).end();
    let cause = match fault {
        "error" => "out of tea",
        "panic" => "panicked: out of cheese (at aurora-net/tests/processes.rs:",
        "exit0" | "exit3" => "the program called `exit` inside `run`",
        "kill" => "its process was killed by signal 9 (SIGKILL)",
        _ => "its process has been stopped for 2s",
    };
    let message = format!("rank {rank} failed: {cause}");
    let lines: Vec<&str> = ended.stderr.lines().collect();
    check(
        matches!(lines[..], [line] if line.contains(&message)),
        || format!("not the one message `{message}`: {ended:?}"),
    )?;
    check(ended.status.code() == Some(1), || {
        format!("exit code: {ended:?}")
    })?;
    check(ended.took < FAILURE_LIMIT, || {
        format!("too late: {ended:?}")
    })?;
    check(ended.stdout.is_empty() && ended.leftover.is_empty(), || {
        format!("left: {ended:?}")
    })
}

fn orphans(signal: &str) -> Outcome {
    let job = Job::start(3, &["fault", "none", "9", "compute", "2000"]);
    let deadline = Instant::now() + LIMIT;
    while job.processes().len() < 3 {
        check(Instant::now() < deadline, || "not started".into())?;
    }
    std::thread::sleep(Duration::from_millis(100));
    let pid = job.process.id().to_string();
    check(
        Command::new("kill")
            .args(["-s", signal, &pid])
            .status()?
            .success(),
        || "kill".into(),
    )?;
    let ended = job.end();
    check(!ended.status.success() && ended.leftover.is_empty(), || {
        format!("{ended:?}")
    })?;
    check(
        ended.stderr.is_empty() && ended.took < FAILURE_LIMIT,
        || format!("{ended:?}"),
    )
}

fn second_start() -> Outcome {
    let ended = Job::start(1, &["twice"]).end();
    let expected = "error: the job cannot start: this process has started ranks before";
    check(ended.stderr.starts_with(expected), || format!("{ended:?}"))?;
    check(ended.status.code() == Some(1), || format!("{ended:?}"))
}

fn stale_ticket() -> Outcome {
    for ticket in ["nonsense", "aurora-0:1:2:0"] {
        let output = Command::new(std::env::current_exe()?)
            .args(["body", "marker", "2", "hello"])
            .env(VARIABLE, ticket)
            .output()?;
        let text = String::from_utf8_lossy(&output.stderr);
        let expected = "the job cannot start: AURORA_JOB does not belong to a running job";
        check(
            output.status.code() == Some(1) && text.contains(expected),
            || format!("{output:?}"),
        )?;
    }
    Ok(())
}
