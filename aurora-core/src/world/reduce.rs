//! Reductions and scans over the ranks.

use super::World;
use crate::collective::{In, Proposal, fold};
use crate::link::{CollectiveCall, Give, Step};
use crate::operation::{TypeKey, short};
use crate::ops::{self, Op};
use crate::{Element, Error, Result, Site, digest};
use aurora_net::Rank;
use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

/// The use of the contributions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reduction {
    /// Every rank gets all contributions, combined.
    All,
    /// One rank gets all contributions, combined.
    To(Rank),
    /// Each rank gets its own contribution and the contributions of the ranks before it, combined.
    Scan,
    /// Each rank gets the contributions of the ranks before it, combined.
    ExclusiveScan,
}

impl Reduction {
    fn name(self) -> &'static str {
        match self {
            Reduction::All => "all_reduce",
            Reduction::To(_) => "reduce_to",
            Reduction::Scan => "scan",
            Reduction::ExclusiveScan => "exclusive_scan",
        }
    }

    /// Equal on ranks that make the same call.
    fn key(self) -> u64 {
        match self {
            Reduction::All => 1,
            Reduction::Scan => 2,
            Reduction::ExclusiveScan => 3,
            Reduction::To(root) => 4 + root.index() as u64,
        }
    }

    /// A rank's result combines the contributions of the ranks below this number.
    fn upto(self, rank: usize, size: usize) -> usize {
        match self {
            Reduction::All => size,
            Reduction::To(root) => size * usize::from(root == rank),
            Reduction::Scan => rank + 1,
            Reduction::ExclusiveScan => rank,
        }
    }
}

impl World {
    /// Collective. Combines the values of all ranks with an operation, and returns the result on each rank:
    /// `MPI_Allreduce`.
    ///
    /// Values are combined by [`Op::combine`] in the order of the ranks, `((x0 . x1) . x2) ..`, with the same bits on
    /// all ranks, runs and routes. The operation need not commute. Like a [`barrier`](World::barrier) it orders all
    /// ranks.
    ///
    /// ```
    /// use aurora_core::ops::{Max, Sum};
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let mine = f64::from(world.rank().index() as u32);
    ///     let norm = world.all_reduce(Sum, mine * mine)?.sqrt();
    ///     assert_eq!(norm, 5f64.sqrt());
    ///     assert_eq!(world.all_reduce(Max, mine)?, 2.0);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Mismatch`, with both lines, if a rank makes another collective call, or this one with another type or
    /// operation; [`Error::ZeroSized`]; the error that ended the job.
    #[doc(alias("allreduce", "MPI_Allreduce", "co_sum"))]
    #[track_caller]
    pub fn all_reduce<T: Element, O: Op<T>>(&self, op: O, mut value: T) -> Result<T> {
        self.combine(Reduction::All, op, std::slice::from_mut(&mut value), &Site::here()).map(|_| value)
    }

    /// Collective. Does an [`all_reduce`](World::all_reduce) for each element of a slice of the same length on all
    /// ranks: each element is replaced by the combination of all ranks' elements at its index.
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let mut counts = vec![0u64; 1000];
    ///     counts[world.rank().index()] += 1;
    ///     counts[500] += 1;
    ///     world.all_reduce_slice(Sum, &mut counts)?;
    ///     assert_eq!((counts[0], counts[1], counts[2], counts[500]), (1, 1, 1, 3));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`all_reduce`](World::all_reduce); `Mismatch` also if lengths differ.
    #[doc(alias("allreduce", "MPI_Allreduce"))]
    #[track_caller]
    pub fn all_reduce_slice<T: Element, O: Op<T>>(&self, op: O, values: &mut [T]) -> Result<()> {
        self.combine(Reduction::All, op, values, &Site::here()).map(drop)
    }

    /// Collective. Combines the values of all ranks as [`all_reduce`](World::all_reduce) does, for rank `root` only.
    /// Returns `None` on the other ranks. `MPI_Reduce`. It orders all ranks.
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let sum = world.reduce_to(0, Sum, 10 + world.rank().index())?;
    /// assert_eq!(sum, world.is_root().then_some(10 + 11)); // of 2 ranks
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`all_reduce`](World::all_reduce); [`Error::NoSuchRank`].
    #[doc(alias("reduce", "MPI_Reduce"))]
    #[track_caller]
    pub fn reduce_to<T: Element, O: Op<T>>(&self, root: impl Into<Rank>, op: O, mut value: T) -> Result<Option<T>> {
        let changed = self.combine(Reduction::To(root.into()), op, std::slice::from_mut(&mut value), &Site::here());
        changed.map(|changed| changed.then_some(value))
    }

    /// Collective. Does a [`reduce_to`](World::reduce_to) for each element of a slice of the same length on all ranks.
    /// On `root` each element is replaced by the combination; on the other ranks the slice does not change.
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut values = [1, 10 + world.rank().index()];
    /// world.reduce_slice_to(0, Sum, &mut values)?;
    /// assert_eq!(values, [[2, 10 + 11], [1, 11]][world.rank().index()]); // of 2 ranks
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`reduce_to`](World::reduce_to); `Mismatch` also if lengths differ.
    #[doc(alias("reduce", "MPI_Reduce"))]
    #[track_caller]
    pub fn reduce_slice_to<T: Element, O: Op<T>>(&self, root: impl Into<Rank>, op: O, values: &mut [T]) -> Result<()> {
        self.combine(Reduction::To(root.into()), op, values, &Site::here()).map(drop)
    }

    /// Collective. Combines the values of ranks 0 to this rank, in their order: `MPI_Scan`. It orders all ranks.
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let sum = world.scan(Sum, 10 * (world.rank().index() + 1))?;
    ///     assert_eq!(sum, [10, 30, 60][world.rank().index()]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`all_reduce`](World::all_reduce).
    #[doc(alias("prefix_sum", "MPI_Scan"))]
    #[track_caller]
    pub fn scan<T: Element, O: Op<T>>(&self, op: O, mut value: T) -> Result<T> {
        self.combine(Reduction::Scan, op, std::slice::from_mut(&mut value), &Site::here()).map(|_| value)
    }

    /// Collective. Does a [`scan`](World::scan) for each element of a slice of the same length on all ranks.
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut values = [1, 10 + world.rank().index()];
    /// world.scan_slice(Sum, &mut values)?;
    /// assert_eq!(values, [[1, 10], [2, 10 + 11]][world.rank().index()]); // of 2 ranks
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`all_reduce_slice`](World::all_reduce_slice).
    #[track_caller]
    pub fn scan_slice<T: Element, O: Op<T>>(&self, op: O, values: &mut [T]) -> Result<()> {
        self.combine(Reduction::Scan, op, values, &Site::here()).map(drop)
    }

    /// Collective. Combines the values of the ranks before this rank: `MPI_Exscan`. Returns `None` on rank 0. It orders
    /// all ranks.
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let found = 10 * (world.rank().index() + 1); // the number of this rank's results
    ///     let first = world.exclusive_scan(Sum, found)?.unwrap_or(0); // the index of the first one, of all ranks
    ///     assert_eq!(first, [0, 10, 30][world.rank().index()]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`all_reduce`](World::all_reduce).
    #[doc(alias("exscan", "MPI_Exscan"))]
    #[track_caller]
    pub fn exclusive_scan<T: Element, O: Op<T>>(&self, op: O, mut value: T) -> Result<Option<T>> {
        let changed = self.combine(Reduction::ExclusiveScan, op, std::slice::from_mut(&mut value), &Site::here());
        changed.map(|changed| changed.then_some(value))
    }

    /// Collective. Does an [`exclusive_scan`](World::exclusive_scan) for each element of a slice of the same length on
    /// all ranks. Returns false on rank 0, where the slice does not change.
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut values = [1, 10 + world.rank().index()];
    /// let changed = world.exclusive_scan_slice(Sum, &mut values)?;
    /// assert_eq!(changed, !world.is_root());
    /// assert_eq!(values, [1, 10]); // on rank 0 its own values, on rank 1 the values of rank 0
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`all_reduce_slice`](World::all_reduce_slice).
    #[track_caller]
    pub fn exclusive_scan_slice<T: Element, O: Op<T>>(&self, op: O, values: &mut [T]) -> Result<bool> {
        self.combine(Reduction::ExclusiveScan, op, values, &Site::here())
    }

    /// Returns whether this rank's values are replaced.
    fn combine<T: Element, O: Op<T>>(
        &self,
        reduction: Reduction,
        op: O,
        values: &mut [T],
        site: &Site,
    ) -> Result<bool> {
        ops::stateless(op);
        if size_of::<T>() == 0 {
            return Err(Error::ZeroSized { element: type_name::<T>().into(), site: site.clone() });
        }
        let call = Call { reduction, element: short::<T>(), len: values.len(), op: PhantomData::<O> };
        let key = [TypeKey::of::<T>().number(), TypeKey::of::<O>().number(), values.len() as u64];
        let action = In(&call);
        let proposal = Proposal {
            refusal: match reduction {
                Reduction::To(root) => self.is_there(root, site).err(),
                _ => None,
            },
            ..Proposal::new(reduction.name(), &action, key.into_iter().fold(reduction.key(), digest::add))
        };
        let upto = reduction.upto(self.rank().index(), self.size());
        let mut call = CollectiveCall::new(self.link(), proposal, site);
        if let [value] = values
            && size_of::<T>() <= call.longest_word(call.size())
        {
            *value = call.share(Give::Word(bytemuck::bytes_of(&*value)), |given| match upto {
                0 => *value,
                _ => {
                    let of = |rank| fold::value::<T>(given.of(rank));
                    (1..upto).fold(of(0), |so_far, rank| O::combine(so_far, of(rank)))
                }
            })?;
        } else if is_short(size_of_val(values), &call) {
            let mut combined = vec![T::zeroed(); if upto > 0 { values.len() } else { 0 }];
            call.share(Give::Word(bytemuck::cast_slice(values)), |given| {
                if upto > 0 {
                    fold::all::<T, O>(&mut combined, upto, |rank| given.of(rank));
                }
            })?;
            values[..combined.len()].copy_from_slice(&combined);
        } else {
            in_steps::<T, O>(&mut call, reduction, values)?;
        }
        Ok(upto > 0)
    }

    /// Fails if the job has no such rank.
    pub(super) fn is_there(&self, rank: Rank, site: &Site) -> Result<()> {
        match rank.index() < self.size() {
            true => Ok(()),
            false => Err(Error::NoSuchRank { rank, size: self.size(), site: site.clone() }),
        }
    }
}

/// True if every rank gets all contributions and combines them by itself. In the node's memory, reading long
/// contributions takes longer than sharing the work and one more barrier.
fn is_short(bytes: usize, call: &CollectiveCall<'_>) -> bool {
    const READ: usize = 32 << 10;
    let fits = bytes <= call.longest_word(call.size());
    fits && (!call.is_on_one_node() || (call.size() - 1) * bytes <= READ)
}

/// Each rank combines the contributions to a share of the elements, and gives other ranks the results that they need.
/// Works in chunks that fit in a step.
fn in_steps<T: Element, O: Op<T>>(call: &mut CollectiveCall<'_>, reduction: Reduction, values: &mut [T]) -> Result<()> {
    let (me, size) = (call.me(), call.size());
    if call.longest() < size * size_of::<T>() {
        call.by_messages();
    }
    // A multiple of the number of ranks: then all shares are equal, and a rank never gives more than `longest`.
    let at_once = (call.longest() / size_of::<T>() / size).max(1) * size;
    let mut combined = Vec::new();
    for values in values.chunks_mut(at_once) {
        let len = values.len();
        let share = |rank: usize| fold::share(len, size, rank);
        let own = share(me).len();
        // A scan has one result for each rank, one after the other; other reductions have one.
        let each = matches!(reduction, Reduction::Scan | Reduction::ExclusiveScan);
        let results = if each { size } else { 1 };
        let place = |rank: usize| if each { rank } else { 0 };
        let bytes = |elements: Range<usize>| elements.start * size_of::<T>()..elements.end * size_of::<T>();

        // Keeps the length of the chunk before where possible; all elements are overwritten.
        combined.resize(results * own, T::zeroed());
        let give =
            Step { bytes: bytemuck::cast_slice(values), to: &|to| bytes(share(to)), from: &|_| bytes(share(me)) };
        call.share(Give::Pieces(give), |given| match reduction {
            Reduction::All | Reduction::To(_) => fold::all::<T, O>(&mut combined, size, |rank| given.of(rank)),
            Reduction::Scan => prefixes::<T, O>(&mut combined, own, |rank| given.of(rank)),
            // Rank 0's result is not used.
            Reduction::ExclusiveScan => prefixes::<T, O>(&mut combined[own..], own, |rank| given.of(rank)),
        })?;

        let has = |rank: usize| reduction.upto(rank, size) > 0;
        let part = |of: usize, to: usize| match has(to) {
            true => bytes(place(to) * share(of).len()..(place(to) + 1) * share(of).len()),
            false => 0..0,
        };
        let give =
            Step { bytes: bytemuck::cast_slice(&combined), to: &|to| part(me, to), from: &|from| part(from, me) };
        call.share(Give::Pieces(give), |given| {
            if has(me) {
                (0..size).for_each(|rank| fold::copy(&mut values[share(rank)], given.of(rank)));
            }
        })?;
    }
    Ok(())
}

/// The combined contributions of rank 0, of ranks 0 and 1, and so on, one after the other, as many as `into` holds.
fn prefixes<'a, T: Element, O: Op<T>>(into: &mut [T], len: usize, of: impl Fn(usize) -> &'a [u8]) {
    if len == 0 {
        return;
    }
    for rank in 0..into.len() / len {
        let (before, own) = into[..(rank + 1) * len].split_at_mut(rank * len);
        if rank == 0 {
            fold::copy(own, of(0));
        } else {
            own.copy_from_slice(&before[(rank - 1) * len..]);
            fold::combine::<T, O>(own, of(rank));
        }
    }
}

/// The call, in words of an error.
struct Call<O> {
    reduction: Reduction,
    element: &'static str,
    len: usize,
    op: PhantomData<O>,
}

impl<O> fmt::Display for Call<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Call { reduction, element, len, .. } = self;
        write!(f, "{}({}) of {len} {element}", reduction.name(), short::<O>())?;
        match reduction {
            Reduction::To(root) => write!(f, " to {root}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Sum;

    #[test]
    fn prefixes_are_those_of_each_rank() {
        let of = [[1u32, 10], [2, 20], [3, 30]];
        for ranks in 0..=3 {
            let mut into = vec![0; 2 * ranks];
            prefixes::<u32, Sum>(&mut into, 2, |rank| bytemuck::cast_slice(&of[rank]));
            assert_eq!(into, [1, 10, 3, 30, 6, 60][..2 * ranks]);
        }
        prefixes::<u32, Sum>(&mut [], 0, |_| unreachable!("nobody has anything"));
    }
}
