//! One shared object as its rank's service knows it: the block, who has it open, and what waits for it.

use super::batch::Batch;
use super::cache::{Cache, Fresh};
use super::home::{Home, Place};
use super::nodes::Nodes;
use super::places::Places;
use super::scope::Ledger;
use super::stream::Stream;
use crate::distribution::Distribution;
use crate::element::{Access, ApplyFn, Element, OpId};
use crate::error::ObjectName;
use crate::memory::{Cells, Direct, Door, Front, OWN, READ, Storage, Turn, WRITE};
use crate::message::{CallId, Collective, Epoch, Opening, Request};
use crate::{Error, Site};
use aurora_net::{Rank, Received};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// The part of a vector that this rank owns.
///
/// Ranks that share its memory may touch single elements of it themselves, by its [`Door`], except while it is lent, being sent,
/// or used by one of the methods here.
pub(crate) struct Block {
    /// `None` while it is lent to its owner for writing.
    storage: Option<Arc<dyn Storage>>,
    /// Bytes of an element.
    pub(crate) element: usize,
    /// Counts changes, from 1.
    pub(crate) version: u64,
    /// Transfers that read it at this moment.
    in_flight: usize,
    /// Its place in memory that the ranks of its node share, where there is such.
    home: Option<Home>,
    /// What the calling thread may do without us.
    front: Arc<Front>,
    /// It is on its way to other nodes: nobody else may change it.
    frozen: bool,
    /// Nobody else may touch it any more: its object is faulty, or the job over.
    closed: bool,
}

impl Block {
    pub(crate) fn new(storage: Arc<dyn Storage>, element: usize, home: Option<Home>) -> Self {
        Block {
            storage: Some(storage),
            element,
            version: 1,
            in_flight: 0,
            home,
            front: Arc::default(),
            frozen: false,
            closed: false,
        }
    }

    /// The bytes, unless they are lent for writing. Others may change single elements of them: to be compared, not to be
    /// read, but while [it is being sent](Block::lend_to_transfer).
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        self.storage.as_deref().map(Storage::bytes)
    }

    /// Shows the bytes, unless they are lent for writing.
    pub(crate) fn read<R>(&mut self, show: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.storage.as_ref()?;
        let held = Held::new(self, Door::ReadOnly);
        held.block.bytes().map(show)
    }

    /// The bytes for a write, unless somebody holds them or a transfer reads them. Counts as a change. For its owner's own thread, which
    /// alone reads elements meanwhile.
    pub(crate) fn write<R>(&mut self, fill: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
        self.change(|storage| fill(storage.bytes_mut()))
    }

    /// The same for any thread: element by element.
    pub(crate) fn write_cells<R>(&mut self, fill: impl FnOnce(Cells<'_>) -> R) -> Option<R> {
        self.change(|storage| fill(storage.cells()))
    }

    fn change<R>(&mut self, change: impl FnOnce(&mut dyn Storage) -> R) -> Option<R> {
        if !self.is_free() {
            return None;
        }
        let held = Held::new(self, Door::Busy);
        held.block.yield_to_readers();
        held.block.version += 1;
        Some(change(Arc::get_mut(held.block.storage.as_mut()?)?))
    }

    /// Whether nobody holds it, and no transfer reads it.
    fn is_free(&mut self) -> bool {
        self.in_flight == 0 && self.storage.as_mut().is_some_and(|storage| Arc::get_mut(storage).is_some())
    }

    /// Number of elements.
    pub(crate) fn len(&self) -> Option<usize> {
        self.bytes().map(|bytes| bytes.len() / self.element)
    }

    /// Lends it for reading.
    pub(crate) fn share(&mut self) -> Option<Arc<dyn Storage>> {
        self.storage.as_ref()?;
        self.set_door(Door::ReadOnly);
        self.storage.clone()
    }

    /// Lends it for writing.
    pub(crate) fn take(&mut self) -> Option<Arc<dyn Storage>> {
        self.storage.as_ref()?;
        self.set_door(Door::Shut);
        self.yield_to_readers();
        self.storage.take()
    }

    /// Leaves its place to those who show it.
    fn yield_to_readers(&mut self) {
        if let (Some(home), Some(storage)) = (&mut self.home, &mut self.storage) {
            home.yield_to_readers(storage);
            if !home.holds(&**storage) {
                // It is not to be read where it was.
                self.front.close();
            }
        }
    }

    /// A transfer reads it from now on.
    pub(crate) fn lend_to_transfer(&mut self) {
        self.in_flight += 1;
        self.set_door(Door::ReadOnly);
    }

    /// It does not any more.
    pub(crate) fn back_from_transfer(&mut self) {
        self.in_flight -= 1;
    }

    /// Whether some transfer reads it.
    pub(crate) fn is_in_flight(&self) -> bool {
        self.in_flight > 0
    }

    /// A copy, from which all transfers go on.
    pub(crate) fn take_from_transfers(&mut self) -> Option<Arc<dyn Storage>> {
        let copy = self.storage.as_ref()?.duplicate();
        self.in_flight = 0;
        Some(copy)
    }

    /// Moves it to memory that all ranks share.
    pub(crate) fn settle_down<T: Element>(&mut self, mut place: Place<T>) {
        let block = self.bytes().expect("nobody has seen it yet");
        place.own.bytes_mut().copy_from_slice(block);
        let (own, home) = place.occupied();
        self.storage = Some(Arc::new(own));
        self.home = Some(home);
    }

    /// Its place in shared memory.
    pub(crate) fn home(&mut self) -> Option<&mut Home> {
        self.home.as_mut()
    }

    /// The same, to look at.
    pub(crate) fn find_home(&self) -> Option<&Home> {
        self.home.as_ref()
    }

    /// Whether it lies there.
    pub(crate) fn is_at_home(&self) -> bool {
        self.home.as_ref().zip(self.storage.as_deref()).is_some_and(|(home, storage)| home.holds(storage))
    }

    /// Brings it there for a load, if it can. Whether it is there now.
    pub(crate) fn go_home(&mut self) -> bool {
        // What is lent or being sent stays where it is.
        let free = self.is_free();
        let (Some(home), Some(storage)) = (&mut self.home, &mut self.storage) else {
            return false;
        };
        if home.take_written() {
            self.version += 1;
        }
        if free { home.take_in(storage) } else { home.holds(&**storage) }
    }

    /// Whether a guard holds it.
    pub(crate) fn is_lent(&self) -> bool {
        self.storage.as_ref().is_none_or(|storage| Arc::strong_count(storage) > 1)
    }

    /// Takes it back.
    pub(crate) fn give_back(&mut self, storage: Arc<dyn Storage>) {
        self.version += 1;
        self.storage = Some(storage);
    }

    /// Nobody else may change it until a load is settled: it is about to be sent to other nodes.
    pub(crate) fn freeze(&mut self) {
        self.frozen = true;
        self.set_door(Door::ReadOnly);
    }

    /// That load is settled.
    pub(crate) fn thaw(&mut self) {
        self.frozen = false;
    }

    /// Nobody else may touch it from now on.
    pub(crate) fn close(&mut self) {
        self.closed = true;
        self.set_door(Door::Shut);
    }

    /// Lets others touch it as far as they may, and know what is settled.
    fn reopen(&mut self, settled: Epoch) {
        let door = self.resting_door();
        if let Some(home) = &mut self.home {
            home.set_door(door, settled);
        }
    }

    fn resting_door(&self) -> Door {
        if self.closed || !self.is_at_home() {
            Door::Shut
        } else if self.frozen || self.in_flight > 0 || self.is_lent() {
            Door::ReadOnly
        } else {
            Door::Open
        }
    }

    fn set_door(&mut self, door: Door) {
        if let Some(home) = &mut self.home {
            let (before, settled) = home.door();
            home.set_door(door.max(before), settled);
        }
    }
}

/// A block that one of its methods uses; the door is set back afterwards, also by a panic.
struct Held<'b> {
    block: &'b mut Block,
    before: Option<(Door, Epoch)>,
}

impl<'b> Held<'b> {
    fn new(block: &'b mut Block, door: Door) -> Self {
        let before = block.home.as_ref().map(Home::door);
        block.set_door(door);
        Held { block, before }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some((before, settled)) = self.before {
            let door = before.max(self.block.resting_door());
            if let Some(home) = &mut self.block.home {
                home.set_door(door, settled);
            }
        }
    }
}

/// A guard that is open on this rank.
#[derive(Clone, Debug)]
pub(crate) struct OpenGuard {
    pub(crate) id: u64,
    pub(crate) behaviour: &'static str,
    pub(crate) site: Site,
    /// It borrows the object mutably.
    pub(crate) mutable: bool,
    /// Its end is awaited by all ranks.
    pub(crate) awaited: bool,
}

/// Something that cannot be done yet.
pub(crate) struct Parked {
    pub(crate) from: Rank,
    pub(crate) work: Work,
    pub(crate) payload: Received,
}

/// Who has to do something before a piece of parked work can be done. If nobody, then a transfer is under way.
pub(crate) struct Obstacle {
    /// The rank where it is parked: it has to enter or end a scope.
    pub(crate) by_itself: bool,
    /// Other ranks, who have to end theirs.
    pub(crate) behind: Vec<Rank>,
}

/// What it is.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    Call {
        id: CallId,
        epoch: Epoch,
        request: Request,
    },
    Batch {
        epoch: Epoch,
        seq: u64,
        op: Option<OpId>,
        /// Its sender waits for room and has to hear that it is applied.
        acknowledge: bool,
    },
}

/// What became of a piece of work.
pub(crate) enum Outcome {
    /// Answer with these bytes.
    Reply(Vec<u8>),
    /// Answer with so many bytes of scattered elements, whose places have so many bytes each, by [`Object::gather`].
    Gather { width: usize, len: usize },
    /// Answer with these bytes of the block, from memory.
    ReplyFromBlock(Range<usize>),
    /// A batch is applied.
    Applied,
    /// Answer that it cannot be done.
    Refuse(Error),
    /// Not yet.
    Park,
}

/// A vector, or a scalar (which has a value at home and no block worth the name).
pub(crate) struct Object {
    pub(crate) name: ObjectName,
    pub(crate) dist: Distribution,
    pub(crate) block: Block,
    /// Makes memory for a replica of the whole.
    pub(crate) fresh: Arc<dyn Fn() -> Fresh + Send + Sync>,
    pub(crate) scalar: Option<Vec<u8>>,
    pub(crate) scalar_ops: BTreeMap<OpId, ScalarFn>,
    pub(crate) ops: BTreeMap<OpId, ApplyFn>,
    pub(crate) access: Access,
    pub(crate) ledger: Ledger,
    pub(crate) cache: Cache,
    /// The load that comes while its guard shows what is here, or has been dropped already.
    pub(crate) stream: Option<Stream>,
    /// Writes that we have made to each owner's block since our last announcement.
    pub(crate) made: Vec<u64>,
    /// Writes of other ranks applied here since the last ReadCache was settled.
    pub(crate) applied: u64,
    /// Local ranges that they touched since we pushed our block, while a ReadCache is being entered.
    pub(crate) touched: Option<Vec<Range<usize>>>,
    /// Who shares its memory with whom.
    pub(crate) nodes: Arc<Nodes>,
    /// Version of our block that our mates have in copies of their own.
    pub(crate) pushed: u64,
    /// Version of it that the other nodes have.
    pub(crate) sent_abroad: u64,
    /// ReadCaches for which this rank has met those it shares memory with.
    pub(crate) loads: u64,
    /// The one for which it does at this moment.
    pub(crate) meeting: Option<Turn>,
    /// Batches that each owner has not yet applied.
    pub(crate) outstanding: Vec<usize>,
    pub(crate) open: Vec<OpenGuard>,
    pub(crate) parked: VecDeque<Parked>,
    pub(crate) fault: Option<Error>,
    pub(crate) dropped: Vec<bool>,
    /// How far the scopes of those who have dropped it got.
    pub(crate) ends: Vec<Option<ScopesEntered>>,
}

/// How many collective scopes a rank has entered, and the last.
pub(crate) type ScopesEntered = (Epoch, Option<Opening>);

/// Applies an operand to a scalar's encoded value.
pub(crate) type ScalarFn = fn(current: &[u8], operand: &[u8]) -> Option<Vec<u8>>;

/// Replies up to this length are copied; longer ones are sent from the block itself, which then cannot be written until
/// they are acknowledged.
const COPIED_REPLY: usize = 16 * 1024;

impl Object {
    /// Does a piece of work on our block, if its time has come.
    pub(crate) fn attempt(&mut self, from: Rank, work: &Work, payload: &[u8]) -> Outcome {
        if let Some(fault) = &self.fault {
            return Outcome::Refuse(fault.clone());
        }
        match work {
            Work::Call { epoch, .. } if self.ledger.settled < *epoch => Outcome::Park,
            Work::Call { request, .. } => self.serve(request, payload),
            Work::Batch { epoch, seq, op, .. } => self.apply_batch(from, *epoch, *seq, *op, payload),
        }
    }

    fn serve(&mut self, request: &Request, payload: &[u8]) -> Outcome {
        let element = self.block.element;
        match request {
            Request::Read { start, len, .. } => {
                let Some(bytes) = self.block.len().map(|len| len * element) else {
                    return Outcome::Park;
                };
                let range = start.checked_add(*len).and_then(|end| {
                    let range = usize::try_from(*start).ok()?.checked_mul(element)?
                        ..usize::try_from(end).ok()?.checked_mul(element)?;
                    (range.end <= bytes).then_some(range)
                });
                match range {
                    None => Outcome::Refuse(self.nonsense()),
                    Some(range) if range.len() > COPIED_REPLY => Outcome::ReplyFromBlock(range),
                    Some(range) => self.block.read(|bytes| bytes[range].to_vec()).map_or(Outcome::Park, Outcome::Reply),
                }
            }
            Request::ReadMany { width } => {
                let Some(len) = self.block.len() else {
                    return Outcome::Park;
                };
                match Places::parse((*width).into(), payload) {
                    Some(places) if places.are_below(len) => {
                        Outcome::Gather { width: (*width).into(), len: places.len() * element }
                    }
                    _ => Outcome::Refuse(self.nonsense()),
                }
            }
            Request::Write { op } => self.write_for_another(|object| object.write(*op, payload)),
            Request::WriteAt { start } => self.write_for_another(|object| object.write_at(*start, payload)),
            Request::Scalar(request) => super::scalar::serve(self, *request, payload),
        }
    }

    /// The elements that a [`Request::ReadMany`] asks for, which was found to fit.
    pub(crate) fn gather(&mut self, width: usize, places: &[u8], into: &mut [u8]) {
        let gather = self.access.gather;
        if let Some(places) = Places::parse(width, places) {
            self.block.read(|block| gather(block, places, into));
        }
    }

    fn write_for_another(&mut self, write: impl FnOnce(&mut Self) -> Result<bool, Error>) -> Outcome {
        match write(self) {
            Ok(true) => {
                self.applied += 1;
                Outcome::Reply(Vec::new())
            }
            Ok(false) => Outcome::Park,
            Err(error) => Outcome::Refuse(error),
        }
    }

    /// Applies a batch. False: not yet.
    pub(crate) fn write(&mut self, op: Option<OpId>, payload: &[u8]) -> Result<bool, Error> {
        let Some(len) = self.block.len() else {
            return Ok(false);
        };
        let Some(batch) = Batch::parse(payload, self.block.element, len) else {
            return Err(self.nonsense());
        };
        let apply = match op {
            None => self.access.put,
            Some(op) => *self.ops.get(&op).ok_or_else(|| self.unknown_op())?,
        };
        if self.block.write_cells(|cells| apply(cells, &batch)).is_none() {
            return Ok(false);
        }
        if let Some(touched) = &mut self.touched {
            touch(touched, batch.runs(self.block.element).into_iter().map(|(run, _)| run));
        }
        Ok(true)
    }

    fn write_at(&mut self, start: u64, values: &[u8]) -> Result<bool, Error> {
        let Some(len) = self.block.len() else {
            return Ok(false);
        };
        let element = self.block.element;
        let end = (start as usize).checked_add(values.len() / element);
        match end.filter(|end| *end <= len && values.len().is_multiple_of(element)) {
            Some(end) => self.write_run(start as usize..end, values),
            None => Err(self.nonsense()),
        }
    }

    fn write_run(&mut self, run: Range<usize>, values: &[u8]) -> Result<bool, Error> {
        let store = self.access.store;
        if self.block.write_cells(|cells| store(cells, run.start, values)).is_none() {
            return Ok(false);
        }
        if let Some(touched) = &mut self.touched {
            touch(touched, std::iter::once(run));
        }
        Ok(true)
    }

    fn apply_batch(&mut self, from: Rank, epoch: Epoch, seq: u64, op: Option<OpId>, payload: &[u8]) -> Outcome {
        let here = self.ledger.epoch >= epoch && self.ledger.settled + 1 == epoch;
        if !here || self.ledger.record(epoch).from[from.index()].applied != seq {
            return Outcome::Park;
        }
        match self.write(op, payload) {
            Ok(true) => {
                self.ledger.record(epoch).from[from.index()].applied += 1;
                Outcome::Applied
            }
            Ok(false) => Outcome::Park,
            Err(error) => Outcome::Refuse(error),
        }
    }

    /// The fault of a request that does not fit: another build of the program, or a bug of ours.
    fn nonsense(&self) -> Error {
        Error::Start(format!("a request does not fit {}: do all ranks run the same build of the program?", self.name))
    }

    fn unknown_op(&self) -> Error {
        Error::UnknownOp { op: "of that name".into(), object: self.name.clone(), site: self.name.made_at.clone() }
    }

    /// Says anew what may be done to it without its service: by the calling thread, `usable` if nothing has ended the job,
    /// and by others.
    pub(crate) fn refresh(&mut self, usable: bool) {
        let Ledger { epoch, settled, .. } = self.ledger;
        let usable = usable && self.fault.is_none();
        if !usable {
            self.block.close();
        }
        self.block.reopen(settled);
        let readable = usable && settled >= epoch && !self.open.iter().any(|guard| guard.mutable);
        let may = [
            (READ, readable),
            (OWN, readable && (self.block.home.is_none() || self.block.is_at_home())),
            (WRITE, readable && self.open.is_empty()),
        ];
        let may = may.into_iter().filter(|(_, may)| *may).map(|(flag, _)| flag).sum();
        let load = self.block.home.as_ref().map_or(0, Home::load);
        self.block.front.set(epoch, load, may);
    }

    /// Single elements of it.
    pub(crate) fn direct<T: Element>(&self) -> Direct<T> {
        let me = self.ledger.me();
        let (front, range) = (self.block.front.clone(), self.dist.range(me));
        match &self.block.home {
            Some(home) => {
                let seat = |rank| match self.nodes.are_mates(rank, me) {
                    true => self.nodes.position(rank) as u32,
                    false => u32::MAX,
                };
                let seats = (0..self.nodes.size()).map(|rank| seat(Rank::new(rank))).collect();
                home.direct(front, range, self.dist.len(), seats)
            }
            None => Direct::to(front, self.block.storage.clone().expect("nobody has borrowed it yet"), range),
        }
    }

    /// The error of a guard that should be closed.
    pub(crate) fn leak(&self, me: Rank, guard: &OpenGuard) -> Error {
        Error::Leaked {
            rank: me,
            behaviour: guard.behaviour.into(),
            object: self.name.clone(),
            opened: guard.site.clone(),
        }
    }

    /// Why a piece of parked work waits, for the watch.
    pub(crate) fn obstacle(&self, work: &Work) -> Obstacle {
        let (epoch, batch) = match work {
            Work::Call { epoch, .. } => (*epoch, false),
            Work::Batch { epoch, .. } => (*epoch, true),
        };
        let ledger = &self.ledger;
        let next = ledger.settled + 1;
        // A batch belongs into the scope that its settling ends, a call behind it.
        if next < epoch || !batch && next == epoch {
            let mine = ledger.find(next);
            let entered = mine.and_then(|record| record.mine.as_ref());
            let behind = match entered.map(|opening| opening.behaviour) {
                Some(Collective::ReadCache | Collective::Combined | Collective::ReleaseC) => {
                    ledger.awaited(next).collect()
                }
                // Not known yet, or over everywhere but here.
                None | Some(Collective::Fill) => Vec::new(),
            };
            return Obstacle { by_itself: mine.is_none_or(|record| !record.mine_complete), behind };
        }
        Obstacle { by_itself: batch && ledger.epoch < epoch || self.block.is_lent(), behind: Vec::new() }
    }

    /// Notes the opening of another rank; a disagreement is the object's fault.
    pub(crate) fn note_opening(&mut self, from: Rank, epoch: Epoch, opening: &Opening) -> Result<(), Error> {
        self.ledger.opened(from, epoch, opening).map_err(|(other, theirs)| {
            crate::collective::mismatch(opening.claim(from, &self.name), theirs.claim(other, &self.name))
        })
    }
}

/// Adds ranges to a list that stays short: beyond its limit it becomes one range that covers all.
fn touch(touched: &mut Vec<Range<usize>>, runs: impl Iterator<Item = Range<usize>>) {
    const LONGEST: usize = 256;
    for run in runs {
        match touched.last_mut() {
            Some(last) if run.start >= last.start && run.start <= last.end => last.end = last.end.max(run.end),
            _ => touched.push(run),
        }
    }
    if touched.len() > LONGEST {
        let start = touched.iter().map(|run| run.start).min().unwrap_or(0);
        let end = touched.iter().map(|run| run.end).max().unwrap_or(0);
        touched.clear();
        touched.push(start..end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_touched_is_covered(runs in prop::collection::vec((0usize..1000, 1usize..20), 0..600)) {
            let runs: Vec<_> = runs.into_iter().map(|(start, len)| start..start + len).collect();
            let mut touched = Vec::new();
            for run in &runs {
                touch(&mut touched, std::iter::once(run.clone()));
            }
            prop_assert!(touched.len() <= 256);
            for i in runs.iter().flat_map(Clone::clone) {
                prop_assert!(touched.iter().any(|t| t.contains(&i)));
            }
        }
    }
}
