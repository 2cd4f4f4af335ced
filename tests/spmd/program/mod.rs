//! Random programs: any scope after any other, ranks at different speeds, compared with a plain vector.
//!
//! Every rank draws the same program from the seed and computes all ranks' writes, so that each rank knows the result.

mod halos;
mod looks;
mod maps;
mod parts;
mod sums;

use aurora_core::ops::Sum;
use aurora_core::{Config, GVector, MatrixDim, Partition, Result, Route, World, distmemcpy};
use aurora_suite::{Body, Random, check, lengths, mix};
use libtest_mimic::{Failed, Trial};
use std::ops::Range;
use std::time::Duration;

pub fn bodies() -> Vec<Body> {
    vec![Body::of(random_programs)]
}

pub fn trials() -> Vec<Trial> {
    let routes = [Route::Local, Route::Shm, Route::Udp];
    let trial =
        |route: Route| Trial::test(format!("threads-{route}/3/race_free_programs"), move || free_of_races(route));
    routes.map(trial).into()
}

/// The race detector finds nothing. `RACE_FREE_PROGRAMS` is the number of programs.
fn free_of_races(route: Route) -> std::result::Result<(), Failed> {
    let programs = std::env::var("RACE_FREE_PROGRAMS").ok().and_then(|number| number.parse().ok()).unwrap_or(12);
    for ranks in [2, 3] {
        Config::threads(ranks).route(route).check(true).run(|world| run_programs(world, 0..programs))?;
    }
    Ok(())
}

const PROGRAMS: u64 = 20;
const STEPS: usize = 30;

fn random_programs(world: &World) -> Result<()> {
    run_programs(world, 0..PROGRAMS)
}

fn run_programs(world: &World, mut seeds: Range<u64>) -> Result<()> {
    seeds.try_for_each(|seed| {
        Program::new(world, seed)?.run().map_err(|error| check::amid(format!("program {seed}"), error))
    })
}

/// The ranks that may write without a barrier.
#[derive(Clone, Copy, PartialEq)]
enum Writers {
    /// All writes are ordered before the next step.
    None,
    /// Rank `r` has written elements `i` with `i % p == r`.
    Classes,
    /// Each rank has written its own block.
    Owners,
}

struct Program<'w> {
    world: &'w World,
    /// A sequence that is the same on all ranks.
    shared: Random,
    /// This rank's own sequence.
    speed: Random,
    v: GVector<u64>,
    model: Vec<u64>,
    unordered: Writers,
    map: maps::Map,
}

impl<'w> Program<'w> {
    fn new(world: &'w World, seed: u64) -> Result<Self> {
        let mut shared = Random::new(seed);
        let (p, me) = (world.size(), world.rank().index());
        let len = [1, p, 3 * p + 1, 200, 20_011][shared.below(5)];
        let v = match shared.below(7) {
            0 => GVector::on(world, shared.below(p), len)?,
            1 => GVector::new(world, MatrixDim::new(len, 1 + shared.below(5)))?,
            2 | 3 => GVector::new(world, Partition::lengths(&lengths(&mut shared, len, p)))?,
            4 => GVector::new(world, Partition::rows(&lengths(&mut shared, len, p), 1 + shared.below(5)))?,
            _ => GVector::new(world, len)?,
        };
        Ok(Program {
            world,
            shared,
            speed: Random::new(seed * 100 + me as u64),
            model: vec![0; v.len()],
            v,
            unordered: Writers::None,
            map: maps::Map::new(world)?,
        })
    }

    fn run(mut self) -> Result<()> {
        for _ in 0..STEPS {
            if self.speed.below(6) == 0 {
                std::thread::sleep(Duration::from_micros(self.speed.below(1500) as u64));
            }
            match self.shared.below(14) {
                0 | 1 => self.one_sided()?,
                2 | 3 => self.release()?,
                4 => self.owners()?,
                5 => self.fill()?,
                6 => self.combined()?,
                7 => self.accumulate()?,
                8 => self.halo()?,
                9 | 10 => self.parts()?,
                11 | 12 => self.map()?,
                _ => self.look()?,
            }
        }
        self.look()?;
        self.map_look()
    }

    /// Draws writes of every rank to some elements of its class. The model gets all of them, each plus `more`.
    fn writes(&mut self, more: u64) -> Vec<(usize, u64)> {
        let (p, me) = (self.world.size(), self.world.rank().index());
        let (key, every) = (self.shared.bits(), 1 + self.shared.below(9));
        let mut mine = Vec::new();
        for i in (0..self.model.len()).filter(|i| mix(key ^ *i as u64).is_multiple_of(every as u64)) {
            let x = mix(key.wrapping_add(i as u64));
            self.model[i] = x.wrapping_add(more);
            if i % p == me {
                mine.push((i, x));
            }
        }
        mine
    }

    fn one_sided(&mut self) -> Result<()> {
        if self.unordered == Writers::Owners {
            self.order()?;
        }
        let means = self.shared.below(4);
        let mut mine = self.writes(0);
        match means {
            0 => {
                // Single writes are slow: some elements one at a time, and the rest together.
                let rest = mine.split_off(mine.len().min(20));
                mine.iter().try_for_each(|(i, x)| self.v.put(*i, *x))?;
                self.v.put_many(&rest)?;
            }
            1 => self.v.put_many(&mine)?,
            2 => {
                let rest = mine.split_off(mine.len().min(20));
                for (i, x) in mine {
                    distmemcpy(self.v.range_mut(i..=i), &[x][..])?;
                }
                self.v.put_many(&rest)?;
            }
            _ => {
                let mut scope = self.v.release_alone()?;
                mine.iter().try_for_each(|(i, x)| scope.put(*i, *x))?;
            }
        }
        self.unordered = Writers::Classes;
        Ok(())
    }

    fn release(&mut self) -> Result<()> {
        let add = self.shared.below(2) == 0;
        let mine = self.writes(if add { 3 } else { 0 });
        let checked = self.shared.below(2) == 0;
        if add {
            let mut scope = self.v.release_c_with(Sum)?;
            mine.iter().try_for_each(|(i, x)| scope.put(*i, *x))?;
            // By the rank that also puts there, so that the order is known.
            mine.iter().try_for_each(|(i, _)| scope.update(*i, 3))?;
            if checked {
                scope.finish()?;
            }
        } else {
            let mut scope = self.v.release_c()?;
            mine.iter().try_for_each(|(i, x)| scope.put(*i, *x))?;
            if checked {
                scope.finish()?;
            }
        }
        self.unordered = Writers::None;
        Ok(())
    }

    /// Every element has its old value, except for this rank's own writes.
    fn combined(&mut self) -> Result<()> {
        let before = self.model.clone();
        let mine = self.writes(0);
        let mut all = self.v.read_cache_release_c()?;
        check::same(all.as_slice(), 0, |i| before[i])?;
        let mut seen = before;
        for (i, x) in mine {
            all[i] = all[i].wrapping_add(x.wrapping_sub(seen[i]));
            seen[i] = x;
        }
        check::same(all.as_slice(), 0, |i| seen[i])?;
        if self.shared.below(2) == 0 {
            all.finish()?;
        }
        self.unordered = Writers::None;
        Ok(())
    }

    fn owners(&mut self) -> Result<()> {
        if self.unordered == Writers::Classes {
            self.order()?;
        }
        let key = self.shared.bits();
        for (i, x) in self.model.iter_mut().enumerate() {
            *x = x.wrapping_mul(3) ^ mix(key.wrapping_add(i as u64));
        }
        let mut own = self.v.owner_computes_mut()?;
        for i in own.indices() {
            own[i] = own[i].wrapping_mul(3) ^ mix(key.wrapping_add(i as u64));
        }
        drop(own);
        self.unordered = Writers::Owners;
        Ok(())
    }

    fn fill(&mut self) -> Result<()> {
        let value = self.shared.bits();
        self.v.fill(value)?;
        self.model.fill(value);
        self.unordered = Writers::None;
        Ok(())
    }

    fn order(&mut self) -> Result<()> {
        self.unordered = Writers::None;
        if self.shared.below(2) == 0 {
            return self.world.barrier();
        }
        self.v.read_cache()?.finish()
    }
}
