//! All ranks wait for each other.

use super::prelude::*;
use crate::meeting::Meeting;

/// By a meeting's own barrier, Aurora's or MPI's.
pub struct Barrier<M> {
    meeting: M,
    me: usize,
    size: usize,
    /// What each rank has done last.
    arrived: GVector<u64>,
}

impl<M: Meeting> Barrier<M> {
    /// Collective.
    pub fn new(meeting: M) -> Result<Self> {
        let world = meeting.world();
        let (me, size, arrived) = (world.rank().index(), world.size(), GVector::new(world, world.size())?);
        Ok(Barrier { meeting, me, size, arrived })
    }
}

impl<M: Meeting> Contestant for Barrier<M> {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        watch.measure(|| (0..round.times).try_for_each(|_| self.meeting.barrier()))?;
        // Outside of the measurement: who is through must find that its neighbour had come before.
        round.fill_own(&mut self.arrived)?;
        self.meeting.barrier()?;
        let next = (self.me + 1) % self.size;
        let seen = self.arrived.at(next)?;
        // Nobody arrives again before all have looked.
        self.meeting.world().barrier()?;
        Ok(round.wrong(bytemuck::bytes_of(&seen), next * size_of::<u64>()))
    }
}
