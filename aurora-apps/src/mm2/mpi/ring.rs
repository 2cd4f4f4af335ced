//! Rows of B travel round a ring: a rank multiplies with those in its hand while it passes them on and gets the next from the rank before it. No
//! rank's link is asked for more than one rank sends, which a switch likes better than all at once.

use super::program::{Operands, add_rows};
use crate::clock::Clock;
use crate::mm2::parallel::Stage;
use aurora_core::prelude::*;
use mpi::request::multiple_scope;
use mpi::traits::{Destination, Source};
use std::time::{Duration, Instant};

/// Collective. `c <- a x b`.
pub fn mmultiply(operands: Operands<'_, '_>, stage: Stage, clock: &mut Clock<'_>) -> Result<()> {
    let Operands { ranks, kernel, columns, rows, a, b, c, whole } = operands;
    let (me, size) = (ranks.me(), ranks.size());
    let before = |rank: usize| (rank + size - 1) % size;
    clock.overlapping((stage.load, stage.multiply), |turns| {
        turns.computing(|| c.fill(0));
        let (start, mut shared) = (Instant::now(), Duration::ZERO);
        let mut rooms = rows.pieces_mut(whole);
        let (mut owner, mut hand) = (me, b);
        for step in 1..=size {
            let room = std::mem::take(&mut rooms[before(owner)]);
            let next = multiple_scope(2, |scope, requests| {
                if step < size {
                    requests.add(ranks.rank(before(me)).immediate_receive_into(scope, room));
                    requests.add(ranks.rank((me + 1) % size).immediate_send(scope, hand));
                }
                let (mut done, mut complete) = (Vec::with_capacity(2), step == size);
                add_rows((kernel, columns), a, (rows.range(owner), hand), c, turns, &mut || {
                    if !complete {
                        complete = requests.test_all(&mut done);
                        shared = start.elapsed();
                    }
                });
                if !complete {
                    requests.wait_all(&mut done);
                    shared = start.elapsed();
                }
                // The receive was the first to be added, and is the first to be returned.
                done.first().map(|(_, _, received)| *received)
            });
            let Some(received) = next else { break };
            (owner, hand) = (before(owner), received);
        }
        Ok(shared)
    })
}
