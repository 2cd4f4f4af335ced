//! The ranks of one node, and the memory that they share.

use super::barrier::{self, BarrierMemory, BarrierState, TableIn};
use super::control::{Control, Presence};
use super::descriptor_passing::{Channel, Message, numbers};
use super::node_barrier::NodeBarrier;
use super::segment::{self, Segment};
use super::spin_budget::SpinBudget;
use crate::{Error, Rank};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The ranks of this node, this one included: those that can share memory.
#[derive(Debug)]
pub struct Node {
    ranks: Vec<Rank>,
    role: Role,
    /// None: this rank is alone.
    control: Option<Arc<Control>>,
    budget: SpinBudget,
    /// How long after its end the leader is said to be gone.
    grace: Duration,
}

#[derive(Debug)]
pub(super) enum Role {
    Leader {
        /// To all others, in their order.
        channels: Vec<Channel>,
    },
    Follower {
        channel: Channel,
        /// Arrived before it was asked for.
        early: Mutex<Option<Shared>>,
    },
}

impl Role {
    pub fn leader(channels: Vec<Channel>) -> Self {
        Role::Leader { channels }
    }

    pub fn follower(channel: Channel) -> Self {
        Role::Follower { channel, early: Mutex::default() }
    }
}

impl Node {
    /// A rank that shares its memory with nobody.
    pub(crate) fn alone(me: Rank) -> Self {
        Node::new(vec![me], Role::leader(Vec::new()), Duration::ZERO)
    }

    /// What is shared first, in the making of a node.
    pub(super) const CONTROL: u64 = 0;

    pub(super) fn new(ranks: Vec<Rank>, role: Role, grace: Duration) -> Self {
        Node { budget: SpinBudget::of(ranks.len()), ranks, role, control: None, grace }
    }

    pub(super) fn set_control(&mut self, control: Control) {
        self.control = Some(Arc::new(control));
    }

    /// How the ranks of the node reach each other; none if this one is alone.
    pub(crate) fn control(&self) -> Option<&Arc<Control>> {
        self.control.as_ref()
    }

    /// The connections to its node peers, for the leader; to the leader, for the others.
    pub(super) fn channels(&self) -> impl Iterator<Item = &Channel> {
        match &self.role {
            Role::Leader { channels } => channels.iter(),
            Role::Follower { channel, .. } => std::slice::from_ref(channel).iter(),
        }
    }

    /// What becomes ready to be hung up when a rank that this one watches ends.
    pub(crate) fn ends(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.channels().map(AsFd::as_fd)
    }

    /// Looks which of the ranks that this one watches have ended, and tells the node.
    pub(crate) fn note_ends(&self) {
        let Some(control) = &self.control else {
            return;
        };
        for (index, channel) in self.channels().enumerate() {
            let mut polled = [PollFd::new(channel, PollFlags::RDHUP)];
            let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
            let ready = poll(&mut polled, Some(&at_once));
            let is_hung_up = polled[0].revents().intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR);
            // Looked at after the channel: one that this rank has closed itself says nothing of its node peer.
            if ready.is_ok() && is_hung_up && control.presence(control.me()) == Presence::Here {
                // The leader's channels go to those behind it, a node peer's to the leader.
                control.note_end(if control.me() == 0 { index + 1 } else { 0 });
            }
        }
    }

    /// Whether a rank, by its number among [`Node::ranks`], has ended without having closed its endpoint, as far as can
    /// be known by now.
    pub fn has_ended(&self, peer: usize) -> bool {
        self.note_ends();
        self.control.as_ref().is_some_and(|control| control.presence(peer) == Presence::Dead)
    }

    /// Whether the end of a rank would still be noted: until the leader, who alone sees those of all others, closes its
    /// endpoint or ends.
    pub fn notes_ends(&self) -> bool {
        self.control.as_ref().is_none_or(|control| control.presence(0) == Presence::Here)
    }

    /// The ranks of the node in ascending order, with this one; this one alone if nobody shares its memory.
    pub fn ranks(&self) -> &[Rank] {
        &self.ranks
    }

    /// The lowest of them.
    pub fn leader(&self) -> Rank {
        self.ranks[0]
    }

    /// Collective over the node's ranks. Memory of `len` bytes, all 0, that all of them have mapped: the leader makes
    /// it and hands it to the others. `id` and `len` are the same on all; each `id` is greater than the one before it,
    /// the first than 0. A rank may leave one out (because of an error of its own).
    ///
    /// The leader does not wait. The others wait until the leader has called it, so all should be known to come.
    ///
    /// # Errors
    /// [`Error::Segment`], [`Error::FileSize`]: the leader could not make it; all get the same. [`Error::OpenFiles`]:
    /// it, or this rank, has no descriptor left for it. [`Error::NodePeerGone`]: the leader is dead, or has closed its
    /// endpoint, or this rank has. [`Error::ShareSkipped`]: the leader has left it out.
    pub fn share(&self, id: u64, len: usize) -> Result<Segment, Error> {
        match &self.role {
            Role::Leader { channels } => hand_out(channels, id, len),
            Role::Follower { channel, early } => {
                let mut early = early.lock().unwrap_or_else(PoisonError::into_inner);
                let shared = next(channel, &mut early, id)?.ok_or_else(|| self.leader_is_gone())?;
                if shared.id != id {
                    let error = Error::ShareSkipped { leader: self.leader(), asked: id, next: shared.id };
                    *early = Some(shared);
                    return Err(error);
                }
                let opened = shared.outcome.and_then(|memory| segment::open(&memory, len));
                opened.map_err(Error::segment(len))
            }
        }
    }

    fn leader_is_gone(&self) -> Error {
        if self.control.as_ref().is_none_or(|control| control.presence(control.me()) == Presence::Here) {
            // Most likely we are about to be ended too, by who says why.
            thread::sleep(self.grace);
        }
        Error::NodePeerGone { rank: self.leader() }
    }

    /// This rank's end of the barrier of the node's ranks. None: this rank is alone, or has it already.
    pub fn barrier(&self) -> Option<NodeBarrier> {
        let control = self.control.as_ref().filter(|control| control.take_barrier())?;
        Some(NodeBarrier::new(control.clone(), self.budget))
    }

    /// Who has not come to the barrier with this number.
    pub fn absent(&self, number: u64) -> Vec<Rank> {
        let absent = self.control.iter().flat_map(|control| barrier::absent(&**control, number));
        absent.map(|peer| self.ranks[peer]).collect()
    }

    /// Collective over the node's ranks. Comes to the next meeting in a place of its own; `number` goes up by 1 from 1
    /// and is the same on all, `word` says what this rank came for. Does not wait. A rank alone has met.
    pub fn arrive_at(&self, place: &impl BarrierMemory, number: u64, word: u64) -> BarrierState {
        let table = TableIn(place, self.ranks.len());
        let wake = |peer| self.control.iter().for_each(|control| control.ring(peer));
        let me = self.control.as_deref().map(Control::me);
        me.map_or(BarrierState::Agreed, |me| barrier::arrive(&table, me, number, word, wake))
    }

    /// Waits a very short time for those who have not come to it, and handles nothing that arrives.
    pub fn spin_at(&self, place: &impl BarrierMemory, number: u64) -> BarrierState {
        let table = TableIn(place, self.ranks.len());
        self.control
            .as_deref()
            .map_or(BarrierState::Agreed, |control| barrier::spin(&table, control.me(), number, self.budget))
    }

    /// How the last meeting stands: for the condition of [`Endpoint::wait`](crate::Endpoint::wait), which is asked
    /// again when all have come.
    pub fn poll_at(&self, place: &impl BarrierMemory, number: u64) -> BarrierState {
        let table = TableIn(place, self.ranks.len());
        self.control
            .as_deref()
            .map_or(BarrierState::Agreed, |control| barrier::prepare_sleep(&table, control.me(), number))
    }

    /// Who has not come to it.
    pub fn absent_at(&self, place: &impl BarrierMemory, number: u64) -> Vec<Rank> {
        barrier::absent(&TableIn(place, self.ranks.len()), number).map(|peer| self.ranks[peer]).collect()
    }

    /// Waits for a very short time, in which nothing that arrives is handled, for what node peers write to memory that
    /// this rank sees too; not at all where there are more ranks than cores. Whether it has come.
    pub fn spin(&self, has_come: impl FnMut() -> bool) -> bool {
        self.budget.spin(has_come)
    }

    /// Ends [`Node::share`] here, and on all ranks that need this one for it: for who hears that the job has failed.
    pub fn close(&self) {
        if let Some(control) = &self.control {
            // First: those who see the channels end look whether this was meant.
            control.close();
        }
        self.channels().for_each(Channel::close);
    }
}

/// A message of the leader: one call of [`Node::share`], with the memory or why there is none.
#[derive(Debug)]
pub(super) struct Shared {
    id: u64,
    outcome: io::Result<OwnedFd>,
}

impl Shared {
    fn encode(id: u64, outcome: Result<(), i32>) -> Vec<u8> {
        let errno = outcome.err().unwrap_or(0);
        [id.to_le_bytes(), u64::from(errno.unsigned_abs()).to_le_bytes()].concat()
    }

    fn decode(message: Message) -> Option<Self> {
        let (id, errno) = numbers(&message.bytes)?;
        let memory = message.descriptors.into_iter().next();
        let errno = i32::try_from(errno).ok()?;
        let outcome = memory.ok_or_else(|| io::Error::from_raw_os_error(errno));
        Some(Shared { id, outcome })
    }
}

fn hand_out(channels: &[Channel], id: u64, len: usize) -> Result<Segment, Error> {
    let created = segment::create(len);
    let errno = |error: &io::Error| error.raw_os_error().unwrap_or(Errno::IO.raw_os_error());
    for channel in channels {
        match &created {
            Ok((_, memory)) => send(channel, &Shared::encode(id, Ok(())), &[memory.as_fd()])?,
            Err(error) => send(channel, &Shared::encode(id, Err(errno(error))), &[])?,
        }
    }
    created.map(|(segment, _)| segment).map_err(|error| {
        let source = io::Error::from_raw_os_error(errno(&error));
        Error::segment(len)(source)
    })
}

/// What the leader has shared as `id`, or else after it. None: the leader is gone.
fn next(channel: &Channel, early: &mut Option<Shared>, id: u64) -> Result<Option<Shared>, Error> {
    loop {
        let shared = match early.take() {
            Some(shared) => Some(shared),
            None => receive(channel)?.and_then(Shared::decode),
        };
        // Earlier ones, this rank has left out.
        if shared.as_ref().is_none_or(|shared| shared.id >= id) {
            return Ok(shared);
        }
    }
}

/// The leader's next message. None: it is gone, by whatever the system calls that.
pub(super) fn receive(channel: &Channel) -> Result<Option<Message>, Error> {
    match channel.receive() {
        Err(error @ Errno::MFILE) => {
            Err(Error::system("take memory or an eventfd from the leader of this node")(error))
        }
        outcome => Ok(outcome.ok().flatten()),
    }
}

/// Sends a node peer something. One that is gone is not ours to report; that there is no descriptor is.
pub(super) fn send(channel: &Channel, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> Result<(), Error> {
    match channel.send(bytes, descriptors) {
        Err(error @ Errno::TOOMANYREFS) => Err(Error::system("send a descriptor to a rank of this node")(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
