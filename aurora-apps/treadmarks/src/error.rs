use aurora_core::{Error as CoreError, Site};
use std::ops::Range;
use thiserror::Error;

/// A call that TreadMarks cannot carry out. A call returns it as an [`Error::User`](aurora_core::Error), from which
/// [`Misuse::of`] takes it.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Misuse {
    /// A guard of an array is alive where the rank synchronises.
    #[error(
        "a guard of elements {elements:?} of an array, taken at {taken}, is alive at this {call}: drop it first, \
         because other ranks' writes become visible where the ranks synchronise"
    )]
    GuardAlive {
        /// The synchronisation.
        call: &'static str,
        /// The elements that the guard shows.
        elements: Range<usize>,
        /// The line that has taken it.
        taken: Site,
    },
    /// The rank holds the lock already.
    #[error("this rank has held lock {lock} since {since}: release it before it is acquired again")]
    Held {
        /// The lock.
        lock: u32,
        /// The line that has acquired it.
        since: Site,
    },
    /// The rank does not hold the lock.
    #[error("this rank does not hold lock {lock}: acquire it before it is released")]
    NotHeld {
        /// The lock.
        lock: u32,
    },
    /// A range that the array does not have.
    #[error("elements {elements:?} lie outside of an array of {len} elements")]
    Outside {
        /// The range.
        elements: Range<usize>,
        /// The elements of the array.
        len: usize,
    },
    /// Elements of which several lie in one word, or whose ends do not lie at the end of a word.
    #[error(
        "an element of {bytes} bytes is not made of words of 4 bytes: ranks that write neighbours in one word would \
         overwrite each other; use a wider type"
    )]
    NoWords {
        /// Bytes of an element.
        bytes: usize,
    },
    /// An array with too many pages.
    #[error("an array of {bytes} bytes has too many pages: all arrays together have {} at most", u32::MAX)]
    TooManyPages {
        /// Bytes of the array.
        bytes: usize,
    },
}

impl Misuse {
    /// The misuse that an error is, if it is one.
    pub fn of(error: &CoreError) -> Option<&Misuse> {
        match error {
            CoreError::User { source: Some(source), .. } => source.downcast_ref(),
            _ => None,
        }
    }
}
