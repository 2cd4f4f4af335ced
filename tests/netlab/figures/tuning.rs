//! How an MPI is set up: as it comes, and as well as we know.

use aurora_apps::bench::Operation;
use aurora_suite::mpi::Flavour;

/// Variables of an MPI's environment, and what they are called together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tuning {
    pub name: &'static str,
    pub variables: Vec<(String, String)>,
}

/// What the command line says instead of our best.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    pub openmpi: Option<Vec<(String, String)>>,
    pub mpich: Option<Vec<(String, String)>>,
}

impl Tuning {
    /// As it comes.
    pub fn defaults() -> Self {
        Tuning { name: "defaults", variables: Vec::new() }
    }

    /// As well as we know for an operation.
    pub fn best(flavour: Flavour, operation: Operation, wishes: &Wishes) -> Self {
        let wished = match flavour {
            Flavour::Open => &wishes.openmpi,
            Flavour::Mpich => &wishes.mpich,
        };
        let ours = || known(flavour, operation).iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Tuning { name: "tuned", variables: wished.clone().unwrap_or_else(ours) }
    }

    /// `A=1 B=2`.
    pub fn words(&self) -> String {
        self.variables.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }
}

/// `A=1 B=2` as variables.
///
/// # Errors
/// The word that is none.
pub fn parse(words: &str) -> Result<Vec<(String, String)>, String> {
    let variable = |word: &str| {
        let (name, value) = word.split_once('=').ok_or_else(|| format!("`{word}` is not NAME=VALUE"))?;
        Ok((name.to_string(), value.to_string()))
    };
    words.split_whitespace().map(variable).collect()
}

type Variables = &'static [(&'static str, &'static str)];

fn known(flavour: Flavour, operation: Operation) -> Variables {
    match (flavour, operation) {
        // Its barrier queues behind bulk data; without it every message is sent at once.
        (Flavour::Mpich, _) => &[("UCX_RNDV_THRESH", "inf")],
        // Rings, so that nobody is sent to by all; and large eager messages for the same reason as above.
        (Flavour::Open, Operation::ReadCache { .. }) => &[
            ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1"),
            ("OMPI_MCA_coll_tuned_allgather_algorithm", "4"),
            ("OMPI_MCA_coll_tuned_allgatherv_algorithm", "3"),
            ("OMPI_MCA_btl_tcp_eager_limit", "4194304"),
            ("OMPI_MCA_btl_tcp_rndv_eager_limit", "4194304"),
        ],
        // In pairs, so that nobody is sent to by all; and large eager messages, as above.
        (Flavour::Open, Operation::Exchange { .. }) => &[
            ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1"),
            ("OMPI_MCA_coll_tuned_alltoallv_algorithm", "2"),
            ("OMPI_MCA_btl_tcp_eager_limit", "4194304"),
            ("OMPI_MCA_btl_tcp_rndv_eager_limit", "4194304"),
        ],
        (Flavour::Open, _) => {
            &[("OMPI_MCA_btl_tcp_eager_limit", "4194304"), ("OMPI_MCA_btl_tcp_rndv_eager_limit", "4194304")]
        }
    }
}
