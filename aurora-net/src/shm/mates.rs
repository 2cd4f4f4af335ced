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
//! A rank says who it is when it connects, and proves it by the job's key, before it tells its leader. So when all have told,
//! the leader finds its mates waiting, and nobody waits for anybody in here.

use super::parcel::{Line, Listener};
use super::segment::{self, Segment};
use crate::{Error, Rank};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

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

    pub fn contact(&self) -> ShmContact {
        self.contact
    }

    /// Looks for the leader of this node among all ranks, and says who this is.
    pub fn seek(self, me: Rank, key: u64, contacts: &[Option<ShmContact>]) -> Result<Found, Error> {
        for (index, contact) in contacts.iter().enumerate().take(me.index()) {
            let Some(contact) = contact.filter(|contact| contact.boot == self.contact.boot) else {
                continue;
            };
            // Whatever refuses us, that rank's memory is out of our reach.
            if let Ok(line) = Line::connect(&contact.socket()) {
                let leader = Rank::new(index);
                line.send(&Hello { key, rank: me }.encode(), &[]).map_err(|_| Error::MateGone { rank: leader })?;
                return Ok(Found { key, leader, line: Some(line), listener: self.listener });
            }
        }
        Ok(Found { key, leader: me, line: None, listener: self.listener })
    }
}

/// A rank that has found its leader, or knows that it is one.
#[derive(Debug)]
pub(crate) struct Found {
    key: u64,
    leader: Rank,
    line: Option<Line>,
    listener: Listener,
}

impl Found {
    /// What to tell everyone.
    pub fn leader(&self) -> Rank {
        self.leader
    }

    /// Makes the node, given everyone's leader.
    pub fn gather(self, leaders: &[Option<Rank>]) -> Result<Node, Error> {
        let Found { key, leader, line, listener } = self;
        if leaders[leader.index()] != Some(leader) {
            // It follows somebody else, whom we could not reach.
            return Err(Error::MateGone { rank: leader });
        }
        let ranks: Vec<Rank> =
            (0..leaders.len()).map(Rank::new).filter(|rank| leaders[rank.index()] == Some(leader)).collect();
        let role = match line {
            Some(line) => Role::Mate { line, early: Mutex::default() },
            None => Role::Leader { lines: welcome(&listener, key, &ranks[1..])? },
        };
        Ok(Node { ranks, role })
    }
}

/// Lets the mates in, who are all at the door.
fn welcome(listener: &Listener, key: u64, mates: &[Rank]) -> Result<Vec<(Rank, Line)>, Error> {
    let mut lines: Vec<(Rank, Option<Line>)> = mates.iter().map(|rank| (*rank, None)).collect();
    while let Some((missing, _)) = lines.iter().find(|(_, line)| line.is_none()) {
        let missing = *missing;
        let accepted = listener.accept().map_err(Error::system("accept a connection of a node-mate"))?;
        let line = accepted.ok_or(Error::MateGone { rank: missing })?;
        let hello = line.try_receive().ok().flatten().and_then(|(bytes, _)| Hello::decode(&bytes));
        // Not one of ours: dropped.
        if let Some(hello) = hello.filter(|hello| hello.key == key)
            && let Some((_, place)) = lines.iter_mut().find(|(rank, place)| *rank == hello.rank && place.is_none())
        {
            *place = Some(line);
        }
    }
    Ok(lines.into_iter().filter_map(|(rank, line)| Some((rank, line?))).collect())
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
        let (key, rank) = pair(bytes)?;
        let rank = Rank::from(usize::try_from(rank).ok()?);
        Some(Hello { key, rank })
    }
}

/// A parcel of the leader: one call of [`Node::share`], with the memory or why there is none.
#[derive(Debug)]
struct Shared {
    id: u64,
    outcome: io::Result<OwnedFd>,
}

impl Shared {
    fn encode(id: u64, outcome: Result<(), i32>) -> Vec<u8> {
        let errno = outcome.err().unwrap_or(0);
        [id.to_le_bytes(), u64::from(errno.unsigned_abs()).to_le_bytes()].concat()
    }

    fn decode(bytes: &[u8], descriptors: Vec<OwnedFd>) -> Option<Self> {
        let (id, errno) = pair(bytes)?;
        let memory = descriptors.into_iter().next();
        let errno = i32::try_from(errno).ok()?;
        let outcome = memory.ok_or_else(|| io::Error::from_raw_os_error(errno));
        Some(Shared { id, outcome })
    }
}

fn pair(bytes: &[u8]) -> Option<(u64, u64)> {
    let (first, rest) = bytes.split_first_chunk()?;
    let second = rest.try_into().ok()?;
    Some((u64::from_le_bytes(*first), u64::from_le_bytes(second)))
}

/// The ranks of this node, this one included: those that can share memory.
#[derive(Debug)]
pub struct Node {
    ranks: Vec<Rank>,
    role: Role,
}

#[derive(Debug)]
enum Role {
    Leader {
        lines: Vec<(Rank, Line)>,
    },
    Mate {
        line: Line,
        /// Arrived before it was asked for.
        early: Mutex<Option<Shared>>,
    },
}

impl Node {
    /// A rank that shares its memory with nobody.
    pub(crate) fn alone(me: Rank) -> Self {
        Node { ranks: vec![me], role: Role::Leader { lines: Vec::new() } }
    }

    /// The ranks of the node in ascending order, with this one; this one alone if nobody shares its memory.
    pub fn ranks(&self) -> &[Rank] {
        &self.ranks
    }

    /// The lowest of them.
    pub fn leader(&self) -> Rank {
        self.ranks[0]
    }

    /// Collective over the node's ranks. Memory of `len` bytes, all 0, that all of them have mapped: the leader makes it and
    /// hands it to the others. `id` and `len` are the same on all; each `id` is greater than the one before it. A rank may
    /// leave one out (because of an error of its own).
    ///
    /// The leader does not wait. The others wait until the leader has called it, so all should be known to come.
    ///
    /// # Errors
    /// [`Error::Segment`]: the leader could not make it; all get the same. [`Error::MateGone`]: the leader is dead, or has
    /// closed its endpoint, or this rank has. [`Error::ShareSkipped`]: the leader has left it out.
    pub fn share(&self, id: u64, len: usize) -> Result<Segment, Error> {
        match &self.role {
            Role::Leader { lines } => hand_out(lines, id, len),
            Role::Mate { line, early } => {
                let mut early = early.lock().unwrap_or_else(PoisonError::into_inner);
                let shared = next(line, &mut early, id).ok_or(Error::MateGone { rank: self.leader() })?;
                if shared.id != id {
                    let error = Error::ShareSkipped { leader: self.leader(), asked: id, next: shared.id };
                    *early = Some(shared);
                    return Err(error);
                }
                let opened = shared.outcome.and_then(|memory| segment::open(&memory, len));
                opened.map_err(|source| Error::Segment { len, source })
            }
        }
    }

    /// Ends [`Node::share`] here, and on all ranks that need this one for it: for who hears that the job has failed.
    pub fn close(&self) {
        match &self.role {
            Role::Leader { lines } => lines.iter().for_each(|(_, line)| line.close()),
            Role::Mate { line, .. } => line.close(),
        }
    }
}

fn hand_out(lines: &[(Rank, Line)], id: u64, len: usize) -> Result<Segment, Error> {
    let created = segment::create(len);
    let errno = |error: &io::Error| error.raw_os_error().unwrap_or(Errno::IO.raw_os_error());
    for (_, line) in lines {
        // A mate that is gone is not ours to report.
        let _ = match &created {
            Ok((_, memory)) => line.send(&Shared::encode(id, Ok(())), &[memory.as_fd()]),
            Err(error) => line.send(&Shared::encode(id, Err(errno(error))), &[]),
        };
    }
    created.map(|(segment, _)| segment).map_err(|error| {
        let source = io::Error::from_raw_os_error(errno(&error));
        Error::Segment { len, source }
    })
}

/// What the leader has shared as `id`, or else after it. None: the leader is gone.
fn next(line: &Line, early: &mut Option<Shared>, id: u64) -> Option<Shared> {
    loop {
        let shared = match early.take() {
            Some(shared) => shared,
            None => {
                let (bytes, descriptors) = line.receive().ok().flatten()?;
                Shared::decode(&bytes, descriptors)?
            }
        };
        // Earlier ones, this rank has left out.
        if shared.id >= id {
            return Some(shared);
        }
    }
}

fn boot_id() -> Result<u128, Error> {
    let doing = "read this machine's boot id";
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").map_err(Error::system(doing))?;
    let digits: String = text.trim().chars().filter(|char| *char != '-').collect();
    u128::from_str_radix(&digits, 16).map_err(|_| Error::system(doing)(io::Error::from(io::ErrorKind::InvalidData)))
}
