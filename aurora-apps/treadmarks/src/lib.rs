//! TreadMarks' lazy release consistency on Aurora.

pub mod counts;
pub mod grid;
pub mod machine;
pub mod sim;
