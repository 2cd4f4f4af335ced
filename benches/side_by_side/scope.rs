//! Costs of Aurora's scopes that no operation between ranks shows: of empty scopes, and of other uses.

use super::case::{PLACES, TABLE};
use aurora_apps::agree;
use aurora_apps::bench::Took;
use aurora_apps::random::Stream;
use aurora_core::ops::{Max, Sum};
use aurora_core::prelude::*;
use std::time::Instant;

/// An action in a scope, on every rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Opens and closes a BatchedReads scope.
    BatchedOpen,
    /// Reads random elements of a table in BatchedReads, by one list of all of them.
    BatchedRead,
    /// Reads the elements of `BatchedRead` by an iterator that reads ahead.
    BatchedIter,
    /// Writes the next rank's part of a table in a ReleaseC, element by element.
    PutInOrder,
}

/// The number of openings of an empty scope between two readings of the clock.
const OPENINGS: u64 = 100_000;

/// A scope and its table.
pub struct Scopes<'w> {
    world: &'w World,
    scope: Scope,
    table: GVector<u64>,
    entries: Stream,
    indices: Vec<usize>,
    values: Vec<u64>,
    damage: bool,
    round: u64,
}

impl<'w> Scopes<'w> {
    /// Collective. Runs one iteration that does not count. With `damage` results are wrong.
    pub fn new(world: &'w World, scope: Scope, damage: bool) -> Result<Self> {
        let seed = agree::seed(world, None)?;
        let (entries, places) = (Stream::new(seed, 0), Stream::new(seed, 1 + world.rank().index() as u64));
        // Each rank reads the damaged element, number 0.
        let index = |i: usize| if i == 0 { 0 } else { places.bits(i as u64) as usize % TABLE };
        let reads = if matches!(scope, Scope::BatchedRead | Scope::BatchedIter) { PLACES } else { 0 };
        let (indices, values) = ((0..reads).map(index).collect(), vec![0; reads]);
        let mut table = GVector::new(world, TABLE)?;
        if reads > 0 {
            let mut mine = table.owner_computes_mut()?;
            let start = mine.indices().start;
            for (index, element) in (start..).zip(mine.local_mut().iter_mut()) {
                *element = entries.bits(index as u64) ^ u64::from(damage && index == 0);
            }
            mine.finish()?;
        }
        world.barrier()?;
        let mut scopes = Scopes { world, scope, table, entries, indices, values, damage, round: 0 };
        scopes.run(1, &mut || ())?;
        Ok(scopes)
    }

    /// Collective. Returns the slowest rank's seconds for this number of iterations, and the number of wrong elements
    /// on all ranks. Calls `progress` after each iteration, or after several at a time.
    pub fn run(&mut self, iterations: u64, progress: &mut dyn FnMut()) -> Result<Took> {
        let at_once = if self.scope == Scope::BatchedOpen { OPENINGS } else { 1 };
        let (mut took, mut left) = (Took::default(), iterations);
        while left > 0 {
            let times = left.min(at_once);
            self.round += 1;
            self.world.barrier()?;
            let start = Instant::now();
            for _ in 0..times {
                self.once()?;
            }
            let seconds = start.elapsed().as_secs_f64();
            self.world.barrier()?;
            let wrong = self.wrong()? as f64;
            took.seconds += self.world.all_reduce(Max, seconds)?;
            took.wrong += self.world.all_reduce(Sum, wrong)?;
            left -= times;
            progress();
        }
        Ok(took)
    }

    fn once(&mut self) -> Result<()> {
        match self.scope {
            Scope::BatchedOpen => self.table.batched_reads()?.finish(),
            Scope::BatchedRead => self.table.batched_reads()?.read_into(&self.indices, &mut self.values),
            Scope::BatchedIter => {
                let gather = self.table.batched_reads()?;
                for (value, found) in self.values.iter_mut().zip(gather.iter(self.indices.iter().copied())) {
                    *value = found?;
                }
                gather.finish()
            }
            Scope::PutInOrder => {
                let next = self.table.range_of((self.world.rank().index() + 1) % self.world.size());
                let (round, flip) = (self.round, u64::from(self.damage));
                let mut scope = self.table.release_c()?;
                for index in next {
                    scope.put(index, written(index, round) ^ flip)?;
                }
                scope.finish()
            }
        }
    }

    /// The number of wrong elements among those that this rank has read, or in this rank's part of a written table.
    fn wrong(&mut self) -> Result<usize> {
        Ok(match self.scope {
            // No data move.
            Scope::BatchedOpen => 0,
            Scope::BatchedRead | Scope::BatchedIter => {
                let entries = self.entries;
                let read = self.indices.iter().zip(&mut self.values);
                // Each value is reset: the next iteration has to read it again.
                let wrong = read.map(|(index, value)| std::mem::take(value) != entries.bits(*index as u64));
                wrong.filter(|wrong| *wrong).count()
            }
            Scope::PutInOrder => {
                let mine = self.table.owner_computes()?;
                let local = (mine.indices().start..).zip(mine.local());
                local.filter(|(index, value)| **value != written(*index, self.round)).count()
            }
        })
    }
}

fn written(index: usize, round: u64) -> u64 {
    ((index as u64) << 20) ^ round
}
