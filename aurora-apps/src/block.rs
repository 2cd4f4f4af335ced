//! The part that each rank has of something that is distributed as the library distributes vectors.

use crate::implementation::Implementation;
use aurora_core::prelude::*;
use std::ops::Range;

/// Returns the part of `units` units that `rank` of `ranks` ranks has. If `ranks` does not divide `units`, the first
/// ranks have one unit more.
pub fn block(units: usize, ranks: usize, rank: usize) -> Range<usize> {
    let (base, longer) = (units / ranks, units % ranks);
    let start = rank * base + rank.min(longer);
    start..start + base + usize::from(rank < longer)
}

/// Distributes the rows of a matrix over ranks with these weights. Without weights the blocks are equal.
pub fn by_weight(dim: MatrixDim, weights: &[f64]) -> Partition<'_> {
    if weights.is_empty() { dim.into() } else { Partition::weighted(dim, weights) }
}

/// Refuses weights if one of the implementations is a program over MPI, because these programs have equal blocks.
///
/// # Errors
/// The error names the first of these programs.
#[track_caller]
pub fn check_weights(weights: &[f64], implementations: &[Implementation]) -> Result<()> {
    match implementations.iter().find(|implementation| implementation.is_mpi()) {
        Some(mpi) if !weights.is_empty() => {
            Err(Error::user(format!("`{}` has equal blocks: run it without --weights, or leave it out", mpi.name())))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_over_mpi_have_equal_blocks() {
        let both = [Implementation::Aurora, Implementation::MpiIsend];
        assert!(check_weights(&[1.0, 3.0], &both[..1]).is_ok() && check_weights(&[], &both).is_ok());
        let refused = check_weights(&[1.0, 3.0], &both).expect_err("not for both").to_string();
        assert!(refused.contains("`mpi-isend` has equal blocks: run it without --weights"), "{refused}");
    }

    #[test]
    fn blocks_are_the_librarys() {
        Config::threads(3)
            .run(|world| {
                for units in [0, 1, 2, 3, 10, 11, 12] {
                    let vector = GVector::<u8>::new(world, units)?;
                    (0..3).for_each(|rank| assert_eq!(block(units, 3, rank), vector.range_of(rank)));
                }
                Ok(())
            })
            .unwrap();
    }
}
