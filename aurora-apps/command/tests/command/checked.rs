//! `aurora check`: the race detector finds nothing in the applications, and the slow-down is printed.

use crate::support::{stderr, stdout};
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

fn check(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aurora"));
    command.arg("check").args(line.split_whitespace()).env_remove("AURORA_RANKS");
    command
}

/// Whatever the user's variables say of printing and checking.
#[test]
#[allow(clippy::print_stdout)]
fn applications() {
    let variables =
        [("CHECK", "1"), ("STATS", "1"), ("TRACE", "/nowhere/at/all.json"), ("SCALAR", "deny"), ("TIMEOUT", "100")];
    for route in ["auto", "udp"] {
        let mut check = check(&format!("--ranks 3 --route {route}"));
        check.envs(variables.map(|(name, value)| (format!("AURORA_{name}"), value)));
        let output = check.output().expect("the command starts");
        assert!(output.status.success(), "{route}: {}{}", stdout(&output), stderr(&output));
        // A head, and a line for each application.
        assert_eq!(stdout(&output).lines().count(), 13);
        println!("{route}:\n{}", stdout(&output));
    }
}

/// The state of a process, and its parent; `None` if there is none of this number.
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
    let mut check = check("--ranks 3 --limit 4");
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
    let said = "error: aurora mm2 --size 200: AURORA_CHECK=0 has not ended after 4 s and was killed (--limit)";
    assert!(stderr(&output).contains(said), "{}", stderr(&output));
    let until = Instant::now() + Duration::from_secs(5);
    for rank in others.into_iter().chain([root]) {
        while state(rank).is_some_and(|(state, _)| state != 'Z') {
            assert!(Instant::now() < until, "process {rank} is left over");
            thread::sleep(Duration::from_millis(10));
        }
    }
}
