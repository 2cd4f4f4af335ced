//! The sequential program in its turn, on rank 0. The other ranks wait.

use super::run::Sorting;
use super::{Keys, sort};
use crate::check;
use crate::clock::{Clock, Laps, Pace};
use aurora_core::prelude::*;

/// Rank 0's keys; other ranks have none.
pub struct Alone<'w> {
    world: &'w World,
    keys: Vec<u32>,
    sorted: GVector<u32>,
}

impl<'w> Alone<'w> {
    /// Collective. Allocates memory for `length` keys.
    pub fn new(world: &'w World, length: usize) -> Result<Self> {
        let keys = vec![0; if world.is_root() { length } else { 0 }];
        Ok(Alone { world, keys, sorted: GVector::new(world, length)? })
    }
}

impl Sorting for Alone<'_> {
    fn run(&mut self, keys: &Keys, pace: Pace) -> Result<Laps> {
        for (i, key) in self.keys.iter_mut().enumerate() {
            *key = keys.key(i);
        }
        let mut clock = Clock::paced(self.world, pace)?;
        clock.computing("sort", || {
            sort(&mut self.keys);
            Ok(())
        })?;
        let laps = clock.stop()?;
        check::spread(self.world, &self.keys, &mut self.sorted)?;
        Ok(laps)
    }

    fn sorted(&mut self) -> &mut GVector<u32> {
        &mut self.sorted
    }
}
