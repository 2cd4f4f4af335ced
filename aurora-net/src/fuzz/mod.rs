//! The bodies of the fuzz targets in `fuzz/`. `tests/fuzz.rs` runs them too, on the same seeds and on mutations of
//! them. Not part of the interface.

mod connection;
mod io;
mod packet;
mod script;

pub use connection::connection;
pub use packet::packet;
pub use script::Op;

use crate::Rank;

/// The key of the fuzzed job.
pub const KEY: u64 = 0x6175_726f_7261_2121;

/// The rank at the other end of the connection.
pub const PEER: u32 = 0;
/// The fuzzed rank.
pub const ME: u32 = 1;

fn me() -> Rank {
    Rank::new(ME as usize)
}

fn peer() -> Rank {
    Rank::new(PEER as usize)
}
