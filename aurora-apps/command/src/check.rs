//! `aurora check`: a user's program under the race detector.

use crate::launch::speaks;
use crate::run::{RunArguments, unstarted};
use crate::table::count;
use crate::{FAILED, complain};
use aurora_apps::values::seconds;
use aurora_core::LaunchInfo;
use clap::Args;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{self, Read, Write};
use std::process::{Child, ExitCode, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The time for a program to end after the request to end, and for its last output to arrive.
const PARTING: Duration = Duration::from_secs(2);
/// The time between two checks of a process.
const PAUSE: Duration = Duration::from_millis(5);
/// The maximum length of a notice of the library.
const LONGEST: usize = 1 << 20;

#[derive(Args, Debug)]
pub struct CheckArguments {
    /// Limit of time. A program that takes longer is killed, and the command fails [default: none]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub limit: Option<Duration>,
    #[command(flatten)]
    pub run: RunArguments,
}

/// The notices of the library, recognised by their words.
#[derive(Clone, Copy, Default, Debug)]
struct Heard {
    /// The number of jobs that ended while the detector was active.
    jobs: usize,
    races: bool,
    possible: usize,
    forgotten: bool,
}

impl Heard {
    fn hear(&mut self, line: &str) {
        self.jobs += usize::from(line.contains("aurora: the race detector has watched"));
        self.races |= line.contains("aurora: a race on ");
        self.possible += usize::from(line.contains("aurora: a possible race"));
        self.forgotten |= line.contains("a race may be missed (AURORA_CHECK=1)");
    }

    /// Returns whether the check succeeded, and a sentence about the result.
    fn verdict(self, status: ExitStatus) -> (bool, String) {
        if self.races {
            return (false, "a race".into());
        }
        if !status.success() {
            return (false, format!("the program has failed ({status}); no race was found before"));
        }
        if self.possible > 0 {
            return (false, format!("{}, and no certain one", count(self.possible, "possible race")));
        }
        match (self.jobs, self.forgotten) {
            (0, _) => {
                let why = "no job has ended that the race detector watched. Does the program call `aurora_core::run` \
                           of this version, without `Config::check(false)`, and does its stderr come here?";
                (false, format!("nothing was checked: {why}"))
            }
            (jobs, true) => (true, format!("no race in {}, though some may be missed", count(jobs, "job"))),
            (jobs, false) => (true, format!("no race in {}", count(jobs, "job"))),
        }
    }
}

/// Runs the program with `AURORA_CHECK=1` and reports the result on stderr. Fails if the program fails, if there is a
/// race or a possible race, or if nothing was checked.
pub fn show(arguments: &CheckArguments, starter: LaunchInfo) -> ExitCode {
    match starter {
        LaunchInfo::Alone => check(arguments).unwrap_or_else(|why| {
            complain(why);
            ExitCode::from(FAILED)
        }),
        _ if speaks(starter) => {
            complain(
                "aurora check starts ranks by itself: call it without mpirun, and with `--launcher mpirun` if need be",
            );
            ExitCode::from(FAILED)
        }
        _ => ExitCode::from(FAILED),
    }
}

fn check(arguments: &CheckArguments) -> Result<ExitCode, String> {
    let mut command = arguments.run.command(&[("AURORA_CHECK", "1")]);
    let mut child = command.stderr(Stdio::piped()).spawn().map_err(|error| unstarted(&command, &error))?;
    let heard = Arc::new(Mutex::new(Heard::default()));
    let reader = child.stderr.take().map(|stderr| {
        let heard = Arc::clone(&heard);
        thread::spawn(move || pass_on(stderr, &heard))
    });
    let status = end_of(&mut child, arguments.limit).map_err(|error| error.to_string())?;
    let Some(status) = status else {
        let limit = arguments.limit.unwrap_or_default().as_secs_f64();
        return Err(format!("aurora check: the program has not ended after {limit} s and was killed (--limit)"));
    };
    // A process that the program has left behind may keep the program's stderr open for any time.
    let until = Instant::now() + PARTING;
    while reader.as_ref().is_some_and(|reader| !reader.is_finished()) && Instant::now() < until {
        thread::sleep(PAUSE);
    }
    let heard = *heard.lock().unwrap_or_else(PoisonError::into_inner);
    let (is_well, verdict) = heard.verdict(status);
    // Nothing can be done about a closed terminal.
    let _ = io::stderr().write_all(format!("aurora check: {verdict}\n").as_bytes());
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

/// Passes on the stderr of a program as it arrives, and records the library's notices in it.
fn pass_on(mut stderr: impl Read, heard: &Mutex<Heard>) {
    let (mut bytes, mut line) = (vec![0; 1 << 16], Vec::new());
    while let Ok(length) = stderr.read(&mut bytes)
        && length > 0
        // If stderr has no reader, stop reading the program's output too.
        && io::stderr().write_all(&bytes[..length]).is_ok()
    {
        line.extend_from_slice(&bytes[..length]);
        let ended = line.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        // An unterminated long line is not a notice of the library.
        let taken = if line.len() > LONGEST { line.len() } else { ended };
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&line[..taken]).lines().for_each(|line| heard.hear(line));
        line.drain(..taken);
    }
    heard.lock().unwrap_or_else(PoisonError::into_inner).hear(&String::from_utf8_lossy(&line));
}

/// Waits for a process and returns its exit status, or `None` if it was killed after `limit`. The process is first
/// asked to end, so that it can end its ranks.
pub fn end_of(child: &mut Child, limit: Option<Duration>) -> io::Result<Option<ExitStatus>> {
    // A limit too large for the clock is no limit.
    let Some(deadline) = limit.and_then(|limit| Instant::now().checked_add(limit)) else {
        return child.wait().map(Some);
    };
    if let Some(status) = ended_before(child, deadline)? {
        return Ok(Some(status));
    }
    if let Some(pid) = Pid::from_raw(child.id() as i32) {
        let _ = kill_process(pid, Signal::TERM);
        ended_before(child, Instant::now() + PARTING)?;
    }
    child.kill()?;
    child.wait().map(|_| None)
}

fn ended_before(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        match child.try_wait()? {
            None if Instant::now() < deadline => thread::sleep(PAUSE),
            status => return Ok(status),
        }
    }
}
