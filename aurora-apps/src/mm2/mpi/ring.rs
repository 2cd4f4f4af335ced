//! Rows of B travel around a ring. A rank multiplies with the rows it has, passes them on meanwhile, and receives the
//! next rows from the rank before it. No rank receives at a higher rate than one rank sends, which a switch handles
//! better than all messages at once.
//!
//! All receives are posted at the begin. Each rank's rows travel in two halves: one half arrives while the other half
//! is passed on, so that no link is idle between two steps. Each half has its own tag, because the halves may complete
//! in any order.

use super::program::{Operands, add_rows};
use crate::clock::Clock;
use crate::mm2::parallel::Stage;
use aurora_core::prelude::*;
use mpi::Tag;
use mpi::request::{LocalScope, RequestCollection, multiple_scope};
use mpi::topology::Process;
use mpi::traits::{Destination, Source};
use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Collective. Computes `c <- a x b`.
pub fn mmultiply(operands: Operands<'_, '_>, stage: Stage, clock: &mut Clock<'_>) -> Result<()> {
    let Operands { ranks, kernel, columns, rows, a, b, c } = operands;
    let (me, size) = (ranks.me(), ranks.size());
    let (before, behind) = (ranks.rank((me + size - 1) % size), ranks.rank((me + 1) % size));
    clock.overlapping((stage.load, stage.multiply), |turns| {
        turns.computing(|| c.fill(0));
        let start = Instant::now();
        let (mine, mut rooms) = rows.own_and_others(me, b);
        Ok(multiple_scope(4 * size, |scope, requests| {
            let mut expected = Vec::with_capacity(2 * size);
            for step in 1..size {
                let owner = (me + size - step) % size;
                let mut at = rows.range(owner).start;
                let halves = std::mem::take(&mut rooms[owner]).chunks_mut(half(rows.range(owner), columns));
                for (room, tag) in halves.zip(tags(owner)) {
                    let elements = at..at + room.len();
                    at = elements.end;
                    expected.push(Expected { elements, tag, travels_on: step + 1 < size });
                    requests.add(before.immediate_receive_into_with_tag(scope, room, tag));
                }
            }
            if size > 1 {
                for (elements, tag) in mine.chunks(half(rows.range(me), columns)).zip(tags(me)) {
                    requests.add(behind.immediate_send_with_tag(scope, elements, tag));
                }
            }
            let here = VecDeque::from([(rows.range(me), mine)]);
            let mut ring = Ring { scope, requests, behind, expected, here, start, shared: Duration::ZERO };
            loop {
                match ring.here.pop_front() {
                    Some(rows) => add_rows((kernel, columns), a, rows, c, turns, &mut || ring.look()),
                    None if ring.requests.incomplete() == 0 => return ring.shared,
                    None => ring.wait(),
                }
            }
        }))
    })
}

/// Returns the number of elements in half of these elements, in whole rows.
fn half(elements: Range<usize>, columns: usize) -> usize {
    let columns = columns.max(1);
    (elements.len() / columns).div_ceil(2).max(1) * columns
}

/// Returns the tags of both halves of `owner`'s rows.
fn tags(owner: usize) -> [Tag; 2] {
    // MPI gave the rank's number as an i32, and there are far fewer ranks.
    [2 * owner as Tag, 2 * owner as Tag + 1]
}

/// The data that a receive brings.
#[derive(Clone)]
struct Expected {
    elements: Range<usize>,
    tag: Tag,
    /// True if the rank behind this one does not have these rows, so that they are passed on.
    travels_on: bool,
}

/// The transfers in progress, and the rows that have arrived.
struct Ring<'r, 'a> {
    scope: &'r LocalScope<'a>,
    requests: &'r mut RequestCollection<'a, [i32]>,
    behind: Process<'r>,
    /// The expected data, by the numbers of the receives.
    expected: Vec<Expected>,
    /// Elements that have arrived and are not yet multiplied.
    here: VecDeque<(Range<usize>, &'a [i32])>,
    start: Instant,
    /// The time until the last elements arrived.
    shared: Duration,
}

impl<'a> Ring<'_, 'a> {
    /// Lets MPI progress. Returns whether any transfer is incomplete.
    fn look(&mut self) -> bool {
        while self.requests.incomplete() > 0
            && let Some((number, _, elements)) = self.requests.test_any()
        {
            self.complete(number, elements);
        }
        self.requests.incomplete() > 0
    }

    fn wait(&mut self) {
        if let Some((number, _, elements)) = self.requests.wait_any() {
            self.complete(number, elements);
        }
    }

    /// Handles a completed request. The first numbers are receives; their data is passed on at once.
    fn complete(&mut self, number: usize, elements: &'a [i32]) {
        let Some(expected) = self.expected.get(number).cloned() else { return };
        if expected.travels_on {
            self.requests.add(self.behind.immediate_send_with_tag(self.scope, elements, expected.tag));
        }
        self.here.push_back((expected.elements, elements));
        self.shared = self.start.elapsed();
    }
}
