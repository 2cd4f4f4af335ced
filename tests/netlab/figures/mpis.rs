//! Both MPIs: the `aurora` of each, and how each is set up as well as we know.

use aurora_suite::figures::job::Tuning;
use aurora_suite::mpi::Flavour;
use clap::Args;
use std::path::{Path, PathBuf};

/// What the command line says of them.
#[derive(Args, Debug)]
pub struct Mpis {
    /// Another tuning of Open MPI, such as "OMPI_MCA_a=1 OMPI_MCA_b=2"
    #[arg(long, value_name = "VARIABLES", value_parser = parse)]
    tuned_openmpi: Option<Variables>,
    /// Another tuning of MPICH, such as "UCX_RNDV_THRESH=inf"
    #[arg(long, value_name = "VARIABLES", value_parser = parse)]
    tuned_mpich: Option<Variables>,
    /// The `aurora` built for Open MPI
    #[arg(long, value_name = "FILE")]
    openmpi: PathBuf,
    /// The `aurora` built for MPICH
    #[arg(long, value_name = "FILE")]
    mpich: PathBuf,
}

#[derive(Clone, Debug)]
struct Variables(Vec<(String, String)>);

/// `A=1 B=2` as variables.
fn parse(words: &str) -> Result<Variables, String> {
    let variable = |word: &str| {
        let (name, value) = word.split_once('=').ok_or_else(|| format!("`{word}` is not NAME=VALUE"))?;
        Ok((name.into(), value.into()))
    };
    words.split_whitespace().map(variable).collect::<Result<_, String>>().map(Variables)
}

impl Mpis {
    /// The `aurora` that is built for one.
    pub fn aurora(&self, flavour: Flavour) -> &Path {
        match flavour {
            Flavour::Open => &self.openmpi,
            Flavour::Mpich => &self.mpich,
        }
    }

    /// # Errors
    /// That the command line wants another tuning, of which nothing would be seen.
    pub fn as_they_come(&self) -> Result<(), String> {
        match (&self.tuned_openmpi, &self.tuned_mpich) {
            (None, None) => Ok(()),
            _ => Err("builds are compared under Open MPI as it comes: --against goes without --tuned-...".into()),
        }
    }

    /// As well as we know for an operation or a program, or as the command line says.
    pub fn best(&self, flavour: Flavour, command: &str) -> Tuning {
        let wished = match flavour {
            Flavour::Open => &self.tuned_openmpi,
            Flavour::Mpich => &self.tuned_mpich,
        };
        let known = || known(flavour, command).into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let variables = wished.as_ref().map_or_else(known, |Variables(wished)| wished.clone());
        Tuning { name: "tuned", variables }
    }
}

fn known(flavour: Flavour, command: &str) -> Vec<(&'static str, &'static str)> {
    if flavour == Flavour::Mpich {
        // Its barrier queues behind bulk data; without it every message is sent at once.
        return vec![("UCX_RNDV_THRESH", "inf")];
    }
    const RULES: (&str, &str) = ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");
    let mut known = match command {
        // Rings, so that nobody is sent to by all.
        "read-cache" | "mm2" => vec![
            RULES,
            ("OMPI_MCA_coll_tuned_allgather_algorithm", "4"),
            ("OMPI_MCA_coll_tuned_allgatherv_algorithm", "3"),
        ],
        // In pairs, so that nobody is sent to by all.
        "exchange" | "psrs" => vec![RULES, ("OMPI_MCA_coll_tuned_alltoallv_algorithm", "2")],
        _ => Vec::new(),
    };
    // Large eager messages, for the same reason as above.
    known.extend([("OMPI_MCA_btl_tcp_eager_limit", "4194304"), ("OMPI_MCA_btl_tcp_rndv_eager_limit", "4194304")]);
    known
}
