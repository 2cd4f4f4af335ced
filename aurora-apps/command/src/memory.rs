//! Refuses jobs that do not fit into memory, before p ranks begin to allocate it.

use crate::refusal::{Reason, Refusal};

/// A function that returns bytes by the value of an argument and the number of ranks.
pub type Bytes = fn(value: u64, ranks: u64) -> u128;

/// An argument that determines the memory of a job.
#[derive(Clone, Copy, Debug)]
pub struct Demand<F = Bytes> {
    /// The argument's name in the help.
    pub argument: &'static str,
    /// The argument's value.
    pub value: usize,
    /// Bytes that a value needs on this machine, by the value and the number of ranks.
    pub bytes: F,
}

/// A matrix multiplication: four shared matrices, rank 0's sequential matrices and the data in transit, and in each
/// rank the caches of two matrices.
pub fn matrices(size: u64, ranks: u64) -> u128 {
    (4 + 4 + 2 * u128::from(ranks)) * 4 * u128::from(size) * u128::from(size)
}

/// As [`matrices`], and for each of four other implementations three matrices in its own memory and the whole of one
/// matrix in each rank; and rank 0's sequential matrices a second time.
pub fn matrices_beside_others(size: u64, ranks: u64) -> u128 {
    matrices(size, ranks) + (3 + 4 * (3 + u128::from(ranks))) * 4 * u128::from(size) * u128::from(size)
}

/// A sort: two shared vectors, two buffers of twice the size for the most uneven case, rank 0's sorted copy and the
/// data in transit.
pub fn keys(count: u64, _ranks: u64) -> u128 {
    (2 + 4 + 2) * 4 * u128::from(count)
}

/// As [`keys`], and for each of three other implementations its own keys, three buffers of twice the size, and one more
/// shared vector.
pub fn keys_beside_others(count: u64, ranks: u64) -> u128 {
    keys(count, ranks) + 3 * (1 + 6 + 1) * 4 * u128::from(count)
}

/// A table of counters: the tables of six implementations, two of them twice, the expected table, rank 0's sequential
/// table, twice, with the data in transit; and in each rank a partial copy with its marks, and two tables of half the
/// size with the result of one.
pub fn counters(count: u64, ranks: u64) -> u128 {
    (8 + 1 + 4 + (2 + 2) * u128::from(ranks)) * 8 * u128::from(count)
}

/// Texts: the texts of all ranks, and the same texts on rank 0, twice.
pub fn texts(bytes: u64, _ranks: u64) -> u128 {
    3 * u128::from(bytes)
}

/// Different words with their counts: in each rank's buffers or table, at their owners, and on rank 0.
pub fn words(count: u64, ranks: u64) -> u128 {
    (3 + u128::from(ranks)) * 100 * u128::from(count)
}

/// Cells of a plate: three shared plates, rank 0's two sequential plates, and the data in transit.
pub fn plates(cells: u64, _ranks: u64) -> u128 {
    (3 + 2 + 1) * 8 * u128::from(cells)
}

/// As [`plates`], and for each of three other implementations two plates in its own memory.
pub fn plates_beside_others(cells: u64, ranks: u64) -> u128 {
    plates(cells, ranks) + 3 * 2 * 8 * u128::from(cells)
}

/// A product of sparse matrices with this density and blocks of `block` rows. An entry takes 12 bytes, and a row of a
/// block 4 more. A and B exist as blocks, as copies of all blocks in each rank, and as whole matrices on rank 0. C
/// exists twice. In addition, each rank has tables of blocks.
pub fn sparse(density: f64, block: u64) -> impl Fn(u64, u64) -> u128 {
    move |size, ranks| {
        let (elements, ranks) = (u128::from(size) * u128::from(size), u128::from(ranks));
        let blocks = u128::from(size.div_ceil(block));
        let entries = (elements as f64 * density).ceil() as u128;
        (2 + ranks) * 2 * (12 * entries + 4 * blocks * u128::from(size))
            + 2 * 8 * elements
            + ranks * 3 * 200 * blocks * blocks
    }
}

/// A factorisation in tiles of `tile` rows: the tiles at and below the diagonal, copies of all of them in each rank,
/// and twice on rank 0; and in each rank a table of tiles.
pub fn tiles(tile: u64) -> impl Fn(u64, u64) -> u128 {
    move |size, ranks| {
        let (elements, tiles, ranks) =
            (u128::from(size) * u128::from(size), u128::from(size.div_ceil(tile)), u128::from(ranks));
        (1 + ranks + 2) * 4 * elements + ranks * 200 * tiles * tiles
    }
}

/// A vector that every rank caches whole: its blocks, and in each rank the caches of all implementations.
pub fn caches(bytes: u64, ranks: u64) -> u128 {
    (3 + 4 * u128::from(ranks)) * u128::from(bytes)
}

/// Exchanged keys: source and destination of all implementations, and the data in transit.
pub fn exchanged(keys: u64, _ranks: u64) -> u128 {
    (3 * 2 + 1) * 4 * u128::from(keys)
}

/// Bytes from every other rank: source and destination of all implementations, and the data in transit.
pub fn gathered(bytes: u64, ranks: u64) -> u128 {
    (3 * 2 + 1) * u128::from(ranks) * u128::from(bytes)
}

/// Bytes from one rank to another: source and destination of all implementations, and the data in transit.
pub fn streamed(bytes: u64, _ranks: u64) -> u128 {
    (3 * 2 + 1) * u128::from(bytes)
}

/// For each way to copy, a block and a copy of it; and the data in transit, or a cache in each rank.
pub fn copied(bytes: u64, ranks: u64) -> u128 {
    (2 * 2 + u128::from(ranks)) * u128::from(bytes)
}

/// Values of each rank that are summed up: for all implementations, twice for MPI, and the data in transit.
pub fn reduced(bytes: u64, ranks: u64) -> u128 {
    (1 + 2 + 2) * u128::from(ranks) * u128::from(bytes)
}

/// Distributed tables of 64-bit numbers, for all implementations.
pub fn tables(length: u64, _ranks: u64) -> u128 {
    2 * 8 * u128::from(length)
}

/// Reads by every rank: their indices and values, and the same again on rank 0.
pub fn lookups(reads: u64, ranks: u64) -> u128 {
    2 * 2 * 8 * u128::from(ranks) * u128::from(reads)
}

/// Fresh memory of each rank, one kind at a time; and two vectors with the caches of all ranks.
pub fn touched(bytes: u64, ranks: u64) -> u128 {
    (2 + 4 * u128::from(ranks)) * u128::from(bytes)
}

impl<F: Fn(u64, u64) -> u128> Demand<F> {
    /// Checks that `available` bytes are enough for `ranks` ranks that share this machine.
    pub fn check(&self, ranks: u64, available: u64) -> Result<(), Refusal> {
        let needed = (self.bytes)(self.value as u64, ranks);
        if needed <= u128::from(available) {
            return Ok(());
        }
        Err(Refusal {
            argument: self.argument,
            value: Some(self.value.to_string()),
            reason: Reason::Memory { ranks, needed, available, most: self.most(ranks, available) },
        })
    }

    /// Returns the largest value that fits.
    fn most(&self, ranks: u64, available: u64) -> u64 {
        let fits = |value: u64| (self.bytes)(value, ranks) <= u128::from(available);
        let (mut low, mut high) = (0, self.value as u64);
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if fits(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn most(demand: Demand, ranks: u64, available: u64) -> Option<u64> {
        match demand.check(ranks, available).err()?.reason {
            Reason::Memory { most, .. } => Some(most),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_most_that_fits_fits_and_one_more_does_not() {
        let demand =
            |value: u64| -> Demand { Demand { argument: "--size <N>", value: value as usize, bytes: matrices } };
        let found = most(demand(4_000_000_000), 2, 48 << 20).expect("too much");
        assert_eq!(most(demand(found), 2, 48 << 20), None);
        assert_eq!(most(demand(found + 1), 2, 48 << 20), Some(found));
    }

    #[test]
    fn no_number_overflows() {
        let demand: Demand = Demand { argument: "--keys <N>", value: usize::MAX, bytes: keys };
        assert_eq!(most(demand, 1, 1 << 40), Some((1 << 40) / 32));
    }
}
