//! What fresh memory costs: every rank writes memory of its own for the first time, or reads a vector by its first
//! ReadCache.

use super::contestant::Any;
use super::full_read::sum;
use super::job::Fresh;
use super::prelude::*;
use memmap2::{Advice, MmapMut};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::fs::File;
use std::io;
use vm_memory::{FileOffset, MmapRegion, VolatileMemory, VolatileSlice};

/// What is copied into fresh memory, again and again: small enough to stay in a cache.
const PIECE: usize = 64 * 1024;

/// Collective. What touches `bytes` bytes of this kind on every rank.
pub fn contestant(world: &World, bytes: usize, memory: Fresh) -> Result<Any<'_>> {
    Ok(match memory {
        Fresh::Anonymous => Box::new(Private { bytes, huge: false, written: Written::new() }),
        Fresh::HugePages => Box::new(Private { bytes, huge: true, written: Written::new() }),
        Fresh::Memfd => Box::new(Shared { bytes, written: Written::new() }),
        Fresh::FirstReadCache => Box::new(First { world, bytes }),
        Fresh::SecondReadCache => Box::new(Second { vector: GVector::new(world, bytes)? }),
    })
}

/// What a repetition writes into memory.
struct Written(Vec<u8>);

impl Written {
    fn new() -> Self {
        Written(vec![0; PIECE])
    }

    /// Returns what has to be read back: what is written is damaged afterwards, if it is.
    fn renew(&mut self, round: Round) -> Vec<u8> {
        round.undamaged().fill(&mut self.0, 0);
        let expected = self.0.clone();
        round.fill(&mut self.0, 0);
        expected
    }
}

/// Anonymous memory: what an allocator has for large blocks.
struct Private {
    bytes: usize,
    huge: bool,
    written: Written,
}

impl Contestant for Private {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        let expected = self.written.renew(round);
        let piece = &self.written.0;
        let memory = watch.measure(|| {
            let mut memory = MmapMut::map_anon(self.bytes)?;
            if self.huge {
                memory.advise(Advice::HugePage)?;
            }
            memory.chunks_mut(PIECE).for_each(|part| part.copy_from_slice(&piece[..part.len()]));
            Ok(memory)
        })?;
        Ok(memory.chunks(PIECE).map(|part| differ(part, &expected)).sum())
    }
}

/// A mapping of a memfd: memory that several processes can share.
struct Shared {
    bytes: usize,
    written: Written,
}

impl Contestant for Shared {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        let expected = self.written.renew(round);
        let piece = &self.written.0;
        let memory = watch.measure(|| {
            let memory = map_memfd(self.bytes)?;
            parts(&memory, self.bytes).for_each(|part| part.copy_from(piece));
            Ok(memory)
        })?;
        let mut read = vec![0; PIECE];
        let wrong = parts(&memory, self.bytes).map(|part| {
            let length = part.copy_to(&mut read[..]);
            differ(&read[..length], &expected)
        });
        Ok(wrong.sum())
    }
}

fn map_memfd(bytes: usize) -> io::Result<MmapRegion> {
    let file = File::from(memfd_create("first-touch", MemfdFlags::CLOEXEC)?);
    ftruncate(&file, bytes as u64)?;
    MmapRegion::from_file(FileOffset::new(file, 0), bytes).map_err(io::Error::other)
}

/// The mapping in pieces.
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

/// The first ReadCache of a vector, with one full read: some memory is only touched by that.
struct First<'w> {
    world: &'w World,
    bytes: usize,
}

impl Contestant for First<'_> {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        load(&mut GVector::new(self.world, self.bytes)?, round, watch)
    }
}

/// A later ReadCache of the same vector.
struct Second {
    vector: GVector<u8>,
}

impl Contestant for Second {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        load(&mut self.vector, round, watch)
    }
}

fn load(vector: &mut GVector<u8>, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
    round.fill_own(vector)?;
    let (whole, sum) = watch.measure(|| {
        let whole = vector.read_cache()?;
        let sum = sum(&whole);
        Ok((whole, sum))
    })?;
    Ok(round.wrong(&whole, 0) + u64::from(sum != round.sum(whole.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_flipped_byte_differs() {
        let mut written = Written::new();
        let expected = written.renew(Round::new(1, 1, 1, true));
        assert_eq!(differ(&written.0, &expected), 1);
        let expected = written.renew(Round::new(1, 1, 1, false));
        assert_eq!(differ(&written.0, &expected), 0);
        written.0[PIECE - 1] ^= 8;
        assert_eq!(differ(&written.0, &expected), 1);
    }

    #[test]
    fn a_mapping_is_touched_to_its_last_byte() {
        let bytes = 2 * PIECE + 5;
        let memory = map_memfd(bytes).unwrap();
        assert_eq!(parts(&memory, bytes).map(|part| part.len()).sum::<usize>(), bytes);
    }
}
