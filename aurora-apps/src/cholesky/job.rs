//! The description of a run, and its limits.

use crate::implementation::Implementation;
use aurora_super::Policy;
use thiserror::Error;

/// The maximum number of rows of a tile.
pub const MOST_OF_A_TILE: usize = 1 << 13;

/// The maximum number of tiles in a row of the matrix.
const MOST_TILES: usize = 1 << 8;

/// The maximum number of rows of the matrix.
pub const MOST_ROWS: usize = MOST_TILES * MOST_OF_A_TILE;

/// A run. Every rank must ask for the same.
#[derive(Clone, Debug)]
pub struct Cholesky {
    /// Rows and columns of the matrix.
    pub size: usize,
    /// Rows and columns of a tile. The tiles of the last row and column may be smaller.
    pub tile: usize,
    /// The policy of the super-program; `None` is its default.
    pub policy: Option<Policy>,
    /// The implementations, which take turns.
    pub implementations: Vec<Implementation>,
    /// The number of repetitions, each with a new matrix.
    pub reps: usize,
    /// The seed of the matrices; `None` draws a new seed.
    pub seed: Option<u64>,
    /// Changes one element of each result, to show that the verification can fail.
    pub damage: bool,
}

impl Default for Cholesky {
    fn default() -> Self {
        let implementations = vec![Implementation::Aurora];
        Cholesky { size: 1536, tile: 128, policy: None, implementations, reps: 5, seed: None, damage: false }
    }
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

    #[test]
    fn limits_are_told() {
        let check = |size, tile| Cholesky { size, tile, ..Cholesky::default() }.check();
        assert_eq!((check(1, 1), check(MOST_ROWS, MOST_OF_A_TILE)), (Ok(()), Ok(())));
        assert_eq!(check(0, 1), Err(Impossible::Size(0)));
        assert_eq!(check(MOST_ROWS + 1, 1), Err(Impossible::Size(MOST_ROWS + 1)));
        assert_eq!(check(1, 0), Err(Impossible::Tile(0)));
        assert_eq!(check(1, MOST_OF_A_TILE + 1), Err(Impossible::Tile(MOST_OF_A_TILE + 1)));
        assert_eq!(check(MOST_TILES + 1, 1), Err(Impossible::Tiles { size: MOST_TILES + 1, least: 2 }));
    }
}
