//! Arrays, and the guards that give access to their elements.

use crate::error::Misuse;
use crate::grid::Grid;
use crate::tmk::Inner;
use aurora_core::prelude::*;
use aurora_core::{Element, Site};
use std::cell::{Ref, RefCell, RefMut};
use std::fmt;
use std::ops::{Deref, DerefMut, Range};
use std::rc::Rc;

/// A shared array, created by [`Tmk::array`](crate::Tmk::array). This rank has a copy of all of its pages.
///
/// The memory lives as long as the [`Tmk`](crate::Tmk), even if the array is dropped.
///
/// Only one guard of an array is alive at a time, because another access may bring pages up to date. To read and write
/// parts of one array together, take one range that includes both, or copy one part (`to_vec`). Guards of several
/// arrays may be alive together.
pub struct Array<T> {
    inner: Rc<Inner>,
    grid: Grid,
    len: usize,
    memory: Rc<RefCell<Vec<T>>>,
}

/// The memory of an array of any type.
pub(crate) trait Memory {
    fn bytes(&self) -> &[u8];
}

impl<T: Element> Memory for Vec<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }
}

/// A guard that is alive.
pub(crate) struct Open {
    pub(crate) array: Grid,
    pub(crate) elements: Range<usize>,
    pub(crate) taken: Site,
}

/// A guard's number in the table of guards that are alive.
struct Guard {
    inner: Rc<Inner>,
    number: u64,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.inner.open.borrow_mut().remove(&self.number);
    }
}

/// Elements of an array, for reading: a slice. Drop it before the rank synchronises.
pub struct Reading<'a, T> {
    elements: Ref<'a, [T]>,
    _guard: Guard,
}

/// Elements of an array, for writing: a slice. Drop it before the rank synchronises.
pub struct Writing<'a, T> {
    elements: RefMut<'a, [T]>,
    _guard: Guard,
}

impl<T: Element> Array<T> {
    pub(crate) fn new(inner: Rc<Inner>, grid: Grid, memory: Rc<RefCell<Vec<T>>>) -> Self {
        let len = memory.borrow().len();
        Array { inner, grid, len, memory }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a guard for reading these elements. Invalid pages are brought up to date first, one page after the
    /// other: each takes one request to each rank that has to be asked, as TreadMarks does in its page faults.
    ///
    /// # Errors
    /// [`Misuse::Outside`]; [`Misuse::GuardAlive`] if a guard of this array was forgotten; the error that ended the
    /// job.
    #[track_caller]
    pub fn read(&mut self, elements: Range<usize>) -> Result<Reading<'_, T>> {
        self.bring(&elements)?;
        let _guard = self.guard(&elements);
        let elements = Ref::map(self.memory.borrow(), |memory| &memory[elements]);
        Ok(Reading { elements, _guard })
    }

    /// Returns a guard for reading and writing these elements. Their pages count as written, and are brought up to date
    /// as by [`read`](Self::read). Another rank sees the writes after the next synchronisation of both ranks.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
    #[track_caller]
    pub fn write(&mut self, elements: Range<usize>) -> Result<Writing<'_, T>> {
        self.bring(&elements)?;
        self.inner.begin_writes(&self.grid, &bytes_of::<T>(&elements), self.memory.borrow().bytes())?;
        let _guard = self.guard(&elements);
        let elements = RefMut::map(self.memory.borrow_mut(), |memory| &mut memory[elements]);
        Ok(Writing { elements, _guard })
    }

    #[track_caller]
    fn bring(&mut self, elements: &Range<usize>) -> Result<()> {
        let Ok(mut memory) = self.memory.try_borrow_mut() else {
            return self.inner.no_guards_of(Some(self.grid), "access");
        };
        let len = self.len;
        if elements.start > elements.end || elements.end > len {
            return Err(Error::user(Misuse::Outside { elements: elements.clone(), len }));
        }
        self.inner.bring(&self.grid, &bytes_of::<T>(elements), bytemuck::cast_slice_mut(&mut memory))
    }

    #[track_caller]
    fn guard(&self, elements: &Range<usize>) -> Guard {
        let (inner, number) = (Rc::clone(&self.inner), self.inner.next_guard());
        inner
            .open
            .borrow_mut()
            .insert(number, Open { array: self.grid, elements: elements.clone(), taken: Site::here() });
        Guard { inner, number }
    }
}

fn bytes_of<T>(elements: &Range<usize>) -> Range<usize> {
    elements.start * size_of::<T>()..elements.end * size_of::<T>()
}

impl<T: Element> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Array<{}> of {} elements", std::any::type_name::<T>(), self.len())
    }
}

impl<T> Deref for Reading<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.elements
    }
}

impl<T> Deref for Writing<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.elements
    }
}

impl<T> DerefMut for Writing<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.elements
    }
}
