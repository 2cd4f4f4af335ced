//! Verifications that can fail, and say where.

use aurora_core::{Element, Error, GVector, Result, distmemcpy};
use std::fmt::Debug;

/// Every element of `found` must be what `want` says; `first` is the global index of its first.
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

/// Every element of the whole vector must be what `want` says, as this rank reads it from the owners.
///
/// # Errors
/// As [`same`], and those of the reading.
#[track_caller]
pub fn whole<T: Element + PartialEq + Debug>(vector: &GVector<T>, want: impl Fn(usize) -> T) -> Result<()> {
    let mut all = vec![T::zeroed(); vector.len()];
    distmemcpy(&mut all[..], vector.range(..))?;
    same(&all, 0, want)
}

/// Two values must be equal.
///
/// # Errors
/// Both, with what they are.
#[track_caller]
pub fn equal<T: PartialEq + Debug>(what: &str, found: T, want: T) -> Result<()> {
    if found == want {
        return Ok(());
    }
    Err(Error::user(format!("{what} is {found:?} instead of {want:?}")))
}

/// A verification that has failed, and amid what; every other error as it is.
pub fn amid(what: String, mut error: Error) -> Error {
    if let Error::User { message, .. } = &mut error {
        *message = format!("{what}: {message}");
    }
    error
}
