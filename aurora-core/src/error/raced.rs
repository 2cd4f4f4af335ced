use serde::{Deserialize, Serialize};
use std::fmt;

/// The element or entry that two ranks access in an [`Error::Race`](crate::Error::Race).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Raced {
    /// The element of a vector with this index.
    Element(usize),
    /// The entry of a map with this key. The key is written as JSON, such as `"word"` or `[3,"x"]`. A key that
    /// JSON cannot express is written as the bytes of its encoding, such as `0x04ff`. A long key is cut.
    Entry(String),
}

impl fmt::Display for Raced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Raced::Element(index) => write!(f, "element {index}"),
            Raced::Entry(key) => write!(f, "entry {key}"),
        }
    }
}
