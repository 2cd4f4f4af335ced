//! Rank 0 writes 8 bytes of rank 1's at a time, and goes on when they are there.

use super::job::Target;
use super::prelude::*;
use super::target::{self, Attendance, SLOTS};

/// By `put`.
pub struct Aurora {
    attendance: Attendance,
    slots: GVector<u64>,
    values: Vec<u64>,
}

impl Aurora {
    /// Collective.
    pub fn new(world: &World, target: Target) -> Result<Self> {
        let slots = GVector::on(world, target::rank(world.size()), SLOTS)?;
        Ok(Aurora { attendance: Attendance::new(world, target)?, slots, values: vec![0; SLOTS] })
    }
}

impl Contestant for Aurora {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        self.attendance.begin();
        round.fill(bytemuck::cast_slice_mut(&mut self.values), 0);
        watch.start()?;
        if self.attendance.is_origin() {
            for number in 0..round.times {
                self.slots.put(number % SLOTS, self.values[number % SLOTS])?;
            }
            watch.done();
            self.attendance.release()?;
        } else if self.attendance.is_target() {
            self.attendance.attend()?;
        }
        watch.stop()?;
        Ok(wrong(round, self.slots.owner_computes()?.local()))
    }
}

/// What is wrong with the slots of the target. Other ranks have none.
pub fn wrong(round: Round, slots: &[u64]) -> u64 {
    let written = slots.len().min(round.times);
    round.wrong(bytemuck::cast_slice(&slots[..written]), 0)
}
