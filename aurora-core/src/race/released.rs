//! The times of ranks at the ends of the collective scopes of an object.

use super::{Clock, Time};
use crate::ids::Epoch;
use crate::window::Window;
use std::collections::BTreeMap;

/// A limit above the number of scopes by which ranks may be ahead: more scopes stay only if this rank does not use
/// the object.
const MANY: usize = 32;

/// The times that ranks have released at the ends of scopes of one object.
#[derive(Default)]
pub(crate) struct Released {
    /// The times of scopes that this rank has not acquired: by epochs, with their parts.
    released: BTreeMap<Epoch, (Window, Time)>,
    /// The times of scopes that this rank has acquired, by their parts.
    acquired: Vec<(Window, Time)>,
}

impl Released {
    /// A rank has ended or announced its part of a scope, and releases its time.
    pub(crate) fn add(&mut self, epoch: Epoch, window: Window, time: &Time, is_settled: impl Fn(Epoch) -> bool) {
        self.released.entry(epoch).or_insert_with(|| (window, Time::default())).1.join(time);
        while self.released.len() > MANY {
            let mut settled = self.released.iter().filter(|(epoch, _)| is_settled(**epoch));
            let Some((first, (of, _))) = settled.next() else {
                return;
            };
            let Some(next) = settled.find(|(_, (window, _))| window == of).map(|(epoch, _)| *epoch) else {
                return;
            };
            let (first, (_, time)) = (*first, self.released[first].clone());
            self.released.remove(&first);
            self.released.entry(next).and_modify(|(_, later)| later.join(&time));
        }
    }

    /// Later accesses of this rank's program come after the scopes of a part that are `over`.
    pub(crate) fn acquire(&mut self, window: Window, over: impl Fn(Epoch) -> bool, order: &mut Clock) {
        let Released { released, acquired } = self;
        released.retain(|epoch, (of, time)| {
            // A scope of an empty part orders the ranks too, although it overlaps no part, not even itself.
            let is_over = over(*epoch) && (*of == window || of.overlaps(window));
            if is_over {
                order.acquire(time);
                match acquired.iter_mut().find(|(window, _)| window == of) {
                    Some((_, acquired)) => acquired.join(time),
                    None => acquired.push((*of, time.clone())),
                }
            }
            !is_over
        });
        if acquired.len() > MANY {
            // Before the last barrier: no rank can still be in a scope that follows one of these.
            let last = acquired.iter().map(|(_, time)| time.phase()).max();
            acquired.retain(|(_, time)| Some(time.phase()) == last);
        }
    }

    /// The time that the scopes of a part before this scope have released: batches of this scope are applied after it.
    pub(crate) fn before(&self, epoch: Epoch, window: Window, is_settled: impl Fn(Epoch) -> bool) -> Time {
        let mut before = Time::default();
        let settled = self.released.iter().filter(|(earlier, _)| **earlier < epoch && is_settled(**earlier));
        let all = settled.map(|(_, of)| of).chain(&self.acquired).filter(|(of, _)| of.overlaps(window));
        all.for_each(|(_, time)| before.join(time));
        before
    }
}
