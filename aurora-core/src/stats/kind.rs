use serde::{Deserialize, Serialize};
use std::fmt;

/// The purpose of a message or of a wait.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Kind {
    /// Barriers, constructions, `fill`, `gather_to`. The messages count for the job, because they are about all
    /// objects. A wait in a barrier counts for the job, too; other waits count for the object that is made, filled or
    /// gathered.
    Barrier,
    /// Data of [reductions](crate::World::all_reduce) and similar calls that is too long to travel with the barrier;
    /// waiting for this data.
    Exchange,
    /// A ReadCache: announcements and pushed blocks; waiting for all blocks, and so for the last rank to enter.
    Load,
    /// Elements of other ranks, by `at`, `put`, `at_many`, `put_many`, and entries of a [`GMap`](crate::GMap) by key:
    /// requests and values; waiting for the answers.
    Access,
    /// Indices of BatchedReads; waiting for the values.
    BatchedReads,
    /// `distmemcpy`, and moving the data of a `gather_to`: requests and written data; waiting for the answers.
    Copy,
    /// Batches and ends of a ReleaseC; waiting for room, and for other ranks to end their scopes.
    Flush,
    /// Batches and ends of an Accumulate; waiting for room, and for other ranks to end their scopes.
    Merge,
    /// Edges of a HaloCache; waiting for the neighbours' edges.
    Halo,
    /// Pages of a Paged scope, and changes of pages; waiting for them.
    Page,
    /// Operations and scopes of a [`GScalar`](crate::GScalar).
    Scalar,
    /// Answers of this rank to requests of other ranks. It has no waits.
    Answer,
    /// Waiting until the transfers of a block are acknowledged, before the block is written.
    Gate,
    /// Everything else: drop notices, errors, the watch over waiting ranks; comparing clocks for a trace.
    Control,
    /// Shared objects of the program or of another library: [`SharedObject`](crate::object::SharedObject).
    Object,
    /// The end of `run`: waiting for the other ranks.
    End,
}

impl Kind {
    /// All kinds, in the order of a table.
    pub const ALL: [Kind; 16] = [
        Kind::Load,
        Kind::Access,
        Kind::BatchedReads,
        Kind::Copy,
        Kind::Flush,
        Kind::Merge,
        Kind::Halo,
        Kind::Page,
        Kind::Scalar,
        Kind::Object,
        Kind::Answer,
        Kind::Gate,
        Kind::Barrier,
        Kind::Exchange,
        Kind::Control,
        Kind::End,
    ];

    /// Returns the name of the kind, in a word.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Barrier => "barrier",
            Kind::Exchange => "exchange",
            Kind::Load => "load",
            Kind::Access => "access",
            Kind::BatchedReads => "batched",
            Kind::Copy => "copy",
            Kind::Flush => "flush",
            Kind::Merge => "merge",
            Kind::Halo => "halo",
            Kind::Page => "page",
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
