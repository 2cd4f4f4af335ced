//! All ranks add to a GScalar, and read what that comes to.

use super::prelude::*;

/// By an Accumulate and a ReadCache of it.
pub struct ScalarSum {
    sum: GScalar<u64>,
    own: u64,
    all: u64,
}

impl ScalarSum {
    /// Collective.
    pub fn new(world: &World) -> Result<Self> {
        let own = world.rank().index() as u64 + 1;
        Ok(ScalarSum { sum: GScalar::new(world, 0, 0)?, own, all: world.all_reduce(Add, own)? })
    }
}

impl Contestant for ScalarSum {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        let (mut wanted, mut wrong) = (*self.sum.read_cache()?, u64::from(round.damage));
        watch.measure(|| {
            for _ in 0..round.times {
                self.sum.accumulate::<Add>()?.update(self.own);
                wanted = wanted.wrapping_add(self.all);
                wrong += u64::from(*self.sum.read_cache()? != wanted);
            }
            Ok(())
        })?;
        Ok(wrong)
    }
}
