//! Bytes go from rank 0 to rank 1, with nobody else on the way.

use super::prelude::*;

/// The rank that has the bytes.
pub const FROM: usize = 0;
/// The rank that gets them.
pub const TO: usize = 1;

/// By `distmemcpy` of the sender's memory into the receiver's part of a vector.
pub struct Aurora {
    me: usize,
    vector: GVector<u8>,
    bytes: Vec<u8>,
}

impl Aurora {
    /// Collective.
    pub fn new(world: &World, bytes: usize) -> Result<Self> {
        let me = world.rank().index();
        let vector = GVector::on(world, TO, bytes)?;
        Ok(Aurora { me, vector, bytes: if me == FROM { vec![0; bytes] } else { Vec::new() } })
    }
}

impl Contestant for Aurora {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        if self.me == FROM {
            round.fill(&mut self.bytes, 0);
            watch.measure(|| distmemcpy(self.vector.range_mut(..), &self.bytes[..]))?;
        } else {
            watch.serve()?;
        }
        Ok(round.wrong(self.vector.owner_computes()?.local(), 0))
    }
}
