//! The protocol of loads: its state on a rank, and its messages.

use super::arrival::{Announced, Arrivals};
use super::cache::Cache;
use super::stream::Stream;
use crate::ids::Epoch;
use crate::kernel::Reason;
use crate::memory::BarrierRound;
use crate::object::{Cx, Holds, How, Loan, Loans, Malformed, Obstacle, Place};
use crate::scope::{Opening, ScopeWait};
use crate::vector::core::VectorCore;
use crate::vector::protocol::{Delivered, Numbered, Protocol};
use crate::window::Window;
use crate::{Kind, ObjectName};
use aurora_net::{Payload, Rank, Received};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum LoadMessage {
    /// The announcement: the sender has entered a load. Payload: its block, if the receiver needs this version.
    Enter { epoch: Epoch, opening: Opening, announced: Announced },
    /// The write marks for which the announcement had no room. Payload: pairs of owner and number.
    Made { epoch: Epoch },
    /// A correction: the changes of late writes in a block that had already been pushed. Payload: a batch.
    Correct { epoch: Epoch, version: u64, writes: u64 },
    /// Blocks that the sender has installed in the node cache for this load. Payload: pairs of owner and version.
    Installed { epoch: Epoch },
    /// A block of another node, for a node peer that loads into a copy of its own. Payload: the block.
    Forward { epoch: Epoch, owner: Rank, version: u64 },
}

impl LoadMessage {
    /// Decodes a header; `None` if it cannot be about this vector.
    fn decode(header: &[u8], core: &VectorCore) -> Option<Self> {
        let message = postcard::from_bytes(header).ok()?;
        match &message {
            LoadMessage::Enter { opening, .. } if !opening.window.is_of(core.dist().len()) => None,
            _ => Some(message),
        }
    }

    pub(super) fn send(&self, reason: &Reason, to: Rank, payload: Payload, cx: &mut Cx<'_>) {
        Load::send(to, self, payload, How::default().on(reason), cx);
    }
}

/// Memory of loads that the transport reads or writes at this moment.
pub(super) enum LoadLoan {
    /// This rank's own part of a copy, to be sent.
    Out { serial: u64, base: usize },
    /// Another rank's part of a copy that is being loaded.
    In { epoch: Epoch, base: usize, len: usize },
    /// A block of another node, on its way into this node's shared memory.
    Room { owner: Rank, epoch: Epoch, len: usize },
}

/// An announcement that is not recorded yet: the rank, its opening, and true if its block follows and has a place in
/// this rank's memory.
type PendingAnnouncement = (Rank, (Epoch, Opening), (Announced, bool));

/// The versions of this rank's block that other ranks have; 0: none.
#[derive(Clone, Copy, Default)]
pub(super) struct Kept {
    /// In copies of their own.
    pub(super) by_node_peers: u64,
    pub(super) by_other_nodes: u64,
}

/// The state of the loads of one vector on this rank.
pub(crate) struct Load {
    /// Copies in memory of this rank's own.
    pub(super) cache: Cache,
    pub(super) loans: Loans<LoadLoan>,
    pub(super) arrivals: Arrivals,
    /// A load that is not complete. Its guard shows the arrived blocks, or was dropped already.
    pub(super) stream: Option<Stream>,
    /// Announcements whose header has arrived, to be recorded when messages can be sent.
    pending: Vec<PendingAnnouncement>,
    /// The versions that other ranks have kept of the last load of the whole.
    kept: Kept,
    /// Number of node barriers that this rank has arrived at.
    pub(super) barriers: u64,
    /// The node barrier at which this rank waits.
    pub(super) node_barrier: Option<BarrierRound>,
}

impl Load {
    pub(crate) fn new(ranks: usize) -> Self {
        Load {
            cache: Cache::default(),
            loans: Loans::tagged(Self::NUMBER),
            arrivals: Arrivals::new(ranks),
            stream: None,
            pending: Vec::new(),
            kept: Kept::default(),
            barriers: 0,
            node_barrier: None,
        }
    }

    /// The versions that other ranks need not get again for a load. No rank keeps a copy of a part.
    pub(super) fn kept(&self, window: Window) -> Kept {
        if window.is_whole() { self.kept } else { Kept::default() }
    }

    pub(super) fn keep(&mut self, window: Window, versions: Kept) {
        if window.is_whole() {
            self.kept = versions;
        }
    }

    #[cfg(test)]
    pub(crate) fn has(&self, epoch: Epoch) -> bool {
        self.arrivals.has(epoch)
    }

    fn load_awaits(&self, core: &VectorCore, epoch: Epoch) -> Vec<Rank> {
        let ledger = core.ledger();
        let missing = ledger.first_awaited(ledger.scope_of(epoch));
        let ranks = missing.unwrap_or_else(|| self.arrivals.incomplete(epoch, ledger.others()));
        if ranks.is_empty() { self.receivers_awaited(core, epoch) } else { ranks }
    }
}

impl Numbered for Load {
    const NUMBER: u8 = 1;
}

impl Protocol for Load {
    fn kind(&self) -> Kind {
        Kind::Load
    }

    /// An announcement is kept, to be recorded before its block is complete.
    fn place(&mut self, core: &mut VectorCore, from: Rank, header: &[u8], len: usize, cx: &Cx<'_>) -> Place {
        match LoadMessage::decode(header, core) {
            Some(LoadMessage::Enter { epoch, opening, announced }) => {
                let placement = self.place_block(core, from, (epoch, opening.window), len, cx);
                let coming = matches!(placement, Place::At(_));
                // Nothing can be sent at this moment.
                self.pending.push((from, (epoch, opening), (announced, coming)));
                core.retry();
                placement
            }
            Some(LoadMessage::Forward { epoch, owner, .. }) => self.place_forward(core, from, (epoch, owner), len, cx),
            _ => Place::Buffer,
        }
    }

    /// A loan that has ended is ignored.
    fn write(&mut self, core: &mut VectorCore, loan: Loan, offset: usize, bytes: &[u8]) {
        let within = |base: usize, len: usize| {
            let end = offset.checked_add(bytes.len()).filter(|end| *end <= len)?;
            Some(base + offset..base + end)
        };
        match self.loans.get(loan) {
            Some(&LoadLoan::In { epoch, base, len }) => {
                if let Some(place) = within(base, len) {
                    self.cache.receive(epoch, place.start, bytes);
                }
            }
            Some(&LoadLoan::Room { owner, epoch, len }) => {
                let slot = core.block_mut().home_mut().and_then(|home| home.cache.slot(owner));
                if let Some((place, slot)) = within(0, len).zip(slot.filter(|slot| slot.is_open_for(epoch))) {
                    slot.write(place.start, bytes);
                }
            }
            _ => {}
        }
    }

    fn read(&self, loan: Loan, offset: usize, into: &mut [u8]) -> bool {
        let Some(&LoadLoan::Out { serial, base }) = self.loans.get(loan) else {
            return false;
        };
        let bytes = self.cache.bytes(serial).and_then(|bytes| bytes.get(base + offset..));
        let from = bytes.and_then(|bytes| bytes.get(..into.len()));
        from.map(|bytes| into.copy_from_slice(bytes)).is_some()
    }

    fn released(&mut self, loan: Loan) {
        if let Some(LoadLoan::Out { serial, .. }) = self.loans.end(loan) {
            self.cache.end_send(serial);
        }
    }

    fn deliver(
        &mut self,
        core: &mut VectorCore,
        from: Rank,
        header: &[u8],
        payload: Received,
        cx: &mut Cx<'_>,
    ) -> Delivered {
        match LoadMessage::decode(header, core).ok_or(Malformed)? {
            LoadMessage::Enter { epoch, opening, announced } => {
                self.note_announcement(core, from, (epoch, &opening), (announced, false), cx);
                self.arrived(core, from, (epoch, &opening), payload, cx);
            }
            LoadMessage::Made { epoch } => {
                let marks = postcard::from_bytes::<Vec<(u32, u64)>>(payload.bytes()).map_err(|_| Malformed)?;
                if cx.is_sound() && !self.list_arrived(core, from, epoch, &marks) {
                    return Err(Malformed);
                }
            }
            LoadMessage::Correct { epoch, version, writes } => {
                let correction = (version, payload.into_vec());
                if cx.is_sound() && !self.corrected(core, from, epoch, correction, writes) {
                    return Err(Malformed);
                }
            }
            LoadMessage::Installed { epoch } => self.installed(core, from, epoch, payload.bytes(), cx),
            LoadMessage::Forward { epoch, owner, version } => {
                self.forwarded(core, from, (epoch, owner), version, payload, cx);
            }
        }
        core.retry();
        Ok(None)
    }

    fn catch_up(&mut self, core: &mut VectorCore, cx: &mut Cx<'_>) {
        for (from, (epoch, opening), announced) in std::mem::take(&mut self.pending) {
            self.note_announcement(core, from, (epoch, &opening), announced, cx);
        }
    }

    fn entered(&mut self, core: &mut VectorCore, epoch: Epoch, opening: &Opening, cx: &mut Cx<'_>) {
        self.begin(core, epoch, opening, cx);
    }

    fn settled(&mut self, core: &mut VectorCore, epoch: Epoch, cx: &mut Cx<'_>) {
        if self.arrivals.marked(epoch, cx.me()) > core.writes().applied {
            // Other ranks have seen more writes than this rank has applied: that is impossible.
            return cx.fail(cx.nonsense());
        }
        self.settle(core, epoch, cx);
    }

    fn advance(&mut self, core: &mut VectorCore, cx: &mut Cx<'_>) {
        self.catch_up(core, cx);
        self.advance_stream(core, cx);
    }

    fn is_idle(&self) -> bool {
        !self.cache.is_in_flight()
    }

    fn awaits(&self, core: &VectorCore, epoch: Epoch) -> Vec<Rank> {
        match self.node_barrier(core) {
            Some((sharing, turn)) => sharing.absent(turn),
            None => self.load_awaits(core, epoch),
        }
    }

    fn doing(&self, _: &VectorCore, _: Epoch, name: &ObjectName) -> String {
        format!("opens a ReadCache of {name}")
    }

    /// A load in the background.
    fn holds(&self, core: &VectorCore, held: &mut Holds<'_>) {
        if let Some(stream) = &self.stream {
            let (epoch, me) = (stream.epoch, core.me());
            let behind = self.load_awaits(core, epoch).into_iter().filter(|rank| *rank != me).collect();
            // No rank enters a later load before this load is complete.
            let class = Self::NUMBER.into();
            held.work(ScopeWait::own(class, epoch)..=ScopeWait::last_own(class), Obstacle { by_itself: false, behind });
        }
    }

    fn release_memory(&mut self, core: &mut VectorCore) {
        self.kept = Kept::default();
        self.cache.release();
        let epoch = core.ledger().epoch;
        if let Some(home) = core.block_mut().home_mut() {
            home.cache.release(epoch);
        }
    }
}
