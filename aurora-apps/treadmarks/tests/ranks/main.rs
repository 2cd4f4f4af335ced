//! The shared object on ranks that are threads: its counts, and the errors of wrong programs.

mod counts;
mod errors;
mod memory;
