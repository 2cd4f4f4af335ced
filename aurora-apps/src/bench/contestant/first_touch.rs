//! The cost of fresh memory: every rank writes its own memory for the first time, or its part of a new vector, or reads
//! a vector by its first ReadCache.

use super::prelude::*;
use super::read_cache::Read;
use crate::bench::job::Fresh;
use memmap2::{Advice, MmapMut};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::fs::File;
use std::io;

/// The size of the piece that is copied repeatedly into fresh memory: small enough to stay in a cache.
const PIECE: usize = 64 * 1024;

/// Touches `bytes` bytes of this kind of memory on every rank.
pub fn aurora(world: &World, bytes: usize, memory: Fresh) -> Result<Contestant<'_>> {
    let mut piece = vec![0; PIECE];
    match memory {
        Fresh::Anonymous | Fresh::HugePages | Fresh::Memfd => Ok(Box::new(move |round, watch| {
            let expected = renew(&mut piece, round);
            let mapping = watch.measure(|| Ok(filled(map(bytes, memory)?, &piece)))?;
            Ok(mapping.chunks(PIECE).map(|part| differ(part, &expected)).sum())
        })),
        Fresh::Vector => Ok(Box::new(move |round, watch| {
            let expected = renew(&mut piece, round);
            let vector = watch.measure(|| new_vector(world, bytes, &piece))?;
            let own = vector.owner_computes()?;
            Ok(own.local().chunks(PIECE).map(|part| differ(part, &expected)).sum())
        })),
        Fresh::FirstReadCache => Ok(Box::new(move |round, watch| load(&mut GVector::new(world, bytes)?, round, watch))),
        Fresh::SecondReadCache => {
            let mut vector = GVector::new(world, bytes)?;
            Ok(Box::new(move |round, watch| load(&mut vector, round, watch)))
        }
    }
}

/// Fills `piece` with the data that a repetition copies into memory. Returns the data that verification expects. If the
/// round asks for damage, `piece` is damaged and the returned data is not.
fn renew(piece: &mut [u8], round: Round) -> Vec<u8> {
    round.undamaged().fill(piece, 0);
    let expected = piece.to_vec();
    round.fill(piece, 0);
    expected
}

/// Maps fresh memory of this kind.
fn map(bytes: usize, memory: Fresh) -> io::Result<MmapMut> {
    if memory == Fresh::Memfd {
        return map_memfd(bytes);
    }
    let mapping = MmapMut::map_anon(bytes)?;
    if memory == Fresh::HugePages {
        mapping.advise(Advice::HugePage)?;
    }
    Ok(mapping)
}

/// Maps memory that several processes can share.
#[allow(unsafe_code)]
fn map_memfd(bytes: usize) -> io::Result<MmapMut> {
    let file = File::from(memfd_create("first-touch", MemfdFlags::CLOEXEC)?);
    ftruncate(&file, bytes as u64)?;
    // SAFETY: the file has no name and is closed here, so nothing but this mapping changes it.
    unsafe { MmapMut::map_mut(&file) }
}

/// Fills a mapping.
fn filled(mut mapping: MmapMut, piece: &[u8]) -> MmapMut {
    mapping.chunks_mut(PIECE).for_each(|part| part.copy_from_slice(&piece[..part.len()]));
    mapping
}

/// Makes a vector with a part of this size on every rank, and fills the own part.
fn new_vector(world: &World, bytes: usize, piece: &[u8]) -> Result<GVector<u8>> {
    let mut vector = GVector::new(world, bytes * world.size())?;
    let mut own = vector.owner_computes_mut()?;
    own.local_mut().chunks_mut(PIECE).for_each(|part| part.copy_from_slice(&piece[..part.len()]));
    own.finish()?;
    Ok(vector)
}

fn differ(got: &[u8], expected: &[u8]) -> u64 {
    if got == &expected[..got.len()] {
        return 0;
    }
    got.iter().zip(expected).filter(|(got, expected)| got != expected).count() as u64
}

/// Measures a ReadCache with one full read: some of its memory is touched only by the read.
fn load(vector: &mut GVector<u8>, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
    round.fill_own(vector)?;
    Ok(watch.measure(|| vector.read_cache().map(Read::of))?.wrong(round))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_flipped_byte_differs() {
        let mut piece = vec![0; PIECE];
        for (damage, wrong) in [(true, 1), (false, 0)] {
            let expected = renew(&mut piece, Round::new(1, 1, 1, damage));
            assert_eq!(differ(&piece, &expected), wrong);
            piece[PIECE - 1] ^= 8;
            assert_eq!(differ(&piece, &expected), wrong + 1);
        }
    }

    #[test]
    fn each_mapping_is_touched_to_its_last_byte() {
        let bytes = 2 * PIECE + 5;
        for memory in [Fresh::Anonymous, Fresh::Memfd] {
            let mapping = filled(map(bytes, memory).unwrap(), &[7; PIECE]);
            assert_eq!(mapping[..], vec![7; bytes]);
        }
    }
}
