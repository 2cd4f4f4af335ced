use aurora_core::{Error as CoreError, Site};
use std::ops::Range;
use thiserror::Error;

/// A call that TreadMarks cannot execute. The call returns an [`Error::User`](aurora_core::Error), from which
/// [`Misuse::of`] takes the misuse.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Misuse {
    /// A guard of an array is alive while the rank synchronises.
    #[error(
        "a guard of elements {elements:?} of an array, taken at {taken}, is alive at this {call}: drop it first, \
         because other ranks' writes become visible where the ranks synchronise"
    )]
    GuardAlive {
        /// The synchronisation.
        call: &'static str,
        /// The elements of the guard.
        elements: Range<usize>,
        /// The line that has created the guard.
        taken: Site,
    },
    /// The rank holds the lock already.
    #[error("this rank has held lock {lock} since {since}: release it before it is acquired again")]
    Held {
        /// The lock.
        lock: u32,
        /// The line that has acquired the lock.
        since: Site,
    },
    /// The rank does not hold the lock.
    #[error("this rank does not hold lock {lock}: acquire it before it is released")]
    NotHeld {
        /// The lock.
        lock: u32,
    },
    /// A range beyond the end of the array.
    #[error("elements {elements:?} lie outside of an array of {len} elements")]
    Outside {
        /// The range.
        elements: Range<usize>,
        /// The number of elements of the array.
        len: usize,
    },
    /// The elements do not consist of whole words of 4 bytes.
    #[error(
        "an element of {bytes} bytes is not made of words of 4 bytes: ranks that write neighbours in one word would \
         overwrite each other; use a wider type"
    )]
    NoWords {
        /// The size of an element in bytes.
        bytes: usize,
    },
    /// An array with too many pages.
    #[error("an array of {bytes} bytes has too many pages: all arrays together have {} at most", u32::MAX)]
    TooManyPages {
        /// The size of the array in bytes.
        bytes: usize,
    },
}

impl Misuse {
    /// Returns the misuse in an error; `None` if the error is another one.
    pub fn of(error: &CoreError) -> Option<&Misuse> {
        match error {
            CoreError::User { source: Some(source), .. } => source.downcast_ref(),
            _ => None,
        }
    }
}
