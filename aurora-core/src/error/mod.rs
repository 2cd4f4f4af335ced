//! Errors, and the texts that say how to mend the program.

mod about;
mod claim;
mod kind;
mod limits;
mod lists;
mod raced;
mod user;
mod words;

pub use claim::{Claim, ObjectName};
pub use kind::ErrorKind;
pub use limits::{CacheLimit, MemoryLimit};
pub(crate) use lists::clip;
pub use raced::Raced;
pub use user::UserError;
pub(crate) use words::{A_CALL, list, memory};

use crate::Site;
use aurora_net::bootstrap::Failure;
use aurora_net::{Rank, UdpTrouble};
use lists::{Clipped, first_difference};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;
use words::{
    alike, amid, at, elsewhere, for_whom, instead, instead_of_waiting, join, length, listed, lost_for, meanwhile, near,
    race, stuck, with_others,
};

/// Result of every operation that may involve another rank.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The outcome of an action on the kernel, which returns its value elsewhere. It fits registers: moving an [`Error`]
/// through all layers takes longer than most actions.
pub(crate) type Done = std::result::Result<(), Box<Error>>;

/// An error of Aurora, or of the program, which `run` passes on.
///
/// The text names the cure. A program that acts on an error asks for its [`kind`](Error::kind), its
/// [`rank`](Error::rank) and its line ([`site`](Error::site)), or matches a variant:
///
/// ```
/// use aurora_core::{ErrorKind, prelude::*};
///
/// let outcome = Config::threads(2).run(|world| {
///     let v = GVector::<u64>::new(world, 10)?;
///     match v.at(10) {
///         Err(Error::IndexOutside { index, len, .. }) => assert_eq!((index, len), (10, 10)),
///         other => panic!("{other:?}"),
///     }
///     v.at(11)
/// });
/// let error = outcome.unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Argument);
/// assert!(error.site().is_some_and(|site| site.line() > 0) && !error.is_job_lost());
/// ```
///
/// `{}` and `{:?}` give the text, which `fn main() -> Result<()>` prints; `{:#?}` and `dbg!` also give the fields.
#[derive(Clone, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Ranks disagree about a collective operation: its kind, object, type, length or order, or which ranks take part.
    #[error(
        "ranks disagree: {}, but {}; every rank must make the same collective calls in the same order{}",
        Clipped(first), Clipped(second), first_difference(first, second).unwrap_or_else(|| alike(first, second).into())
    )]
    #[non_exhaustive]
    Mismatch {
        /// The call of the lower rank.
        first: Box<Claim>,
        /// The different call of another rank.
        second: Box<Claim>,
    },
    /// The guard of a scoped behaviour was forgotten (`mem::forget`), or is held too long: for example over a barrier
    /// that another rank cannot reach, because it waits for an element that the guard holds.
    #[error(
        "{rank} has not closed the {behaviour} of {object} that it opened at {opened}{}: drop the guard before a \
         barrier, and before any other wait for ranks that need the object; do not forget it (`mem::forget`)",
        meanwhile(waiting)
    )]
    #[non_exhaustive]
    Leaked {
        /// The rank that holds the guard.
        rank: Rank,
        /// The behaviour.
        behaviour: String,
        /// Its object.
        object: Box<ObjectName>,
        /// The line that opened the scope.
        opened: Site,
        /// A rank that waits for the end of the scope, if one is known.
        waiting: Option<Box<Claim>>,
    },
    /// A rank panicked inside a scope of this object. The object may have the writes of half a phase, so no call shows
    /// its contents any more.
    #[error(
        "{object} is poisoned: {rank} panicked {}; its values may be those of half a phase, so make a new object",
        amid(behaviour, opened, object)
    )]
    #[non_exhaustive]
    Poisoned {
        /// The rank that panicked.
        rank: Rank,
        /// The behaviour that was open, or the behaviour with the operation that panicked.
        behaviour: String,
        /// The object.
        object: ObjectName,
        /// The line that opened the scope; the line that made the object, if another rank opened the scope.
        opened: Site,
    },
    /// Ranks wait for each other in a circle, or a rank waits for itself.
    #[error("{}: {}; {}", stuck(.waits), join(.waits), instead_of_waiting(.waits))]
    #[non_exhaustive]
    Deadlock {
        /// Each rank waits for the next rank of the list, and the last for the first. A single rank waits for itself.
        waits: Vec<Claim>,
    },
    /// The awaited rank has already returned from its closure.
    #[error(
        "{waiting}, but {left} has left `run` already: every rank must make the same collective calls before its \
         closure returns"
    )]
    #[non_exhaustive]
    RankLeft {
        /// The rank that has left.
        left: Rank,
        /// The rank that waits, and its wait.
        waiting: Claim,
    },
    /// A rank does not answer.
    #[error("{rank} {}", lost_for(*.silent_for, .trouble))]
    #[non_exhaustive]
    PeerLost {
        /// The silent rank.
        rank: Rank,
        /// The time since its last message; zero if its process is known to have ended.
        silent_for: Duration,
        /// The trouble with the network that the reporting rank has found, if any.
        trouble: Option<Box<UdpTrouble>>,
    },
    /// Another rank failed, which ended the job. An error that is equal for all ranks, such as a
    /// [`Mismatch`](Error::Mismatch), is returned by all ranks instead of this one.
    #[error("{failure}")]
    #[non_exhaustive]
    JobFailed {
        /// The rank that failed, the cause and the line.
        failure: Failure,
    },
    /// The limit set with `AURORA_TIMEOUT` has passed.
    #[error("{waiting} and has waited for {limit:?}, longer than AURORA_TIMEOUT allows{}", for_whom(.missing))]
    #[non_exhaustive]
    Timeout {
        /// The rank that waited, and its wait.
        waiting: Claim,
        /// The ranks for which it still waited; empty if it was polling.
        missing: Vec<Rank>,
        /// The limit.
        limit: Duration,
    },
    /// A race: two ranks access one element of a vector or one entry of a map, at least one of them writes it, and
    /// nothing orders the two accesses, so the value that is read, or that remains, depends on chance. Found in
    /// [checking mode](crate::Config::check).
    #[error("{} on {what} of {object}: {first}, and {second}; nothing orders these accesses: {advice}", race(*is_possible))]
    #[non_exhaustive]
    Race {
        /// True if a rank holds several elements or entries, and Aurora cannot tell whether the program uses this one.
        /// Such a race is an error only with [`Check::Strict`](crate::Check::Strict).
        is_possible: bool,
        /// The element or entry.
        what: Raced,
        /// The object.
        object: Box<ObjectName>,
        /// The access of the lower rank, with its line.
        first: Box<Claim>,
        /// The access of the other rank.
        second: Box<Claim>,
        /// A change of the program that orders the two accesses, or needs no order.
        advice: String,
    },
    /// The file for the trace cannot be written. The job was not started.
    #[error("the trace {path} cannot be written: {cause}; set AURORA_TRACE to a file that can be written, or unset it")]
    #[non_exhaustive]
    TraceFile {
        /// The file.
        path: String,
        /// The error of the operating system.
        cause: String,
    },
    /// An access to a single element of another rank, which [`AURORA_SCALAR=deny`](crate::VARIABLES) forbids.
    #[error(
        "`{access}` of element {index} of {object}, which is on {owner} (at {site}): AURORA_SCALAR=deny forbids single elements of other ranks; {}",
        instead(.access)
    )]
    #[non_exhaustive]
    Denied {
        /// The access: `at` or `put`.
        access: String,
        /// The element.
        index: usize,
        /// Its owner.
        owner: Rank,
        /// The object.
        object: Box<ObjectName>,
        /// The line of the access.
        site: Site,
    },
    /// An index outside the vector.
    #[error("index {index}{} is outside {object}{} (at {site})", listed(.position), length(object, *len))]
    #[non_exhaustive]
    IndexOutside {
        /// The index.
        index: usize,
        /// The position of the index, from 0, among the indices of one call or one queue.
        position: Option<usize>,
        /// Number of elements.
        len: usize,
        /// The object.
        object: Box<ObjectName>,
        /// The line of the access.
        site: Site,
    },
    /// An index that this behaviour does not show on this rank.
    #[error("index {index} is outside {start}..{end}, the part of {object} that {behaviour} shows here (at {site})")]
    #[non_exhaustive]
    NotShown {
        /// The index.
        index: usize,
        /// First index shown.
        start: usize,
        /// One past the last.
        end: usize,
        /// The behaviour.
        behaviour: String,
        /// The object.
        object: Box<ObjectName>,
        /// The line of the access.
        site: Site,
    },
    /// A range that is reversed or reaches outside the vector.
    #[error(
        "range {start}..{end} is {} {object}{} (at {site})",
        if .start > .end { "reversed, of" } else { "too long for" }, length(object, *len)
    )]
    #[non_exhaustive]
    RangeOutside {
        /// First index.
        start: usize,
        /// One past the last.
        end: usize,
        /// Number of elements.
        len: usize,
        /// The object.
        object: ObjectName,
        /// The line of the access.
        site: Site,
    },
    /// Source and destination of a copy have different lengths.
    #[error("a copy of {from} elements into {into} elements (at {site}): both sides must have the same length")]
    #[non_exhaustive]
    LengthsDiffer {
        /// Elements of the source.
        from: usize,
        /// Elements of the destination.
        into: usize,
        /// The line of the copy.
        site: Site,
    },
    /// A rank number that this job does not have.
    #[error("{rank} does not exist: this job has {size} ranks, numbered from 0 (at {site})")]
    #[non_exhaustive]
    NoSuchRank {
        /// The given rank.
        rank: Rank,
        /// Number of ranks.
        size: usize,
        /// The line of the call.
        site: Site,
    },
    /// An element type without size, which cannot be distributed.
    #[error("elements of type {element} have no size (at {site}): share a type that holds something")]
    #[non_exhaustive]
    ZeroSized {
        /// The type.
        element: String,
        /// The line of the call.
        site: Site,
    },
    /// A [`Partition`](crate::Partition) that does not give one number to each rank.
    #[error("{given} {what} for {size} ranks (at {site}): give one for each rank, 0 for a rank that is to own nothing")]
    #[non_exhaustive]
    OneForEachRank {
        /// The kind of the numbers: `lengths`, `numbers of rows` or `weights`.
        what: String,
        /// The number of given numbers.
        given: usize,
        /// Number of ranks.
        size: usize,
        /// The line of the call.
        site: Site,
    },
    /// A weight of a [`Partition`](crate::Partition) that is negative, infinite or NaN.
    #[error("{rank} cannot have the weight {weight} (at {site}): a weight is a finite number, 0 or greater")]
    #[non_exhaustive]
    BadWeight {
        /// The first rank with such a weight.
        rank: Rank,
        /// The weight.
        weight: f64,
        /// The line of the call.
        site: Site,
    },
    /// A [`Partition`](crate::Partition) in which every rank has weight 0.
    #[error("the weights of all {size} ranks are 0 (at {site}): give at least one rank a weight greater than 0")]
    #[non_exhaustive]
    NoWeight {
        /// Number of ranks.
        size: usize,
        /// The line of the call.
        site: Site,
    },
    /// A vector of more bytes than there are addresses.
    #[error("{shape} of {element} are more bytes than {rank} can address (at {site}): share less data")]
    #[non_exhaustive]
    TooLarge {
        /// The rank.
        rank: Rank,
        /// The given shape.
        shape: String,
        /// The element type.
        element: String,
        /// The line of the call.
        site: Site,
    },
    /// A [`Partition::rows`](crate::Partition::rows) without columns, with more rows than a `usize` can hold.
    #[error("{shape}: the number of rows is greater than {} (at {site}): give fewer rows", usize::MAX)]
    #[non_exhaustive]
    TooManyRows {
        /// The given shape.
        shape: String,
        /// The line of the call.
        site: Site,
    },
    /// A rank needs more memory than it may still take. All ranks get this error, before the system would end one for
    /// lack of memory.
    #[error(
        "{rank} needs {} for {purpose} of {object}{}, and {limit} has {} left{}: {}",
        memory(*asked), with_others(*asked, *together), memory(*available), elsewhere(site, object), limit.advice()
    )]
    #[non_exhaustive]
    OutOfMemory {
        /// The rank.
        rank: Rank,
        /// The use of the memory, such as `its block` or `a ReadCache`.
        purpose: String,
        /// The object.
        object: Box<ObjectName>,
        /// The bytes that the rank needs.
        asked: usize,
        /// The bytes that it and all ranks that share its memory need at that moment.
        together: usize,
        /// The bytes that these ranks may still take.
        available: usize,
        /// The limit.
        limit: MemoryLimit,
        /// The line of the call.
        site: Site,
    },
    /// A copy of a vector that is larger than the limit for one rank. All ranks get this error before any memory is
    /// taken.
    #[error(
        "{rank} needs {} for {purpose} of {object}{}, {limit}: read a slice of it at a time (`v.slice(range)`, then \
         `read_cache`), fetch scattered elements with `batched_reads`, or allow more",
        memory(*asked), elsewhere(site, object)
    )]
    #[non_exhaustive]
    CacheLimit {
        /// The rank.
        rank: Rank,
        /// The use of the copy, such as `a ReadCache`.
        purpose: String,
        /// The object.
        object: Box<ObjectName>,
        /// The bytes of the copy.
        asked: usize,
        /// The limit.
        limit: CacheLimit,
        /// The line of the call.
        site: Site,
    },
    /// An operation that the owner does not know.
    #[error(
        "the owner of {object} does not know operation {op}{}: it knows the operations of primitive numbers, such as Sum, and those of the \
         `release_c_with(Op)` and `accumulate(Op)` that all ranks have entered",
        elsewhere(site, object)
    )]
    #[non_exhaustive]
    UnknownOp {
        /// The operation's type.
        op: String,
        /// The object.
        object: ObjectName,
        /// The line of the call.
        site: Site,
    },
    /// Two operations that Aurora cannot tell apart: the compiler gave both types the same number.
    #[error(
        "operations {first} and {second} on {object} cannot be told apart{}: the compiler gave both types the same number, a rare \
         coincidence; rename one of them, or move it to another module",
        elsewhere(site, object)
    )]
    #[non_exhaustive]
    SameNumber {
        /// The operation that was known first.
        first: String,
        /// The operation that is refused.
        second: String,
        /// The object.
        object: Box<ObjectName>,
        /// The line of the call.
        site: Site,
    },
    /// A value, or a key of a map, that serde cannot encode or decode, or whose bytes decode to another value.
    #[error("a value of type {value} cannot be sent to other ranks: {cause} (at {site})")]
    #[non_exhaustive]
    Value {
        /// The type.
        value: String,
        /// The error of serde, or the mistake in the type.
        cause: String,
        /// The line of the call; for a batch of a `ReleaseC`, the line that made the map.
        site: Site,
    },
    /// The object or world is used after its `run` has ended.
    #[error("the job has ended: shared objects live no longer than the `run` that made them (at {site})")]
    #[non_exhaustive]
    Ended {
        /// The line of the use.
        site: Site,
    },
    /// A set environment variable with the prefix `AURORA_` that Aurora does not know.
    #[error("unknown environment variable {name}{}; the known ones: {known}", near(.nearest))]
    #[non_exhaustive]
    UnknownVariable {
        /// Its name.
        name: String,
        /// The known name that is most similar.
        nearest: Option<String>,
        /// All known names.
        known: String,
    },
    /// A value that an environment variable or an option cannot have.
    #[error("{name}={value} is not valid: expected {expected}")]
    #[non_exhaustive]
    BadSetting {
        /// Variable or option.
        name: String,
        /// The refused value.
        value: String,
        /// The values that it may have.
        expected: String,
    },
    /// The job could not be started.
    #[error("{0}")]
    Start(String),
    /// A shared object of the program or of another library reports an error.
    #[error("{object} on {rank}: {cause}")]
    #[non_exhaustive]
    Object {
        /// The rank.
        rank: Rank,
        /// The object.
        object: ObjectName,
        /// A name by which programs recognise the error; empty if the object gives none.
        name: String,
        /// The cause and the cure.
        cause: String,
    },
    /// An error of the program, passed through `run`.
    #[error("{message}{}", at(.site))]
    #[non_exhaustive]
    User {
        /// Its text.
        message: String,
        /// The line with the `?` or [`Error::user`] that wrapped the error.
        site: Option<Site>,
        /// The error itself, on the rank on which it happened.
        #[serde(skip)]
        source: Option<UserError>,
    },
}

/// `fn main() -> Result<()>` prints the `Debug` form, so it is the message; the alternate form adds the fields.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)?;
        if f.alternate()
            && let Ok(fields) = serde_json::to_string_pretty(self)
        {
            write!(f, "\n{fields}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_small_enough_to_return() {
        // Clippy warns about functions that return errors of 128 bytes or more.
        assert!(size_of::<Error>() < 128, "{} bytes", size_of::<Error>());
    }
}
