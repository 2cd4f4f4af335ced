//! Rank 0: starts the other processes, runs its own body, and returns when they have ended.

use super::super::control_client::{ControlClient, Notices};
use super::super::coordinator::{Coordinator, Notice, Report};
use super::super::seat::{Job, Seat, exited, run_body};
use super::super::{Failure, Launcher, Options, address_here, exit, new_key, no_random};
use super::children::Children;
use super::frame::encode;
use super::supervisor::Supervisor;
use super::ticket::Ticket;
use super::{Claim, Down};
use crate::key::{JobKey, Nonce, nonce};
use crate::poller::Waker;
use crate::{Error, Rank, limits};
use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The time limit for writing to a process that does not read. The supervisor will find it stopped or dead.
const WRITE_LIMIT: Duration = Duration::from_secs(1);

/// The time that the supervisor may take, after the grace, until all processes have ended.
const SEEING_OUT: Duration = Duration::from_secs(5);

pub(in super::super) fn run<R>(
    size: usize,
    options: Options,
    body: impl Fn(Seat) -> Result<R, Failure>,
) -> Result<R, Failure> {
    refuse_second_start(&options)?;
    let address = address_here(&options)?;
    let key = new_key()?;
    let socket = format!("aurora-{:032x}", nonce().map_err(no_random)?);
    let cannot = |doing| move |error: io::Error| Failure::start(Error::system(doing)(error));
    let listener = SocketAddr::from_abstract_name(&socket)
        .and_then(|address| UnixListener::bind_addr(&address))
        .map_err(cannot("listen on a unix socket"))?;
    let control = Arc::new(Control::new(size, key).map_err(cannot("make an eventfd"))?);

    let mut children = Children::default();
    for rank in (1..size).map(Rank::new) {
        let ticket = Ticket { socket: socket.clone(), rank, size, parent: std::process::id(), key };
        spawn(&ticket, &options)
            .and_then(|process| children.add(rank, process))
            .map_err(|error| not_started(rank, error))?;
    }
    let supervisor = Supervisor::new(control.clone(), listener, key, children, options.grace)
        .map_err(cannot("watch over the other ranks"))?;
    let supervision = thread::Builder::new()
        .name("aurora-control".into())
        .spawn(move || supervisor.run())
        .map_err(|error| Failure::start(Error::starting("start a thread")(error)))?;

    let root = Rank::new(0);
    let guard = exit::guard({
        let (control, limit) = (control.clone(), options.grace + SEEING_OUT);
        Arc::new(move || {
            control.set_body(Body::Exiting);
            control.report(root, Report::Failed(exited(root)));
            // Meanwhile the supervisor prints the failure and ends the process, unless the job has already ended.
            thread::sleep(limit);
        })
    });
    let job = Job { rank: root, size, machines: vec![Rank::new(0)], launcher: Launcher::Processes, key, address };
    let outcome = run_body(job, Rc::new(control.client()), body);
    control.set_body(Body::Returned);
    drop(guard);
    supervision.join().expect("the supervisor does not panic");
    match control.failure() {
        Some(failure) => Err(failure),
        None => outcome,
    }
}

/// Started processes run `main` from its start and take their first `run` for this one. So a program can start
/// processes once, unless it passes arguments that lead to the right `run`.
fn refuse_second_start(options: &Options) -> Result<(), Failure> {
    static STARTED: AtomicBool = AtomicBool::new(false);
    if STARTED.swap(true, Ordering::Relaxed) && options.arguments.is_none() {
        return Err(Failure::start(
            "this process has started ranks before. They run `main` from its start and would meet the first `run` \
             again: call `run` once, or give arguments that lead them to this one",
        ));
    }
    Ok(())
}

/// The running executable, even if its file has been replaced.
const OWN_FILE: &str = "/proc/self/exe";

fn not_started(rank: Rank, error: io::Error) -> Failure {
    // If the file exists, something else is missing.
    let error = match error.kind() == ErrorKind::NotFound && std::fs::symlink_metadata(OWN_FILE).is_err() {
        true => limits::proc_file(OWN_FILE)(error),
        false => Error::starting("start a process")(error),
    };
    Failure::start(format_args!("{rank}: {error}"))
}

fn spawn(ticket: &Ticket, options: &Options) -> io::Result<Child> {
    let (name, loaded, own) = own_words();
    let mut command = Command::new(OWN_FILE);
    command.arg0(name).args(loaded).args(options.arguments.as_ref().unwrap_or(&own));
    command
        .env(super::VARIABLE, ticket.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

/// The command line of this process: the name of its executable, the words that a program does not see, and its
/// arguments. If the dynamic loader was called by its name (`ld.so --its-options ./program arguments`), the loader is
/// the executable, and the program sees the words from `./program` on.
fn own_words() -> (OsString, Vec<OsString>, Vec<OsString>) {
    let mut own: Vec<OsString> = std::env::args_os().collect();
    let arguments = own.split_off(own.len().min(1));
    let all = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let all: Vec<_> = all.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect();
    // The last word ends with a 0, too.
    let all = all.split_last().map_or(&[][..], |(_, words)| words);
    let mut before = all.strip_suffix(&arguments[..]).filter(|words| !words.is_empty()).unwrap_or(&own).to_vec();
    let name = if before.is_empty() { "aurora".into() } else { before.remove(0) };
    (name, before, arguments)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Body {
    Running,
    Returned,
    Exiting,
}

pub(super) struct Control {
    state: Mutex<State>,
    notices: Arc<Notices>,
    wake: Waker,
    key: JobKey,
}

struct State {
    coordinator: Coordinator,
    sockets: Vec<Option<Arc<UnixStream>>>,
    body: Body,
}

impl Control {
    fn new(size: usize, key: JobKey) -> io::Result<Self> {
        Ok(Control {
            key,
            state: Mutex::new(State {
                coordinator: Coordinator::new(size),
                sockets: vec![None; size],
                body: Body::Running,
            }),
            notices: Arc::default(),
            wake: Waker::new()?,
        })
    }

    pub fn wake(&self) -> &Waker {
        &self.wake
    }

    /// Handles a report, sends the resulting notices, and wakes the supervisor.
    pub fn report(&self, from: Rank, report: Report) {
        let mut state = self.lock();
        let notices: Vec<_> = state
            .coordinator
            .handle(from, report)
            .into_iter()
            .map(|(to, notice)| (to, state.sockets[to.index()].clone(), notice))
            .collect();
        drop(state);
        for (to, socket, notice) in notices {
            match socket {
                Some(socket) => send(&socket, &Down::Notice(notice)),
                None if to == 0 => self.notices.handle(notice),
                // Not connected yet; `welcome` will notify it.
                None => {}
            }
        }
        self.wake.kick();
    }

    /// Accepts a process that has proved its rank, with its nonce. False: that rank has already connected.
    pub fn welcome(&self, rank: Rank, nonce: Nonce, socket: Arc<UnixStream>) -> bool {
        let mut state = self.lock();
        let place = &mut state.sockets[rank.index()];
        if rank == 0 || place.is_some() {
            return false;
        }
        *place = Some(socket.clone());
        // Sent under the lock, so that it precedes any notice.
        send(&socket, &Down::Welcome { proof: Claim::Root.proof(&self.key, rank, nonce) });
        if let Some(failure) = state.coordinator.failure() {
            send(&socket, &Down::Notice(Notice::Failed(failure.heard())));
        }
        true
    }

    pub fn failure(&self) -> Option<Failure> {
        self.lock().coordinator.failure().cloned()
    }

    pub fn body(&self) -> Body {
        self.lock().body
    }

    fn set_body(&self, body: Body) {
        let mut state = self.lock();
        // After `exit` the body counts as exiting, even if it returns because the other ranks end.
        if state.body != Body::Exiting {
            state.body = body;
        }
        drop(state);
        self.wake.kick();
    }

    fn client(self: &Arc<Self>) -> ControlClient {
        let control = self.clone();
        ControlClient {
            notices: self.notices.clone(),
            reporter: Arc::new(move |report| control.report(Rank::new(0), report)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn send(mut socket: &UnixStream, message: &Down) {
    // An error is ignored: the end of the process will be detected.
    let _ = socket.set_write_timeout(Some(WRITE_LIMIT));
    let _ = socket.write_all(&encode(message));
}
