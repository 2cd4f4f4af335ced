//! The description of a run, and its limits.

use crate::values::number;
use aurora_super::Policy;
use clap::Args;
use thiserror::Error;

/// The maximum number of rows of a tile.
pub const MOST_OF_A_TILE: usize = 1 << 13;

/// The maximum number of tiles in a row of the matrix.
const MOST_TILES: usize = 1 << 8;

/// The maximum number of rows of the matrix.
pub const MOST_ROWS: usize = MOST_TILES * MOST_OF_A_TILE;

/// The parameters of a run.
#[derive(Args, Clone, Debug)]
pub struct Cholesky {
    /// Rows and columns of the matrix.
    #[arg(long, value_name = "N", default_value_t = 1536, value_parser = number::<usize>(1..=MOST_ROWS as u64))]
    pub size: usize,
    /// Rows and columns of a tile. Tiles at the right and lower border are smaller if the size is no multiple.
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = number::<usize>(1..=MOST_OF_A_TILE as u64))]
    pub tile: usize,
    /// Policy by which ranks get instructions: syn, S, R, SR, SS, tail or ect [default: AURORA_SUPER_POLICY, or tail].
    #[arg(long, value_name = "NAME")]
    pub policy: Option<Policy>,
}

/// The reason why a run is impossible.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum Impossible {
    /// A matrix that is too large or empty.
    #[error("a matrix of {0} rows: it has 1 to {MOST_ROWS} rows")]
    Size(usize),
    /// Tiles that are too large or empty.
    #[error("tiles of {0} rows: a tile has 1 to {MOST_OF_A_TILE} rows")]
    Tile(usize),
    /// Too many tiles.
    #[error("a matrix of {size} x {size} elements needs tiles of at least {least} rows")]
    Tiles {
        /// Rows of the matrix.
        size: usize,
        /// Rows of the smallest tile that is allowed.
        least: usize,
    },
}

impl Cholesky {
    /// Checks that the run is possible.
    ///
    /// # Errors
    /// The first reason why it is not.
    pub fn check(&self) -> Result<(), Impossible> {
        let least = self.size.div_ceil(MOST_TILES);
        match *self {
            Cholesky { size, .. } if !(1..=MOST_ROWS).contains(&size) => Err(Impossible::Size(size)),
            Cholesky { tile, .. } if !(1..=MOST_OF_A_TILE).contains(&tile) => Err(Impossible::Tile(tile)),
            Cholesky { size, tile, .. } if tile < least => Err(Impossible::Tiles { size, least }),
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
        let check = |size, tile| Cholesky { size, tile, ..defaults() }.check();
        assert_eq!((check(1, 1), check(MOST_ROWS, MOST_OF_A_TILE)), (Ok(()), Ok(())));
        assert_eq!(check(0, 1), Err(Impossible::Size(0)));
        assert_eq!(check(MOST_ROWS + 1, 1), Err(Impossible::Size(MOST_ROWS + 1)));
        assert_eq!(check(1, 0), Err(Impossible::Tile(0)));
        assert_eq!(check(1, MOST_OF_A_TILE + 1), Err(Impossible::Tile(MOST_OF_A_TILE + 1)));
        assert_eq!(check(MOST_TILES + 1, 1), Err(Impossible::Tiles { size: MOST_TILES + 1, least: 2 }));
    }
}
