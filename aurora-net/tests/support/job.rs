//! A job under test: starts the job, and checks its end and that it leaves nothing behind.

use super::Random;
use std::ffi::OsStr;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The longest duration of a job, failures included.
pub const LIMIT: Duration = Duration::from_secs(60);

/// The longest time from a failure to the end.
pub const FAILURE_LIMIT: Duration = Duration::from_secs(20);

pub type Outcome = Result<(), libtest_mimic::Failed>;

pub fn check(condition: bool, what: impl FnOnce() -> String) -> Outcome {
    if condition { Ok(()) } else { Err(what().into()) }
}

pub struct Job {
    pub process: Child,
    /// A text on the command line of each of its processes.
    pub marker: String,
    start: Instant,
}

#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
    pub leftover: Vec<u32>,
}

impl Job {
    /// Starts this binary with `body`; `launcher` precedes it on the command line.
    pub fn start(launcher: &[&str], size: usize, body: &[&str]) -> Self {
        let seed = Instant::now().elapsed().as_nanos() as u64 ^ u64::from(std::process::id());
        let clock = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
        let marker = format!("marker-{:016x}", Random::new(seed ^ clock).bits());
        let own = std::env::current_exe().unwrap();
        let mut words = launcher.iter().map(OsStr::new).chain([own.as_os_str()]);
        let process = Command::new(words.next().unwrap())
            .args(words)
            .args(["body", &marker, &size.to_string()])
            .args(body)
            // With it a panic is printed as usual, in addition to the failure.
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Job { process, marker, start: Instant::now() }
    }

    pub fn processes(&self) -> Vec<u32> {
        let all = std::fs::read_dir("/proc").unwrap();
        all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|pid: &u32| {
                let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                line.split(|byte| *byte == 0).any(|word| word == self.marker.as_bytes())
            })
            .collect()
    }

    pub fn end(mut self) -> Ended {
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
        // Linux ends orphans a moment later.
        std::thread::sleep(Duration::from_millis(50));
        let leftover = self.processes();
        for pid in &leftover {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
        Ended { status, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap(), took, leftover }
    }
}
