//! Consecutive elements that a guard shows: one by one under their global indices, in order, and as a slice.
//!
//! Methods that take or return an index, and `len()`, refer to the whole vector. Only slices and iterators without
//! indices begin at the first element shown. So no guard dereferences to a slice: a slice counts from 0.

use super::{Behaviour, Scope};
use crate::GVector;
use std::iter::FusedIterator;
use std::slice;

/// A behaviour that shows consecutive elements. Not for users to implement.
pub trait ShowsElements: Behaviour {
    /// The global index of the first element, and all elements.
    #[doc(hidden)]
    fn elements<'a>(&'a self, vector: &GVector<Self::Element>) -> (usize, &'a [Self::Element]);

    /// Element `index` of the vector, if the scope shows it.
    #[doc(hidden)]
    #[inline]
    fn get<'a>(scope: &'a Scope<'_, Self>, index: usize) -> Option<&'a Self::Element> {
        let (first, elements) = scope.state.elements(scope.vector);
        elements.get(index.wrapping_sub(first))
    }
}

/// A behaviour that shows consecutive elements for writing. Not for users to implement.
pub trait ShowsElementsMut: ShowsElements {
    /// All elements.
    #[doc(hidden)]
    fn elements_mut(&mut self, vector: &GVector<Self::Element>) -> &mut [Self::Element];
}

/// Indices are global, and `len()` is the length of the vector. Iterators yield the elements of the
/// [`window`](Scope::window). An OwnerComputes yields only the elements of it that this rank owns, a HaloCache only
/// this rank's own part without the halo.
///
/// ```
/// use aurora_core::prelude::*;
///
/// Config::threads(2).run(|world| {
///     let v = GVector::<u64>::from_fn(world, 1000, |i| 10 * i as u64)?;
///     let part = v.slice(300..400).read_cache()?;
///     assert_eq!((part[300], part.get(300), part.get(0)), (3000, Some(&3000), None));
///     assert_eq!((part.len(), part.window()), (1000, 300..400));
///     assert_eq!(part.iter().len(), 100);
///     assert_eq!(part.as_slice()[0], 3000); // a slice counts from 0
///     for (i, element) in part.iter_indexed() {
///         assert_eq!(*element, part[i]);
///     }
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
impl<B: ShowsElements> Scope<'_, B> {
    /// Element `index` of the vector; `None` if the guard does not show it. A HaloCache also shows its halo here.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let part = v.slice(2..5).read_cache()?;
    /// assert_eq!((part.get(2), part.get(5)), (Some(&20), None));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn get(&self, index: usize) -> Option<&B::Element> {
        B::get(self, index)
    }

    /// The elements that are shown, in order. A HaloCache yields only the elements of this rank's own part.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let part = v.slice(2..5).read_cache()?;
    /// assert_eq!(part.iter().sum::<u64>(), 20 + 30 + 40);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn iter(&self) -> slice::Iter<'_, B::Element> {
        self.state.elements(self.vector).1.iter()
    }

    /// The elements of [`iter`](Scope::iter), each with its global index.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let own = v.owner_computes()?;
    /// for (i, element) in own.iter_indexed() {
    ///     assert_eq!(*element, 10 * i as u64);
    /// }
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn iter_indexed(
        &self,
    ) -> impl ExactSizeIterator<Item = (usize, &B::Element)> + DoubleEndedIterator + FusedIterator + Clone {
        let (first, elements) = self.state.elements(self.vector);
        (first..first + elements.len()).zip(elements)
    }

    /// Number of elements of the whole vector.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let part = v.slice(2..5).read_cache()?;
    /// assert_eq!((part.len(), part.iter().len()), (10, 3));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.vector.len()
    }

    /// Returns true if the whole vector has no elements.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// let part = v.slice(5..5).read_cache()?;
    /// assert_eq!((part.is_empty(), part.window().is_empty()), (false, true));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.vector.is_empty()
    }
}

/// The elements that are shown, in order: [`iter`](Scope::iter).
impl<'a, B: ShowsElements> IntoIterator for &'a Scope<'_, B> {
    type Item = &'a B::Element;
    type IntoIter = slice::Iter<'a, B::Element>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<B: ShowsElementsMut> Scope<'_, B> {
    /// The elements of [`iter`](Scope::iter), for writing. A loop over `&mut guard` yields the same elements.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// let mut mine = v.owner_computes_mut()?;
    /// mine.iter_mut().for_each(|element| *element += 1);
    /// for element in &mut mine {
    ///     *element *= 5;
    /// }
    /// assert!(mine.iter().all(|element| *element == 5));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn iter_mut(&mut self) -> slice::IterMut<'_, B::Element> {
        self.state.elements_mut(self.vector).iter_mut()
    }
}

/// The elements that are shown, in order: [`iter_mut`](Scope::iter_mut).
impl<'a, B: ShowsElementsMut> IntoIterator for &'a mut Scope<'_, B> {
    type Item = &'a mut B::Element;
    type IntoIter = slice::IterMut<'a, B::Element>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

/// The methods of guards that show all elements of their window. A macro, because an `Index` for all behaviours that
/// show elements would conflict with that of the rank's own part.
macro_rules! shows_window {
    ($guard:ident) => {
        impl<T: Element> $guard<'_, T> {
            /// The elements of the [`window`](Scope::window). Element 0 of the slice is element `window().start` of
            /// the vector.
            ///
            /// ```
            /// # use aurora_core::prelude::*;
            /// # Config::threads(2).run(|world| {
            /// let v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
            /// let part = v.slice(2..5).read_cache()?;
            /// assert_eq!(part.as_slice(), [20, 30, 40]);
            /// assert_eq!(part.as_slice()[0], part[2]);
            /// # Ok(())
            /// # })?;
            /// # Ok::<(), Error>(())
            /// ```
            #[inline]
            pub fn as_slice(&self) -> &[T] {
                self.state.shown()
            }
        }

        /// By global index.
        impl<T: Element> std::ops::Index<usize> for $guard<'_, T> {
            type Output = T;

            #[inline]
            #[track_caller]
            fn index(&self, index: usize) -> &T {
                self.element(self.state.shown(), index)
            }
        }

        impl<T: Element> crate::GlobalRead<T> for $guard<'_, T> {
            fn len(&self) -> usize {
                self.vector.len()
            }

            #[track_caller]
            fn at(&self, index: usize) -> crate::Result<T> {
                self.check_shown(index)?;
                Ok(self[index])
            }
        }

        const _: () = {
            use crate::behaviour::elements::index_by_ranges;
            use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};
    index_by_ranges!($guard by Range<usize>, RangeTo<usize>, RangeFrom<usize>, RangeFull);
    index_by_ranges!($guard by RangeInclusive<usize>, RangeToInclusive<usize>);
        };
    };
}

macro_rules! index_by_ranges {
    ($guard:ident by $($index:ty),+) => {$(
        /// By global indices. An open bound of the range is the bound of the [`window`](Scope::window).
        impl<T: Element> std::ops::Index<$index> for $guard<'_, T> {
            type Output = [T];

            #[inline]
            #[track_caller]
            fn index(&self, range: $index) -> &[T] {
                &self.as_slice()[self.places_of(crate::vector::resolve(range, &self.window()))]
            }
        }
    )+};
}

pub(crate) use {index_by_ranges, shows_window};
