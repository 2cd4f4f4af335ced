//! Where a body runs.

use crate::mpi::Flavour;
use crate::netlab::Shape;
use aurora_core::{Config, Route};
use std::fmt;
use std::time::Duration;

/// No wait inside Aurora may last longer; a test that exceeds it names the line.
pub const WAIT_LIMIT: Duration = Duration::from_secs(30);

/// Who starts the ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Launcher {
    /// Threads of this process, over one route.
    Threads(Route),
    /// Processes that start themselves.
    Processes,
    /// The same where packets get lost.
    Lossy,
    /// `mpirun` of the MPI that this binary is built for.
    Mpi(Flavour),
    /// The same on an emulated cluster, one rank per node.
    Lab(Flavour, Shape),
}

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
        places.extend((1..=4).map(|size| threads(Route::Udp, size)));
        places.extend([2, 4].map(|size| Place { launcher: Launcher::Processes, size }));
        places
    }

    /// The places of one MPI.
    pub fn of_mpi(flavour: Flavour) -> Vec<Place> {
        let launcher = Launcher::Mpi(flavour);
        [2, 4].map(|size| Place { launcher, size }).to_vec()
    }

    /// The places of a network that loses packets.
    pub fn lossy() -> Vec<Place> {
        let launcher = Launcher::Lossy;
        vec![Place { launcher, size: 3 }]
    }

    /// How such a world is made, from inside it.
    pub fn config(self) -> Config {
        match self.launcher {
            Launcher::Threads(route) => Config::threads(self.size).route(route),
            Launcher::Processes | Launcher::Lossy => Config::processes(self.size),
            Launcher::Mpi(_) | Launcher::Lab(..) => Config::mpi(),
        }
        .timeout(WAIT_LIMIT)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.launcher {
            Launcher::Threads(Route::Local) => write!(f, "threads-local")?,
            Launcher::Threads(Route::Udp) => write!(f, "threads-udp")?,
            Launcher::Processes => write!(f, "processes")?,
            Launcher::Lossy => write!(f, "lossy")?,
            Launcher::Mpi(flavour) => write!(f, "{flavour}")?,
            Launcher::Lab(flavour, shape) => write!(f, "{flavour}-{shape}")?,
        }
        write!(f, "/{}", self.size)
    }
}
