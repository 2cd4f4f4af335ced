//! Runs a command, and ends it if it is silent for too long.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The kept bytes of its stderr: the end contains the reason of a failure.
const KEPT: usize = 8 * 1024;

/// The result of a command.
#[derive(Debug)]
pub struct Ended {
    /// True if it was ended because it was silent for too long.
    pub overdue: bool,
    /// True if it ended by itself with success.
    pub success: bool,
    /// The lines of its stdout.
    pub lines: Vec<String>,
    /// The end of its stderr, and the reason if it was ended from here.
    pub errors: String,
}

/// A command without this process's variables of Aurora, which Open MPI starts for root too.
pub fn alone(mut command: Command) -> Command {
    for variable in aurora_core::VARIABLES {
        command.env_remove(variable);
    }
    command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
    command
}

/// Runs a command until it ends, or until its stdout has been silent for `limit`.
///
/// # Errors
/// If it cannot be started.
pub fn run(command: Command, limit: Duration) -> std::io::Result<Ended> {
    run_patiently(command, |_| limit)
}

/// Runs a command until it ends, or until its stdout has been silent for the time that `patience` allows after the last
/// line.
///
/// # Errors
/// If it cannot be started.
pub fn run_patiently(mut command: Command, patience: impl Fn(Option<&str>) -> Duration) -> std::io::Result<Ended> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (said, heard) = mpsc::channel();
    let stdout = child.stdout.take().expect("piped");
    let mut stderr = child.stderr.take().expect("piped");
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if said.send(line).is_err() {
                break;
            }
        }
    });
    let errors = thread::spawn(move || {
        let mut text = Vec::new();
        let _ = stderr.read_to_end(&mut text);
        text
    });
    let (mut lines, mut overdue) = (Vec::<String>::new(), false);
    let limit = loop {
        let limit = patience(lines.last().map(String::as_str));
        match heard.recv_timeout(limit) {
            Ok(line) => lines.push(line),
            Err(RecvTimeoutError::Disconnected) => break limit,
            Err(RecvTimeoutError::Timeout) => {
                overdue = true;
                end(&mut child);
                break limit;
            }
        }
    };
    let success = wait(&mut child, limit)? && !overdue;
    let errors = errors.join().unwrap_or_default();
    let kept = &errors[errors.len().saturating_sub(KEPT)..];
    let mut errors = String::from_utf8_lossy(kept).into_owned();
    if overdue {
        errors.push_str(&format!("\nended after {limit:?} of silence"));
    }
    Ok(Ended { overdue, success, lines, errors })
}

/// Waits for the end of a process that has closed its stdout.
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<bool> {
    let until = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if Instant::now() > until {
            end(child);
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Sends SIGTERM, so that a launcher ends its ranks too, and kills the process if it does not end.
fn end(child: &mut Child) {
    if let Some(pid) = rustix::process::Pid::from_raw(child.id() as i32) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
    for _ in 0..200 {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
}
