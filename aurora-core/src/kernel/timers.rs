//! The times at which objects want to be called: at most one time for each object.

use crate::ids::ObjectId;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

#[derive(Debug, Default)]
pub(super) struct Timers {
    of: BTreeMap<ObjectId, Instant>,
    order: BTreeSet<(Instant, ObjectId)>,
}

impl Timers {
    /// An object wants to be called at a time, or at none.
    #[inline]
    pub(super) fn set(&mut self, object: ObjectId, at: Option<Instant>) {
        if at.is_some() || !self.of.is_empty() {
            self.change(object, at);
        }
    }

    fn change(&mut self, object: ObjectId, at: Option<Instant>) {
        let before = match at {
            Some(at) => self.of.insert(object, at),
            None => self.of.remove(&object),
        };
        if before != at {
            before.map(|before| self.order.remove(&(before, object)));
            self.order.extend(at.map(|at| (at, object)));
        }
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.order.first().map(|(at, _)| *at)
    }

    /// Takes out the objects whose time has come.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<ObjectId> {
        let due: Vec<_> = self.order.iter().take_while(|(at, _)| *at <= now).map(|(_, object)| *object).collect();
        due.iter().for_each(|object| self.change(*object, None));
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn each_object_has_one_time() {
        let (mut timers, start) = (Timers::default(), Instant::now());
        let at = |millis| start + Duration::from_millis(millis);
        timers.set(ObjectId(7), None);
        for (object, millis) in [(1, 5), (2, 3), (1, 2), (3, 9)] {
            timers.set(ObjectId(object), Some(at(millis)));
        }
        assert_eq!((timers.next(), timers.take_due(at(1))), (Some(at(2)), Vec::new()));
        assert_eq!((timers.take_due(at(4)), timers.take_due(at(4))), (vec![ObjectId(1), ObjectId(2)], Vec::new()));
        timers.set(ObjectId(3), None);
        assert!(timers.take_due(at(100)).is_empty() && timers.of.is_empty() && timers.order.is_empty());
    }
}
