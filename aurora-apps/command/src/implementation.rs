//! `--impl`: the implementations to run.

use crate::refusal::{Reason, Refusal};
use aurora_apps::bench::Operation;
use aurora_apps::implementation::{self, Conditions, Implementation, Offer, Program};
use aurora_core::prelude::*;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

#[derive(Args, Clone, Debug)]
pub struct Implementations {
    /// Implementation to run. Several, separated by commas, take turns in one job
    // The parser of each command replaces this one.
    #[arg(id = IMPLEMENTATIONS, long = "impl", value_name = "IMPL", value_delimiter = ',', default_value = "aurora")]
    #[arg(value_parser = parser(&[]))]
    pub list: Vec<Implementation>,
}

/// The argument's name in clap.
pub const IMPLEMENTATIONS: &str = "implementations";

/// Returns the parser of the implementations that a program or an operation of this name has.
pub fn parser_of(command: &str) -> impl TypedValueParser<Value = Implementation> {
    let operation = Operation::ALL.iter().find(|operation| operation.name() == command);
    let program = Program::ALL.iter().find(|program| program.name() == command);
    let offered = operation.map(Offer::implementations).or(program.map(Offer::implementations));
    parser(offered.unwrap_or_default())
}

fn parser(offered: &'static [Implementation]) -> impl TypedValueParser<Value = Implementation> {
    let shown = offered.iter().map(|of| PossibleValue::new(of.name()).help(help(*of)));
    let named = |name: String| offered.iter().find(|of| of.name() == name).copied();
    PossibleValuesParser::new(shown).map(move |name| named(name).expect("one of those that are shown"))
}

fn help(implementation: Implementation) -> &'static str {
    match implementation {
        Implementation::Aurora => "This library",
        Implementation::AuroraWhole => "This library, without computing during a load",
        Implementation::MpiIsend => "Isend and Irecv of MPI. Programs compute with data as it arrives",
        Implementation::MpiIsendWhole => "Isend and Irecv of MPI, without computing during a load",
        Implementation::MpiRing => "Isend and Irecv of MPI around a ring of ranks",
        Implementation::MpiCollective => "Collective operations of MPI",
        Implementation::MpiAlltoallv => "Batches for each owner, made by hand, and MPI's Alltoallv",
        Implementation::Naive => "This library without a behaviour, element by element",
        Implementation::Pages => "Pages that are copied when they are touched, and syncs",
        Implementation::Treadmarks => "Pages as in TreadMarks: a request for each page and rank that has written it",
        Implementation::Accumulate => "Partial sums of each rank, merged at the end",
        Implementation::Sequential => "The sequential program, on rank 0 alone",
        Implementation::Tcp => "One TCP connection",
        Implementation::Rayon => "As many threads as there are ranks, all of rank 0, with rayon",
    }
}

/// Checks that all `wanted` implementations can run, as far as that is known before the job starts.
///
/// # Errors
/// The wrong argument.
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
