//! What scopes of Aurora's cost that no operation between ranks shows: opened for nothing, used in another way.

use super::case::{PLACES, TABLE};
use aurora_apps::agree;
use aurora_apps::bench::Took;
use aurora_apps::random::Stream;
use aurora_core::prelude::*;
use std::time::Instant;

/// Something to do in a scope. Every rank does it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Opens a Gather and closes it.
    GatherOpen,
    /// Random reads of a table in a Gather, a list of all at once.
    GatherRead,
    /// The same reads by an iterator that runs ahead.
    GatherIter,
    /// Writes the next rank's part of a table in a ReleaseC, element after element.
    PutInOrder,
}

/// How often a scope that is opened for nothing is, between two looks at the time.
const OPENINGS: u64 = 100_000;

/// A scope, with the table that it is of.
pub struct Scopes {
    scope: Scope,
    table: GVector<u64>,
    entries: Stream,
    indices: Vec<usize>,
    values: Vec<u64>,
    me: usize,
    size: usize,
    damage: bool,
    round: u64,
}

impl Scopes {
    /// Collective. With `damage` one element of the table is wrong.
    pub fn new(world: &World, scope: Scope, damage: bool) -> Result<Self> {
        let (me, size) = (world.rank().index(), world.size());
        let seed = agree::seed(world, None)?;
        let places = Stream::new(seed, 1 + me as u64);
        // The one that is damaged is read for certain.
        let index = |i: usize| if i == 0 { 0 } else { places.bits(i as u64) as usize % TABLE };
        let reads = matches!(scope, Scope::GatherRead | Scope::GatherIter);
        let mut scopes = Scopes {
            scope,
            table: GVector::new(world, TABLE)?,
            entries: Stream::new(seed, 0),
            indices: if reads { (0..PLACES).map(index).collect() } else { Vec::new() },
            values: vec![0; if reads { PLACES } else { 0 }],
            me,
            size,
            damage,
            round: 0,
        };
        if reads {
            scopes.fill()?;
        }
        world.barrier()?;
        scopes.measure(world, 1)?;
        Ok(scopes)
    }

    /// Writes this rank's part of what is to be read.
    fn fill(&mut self) -> Result<()> {
        let mut mine = self.table.owner_computes_mut()?;
        let start = mine.indices().start;
        for (index, element) in (start..).zip(mine.local_mut().iter_mut()) {
            *element = self.entries.bits(index as u64) ^ u64::from(self.damage && index == 0);
        }
        mine.finish()
    }

    /// Collective. So many iterations; `progress` hears of each, or of some at a time.
    pub fn run(&mut self, world: &World, iterations: u64, progress: &mut dyn FnMut()) -> Result<Took> {
        let at_once = if self.scope == Scope::GatherOpen { OPENINGS } else { 1 };
        let (mut took, mut left) = (Took::default(), iterations);
        while left > 0 {
            let times = left.min(at_once);
            let (seconds, wrong) = self.measure(world, times)?;
            took.seconds += seconds;
            took.wrong += wrong;
            left -= times;
            progress();
        }
        Ok(took)
    }

    /// Collective. The slowest rank's seconds, and how much was wrong on all.
    fn measure(&mut self, world: &World, times: u64) -> Result<(f64, f64)> {
        self.round += 1;
        world.barrier()?;
        let start = Instant::now();
        for _ in 0..times {
            self.once()?;
        }
        let seconds = start.elapsed().as_secs_f64();
        world.barrier()?;
        let wrong = self.wrong()? as f64;
        Ok((world.all_reduce(Max, seconds)?, world.all_reduce(Add, wrong)?))
    }

    fn once(&mut self) -> Result<()> {
        match self.scope {
            Scope::GatherOpen => self.table.gatherer()?.finish(),
            Scope::GatherRead => self.table.gatherer()?.read_into(&self.indices, &mut self.values),
            Scope::GatherIter => {
                let gather = self.table.gatherer()?;
                for (value, found) in self.values.iter_mut().zip(gather.iter(self.indices.iter().copied())) {
                    *value = found?;
                }
                gather.finish()
            }
            Scope::PutInOrder => {
                let next = self.table.range_of((self.me + 1) % self.size);
                let (round, flip) = (self.round, u64::from(self.damage));
                let mut scope = self.table.release_c()?;
                for index in next {
                    scope.put(index, written(index, round) ^ flip)?;
                }
                scope.finish()
            }
        }
    }

    /// What is wrong with what this rank has read, or with its part of what was written.
    fn wrong(&mut self) -> Result<usize> {
        Ok(match self.scope {
            // Nothing moves.
            Scope::GatherOpen => 0,
            Scope::GatherRead | Scope::GatherIter => {
                let entries = self.entries;
                let read = self.indices.iter().zip(&mut self.values);
                // What was read is taken away: the next iteration has to bring it again.
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
