//! `--impl`: the implementations to run.

use crate::refusal::{Reason, Refusal};
use aurora_apps::bench::Operation;
use aurora_apps::implementation::{self, Conditions, Implementation, Offer, Program};
use aurora_core::prelude::*;
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Returns the parser of the implementations that a program or an operation of this name has.
pub fn parser_of(command: &str) -> impl TypedValueParser<Value = Implementation> {
    let operation = Operation::ALL.iter().find(|operation| operation.name() == command);
    let program = Program::ALL.iter().find(|program| program.name() == command);
    let offered = operation.map(Offer::implementations).or(program.map(Offer::implementations)).unwrap_or_default();
    let shown = offered.iter().filter_map(ValueEnum::to_possible_value);
    PossibleValuesParser::new(shown)
        .map(|name| Implementation::from_str(&name, false).expect("one of those that are shown"))
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
