//! `--impl`: who carries something out.

use crate::refusal::{Reason, Refusal};
use aurora_apps::implementation::{self, Conditions, Implementation, Offer};
use aurora_core::prelude::*;
use clap::{Args, ValueEnum};

#[derive(Args, Clone, Debug)]
pub struct Implementations {
    /// Who carries it out; several, separated by commas, take turns in one job
    #[arg(long = "impl", value_name = "IMPL", value_enum, value_delimiter = ',', default_value = "aurora")]
    names: Vec<Name>,
}

#[derive(Args, Clone, Debug)]
pub struct ProgramImplementations {
    /// Who shares the data; several, separated by commas, take turns in one job
    #[arg(long = "impl", value_name = "IMPL", value_enum, value_delimiter = ',', default_value = "aurora")]
    names: Vec<ProgramName>,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Name {
    /// This library
    Aurora,
    /// The one of MPI's collective operations that is made for it
    MpiCollective,
    /// MPI's nonblocking messages, all at once
    MpiIsend,
    /// Batches for each owner, made by hand, and MPI's Alltoallv (of `updates` and `reads`)
    MpiAlltoallv,
    /// One TCP connection (of `stream`)
    Tcp,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum ProgramName {
    /// This library
    Aurora,
    /// The same, each load whole before anything is computed with it (of `mm2`)
    AuroraWhole,
    /// MPI's Isend and Irecv; computes with what comes as it comes (not of `indexgather` and `sor`)
    MpiIsend,
    /// The same, each load whole before anything is computed with it (of `mm2`)
    MpiIsendWhole,
    /// MPI's Isend and Irecv round a ring of ranks (of `mm2`)
    MpiRing,
    /// MPI's collective operations (not of `indexgather` and `sor`)
    MpiCollective,
    /// This library without a behaviour, element by element
    Naive,
    /// Pages that are copied when they are touched, and syncs (of `sor`)
    Pages,
    /// Pages as in TreadMarks: a request for each page and rank that has written it (of `sor`)
    Treadmarks,
    /// Partial sums of each rank, merged at the end (of `histogram`)
    Accumulate,
    /// The sequential program, on rank 0 alone
    Sequential,
    /// As many threads as there are ranks, all of rank 0, with rayon (of `psrs`)
    Rayon,
}

impl Implementations {
    /// All of them.
    pub fn list(&self) -> Vec<Implementation> {
        let of = |name: &Name| match name {
            Name::Aurora => Implementation::Aurora,
            Name::MpiCollective => Implementation::MpiCollective,
            Name::MpiIsend => Implementation::MpiIsend,
            Name::MpiAlltoallv => Implementation::MpiAlltoallv,
            Name::Tcp => Implementation::Tcp,
        };
        self.names.iter().map(of).collect()
    }
}

impl ProgramImplementations {
    /// All of them.
    pub fn list(&self) -> Vec<Implementation> {
        let of = |name: &ProgramName| match name {
            ProgramName::Aurora => Implementation::Aurora,
            ProgramName::AuroraWhole => Implementation::AuroraWhole,
            ProgramName::MpiCollective => Implementation::MpiCollective,
            ProgramName::MpiIsend => Implementation::MpiIsend,
            ProgramName::MpiIsendWhole => Implementation::MpiIsendWhole,
            ProgramName::MpiRing => Implementation::MpiRing,
            ProgramName::Naive => Implementation::Naive,
            ProgramName::Pages => Implementation::Pages,
            ProgramName::Treadmarks => Implementation::Treadmarks,
            ProgramName::Accumulate => Implementation::Accumulate,
            ProgramName::Sequential => Implementation::Sequential,
            ProgramName::Rayon => Implementation::Rayon,
        };
        self.names.iter().map(of).collect()
    }
}

/// Whether all that are `wanted` can be had, as far as that can be known before the job starts.
///
/// # Errors
/// The argument that cannot be.
pub fn check(offer: &impl Offer, wanted: &[Implementation], config: &Config) -> Result<(), Refusal> {
    let Some(conditions) = Conditions::before(config) else { return Ok(()) };
    offer.check(wanted, conditions).map_err(|(implementation, refusal)| {
        let (argument, value) = match refusal {
            implementation::Refusal::TooFewRanks { ranks, .. } => ("--ranks <N>", ranks.to_string()),
            _ => ("--impl <IMPL>", implementation.name().into()),
        };
        Refusal { argument, value: Some(value), reason: Reason::Implementation(refusal) }
    })
}
