//! What is said about an argument that cannot be.

use crate::simulate::speeds::BadSpeeds;
use aurora_apps::report::label::BadLabel;
use aurora_apps::{implementation, sor, sparse_mm};
use aurora_super::model;
use thiserror::Error;

/// An argument whose value is well formed and yet impossible here.
#[derive(Clone, PartialEq, Debug, Error)]
#[error("{}: {reason}", refused(.argument, .value))]
pub struct Refusal {
    /// The argument, as the help names it.
    pub argument: &'static str,
    /// What the user gave; none where no value would do.
    pub value: Option<String>,
    /// Why not, and what is allowed.
    #[source]
    pub reason: Reason,
}

/// Why a value is impossible.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum Reason {
    /// More than this machine has.
    #[error(
        "{ranks} ranks need {} of memory for it and {} are available; the most that fits is {most}",
        binary(*.needed), binary(u128::from(*.available))
    )]
    Memory {
        /// So many share this machine.
        ranks: u64,
        /// Bytes that they need.
        needed: u128,
        /// Bytes that they could get.
        available: u64,
        /// The largest value that fits.
        most: u64,
    },
    /// Not as many as the launcher has started.
    #[error("the launcher has started {started} ranks; allowed here: {started}, or leave it out")]
    OtherSize {
        /// How many there are.
        started: usize,
    },
    /// Too few weights, or too many.
    #[error("{given} weights for {ranks} ranks: give one for each rank, 0 for a rank that is to own nothing")]
    Weights {
        /// So many.
        given: usize,
        /// So many would be right.
        ranks: usize,
    },
    /// Weights by which no rank owns anything.
    #[error("all weights are 0: give at least one rank a weight greater than 0")]
    NoWeight,
    /// Ranks that are processes already cannot be threads of one.
    #[error("ranks that a launcher has started are not threads of one process; allowed here: auto, udp")]
    NotThreads,
    /// A file that cannot be read, or makes no sense.
    #[error("{0}")]
    File(String),
    /// Machines for a launcher that reads no such file.
    #[error("it is for mpirun: add `--launcher mpirun`, or leave it out")]
    Hostfile,
    /// A word of mpirun's own.
    #[error("mpirun takes it for the beginning of another program: start the program by a script that has the word")]
    Colon,
    /// More in a batch than there are.
    #[error("each rank makes {reads} reads; the most that makes sense is {reads}")]
    Batch {
        /// How many there are.
        reads: usize,
    },
    /// A matrix that is too large for an implementation.
    #[error("{0}")]
    Sor(sor::TooLarge),
    /// A product of sparse matrices that is impossible.
    #[error("{0}")]
    Sparse(sparse_mm::Impossible),
    /// Labels that cannot stand beside each other.
    #[error("{0}")]
    Label(BadLabel),
    /// Somebody to carry it out who cannot be had.
    #[error("{0}")]
    Implementation(implementation::Refusal),
    /// Something that the model of unequal machines cannot calculate with.
    #[error("{0}")]
    Model(Box<model::Error>),
    /// Speeds that no cluster can have.
    #[error("{0}")]
    Speeds(BadSpeeds),
    /// An option of another mode.
    #[error("it belongs to own mode: add `--mode own`, or leave it out")]
    OwnMode,
    /// The same the other way round.
    #[error("own mode sends each block to who asks for it: leave it out, or add `--mode paper`")]
    PaperMode,
    /// A schedule without anything that it is a schedule of.
    #[error(
        "a schedule is one of variants: add `--variant <LIST>`, or `--case <CASE>` without `--policy`, or leave it out"
    )]
    Schedule,
    /// Nothing that an efficiency could be taken from.
    #[error("write a configuration ({example}), per cent with its sign (`77.8%`), or `curve`")]
    Origin {
        /// A configuration that this table could have.
        example: String,
    },
    /// Something else that cannot be simulated.
    #[error("{0}")]
    Simulation(String),
    /// More than can be simulated on this machine.
    #[error(
        "to simulate so many nodes with {blocks} x {blocks} blocks takes {} of memory and {} are available: ask for fewer nodes, fewer \
         `--blocks`, or `--reps 1`",
        binary(*.needed), binary(u128::from(*.available))
    )]
    Nodes {
        /// Blocks in a row.
        blocks: u32,
        /// Bytes that are needed.
        needed: u128,
        /// Bytes that can be had.
        available: u64,
    },
}

/// What is wrong with an argument: its value, if it has one that is.
fn refused(argument: &str, value: &Option<String>) -> String {
    match value {
        Some(value) => format!("invalid value '{value}' for '{argument}'"),
        None => format!("the argument '{argument}' cannot be used here"),
    }
}

/// `bytes` in the largest unit that leaves a whole number of at least one.
fn binary(bytes: u128) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut rest = bytes;
    let mut unit = 0;
    while rest >= 1024 && unit + 1 < units.len() {
        rest /= 1024;
        unit += 1;
    }
    format!("{rest} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_argument_value_and_what_is_allowed() {
        let refusal = Refusal {
            argument: "--size <N>",
            value: Some("90000".into()),
            reason: Reason::Memory { ranks: 2, needed: 3 << 40, available: 23 << 30, most: 16_000 },
        };
        assert_eq!(
            refusal.to_string(),
            "invalid value '90000' for '--size <N>': 2 ranks need 3 TiB of memory for it and 23 GiB are available; the \
             most that fits is 16000"
        );
    }
}
