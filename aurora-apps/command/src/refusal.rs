//! Error messages about impossible arguments.

use crate::simulate::speeds::BadSpeeds;
use aurora_apps::report::label::BadLabel;
use aurora_apps::{cholesky, farm, implementation, sor, sparse_mm};
use aurora_super::model;
use thiserror::Error;

/// An argument whose value is well formed and yet impossible here.
#[derive(Clone, PartialEq, Debug, Error)]
#[error("{}: {reason}", refused(.argument, .value))]
pub struct Refusal {
    /// The argument, as the help names it.
    pub argument: &'static str,
    /// The user's value; none if every value would be wrong.
    pub value: Option<String>,
    /// The reason, and the allowed values.
    #[source]
    pub reason: Reason,
}

/// The reason why a value is impossible.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum Reason {
    /// More memory than this machine has.
    #[error(
        "{ranks} ranks need {} of memory for it and {} are available; the most that fits is {most}",
        binary(*.needed), binary(u128::from(*.available))
    )]
    Memory {
        /// The number of ranks that share this machine.
        ranks: u64,
        /// The bytes that they need.
        needed: u128,
        /// The available bytes.
        available: u64,
        /// The largest value that fits.
        most: u64,
    },
    /// Another number of ranks than the launcher has started.
    #[error("the launcher has started {started} ranks; allowed here: {started}, or leave it out")]
    OtherSize {
        /// The number of ranks.
        started: usize,
    },
    /// Too few weights, or too many.
    #[error("{given} weights for {ranks} ranks: give one for each rank, 0 for a rank that is to own nothing")]
    Weights {
        /// The number of given weights.
        given: usize,
        /// The number of ranks.
        ranks: usize,
    },
    /// Weights by which no rank owns anything.
    #[error("all weights are 0: give at least one rank a weight greater than 0")]
    NoWeight,
    /// A route for threads of one process, for ranks that are processes.
    #[error("ranks that a launcher has started are not threads of one process; allowed here: auto, udp")]
    NotThreads,
    /// A file that cannot be read, or has wrong content.
    #[error("{0}")]
    File(String),
    /// A file of machines for a launcher that does not read one.
    #[error("it is for mpirun: add `--launcher mpirun`, or leave it out")]
    Hostfile,
    /// A word that mpirun interprets itself.
    #[error("mpirun takes it for the beginning of another program: start the program by a script that has the word")]
    Colon,
    /// A batch larger than the number of reads.
    #[error("each rank makes {reads} reads; the most that makes sense is {reads}")]
    Batch {
        /// The number of reads.
        reads: usize,
    },
    /// A matrix that is too large for an implementation.
    #[error("{0}")]
    Sor(sor::TooLarge),
    /// A product of sparse matrices that is impossible.
    #[error("{0}")]
    Sparse(sparse_mm::Impossible),
    /// A factorisation that is impossible.
    #[error("{0}")]
    Cholesky(cholesky::Impossible),
    /// A farm that is impossible.
    #[error("{0}")]
    Farm(farm::Impossible),
    /// Labels that cannot be used together.
    #[error("{0}")]
    Label(BadLabel),
    /// An implementation that cannot run.
    #[error("{0}")]
    Implementation(implementation::Refusal),
    /// A value with which the model of unequal machines cannot calculate.
    #[error("{0}")]
    Model(Box<model::Error>),
    /// Speeds that no cluster can have.
    #[error("{0}")]
    Speeds(BadSpeeds),
    /// An option of another mode.
    #[error("it belongs to own mode: add `--mode own`, or leave it out")]
    OwnMode,
    /// A value of `--transfers` that needs paper mode.
    #[error("own mode sends each block to who asks for it: leave it out, or add `--mode paper`")]
    PaperMode,
    /// A schedule without variants.
    #[error(
        "a schedule is one of variants: add `--variant <LIST>`, or `--case <CASE>` without `--policy`, or leave it out"
    )]
    Schedule,
    /// Results that stay with their owners, in versions that do not update remotely.
    #[error("results can stay with their owners in version R only: add `--variant R`, or a case that has R")]
    ResultsStay,
    /// The size of a block without a bandwidth, in paper mode.
    #[error("in paper mode the bytes of a block matter by their time on a link: add `--bandwidth <MBIT>`")]
    NoBandwidth,
    /// A bandwidth without the size of a block, in paper mode.
    #[error(
        "in paper mode a bandwidth needs the bytes of a block: add `--rows <N>` and `--density <SHARE>`, or \
         `--block-bytes <BYTES>`"
    )]
    NoBlock,
    /// A load, and also a bandwidth and the size of a block, in paper mode.
    #[error("in paper mode the load of a block follows from its bytes and `--bandwidth`: leave one of them out")]
    TwoLoads,
    /// A text that names no source of an efficiency.
    #[error("write a configuration ({example}), per cent with its sign (`77.8%`), or `curve`")]
    Origin {
        /// A configuration that this table could have.
        example: String,
    },
    /// Another setting that cannot be simulated.
    #[error("{0}")]
    Simulation(String),
    /// A simulation that needs more memory than this machine has.
    #[error(
        "to simulate so many nodes with {blocks} x {blocks} blocks takes {} of memory and {} are available: ask for fewer nodes, fewer \
         `--blocks`, or `--reps 1`",
        binary(*.needed), binary(u128::from(*.available))
    )]
    Nodes {
        /// The number of blocks in a row.
        blocks: u32,
        /// The bytes that are needed.
        needed: u128,
        /// The available bytes.
        available: u64,
    },
}

/// Returns the begin of the message: the wrong value, or that the argument cannot be used.
fn refused(argument: &str, value: &Option<String>) -> String {
    match value {
        Some(value) => format!("invalid value '{value}' for '{argument}'"),
        None => format!("the argument '{argument}' cannot be used here"),
    }
}

/// Returns `bytes` in the largest unit in which it is a whole number of at least one.
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
