//! Rank 0 reads 8 bytes of rank 1's at a time.

use super::job::Target;
use super::prelude::*;
use super::target::{self, Attendance, SLOTS};

/// By `at`.
pub struct Aurora {
    attendance: Attendance,
    slots: GVector<u64>,
    seen: Vec<u64>,
}

impl Aurora {
    /// Collective.
    pub fn new(world: &World, target: Target) -> Result<Self> {
        let slots = GVector::on(world, target::rank(world.size()), SLOTS)?;
        Ok(Aurora { attendance: Attendance::new(world, target)?, slots, seen: Vec::new() })
    }
}

impl Contestant for Aurora {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        round.fill_own(&mut self.slots)?;
        self.attendance.begin();
        self.seen.resize(round.times, 0);
        watch.start()?;
        if self.attendance.is_origin() {
            for (number, seen) in self.seen.iter_mut().enumerate() {
                *seen = self.slots.at(number % SLOTS)?;
            }
            watch.done();
            self.attendance.release()?;
        } else if self.attendance.is_target() {
            self.attendance.attend()?;
        }
        watch.stop()?;
        Ok(if self.attendance.is_origin() { wrong(round, &self.seen) } else { 0 })
    }
}

/// What is wrong with what the origin has read.
pub fn wrong(round: Round, seen: &[u64]) -> u64 {
    seen.chunks(SLOTS).map(|slots| round.wrong(bytemuck::cast_slice(slots), 0)).sum()
}
