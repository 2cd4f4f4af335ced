//! The shared object on ranks that are threads: its counts, and its errors when a program goes wrong.

mod counts;
mod errors;
mod memory;
