//! The numbers by which ranks name objects, requests and scopes.

use serde::{Deserialize, Serialize};

/// A shared object. Every rank counts its constructions, so the numbers agree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct ObjectId(pub(crate) u64);

/// A request of this rank that has not been answered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct CallId(pub(crate) u64);

/// The number of a collective scope of one object, counted from 1.
pub(crate) type Epoch = u64;
