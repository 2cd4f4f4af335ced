//! The side of a started process.

use super::super::control_client::{ControlClient, Notices};
use super::super::coordinator::{Notice, Report};
use super::super::seat::{Job, Seat, exited, run_body};
use super::super::{Failure, Launcher, Options, address_here, exit};
use super::frame::{Frames, Trust, encode};
use super::ticket::Ticket;
use super::{Claim, Down, Up};
use crate::key::nonce;
use crate::{Error, Rank, peer};
use rustix::process::{Signal, set_parent_process_death_signal};
use std::io::{self, ErrorKind, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

pub(in super::super) fn run<R>(
    ticket: &str,
    options: Options,
    body: impl Fn(Seat) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let stale = |what: &dyn std::fmt::Display| {
        Failure::start(format_args!(
            "{} does not belong to a running job ({what}); unset it, if a rank of a job has started this program, or \
             if you have set it yourself",
            super::VARIABLE
        ))
    };
    let address = address_here(&options)?;
    let ticket: Ticket = ticket.parse().map_err(|()| stale(&"not its form"))?;
    // Before connecting: if the parent dies later, this signal kills this process; if earlier, connecting fails.
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| Failure::of(ticket.rank, Error::system("ask for a signal at the end of rank 0")(error)))?;
    let (mut incoming, outgoing) = join(&ticket).map_err(|error| match error.kind() {
        ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => stale(&error),
        _ if error.raw_os_error().is_none() => stale(&error),
        _ => Failure::of(ticket.rank, Error::system("connect to rank 0")(error)),
    })?;
    let outgoing = Arc::new(Mutex::new(outgoing));

    let notices: Arc<Notices> = Arc::default();
    let grace = options.grace;
    thread::Builder::new()
        .name("aurora-control".into())
        .spawn({
            let notices = notices.clone();
            move || control(&mut incoming, &notices, grace)
        })
        .map_err(|error| Failure::of(ticket.rank, Error::starting("start a thread")(error)))?;

    let say = move |message: &Up| {
        let mut socket = outgoing.lock().unwrap_or_else(PoisonError::into_inner);
        // A parent that does not read any more will kill this process soon.
        let _ = socket.write_all(&encode(message));
    };
    let rank = ticket.rank;
    let reporter = {
        let say = say.clone();
        Arc::new(move |report| say(&Up::Report(report)))
    };
    let guard = exit::guard({
        let reporter = reporter.clone();
        Arc::new(move || reporter(Report::Failed(exited(rank))))
    });
    let job = Job {
        rank,
        size: ticket.size,
        machines: vec![Rank::new(0)],
        launcher: Launcher::Processes,
        key: ticket.key,
        address,
    };
    let outcome = run_body(job, Rc::new(ControlClient { notices, reporter }), body);
    say(&Up::Left);
    drop(guard);
    std::process::exit(i32::from(outcome.is_err()))
}

/// Connects to rank 0. Each side proves to the other that it belongs to the job.
fn join(ticket: &Ticket) -> io::Result<(Incoming, UnixStream)> {
    let address = SocketAddr::from_abstract_name(&ticket.socket)?;
    let mut socket = UnixStream::connect_addr(&address)?;
    let impostor =
        || io::Error::new(ErrorKind::PermissionDenied, "the process at that socket does not belong to the job");
    if !peer::is_same_user(&socket) {
        return Err(impostor());
    }
    let Ticket { rank, ref key, .. } = *ticket;
    let nonce = nonce().map_err(io::Error::other)?;
    socket.write_all(&encode(&Up::Hello { rank, nonce, proof: Claim::Rank.proof(key, rank, nonce) }))?;
    let mut incoming = Incoming { socket: socket.try_clone()?, frames: Frames::default() };
    match incoming.next()? {
        Down::Welcome { proof } if Claim::Root.proof(key, rank, nonce).is(&proof.to_bytes()) => Ok((incoming, socket)),
        Down::Welcome { .. } | Down::Notice(_) => Err(impostor()),
    }
}

/// Handles notices until rank 0 closes the connection or the grace after a failure has ended; then ends the process.
fn control(incoming: &mut Incoming, notices: &Notices, grace: Duration) {
    while let Ok(Down::Notice(notice)) = incoming.next() {
        if matches!(notice, Notice::Failed(_)) && incoming.end_after(grace).is_err() {
            break;
        }
        notices.handle(notice);
    }
    exit::immediately(1)
}

struct Incoming {
    socket: UnixStream,
    frames: Frames,
}

impl Incoming {
    fn next(&mut self) -> io::Result<Down> {
        self.frames.receive(Trust::Rank, |chunk| self.socket.read(chunk))
    }

    /// Makes a silence of this duration an error from now on.
    fn end_after(&self, grace: Duration) -> io::Result<()> {
        self.socket.set_read_timeout(Some(grace.max(Duration::from_millis(1))))
    }
}
