//! Rows of B travel round a ring: a rank multiplies with those in its hand while it passes them on and gets the next
//! from the rank before it. No rank's link is asked for more than one rank sends, which a switch likes better than all
//! at once.
//!
//! All receives are posted at the begin, and each rank's rows travel in two halves: while one is passed on the other
//! comes, so that no link is idle between two steps. Each half has a tag of its own, since they need not be complete in
//! their order.

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

/// Collective. `c <- a x b`.
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

/// How many elements are half of these, whole rows.
fn half(elements: Range<usize>, columns: usize) -> usize {
    let columns = columns.max(1);
    (elements.len() / columns).div_ceil(2).max(1) * columns
}

/// Those of both halves of this rank's rows.
fn tags(owner: usize) -> [Tag; 2] {
    // A rank's number came from MPI as an i32, and there are not that many.
    [2 * owner as Tag, 2 * owner as Tag + 1]
}

/// What a receive brings.
#[derive(Clone)]
struct Expected {
    elements: Range<usize>,
    tag: Tag,
    /// To the rank behind this one, which has not seen it.
    travels_on: bool,
}

/// What is under way, and what has come.
struct Ring<'r, 'a> {
    scope: &'r LocalScope<'a>,
    requests: &'r mut RequestCollection<'a, [i32]>,
    behind: Process<'r>,
    /// By the numbers of the receives.
    expected: Vec<Expected>,
    /// Elements that are here and not yet multiplied.
    here: VecDeque<(Range<usize>, &'a [i32])>,
    start: Instant,
    /// How long it took until the last were here.
    shared: Duration,
}

impl<'a> Ring<'_, 'a> {
    /// Lets MPI go on. Whether anything is still under way.
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

    /// A request is complete. Receives were numbered first; what they bring is passed on at once.
    fn complete(&mut self, number: usize, elements: &'a [i32]) {
        let Some(expected) = self.expected.get(number).cloned() else { return };
        if expected.travels_on {
            self.requests.add(self.behind.immediate_send_with_tag(self.scope, elements, expected.tag));
        }
        self.here.push_back((expected.elements, elements));
        self.shared = self.start.elapsed();
    }
}
