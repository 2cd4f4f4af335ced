#![doc = include_str!("../README.md")]

pub mod counts;
pub mod grid;
pub mod machine;
pub mod sim;

mod array;
mod error;
mod node;
mod tmk;

pub use array::{Array, Reading, Writing};
pub use counts::Counts;
pub use error::Misuse;
pub use tmk::Tmk;
