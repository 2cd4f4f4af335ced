//! The cost of fresh memory: every rank writes its own memory for the first time, or its part of a new vector, or reads
//! a vector by its first ReadCache.

use super::prelude::*;
use super::read_cache::Read;
use crate::bench::job::Fresh;
use memmap2::{Advice, MmapMut};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::fs::File;
use std::io;
use vm_memory::{FileOffset, MmapRegion, VolatileMemory, VolatileSlice};

/// The size of the piece that is copied repeatedly into fresh memory: small enough to stay in a cache.
const PIECE: usize = 64 * 1024;

/// Touches `bytes` bytes of this kind of memory on every rank.
pub fn aurora(world: &World, bytes: usize, memory: Fresh) -> Result<Contestant<'_>> {
    let mut piece = vec![0; PIECE];
    match memory {
        Fresh::Anonymous | Fresh::HugePages => Ok(Box::new(move |round, watch| {
            let expected = renew(&mut piece, round);
            let memory = watch.measure(|| anonymous(bytes, memory == Fresh::HugePages, &piece))?;
            Ok(memory.chunks(PIECE).map(|part| differ(part, &expected)).sum())
        })),
        Fresh::Memfd => Ok(Box::new(move |round, watch| {
            let expected = renew(&mut piece, round);
            let memory = watch.measure(|| {
                let memory = map_memfd(bytes)?;
                parts(&memory, bytes).for_each(|part| part.copy_from(&piece));
                Ok(memory)
            })?;
            let mut read = vec![0; PIECE];
            let wrong = parts(&memory, bytes).map(|part| {
                let length = part.copy_to(&mut read[..]);
                differ(&read[..length], &expected)
            });
            Ok(wrong.sum())
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

/// Fills memory of the kind that an allocator uses for large blocks.
fn anonymous(bytes: usize, huge: bool, piece: &[u8]) -> Result<MmapMut> {
    let mut memory = MmapMut::map_anon(bytes)?;
    if huge {
        memory.advise(Advice::HugePage)?;
    }
    memory.chunks_mut(PIECE).for_each(|part| part.copy_from_slice(&piece[..part.len()]));
    Ok(memory)
}

/// Makes a vector with a part of this size on every rank, and fills the own part.
fn new_vector(world: &World, bytes: usize, piece: &[u8]) -> Result<GVector<u8>> {
    let mut vector = GVector::new(world, bytes * world.size())?;
    let mut own = vector.owner_computes_mut()?;
    own.local_mut().chunks_mut(PIECE).for_each(|part| part.copy_from_slice(&piece[..part.len()]));
    own.finish()?;
    Ok(vector)
}

/// Maps memory that several processes can share.
fn map_memfd(bytes: usize) -> io::Result<MmapRegion> {
    let file = File::from(memfd_create("first-touch", MemfdFlags::CLOEXEC)?);
    ftruncate(&file, bytes as u64)?;
    MmapRegion::from_file(FileOffset::new(file, 0), bytes).map_err(io::Error::other)
}

/// Returns the mapping in pieces.
fn parts(memory: &MmapRegion, bytes: usize) -> impl Iterator<Item = VolatileSlice<'_>> {
    let starts = (0..bytes).step_by(PIECE);
    starts.map(move |start| memory.get_slice(start, PIECE.min(bytes - start)).expect("inside of the mapping"))
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
    fn a_mapping_is_touched_to_its_last_byte() {
        let bytes = 2 * PIECE + 5;
        let memory = map_memfd(bytes).unwrap();
        assert_eq!(parts(&memory, bytes).map(|part| part.len()).sum::<usize>(), bytes);
    }
}
