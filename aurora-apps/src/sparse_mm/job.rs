//! The description of a run, and its limits.

use crate::values::{density, number};
use aurora_super::Policy;
use clap::Args;
use thiserror::Error;

/// The maximum number of rows of a block: its entries can then be numbered by 32 bits.
pub const MOST_OF_A_BLOCK: usize = 1 << 15;

/// The maximum number of blocks in a row of a matrix: the blocks of three matrices can then be numbered by 32 bits.
const MOST_BLOCKS: usize = 37_837;

/// The maximum number of rows of a matrix.
pub const MOST_ROWS: usize = MOST_BLOCKS * MOST_OF_A_BLOCK;

/// The parameters of a run.
#[derive(Args, Clone, Debug)]
pub struct SparseMm {
    /// Rows and columns of the matrices.
    #[arg(long, value_name = "N", default_value_t = 2048, value_parser = number::<usize>(1..=MOST_ROWS as u64))]
    pub size: usize,
    /// Probability that an element of A or B is not zero: a fraction or a percentage.
    #[arg(long, value_name = "P", default_value = "12.5%", value_parser = density, allow_negative_numbers = true)]
    pub density: f64,
    /// Rows and columns of a block. Blocks at the right and lower border are smaller if the size is no multiple.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = number::<usize>(1..=MOST_OF_A_BLOCK as u64))]
    pub block: usize,
    /// Policy by which ranks get instructions: syn, S, R, SR, SS, tail or ect [default: AURORA_SUPER_POLICY, or tail].
    #[arg(long, value_name = "NAME")]
    pub policy: Option<Policy>,
}

/// The reason why a run is impossible.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum Impossible {
    /// Matrices that are too large or empty.
    #[error("matrices of {0} rows: a matrix has 1 to {MOST_ROWS} rows")]
    Size(usize),
    /// A density that is no probability.
    #[error("a density of {0}: it is a number from 0 to 1")]
    Density(f64),
    /// Blocks that are too large or empty.
    #[error("blocks of {0} rows: a block has 1 to {MOST_OF_A_BLOCK} rows")]
    Block(usize),
    /// Too many blocks.
    #[error("matrices of {size} x {size} elements need blocks of at least {least} rows")]
    Blocks {
        /// Rows of the matrices.
        size: usize,
        /// Rows of the smallest block that is allowed.
        least: usize,
    },
}

impl SparseMm {
    /// Checks that the run is possible.
    ///
    /// # Errors
    /// The first reason why it is not.
    pub fn check(&self) -> Result<(), Impossible> {
        let least = self.size.div_ceil(MOST_BLOCKS);
        match *self {
            SparseMm { size, .. } if !(1..=MOST_ROWS).contains(&size) => Err(Impossible::Size(size)),
            SparseMm { density, .. } if !(0.0..=1.0).contains(&density) => Err(Impossible::Density(density)),
            SparseMm { block, .. } if !(1..=MOST_OF_A_BLOCK).contains(&block) => Err(Impossible::Block(block)),
            SparseMm { size, block, .. } if block < least => Err(Impossible::Blocks { size, least }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::defaults;

    #[test]
    fn limits_are_told() {
        let check = |size, density, block| SparseMm { size, density, block, ..defaults() }.check();
        assert_eq!(check(1, 0.0, MOST_OF_A_BLOCK), Ok(()));
        assert_eq!(check(MOST_BLOCKS, 1.0, 1), Ok(()));
        assert_eq!(check(0, 0.5, 1), Err(Impossible::Size(0)));
        assert_eq!(check(MOST_ROWS, 0.5, MOST_OF_A_BLOCK), Ok(()));
        assert_eq!(check(MOST_ROWS + 1, 0.5, 1), Err(Impossible::Size(MOST_ROWS + 1)));
        assert_eq!(check(1, 1.5, 1), Err(Impossible::Density(1.5)));
        assert!(check(1, f64::NAN, 1).is_err());
        assert_eq!(check(1, 0.5, 0), Err(Impossible::Block(0)));
        assert_eq!(check(1, 0.5, MOST_OF_A_BLOCK + 1), Err(Impossible::Block(MOST_OF_A_BLOCK + 1)));
        assert_eq!(check(2 * MOST_BLOCKS + 1, 0.5, 2), Err(Impossible::Blocks { size: 2 * MOST_BLOCKS + 1, least: 3 }));
        let blocks = MOST_BLOCKS as u64;
        assert!(3 * blocks * blocks < u64::from(u32::MAX) - 1 && 3 * (blocks + 1).pow(2) > u64::from(u32::MAX));
    }
}
