//! Errors of the program, which pass through `run`.

use super::Error;
use crate::Site;
use std::fmt;
use std::sync::Arc;

/// An error of the program, shared so that [`Error`] can be cloned.
#[derive(Clone)]
pub struct UserError(Arc<dyn std::error::Error + Send + Sync>);

impl std::ops::Deref for UserError {
    type Target = dyn std::error::Error + Send + Sync;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl std::error::Error for UserError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

impl fmt::Display for UserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for UserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Error {
    /// Wraps an error of the program, so that the closure of `run` can return it with `?`. The error notes the calling
    /// line. Call this function inside a closure, as below: with `.map_err(Error::user)` the standard library is the
    /// caller, and the error has no line.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// let outcome = Config::threads(2).run(|world| {
    ///     let answer = "forty-two".parse::<bool>().map_err(|error| Error::user(error))?;
    ///     world.barrier()?;
    ///     Ok(answer)
    /// });
    /// let text = outcome.unwrap_err().to_string();
    /// assert!(text.contains("provided string was not `true` or `false` (at "));
    /// ```
    #[track_caller]
    pub fn user(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let source: Arc<dyn std::error::Error + Send + Sync> = Arc::from(error.into());
        let site = Some(Site::here()).filter(|site| !site.is_in_core());
        Error::User { message: source.to_string(), site, source: Some(UserError(source)) }
    }
}

/// Errors that programs often meet, above all when they read input. `?` wraps them.
macro_rules! from_others {
    ($($error:ty)*) => {$(
        impl From<$error> for Error {
            #[track_caller]
            fn from(error: $error) -> Self {
                Error::user(error)
            }
        }
    )*};
}

from_others! {
    Box<dyn std::error::Error + Send + Sync>
    std::io::Error
    std::fmt::Error
    std::num::ParseIntError
    std::num::ParseFloatError
    std::num::TryFromIntError
    std::str::Utf8Error
    std::string::FromUtf8Error
}
