//! The labs.

use aurora_suite::mpi::Flavour;
use aurora_suite::netlab::Shape;
use aurora_suite::place::{Launcher, Place};

/// Nodes of each lab with one rank on each.
pub const NODES: usize = 4;

/// Without loss, and slow enough for a fault during the operations of the ranks.
pub const SLOW: Shape = Shape { rate: "155mbit", queue_kb: 128, mtu: 9000, lost_of_thousand: 0 };

const SHAPES: [Shape; 5] = [
    SLOW,
    Shape { rate: "1gbit", mtu: 1500, queue_kb: 32, ..SLOW },
    Shape { mtu: 1500, lost_of_thousand: 10, ..SLOW },
    Shape { mtu: 1500, lost_of_thousand: 50, ..SLOW },
    Shape { rate: "1gbit", lost_of_thousand: 50, ..SLOW },
];

/// One lab of every shape; two labs with two ranks on each of two nodes, in which the ranks of a node share memory; and
/// one lab of each kind where MPI carries everything that has a payload.
pub fn all(flavour: Flavour) -> Vec<Place> {
    let one_each = SHAPES.into_iter().map(|shape| of(flavour, shape));
    let mixed = SHAPES.into_iter().skip(1).take(2).map(|shape| mixed(flavour, shape));
    let carried = [(SLOW, NODES, 1), (SHAPES[1], 2, 2)].map(|(shape, nodes, per_node)| Place {
        launcher: Launcher::LabBulk(flavour, shape, per_node),
        size: nodes * per_node,
    });
    one_each.chain(mixed).chain(carried).collect()
}

/// Two ranks on each of two nodes.
pub fn mixed(flavour: Flavour, shape: Shape) -> Place {
    Place { launcher: Launcher::Lab(flavour, shape, 2), size: 4 }
}

pub fn of(flavour: Flavour, shape: Shape) -> Place {
    Place { launcher: Launcher::Lab(flavour, shape, 1), size: NODES }
}
