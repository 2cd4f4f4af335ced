//! All ranks wait for each other.

use super::prelude::*;
use crate::meeting::Meeting;

/// Collective. By a meeting's own barrier, Aurora's or MPI's.
pub fn by<'w>(meeting: impl Meeting + 'w) -> Result<Contestant<'w>> {
    let (me, size) = (meeting.world().rank().index(), meeting.world().size());
    // The last data set that each rank has written.
    let mut arrived = GVector::<u64>::new(meeting.world(), size)?;
    Ok(Box::new(move |round, watch| {
        watch.measure(|| (0..round.times).try_for_each(|_| meeting.barrier()))?;
        // Outside of the measurement: a rank that has left the barrier must find that its neighbour had arrived.
        round.fill_own(&mut arrived)?;
        meeting.barrier()?;
        let next = (me + 1) % size;
        let seen = arrived.at(next)?;
        // No rank starts the next repetition before all ranks have read.
        meeting.world().barrier()?;
        Ok(round.wrong(bytemuck::bytes_of(&seen), next * size_of::<u64>()))
    }))
}
