//! Memory that the ranks of a node share: the places of their own blocks, and of those of other nodes.

pub(crate) mod cache;
pub(crate) mod home;
