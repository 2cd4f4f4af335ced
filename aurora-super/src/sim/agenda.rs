//! The events of a simulation, by time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events in the order of their times; those of one time in the order in which they were noted.
#[derive(Clone, Debug)]
pub(super) struct Agenda<E> {
    /// Times are not negative, so their bits are in their order. Events are stored apart from the heap, because the
    /// heap moves its elements.
    order: BinaryHeap<Reverse<(u64, u64, u32)>>,
    noted: u64,
    events: Vec<Option<E>>,
    free: Vec<u32>,
}

impl<E> Agenda<E> {
    /// Creates an empty agenda.
    pub(super) fn new() -> Self {
        Agenda { order: BinaryHeap::new(), noted: 0, events: Vec::new(), free: Vec::new() }
    }

    /// Adds an event.
    pub(super) fn note(&mut self, at: f64, event: E) {
        debug_assert!(at >= 0.0, "an event at {at}");
        let place = self.free.pop().unwrap_or_else(|| {
            self.events.push(None);
            self.events.len() as u32 - 1
        });
        self.events[place as usize] = Some(event);
        self.noted += 1;
        self.order.push(Reverse((at.to_bits(), self.noted, place)));
    }

    /// Takes out the next event, with its time.
    #[inline]
    pub(super) fn take(&mut self) -> Option<(f64, E)> {
        let Reverse((at, _, place)) = self.order.pop()?;
        self.free.push(place);
        let event = self.events[place as usize].take().expect("it was noted");
        Some((f64::from_bits(at), event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_time_and_then_by_note() {
        let mut agenda = Agenda::new();
        for (at, what) in [(2.0, 'd'), (0.0, 'a'), (1.5, 'b'), (1.5, 'c')] {
            agenda.note(at, what);
        }
        assert_eq!((agenda.take(), agenda.take()), (Some((0.0, 'a')), Some((1.5, 'b'))));
        agenda.note(1.5, 'x');
        let rest: Vec<_> = std::iter::from_fn(|| agenda.take()).collect();
        assert_eq!(rest, [(1.5, 'c'), (1.5, 'x'), (2.0, 'd')]);
        assert_eq!(agenda.events.len(), 4);
    }
}
