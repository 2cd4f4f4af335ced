//! Both MPIs: the `aurora` of each, and the best setting of each that we know.

use aurora_suite::mpi::Flavour;
use clap::Args;
use std::path::{Path, PathBuf};

/// The command-line options for them.
#[derive(Args, Debug)]
pub struct Mpis {
    /// Another tuning of Open MPI, such as "OMPI_MCA_a=1 OMPI_MCA_b=2"
    #[arg(long, value_name = "VARIABLES", value_parser = variables)]
    tuned_openmpi: Option<String>,
    /// Another tuning of MPICH, such as "UCX_RNDV_THRESH=inf"
    #[arg(long, value_name = "VARIABLES", value_parser = variables)]
    tuned_mpich: Option<String>,
    /// The `aurora` built for Open MPI
    #[arg(long, value_name = "FILE")]
    openmpi: PathBuf,
    /// The `aurora` built for MPICH
    #[arg(long, value_name = "FILE")]
    mpich: PathBuf,
}

/// `A=1 B=2`, each variable once and a space between them.
fn variables(words: &str) -> Result<String, String> {
    let words: Vec<_> = words.split_whitespace().collect();
    let other = words.iter().find(|word| !word.contains('='));
    other.map_or(Ok(words.join(" ")), |other| Err(format!("`{other}` is not NAME=VALUE")))
}

impl Mpis {
    /// The `aurora` that is built for an MPI.
    pub fn aurora(&self, flavour: Flavour) -> &Path {
        match flavour {
            Flavour::Open => &self.openmpi,
            Flavour::Mpich => &self.mpich,
        }
    }

    /// Refuses another tuning on the command line where the tuning would have no effect.
    pub fn as_they_come(&self) -> Result<(), String> {
        match (&self.tuned_openmpi, &self.tuned_mpich) {
            (None, None) => Ok(()),
            _ => Err("builds are compared under Open MPI as it comes: --against goes without --tuned-...".into()),
        }
    }

    /// The tuning of an MPI for an operation or a program: the best that we know, or the one of the command line.
    pub fn best(&self, flavour: Flavour, command: &str) -> String {
        let (wished, known) = match flavour {
            Flavour::Open => (&self.tuned_openmpi, for_open_mpi(command)),
            // Its barrier waits behind bulk data. With this setting every message is sent at once.
            Flavour::Mpich => (&self.tuned_mpich, "UCX_RNDV_THRESH=inf".into()),
        };
        wished.clone().unwrap_or(known)
    }
}

/// Algorithms in which no rank gets data from all ranks at once; and large eager messages, because the barrier waits
/// behind bulk data.
fn for_open_mpi(command: &str) -> String {
    let algorithms: &[&str] = match command {
        // Rings.
        "read-cache" | "mm2" => &["use_dynamic_rules=1", "allgather_algorithm=4", "allgatherv_algorithm=3"],
        // In pairs.
        "exchange" | "psrs" => &["use_dynamic_rules=1", "alltoallv_algorithm=2"],
        _ => &[],
    };
    let algorithms: String = algorithms.iter().map(|of| format!("OMPI_MCA_coll_tuned_{of} ")).collect();
    algorithms + "OMPI_MCA_btl_tcp_eager_limit=4194304 OMPI_MCA_btl_tcp_rndv_eager_limit=4194304"
}
