//! `aurora check` and `aurora bench check-cost`: the race detector finds races, and none in the applications.

use crate::support::{stderr, stdout};
use aurora_core::Error;
use aurora_core::prelude::*;
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

fn check_cost(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aurora"));
    command.args(["bench", "check-cost"]).args(line.split_whitespace()).env_remove("AURORA_RANKS");
    command
}

/// Also with variables of the user for printing and checking.
#[test]
#[allow(clippy::print_stdout)]
fn applications() {
    let variables =
        [("CHECK", "1"), ("STATS", "1"), ("TRACE", "/nowhere/at/all.json"), ("SCALAR", "deny"), ("TIMEOUT", "100")];
    for route in ["auto", "udp"] {
        let mut check = check_cost(&format!("--ranks 3 --route {route}"));
        check.envs(variables.map(|(name, value)| (format!("AURORA_{name}"), value)));
        let output = check.output().expect("the command starts");
        assert!(output.status.success(), "{route}: {}{}", stdout(&output), stderr(&output));
        // A head, and a line for each application.
        assert_eq!(stdout(&output).lines().count(), 14);
        println!("{route}:\n{}", stdout(&output));
    }
}

/// Returns the state of a process and its parent, or `None` if there is no process with this number.
fn state(process: i32) -> Option<(char, i32)> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

fn children(parent: i32) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").expect("the processes").flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes.filter(|process| state(*process).is_some_and(|(_, its_parent)| its_parent == parent)).collect()
}

#[test]
fn an_application_that_hangs_is_killed_with_its_ranks() {
    let mut check = check_cost("--ranks 3 --limit 4");
    let mut check = check.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    let (root, others) = loop {
        assert!(check.try_wait().expect("it can be asked").is_none(), "it ends before all ranks have started");
        let started = children(check.id() as i32).into_iter().map(|root| (root, children(root)));
        if let Some(job) = started.into_iter().find(|(_, others)| others.len() == 2) {
            break job;
        }
        thread::sleep(Duration::from_millis(1));
    };
    kill_process(Pid::from_raw(root).expect("a process"), Signal::STOP).expect("rank 0 is stopped");
    let output = check.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    let error = "error: aurora mm2 --size 200: AURORA_CHECK=0 has not ended after 4 s and was killed (--limit)";
    assert!(stderr(&output).contains(error), "{}", stderr(&output));
    let until = Instant::now() + Duration::from_secs(5);
    for rank in others.into_iter().chain([root]) {
        while state(rank).is_some_and(|(state, _)| state != 'Z') {
            assert!(Instant::now() < until, "process {rank} is left over");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Checks a user's program: this file, of which an ignored test runs on ranks that are threads.
fn check_test(options: &str, test: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aurora"));
    let command = command.arg("check").args(options.split_whitespace()).arg(std::env::current_exe().expect("a path"));
    let command = command.args(["--ignored", "--exact", "--nocapture", test]).env_remove("AURORA_RANKS");
    command.output().expect("the command starts")
}

/// Each rank writes element 0 of a vector. If `ordered`, a barrier lies between the writes of two ranks.
fn writes(ordered: bool) -> Result<()> {
    aurora_core::run(|world| {
        let mut v = GVector::<u64>::new(world, 4)?;
        for rank in 0..world.size() {
            if world.rank() == rank {
                v.put(0, rank as u64)?;
            }
            if ordered {
                world.barrier()?;
            }
        }
        world.barrier()
    })
}

#[test]
#[ignore = "it is run by the test of `aurora check`"]
fn unordered() {
    writes(false).expect("a race");
}

#[test]
#[ignore = "it is run by the test of `aurora check`"]
fn ordered() {
    writes(true).expect("no race");
}

/// Rank 0 holds a slice, whose reads are unknown, and rank 1 writes one of its elements.
#[test]
#[ignore = "it is run by the test of `aurora check`"]
fn possible() {
    let done = aurora_core::run(|world| {
        let mut v = GVector::<u64>::new(world, 4)?;
        match world.rank().index() {
            0 => v.owner_computes().map(|own| assert_eq!(own.local().len(), 2))?,
            _ => v.put(1, 1)?,
        }
        world.barrier()
    });
    done.expect("no certain race");
}

/// A race that the program itself does not report, and a job without a race.
#[test]
#[ignore = "it is run by the test of `aurora check`"]
fn handled() {
    let _ = writes(false);
    writes(true).expect("no race");
}

#[test]
#[ignore = "it is run by the test of `aurora check`"]
fn no_job() {}

/// Leaves behind a process that keeps stderr open.
#[test]
#[ignore = "it is run by the test of `aurora check`"]
fn leaving() {
    writes(true).expect("no race");
    let left = Command::new("sh").args(["-c", "sleep 60 > /dev/null &"]).status();
    assert!(left.expect("a shell").success());
}

#[test]
#[ignore = "it is run by the test of `aurora check`"]
fn unchecked() {
    Config::default().check(false).run(|world| world.barrier()).expect("a job");
}

#[test]
#[ignore = "it is run by the test of `aurora check`"]
fn failing() {
    let failed: Result<()> = aurora_core::run(|_| Err(Error::user("no input")));
    failed.expect("an input");
}

#[test]
#[ignore = "it is run by the test of `aurora check`"]
fn endless() {
    thread::sleep(Duration::from_secs(600));
}

#[test]
fn a_users_program_is_checked() {
    let options = "-n 2 --route local";
    for (test, code, verdict) in [
        ("checked::unordered", 1, "aurora check: a race\n"),
        ("checked::ordered", 0, "aurora check: no race in 1 job\n"),
        ("checked::possible", 1, "aurora check: 1 possible race, and no certain one\n"),
        ("checked::handled", 1, "aurora check: a race\n"),
        ("checked::leaving", 0, "aurora check: no race in 1 job\n"),
        ("checked::no_job", 1, "aurora check: nothing was checked: no job has ended"),
        ("checked::unchecked", 1, "aurora check: nothing was checked: no job has ended"),
        ("checked::failing", 1, "aurora check: the program has failed (exit status: 101); no race was found before"),
    ] {
        let begun = Instant::now();
        let output = check_test(options, test);
        assert!(begun.elapsed() < Duration::from_secs(40), "{test}");
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{test}: {text}");
        assert!(text.contains(verdict), "{test}: {text}");
        // The program's own output is passed on.
        assert!(stdout(&output).contains(&format!("test {test} ... ")), "{}", stdout(&output));
    }
    let output = check_test(&format!("{options} --limit 1e19"), "checked::ordered");
    assert!(output.status.success(), "{}", stderr(&output));
    let output = check_test(&format!("{options} --limit 1"), "checked::endless");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("has not ended after 1 s and was killed (--limit)"), "{}", stderr(&output));
}

/// Ranks that are processes, and ranks of mpirun if it is installed.
#[test]
fn a_users_program_is_checked_on_processes() {
    let program = [env!("CARGO_BIN_EXE_aurora"), "psrs", "--keys", "1000", "--reps", "1"];
    let launchers: &[&str] = if cfg!(feature = "mpi") { &["own", "mpirun"] } else { &["own"] };
    for launcher in launchers {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aurora"));
        let command = command.args(["check", "-n", "3", "--launcher", launcher, "--"]).args(program);
        let output = command.env_remove("AURORA_RANKS").output().expect("the command starts");
        assert!(output.status.success(), "{launcher}: {}", stderr(&output));
        assert!(stdout(&output).contains(": 3 ranks, "), "{launcher}: {}", stdout(&output));
        assert!(stderr(&output).ends_with("aurora check: no race in 1 job\n"), "{launcher}: {}", stderr(&output));
    }
}
