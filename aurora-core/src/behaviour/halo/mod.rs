//! `HaloCache`: this rank's own part and a copy of the elements around it, refreshed from the neighbours.

pub(crate) mod edges;
mod geometry;
pub(crate) mod message;
mod outside;
mod show;

pub use geometry::{Boundary, Halo};

use super::{Behaviour, HaloCache, HaloCacheMut, Owner, OwnerMut, Scope, ShowsOwnPart, Taken, kind};
use crate::behaviour::halo::edges::{Edges, Exchange};
use crate::behaviour::owner::Part;
use crate::kernel::Reason;
use crate::memory::{Array, typed};
use crate::scope::{Opening, Rule, Served};
use crate::vector::asking::GATE;
use crate::vector::protocol::Numbered;
use crate::window::Window;
use crate::{Element, GVector, Kind, Result, Site};
use aurora_net::LetterCount;
use std::sync::Arc;

/// Holds this rank's block as `O` does, and a copy of the elements around it.
pub struct Haloed<O: ShowsOwnPart> {
    own: O,
    halo: Halo,
    /// The elements before the block, then those behind it; empty during an exchange and after a failed one.
    around: Arc<Array<O::Element>>,
    reach: (usize, usize),
    exchange: Exchange,
    letters: Arc<[LetterCount]>,
}

kind!([O: ShowsOwnPart] Haloed<O>);

impl<O: ShowsOwnPart> Behaviour for Haloed<O> {
    type Element = O::Element;
    const NAME: &'static str = "HaloCache";
    const WRITES: bool = O::WRITES;

    fn hand_back(&mut self, vector: &GVector<O::Element>) -> Option<Taken> {
        self.own.hand_back(vector)
    }

    fn abandon(&mut self, vector: &GVector<O::Element>) {
        self.own.abandon(vector);
        self.end(vector);
    }
}

impl<T: Element> GVector<T> {
    /// Collective with the neighbours. Opens a `HaloCache` for reading: this rank's own part and the rows around it
    /// that `halo` asks for, all by global index. If the vector is no matrix, each element is a row.
    ///
    /// Every rank sends its edges to its neighbours, and waits only for the edges of its neighbours. If the halo is not
    /// wider than a block, a rank sends two messages, or one at the ends. The halo is a copy: each element has the
    /// value of the moment when its owner entered. A rank whose block is empty exchanges nothing and has no halo.
    /// Earlier `put`s of other ranks are seen after a [`barrier`](crate::World::barrier). The memory, twice the halo,
    /// is kept for the next HaloCache of that width, until [`release_cache`](GVector::release_cache).
    ///
    /// # Errors
    /// Errors of earlier collective scopes, for whose end the call waits; `Mismatch` if ranks open different scopes or
    /// halos; `Leaked` if a write guard was forgotten; [`Error::OutOfMemory`](crate::Error::OutOfMemory) if a rank
    /// has no room for the halo; [`Error::CacheLimit`](crate::Error::CacheLimit) if the halo is larger than allowed;
    /// the error that ended the job.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let v = GVector::<i64>::from_fn(world, 10, |i| (i * i) as i64)?;
    ///     let h = v.halo_cache(1)?;
    ///     for i in h.indices().filter(|i| (1..9).contains(i)) {
    ///         assert_eq!(h[i - 1] - 2 * h[i] + h[i + 1], 2); // the second difference of squares
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("ghost", "stencil", "StencilDist", "GA_Update_ghosts", "MPI_Neighbor_alltoallv"))]
    #[track_caller]
    pub fn halo_cache(&self, halo: impl Into<Halo>) -> Result<HaloCache<'_, T>> {
        let site = Site::here();
        self.open_halo(halo.into(), Owner::of(Part::new(self, Window::WHOLE, &site)), site)
    }

    /// Collective with the neighbours. Opens a `HaloCache` for writing: as [`halo_cache`](GVector::halo_cache), and
    /// this rank's own part can be written. [`refresh`](Scope::refresh) shows the written values to the neighbours.
    ///
    /// # Errors
    /// As [`halo_cache`](GVector::halo_cache); `Leaked` if any guard was forgotten.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// // A wave that travels around a ring, one element in each step.
    /// Config::threads(3).run(|world| {
    ///     let mut v = GVector::<u8>::from_fn(world, 12, |i| (i == 0) as u8)?;
    ///     let mut h = v.halo_cache_mut(Halo::periodic(1))?;
    ///     for _ in 0..7 {
    ///         let (before, own, _) = h.parts_mut();
    ///         own.rotate_right(1);
    ///         own[0] = before[0];
    ///         h.refresh()?; // one message to each of the two neighbours
    ///     }
    ///     h.finish()?;
    ///     world.barrier()?;
    ///     assert_eq!(v.at(7)?, 1);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("ghost", "stencil"))]
    #[track_caller]
    pub fn halo_cache_mut(&mut self, halo: impl Into<Halo>) -> Result<HaloCacheMut<'_, T>> {
        let site = Site::here();
        self.open_halo(halo.into(), OwnerMut::of(Part::new(self, Window::WHOLE, &site)), site)
    }

    fn open_halo<O>(&self, halo: Halo, own: O, site: Site) -> Result<Scope<'_, Haloed<O>>>
    where
        O: ShowsOwnPart<Element = T>,
    {
        let writes = O::WRITES;
        self.await_usable(writes, Window::WHOLE, &site)?;
        if writes {
            self.shared.wait_on(GATE, &site, |object, cx| object.core().poll_exclusive(Window::WHOLE, cx))?;
        }
        while self.shared.on(&site, |object, cx| {
            let (edges, core) = object.with::<Edges>();
            edges.take(core, halo, &site, cx)
        })? {}
        let detail = format!(" ({halo}{})", if writes { ", for writing" } else { "" });
        let opening =
            Opening::new(Haloed::<O>::NAME, Kind::Halo, Rule::Neighbours, &site).by(Edges::NUMBER).with(detail);
        let epoch = self.shared.on(&site, |object, cx| object.enter(opening.clone(), cx))?;
        let exchange = Exchange { epoch, number: 0 };
        let mut state = Haloed { own, halo, around: Arc::default(), reach: (0, 0), exchange, letters: Arc::default() };
        let entered = state.exchange(self, Some(&opening), &site);
        entered.inspect_err(|_| state.end(self))?;
        Ok(Scope::open(self, Window::WHOLE, site, state))
    }
}

impl<O: ShowsOwnPart> Haloed<O> {
    fn exchange(&mut self, vector: &GVector<O::Element>, opening: Option<&Opening>, site: &Site) -> Result<()> {
        let _call = vector.shared.bulk_call(Self::NAME);
        self.hide();
        let exchange = self.exchange;
        let reason = Reason::new(Self::NAME, Kind::Halo, site);
        // No slice is borrowed: from now on requests of other ranks for this block are served.
        let mut taken = self.own.hand_back(vector);
        let pushed = vector.shared.on(site, |object, cx| {
            let (edges, core) = object.with::<Edges>();
            taken.take().into_iter().for_each(|taken| core.take_back(taken));
            edges.push(core, exchange, opening, (&reason, site), cx)
        });
        // If the job has ended, the action has not run.
        taken.into_iter().for_each(|taken| vector.shared.let_go(move |object, _| object.core().take_back(taken)));
        pushed?;
        let began = vector.shared.linger(|| self.letters.iter().all(|letters| letters.get() >= exchange.number));
        let shown = vector.shared.wait_on_since(began, Edges::wait(0), site, |object, cx| {
            let (edges, core) = object.with::<Edges>();
            edges.poll(core, cx)
        })?;
        if vector.shared.modes.check {
            vector.shared.tidy(|object, cx| {
                let (edges, core) = object.with::<Edges>();
                edges.seen(core, exchange, cx);
            });
        }
        (self.around, self.reach, self.letters) = (typed(shown.array), shown.reach, shown.letters);
        Ok(())
    }

    /// Hides the halo, because an exchange may overwrite it.
    fn hide(&mut self) {
        (self.around, self.reach) = (Arc::default(), (0, 0));
    }

    fn end(&mut self, vector: &GVector<O::Element>) {
        self.hide();
        self.letters = Arc::default();
        let epoch = self.exchange.epoch;
        vector.shared.let_go(move |object, _| object.with::<Edges>().0.end(epoch));
    }
}

impl<O: ShowsOwnPart> Scope<'_, Haloed<O>> {
    /// Collective with the neighbours. Sends them this rank's current edges, and waits for the neighbours' edges of the
    /// same refresh. Each neighbour gets one message; a neighbour that shares this rank's memory gets none, unless the
    /// edge is longer than 21 KiB. If several HaloCaches are open, all ranks must refresh them in the same order.
    ///
    /// After an error the scope shows this rank's own part, and no halo.
    ///
    /// # Errors
    /// `Poisoned`, `Mismatch` or `Leaked` of the vector; `RankLeft` or `Mismatch` if a neighbour will
    /// never refresh; the error that ended the job.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?; // rank 0 owns 0..5, rank 1 owns 5..10
    /// let mut h = v.halo_cache_mut(1)?;
    /// h.local_mut().iter_mut().for_each(|x| *x += 1);
    /// h.refresh()?;
    /// assert_eq!((h[4], h[5]), (41, 51)); // one of the two is in the halo
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("updateFluff", "GA_Update_ghosts"))]
    #[track_caller]
    pub fn refresh(&mut self) -> Result<()> {
        let site = Site::here();
        self.state.exchange.number += 1;
        self.state.exchange(self.vector, None, &site)
    }
}
