//! Lines of the user's program.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::panic::Location;

/// A line of the user's source, as it travels between ranks in error messages.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Site {
    file: Cow<'static, str>,
    line: u32,
    column: u32,
}

impl Site {
    /// Returns the caller's line.
    #[track_caller]
    pub fn here() -> Self {
        let at = Location::caller();
        Site { file: Cow::Borrowed(at.file()), line: at.line(), column: at.column() }
    }

    /// Returns the file, with the path that the compiler got.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the column, counted from 1.
    pub fn column(&self) -> u32 {
        self.column
    }

    /// Returns the line, counted from 1.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// True if the line is in Rust's own library, which has called a function that was passed to it.
    pub(crate) fn is_in_core(&self) -> bool {
        self.file.contains("/library/core/src/")
    }

    /// The same line with only the end of a very long file name, so that it fits a message header.
    pub(crate) fn clipped(mut self) -> Self {
        const LONGEST: usize = 160;
        if self.file.len() > LONGEST {
            let mut from = self.file.len() - LONGEST;
            while !self.file.is_char_boundary(from) {
                from += 1;
            }
            self.file = Cow::Owned(format!("..{}", &self.file[from..]));
        }
        self
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
