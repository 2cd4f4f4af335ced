//! The streaming `ReadCache`: shows the whole vector while it arrives, so that computing hides the transfer.

use super::Cached;
use super::load::Loaded;
use super::protocol::Load;
use super::stream::{Outcome, Piece};
use crate::behaviour::{Behaviour, ReadCacheBlocks, Scope, kind};
use crate::ids::Epoch;
use crate::memory::{Kept, Shown};
use crate::vector::protocol::Numbered;
use crate::vector::{GVector, GlobalRead};
use crate::window::Window;
use crate::{Element, Result, Site};
use std::cell::OnceCell;
use std::iter::FusedIterator;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The part of a load that has arrived.
pub struct Streamed<T: Element> {
    epoch: Epoch,
    opened: Instant,
    outcome: Arc<Outcome>,
    parts: Shown<T>,
    whole: OnceCell<Kept<T>>,
}

kind!([T: Element] Streamed<T>);

impl<T: Element> Behaviour for Streamed<T> {
    type Element = T;
    const NAME: &'static str = "streaming ReadCache";

    fn close(&mut self, vector: &GVector<T>, site: &Site, checked: bool) -> Result<()> {
        let loaded =
            if checked && self.outcome.get().is_none() { vector.await_stream(self.epoch, site) } else { Ok(()) };
        self.abandon(vector);
        loaded
    }

    fn abandon(&mut self, vector: &GVector<T>) {
        let epoch = self.epoch;
        vector.shared.let_go(move |object, _| object.with::<Load>().0.stop_reading(epoch));
        (self.parts, self.whole, self.outcome) = (Shown::default(), OnceCell::new(), Arc::default());
    }
}

impl<T: Element> GVector<T> {
    /// Collective. Opens a streaming `ReadCache`: as [`read_cache`](GVector::read_cache), but returns before the
    /// blocks are here, and shows [`blocks`](Scope::blocks) as they arrive. The rank can compute during the transfer.
    ///
    /// No element is shown before every rank has entered: the scope hides the transfer, not a late rank. All shown
    /// elements are final, and do not change while the guard lives. Some ranks may call this and others `read_cache`.
    /// If all ranks are on one machine, the call waits for all ranks, and then the whole vector is here.
    ///
    /// If the guard is dropped early, the load goes on in the background. The vector's next ReadCache waits for it.
    ///
    /// # Errors
    /// As [`read_cache`](GVector::read_cache).
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// let sum = Config::threads(3).run(|world| {
    ///     let v = GVector::<u64>::from_fn(world, 10, |i| i as u64)?;
    ///     let stream = v.read_cache_blocks()?;
    ///     let mut sum = 0;
    ///     for block in stream.blocks() {
    ///         let (range, elements) = block?;
    ///         assert_eq!(elements.len(), range.len());
    ///         sum += elements.iter().sum::<u64>();
    ///     }
    ///     // Now the whole vector is here, in one piece.
    ///     assert_eq!(stream.whole()?.len(), 10);
    ///     Ok(sum)
    /// })?;
    /// assert_eq!(sum, 45);
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("iallgather", "MPI_Iallgather"))]
    #[track_caller]
    pub fn read_cache_blocks(&self) -> Result<ReadCacheBlocks<'_, T>> {
        let (site, opened) = (Site::here(), Instant::now());
        let _call = self.shared.in_collective("streaming ReadCache");
        let epoch = self.enter_load(Cached::<T>::NAME, Window::WHOLE, &site)?;
        let outcome = self.shared.on(&site, |object, cx| {
            let (load, core) = object.with::<Load>();
            Ok(load.stream(core, epoch, &site, cx))
        })?;
        let state = Streamed { epoch, opened, outcome, parts: Shown::default(), whole: OnceCell::new() };
        Ok(Scope::open(self, Window::WHOLE, site, state))
    }
}

impl<T: Element> ReadCacheBlocks<'_, T> {
    /// The vector in pieces, each with its global indices: this rank's own block first, then the longest piece that
    /// is here. A piece is one rank's block, or a part of it that has arrived. The pieces cover each element once.
    /// Another call begins again, with the pieces that are already here.
    ///
    /// Each step waits for the next piece. An error is the last item; [`whole`](Self::whole) returns the same error.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let stream = v.read_cache_blocks()?;
    /// let mut sum = 0;
    /// for block in stream.blocks() {
    ///     let (range, elements) = block?;
    ///     assert_eq!(elements[0], 10 * range.start as u64);
    ///     sum += elements.iter().sum::<u64>();
    /// }
    /// assert_eq!(sum, 450);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn blocks(&self) -> Blocks<'_, T> {
        Blocks { guard: self, read: vec![0; self.vector.shared.size], unit: 1, ended: false }
    }

    /// As [`blocks`](Self::blocks), in whole rows with their global numbers. Without a matrix each element is a row.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let table = GVector::<u64>::from_fn(world, MatrixDim::new(4, 3), |i| i as u64)?;
    /// let stream = table.read_cache_blocks()?;
    /// for block in stream.row_blocks() {
    ///     let (rows, elements) = block?;
    ///     assert_eq!(elements.len(), 3 * rows.len());
    ///     assert_eq!(elements[0], 3 * rows.start as u64);
    /// }
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn row_blocks(&self) -> impl Iterator<Item = Result<(Range<usize>, &[T])>> {
        let cols = self.vector.row_len().max(1);
        let blocks = Blocks { unit: cols, ..self.blocks() };
        blocks.map(move |block| block.map(|(range, rows)| (range.start / cols..range.end / cols, rows)))
    }

    /// Waits for the load, and returns the whole vector: from then on this is a [`ReadCache`](crate::ReadCache).
    ///
    /// # Errors
    /// The error that prevented a block from arriving.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let stream = v.read_cache_blocks()?;
    /// let first = stream.blocks().next().transpose()?.map(|(range, _)| range);
    /// assert_eq!(first, Some(v.local_range())); // the own block, while the rest arrives
    /// assert_eq!(stream.whole()?[9], 90);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn whole(&self) -> Result<&[T]> {
        if self.state.outcome.get().is_none() {
            self.vector.await_stream(self.state.epoch, &self.site)?;
        }
        Ok(self.try_whole().expect("the load is complete: waiting for it has returned no error"))
    }

    /// The whole vector, if it is here. If all ranks share memory, it always is.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let stream = v.read_cache_blocks()?;
    /// let all = stream.whole()?; // waits if it is not here
    /// assert_eq!(stream.try_whole(), Some(all));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn try_whole(&self) -> Option<&[T]> {
        let (Loaded { part, .. }, _) = self.state.outcome.get()?;
        let show = || {
            if self.vector.shared.modes.check {
                self.vector.shared.tidy(|object, cx| object.core().acquire(Window::WHOLE, cx));
            }
            part.clone().into()
        };
        Some(self.state.whole.get_or_init(show).elements())
    }

    /// The duration of the load, from the call that opened this guard to the last byte; `None` before the last byte.
    /// The part of this time that this rank has not waited was hidden behind its computation.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::new(world, 10)?;
    /// let stream = v.read_cache_blocks()?;
    /// for block in stream.blocks() {
    ///     block?;
    /// }
    /// assert!(stream.load_time().is_some()); // all blocks have arrived
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn load_time(&self) -> Option<Duration> {
        let (_, since) = self.state.outcome.get()?;
        Some(since.saturating_duration_since(self.state.opened))
    }
}

/// The pieces of a vector as they arrive: [`ReadCacheBlocks::blocks`](Scope::blocks).
#[must_use = "iterators wait for nothing before they are used"]
pub struct Blocks<'g, T: Element> {
    guard: &'g ReadCacheBlocks<'g, T>,
    /// Elements of each rank's block that were returned.
    read: Vec<usize>,
    /// A piece is a multiple of this number of elements.
    unit: usize,
    ended: bool,
}

impl<T: Element> std::fmt::Debug for Blocks<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Blocks of {:?}", self.guard)
    }
}

impl<'g, T: Element> Blocks<'g, T> {
    /// The rest of a block, this rank's own first, once the whole is here.
    fn rest(&mut self, whole: &'g [T]) -> Option<(Range<usize>, &'g [T])> {
        let link = &self.guard.vector.shared;
        let owners = std::iter::once(link.me).chain(link.me.others(link.size));
        for owner in owners {
            let block = self.guard.vector.range_of(owner);
            let range = block.start + self.read[owner.index()]..block.end;
            if !range.is_empty() {
                self.read[owner.index()] = block.len();
                return Some((range.clone(), &whole[range]));
            }
        }
        None
    }
}

impl<'g, T: Element> Iterator for Blocks<'g, T> {
    type Item = Result<(Range<usize>, &'g [T])>;

    fn next(&mut self) -> Option<Self::Item> {
        let guard = self.guard;
        if self.ended {
            return None;
        }
        if guard.try_whole().is_none() {
            let (epoch, shown) = (guard.state.epoch, (&self.read[..], self.unit));
            let next = guard.vector.shared.wait_on(Load::wait(epoch), &guard.site, |object, cx| {
                let (load, core) = object.with::<Load>();
                let piece = load.next_piece(core, epoch, shown, cx)?;
                core.acquire(Window::WHOLE, cx);
                Some(piece)
            });
            match next {
                Ok(None) => {}
                Ok(Some(Piece { owner, range, part })) => {
                    self.read[owner.index()] += range.len();
                    return Some(Ok((range, guard.state.parts.show(part))));
                }
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
        let rest = guard.try_whole().and_then(|whole| self.rest(whole));
        self.ended = rest.is_none();
        rest.map(Ok)
    }
}

impl<T: Element> FusedIterator for Blocks<'_, T> {}

impl<T: Element> GlobalRead<T> for ReadCacheBlocks<'_, T> {
    fn len(&self) -> usize {
        self.vector.len()
    }

    /// Waits for the whole.
    #[track_caller]
    fn at(&self, index: usize) -> Result<T> {
        self.vector.check_index(index, &Site::here())?;
        Ok(self.whole()?[index])
    }
}
