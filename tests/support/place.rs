//! The places where a body runs.

use crate::mpi::Flavour;
use crate::netlab::Shape;
use aurora_core::{Bulk, Config, Route};
use std::fmt;
use std::time::Duration;

/// The maximum time of a wait inside Aurora; a test that exceeds it gets the line. It is also the maximum time for
/// which a rank may be silent: on a busy machine a rank can stand still for seconds.
pub const WAIT_LIMIT: Duration = Duration::from_secs(30);

/// The way to start the ranks, and the carrier of their messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Launcher {
    /// Threads of this process, over one route.
    Threads(Route),
    /// Threads of this process that treat each other as ranks of several nodes, with this number on each node.
    Mixed(usize),
    /// Processes that start themselves and treat each other as ranks of several nodes, two on each node.
    MixedProcesses,
    /// Processes that start themselves, over one route.
    Processes(Route),
    /// Processes that start themselves, in a network that loses packets.
    Lossy,
    /// `mpirun` of the MPI that this binary is built for, over one route.
    Mpi(Flavour, Route),
    /// `mpirun` over UDP, with MPI as the carrier of everything that has a payload.
    Bulk(Flavour),
    /// `mpirun` on an emulated cluster, with this number of ranks per node, over the best route between each two ranks.
    Lab(Flavour, Shape, usize),
    /// `mpirun` on an emulated cluster, with MPI as the carrier of everything that has a payload.
    LabBulk(Flavour, Shape, usize),
}

impl Launcher {
    /// True if an `mpirun` starts the ranks.
    pub fn is_mpirun(self) -> bool {
        matches!(self, Launcher::Mpi(..) | Launcher::Bulk(_) | Launcher::Lab(..) | Launcher::LabBulk(..))
    }
}

/// Routes and sizes of worlds whose ranks are processes.
const PROCESSES: [(Route, usize); 3] = [(Route::Shm, 2), (Route::Shm, 4), (Route::Udp, 3)];

/// A kind of world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The way to start the ranks.
    pub launcher: Launcher,
    /// The number of ranks.
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

    /// The place where MPI carries everything that has a payload.
    pub fn of_bulk(flavour: Flavour) -> Vec<Place> {
        vec![Place { launcher: Launcher::Bulk(flavour), size: 3 }]
    }

    /// The places of a network that loses packets.
    pub fn lossy() -> Vec<Place> {
        let launcher = Launcher::Lossy;
        vec![Place { launcher, size: 3 }]
    }

    /// The places of an emulated cluster. Each has two nodes with two ranks each; the ranks of a node share memory. One
    /// place has the fastest network, the other loses packets.
    pub fn mixed(flavour: Flavour) -> Vec<Place> {
        let fast = Shape { rate: "none", queue_kb: 1024, mtu: 9000, lost_of_thousand: 0 };
        let lossy = Shape { mtu: 1500, lost_of_thousand: 20, ..fast };
        [fast, lossy].map(|shape| Place { launcher: Launcher::Lab(flavour, shape, 2), size: 4 }).to_vec()
    }

    /// True if MPI carries everything that has a payload.
    pub fn is_bulk(self) -> bool {
        matches!(self.launcher, Launcher::Bulk(_) | Launcher::LabBulk(..))
    }

    /// The route that a job in this place must take.
    pub fn route(self) -> Option<Route> {
        match self.launcher {
            Launcher::Threads(route) | Launcher::Processes(route) | Launcher::Mpi(_, route) => Some(route),
            Launcher::Lossy | Launcher::Bulk(_) => Some(Route::Udp),
            Launcher::Mixed(_) | Launcher::MixedProcesses | Launcher::Lab(..) | Launcher::LabBulk(..) => None,
        }
    }

    /// The configuration of such a world, for use inside the job.
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
