//! Starts a job, watches it end, and looks for what it leaves behind.

use crate::cell::{Place, RANKS, Starter};
use crate::job;
use aurora_suite::mpi::Flavour;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// No job takes longer on the slowest of machines: ten times what it may take.
const LIMIT: Duration = Duration::from_secs(50);

/// A job under way, or its notes.
pub struct Job {
    child: Child,
    notes: PathBuf,
}

/// How it ended.
pub struct Ended {
    pub status: ExitStatus,
    /// What it wrote to stderr.
    pub said: String,
    pub notes: PathBuf,
    /// From the failure to the end of the last process.
    pub took: Duration,
}

/// The command that starts a job of `RANKS` ranks, up to the program.
pub fn launcher(starter: Starter) -> Result<Command, String> {
    let myself = std::env::current_exe().map_err(|error| error.to_string())?;
    match starter {
        Starter::Threads | Starter::Processes => Ok(Command::new(myself)),
        Starter::Mpi(flavour) => {
            let mut command = flavour.launcher(RANKS)?;
            command.arg(myself);
            Ok(command)
        }
    }
}

/// Whether this process was started by a flavour's mpirun tells nothing about others: only names do.
pub fn word(starter: Starter) -> &'static str {
    match starter {
        Starter::Threads => "threads",
        Starter::Processes => "processes",
        Starter::Mpi(Flavour::Open | Flavour::Mpich) => "mpi",
    }
}

impl Job {
    /// Starts one, in a process group of its own.
    pub fn start(starter: Starter, fault: &str, place: Place, rank: usize) -> Result<Job, String> {
        let mut command = launcher(starter)?;
        command.args([job::ARGUMENT, word(starter), fault, place.name(), &rank.to_string()]);
        command.env("AURORA_SILENCE", "1");
        Self::run(command)
    }

    pub fn run(mut command: Command) -> Result<Job, String> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let notes = std::env::temp_dir().join(format!("aurora-faults-{}-{number}", std::process::id()));
        let file = |name: &str| File::create(notes.join(name));
        let started = || {
            fs::create_dir_all(&notes)?;
            command
                .env(job::NOTES, &notes)
                .stdin(Stdio::null())
                .stdout(file("stdout")?)
                .stderr(file("stderr")?)
                .process_group(0)
                .spawn()
        };
        let mut started = started;
        match started() {
            Ok(child) => Ok(Job { child, notes }),
            Err(error) => Err(format!("it cannot be started: {error}")),
        }
    }

    /// Sends a signal to the started process, or to all of its group.
    pub fn signal(&self, signal: Signal, group: bool) -> Result<(), String> {
        let pid = Pid::from_child(&self.child);
        let sent = if group { rustix::process::kill_process_group(pid, signal) } else { kill_process(pid, signal) };
        sent.map_err(|error| error.to_string())
    }

    /// Waits until all ranks have come as far as the place.
    pub fn wait_for_ranks(&mut self) -> Result<(), String> {
        let here = |notes: &Path| (0..RANKS).all(|rank| notes.join(format!("pid-{rank}")).exists());
        let until = Instant::now() + LIMIT;
        while !here(&self.notes) {
            if Instant::now() > until || matches!(self.child.try_wait(), Ok(Some(_))) {
                return Err(format!("the ranks do not come: {}", self.said()));
            }
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(Duration::from_millis(100));
        Ok(())
    }

    /// Notes that the driver does now what makes the job fail.
    pub fn note_fault(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let _ = fs::write(self.notes.join("fault"), now.as_micros().to_string());
    }

    fn said(&self) -> String {
        fs::read_to_string(self.notes.join("stderr")).unwrap_or_default()
    }

    /// Waits until its processes but the first have ended.
    pub fn wait_for_others(&mut self) -> Result<(), String> {
        let first = self.child.id();
        self.wait_until(|job| job.processes().iter().all(|pid| *pid == first))
    }

    fn wait_until(&mut self, mut done: impl FnMut(&mut Self) -> bool) -> Result<(), String> {
        let until = Instant::now() + LIMIT;
        while !done(self) {
            if Instant::now() > until {
                let left = self.processes();
                self.end();
                return Err(format!("{left:?} still run after {LIMIT:?}; said: {}", self.said()));
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Waits for the end of the last process.
    pub fn wait(mut self) -> Result<Ended, String> {
        let mut status = None;
        self.wait_until(|job| {
            status = status.or_else(|| job.child.try_wait().ok().flatten());
            status.is_some()
        })?;
        self.wait_until(|job| job.processes().is_empty())?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let fault = read(&self.notes, "fault").and_then(|text| text.parse().ok());
        Ok(Ended {
            status: status.expect("it has ended"),
            said: self.said(),
            took: fault.map_or(Duration::ZERO, |at| now.saturating_sub(Duration::from_micros(at))),
            notes: self.notes.clone(),
        })
    }

    /// Everything that runs with our notes in its environment.
    fn processes(&self) -> Vec<u32> {
        let mark = format!("{}={}", job::NOTES, self.notes.display());
        let Ok(all) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        all.filter_map(|entry| {
            let entry = entry.ok()?;
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let environment = fs::read(entry.path().join("environ")).ok()?;
            let ours = environment.split(|byte| *byte == 0).any(|v| v == mark.as_bytes());
            ours.then_some(pid)
        })
        .collect()
    }

    fn end(&mut self) {
        for pid in self.processes() {
            if let Some(pid) = Pid::from_raw(pid as i32) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        let _ = self.child.wait();
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.end();
    }
}

impl Ended {
    /// What it wrote to stdout: MPICH's mpirun says there why it ends a job.
    pub fn stdout(&self) -> String {
        self.note("stdout").unwrap_or_default()
    }

    /// What a rank noted.
    pub fn note(&self, name: &str) -> Option<String> {
        read(&self.notes, name)
    }

    /// The exit code as a shell shows it.
    pub fn code(&self) -> i32 {
        let signal = self.status.signal().map_or(0, |signal| 128 + signal);
        self.status.code().unwrap_or(signal)
    }

    /// The lines of Aurora and of the program that say why.
    pub fn messages(&self) -> Vec<&str> {
        let lines = self.said.lines();
        lines.filter(|line| line.contains("aurora: ") || line.contains("error: ")).collect()
    }

    /// What is to be found when the job is understood.
    pub fn all(&self) -> String {
        format!("exit code {}, after {:.2} s, said:\n{}", self.code(), self.took.as_secs_f64(), self.said)
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.notes);
    }
}

fn read(notes: &Path, name: &str) -> Option<String> {
    fs::read_to_string(notes.join(name)).ok()
}
