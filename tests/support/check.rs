//! Checks that return an error with a place and the values.

use aurora_core::{Element, Error, GVector, Result, distmemcpy};
use std::fmt::Debug;

/// Checks that every element of `found` equals the result of `want`; `first` is the global index of the first element.
///
/// # Errors
/// The first index that differs, with both values.
#[track_caller]
pub fn same<T: PartialEq + Debug>(found: &[T], first: usize, want: impl Fn(usize) -> T) -> Result<()> {
    for (i, found) in found.iter().enumerate() {
        let want = want(first + i);
        if *found != want {
            let text = format!("element {} is {found:?} instead of {want:?}", first + i);
            return Err(Error::user(text));
        }
    }
    Ok(())
}

/// Checks that every element of the vector, as this rank reads it from the owners, equals the result of `want`.
///
/// # Errors
/// The error of [`same`], or an error of the reading.
#[track_caller]
pub fn whole<T: Element + PartialEq + Debug>(vector: &GVector<T>, want: impl Fn(usize) -> T) -> Result<()> {
    let mut all = vec![T::zeroed(); vector.len()];
    distmemcpy(&mut all[..], vector.range(..))?;
    same(&all, 0, want)
}

/// Checks that two values are equal.
///
/// # Errors
/// Both values, with their name.
#[track_caller]
pub fn equal<T: PartialEq + Debug>(what: &str, found: T, want: T) -> Result<()> {
    if found == want {
        return Ok(());
    }
    Err(Error::user(format!("{what} is {found:?} instead of {want:?}")))
}

/// Adds the context of a failed check to its message; returns every other error unchanged.
pub fn amid(what: String, mut error: Error) -> Error {
    if let Error::User { message, .. } = &mut error {
        *message = format!("{what}: {message}");
    }
    error
}
