//! Every rank gets all of a vector: an allgather (the paper's section 3.3). It is measured alone, and together with one
//! full read of the loaded vector. Memory that other ranks have just written is slow to read, and copies that the load
//! avoids may be made during the read.

use super::prelude::*;
use aurora_core::ReadCache;

/// By a ReadCache. Each block is written before the load, because a block that has not changed is not sent again.
pub fn aurora(world: &World, bytes: usize) -> Result<Contestant<'_>> {
    let mut vector = GVector::<u8>::new(world, bytes)?;
    Ok(Box::new(move |round, watch| {
        let mut wrong = 0;
        for load in Load::both(round) {
            load.round.fill_own(&mut vector)?;
            wrong += load.measure(watch, || vector.read_cache())?;
        }
        Ok(wrong)
    }))
}

/// By Allgather, or Allgatherv if blocks differ, or by Isend and Irecv of whole blocks. Each rank has a buffer for the
/// whole vector, with its own block in its place.
#[cfg(feature = "mpi")]
pub fn mpi<'w>(ranks: MpiRanks<'w>, by: Implementation, bytes: usize) -> Result<Contestant<'w>> {
    let parts = Parts::new((0..ranks.size()).map(|rank| crate::block::block(bytes, ranks.size(), rank)))?;
    let (own, mut whole) = (parts.range(ranks.me()), Room::<u8>::new(bytes)?);
    Ok(Box::new(move |round, watch| {
        let mut wrong = 0;
        for load in Load::both(round) {
            load.round.fill(&mut whole[own.clone()], own.start);
            wrong += load.measure(watch, || {
                match by {
                    Implementation::MpiIsend => ranks.all_gather_at_once(&parts, &mut whole),
                    _ => ranks.all_gather(&parts, &mut whole),
                }
                Ok(&whole[..])
            })?;
        }
        Ok(wrong)
    }))
}

/// One of the two loads of a repetition.
#[derive(Clone, Copy)]
struct Load {
    /// The data that the load must bring.
    round: Round,
    with_read: bool,
}

impl Load {
    /// Returns the load alone, and the load with one full read of other data.
    fn both(round: Round) -> [Self; 2] {
        [Load { round, with_read: false }, Load { round: round.again(), with_read: true }]
    }

    /// Collective. Measures `load` and returns the number of errors in the loaded data. After the load with a read, the
    /// memory of all ranks is measured.
    fn measure<L: Bytes>(self, watch: &mut Watch<'_>, load: impl FnOnce() -> Result<L>) -> Result<u64> {
        if !self.with_read {
            return Ok(self.round.wrong(watch.measure(load)?.bytes(), 0));
        }
        let read = watch.measure_with_read(|| load().map(Read::of))?;
        watch.weigh()?;
        Ok(read.wrong(self.round))
    }
}

/// A whole vector that was loaded.
pub trait Bytes {
    /// Returns all bytes of the vector.
    fn bytes(&self) -> &[u8];
}

impl Bytes for ReadCache<'_, u8> {
    fn bytes(&self) -> &[u8] {
        self.as_slice()
    }
}

impl Bytes for &[u8] {
    fn bytes(&self) -> &[u8] {
        self
    }
}

/// A loaded vector that was read once.
pub struct Read<L> {
    whole: L,
    sum: u64,
}

impl<L: Bytes> Read<L> {
    /// Reads the whole vector.
    pub fn of(whole: L) -> Self {
        Read { sum: sum(whole.bytes()), whole }
    }

    /// Returns the number of errors in the vector and in its sum.
    pub fn wrong(&self, round: Round) -> u64 {
        let whole = self.whole.bytes();
        round.wrong(whole, 0) + u64::from(self.sum != round.sum(whole.len()))
    }
}

/// Returns the sum of the 64-bit words, the last one filled up with zeros, at the speed of memory.
fn sum(bytes: &[u8]) -> u64 {
    pulp::Arch::new().dispatch(Sum(bytes))
}

struct Sum<'b>(&'b [u8]);

impl pulp::NullaryFnOnce for Sum<'_> {
    type Output = u64;

    // Inlined: only inlined code is compiled for the detected processor.
    #[inline(always)]
    fn call(self) -> u64 {
        let (words, rest) = self.0.as_chunks();
        let whole = words.iter().fold(0_u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
        let mut last = [0; size_of::<u64>()];
        last[..rest.len()].copy_from_slice(rest);
        whole.wrapping_add(u64::from_le_bytes(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_byte_is_seen_and_its_sum_too_at_any_alignment() {
        let round = Round::new(1, 1, 1, false);
        let mut memory = vec![0; 1100];
        for (start, length) in [(0, 1024), (1, 1024), (3, 1027), (0, 20), (0, 5), (9, 0)] {
            let wrong = |bytes: &[u8]| Read::of(bytes).wrong(round);
            let bytes = &mut memory[start..start + length];
            round.fill(bytes, 0);
            assert_eq!(wrong(bytes), 0, "{length} bytes at {start}");
            for position in 0..length {
                bytes[position] ^= 4;
                assert_eq!(wrong(bytes), 2, "byte {position}");
                bytes[position] ^= 4;
            }
        }
    }

    #[test]
    fn both_loads_are_verified() {
        let found = Config::threads(1).run(|world| {
            let (mut watch, mut bytes) = (Watch::new(world, None), [0; 20]);
            let measured = Load::both(Round::new(1, 1, 1, false)).map(|load| {
                load.round.fill(&mut bytes, 0);
                bytes[8] ^= 1;
                load.measure(&mut watch, || Ok(&bytes[..]))
            });
            Ok(measured.map(|wrong| wrong.expect("measured")))
        });
        assert_eq!(found.unwrap(), [1, 2]);
    }
}
