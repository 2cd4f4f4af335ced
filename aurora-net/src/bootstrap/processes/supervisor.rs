//! Rank 0's thread `aurora-control`: handles reports, prints output, and watches the processes until all have ended.

use super::super::coordinator::Report;
use super::super::{Failure, exit};
use super::Up;
use super::children::{Children, ControlSocket};
use super::frame::Trust;
use super::output::OutputPipe;
use super::parent::{Body, Control};
use crate::key::JobKey;
use crate::poller::timespec;
use crate::strangers::Strangers;
use crate::{Error, Rank};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(500);

/// Consecutive checks that must find a process stopped before it counts as failed. Checks, not time: stopping the whole
/// job (Ctrl-Z) stops the checks too.
const STOPPED_TICKS: u32 = 4;

/// The maximum number of connections accepted at a time.
const BATCH: usize = 128;

const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// The time that a process may take to end after the job has finished.
const ENDING: Duration = Duration::from_secs(10);

pub(super) struct Supervisor {
    control: Arc<Control>,
    /// `None`: no further process can be accepted.
    listener: Option<UnixListener>,
    key: JobKey,
    children: Children,
    strangers: Strangers<ControlSocket>,
    grace: Duration,
    /// The time at which processes that have not ended are killed.
    deadline: Option<Instant>,
    next_tick: Instant,
}

impl Supervisor {
    pub fn new(
        control: Arc<Control>,
        listener: UnixListener,
        key: JobKey,
        children: Children,
        grace: Duration,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Supervisor {
            control,
            listener: Some(listener),
            key,
            children,
            strangers: Strangers::new(),
            grace,
            deadline: None,
            next_tick: Instant::now() + TICK,
        })
    }

    /// Returns when all processes and rank 0's body have ended. If the body is late, ends this process instead.
    pub fn run(mut self) {
        loop {
            self.sleep();
            self.accept();
            self.poll_strangers();
            for index in 0..self.children.0.len() {
                self.attend(index);
            }
            self.look_for_stopped();
            self.set_deadline();
            let overdue = self.deadline.is_some_and(|deadline| deadline <= Instant::now());
            if overdue {
                self.end_all();
            }
            if self.children.0.iter().all(|child| child.ended) {
                match (self.control.body(), self.control.failure()) {
                    (Body::Returned, _) => return,
                    (Body::Exiting, Some(failure)) => self.print_and_exit(&failure),
                    (Body::Running, Some(failure)) if overdue => self.print_and_exit(&failure),
                    _ => {}
                }
            }
        }
    }

    fn sleep(&self) {
        let someone = self.children.0.iter().any(|child| !child.ended);
        let now = Instant::now();
        let wake_at = [self.deadline, someone.then_some(self.next_tick), self.strangers.deadline(now)];
        let wait = wake_at.into_iter().flatten().min().map(|at| timespec(at.saturating_duration_since(now)));
        let strangers = self.strangers.iter();
        let running = self.children.0.iter().filter(|child| !child.ended);
        let fds: Vec<BorrowedFd<'_>> = [self.control.wake().as_fd()]
            .into_iter()
            .chain(self.listener.as_ref().filter(|_| self.strangers.is_open(now)).map(AsFd::as_fd))
            .chain(strangers.map(|stranger| stranger.socket.as_fd()))
            .chain(running.flat_map(|child| {
                let connection = child.connection.as_ref().map(|connection| connection.socket.as_fd());
                let output = child.output.iter().filter_map(OutputPipe::fd);
                output.chain(connection).chain(child.pidfd.as_ref().map(AsFd::as_fd))
            }))
            .collect();
        let mut polled: Vec<PollFd<'_>> = fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
        // After any wake-up the loop looks at everything.
        if matches!(poll(&mut polled, wait.as_ref()), Err(error) if error != Errno::INTR) {
            // For example, the limit of descriptors has been lowered: poll at intervals instead.
            thread::sleep(RETRY_INTERVAL);
        }
        let _ = rustix::io::read(self.control.wake(), &mut [0; 8]);
    }

    fn accept(&mut self) {
        let Supervisor { listener: Some(listener), children, control, key, strangers, .. } = self else {
            return;
        };
        let outcome = strangers.accept_from(listener, BATCH, |socket, process| {
            let stranger = children.check(ControlSocket::new(socket.into()), control, key)?;
            Some((stranger, children.has(process)))
        });
        if let Err(error) = outcome {
            self.refuse(error);
        }
    }

    /// No further process can be accepted: fails the job and kills the processes that have not connected.
    fn refuse(&mut self, error: Errno) {
        let failure = Failure::of(Rank::new(0), Error::system("accept the connection of a started rank")(error));
        for child in self.children.0.iter_mut().filter(|child| child.connection.is_none() && !child.ended) {
            // Reported in the child's name, so that all other ranks are notified; the child itself cannot be notified.
            self.control.report(child.rank, Report::Failed(failure.clone()));
            let _ = child.process.kill();
        }
        self.listener = None;
    }

    fn poll_strangers(&mut self) {
        let Supervisor { children, control, key, strangers, .. } = self;
        strangers.poll(Instant::now(), |stranger| children.check(stranger, control, key));
    }

    /// Takes the exit status first and handles it last, after messages and output: the process's own report counts.
    fn attend(&mut self, index: usize) {
        let child = &mut self.children.0[index];
        if child.ended {
            return;
        }
        let status = match child.process.try_wait() {
            Ok(status) => status.map(Some),
            // The system keeps no status of processes whose parent ignores SIGCHLD.
            Err(error) => (Errno::from_io_error(&error) == Some(Errno::CHILD)).then_some(None),
        };
        while let Some(connection) = &mut child.connection {
            match connection.next(Trust::Rank) {
                Ok(None) => break,
                Ok(Some(Up::Report(report))) => self.control.report(child.rank, report),
                Ok(Some(Up::Left)) => child.left = true,
                Ok(Some(Up::Hello { .. })) | Err(_) => child.connection = None,
            }
        }
        for output in &mut child.output {
            output.forward();
        }
        if let Some(status) = status {
            child.ended = true;
            child.output.iter_mut().for_each(OutputPipe::finish);
            // A process ends with code 1 after a failure that it has reported.
            let expected = child.left && status.is_none_or(|status| matches!(status.code(), Some(0 | 1)));
            if !expected {
                let failure = Failure::of(child.rank, describe(status, child.connection.is_some()));
                self.report_end(index, failure);
            }
        }
    }

    /// After a failure other processes end as its consequence. Exception: another rank has reported a failure of this
    /// rank; then this end is the origin.
    fn report_end(&self, index: usize, failure: Failure) {
        let rank = self.children.0[index].rank;
        let failure = match self.control.failure() {
            Some(known) if known.origin || known.rank != Some(rank) => failure.heard(),
            _ => failure,
        };
        self.control.report(rank, Report::Failed(failure));
    }

    fn look_for_stopped(&mut self) {
        let now = Instant::now();
        if now < self.next_tick {
            return;
        }
        self.next_tick = now + TICK;
        for child in self.children.0.iter_mut().filter(|child| !child.ended) {
            if !child.is_stopped() {
                child.stopped_ticks = 0;
                continue;
            }
            child.stopped_ticks += 1;
            if child.stopped_ticks == STOPPED_TICKS {
                let cause = format!("its process has been stopped for {:?}", TICK * STOPPED_TICKS);
                let failure = Failure::of(child.rank, cause);
                self.control.report(child.rank, Report::Failed(failure));
                // A stopped process cannot use its grace.
                let _ = child.process.kill();
            }
        }
    }

    fn set_deadline(&mut self) {
        if self.deadline.is_some() {
            return;
        }
        if self.control.failure().is_some() {
            self.deadline = Some(Instant::now() + self.grace);
        } else if self.control.body() == Body::Returned {
            self.deadline = Some(Instant::now() + ENDING);
        }
    }

    fn end_all(&mut self) {
        self.children.kill();
        for index in (0..self.children.0.len()).rev() {
            let child = &mut self.children.0[index];
            if child.ended {
                continue;
            }
            let failure = Failure::of(child.rank, "its process has not ended in time");
            let _ = child.process.wait();
            for output in &mut child.output {
                output.forward();
                output.finish();
            }
            child.ended = true;
            self.report_end(index, failure);
        }
    }

    fn print_and_exit(&self, failure: &Failure) -> ! {
        failure.print();
        exit::immediately(1)
    }
}

fn describe(status: Option<ExitStatus>, joined: bool) -> String {
    let when = if joined { "inside `run`" } else { "before it had joined the job in `run`" };
    let Some(status) = status else {
        return format!("its process ended {when}, by an unknown cause: this program ignores SIGCHLD");
    };
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("its process was killed by signal {signal}{}", name(signal)),
        (None, Some(code)) => format!("its process ended with exit code {code} {when}"),
        (None, None) => "its process is gone".into(),
    }
}

fn name(signal: i32) -> &'static str {
    match signal {
        libc::SIGABRT => " (SIGABRT)",
        libc::SIGBUS => " (SIGBUS)",
        libc::SIGFPE => " (SIGFPE)",
        libc::SIGILL => " (SIGILL)",
        libc::SIGINT => " (SIGINT)",
        libc::SIGKILL => " (SIGKILL)",
        libc::SIGSEGV => " (SIGSEGV)",
        libc::SIGTERM => " (SIGTERM)",
        _ => "",
    }
}
