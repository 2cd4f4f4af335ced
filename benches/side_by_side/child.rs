//! The job as a child of the driver: its start, its answers, and its end, which comes whatever happens.

use super::line::{Answer, Order};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// What is kept of what it says besides: the end tells why.
const KEPT: usize = 8 << 10;

/// How long its launcher may take to end its ranks.
const PARTING: Duration = Duration::from_secs(3);

/// How long a job may be silent, and how long it may take to end by itself.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Between two lines of an answer.
    pub silence: Duration,
    /// After the last order.
    pub end: Duration,
}

/// Ten times what the slowest machine should take; the job says each second that it goes on.
pub const LIMITS: Limits = Limits { silence: Duration::from_secs(60), end: Duration::from_secs(20) };

/// Why there is no time for a variant.
#[derive(Debug, Error)]
#[error("{why}\n  the job: {command}\n{said}")]
pub struct Failure {
    /// What happened.
    pub why: Why,
    command: String,
    /// What the job said.
    said: String,
}

/// What happened to a job.
#[derive(Debug, Error)]
pub enum Why {
    /// No such command, say.
    #[error("the job cannot be started: {0}")]
    Start(io::Error),
    /// It has ended before its time.
    #[error("the job has ended{}", told(.0))]
    Ended(Option<ExitStatus>),
    /// It has not answered.
    #[error("the job has been silent for {0:?} and was ended")]
    Silent(Duration),
    /// It has ended with an error after all that was wanted of it.
    #[error("the job was through, but {}", .0.map_or("did not end and was ended".into(), |status| format!("ended with {status}")))]
    Parting(Option<ExitStatus>),
    /// It has said something that is none.
    #[error("the job has answered what makes no sense here: '{0}'")]
    Nonsense(String),
    /// It does not know what is wanted.
    #[error("the job refuses: {0}")]
    Refused(String),
    /// What it moved or computed was not right.
    #[error("wrong results: NOT VERIFIED in {0} places")]
    Wrong(u64),
}

fn told(status: &Option<ExitStatus>) -> String {
    match status {
        Some(status) => match status.signal() {
            Some(signal) => format!(": killed by signal {signal}"),
            None => format!(": {status}"),
        },
        None => String::new(),
    }
}

/// A job under way.
#[derive(Debug)]
pub struct Running {
    child: Child,
    command: String,
    orders: Option<ChildStdin>,
    lines: Receiver<String>,
    said: Arc<Mutex<Vec<u8>>>,
    /// Nothing comes when all that it has said is there.
    heard: Receiver<()>,
    limits: Limits,
}

impl Running {
    /// Starts `command`, and waits until its ranks are ready.
    ///
    /// # Errors
    /// Why they are not.
    pub fn start(mut command: Command, ranks: usize, limits: Limits) -> Result<Running, Failure> {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let text = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(error) => return Err(Failure { why: Why::Start(error), command: text, said: String::new() }),
        };
        let said = Arc::new(Mutex::new(Vec::new()));
        let (done, heard) = mpsc::channel();
        let lines = answers(child.stdout.take().expect("piped"), said.clone(), done.clone());
        listen(child.stderr.take().expect("piped"), said.clone(), done);
        let orders = child.stdin.take();
        let mut running = Running { child, command: text, orders, lines, said, heard, limits };
        match running.answer()? {
            Answer::Ready(started) if started == ranks => Ok(running),
            other => Err(running.fails(Why::Nonsense(other.to_string()))),
        }
    }

    /// What so many iterations of the variant `id` take.
    ///
    /// # Errors
    /// Why that is not known. The job is of no use then.
    pub fn measure(&mut self, id: &str, iterations: u64) -> Result<Duration, Failure> {
        let order = Order { id: id.into(), iterations };
        if let Some(orders) = &mut self.orders {
            // Who does not listen has ended, which the answer says.
            let _ = writeln!(orders, "{order}").and_then(|()| orders.flush());
        }
        match self.answer()? {
            Answer::Took(time) => Ok(time),
            Answer::Wrong(count) => Err(self.fails(Why::Wrong(count))),
            Answer::Refused(why) => Err(self.fails(Why::Refused(why))),
            other => Err(self.fails(Why::Nonsense(other.to_string()))),
        }
    }

    /// Lets the job end, which has nothing more to do.
    ///
    /// # Errors
    /// That it does not end well.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.orders = None;
        match self.end_within(self.limits.end) {
            Some(status) if status.success() => Ok(()),
            status => Err(self.fails(Why::Parting(status))),
        }
    }

    /// The next line that is one.
    fn answer(&mut self) -> Result<Answer, Failure> {
        loop {
            match self.lines.recv_timeout(self.limits.silence) {
                Ok(line) => match Answer::parse(&line) {
                    Some(Ok(Answer::Busy)) | None => {}
                    Some(Ok(answer)) => return Ok(answer),
                    Some(Err(())) => return Err(self.fails(Why::Nonsense(line))),
                },
                Err(RecvTimeoutError::Timeout) => return Err(self.fails(Why::Silent(self.limits.silence))),
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.end_within(PARTING);
                    return Err(self.fails(Why::Ended(status)));
                }
            }
        }
    }

    /// Ends the job, and tells why with all that it has said.
    fn fails(&mut self, why: Why) -> Failure {
        self.end();
        // Of both: its stdout and its stderr. Somebody whom it has left behind may hold them open.
        for _ in 0..2 {
            let _ = self.heard.recv_timeout(Duration::from_secs(1));
        }
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let said = String::from_utf8_lossy(&said);
        let said = match said.trim_end() {
            "" => "  it said nothing".to_string(),
            said => said.lines().map(|line| format!("  | {line}")).collect::<Vec<_>>().join("\n"),
        };
        Failure { why, command: self.command.clone(), said }
    }

    /// How it has ended, if it does in time.
    fn end_within(&mut self, limit: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + limit;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(2)),
                _ => return None,
            }
        }
    }

    /// Asks the first of its processes to end, so that a launcher takes the ranks along; and ends it if it does not.
    fn end(&mut self) {
        self.orders = None;
        if self.end_within(Duration::ZERO).is_some() {
            return;
        }
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        if self.end_within(PARTING).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// The lines of a job's stdout; those that are no answers are things it has said.
fn answers(stdout: impl Read + Send + 'static, said: Arc<Mutex<Vec<u8>>>, done: mpsc::Sender<()>) -> Receiver<String> {
    let (say, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            if Answer::parse(&line).is_none() {
                keep(&said, format!("{line}\n").as_bytes());
            }
            if say.send(line).is_err() {
                break;
            }
        }
        let _ = done.send(());
    });
    lines
}

/// Keeps the end of what a job says on stderr.
fn listen(mut stderr: impl Read + Send + 'static, said: Arc<Mutex<Vec<u8>>>, done: mpsc::Sender<()>) {
    thread::spawn(move || {
        let mut chunk = [0; 4096];
        while let Ok(length @ 1..) = stderr.read(&mut chunk) {
            keep(&said, &chunk[..length]);
        }
        let _ = done.send(());
    });
}

fn keep(said: &Mutex<Vec<u8>>, more: &[u8]) {
    let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
    said.extend_from_slice(more);
    let surplus = said.len().saturating_sub(KEPT);
    said.drain(..surplus);
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Limits = Limits { silence: Duration::from_millis(1500), end: Duration::from_millis(1500) };
    const READY: &str = "echo aurora-bench ready 2; read order;";

    /// A job that is a line of shell.
    fn start(script: &str, limits: Limits) -> Result<Running, Failure> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Running::start(command, 2, limits)
    }

    fn failure(script: &str, limits: Limits) -> Failure {
        let measured = start(script, limits).and_then(|mut job| job.measure("mm2/x", 3));
        measured.expect_err("no time comes of that")
    }

    #[test]
    fn the_time_is_what_the_job_says() {
        let mut job = start(
            "echo '[orted] hello'; echo aurora-bench ready 2; while read id times; do \
             echo aurora-bench busy; echo between; echo aurora-bench took ${times}00; done",
            LIMITS,
        )
        .expect("it starts");
        for times in [1, 20, 300] {
            assert_eq!(job.measure("mm2/x", times).expect("a time"), Duration::from_nanos(100 * times));
        }
        job.finish().expect("it ends well");
    }

    #[test]
    fn a_job_that_dies_is_told_with_its_last_words() {
        let failure = failure(&format!("{READY} echo 'no memory left' >&2; kill -KILL $$"), LIMITS);
        assert!(matches!(&failure.why, Why::Ended(Some(status)) if status.signal() == Some(9)), "{failure}");
        let text = failure.to_string();
        for part in ["signal 9", "no memory left", "sh -c"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn a_job_that_hangs_is_ended_and_told() {
        let begun = Instant::now();
        for script in ["echo 'waiting for Godot' >&2; exec sleep 100", &format!("{READY} exec sleep 100")] {
            let failure = failure(script, SHORT);
            assert!(matches!(failure.why, Why::Silent(_)), "{failure}");
        }
        assert!(begun.elapsed() < Duration::from_secs(50), "{:?}", begun.elapsed());
    }

    #[test]
    fn a_job_that_does_not_want_to_end_is_killed() {
        let mut job =
            start("trap '' TERM; echo aurora-bench ready 2; while :; do sleep 0.1; done", SHORT).expect("it starts");
        let process = Pid::from_child(&job.child);
        assert!(matches!(job.measure("mm2/x", 1).expect_err("nothing comes").why, Why::Silent(_)));
        assert!(rustix::process::test_kill_process(process).is_err());
    }

    #[test]
    fn nonsense_is_none_of_its_times() {
        for answer in ["took", "took many", "took -5", "ready 2", "tock 5"] {
            let failure = failure(&format!("{READY} echo aurora-bench {answer}"), LIMITS);
            assert!(matches!(&failure.why, Why::Nonsense(line) if line.ends_with(answer)), "{failure}");
        }
        for greeting in ["ready 3", "took 5", "ready"] {
            let failure = start(&format!("echo aurora-bench {greeting}"), LIMITS).expect_err("it is of no use");
            assert!(matches!(failure.why, Why::Nonsense(_)), "{failure}");
        }
    }

    #[test]
    fn wrong_results_and_refusals_are_no_times() {
        let wrong = failure(&format!("{READY} echo aurora-bench wrong 7"), LIMITS);
        assert!(matches!(wrong.why, Why::Wrong(7)) && wrong.to_string().contains("NOT VERIFIED"), "{wrong}");
        let refused = failure(&format!("{READY} echo \"aurora-bench refused there is no $order\""), LIMITS);
        assert!(matches!(&refused.why, Why::Refused(why) if why == "there is no mm2/x 3"), "{refused}");
    }

    #[test]
    fn what_cannot_be_started_says_so() {
        let failure = Running::start(Command::new("/nowhere/mpirun"), 2, LIMITS).expect_err("there is none");
        assert!(matches!(failure.why, Why::Start(_)) && failure.to_string().contains("/nowhere/mpirun"), "{failure}");
    }

    #[test]
    fn a_bad_end_is_told() {
        for (script, limits) in [("cat; exit 3", LIMITS), ("exec sleep 100", SHORT)] {
            let job = start(&format!("echo aurora-bench ready 2; {script}"), limits).expect("it starts");
            let failure = job.finish().expect_err("not well");
            assert!(matches!(failure.why, Why::Parting(_)), "{failure}");
        }
    }
}
