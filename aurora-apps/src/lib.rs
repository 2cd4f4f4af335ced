//! Programs on shared data.
