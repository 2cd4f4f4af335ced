//! The pushes of a home: its changes of a sync, to the ranks that hold the changed pages.

use super::changed::PART;
use super::message::PagesMessage;
use super::state::{PageScope, Pushing};
use crate::object::Cx;
use crate::vector::batch::batch_of_runs;
use crate::vector::core::VectorCore;
use aurora_net::{Payload, Rank, Received};
use std::ops::Range;

impl PageScope {
    /// If all changes of the sync under way are here, sends them to the ranks that hold their pages, a step at a time.
    pub(super) fn advance(&mut self, core: &mut VectorCore, cx: &mut Cx<'_>) {
        if !cx.is_sound() {
            self.next_step = None;
            return;
        }
        if self.applied < self.announced {
            return;
        }
        // A sync that has changed nothing is done.
        let mut left = if self.applied > 0 { PART } else { 0 };
        while left > 0 && self.pushing.holder < cx.size() {
            left = left.saturating_sub(self.push_part(core, cx));
        }
        let is_done = self.applied == 0 || self.pushing.holder == cx.size();
        self.next_step = (!is_done).then(|| cx.now());
        if is_done {
            self.done += 1;
            (self.applied, self.announced, self.pushing) = (0, 0, Pushing::default());
            self.changed.clear();
            if core.scopes().parked().len() > 0 {
                core.retry();
            }
            cx.progress();
        }
    }

    /// Sends the next part of a push. Returns its bytes, or as many as could have been copied meanwhile.
    fn push_part(&mut self, core: &mut VectorCore, cx: &mut Cx<'_>) -> usize {
        let (element, len) = (core.block().element, core.block().len());
        while self.pushing.holder < cx.size() && self.holders[self.pushing.holder].is_empty() {
            self.pushing.holder += 1;
        }
        let Some(held) = self.holders.get(self.pushing.holder) else {
            return 0;
        };
        let holder = Rank::new(self.pushing.holder);
        let (runs, next) = self.changed.part((holder, held), self.pushing.upto, self.pages, (len, element));
        let (parts, sync) = (self.pushing.parts + 1, self.departed);
        self.pushing = match next {
            // None of these changes is for this holder.
            Some(upto) if runs.is_empty() => {
                self.pushing.upto = upto;
                return PART;
            }
            Some(upto) => Pushing { upto, parts, ..self.pushing },
            None => Pushing { holder: holder.index() + 1, ..Pushing::default() },
        };
        let epoch = self.epoch;
        let batch = core.block_mut().read(|block| {
            let values = |run: &Range<usize>| (run.clone(), &block[run.start * element..run.end * element]);
            batch_of_runs(len, element, runs.iter().map(values))
        });
        let batch = if runs.is_empty() { Vec::new() } else { batch.expect("nothing lends it in this scope") };
        let bytes = batch.len();
        if holder == cx.me() {
            self.pushes[holder.index()].here.push(Received::Bytes(batch));
            return bytes;
        }
        let message = PagesMessage::Push { epoch, sync, parts: if next.is_none() { parts } else { 0 } };
        let payload = if batch.is_empty() { Payload::Empty } else { batch.into() };
        message.send(&self.reason, holder, payload, cx);
        bytes
    }
}
