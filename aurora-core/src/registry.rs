//! The closed set of protocols, and the constructors of vectors, which have all of them.
//!
//! A vector knows the trait `Protocol` and no behaviour; a behaviour knows vectors and no other protocol. This file
//! stands above both.

use crate::behaviour::accumulate::folds::Folds;
use crate::behaviour::halo::edges::Edges;
use crate::behaviour::paged::protocol::Paging;
use crate::behaviour::read_cache::protocol::Load;
use crate::distribution::{Partition, Shape};
use crate::vector::construct::VectorPlan;
use crate::vector::protocol::Protocols;
use crate::{Element, GVector, Result, Site, World};
use aurora_net::Rank;
#[cfg(test)]
use {
    crate::distribution::Distribution,
    crate::kernel::{Core, nodes::Nodes},
    crate::vector::{block::Block, core::VectorCore, machine::Vector},
    std::sync::Arc,
};

/// The protocols of a vector of this number of ranks, in the order of their numbers.
pub(crate) fn protocols(ranks: usize) -> Protocols {
    let (load, edges) = (Box::new(Load::new(ranks)), Box::new(Edges::default()));
    Protocols::new([load, edges, Box::new(Paging::default()), Box::new(Folds)])
}

/// A rank's part of a vector, without a program.
#[cfg(test)]
pub(crate) fn part<T: Element>(kernel: &Core, dist: Distribution, block: Block, nodes: Nodes) -> Vector {
    let core = VectorCore::new::<T>(kernel, dist, block, Arc::new(nodes));
    Vector::new(kernel, core, protocols(kernel.size))
}

impl<T: Element> GVector<T> {
    /// Collective. Makes a vector of zeros. `partition` is a [`Shape`], for equal blocks: a number of elements, or a
    /// [`MatrixDim`](crate::MatrixDim), which can be written as `(rows, cols)`. Or it is a [`Partition`], for blocks of
    /// given lengths or in proportion to the weights of ranks.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<f64>::new(world, 100)?;
    /// let m = GVector::<f64>::new(world, (20, 5))?; // a matrix
    /// assert_eq!((v.len(), m.len()), (100, 100));
    /// assert_eq!(v.at(99)?, 0.0);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Mismatch` if ranks construct different objects; [`ZeroSized`](crate::Error::ZeroSized);
    /// [`TooLarge`](crate::Error::TooLarge); [`OutOfMemory`](crate::Error::OutOfMemory) if some rank's memory has no
    /// room for its block; for a `Partition` also [`OneForEachRank`](crate::Error::OneForEachRank),
    /// [`TooManyRows`](crate::Error::TooManyRows), [`BadWeight`](crate::Error::BadWeight) and
    /// [`NoWeight`](crate::Error::NoWeight): on all ranks.
    #[doc(alias("NGA_Create", "symmetric heap", "MPI_Win_allocate_shared"))]
    #[track_caller]
    pub fn new<'a>(world: &World, partition: impl Into<Partition<'a>>) -> Result<Self> {
        Self::make(VectorPlan::new::<T>(world, partition.into(), None, Site::here()), world, None)
    }

    /// Collective. Makes a vector whose element `i` is `value(i)`; each rank computes its own elements. Errors as for
    /// [`new`](Self::new).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let squares = GVector::<u64>::from_fn(world, 10, |i| (i * i) as u64)?;
    /// assert_eq!(squares.at(7)?, 49);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn from_fn<'a>(
        world: &World,
        partition: impl Into<Partition<'a>>,
        mut value: impl FnMut(usize) -> T,
    ) -> Result<Self> {
        Self::make(VectorPlan::new::<T>(world, partition.into(), None, Site::here()), world, Some(&mut value))
    }

    /// Collective. Makes a vector of zeros of which rank `r` owns `lengths[r]` elements: [`new`](Self::new) with
    /// [`Partition::lengths`]. For rows of a matrix use [`Partition::rows`].
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::with_blocks(world, &[2, 8])?; // one length for each of 2 ranks
    /// assert_eq!(v.local_range(), [0..2, 2..10][world.rank().index()]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn with_blocks(world: &World, lengths: &[usize]) -> Result<Self> {
        Self::new(world, Partition::lengths(lengths))
    }

    /// Collective. Makes a vector or matrix of zeros in blocks in proportion to the ranks' weights: [`new`](Self::new)
    /// with [`Partition::weighted`].
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::weighted(world, 100, &[1.0, 3.0])?; // one weight for each of 2 ranks
    /// assert_eq!(v.local_range(), [0..25, 25..100][world.rank().index()]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn weighted(world: &World, shape: impl Into<Shape>, weights: &[f64]) -> Result<Self> {
        Self::new(world, Partition::weighted(shape, weights))
    }

    /// Collective. Makes a vector of zeros that `rank` owns as a whole (the paper's `Sample`, section 3.4). Errors as
    /// for [`GVector::new`], and [`NoSuchRank`](crate::Error::NoSuchRank).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let sample = GVector::<u64>::on(world, 1, 50)?;
    /// assert_eq!(sample.local_range().len(), if world.rank() == 1 { 50 } else { 0 });
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias = "on_rank")]
    #[track_caller]
    pub fn on(world: &World, rank: impl Into<Rank>, shape: impl Into<Shape>) -> Result<Self> {
        Self::make(VectorPlan::new::<T>(world, shape.into().into(), Some(rank.into()), Site::here()), world, None)
    }

    #[track_caller]
    fn make(plan: VectorPlan, world: &World, value: Option<&mut dyn FnMut(usize) -> T>) -> Result<Self> {
        Self::construct(plan, world, value, protocols(world.size()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::protocol::Numbered;

    #[test]
    fn each_protocol_has_its_place() {
        assert_eq!([Load::NUMBER, Edges::NUMBER, Paging::NUMBER, Folds::NUMBER], [1, 2, 3, 4]);
        let mut all = protocols(2);
        all.of::<Load>();
        all.of::<Edges>();
        all.of::<Paging>();
        all.of::<Folds>();
    }
}
