//! The labs.

use aurora_suite::mpi::{self, Flavour};
use aurora_suite::netlab::{Lab, Shape};
use aurora_suite::place::{Launcher, Place};

/// Nodes of each lab, one rank on each.
pub const NODES: usize = 4;

/// Nothing is lost, and what ranks do together takes long enough to be disturbed.
pub const SLOW: Shape = Shape { rate: "155mbit", queue_kb: 128, mtu: 9000, lost_of_thousand: 0 };

const SHAPES: [Shape; 5] = [
    SLOW,
    Shape { rate: "1gbit", mtu: 1500, queue_kb: 32, ..SLOW },
    Shape { mtu: 1500, lost_of_thousand: 10, ..SLOW },
    Shape { mtu: 1500, lost_of_thousand: 50, ..SLOW },
    Shape { rate: "1gbit", lost_of_thousand: 50, ..SLOW },
];

/// The MPI that this binary can start on a lab here.
///
/// # Errors
/// Why there is none.
pub fn flavour() -> Result<Flavour, String> {
    let flavour = mpi::built_for()?;
    flavour.launcher(NODES)?;
    Lab::up(SLOW, 2).map_err(|refusal| refusal.to_string())?;
    Ok(flavour)
}

/// One of every shape.
pub fn all(flavour: Flavour) -> Vec<Place> {
    SHAPES.into_iter().map(|shape| of(flavour, shape)).collect()
}

pub fn of(flavour: Flavour, shape: Shape) -> Place {
    Place { launcher: Launcher::Lab(flavour, shape), size: NODES }
}
