//! The events of a simulation, by time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events in the order of their times; those of one time in the order in which they were scheduled.
#[derive(Clone, Debug)]
pub(super) struct EventQueue<E> {
    /// Times are not negative, so their bits are in their order. Events are stored apart from the heap, because the
    /// heap moves its elements.
    order: BinaryHeap<Reverse<(u64, u64, u32)>>,
    scheduled: u64,
    events: Vec<Option<E>>,
    free: Vec<u32>,
}

impl<E> EventQueue<E> {
    /// Creates an empty queue.
    pub(super) fn new() -> Self {
        EventQueue { order: BinaryHeap::new(), scheduled: 0, events: Vec::new(), free: Vec::new() }
    }

    /// Adds an event.
    pub(super) fn schedule(&mut self, at: f64, event: E) {
        debug_assert!(at >= 0.0, "an event at {at}");
        let place = self.free.pop().unwrap_or_else(|| {
            self.events.push(None);
            self.events.len() as u32 - 1
        });
        self.events[place as usize] = Some(event);
        self.scheduled += 1;
        self.order.push(Reverse((at.to_bits(), self.scheduled, place)));
    }

    /// Takes out the next event, with its time.
    #[inline]
    pub(super) fn take(&mut self) -> Option<(f64, E)> {
        let Reverse((at, _, place)) = self.order.pop()?;
        self.free.push(place);
        let event = self.events[place as usize].take().expect("it was scheduled");
        Some((f64::from_bits(at), event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_time_and_then_in_the_order_of_scheduling() {
        let mut queue = EventQueue::new();
        for (at, what) in [(2.0, 'd'), (0.0, 'a'), (1.5, 'b'), (1.5, 'c')] {
            queue.schedule(at, what);
        }
        assert_eq!((queue.take(), queue.take()), (Some((0.0, 'a')), Some((1.5, 'b'))));
        queue.schedule(1.5, 'x');
        let rest: Vec<_> = std::iter::from_fn(|| queue.take()).collect();
        assert_eq!(rest, [(1.5, 'c'), (1.5, 'x'), (2.0, 'd')]);
        assert_eq!(queue.events.len(), 4);
    }
}
