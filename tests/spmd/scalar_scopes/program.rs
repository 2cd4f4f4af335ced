//! Random programs of scopes of a scalar.

use super::until;
use aurora_core::ops::{Max, Min, Sum};
use aurora_core::{GScalar, Result, World};
use aurora_suite::{Random, check};
use std::time::Duration;

const PROGRAMS: u64 = 10;

const STEPS: usize = 40;

/// Any scope after any other, with ranks at different speeds, compared with a plain number.
pub fn random_programs(world: &World) -> Result<()> {
    for seed in 0..PROGRAMS {
        Program::new(world, seed)?.run().map_err(|error| check::amid(format!("program {seed}"), error))?;
    }
    Ok(())
}

struct Program<'w> {
    world: &'w World,
    /// A sequence that is the same on all ranks.
    shared: Random,
    /// This rank's own sequence.
    speed: Random,
    scalar: GScalar<u64>,
    model: u64,
}

impl<'w> Program<'w> {
    fn new(world: &'w World, seed: u64) -> Result<Self> {
        let mut shared = Random::new(seed);
        let home = shared.below(world.size());
        let speed = Random::new(seed * 100 + world.rank().index() as u64);
        Ok(Program { world, shared, speed, scalar: GScalar::new(world, home, 0)?, model: 0 })
    }

    fn run(mut self) -> Result<()> {
        for _ in 0..STEPS {
            if self.speed.below(6) == 0 {
                std::thread::sleep(Duration::from_micros(self.speed.below(1500) as u64));
            }
            match self.shared.below(7) {
                0 => self.one_sided()?,
                1 => self.release()?,
                2 => self.accumulate()?,
                3 => check::equal("cache", *self.scalar.read_cache()?, self.model)?,
                4 => self.mostly()?,
                5 => self.bound()?,
                _ => check::equal("number", self.scalar.get()?, self.model).and_then(|()| self.world.barrier())?,
            }
        }
        check::equal("number", self.scalar.get()?, self.model)
    }

    /// A number for each rank, the same on every rank.
    fn draws(&mut self) -> Vec<u64> {
        (0..self.world.size()).map(|_| self.shared.bits() >> 20).collect()
    }

    fn mine(&self, draws: &[u64]) -> u64 {
        draws[self.world.rank().index()]
    }

    fn one_sided(&mut self) -> Result<()> {
        let draws = self.draws();
        // Reads of other ranks before this must not see it.
        self.world.barrier()?;
        self.scalar.fetch_add(self.mine(&draws))?;
        self.model = draws.iter().fold(self.model, |sum, x| sum.wrapping_add(*x));
        self.world.barrier()
    }

    fn release(&mut self) -> Result<()> {
        let (draws, every) = (self.draws(), 1 + self.shared.below(3) as u64);
        let writes = |draw: &u64| draw.is_multiple_of(every);
        let mine = self.mine(&draws);
        let mut scope = self.scalar.release_c()?;
        if writes(&mine) {
            scope.set(mine)?;
        }
        if self.shared.below(2) == 0 {
            scope.finish()?;
        } else {
            drop(scope);
        }
        self.model = draws.iter().rfind(|draw| writes(draw)).copied().unwrap_or(self.model);
        Ok(())
    }

    fn accumulate(&mut self) -> Result<()> {
        let draws = self.draws();
        let mine = self.mine(&draws);
        if self.shared.below(2) == 0 {
            self.scalar.accumulate(Sum)?.update(mine);
            self.model = draws.iter().fold(self.model, |sum, x| sum.wrapping_add(*x));
        } else {
            let mut lowest = self.scalar.accumulate(Min)?;
            lowest.update(mine);
            lowest.finish()?;
            self.model = draws.iter().fold(self.model, |lowest, x| lowest.min(*x));
        }
        Ok(())
    }

    /// One rank sets, all ranks add.
    fn mostly(&mut self) -> Result<()> {
        let (draws, writer) = (self.draws(), self.shared.below(self.world.size()));
        let scope = self.scalar.read_mostly()?;
        check::equal("replica", scope.get()?, self.model)?;
        self.world.barrier()?;
        if self.world.rank() == writer {
            scope.set(draws[writer])?;
        }
        self.world.barrier()?;
        let mut last = until(&scope, |seen| *seen == draws[writer])?;
        self.world.barrier()?;
        scope.fetch_add(self.mine(&draws) + 1)?;
        self.model = draws.iter().fold(draws[writer], |sum, x| sum + x + 1);
        if self.shared.below(2) == 0 {
            let want = self.model;
            until(&scope, |seen| {
                assert!(*seen >= last, "{seen} after {last}");
                last = *seen;
                *seen == want
            })?;
        }
        if self.shared.below(2) == 0 { scope.finish() } else { Ok(()) }
    }

    fn bound(&mut self) -> Result<()> {
        let draws = self.draws();
        let scope = self.scalar.read_mostly_with(Max)?;
        let seen = scope.get()?;
        assert!(seen >= self.model, "{seen} instead of {} at least", self.model);
        scope.offer(self.mine(&draws) / 2)?;
        scope.offer(self.mine(&draws))?;
        assert!(scope.get()? >= self.mine(&draws));
        self.model = draws.iter().fold(self.model, |highest, x| highest.max(*x));
        if self.shared.below(2) == 0 {
            until(&scope, |seen| *seen == self.model)?;
        }
        Ok(())
    }
}
