//! Discovery: finds the ranks of this rank's node, and shares memory with them.
//!
//! Each rank first listens on an abstract unix socket ([`Offer`]). Its contact carries the socket's random name and the
//! boot id of the running system. Once contacts are exchanged, each rank tries to connect to the ranks with its own
//! boot id, lowest first. The first one that accepts is its *leader*; a rank that reaches itself in that order is a
//! leader. Only processes in one network namespace can connect, so the ranks with the same leader form a node. A second
//! exchange gives all ranks every rank's leader. Host names are not used: they repeat, and containers share them.
//!
//! On connecting, a rank proves its rank by the job's key (`handshake.rs`) and sends its eventfd. It does both before
//! the second exchange, so after that exchange all node peers have connected to the leader's acceptor (`acceptor.rs`),
//! and the leader need not wait. The leader then proves itself to each node peer, creates the control segment, and
//! sends its descriptor together with all eventfds. The node peers wait for that.

use super::acceptor::{Accepted, AcceptedPeer, Acceptor};
use super::control::Control;
use super::descriptor_passing::{Channel, Listener, MOST_DESCRIPTORS, Message, TIMEOUT};
use super::handshake::Handshake;
use super::node::{Node, Role, receive, send};
use super::segment::Segment;
use super::spin_budget::Cores;
use crate::key::{JobKey, Nonce, nonce};
use crate::poller::Waker;
use crate::{Error, Rank, limits, peer};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The data by which other ranks of the node find a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct ShmContact {
    boot: u128,
    /// The random part of the socket's name, which all processes of the machine can see.
    name: u128,
    cores: Cores,
    /// Used once, so that a recorded proof is worthless elsewhere.
    pub(super) nonce: Nonce,
}

impl ShmContact {
    pub(super) fn socket(&self) -> Vec<u8> {
        format!("aurora-node-{:032x}", self.name).into_bytes()
    }

    #[cfg(test)]
    pub(super) fn elsewhere(self) -> Self {
        ShmContact { boot: !self.boot, ..self }
    }
}

#[derive(Debug)]
pub(crate) struct Offer {
    contact: ShmContact,
    listener: Listener,
}

impl Offer {
    /// Listens on a socket with a random name.
    ///
    /// # Errors
    /// The system refuses sockets or shared memory.
    pub fn new() -> Result<Self, Error> {
        // The profiles of some containers refuse shared memory. An error here lets this rank use UDP.
        Segment::create(0)?;
        let random = |_| Error::system("get random numbers")(io::Error::from(io::ErrorKind::Other));
        let (name, nonce) = (nonce().map_err(random)?, nonce().map_err(random)?);
        let contact = ShmContact { boot: boot_id()?, name, cores: Cores::own(), nonce };
        let listener = Listener::bind(&contact.socket()).map_err(Error::system("listen on a unix socket"))?;
        Ok(Offer { contact, listener })
    }

    /// For tests: makes ranks with different numbers take each other for ranks of different machines.
    pub fn on_machine(mut self, number: usize) -> Self {
        self.contact.boot ^= number as u128;
        self
    }

    pub fn contact(&self) -> ShmContact {
        self.contact
    }

    /// Finds this node's leader among all ranks and connects to it.
    pub fn seek(self, me: Rank, key: JobKey, contacts: &[Option<ShmContact>], waker: Waker) -> Result<Found, Error> {
        let Offer { contact: own, listener } = self;
        let cores = contacts.iter().map(|contact| contact.map(|contact| contact.cores)).collect();
        for (index, contact) in contacts.iter().enumerate().take(me.index()) {
            let Some(contact) = contact.filter(|contact| contact.boot == own.boot) else {
                continue;
            };
            let leader = Rank::new(index);
            let channel = match Channel::connect(&contact.socket()) {
                Ok(channel) => channel,
                Err(Errno::AGAIN) => return Err(Error::NotLetIn { rank: leader, seconds: TIMEOUT.as_secs() }),
                Err(error @ (Errno::MFILE | Errno::NFILE)) => {
                    return Err(Error::system("connect to a rank of this machine")(error));
                }
                // Memory cannot be shared with that rank, whatever the reason.
                Err(_) => continue,
            };
            if !peer::is_same_user(&channel) {
                return Err(Error::Impostor { rank: leader });
            }
            let handshake = Handshake::new(key, leader, contacts);
            let hello = handshake.hello(me).ok_or(Error::NodePeerGone { rank: leader })?;
            channel.send(&hello, &[waker.as_fd()]).map_err(|error| match error {
                Errno::PIPE | Errno::CONNRESET => Error::NodePeerGone { rank: leader },
                _ => Error::system("send a descriptor to a rank of this node")(error),
            })?;
            // Other ranks may have connected to this rank first. They get no answer and try the next rank.
            let role = Seeker::Follower { channel, handshake, _listener: listener };
            return Ok(Found { me, leader, role, waker, cores });
        }
        let handshake = Arc::new(Handshake::new(key, me, contacts));
        let acceptor = Acceptor::start(me, listener, handshake.clone())?;
        Ok(Found { me, leader: me, role: Seeker::Leader { acceptor, handshake }, waker, cores })
    }
}

#[derive(Debug)]
pub(crate) struct Found {
    me: Rank,
    leader: Rank,
    role: Seeker,
    waker: Waker,
    /// The cores of each rank of the job.
    cores: Vec<Option<Cores>>,
}

#[derive(Debug)]
enum Seeker {
    Leader { acceptor: Acceptor, handshake: Arc<Handshake> },
    Follower { channel: Channel, handshake: Handshake, _listener: Listener },
}

impl Found {
    pub fn leader(&self) -> Rank {
        self.leader
    }

    /// Creates the node from all ranks' leaders. [`Node::share`] waits for `grace` before it reports a lost leader.
    pub fn gather(self, leaders: &[Option<Rank>], grace: Duration) -> Result<Node, Error> {
        let Found { me, leader, role, waker, cores } = self;
        let gone = || Error::NodePeerGone { rank: leader };
        if leaders[leader.index()] != Some(leader) {
            // The leader has another leader, which this rank could not reach.
            return Err(gone());
        }
        let ranks = (0..leaders.len()).map(Rank::new).filter(|rank| leaders[rank.index()] == Some(leader));
        let ranks: Vec<Rank> = ranks.collect();
        let place = ranks.iter().position(|rank| *rank == me).ok_or_else(gone)?;
        let count = ranks.len();
        let cores = Cores::together(ranks.iter().filter_map(|rank| cores[rank.index()]));
        match role {
            Seeker::Leader { acceptor, handshake } => {
                let accepted = acceptor.finish()?;
                if count == 1 {
                    return Ok(Node::alone(leader));
                }
                let (channels, mut wakers) = in_rank_order(accepted, &ranks[1..])?;
                wakers.insert(0, waker);
                for (channel, peer) in channels.iter().zip(&ranks[1..]) {
                    send(channel, &handshake.welcome(*peer).ok_or_else(gone)?, &[])?;
                }
                let mut node = Node::new(ranks, Role::leader(channels), grace, cores);
                let segment = node.share(Node::CONTROL, Control::len(count))?;
                for channel in node.channels() {
                    hand_out(&wakers, channel)?;
                }
                node.set_control(Control::new(segment, place, wakers));
                Ok(node)
            }
            Seeker::Follower { channel, handshake, .. } => {
                let Some(Message { bytes, .. }) = receive(&channel)? else {
                    // This process is most likely about to be killed, with the cause reported elsewhere.
                    thread::sleep(grace);
                    return Err(gone());
                };
                if !handshake.is_welcome(me, &bytes) {
                    return Err(Error::Impostor { rank: leader });
                }
                let mut node = Node::new(ranks, Role::follower(channel), grace, cores);
                let segment = node.share(Node::CONTROL, Control::len(count))?;
                let channel = node.channels().next().ok_or_else(gone)?;
                let wakers = take(channel, count)?.ok_or_else(gone)?;
                node.set_control(Control::new(segment, place, wakers));
                Ok(node)
            }
        }
    }
}

/// Sorts the node peers by rank. All have connected, or are gone.
fn in_rank_order(mut accepted: Accepted, peers: &[Rank]) -> Result<(Vec<Channel>, Vec<Waker>), Error> {
    let sorted = peers.iter().map(|peer| {
        let at = accepted.all.iter().position(|accepted| accepted.rank == *peer);
        let at = at.ok_or_else(|| accepted.why_missing(*peer))?;
        let AcceptedPeer { channel, waker, .. } = accepted.all.swap_remove(at);
        Ok((channel, waker))
    });
    sorted.collect::<Result<Vec<_>, _>>().map(|sorted| sorted.into_iter().unzip())
}

fn hand_out(wakers: &[Waker], channel: &Channel) -> Result<(), Error> {
    wakers.chunks(MOST_DESCRIPTORS).try_for_each(|some| {
        let some: Vec<_> = some.iter().map(AsFd::as_fd).collect();
        send(channel, &[0], &some)
    })
}

/// Receives all wakers of the node. `None`: the leader is gone.
fn take(channel: &Channel, count: usize) -> Result<Option<Vec<Waker>>, Error> {
    let mut wakers = Vec::new();
    while wakers.len() < count {
        let Some(Message { descriptors, .. }) = receive(channel)? else {
            return Ok(None);
        };
        wakers.extend(descriptors.into_iter().map(Waker::of));
    }
    Ok(Some(wakers))
}

fn boot_id() -> Result<u128, Error> {
    let digits: String = limits::boot_id()?.trim().chars().filter(|char| *char != '-').collect();
    let doing = "understand this machine's boot id";
    u128::from_str_radix(&digits, 16).map_err(|_| Error::system(doing)(io::Error::from(io::ErrorKind::InvalidData)))
}
