//! The protocol of pages: its messages, and their effects on a home and on a holder.
//!
//! A *sync* is numbered from 1 in each scope. In a sync a rank sends its changes to the homes, puts the number of
//! batches for each home into the barrier, and departs with the sums of all ranks. A home is *done* with a sync when
//! all these batches are applied and every holder has been sent the changes of the pages that it holds. Until then the
//! home serves no page to a rank that has left the sync, and applies no batch of the next sync.

use super::map::PageGrid;
use super::message::PagesMessage;
use super::state::{PageScope, Pushed};
use super::view::Changes;
use crate::behaviour::release::end::LastBatch;
use crate::ids::{CallId, Epoch};
use crate::kernel::Reason;
use crate::kernel::asking::When;
use crate::object::{Cx, Malformed, Until, Wait};
use crate::race::Opened;
use crate::scope::{self, Due, Entered, Opening, Outcome, Rule, ScopeWait, Then, Work};
use crate::vector::batch::{Batch, add_lines};
use crate::vector::check::{Lines, Noted};
use crate::vector::core::VectorCore;
use crate::vector::machine::{Vector, VectorWork};
use crate::vector::message::{Asked, Request, Written};
use crate::vector::protocol::{Delivered, Numbered, Piece, Protocol};
use crate::{Error, Kind, ObjectName};
use aurora_net::{Buffer, Rank, Received};
use std::ops::Range;
use std::time::Instant;

/// Bytes of a page's number in a request.
const NUMBER: usize = size_of::<u32>();

/// Bytes of a sum in a word.
const SUM: usize = size_of::<u32>();

/// The protocol, with the scope of pages that is not completed.
#[derive(Default)]
pub(crate) struct Paging(Option<Box<PageScope>>);

impl Numbered for Paging {
    const NUMBER: u8 = 3;

    fn wait(detail: u64) -> Wait {
        Wait { number: ScopeWait::own(Self::NUMBER.into(), detail), until: Until::Answered }
    }
}

impl Protocol for Paging {
    fn kind(&self) -> Kind {
        Kind::Page
    }

    fn deliver(
        &mut self,
        core: &mut VectorCore,
        from: Rank,
        header: &[u8],
        payload: Received,
        cx: &mut Cx<'_>,
    ) -> Delivered {
        let message: PagesMessage = postcard::from_bytes(header).map_err(|_| Malformed)?;
        let (PagesMessage::Flush { epoch, .. } | PagesMessage::Push { epoch, .. }) = message;
        let Some(scope) = self.0.as_mut().filter(|scope| scope.epoch == epoch) else {
            // Another rank may have sent the message before it received the report of a fault.
            return if cx.is_sound() { Err(Malformed) } else { Ok(None) };
        };
        match message {
            PagesMessage::Flush { sync, .. } => {
                if !scope.awaits_flush(sync) {
                    return Err(Malformed);
                }
                core.retry();
                Ok(Some((flush(from, sync), payload)))
            }
            PagesMessage::Push { sync, parts, .. } => {
                scope.pushed(from, sync, parts, payload)?;
                cx.progress();
                Ok(None)
            }
        }
    }

    fn admits(&self, _: &VectorCore, _: Rank, opening: &Opening) -> bool {
        opening.rule == Rule::EndedInSteps
    }

    /// A request for pages, changes before a sync, or changes at the end of the scope.
    fn work(
        &mut self,
        core: &mut VectorCore,
        Piece { from, due, number }: Piece<'_>,
        payload: &[u8],
        cx: &mut Cx<'_>,
    ) -> Result<Outcome, Error> {
        match due {
            Due::After(_, epoch) => self.serve(core, from, (epoch, *number), payload, cx),
            Due::Now => self.apply_flush(core, from, *number, payload, cx),
            Due::Within { epoch, .. } => {
                let scope = self.0.as_ref().filter(|scope| scope.epoch == epoch);
                let opened = scope.ok_or_else(|| cx.nonsense())?.opened.clone();
                core.apply((from, epoch), None, Noted::Steps(opened), payload, cx)
            }
        }
    }

    fn entered(&mut self, core: &mut VectorCore, epoch: Epoch, opening: &Opening, _: &mut Cx<'_>) {
        let pages = PageGrid::new(core.block().element, core.dist().shape().unit());
        let reason = Reason::new(super::NAME, Kind::Page, &opening.site);
        let scope = PageScope::new(epoch, (reason, Opened::from(opening)), pages, core.nodes().size());
        self.0 = Some(Box::new(scope));
    }

    /// Takes away a scope that is completed.
    fn settled(&mut self, _: &mut VectorCore, epoch: Epoch, _: &mut Cx<'_>) {
        self.0.take_if(|scope| scope.epoch == epoch);
    }

    /// If all changes of a sync are here, sends them to the ranks that hold their pages, a step at a time.
    fn advance(&mut self, core: &mut VectorCore, cx: &mut Cx<'_>) {
        if let Some(scope) = self.0.as_mut().filter(|scope| scope.departed > scope.done) {
            scope.advance(core, cx);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.0.as_ref().and_then(|scope| scope.next_step)
    }

    /// This rank arrives at a sync. Returns the number of batches that it has sent to each home; empty if none.
    fn arrive(&mut self) -> Vec<u8> {
        let Some(scope) = &mut self.0 else {
            return Vec::new();
        };
        scope.begun += 1;
        scope.pushes.fill_with(Pushed::default);
        if scope.sent.iter().all(|sent| *sent == 0) {
            return Vec::new();
        }
        scope.sent.iter_mut().flat_map(|sent| std::mem::take(sent).to_le_bytes()).collect()
    }

    /// Adds up the words of ranks. An empty word stands for zeros.
    fn merge(&self, all: &mut Vec<u8>, more: &[u8]) {
        merge_sums(all, more);
    }

    /// All ranks have arrived. `all` has the sums of their words.
    fn depart(&mut self, core: &mut VectorCore, all: &[u8], cx: &mut Cx<'_>) {
        let Some(scope) = &mut self.0 else {
            return;
        };
        let (sums, rest) = all.as_chunks::<SUM>();
        if !(all.is_empty() || rest.is_empty() && sums.len() == scope.sent.len()) {
            return cx.fail(cx.nonsense());
        }
        scope.departed = scope.begun;
        let me = cx.me().index();
        for (rank, sum) in sums.iter().enumerate() {
            let sum = u32::from_le_bytes(*sum);
            match rank == me {
                true => scope.announced = sum.into(),
                false => scope.pushes[rank].is_awaited = sum > 0 && scope.held[rank],
            }
        }
        core.retry();
    }

    fn awaits(&self, _: &VectorCore, _: u64) -> Vec<Rank> {
        self.0.iter().flat_map(|scope| scope.awaited()).collect()
    }

    fn doing(&self, _: &VectorCore, _: u64, name: &ObjectName) -> String {
        format!("waits in a sync for changes of {name}")
    }
}

/// The work of changes before a sync.
fn flush(from: Rank, sync: u64) -> Work<VectorWork> {
    let what = VectorWork::Of { protocol: Paging::NUMBER, number: sync };
    Work { from, due: Due::Now, then: Then::Nothing, what }
}

impl Paging {
    /// The scope of pages under way.
    fn scope(&mut self) -> &mut PageScope {
        self.0.as_mut().expect("it lives as long as the scope")
    }

    #[cfg(test)]
    pub(super) fn is_over(&self) -> bool {
        self.0.is_none()
    }

    /// Asks an owner for pages, by their numbers in the owner's block.
    pub(super) fn ask(
        &mut self,
        core: &VectorCore,
        (owner, pages): (Rank, &[u32]),
        when: When,
        cx: &mut Cx<'_>,
    ) -> Result<CallId, Error> {
        cx.sound()?;
        let scope = self.scope();
        scope.held[owner.index()] = true;
        let (reason, after) = (scope.reason.clone(), scope.departed);
        let asked = Asked {
            epoch: scope.epoch - 1,
            request: Request::Of { protocol: Self::NUMBER, number: after },
            stamp: None,
        };
        let numbers: Vec<u8> = pages.iter().flat_map(|page| page.to_le_bytes()).collect();
        Ok(core.ask_stamped((owner, &reason, when), asked, numbers, None, cx))
    }

    /// Shows `copy` the pages of this rank's own block, which from now on count as held.
    pub(super) fn show_own(
        &mut self,
        core: &mut VectorCore,
        pages: &[u32],
        mut copy: impl FnMut(u32, &[u8]),
        cx: &mut Cx<'_>,
    ) -> Result<(), Error> {
        cx.sound()?;
        let (me, block) = (cx.me(), core.block().len());
        let scope = self.scope();
        scope.hold(me, pages.iter().map(|page| *page as usize), block);
        let of_block = scope.pages;
        for number in pages {
            let range = core.block().bytes_of(&of_block.elements(*number as usize, block));
            core.block_mut().read_range(&range, |bytes| copy(*number, bytes)).expect("nothing lends it in this scope");
        }
        Ok(())
    }

    /// Another rank asks for pages of this block.
    fn serve(
        &mut self,
        core: &mut VectorCore,
        from: Rank,
        (epoch, after): (Epoch, u64),
        payload: &[u8],
        cx: &Cx<'_>,
    ) -> Result<Outcome, Error> {
        let block = core.block().len();
        let scope = self.0.as_mut().filter(|scope| scope.epoch == epoch + 1);
        let scope = scope.ok_or_else(|| cx.nonsense())?;
        let pages = pages_of(payload, scope.pages.count(block)).ok_or_else(|| cx.nonsense())?;
        if after != scope.done {
            // A rank may have left a sync with which this home is not done.
            return if after == scope.done + 1 { Ok(Outcome::Park) } else { Err(cx.nonsense()) };
        }
        if !core.block().is_all_here() {
            return Ok(Outcome::Park);
        }
        scope.hold(from, pages.clone(), block);
        let ranges: Vec<_> = pages.map(|page| core.block().bytes_of(&scope.pages.elements(page, block))).collect();
        let mut answer = cx.buffer(from, ranges.iter().map(Range::len).sum());
        let mut into = &mut *answer;
        core.block_mut().read(|bytes| {
            for range in ranges {
                let (own, rest) = std::mem::take(&mut into).split_at_mut(range.len());
                own.copy_from_slice(&bytes[range]);
                into = rest;
            }
        });
        Ok(Outcome::Done(Ok(answer.into())))
    }

    /// Begins the sync that `opening` names.
    pub(super) fn begin_sync(&mut self, core: &mut VectorCore, opening: Opening, cx: &mut Cx<'_>) -> Result<(), Error> {
        cx.sound()?;
        let epoch = self.scope().epoch;
        let agreed = core.ledger_mut().come_further(epoch, opening, cx.name());
        agreed.inspect_err(|error| cx.fail(error.clone()))
    }

    /// Sends changed elements to their home, before a sync. Returns the work if this rank is the home.
    pub(super) fn flush(
        &mut self,
        core: &VectorCore,
        changes: Changes,
        cx: &mut Cx<'_>,
    ) -> Result<Option<(Work<VectorWork>, Received)>, Error> {
        cx.sound()?;
        let (home, batch) = with_lines(core, changes, cx);
        let scope = self.scope();
        scope.sent[home.index()] += 1;
        let sync = scope.begun + 1;
        if home == cx.me() {
            return Ok(Some((flush(home, sync), Received::Bytes(batch))));
        }
        let message = PagesMessage::Flush { epoch: scope.epoch, sync };
        message.send(&scope.reason, home, batch.into(), cx);
        Ok(None)
    }

    /// Applies a batch of changed elements to this block.
    fn apply_flush(
        &mut self,
        core: &mut VectorCore,
        from: Rank,
        sync: u64,
        payload: &[u8],
        cx: &mut Cx<'_>,
    ) -> Result<Outcome, Error> {
        if self.0.as_ref().is_none_or(|scope| scope.done + 1 != sync) || !core.write(None, payload, cx)? {
            return Ok(Outcome::Park);
        }
        let (element, len) = (core.block().element, core.block().len());
        let batch = Batch::parse(payload, element, len).expect("it was applied");
        let scope = self.scope();
        scope.applied += 1;
        let of_block = scope.pages;
        batch.runs(element).into_iter().for_each(|(run, _)| scope.changed.add(from, run, of_block, len));
        let (epoch, opened) = (scope.epoch, scope.opened.clone());
        core.retry();
        core.note_batch((from, epoch), Noted::Steps(opened), None, payload, cx).map(|()| Outcome::applied(Ok(())))
    }

    /// The pushes of all ranks for a sync, once they are complete.
    pub(super) fn poll(&mut self, cx: &mut Cx<'_>) -> Option<Result<Vec<(Rank, Received)>, Error>> {
        if let Err(fault) = cx.sound() {
            return Some(Err(fault));
        }
        let scope = self.scope();
        if !scope.is_synced() {
            return None;
        }
        let pushes = scope.pushes.iter_mut().enumerate();
        let taken = pushes.flat_map(|(rank, pushed)| {
            std::mem::take(pushed).here.into_iter().map(move |part| (Rank::new(rank), part))
        });
        Some(Ok(taken.collect()))
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

/// The home and the batch of some changes; in checking mode with the lines at which they were written.
fn with_lines(core: &VectorCore, changes: Changes, cx: &Cx<'_>) -> (Rank, Vec<u8>) {
    let Changes { home, mut batch, lines } = changes;
    if core.is_checked() {
        let (at, time, mut noted) = (cx.order().now(), cx.order().time(), Lines::default());
        lines.into_iter().for_each(|(values, line)| noted.note(values, &line, at, &time));
        add_lines(&mut batch, &noted.encode());
    }
    (home, batch)
}

/// Sends changed elements to their home at the end of the scope. The last batch for each home is kept: it travels
/// with the announcement of the end.
pub(super) fn flush_at_end(
    object: &mut Vector,
    (scope, last): (&mut Entered, &mut [Option<LastBatch>]),
    changes: Changes,
    cx: &mut Cx<'_>,
) -> Result<(), Error> {
    const BATCH: Written = Written::Of(Paging::NUMBER);
    cx.sound()?;
    let (home, batch) = with_lines(object.core(), changes, cx);
    if let Some(LastBatch { bytes, .. }) =
        last[home.index()].replace(LastBatch { batch: BATCH, bytes: Buffer::own(batch) })
    {
        match home == cx.me() {
            true => scope::apply_own(object, scope, (BATCH.into(), &bytes), cx),
            false => scope::send(object, scope, home, BATCH, bytes.into(), cx),
        }
    }
    Ok(())
}
