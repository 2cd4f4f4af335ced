//! The leader's acceptor thread: accepts connections until all node peers are known to have connected.
//!
//! Any process can connect to an abstract socket and fill its queue. So connections of other users are closed at
//! once, unauthenticated ones of this user after a short time ([`Strangers`]).

use super::descriptor_passing::{Channel, Listener, Message, RETRY_INTERVAL};
use super::handshake::Handshake;
use crate::poller::{Waker, timespec};
use crate::strangers::Strangers;
use crate::{Error, Rank};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

#[derive(Debug)]
pub(super) struct AcceptedPeer {
    pub rank: Rank,
    pub channel: Channel,
    pub waker: Waker,
}

#[derive(Debug, Default)]
pub(super) struct Accepted {
    pub all: Vec<AcceptedPeer>,
    /// A connection was dropped because its descriptor could not be received.
    refused: Option<Errno>,
}

impl Accepted {
    pub fn why_missing(&self, peer: Rank) -> Error {
        match self.refused {
            Some(refused) => Error::system(TAKING)(refused),
            None => Error::NodePeerGone { rank: peer },
        }
    }
}

/// The maximum number of connections accepted at a time, however fast strangers connect.
const FULL_QUEUE: usize = Listener::QUEUE as usize + 1;

const TAKING: &str = "accept a connection of a rank of this machine";

/// The handle to the thread. Dropping it ends the thread and closes every connection.
#[derive(Debug)]
pub(super) struct Acceptor {
    over: Waker,
    thread: Option<JoinHandle<Result<Accepted, Error>>>,
}

impl Acceptor {
    pub fn start(me: Rank, listener: Listener, handshake: Arc<Handshake>) -> Result<Self, Error> {
        let over = Waker::new().map_err(Error::system("make an eventfd"))?;
        let (accepted, strangers) = (Accepted::default(), Strangers::new());
        let accepting = Accepting { over: over.clone(), listener, handshake, accepted, strangers };
        let thread = thread::Builder::new()
            .name(format!("aurora-accept-{}", me.index()))
            .spawn(move || accepting.run())
            .map_err(Error::starting("start a thread"))?;
        Ok(Acceptor { over, thread: Some(thread) })
    }

    /// Returns the connected node peers. Call this once all of them are known to have connected.
    pub fn finish(mut self) -> Result<Accepted, Error> {
        self.over.kick();
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(outcome)) => outcome,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(Accepted::default()),
        }
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.over.kick();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Accepting {
    over: Waker,
    listener: Listener,
    handshake: Arc<Handshake>,
    accepted: Accepted,
    strangers: Strangers<Channel>,
}

impl Accepting {
    fn run(mut self) -> Result<Accepted, Error> {
        loop {
            match self.sleep().and_then(|over| if over { Ok(true) } else { self.accept().map(|()| false) }) {
                Ok(false) => {}
                Ok(true) => break,
                Err(error) => {
                    // The node peers keep waiting, so that the leader reports the failure.
                    wait_for(&self.over);
                    return Err(Error::system(TAKING)(error));
                }
            }
            let Accepting { handshake, accepted, strangers, .. } = &mut self;
            strangers.poll(Instant::now(), |channel| check(channel, handshake, accepted));
        }
        self.take_the_rest().map_err(Error::system(TAKING))?;
        Ok(self.accepted)
    }

    /// Reads every connection once, without waiting: all node peers have already sent their hello.
    fn take_the_rest(&mut self) -> Result<(), Errno> {
        let Accepting { listener, handshake, accepted, strangers, .. } = self;
        strangers.poll(Instant::now(), |channel| check(channel, handshake, accepted).and(None));
        strangers.accept_from(listener, FULL_QUEUE, |socket, _| {
            check(socket.into(), handshake, accepted);
            None
        })
    }

    /// Sleeps until there is something to do. Returns true when the acceptor is to stop.
    fn sleep(&self) -> Result<bool, Errno> {
        let now = Instant::now();
        let wait = self.strangers.deadline(now).map(|at| timespec(at.saturating_duration_since(now)));
        let listener = self.strangers.is_open(now).then_some(self.listener.as_fd());
        let fds = [self.over.as_fd()].into_iter().chain(listener).chain(self.strangers.iter().map(AsFd::as_fd));
        let mut polled: Vec<PollFd<'_>> = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        // After any wake-up the caller looks at everything.
        match poll(&mut polled, wait.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(!polled[0].revents().is_empty()),
            Err(error) => Err(error),
        }
    }

    fn accept(&mut self) -> Result<(), Errno> {
        let Accepting { listener, handshake, accepted, strangers, .. } = self;
        strangers
            .accept_from(listener, FULL_QUEUE, |socket, _| Some((check(socket.into(), handshake, accepted)?, false)))
    }
}

/// Reads one connection's hello. Returns the connection if the hello has not arrived yet.
fn check(channel: Channel, handshake: &Handshake, accepted: &mut Accepted) -> Option<Channel> {
    let Message { bytes, descriptors } = match channel.try_receive() {
        Ok(Some(message)) => message,
        Err(Errno::AGAIN) => return Some(channel),
        Err(error @ (Errno::PERM | Errno::NOSYS)) => {
            // Closed now, the connection would make the node peer report this rank as gone.
            accepted.refused = Some(error);
            return Some(channel);
        }
        Err(error @ Errno::MFILE) => {
            // This may have been a node peer: it will be reported as missing.
            accepted.refused = Some(error);
            return None;
        }
        // The connection is closed.
        Ok(None) | Err(_) => return None,
    };
    let rank = handshake.who(&bytes)?;
    let waker = Waker::of(descriptors.into_iter().next()?);
    if accepted.all.iter().all(|peer| peer.rank != rank) {
        accepted.all.push(AcceptedPeer { rank, channel, waker });
    }
    None
}

/// Waits without `poll`, which may be the call that the system refuses.
fn wait_for(waker: &Waker) {
    while rustix::io::read(waker, &mut [0; 8]).is_err() {
        thread::sleep(RETRY_INTERVAL);
    }
}
