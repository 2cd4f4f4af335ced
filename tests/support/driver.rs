//! Starts a job, waits for its end, and finds the processes that it leaves behind.

use crate::notes;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The time limit of a job on the slowest machines: ten times the allowed time.
pub const LIMIT: Duration = Duration::from_secs(50);

/// A running job and the directory of its notes.
#[derive(Debug)]
pub struct Job {
    child: Child,
    notes: PathBuf,
    /// True if the directory of the notes belongs to [`Ended`], which removes it.
    ended: bool,
}

/// The result of a job.
#[derive(Debug)]
pub struct Ended {
    /// The status of the process that was started.
    pub status: ExitStatus,
    /// The text that the job wrote to stderr.
    pub said: String,
    /// The time from the failure to the end of the last process.
    pub took: Duration,
    notes: PathBuf,
}

impl Job {
    /// Starts a job in a process group of its own.
    ///
    /// # Errors
    /// The reason why the command cannot be started.
    pub fn start(mut command: Command) -> Result<Job, String> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let notes = std::env::temp_dir().join(format!("aurora-suite-{}-{number}", std::process::id()));
        let file = |name: &str| File::create(notes.join(name));
        let started = || {
            fs::create_dir_all(&notes)?;
            command
                .env(notes::DIRECTORY, &notes)
                .stdin(Stdio::null())
                .stdout(file("stdout")?)
                .stderr(file("stderr")?)
                .process_group(0)
                .spawn()
        };
        let mut started = started;
        match started() {
            Ok(child) => Ok(Job { child, notes, ended: false }),
            Err(error) => Err(format!("it cannot be started: {error}")),
        }
    }

    /// Sends a signal to the started process, or to all of its group.
    ///
    /// # Errors
    /// The system's error.
    pub fn signal(&self, signal: Signal, group: bool) -> Result<(), String> {
        let pid = Pid::from_child(&self.child);
        let sent = if group { rustix::process::kill_process_group(pid, signal) } else { kill_process(pid, signal) };
        sent.map_err(|error| error.to_string())
    }

    /// Waits until there is a note under each of these names.
    ///
    /// # Errors
    /// If the job ends before that, or takes too long.
    pub fn wait_for_notes(&mut self, names: &[String]) -> Result<(), String> {
        let until = Instant::now() + LIMIT;
        let missing = |job: &Self| names.iter().find(|name| !job.notes.join(name).exists()).cloned();
        while let Some(name) = missing(self) {
            let over = matches!(self.child.try_wait(), Ok(Some(_)));
            if (over && missing(self).is_some()) || Instant::now() > until {
                return Err(format!("{name} is never noted; said: {}", self.said()));
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Notes that the driver now causes the failure of the job.
    pub fn note_fault(&self) {
        notes::note_fault_in(&self.notes);
    }

    /// Writes a note that the ranks wait for.
    pub fn tell(&self, name: &str) {
        notes::note_in(&self.notes, name, "");
    }

    /// The time since the cause of the failure.
    pub fn since_fault(&self) -> Duration {
        notes::since_fault(&self.notes).unwrap_or_default()
    }

    /// The text of a rank's note.
    pub fn note(&self, name: &str) -> Option<String> {
        notes::read(&self.notes, name)
    }

    fn said(&self) -> String {
        self.note("stderr").unwrap_or_default()
    }

    /// Waits until all processes of the job except the first have ended.
    ///
    /// # Errors
    /// If they take too long.
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
    ///
    /// # Errors
    /// If the processes take too long.
    pub fn wait(mut self) -> Result<Ended, String> {
        let mut status = None;
        self.wait_until(|job| {
            status = status.or_else(|| job.child.try_wait().ok().flatten());
            status.is_some()
        })?;
        self.wait_until(|job| job.processes().is_empty())?;
        self.ended = true;
        Ok(Ended {
            status: status.expect("it has ended"),
            said: self.said(),
            took: notes::since_fault(&self.notes).unwrap_or_default(),
            notes: self.notes.clone(),
        })
    }

    /// Waits until the fault is noted and all processes except the first have ended.
    ///
    /// # Errors
    /// If this takes too long.
    pub fn wait_for_the_struck(&mut self) -> Result<(), String> {
        self.wait_until(|job| notes::since_fault(&job.notes).is_some() || job.is_over())?;
        self.wait_for_others()
    }

    /// True if the first process has ended, or ends within this time.
    pub fn is_over_within(&mut self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while !self.is_over() && Instant::now() < until {
            thread::sleep(Duration::from_millis(10));
        }
        self.is_over()
    }

    fn is_over(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// The process of a rank that mpirun started, found by the launcher's variable in its environment.
    pub fn rank(&self, rank: usize) -> Option<Pid> {
        let marks = [format!("OMPI_COMM_WORLD_RANK={rank}"), format!("PMI_RANK={rank}")];
        let own = std::env::current_exe().ok()?;
        let is_rank = |pid: &u32| {
            let runs = fs::read_link(format!("/proc/{pid}/exe"));
            runs.is_ok_and(|exe| exe == own) && marks.iter().any(|mark| has_in_environment(*pid, mark))
        };
        self.processes().into_iter().find(is_rank).and_then(|pid| Pid::from_raw(pid as i32))
    }

    /// All processes that have our directory of notes in their environment.
    fn processes(&self) -> Vec<u32> {
        let mark = format!("{}={}", notes::DIRECTORY, self.notes.display());
        let Ok(all) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        let pids = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        pids.filter(|pid| has_in_environment(*pid, &mark)).collect()
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

fn has_in_environment(pid: u32, mark: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
}

impl Drop for Job {
    fn drop(&mut self) {
        self.end();
        if !self.ended {
            let _ = fs::remove_dir_all(&self.notes);
        }
    }
}

impl Ended {
    /// The text that the job wrote to stdout. MPICH's mpirun writes there why it ends a job.
    pub fn stdout(&self) -> String {
        self.note("stdout").unwrap_or_default()
    }

    /// The text of a rank's note.
    pub fn note(&self, name: &str) -> Option<String> {
        notes::read(&self.notes, name)
    }

    /// True if the cause of the failure has been noted.
    pub fn was_struck(&self) -> bool {
        notes::since_fault(&self.notes).is_some()
    }

    /// The exit code as a shell shows it.
    pub fn code(&self) -> i32 {
        let signal = self.status.signal().map_or(0, |signal| 128 + signal);
        self.status.code().unwrap_or(signal)
    }

    /// The lines of Aurora and of the program that give the reason of the failure.
    pub fn messages(&self) -> Vec<&str> {
        let lines = self.said.lines();
        lines.filter(|line| line.contains("aurora: ") || line.contains("error: ")).collect()
    }

    /// A text with everything that helps to understand the job.
    pub fn all(&self) -> String {
        format!("exit code {}, after {:.2} s, said:\n{}", self.code(), self.took.as_secs_f64(), self.said)
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.notes);
    }
}
