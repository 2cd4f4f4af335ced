//! Where a body runs.

use crate::mpi::Flavour;
use crate::netlab::Shape;
use aurora_core::{Bulk, Config, Route};
use std::fmt;
use std::time::Duration;

/// No wait inside Aurora may last longer; a test that exceeds it names the line. No rank may be silent for longer
/// either: on a busy machine a rank stands still for seconds.
pub const WAIT_LIMIT: Duration = Duration::from_secs(30);

/// Who starts the ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Launcher {
    /// Threads of this process, over one route.
    Threads(Route),
    /// Threads of this process that take each other for ranks of several nodes, so many on each.
    Mixed(usize),
    /// Processes that start themselves and take each other for ranks of several nodes, two on each.
    MixedProcesses,
    /// Processes that start themselves, over one route.
    Processes(Route),
    /// The same where packets get lost.
    Lossy,
    /// `mpirun` of the MPI that this binary is built for, over one route.
    Mpi(Flavour, Route),
    /// The same over UDP, with MPI as the carrier of everything that has a payload.
    Bulk(Flavour),
    /// The same on an emulated cluster, so many ranks per node, over what leads best from each to each.
    Lab(Flavour, Shape, usize),
    /// The same with MPI as the carrier of everything that has a payload.
    LabBulk(Flavour, Shape, usize),
}

impl Launcher {
    /// Whether an `mpirun` starts the ranks.
    pub fn is_mpirun(self) -> bool {
        matches!(self, Launcher::Mpi(..) | Launcher::Bulk(_) | Launcher::Lab(..) | Launcher::LabBulk(..))
    }
}

/// Routes and sizes of worlds whose ranks are processes.
const PROCESSES: [(Route, usize); 3] = [(Route::Shm, 2), (Route::Shm, 4), (Route::Udp, 3)];

/// A kind of world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Who starts the ranks.
    pub launcher: Launcher,
    /// How many.
    pub size: usize,
}

impl Place {
    /// All places without MPI.
    pub fn without_mpi() -> Vec<Place> {
        let threads = |route, size| Place { launcher: Launcher::Threads(route), size };
        let mut places: Vec<_> = (1..=4).map(|size| threads(Route::Local, size)).collect();
        places.extend((2..=4).map(|size| threads(Route::Shm, size)));
        places.extend((1..=4).map(|size| threads(Route::Udp, size)));
        places.extend([3, 4].map(|size| Place { launcher: Launcher::Mixed(2), size }));
        places.push(Place { launcher: Launcher::MixedProcesses, size: 5 });
        places.extend(PROCESSES.map(|(route, size)| Place { launcher: Launcher::Processes(route), size }));
        places
    }

    /// The places of one MPI.
    pub fn of_mpi(flavour: Flavour) -> Vec<Place> {
        PROCESSES.map(|(route, size)| Place { launcher: Launcher::Mpi(flavour, route), size }).to_vec()
    }

    /// That where MPI carries as well.
    pub fn of_bulk(flavour: Flavour) -> Vec<Place> {
        vec![Place { launcher: Launcher::Bulk(flavour), size: 3 }]
    }

    /// The places of a network that loses packets.
    pub fn lossy() -> Vec<Place> {
        let launcher = Launcher::Lossy;
        vec![Place { launcher, size: 3 }]
    }

    /// The places of an emulated cluster: two nodes with two ranks each, which share memory with each other and a
    /// network with the rest; the fastest there is, and one that loses packets.
    pub fn mixed(flavour: Flavour) -> Vec<Place> {
        let fast = Shape { rate: "none", queue_kb: 1024, mtu: 9000, lost_of_thousand: 0 };
        let lossy = Shape { mtu: 1500, lost_of_thousand: 20, ..fast };
        [fast, lossy].map(|shape| Place { launcher: Launcher::Lab(flavour, shape, 2), size: 4 }).to_vec()
    }

    /// Whether MPI carries whatever has a payload.
    pub fn is_bulk(self) -> bool {
        matches!(self.launcher, Launcher::Bulk(_) | Launcher::LabBulk(..))
    }

    /// The route that a job in this place is told to take.
    pub fn route(self) -> Option<Route> {
        match self.launcher {
            Launcher::Threads(route) | Launcher::Processes(route) | Launcher::Mpi(_, route) => Some(route),
            Launcher::Lossy | Launcher::Bulk(_) => Some(Route::Udp),
            Launcher::Mixed(_) | Launcher::MixedProcesses | Launcher::Lab(..) | Launcher::LabBulk(..) => None,
        }
    }

    /// How such a world is made, from inside it.
    pub fn config(self) -> Config {
        match self.launcher {
            Launcher::Threads(route) => Config::threads(self.size).route(route),
            Launcher::Mixed(per_node) => Config::threads(self.size).ranks_per_node(per_node),
            Launcher::MixedProcesses => Config::processes(self.size).ranks_per_node(2),
            Launcher::Processes(_) | Launcher::Lossy => Config::processes(self.size),
            Launcher::Mpi(..) | Launcher::Lab(..) => Config::mpi(),
            Launcher::Bulk(_) | Launcher::LabBulk(..) => Config::mpi().bulk(Bulk::Mpi).mpi_from(1),
        }
        .timeout(WAIT_LIMIT)
        .silence(WAIT_LIMIT)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.launcher {
            Launcher::Threads(route) => write!(f, "threads-{route}")?,
            Launcher::Mixed(per_node) => write!(f, "threads-mixed-{per_node}-per-node")?,
            Launcher::MixedProcesses => write!(f, "processes-mixed-2-per-node")?,
            Launcher::Processes(route) => write!(f, "processes-{route}")?,
            Launcher::Lossy => write!(f, "lossy")?,
            Launcher::Mpi(flavour, route) => write!(f, "{flavour}-{route}")?,
            Launcher::Bulk(flavour) => write!(f, "{flavour}-bulk")?,
            Launcher::Lab(flavour, shape, 1) => write!(f, "{flavour}-{shape}")?,
            Launcher::Lab(flavour, shape, per_node) => write!(f, "{flavour}-{shape}-mixed-{per_node}-per-node")?,
            Launcher::LabBulk(flavour, shape, per_node) => write!(f, "{flavour}-{shape}-bulk-{per_node}-per-node")?,
        }
        write!(f, "/{}", self.size)
    }
}
