//! The ranks of one node and the memory that they share.

use super::barrier::{self, BarrierMemory, BarrierState, TableIn};
use super::control::{Control, Presence};
use super::descriptor_passing::{Channel, Message, numbers};
use super::node_barrier::NodeBarrier;
use super::segment::{self, Segment};
use super::spin_budget::SpinBudget;
use crate::poller::timespec;
use crate::{Error, Rank};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The ranks of this node, including this one: the ranks that can share memory.
#[derive(Debug)]
pub struct Node {
    ranks: Vec<Rank>,
    role: Role,
    /// `None`: this rank is alone on its node.
    control: Option<Arc<Control>>,
    budget: SpinBudget,
    /// The time between the leader's end and the error that reports it.
    grace: Duration,
}

#[derive(Debug)]
pub(super) enum Role {
    Leader {
        /// The channels to all node peers, in the order of their ranks.
        channels: Vec<Channel>,
    },
    Follower {
        channel: Channel,
        /// A message that was received before this rank asked for it.
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
    pub(crate) fn alone(me: Rank) -> Self {
        Node::new(vec![me], Role::leader(Vec::new()), Duration::ZERO, 1)
    }

    /// The id of the control segment, which is shared first.
    pub(super) const CONTROL: u64 = 0;

    pub(super) fn new(ranks: Vec<Rank>, role: Role, grace: Duration, cores: usize) -> Self {
        Node { budget: SpinBudget::new(ranks.len(), cores), ranks, role, control: None, grace }
    }

    pub(super) fn set_control(&mut self, control: Control) {
        self.control = Some(Arc::new(control));
    }

    pub(crate) fn budget(&self) -> SpinBudget {
        self.budget
    }

    pub(crate) fn control(&self) -> Option<&Arc<Control>> {
        self.control.as_ref()
    }

    /// The leader's channels to all node peers, or this rank's channel to the leader.
    pub(super) fn channels(&self) -> impl Iterator<Item = &Channel> {
        match &self.role {
            Role::Leader { channels } => channels.iter(),
            Role::Follower { channel, .. } => std::slice::from_ref(channel).iter(),
        }
    }

    /// The descriptors that report a hang-up when a watched rank ends.
    pub(crate) fn ends(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.channels().map(AsFd::as_fd)
    }

    /// Records which of the watched ranks have ended in the control segment.
    pub(crate) fn note_ends(&self) {
        let Some(control) = &self.control else {
            return;
        };
        for (index, channel) in self.channels().enumerate() {
            let mut polled = [PollFd::new(channel, PollFlags::RDHUP)];
            let ready = poll(&mut polled, Some(&timespec(Duration::ZERO)));
            let is_hung_up = polled[0].revents().intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR);
            // The presence is read after the channel: a hang-up caused by this rank's own close does not count.
            if ready.is_ok() && is_hung_up && control.presence(control.me()) == Presence::Here {
                // The leader watches all others; the others watch the leader.
                control.note_end(if control.me() == 0 { index + 1 } else { 0 });
            }
        }
    }

    /// Returns true if a rank, by its index in [`Node::ranks`], is known to have ended without closing its endpoint.
    pub fn has_ended(&self, peer: usize) -> bool {
        self.note_ends();
        self.control.as_ref().is_some_and(|control| control.presence(peer) == Presence::Dead)
    }

    /// Returns true if the end of a rank would be detected. Only the leader sees the ends of all other ranks, so this
    /// is false once the leader has closed its endpoint or has ended.
    pub fn notes_ends(&self) -> bool {
        self.control.as_ref().is_none_or(|control| control.presence(0) == Presence::Here)
    }

    /// The ranks of the node in ascending order, including this one.
    pub fn ranks(&self) -> &[Rank] {
        &self.ranks
    }

    /// The lowest rank of the node.
    pub fn leader(&self) -> Rank {
        self.ranks[0]
    }

    /// Collective over the node's ranks. Returns `len` zero bytes that all these ranks map: the leader creates the
    /// memory and sends it to the others. `id` and `len` are the same on all ranks; ids start above 0 and increase. A
    /// rank may skip an id (after an error of its own).
    ///
    /// The leader does not wait. The other ranks wait for the leader's call, so call this only if all ranks will.
    ///
    /// # Errors
    /// [`Error::Segment`], [`Error::FileSize`]: the leader could not create the memory; all ranks get the same error.
    /// [`Error::OpenFiles`]: the leader, or this rank, has no descriptor left. [`Error::NodePeerGone`]: the leader has
    /// ended or closed its endpoint, or this rank has closed its own. [`Error::ShareSkipped`]: the leader has skipped
    /// this id.
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
            // This process is most likely about to be killed, with the cause reported elsewhere.
            thread::sleep(self.grace);
        }
        Error::NodePeerGone { rank: self.leader() }
    }

    /// This rank's end of the node barrier. `None`: this rank is alone, or has taken it before.
    pub fn barrier(&self) -> Option<NodeBarrier> {
        let control = self.control.as_ref().filter(|control| control.take_barrier())?;
        Some(NodeBarrier::new(control.clone(), self.budget))
    }

    /// The ranks that have not arrived at the node barrier with this number.
    pub fn absent(&self, number: u64) -> Vec<Rank> {
        let absent = self.control.iter().flat_map(|control| barrier::absent(&**control, number));
        absent.map(|peer| self.ranks[peer]).collect()
    }

    /// Collective over the node's ranks. Arrives at the next barrier in `place`, without waiting. `number` counts up
    /// from 1, equally on all ranks; `word` is compared with the words of the other ranks. For a rank alone
    /// the barrier is complete at once.
    pub fn arrive_at(&self, place: &impl BarrierMemory, number: u64, word: u64) -> BarrierState {
        self.barrier_in(place, |table, control| {
            barrier::arrive(table, control.me(), number, word, |peer| control.ring(peer))
        })
    }

    /// Polls the barrier of [`Node::arrive_at`] for a very short time. No arriving transfer is handled meanwhile.
    pub fn spin_at(&self, place: &impl BarrierMemory, number: u64) -> BarrierState {
        self.barrier_in(place, |table, control| barrier::spin(table, control.me(), number, self.budget))
    }

    /// The state of the barrier of [`Node::arrive_at`]. Use it as the condition of
    /// [`Endpoint::wait`](crate::Endpoint::wait), which is evaluated again when all ranks have arrived.
    pub fn poll_at(&self, place: &impl BarrierMemory, number: u64) -> BarrierState {
        self.barrier_in(place, |table, control| barrier::prepare_sleep(table, control.me(), number))
    }

    fn barrier_in<P: BarrierMemory>(
        &self,
        place: &P,
        act: impl FnOnce(&TableIn<'_, P>, &Control) -> BarrierState,
    ) -> BarrierState {
        let table = TableIn(place, self.ranks.len());
        self.control.as_deref().map_or(BarrierState::Agreed, |control| act(&table, control))
    }

    /// The ranks that have not arrived at the barrier of [`Node::arrive_at`].
    pub fn absent_at(&self, place: &impl BarrierMemory, number: u64) -> Vec<Rank> {
        barrier::absent(&TableIn(place, self.ranks.len()), number).map(|peer| self.ranks[peer]).collect()
    }

    /// Polls `has_come` for a very short time, for values that node peers write to shared memory. No arriving transfer
    /// is handled meanwhile. Polls only once if there are more ranks than cores. Returns true if `has_come` did.
    pub fn spin(&self, has_come: impl FnMut() -> bool) -> bool {
        self.budget.spin(has_come)
    }

    /// Ends [`Node::share`] on this rank, and on all ranks that wait for this rank in it. For a job that has failed.
    pub fn close(&self) {
        if let Some(control) = &self.control {
            // First, so that ranks that see a hang-up know that it was intended.
            control.close();
        }
        self.channels().for_each(Channel::close);
    }
}

/// The leader's message for one call of [`Node::share`]: the memory, or an error.
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

/// The leader's message with this id or a higher one. `None`: the leader is gone.
fn next(channel: &Channel, early: &mut Option<Shared>, id: u64) -> Result<Option<Shared>, Error> {
    loop {
        let shared = match early.take() {
            Some(shared) => Some(shared),
            None => receive(channel)?.and_then(Shared::decode),
        };
        // Lower ids were skipped by this rank.
        if shared.as_ref().is_none_or(|shared| shared.id >= id) {
            return Ok(shared);
        }
    }
}

/// The leader's next message. `None`: the leader is gone. Only a refusal by the system is an error of its own.
pub(super) fn receive(channel: &Channel) -> Result<Option<Message>, Error> {
    match channel.receive() {
        Err(error @ (Errno::MFILE | Errno::PERM | Errno::NOSYS)) => {
            Err(Error::system("receive memory or an eventfd from the leader of this node")(error))
        }
        outcome => Ok(outcome.ok().flatten()),
    }
}

/// Sends to a node peer. Only a lack of descriptors is an error here: the end of a node peer is reported elsewhere.
pub(super) fn send(channel: &Channel, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> Result<(), Error> {
    match channel.send(bytes, descriptors) {
        Err(error @ Errno::TOOMANYREFS) => Err(Error::system("send a descriptor to a rank of this node")(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
