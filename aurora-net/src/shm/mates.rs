//! Who shares this rank's node, and how they share memory.
//!
//! # How they find each other
//!
//! Before ranks know each other, each listens on an abstract unix socket ([`Offer`]). Its contact carries that socket's name,
//! a random one, and the boot id of its kernel. Then each connects to the ranks of its own boot id, lowest first, until
//! one answers or it comes to itself: that is its *leader*. Only processes in one network namespace can connect, and they all
//! can; so the ranks of a node are those that have the same leader, and everyone learns that by telling it. Host names play
//! no part: they repeat, and containers share them.
//!
//! A rank says who it is when it connects, proves it by the job's key, and gives what wakes it, before it tells everyone
//! its leader. So when all have told, the leader finds its mates at the door, and waits for nobody. It makes the control segment
//! and hands it to them, with what wakes each; the mates wait for that.

use super::control::Control;
use super::node::{Node, Role};
use super::parcel::{Line, Listener, MOST_DESCRIPTORS, numbers};
use crate::endpoint::Waker;
use crate::{Error, Rank};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

/// How the other ranks of its node find a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct ShmContact {
    /// Of its kernel.
    boot: u128,
    /// Makes the name of its socket.
    name: u128,
}

impl ShmContact {
    pub(super) fn socket(&self) -> Vec<u8> {
        format!("aurora-mates-{:032x}", self.name).into_bytes()
    }

    /// The same of another machine.
    #[cfg(test)]
    pub(super) fn elsewhere(self) -> Self {
        ShmContact { boot: !self.boot, name: self.name }
    }
}

/// A rank that can be found by the others of its node.
#[derive(Debug)]
pub(crate) struct Offer {
    contact: ShmContact,
    listener: Listener,
}

impl Offer {
    /// Listens from now on.
    pub fn new() -> Result<Self, Error> {
        let random = |_| Error::system("get random numbers")(io::Error::from(io::ErrorKind::Other));
        let (high, low) = (getrandom::u64().map_err(random)?, getrandom::u64().map_err(random)?);
        let contact = ShmContact { boot: boot_id()?, name: u128::from(high) << 64 | u128::from(low) };
        let listener = Listener::bind(&contact.socket()).map_err(Error::system("listen on a unix socket"))?;
        Ok(Offer { contact, listener })
    }

    /// Pretends, for tests, to run on another machine than those with another number.
    pub fn on_machine(mut self, number: usize) -> Self {
        self.contact.boot ^= number as u128;
        self
    }

    pub fn contact(&self) -> ShmContact {
        self.contact
    }

    /// Looks for the leader of this node among all ranks, and says who this is.
    pub fn seek(self, me: Rank, key: u64, contacts: &[Option<ShmContact>], waker: Arc<Waker>) -> Result<Found, Error> {
        let Offer { contact: own, listener } = self;
        let mut found = Found { me, key, leader: me, line: None, listener, waker };
        for (index, contact) in contacts.iter().enumerate().take(me.index()) {
            let Some(contact) = contact.filter(|contact| contact.boot == own.boot) else {
                continue;
            };
            // Whatever refuses us, that rank's memory is out of our reach.
            if let Ok(line) = Line::connect(&contact.socket()) {
                found.leader = Rank::new(index);
                let hello = Hello { key, rank: me }.encode();
                line.send(&hello, &[found.waker.as_fd()]).map_err(|_| Error::MateGone { rank: found.leader })?;
                found.line = Some(line);
                break;
            }
        }
        Ok(found)
    }
}

/// A rank that has found its leader, or knows that it is one.
#[derive(Debug)]
pub(crate) struct Found {
    me: Rank,
    key: u64,
    leader: Rank,
    line: Option<Line>,
    listener: Listener,
    waker: Arc<Waker>,
}

impl Found {
    /// What to tell everyone.
    pub fn leader(&self) -> Rank {
        self.leader
    }

    /// Makes the node, given everyone's leader. `grace`: [`Node::share`] waits so long before it says that the leader is gone.
    pub fn gather(self, leaders: &[Option<Rank>], grace: Duration) -> Result<Node, Error> {
        let Found { me, key, leader, line, listener, waker } = self;
        let gone = || Error::MateGone { rank: leader };
        if leaders[leader.index()] != Some(leader) {
            // It follows somebody else, whom we could not reach.
            return Err(gone());
        }
        let ranks = (0..leaders.len()).map(Rank::new).filter(|rank| leaders[rank.index()] == Some(leader));
        let ranks: Vec<Rank> = ranks.collect();
        let me = ranks.iter().position(|rank| *rank == me).ok_or_else(gone)?;
        let count = ranks.len();
        if count == 1 {
            return Ok(Node::alone(leader));
        }
        match line {
            None => {
                let own = waker.share().map_err(Error::system("share an eventfd"))?;
                let (lines, mut wakers) = welcome(&listener, key, &ranks[1..])?;
                wakers.insert(0, own);
                let mut node = Node::new(ranks, Role::leader(lines), grace);
                let segment = node.share(Node::CONTROL, Control::len(count))?;
                for line in node.lines() {
                    hand_out(&wakers, line);
                }
                node.set_control(Control::new(segment, me, wakers));
                Ok(node)
            }
            Some(line) => {
                let mut node = Node::new(ranks, Role::mate(line), grace);
                let segment = node.share(Node::CONTROL, Control::len(count))?;
                let wakers = node.lines().next().and_then(|line| take(line, count)).ok_or_else(gone)?;
                node.set_control(Control::new(segment, me, wakers));
                Ok(node)
            }
        }
    }
}

/// Lets the mates in, who are all at the door, and takes what wakes them.
fn welcome(listener: &Listener, key: u64, mates: &[Rank]) -> Result<(Vec<Line>, Vec<Waker>), Error> {
    let mut places: Vec<Option<(Line, Waker)>> = mates.iter().map(|_| None).collect();
    while let Some(missing) = places.iter().position(Option::is_none) {
        let accepted = listener.accept().map_err(Error::system("accept a connection of a node-mate"))?;
        let line = accepted.ok_or(Error::MateGone { rank: mates[missing] })?;
        let Some((bytes, descriptors)) = line.try_receive().ok().flatten() else {
            // Not one of ours: dropped, as below.
            continue;
        };
        let hello = Hello::decode(&bytes).filter(|hello| hello.key == key);
        let place = hello.and_then(|hello| mates.iter().position(|rank| *rank == hello.rank));
        if let (Some(place), Some(waker)) = (place, descriptors.into_iter().next()) {
            places[place].get_or_insert((line, Waker::of(waker)));
        }
    }
    Ok(places.into_iter().flatten().unzip())
}

/// Gives a mate what wakes each rank of the node.
fn hand_out(wakers: &[Waker], line: &Line) {
    for some in wakers.chunks(MOST_DESCRIPTORS) {
        let some: Vec<_> = some.iter().map(AsFd::as_fd).collect();
        // A mate that is gone is not ours to report.
        let _: Result<(), Errno> = line.send(&[0], &some);
    }
}

/// Takes what wakes each rank of the node. None: the leader is gone.
fn take(line: &Line, count: usize) -> Option<Vec<Waker>> {
    let mut wakers = Vec::new();
    while wakers.len() < count {
        let (_, descriptors) = line.receive().ok().flatten()?;
        wakers.extend(descriptors.into_iter().map(Waker::of));
    }
    Some(wakers)
}

/// The first parcel of a mate.
#[derive(Clone, Copy)]
struct Hello {
    key: u64,
    rank: Rank,
}

impl Hello {
    fn encode(self) -> Vec<u8> {
        [self.key.to_le_bytes(), (self.rank.index() as u64).to_le_bytes()].concat()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (key, rank) = numbers(bytes)?;
        let rank = Rank::from(usize::try_from(rank).ok()?);
        Some(Hello { key, rank })
    }
}

fn boot_id() -> Result<u128, Error> {
    let doing = "read this machine's boot id";
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").map_err(Error::system(doing))?;
    let digits: String = text.trim().chars().filter(|char| *char != '-').collect();
    u128::from_str_radix(&digits, 16).map_err(|_| Error::system(doing)(io::Error::from(io::ErrorKind::InvalidData)))
}
