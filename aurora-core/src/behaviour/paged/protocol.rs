//! The state of the protocol of pages on one rank, as the home of its own block and as a holder of other homes' pages.
//!
//! A *sync* is numbered from 1 in each scope. In a sync a rank sends its changes to the homes, puts the number of
//! batches for each home into the barrier, and departs with the sums of all ranks. A home is *done* with a sync when
//! all these batches are applied and every holder has been sent the changes of the pages that it holds. Until then the
//! home serves no page to a rank that has left the sync, and applies no batch of the next sync.

use super::changed::{Changed, PART};
use super::map::PageGrid;
use super::message::PagesMessage;
use super::view::Changes;
use crate::Error;
use crate::behaviour::release::message::Written;
use crate::behaviour::release::protocol::LastBatch;
use crate::ids::{CallId, Epoch};
use crate::kernel::Reason;
use crate::kernel::asking::When;
use crate::object::{Cx, Malformed};
use crate::race::Opened;
use crate::scope::{self, Due, Entered, Opening, Outcome, Served, Then, Work};
use crate::vector::batch::{Batch, add_lines, batch_of_runs};
use crate::vector::check::Lines;
use crate::vector::machine::{Vector, VectorWork};
use crate::vector::message::{Asked, Message, Request};
use aurora_net::{Buffer, Payload, Rank, Received};
use std::ops::Range;
use std::time::Instant;

/// Bytes of a page's number in a request.
const NUMBER: usize = size_of::<u32>();

/// Bytes of a sum in a word.
const SUM: usize = size_of::<u32>();

/// The state of a scope of pages.
pub(crate) struct Paging {
    epoch: Epoch,
    reason: Reason,
    opened: Opened,
    /// The pages of the block.
    pages: PageGrid,
    /// By homes: batches sent since the last sync.
    sent: Vec<u32>,
    /// Number of syncs at which this rank has arrived, from which it has departed, with which its block is done.
    begun: u64,
    departed: u64,
    done: u64,
    /// Batches of the next sync that are applied, and batches that ranks have announced for it.
    applied: u64,
    announced: u64,
    /// Elements of the block that were changed since the last sync.
    changed: Changed,
    /// By ranks: the pages of this block that the rank holds; empty if it holds none.
    holders: Vec<Vec<bool>>,
    /// The push to be sent next.
    pushing: Pushing,
    /// The time at which to send the next push.
    next_step: Option<Instant>,
    /// By ranks: the rank has been asked for pages of its block.
    held: Vec<bool>,
    /// By ranks: the push of the rank for the sync under way.
    pushes: Vec<Pushed>,
}

/// The progress of a home in pushing its changes.
#[derive(Default)]
struct Pushing {
    /// The rank that gets the next part.
    holder: usize,
    /// The place in the list up to which the holder has got changes, and the number of parts that were sent to it.
    upto: usize,
    parts: u32,
}

/// The push of one rank for a sync, as far as it has arrived.
#[derive(Default)]
struct Pushed {
    /// The rank's block has changed, and this rank holds some of it.
    is_awaited: bool,
    /// The number of all parts, once the last one is here.
    parts: u32,
    here: Vec<Received>,
}

impl Pushed {
    fn is_whole(&self) -> bool {
        self.parts > 0 && self.here.len() == self.parts as usize
    }
}

impl Paging {
    fn new(epoch: Epoch, (reason, opened): (Reason, Opened), pages: PageGrid, ranks: usize) -> Self {
        Paging {
            epoch,
            reason,
            opened,
            pages,
            sent: vec![0; ranks],
            begun: 0,
            departed: 0,
            done: 0,
            applied: 0,
            announced: 0,
            changed: Changed::Runs(Vec::new()),
            holders: vec![Vec::new(); ranks],
            pushing: Pushing::default(),
            next_step: None,
            held: vec![false; ranks],
            pushes: (0..ranks).map(|_| Pushed::default()).collect(),
        }
    }

    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The scope as this rank has opened it, for races.
    pub(crate) fn opened(&self) -> Opened {
        self.opened.clone()
    }

    /// The time at which [`Vector::advance_pages`] is to send more parts of pushes.
    pub(crate) fn next_step(&self) -> Option<Instant> {
        self.next_step
    }

    /// True if a batch for this sync may arrive now: a rank may be one sync ahead of this home, not more.
    pub(super) fn awaits_flush(&self, sync: u64) -> bool {
        (self.done + 1..=self.done + 2).contains(&sync)
    }

    /// Keeps a part of a push that has arrived until this rank takes it. This rank may not have departed yet.
    pub(super) fn pushed(&mut self, from: Rank, sync: u64, parts: u32, mut payload: Received) -> Result<(), Malformed> {
        let pushed = &mut self.pushes[from.index()];
        let is_expected = !pushed.is_whole() && (pushed.parts == 0 || parts == 0);
        if sync != self.begun || sync == 0 || !is_expected {
            return Err(Malformed);
        }
        payload.detach();
        pushed.parts = pushed.parts.max(parts);
        pushed.here.push(payload);
        Ok(())
    }

    /// The homes whose pushes are missing.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = Rank> + '_ {
        let missing = self.pushes.iter().enumerate().filter(|(_, pushed)| pushed.is_awaited && !pushed.is_whole());
        missing.map(|(rank, _)| Rank::new(rank))
    }

    /// True if this rank's block is done with its last sync, and all awaited pushes are here.
    fn is_synced(&self) -> bool {
        self.done == self.begun && self.awaited().next().is_none()
    }

    fn hold(&mut self, holder: Rank, pages: impl Iterator<Item = usize>, block: usize) {
        let held = &mut self.holders[holder.index()];
        held.resize(self.pages.count(block), false);
        pages.for_each(|page| held[page] = true);
    }
}

/// The numbers of pages in a request, if they ascend and the block has so many pages.
fn pages_of(payload: &[u8], pages: usize) -> Option<impl Iterator<Item = usize> + Clone> {
    let (numbers, []) = payload.as_chunks::<NUMBER>() else {
        return None;
    };
    let numbers = numbers.iter().map(|number| u32::from_le_bytes(*number) as usize);
    let ascend = numbers.clone().is_sorted_by(|page, next| page < next);
    numbers.clone().next_back().is_none_or(|last| ascend && last < pages).then_some(numbers)
}

/// Adds words of a barrier: for each home the number of batches that were sent to it. An empty word stands for zeros.
pub(crate) fn merge_sums(all: &mut Vec<u8>, more: &[u8]) {
    if all.is_empty() {
        return all.extend_from_slice(more);
    }
    for (sum, more) in all.as_chunks_mut::<SUM>().0.iter_mut().zip(more.as_chunks::<SUM>().0) {
        *sum = u32::from_le_bytes(*sum).wrapping_add(u32::from_le_bytes(*more)).to_le_bytes();
    }
}

impl Vector {
    /// Enters a scope of pages.
    pub(crate) fn enter_pages(&mut self, opening: Opening, reason: Reason, cx: &mut Cx<'_>) -> Result<Epoch, Error> {
        let opened = Opened::from(&opening);
        let epoch = self.enter(opening, cx)?;
        let pages = PageGrid::new(self.block.element, self.dist.shape().unit());
        self.pages = Some(Box::new(Paging::new(epoch, (reason, opened), pages, cx.size())));
        Ok(epoch)
    }

    /// The scope of pages under way.
    fn paging(&mut self) -> &mut Paging {
        self.pages.as_mut().expect("it lives as long as the scope")
    }

    /// Asks an owner for pages, by their numbers in the owner's block.
    pub(crate) fn ask_for_pages(
        &mut self,
        (owner, pages): (Rank, &[u32]),
        when: When,
        cx: &mut Cx<'_>,
    ) -> Result<CallId, Error> {
        cx.sound()?;
        let paging = self.paging();
        paging.held[owner.index()] = true;
        let (reason, after) = (paging.reason.clone(), paging.departed);
        let asked = Asked { epoch: paging.epoch - 1, request: Request::Pages { after }, stamp: None };
        let numbers: Vec<u8> = pages.iter().flat_map(|page| page.to_le_bytes()).collect();
        Ok(self.ask_stamped((owner, &reason, when), asked, numbers, None, cx))
    }

    /// Shows `copy` the pages of this rank's own block, which from now on count as held.
    pub(crate) fn show_own_pages(
        &mut self,
        pages: &[u32],
        mut copy: impl FnMut(u32, &[u8]),
        cx: &mut Cx<'_>,
    ) -> Result<(), Error> {
        cx.sound()?;
        let (me, block) = (cx.me(), self.block.len());
        let paging = self.paging();
        paging.hold(me, pages.iter().map(|page| *page as usize), block);
        let of_block = paging.pages;
        for number in pages {
            let range = self.block.bytes_of(&of_block.elements(*number as usize, block));
            self.block.read_range(&range, |bytes| copy(*number, bytes)).expect("nothing lends it in this scope");
        }
        Ok(())
    }

    /// Another rank asks for pages of this block.
    pub(crate) fn serve_pages(
        &mut self,
        from: Rank,
        (epoch, after): (Epoch, u64),
        payload: &[u8],
        cx: &Cx<'_>,
    ) -> Result<Outcome, Error> {
        let block = self.block.len();
        let paging = self.pages.as_mut().filter(|paging| paging.epoch == epoch + 1);
        let paging = paging.ok_or_else(|| cx.frame.nonsense())?;
        let pages = pages_of(payload, paging.pages.count(block)).ok_or_else(|| cx.frame.nonsense())?;
        if after != paging.done {
            // A rank may have left a sync with which this home is not done.
            return if after == paging.done + 1 { Ok(Outcome::Park) } else { Err(cx.frame.nonsense()) };
        }
        if !self.block.is_all_here() {
            return Ok(Outcome::Park);
        }
        paging.hold(from, pages.clone(), block);
        let ranges: Vec<_> = pages.map(|page| self.block.bytes_of(&paging.pages.elements(page, block))).collect();
        let mut answer = cx.buffer(from, ranges.iter().map(Range::len).sum());
        let mut into = &mut *answer;
        self.block.read(|bytes| {
            for range in ranges {
                let (own, rest) = std::mem::take(&mut into).split_at_mut(range.len());
                own.copy_from_slice(&bytes[range]);
                into = rest;
            }
        });
        Ok(Outcome::Done(Ok(answer.into())))
    }

    /// Begins the sync that `opening` names.
    pub(crate) fn begin_sync(&mut self, opening: Opening, cx: &mut Cx<'_>) -> Result<(), Error> {
        cx.sound()?;
        let epoch = self.paging().epoch;
        let agreed = self.scopes.ledger.come_further(epoch, opening, &cx.frame.name);
        agreed.inspect_err(|error| cx.fail(error.clone()))
    }

    /// Sends changed elements to their home, before a sync.
    pub(crate) fn flush_pages(&mut self, changes: Changes, cx: &mut Cx<'_>) -> Result<(), Error> {
        cx.sound()?;
        let (home, batch) = self.with_lines(changes, cx);
        let paging = self.paging();
        paging.sent[home.index()] += 1;
        let (epoch, sync, reason) = (paging.epoch, paging.begun + 1, paging.reason.clone());
        if home == cx.me() {
            let work = Work { from: home, due: Due::Now, then: Then::Nothing, what: VectorWork::Flush { sync } };
            scope::work(self, work, Received::Bytes(batch), cx);
        } else {
            Message::Pages(PagesMessage::Flush { epoch, sync }).send(&reason, home, batch.into(), cx);
        }
        Ok(())
    }

    /// The home and the batch of some changes; in checking mode with the lines at which they were written.
    fn with_lines(&self, changes: Changes, cx: &Cx<'_>) -> (Rank, Vec<u8>) {
        let Changes { home, mut batch, lines } = changes;
        if self.check.is_some() {
            let (at, time, mut noted) = (cx.core.order.now(), cx.core.order.time(), Lines::default());
            lines.into_iter().for_each(|(values, line)| noted.note(values, &line, at, &time));
            add_lines(&mut batch, &noted.encode());
        }
        (home, batch)
    }

    /// Applies a batch of changed elements to this block.
    pub(crate) fn apply_flush(
        &mut self,
        from: Rank,
        sync: u64,
        payload: &[u8],
        cx: &mut Cx<'_>,
    ) -> Result<Outcome, Error> {
        if self.pages.as_ref().is_none_or(|paging| paging.done + 1 != sync) || !self.write(None, payload, cx)? {
            return Ok(Outcome::Park);
        }
        let (element, len) = (self.block.element, self.block.len());
        let batch = Batch::parse(payload, element, len).expect("it was applied");
        let paging = self.paging();
        paging.applied += 1;
        let of_block = paging.pages;
        batch.runs(element).into_iter().for_each(|(run, _)| paging.changed.add(from, run, of_block, len));
        let epoch = paging.epoch;
        self.scopes.has_changed = true;
        self.note_batch((from, epoch), None, None, payload, cx).map(|()| Outcome::applied(Ok(())))
    }

    /// This rank arrives at a sync. Returns the number of batches that it has sent to each home; empty if none.
    pub(crate) fn arrive_with_pages(&mut self) -> Vec<u8> {
        let Some(paging) = &mut self.pages else {
            return Vec::new();
        };
        paging.begun += 1;
        paging.pushes.fill_with(Pushed::default);
        if paging.sent.iter().all(|sent| *sent == 0) {
            return Vec::new();
        }
        paging.sent.iter_mut().flat_map(|sent| std::mem::take(sent).to_le_bytes()).collect()
    }

    /// All ranks have arrived. `all` has the sums of their words.
    pub(crate) fn depart_with_pages(&mut self, all: &[u8], cx: &mut Cx<'_>) {
        let Some(paging) = &mut self.pages else {
            return;
        };
        let (sums, rest) = all.as_chunks::<SUM>();
        if !(all.is_empty() || rest.is_empty() && sums.len() == paging.sent.len()) {
            return cx.fail(cx.frame.nonsense());
        }
        paging.departed = paging.begun;
        let me = cx.me().index();
        for (rank, sum) in sums.iter().enumerate() {
            let sum = u32::from_le_bytes(*sum);
            match rank == me {
                true => paging.announced = sum.into(),
                false => paging.pushes[rank].is_awaited = sum > 0 && paging.held[rank],
            }
        }
        self.advance_pages(cx);
    }

    /// If all changes of a sync are here, sends them to the ranks that hold their pages, a step at a time.
    pub(crate) fn advance_pages(&mut self, cx: &mut Cx<'_>) {
        let Some(paging) = self.pages.as_mut().filter(|paging| paging.departed > paging.done) else {
            return;
        };
        if !cx.is_sound() {
            paging.next_step = None;
            return;
        }
        if paging.applied < paging.announced {
            return;
        }
        // A sync that has changed nothing is done.
        let mut left = if paging.applied > 0 { PART } else { 0 };
        while left > 0 && self.paging().pushing.holder < cx.size() {
            left = left.saturating_sub(self.push_part(cx));
        }
        let paging = self.paging();
        let is_done = paging.applied == 0 || paging.pushing.holder == cx.size();
        paging.next_step = (!is_done).then(|| cx.now());
        if is_done {
            paging.done += 1;
            (paging.applied, paging.announced, paging.pushing) = (0, 0, Pushing::default());
            paging.changed.clear();
            let retries = self.scopes.parked().len() > 0;
            self.scopes.has_changed |= retries;
            cx.progress();
        }
    }

    /// Sends the next part of a push. Returns its bytes, or as many as could have been copied meanwhile.
    fn push_part(&mut self, cx: &mut Cx<'_>) -> usize {
        let (element, len) = (self.block.element, self.block.len());
        let paging = self.paging();
        while paging.pushing.holder < cx.size() && paging.holders[paging.pushing.holder].is_empty() {
            paging.pushing.holder += 1;
        }
        let Some(held) = paging.holders.get(paging.pushing.holder) else {
            return 0;
        };
        let holder = Rank::new(paging.pushing.holder);
        let (runs, next) = paging.changed.part((holder, held), paging.pushing.upto, paging.pages, (len, element));
        let (parts, sync) = (paging.pushing.parts + 1, paging.departed);
        paging.pushing = match next {
            // None of these changes is for this holder.
            Some(upto) if runs.is_empty() => {
                paging.pushing.upto = upto;
                return PART;
            }
            Some(upto) => Pushing { upto, parts, ..paging.pushing },
            None => Pushing { holder: holder.index() + 1, ..Pushing::default() },
        };
        let (epoch, reason) = (paging.epoch, paging.reason.clone());
        let batch = self.block.read(|block| {
            let values = |run: &Range<usize>| (run.clone(), &block[run.start * element..run.end * element]);
            batch_of_runs(len, element, runs.iter().map(values))
        });
        let batch = if runs.is_empty() { Vec::new() } else { batch.expect("nothing lends it in this scope") };
        let bytes = batch.len();
        if holder == cx.me() {
            self.paging().pushes[holder.index()].here.push(Received::Bytes(batch));
            return bytes;
        }
        let message = PagesMessage::Push { epoch, sync, parts: if next.is_none() { parts } else { 0 } };
        let payload = if batch.is_empty() { Payload::Empty } else { batch.into() };
        Message::Pages(message).send(&reason, holder, payload, cx);
        bytes
    }

    /// The pushes of all ranks for a sync, once they are complete.
    pub(crate) fn poll_pages(&mut self, cx: &mut Cx<'_>) -> Option<Result<Vec<(Rank, Received)>, Error>> {
        if let Err(fault) = cx.sound() {
            return Some(Err(fault));
        }
        let paging = self.paging();
        if !paging.is_synced() {
            return None;
        }
        let pushes = paging.pushes.iter_mut().enumerate();
        let taken = pushes.flat_map(|(rank, pushed)| {
            std::mem::take(pushed).here.into_iter().map(move |part| (Rank::new(rank), part))
        });
        Some(Ok(taken.collect()))
    }

    /// Sends changed elements to their home at the end of the scope. The last batch for each home is kept: it travels
    /// with the announcement of the end.
    pub(crate) fn flush_at_end(
        &mut self,
        (scope, last): (&mut Entered, &mut [Option<LastBatch>]),
        changes: Changes,
        cx: &mut Cx<'_>,
    ) -> Result<(), Error> {
        cx.sound()?;
        let (home, batch) = self.with_lines(changes, cx);
        if let Some(LastBatch { bytes, .. }) =
            last[home.index()].replace(LastBatch { op: None, bytes: Buffer::own(batch) })
        {
            match home == cx.me() {
                true => scope::apply_own(self, scope, (VectorWork::Batch(None), &bytes), cx),
                false => scope::send(self, scope, home, Written::Values, bytes.into(), cx),
            }
        }
        Ok(())
    }
}
