//! Distributed shared data.
