//! The acceptor of a node's leader: a thread that takes in those who connect, until all node peers are known to have
//! come.
//!
//! Anybody may connect to an abstract socket, so nobody may fill its queue before the node peers come, or keep
//! descriptors of the leader: connections of other users end at once, those of this one after a short while
//! ([`Strangers`]).

use super::descriptor_passing::{Channel, Listener, Message};
use super::handshake::Handshake;
use crate::endpoint::Waker;
use crate::strangers::{Room, Strangers};
use crate::{Error, Rank, peer};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A node peer that has said who it is.
#[derive(Debug)]
pub(super) struct AcceptedPeer {
    pub rank: Rank,
    pub channel: Channel,
    pub waker: Waker,
}

/// Those who have come.
#[derive(Debug, Default)]
pub(super) struct Accepted {
    pub all: Vec<AcceptedPeer>,
    /// Whose descriptor could not be taken has been sent away.
    refused: Option<Errno>,
}

impl Accepted {
    /// Why a node peer is not among them.
    pub fn why_missing(&self, peer: Rank) -> Error {
        match self.refused {
            Some(refused) => Error::system(TAKING)(refused),
            None => Error::NodePeerGone { rank: peer },
        }
    }
}

const TAKING: &str = "take in a rank of this machine";

/// The thread, seen from outside. Dropped, it ends, and so does every connection.
#[derive(Debug)]
pub(super) struct Acceptor {
    over: Arc<Waker>,
    thread: Option<JoinHandle<Result<Accepted, Error>>>,
}

impl Acceptor {
    pub fn start(me: Rank, listener: Listener, handshake: Arc<Handshake>) -> Result<Self, Error> {
        let over = Arc::new(Waker::new().map_err(Error::system("make an eventfd"))?);
        let (accepted, strangers) = (Accepted::default(), Strangers::new());
        let accepting = Accepting { over: over.clone(), listener, handshake, accepted, strangers };
        let thread = thread::Builder::new()
            .name(format!("aurora-acceptor-{}", me.index()))
            .spawn(move || accepting.run())
            .map_err(Error::system("start a thread"))?;
        Ok(Acceptor { over, thread: Some(thread) })
    }

    /// Those who have come, once all of them are known to have.
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
            // What it has found, nobody asks for.
            let _ = thread.join();
        }
    }
}

/// What the thread has.
struct Accepting {
    over: Arc<Waker>,
    listener: Listener,
    handshake: Arc<Handshake>,
    accepted: Accepted,
    strangers: Strangers<Channel>,
}

impl Accepting {
    fn run(mut self) -> Result<Accepted, Error> {
        while !self.sleep() {
            if let Err(error) = self.accept() {
                // The node peers go on waiting, so that the leader is the one to say why it fails.
                while !is_kicked(&self.over) {}
                return Err(Error::system(TAKING)(error));
            }
            let Accepting { handshake, accepted, strangers, .. } = &mut self;
            strangers.poll(Instant::now(), |channel| check(channel, handshake, accepted));
        }
        self.take_the_rest().map_err(Error::system(TAKING))?;
        Ok(self.accepted)
    }

    /// All node peers have come and said who they are: hears everybody once, and waits for nobody.
    fn take_the_rest(&mut self) -> Result<(), Errno> {
        let Accepting { listener, handshake, accepted, strangers, .. } = self;
        strangers.poll(Instant::now(), |channel| check(channel, handshake, accepted).and(None));
        // As many as the queue holds, however fast others come.
        for _ in 0..=Listener::QUEUE {
            match listener.accept()? {
                None => break,
                Some(channel) if peer::is_same_user(&channel) => drop(check(channel, handshake, accepted)),
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Waits until there is something to do. True: it is over.
    fn sleep(&self) -> bool {
        let now = Instant::now();
        let wait = self.strangers.deadline(now).map(|at| timespec(at.saturating_duration_since(now)));
        let listener = self.strangers.is_open(now).then_some(self.listener.as_fd());
        let fds = [self.over.as_fd()].into_iter().chain(listener).chain(self.strangers.iter().map(AsFd::as_fd));
        let mut polled: Vec<PollFd<'_>> = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        // Woken by whatever, it looks everywhere.
        let _ = poll(&mut polled, wait.as_ref());
        !polled[0].revents().is_empty()
    }

    /// Takes in those who wait.
    fn accept(&mut self) -> Result<(), Errno> {
        for _ in 0..=Listener::QUEUE {
            let now = Instant::now();
            if self.strangers.room(now) == Room::Later {
                break;
            }
            match self.listener.accept() {
                Ok(None) => break,
                Ok(Some(channel)) if !peer::is_same_user(&channel) => {}
                Ok(Some(channel)) => {
                    if let Some(channel) = check(channel, &self.handshake, &mut self.accepted) {
                        self.strangers.admit(channel, false, now);
                    }
                }
                // There is no descriptor left: who has said nothing yet gives up his.
                Err(error) => match self.strangers.make_room(now) {
                    Room::Here => {}
                    Room::Later => break,
                    Room::None => return Err(error),
                },
            }
        }
        Ok(())
    }
}

/// Hears one; gives it back if it has said nothing yet.
fn check(channel: Channel, handshake: &Handshake, accepted: &mut Accepted) -> Option<Channel> {
    let Message { bytes, descriptors } = match channel.try_receive() {
        Ok(Some(message)) => message,
        Err(Errno::AGAIN) => return Some(channel),
        Err(error @ Errno::MFILE) => {
            // Perhaps a node peer, which will be missing then.
            accepted.refused = Some(error);
            return None;
        }
        // It is gone.
        Ok(None) | Err(_) => return None,
    };
    let rank = handshake.who(&bytes)?;
    let waker = Waker::of(descriptors.into_iter().next()?);
    if accepted.all.iter().all(|peer| peer.rank != rank) {
        accepted.all.push(AcceptedPeer { rank, channel, waker });
    }
    None
}

/// Waits for it.
fn is_kicked(waker: &Waker) -> bool {
    let mut polled = [PollFd::new(waker, PollFlags::IN)];
    let _ = poll(&mut polled, None);
    !polled[0].revents().is_empty()
}

fn timespec(wait: Duration) -> Timespec {
    Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) }
}
