//! What messages are for, and waits.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a message is for, or what a rank waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Kind {
    /// All ranks meet: barriers, constructions, `fill`, `gather`. Messages are about all objects, so they are the
    /// job's; so are waits in a barrier, while others are of the object that is made, filled or gathered.
    Barrier,
    /// What ranks give to each other in [reductions](crate::World::all_reduce) and their kin, where it does not travel
    /// with the barrier; waiting for it.
    Exchange,
    /// A ReadCache: announcements and pushed blocks; waiting for all blocks. Until the last rank has come that is
    /// waiting for it.
    Load,
    /// Elements of other ranks, by `at`, `put`, `at_many`, `put_many`: questions and values to be written; waiting for
    /// the answers.
    Access,
    /// Indices of a Gather; waiting for the values.
    Gather,
    /// `distmemcpy`, and the moving of data in a `gather`: questions and what is written; waiting for the answers.
    Copy,
    /// Batches and ends of a ReleaseC; waiting for room, and for others to end their scopes.
    Flush,
    /// The same of an Accumulate.
    Merge,
    /// Edges of a HaloCache; waiting for the neighbours'.
    Halo,
    /// Operations and scopes of a [`GScalar`](crate::GScalar).
    Scalar,
    /// Answers that this rank has sent to requests of other ranks. Nobody waits for that.
    Answer,
    /// Waiting until the block's own transfers are acknowledged, before it is written.
    Gate,
    /// Anything else: objects that are dropped, errors, ranks that ask each other what they wait for; comparing clocks
    /// for a trace.
    Control,
    /// Shared objects of the program itself or of another library: [`SharedObject`](crate::object::SharedObject).
    Object,
    /// The end of `run`: waiting for those who are not there yet.
    End,
}

impl Kind {
    /// All of them, in the order of a table.
    pub const ALL: [Kind; 15] = [
        Kind::Load,
        Kind::Access,
        Kind::Gather,
        Kind::Copy,
        Kind::Flush,
        Kind::Merge,
        Kind::Halo,
        Kind::Scalar,
        Kind::Object,
        Kind::Answer,
        Kind::Gate,
        Kind::Barrier,
        Kind::Exchange,
        Kind::Control,
        Kind::End,
    ];

    /// Of a one-sided request, by what the program has called.
    pub(crate) fn of_action(action: &str) -> Kind {
        match action {
            "Gather" => Kind::Gather,
            "distmemcpy" => Kind::Copy,
            "ReleaseC alone" | "AURORA_CHECK" => Kind::Flush,
            _ => Kind::Access,
        }
    }

    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Barrier => "barrier",
            Kind::Exchange => "exchange",
            Kind::Load => "load",
            Kind::Access => "access",
            Kind::Gather => "gather",
            Kind::Copy => "copy",
            Kind::Flush => "flush",
            Kind::Merge => "merge",
            Kind::Halo => "halo",
            Kind::Scalar => "scalar",
            Kind::Answer => "answer",
            Kind::Gate => "gate",
            Kind::Control => "control",
            Kind::Object => "object",
            Kind::End => "end",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_are_there_once() {
        let mut indices = Kind::ALL.map(|kind| kind as usize);
        indices.sort_unstable();
        assert!(indices.into_iter().eq(0..Kind::ALL.len()));
    }
}
