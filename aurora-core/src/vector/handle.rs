//! The distributed vector.

use super::asking::GATE;
use super::{VectorRange, distmemcpy};
use crate::distribution::{Distribution, MatrixDim, Shape};
use crate::kernel::message::malformed;
use crate::memory::node::home::Place;
use crate::memory::{self, Array, Direct, SharedCopy};
use crate::object::Shared;
use crate::polls::Level;
use crate::race::AccessKind;
use crate::scope::{Opening, Rule, Served};
use crate::vector::construct::VectorPlan;
use crate::vector::machine::Vector;
use crate::vector::message::Request;
use crate::vector::protocol::Protocols;
use crate::window::Window;
use crate::{Element, Error, Kind, ObjectName, Result, Site, World, digest};
use aurora_net::Rank;
use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;

/// A vector whose elements are distributed over all ranks of a job (paper section 2.1).
///
/// Each rank owns one block, cut by elements, or by whole rows for a [`MatrixDim`]; the first blocks are one unit
/// longer if a remainder is left. With a [`Partition`](crate::Partition), which gives lengths or the weights of the
/// ranks, each block has its own length, which may be 0. With [`GVector::on`], one rank owns the whole vector. **All
/// indices are global.**
///
/// There is no `v[i]`. Without a behaviour every access is synchronous: [`at`](GVector::at) and [`put`](GVector::put)
/// of an element on another machine are one message to the owner's daemon and one back. For an element of a rank that
/// shares memory with this rank, they are a load and a store. A *scoped behaviour* makes a phase of the program fast:
/// one of the methods below opens it, and it ends when its guard goes out of scope.
///
/// Dropping a vector sends one message to each rank and waits for none. A block is served until every rank has dropped
/// the vector.
///
/// A vector is neither `Send` nor `Sync`: it belongs to the thread of its rank. Slices that guards show are ordinary
/// data, which other threads may use inside a scope.
pub struct GVector<T: Element> {
    pub(crate) shared: Shared<Vector>,
    pub(crate) dist: Distribution,
    /// Memory of the last `at_many`, for reuse.
    pub(super) positions: Cell<Vec<Vec<u32>>>,
    pub(crate) direct: Direct<T>,
    /// Memory of a copy of the whole vector, for reuse.
    pub(crate) private: Cell<Array<T>>,
    /// This rank's partial copy in the node's shared memory, while no guard has it.
    pub(crate) shared_copy: Cell<Option<SharedCopy<T>>>,
    element: PhantomData<*const T>,
}

impl<T: Element> GVector<T> {
    #[track_caller]
    pub(crate) fn construct(
        mut plan: VectorPlan,
        world: &World,
        value: Option<&mut dyn FnMut(usize) -> T>,
        protocols: Protocols,
    ) -> Result<Self> {
        let (dist, link) = (plan.dist.clone(), world.link().of_next_object());
        let modes = link.modes;
        // A large block is made in the shared memory where it stays.
        let (place, early) = if plan.admit::<T>(&link)? { plan.place(&link)? } else { (None, None) };
        let settled = place.is_some();
        let (own, home) = place.map(Place::occupied).unzip();
        let block = plan.block(world, own, value);
        let shared = plan.agree(link, block, home, protocols)?;
        let (place, shared_copy) = if settled { (None, early) } else { plan.place::<T>(&shared)? };
        let direct = shared.tidy(|object, _| {
            if let Some(place) = place {
                object.core.block.settle_down(place);
            }
            let direct = object.core.direct(modes.deny);
            object.core.scopes.has_changed = true;
            direct
        });
        Ok(GVector {
            shared,
            dist,
            positions: Cell::default(),
            direct,
            private: Cell::default(),
            shared_copy: Cell::new(shared_copy),
            element: PhantomData,
        })
    }

    /// Number of elements of the whole vector.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let m = GVector::<u64>::new(world, (20, 5))?;
    /// assert_eq!(m.len(), 100); // not only this rank's part
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.dist.len()
    }

    /// Returns true if the vector has no elements.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let (none, one) = (GVector::<u64>::new(world, 0)?, GVector::<u64>::new(world, 1)?);
    /// assert!(none.is_empty());
    /// assert_eq!((one.is_empty(), one.local_range().is_empty()), (false, !world.is_root()));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.dist.is_empty()
    }

    /// Rows and columns, if the vector is a matrix.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let (m, v) = (GVector::<u64>::new(world, (20, 5))?, GVector::<u64>::new(world, 100)?);
    /// assert_eq!(m.dim(), Some(MatrixDim::new(20, 5)));
    /// assert_eq!(v.dim(), None);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn dim(&self) -> Option<MatrixDim> {
        match self.dist.shape() {
            Shape::Matrix(dim) => Some(dim),
            Shape::Vector(_) => None,
        }
    }

    /// Elements of a row: 0 for a matrix without columns, 1 for a vector that is no matrix.
    #[inline]
    pub(crate) fn row_len(&self) -> usize {
        self.dist.shape().unit()
    }

    /// The rank that owns element `index`.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(3).run(|world| {
    /// let v = GVector::<u64>::new(world, 10)?; // blocks of 4, 3 and 3
    /// assert_eq!([v.owner(0), v.owner(4), v.owner(9)].map(Rank::index), [0, 1, 2]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Panics
    /// If the vector has no such element.
    #[track_caller]
    pub fn owner(&self, index: usize) -> Rank {
        assert!(index < self.len(), "index {index} is outside a vector of {} elements", self.len());
        self.dist.owner(index)
    }

    /// The global indices that this rank owns.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::new(world, 9)?;
    /// assert_eq!(v.local_range(), [0..5, 5..9][world.rank().index()]); // of 2 ranks
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn local_range(&self) -> Range<usize> {
        self.direct.range()
    }

    /// The global numbers of the rows that this rank owns. If the vector is no matrix, each element is a row.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let m = GVector::<u64>::new(world, (9, 4))?;
    /// assert_eq!(m.local_rows(), [0..5, 5..9][world.rank().index()]); // of 2 ranks
    /// assert_eq!(m.local_range(), [0..20, 20..36][world.rank().index()]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn local_rows(&self) -> Range<usize> {
        let (own, cols) = (self.local_range(), self.row_len().max(1));
        own.start / cols..own.end / cols
    }

    /// The global indices that `rank` owns.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(3).run(|world| {
    /// let v = GVector::<u64>::new(world, 10)?;
    /// assert_eq!([0, 1, 2].map(|rank| v.range_of(rank)), [0..4, 4..7, 7..10]);
    /// assert_eq!(v.owner(5), 1);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Panics
    /// If the job has no such rank.
    #[doc(alias = "NGA_Distribution")]
    #[track_caller]
    pub fn range_of(&self, rank: impl Into<Rank>) -> Range<usize> {
        let (rank, size) = (rank.into(), self.shared.size);
        assert!(rank.index() < size, "{rank} does not exist: this job has {size} ranks, numbered from 0");
        self.dist.range(rank)
    }

    /// Element `index`: a load if this rank owns it or shares memory with its owner; else one round trip to the owner.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 100 + i as u64)?;
    /// assert_eq!(v.at(7)?, 107); // a rank reads alone: the call is not collective
    /// assert!(matches!(v.at(10), Err(Error::IndexOutside { index: 10, .. })));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::IndexOutside`]; `Leaked`, `Poisoned` or `Mismatch` of the vector; the error that ended the job. With
    /// [`deny_scalar`](crate::Config::deny_scalar), [`Error::Denied`] for an element of another rank.
    #[doc(alias("get", "load", "rget", "MPI_Get", "shmem_get"))]
    #[inline]
    #[track_caller]
    pub fn at(&self, index: usize) -> Result<T> {
        match self.direct.at(index, || self.dist.owner_index(index)) {
            Some(element) => Ok(element),
            None => self.look_at(index, Site::here()),
        }
    }

    /// The slow path of `at`: the element cannot be read directly, or looks are watched.
    #[cold]
    fn look_at(&self, index: usize, site: Site) -> Result<T> {
        let owner = || self.dist.owner_index(index);
        let level = self.shared.watched();
        let look = || {
            let at_once = match level {
                Level::All => self.direct.at_watched(index, owner),
                _ if self.direct.wake(level) => self.direct.at(index, owner),
                _ => None,
            };
            at_once.map_or_else(|| self.at_by_kernel(index, &site), Ok)
        };
        let found = |element: &T| Some(digest::of(bytemuck::bytes_of(element)));
        self.shared.look_at((self.shared.id(), "at", &site), || index as u64, look, found)
    }

    fn at_by_kernel(&self, index: usize, site: &Site) -> Result<T> {
        self.check_index(index, site)?;
        let owner = self.dist.owner(index);
        let local = index - self.dist.range(owner).start;
        if owner == self.shared.me {
            self.check_own(AccessKind::Read, Some(local..local + 1), Window::WHOLE, site)?;
            return self.read_own(site, |own| own[local]);
        }
        self.check_single("at", index, owner, site)?;
        let request = Request::Read { start: local as u64, len: 1, owners: 1 };
        let bytes = self.ask(owner, request, Vec::new(), "at", site)?;
        bytemuck::try_pod_read_unaligned(&bytes).map_err(|_| malformed(owner))
    }

    /// Sets element `index`: a store if this rank owns it, or shares memory with its owner and the element has at
    /// most 8 bytes; else one round trip to the owner, after which every rank reads the new value. Errors as for
    /// [`at`](GVector::at).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// if world.is_root() {
    ///     v.put(9, 5)?; // the owner, rank 1, does nothing
    /// }
    /// world.barrier()?; // before another rank reads
    /// assert_eq!(v.at(9)?, 5);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("set", "store", "rput", "MPI_Put", "shmem_put"))]
    #[inline]
    #[track_caller]
    pub fn put(&mut self, index: usize, value: T) -> Result<()> {
        if self.direct.put(index, value, || self.dist.owner_index(index)) {
            return Ok(());
        }
        self.put_by_kernel(index, value, Site::here())
    }

    #[cold]
    fn put_by_kernel(&mut self, index: usize, value: T, site: Site) -> Result<()> {
        self.shared.no_look();
        if self.direct.wake(Level::Nothing) && self.direct.put(index, value, || self.dist.owner_index(index)) {
            return Ok(());
        }
        self.check_index(index, &site)?;
        let owner = self.dist.owner(index);
        let local = index - self.dist.range(owner).start;
        if owner == self.shared.me {
            self.check_own(AccessKind::Write, Some(local..local + 1), Window::WHOLE, &site)?;
            return self.write_own(&site, |own| own[local] = value);
        }
        self.check_single("put", index, owner, &site)?;
        let request = Request::WriteAt { start: local as u64 };
        self.ask(owner, request, bytemuck::bytes_of(&value).to_vec(), "put", &site).map(drop)
    }

    /// Collective. Sets every element to `value`. Orders all ranks: earlier writes of any rank are overwritten, and
    /// later accesses of any rank see the new value. Errors as for [`World::barrier`].
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::from_fn(world, 10, |i| i as u64)?;
    /// v.fill(3)?;
    /// assert_eq!(v.at(9)?, 3); // no barrier is needed before
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn fill(&mut self, value: T) -> Result<()> {
        let site = Site::here();
        let settled = self.await_usable(true, Window::WHOLE, &site);
        let key = self.shared.id().0;
        self.shared.synchronize(
            "a fill",
            &format_args!("the filling of {}", self.name()),
            key,
            // The error goes to all ranks, because they make this call, too.
            settled.err(),
            &site,
        )?;
        let opening = Opening::new("filled", Kind::Barrier, Rule::Met, &site);
        let epoch = self.shared.on(&site, |object, cx| object.enter(opening, cx))?;
        self.shared.wait_on(GATE, &site, |object, cx| {
            if let Err(error) = cx.usable(true) {
                return Some(Err(error));
            }
            let core = &mut object.core;
            core.block.write(|bytes| bytemuck::cast_slice_mut(bytes).fill(value))?;
            core.scopes.end_met(epoch);
            Some(core.note_fill(epoch, &site, cx))
        })
    }

    /// Collective. Returns the whole vector on rank `root`, `None` on other ranks. Orders all ranks before and after.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 4, |i| i as u64)?;
    /// let whole = v.gather_to(0)?;
    /// assert_eq!(whole, world.is_root().then(|| vec![0, 1, 2, 3]));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`World::barrier`]; [`Error::NoSuchRank`]; [`Error::OutOfMemory`] if `root` has no room for the whole vector.
    #[doc(alias("gather", "collect", "MPI_Gather"))]
    #[track_caller]
    pub fn gather_to(&self, root: impl Into<Rank>) -> Result<Option<Vec<T>>> {
        let (site, root) = (Site::here(), root.into());
        let size = self.shared.size;
        let refusal = if root.index() >= size {
            Some(Error::NoSuchRank { rank: root, size, site: site.clone() })
        } else {
            self.shared.tidy(|_, cx| cx.usable(false).err())
        };
        let text = format!("the gathering of {} on {root}", self.name());
        let key = self.shared.id().0 ^ ((root.index() as u64 + 1) << 32);
        self.shared.synchronize("a gather", &text, key, refusal, &site)?;
        let gathered = (root == self.shared.me).then(|| {
            let whole = memory::zeros(self.len());
            let mut whole = whole.map_err(|shortage| shortage.error(root, "a gather", self.name(), &site))?;
            distmemcpy(&mut whole[..], VectorRange::new(self, .., site.clone())).map(|()| whole)
        });
        let (whole, failed) = gathered.transpose().map_or_else(|error| (None, Some(error)), |whole| (whole, None));
        self.shared.synchronize("the end of a gather", &text, key, failed, &site)?;
        Ok(whole)
    }

    pub(crate) fn name(&self) -> ObjectName {
        self.shared.name.clone()
    }

    pub(crate) fn check_index(&self, index: usize, site: &Site) -> Result<()> {
        if index < self.len() { Ok(()) } else { Err(self.outside(index, None, site)) }
    }

    /// The error of an index outside the vector, at `position` of a list of indices.
    #[cold]
    pub(crate) fn outside(&self, index: usize, position: Option<usize>, site: &Site) -> Error {
        Error::IndexOutside { index, position, len: self.len(), object: Box::new(self.name()), site: site.clone() }
    }

    /// The error of an index that a behaviour does not show on this rank.
    pub(crate) fn not_shown(
        &self,
        index: usize,
        shown: &Range<usize>,
        behaviour: impl Into<String>,
        site: Site,
    ) -> Error {
        let (Range { start, end }, object) = (shown.clone(), Box::new(self.name()));
        Error::NotShown { index, start, end, behaviour: behaviour.into(), object, site }
    }

    /// Refuses access to a single element of another rank, if that is denied.
    fn check_single(&self, access: &str, index: usize, owner: Rank, site: &Site) -> Result<()> {
        if !self.shared.modes.deny {
            return Ok(());
        }
        Err(Error::Denied { access: access.into(), index, owner, object: Box::new(self.name()), site: site.clone() })
    }
}

impl<T: Element> std::fmt::Debug for GVector<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shared.name.what)
    }
}
