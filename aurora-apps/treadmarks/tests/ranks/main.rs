//! The shared object on ranks that are threads: what it counts, and what it says when a program goes wrong.

mod counts;
mod errors;
mod memory;
