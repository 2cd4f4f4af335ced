//! What can go wrong, and what to do about it.

use crate::Site;
use crate::memory::{CacheLimit, MemoryLimit};
use aurora_net::Rank;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Result of every operation that may involve another rank.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A shared object as messages call it: what it is and where it was made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ObjectName {
    /// For example `GVector<i32> of 704 x 704`.
    pub what: String,
    /// The line that constructed it.
    pub made_at: Site,
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} (made at {})", self.what, self.made_at)
    }
}

/// What one rank was doing, as the others quote it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Claim {
    /// Which rank.
    pub rank: Rank,
    /// For example `opened a ReadCache of the GVector<i32> of 10 elements`.
    pub action: String,
    /// The line that asked for it.
    pub site: Site,
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} at {}", self.rank, self.action, self.site)
    }
}

/// Everything that Aurora reports to its user.
#[derive(Clone, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Ranks disagree about a collective operation: its kind, object, type, length, order, or who takes part.
    #[error("ranks disagree: {first}, but {second}; every rank must make the same collective calls in the same order")]
    Mismatch {
        /// What the lower rank did.
        first: Box<Claim>,
        /// What another did instead.
        second: Box<Claim>,
    },
    /// A scoped behaviour was forgotten (`mem::forget`), or is held where it may not be.
    #[error(
        "{rank} never closed the {behaviour} of {object} that it opened at {opened}: do not forget guards; let them go out of scope"
    )]
    Leaked {
        /// Who holds it.
        rank: Rank,
        /// Which behaviour.
        behaviour: String,
        /// Of which object.
        object: ObjectName,
        /// The line that opened it.
        opened: Site,
    },
    /// A rank panicked inside a scope of this object; its contents are those of half a phase and are never shown.
    #[error("{object} is poisoned: {rank} panicked inside the {behaviour} that it opened at {opened}")]
    Poisoned {
        /// Who panicked.
        rank: Rank,
        /// Inside which behaviour.
        behaviour: String,
        /// Of which object.
        object: ObjectName,
        /// The line that opened it.
        opened: Site,
    },
    /// Ranks wait for each other in a circle.
    #[error(
        "ranks wait for each other and none can go on: {}; end a scope before using what other ranks hold open",
        join(.waits)
    )]
    Deadlock {
        /// Who waits where, each for the next and the last for the first.
        waits: Vec<Claim>,
    },
    /// The awaited rank has left `run` and will never come.
    #[error(
        "{waiting}, but {left} has left `run` and will never come: every rank must make the same collective calls before it \
         returns from the closure"
    )]
    RankLeft {
        /// Who has left.
        left: Rank,
        /// Who waits, for what.
        waiting: Claim,
    },
    /// A rank does not answer.
    #[error("{rank} {}", lost_for(*.silent_for))]
    PeerLost {
        /// Who is silent.
        rank: Rank,
        /// For how long; zero if it is known to have died.
        silent_for: Duration,
    },
    /// Another rank failed, and the job with it.
    #[error("{failure}")]
    JobFailed {
        /// Who failed, why, and at which line.
        failure: aurora_net::bootstrap::Failure,
    },
    /// The limit set with `AURORA_TIMEOUT` has passed.
    #[error("{waiting} and has waited for {limit:?}, longer than AURORA_TIMEOUT allows; missing: {}", list(.missing))]
    Timeout {
        /// Who waited, for what.
        waiting: Claim,
        /// Ranks that did not come.
        missing: Vec<Rank>,
        /// The limit.
        limit: Duration,
    },
    /// Two ranks have written one element in the same scope, so that one of them has written in vain. Found in
    /// [checking mode](crate::Config::check).
    #[error(
        "two ranks write element {index} of {object} in one scope: {first}, and {second}; let one rank write it, or `update` it with an operation"
    )]
    Conflict {
        /// The element.
        index: usize,
        /// Of which object.
        object: Box<ObjectName>,
        /// What the lower rank did; the line of the write, where it is known, or of the scope.
        first: Box<Claim>,
        /// What the other did.
        second: Box<Claim>,
    },
    /// An element has been read that another rank has written in a scope which has not ended: before or after the write, as it comes. Found in
    /// [checking mode](crate::Config::check).
    #[error(
        "element {index} of {object} is read before what was written there is flushed: {writer}, and {reader}; end the scope, and order \
         the ranks before reading, by a barrier or a collective scope"
    )]
    Unflushed {
        /// The element.
        index: usize,
        /// Of which object.
        object: Box<ObjectName>,
        /// Who has written it, in which scope.
        writer: Box<Claim>,
        /// Who reads it.
        reader: Box<Claim>,
    },
    /// A single element of another rank, where [`AURORA_SCALAR`](crate::VARIABLES) denies it.
    #[error(
        "`{access}` of element {index} of {object}, which is on {owner} (at {site}): AURORA_SCALAR=deny forbids single elements of other ranks; {}",
        instead(.access)
    )]
    Denied {
        /// What was asked for: `at` or `put`.
        access: String,
        /// The element.
        index: usize,
        /// Its owner.
        owner: Rank,
        /// Of which object.
        object: Box<ObjectName>,
        /// The line that asked.
        site: Site,
    },
    /// An index outside the vector.
    #[error("index {index}{} is outside {object}, which has {len} elements (at {site})", listed(.position))]
    IndexOutside {
        /// The index.
        index: usize,
        /// Its place, from 0, among those asked for by one call or in one queue.
        position: Option<usize>,
        /// Number of elements.
        len: usize,
        /// Of which object.
        object: Box<ObjectName>,
        /// The line that asked.
        site: Site,
    },
    /// An index that this behaviour does not show on this rank.
    #[error("index {index} is outside {start}..{end}, the part of {object} that {behaviour} shows here (at {site})")]
    NotShown {
        /// The index.
        index: usize,
        /// First index shown.
        start: usize,
        /// One past the last.
        end: usize,
        /// The behaviour.
        behaviour: String,
        /// Of which object.
        object: Box<ObjectName>,
        /// The line that asked.
        site: Site,
    },
    /// A range that is reversed or reaches outside the vector.
    #[error("range {start}..{end} is {}, {object} has {len} elements (at {site})", if .start > .end { "reversed" } else { "too long" })]
    RangeOutside {
        /// First index.
        start: usize,
        /// One past the last.
        end: usize,
        /// Number of elements.
        len: usize,
        /// Of which object.
        object: ObjectName,
        /// The line that asked.
        site: Site,
    },
    /// Source and destination of a copy have different lengths.
    #[error("a copy of {from} elements into {into} elements (at {site}): both sides must have the same length")]
    LengthsDiffer {
        /// Elements of the source.
        from: usize,
        /// Elements of the destination.
        into: usize,
        /// The line that asked.
        site: Site,
    },
    /// A rank that does not exist.
    #[error("{rank} does not exist: this job has {size} ranks, numbered from 0 (at {site})")]
    NoSuchRank {
        /// The rank asked for.
        rank: Rank,
        /// Number of ranks.
        size: usize,
        /// The line that asked.
        site: Site,
    },
    /// An element type without size cannot be distributed.
    #[error("elements of type {element} have no size (at {site}): share a type that holds something")]
    ZeroSized {
        /// The type.
        element: String,
        /// The line that asked.
        site: Site,
    },
    /// A vector of more bytes than there are addresses.
    #[error("{shape} of {element} are more bytes than {rank} can address (at {site}): share less data")]
    TooLarge {
        /// Which rank.
        rank: Rank,
        /// The shape asked for.
        shape: String,
        /// The element type.
        element: String,
        /// The line that asked.
        site: Site,
    },
    /// More memory than a rank may still take. It is told to all ranks before the system has to kill one.
    #[error(
        "{rank} needs {} for {purpose} of {object}{}, and {limit} has {} left{}: use more machines, fewer ranks, or less data",
        memory(*asked), with_others(*asked, *together), memory(*available), elsewhere(site, object)
    )]
    OutOfMemory {
        /// Which rank.
        rank: Rank,
        /// What for, such as `its block` or `a ReadCache`.
        purpose: String,
        /// Of which object.
        object: Box<ObjectName>,
        /// Bytes that it asked for.
        asked: usize,
        /// Bytes that all ranks asked for at that moment who share its memory.
        together: usize,
        /// Bytes that they may still take.
        available: usize,
        /// What limits them.
        limit: MemoryLimit,
        /// The line that asked.
        site: Site,
    },
    /// A copy of a vector that is larger than one rank is to spend on it. All ranks are told before any memory is taken.
    #[error(
        "{rank} needs {} for {purpose} of {object}{}, {limit}: read a slice of it at a time (`v.slice(range)`, then \
         `read_cache`), fetch scattered elements with Gather, or allow more",
        memory(*asked), elsewhere(site, object)
    )]
    CacheLimit {
        /// Which rank.
        rank: Rank,
        /// What for, such as `a ReadCache`.
        purpose: String,
        /// Of which object.
        object: Box<ObjectName>,
        /// Bytes that the copy has.
        asked: usize,
        /// What limits it.
        limit: CacheLimit,
        /// The line that asked.
        site: Site,
    },
    /// An operation that the owner has not been told of.
    #[error(
        "the owner of {object} does not know operation {op} (at {site}): it knows Add, Min, Max and Or of primitive numbers, and those of each `release_c_with::<Op>()` that all ranks have entered"
    )]
    UnknownOp {
        /// The operation's type.
        op: String,
        /// Of which object.
        object: ObjectName,
        /// The line that asked.
        site: Site,
    },
    /// A shared scalar's value could not be encoded or decoded.
    #[error("a value of type {value} cannot travel: {cause} (at {site})")]
    Value {
        /// The type.
        value: String,
        /// What serde says.
        cause: String,
        /// The line that asked.
        site: Site,
    },
    /// The object or world is used after its `run` has ended.
    #[error("the job has ended: shared objects live no longer than the `run` that made them (at {site})")]
    Ended {
        /// The line that asked.
        site: Site,
    },
    /// An environment variable that Aurora does not know.
    #[error("unknown environment variable {name}{}; the known ones: {known}", near(.nearest))]
    UnknownVariable {
        /// Its name.
        name: String,
        /// The known one that is spelt most like it.
        nearest: Option<String>,
        /// All known ones.
        known: String,
    },
    /// A value that an environment variable or an option cannot have.
    #[error("{name}={value} is not possible: {expected}")]
    BadSetting {
        /// Variable or option.
        name: String,
        /// What it was set to.
        value: String,
        /// What it may be set to.
        expected: String,
    },
    /// The job could not be started.
    #[error("{0}")]
    Start(String),
    /// An error of the user's own, passed through `run`.
    #[error("{message}{}", at(.site))]
    User {
        /// What it says.
        message: String,
        /// The line whose `?` or [`Error::user`] turned it into this one.
        site: Option<Site>,
        /// The error itself, on the rank where it happened.
        #[serde(skip)]
        source: Option<UserError>,
    },
}

/// A user's error, shared so that [`Error`] can be cloned.
#[derive(Clone)]
pub struct UserError(Arc<dyn std::error::Error + Send + Sync>);

impl std::ops::Deref for UserError {
    type Target = dyn std::error::Error + Send + Sync;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl std::error::Error for UserError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

impl fmt::Display for UserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for UserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Error {
    /// Wraps an error of the program's own, so that a closure given to `run` can return it with `?`.
    #[track_caller]
    pub fn user(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let source: Arc<dyn std::error::Error + Send + Sync> = Arc::from(error.into());
        Error::User { message: source.to_string(), site: Some(Site::here()), source: Some(UserError(source)) }
    }

    /// The line of the user's program that this is about, if there is one.
    pub(crate) fn site(&self) -> Option<&Site> {
        match self {
            Error::Mismatch { first, .. } | Error::Conflict { first, .. } => Some(&first.site),
            Error::Unflushed { reader, .. } => Some(&reader.site),
            Error::Leaked { opened, .. } | Error::Poisoned { opened, .. } => Some(opened),
            Error::Deadlock { waits } => waits.first().map(|claim| &claim.site),
            Error::RankLeft { waiting, .. } | Error::Timeout { waiting, .. } => Some(&waiting.site),
            Error::IndexOutside { site, .. }
            | Error::Denied { site, .. }
            | Error::RangeOutside { site, .. }
            | Error::NotShown { site, .. }
            | Error::LengthsDiffer { site, .. }
            | Error::NoSuchRank { site, .. }
            | Error::ZeroSized { site, .. }
            | Error::TooLarge { site, .. }
            | Error::OutOfMemory { site, .. }
            | Error::CacheLimit { site, .. }
            | Error::UnknownOp { site, .. }
            | Error::Value { site, .. }
            | Error::Ended { site } => Some(site),
            Error::User { site, .. } => site.as_ref(),
            Error::PeerLost { .. }
            | Error::JobFailed { .. }
            | Error::UnknownVariable { .. }
            | Error::BadSetting { .. }
            | Error::Start(_) => None,
        }
    }
}

impl Error {
    /// Whether it is the end of the object that it is about: every use of it says so from then on.
    pub(crate) fn is_of_an_object(&self) -> bool {
        matches!(self, Error::Mismatch { .. } | Error::Leaked { .. } | Error::Poisoned { .. } | Error::Conflict { .. })
    }

    /// The same as its reader is told, who alone knows its line.
    pub(crate) fn read_by(mut self, me: Rank, action: &str, site: &Site) -> Self {
        if let Error::Unflushed { reader, .. } = &mut self
            && reader.rank == me
        {
            **reader = Claim { rank: me, action: format!("reads it by `{action}`"), site: site.clone() };
        }
        self
    }
}

impl From<std::io::Error> for Error {
    #[track_caller]
    fn from(error: std::io::Error) -> Self {
        Error::user(error)
    }
}

/// Errors of the standard library that programs meet when they read their input, so that `?` passes them on.
macro_rules! from_std {
    ($($error:ty)*) => {$(
        impl From<$error> for Error {
            #[track_caller]
            fn from(error: $error) -> Self {
                Error::user(error)
            }
        }
    )*};
}

from_std! {
    std::fmt::Error
    std::num::ParseIntError
    std::num::ParseFloatError
    std::num::TryFromIntError
    std::str::Utf8Error
    std::string::FromUtf8Error
}

impl From<Box<dyn std::error::Error + Send + Sync>> for Error {
    #[track_caller]
    fn from(error: Box<dyn std::error::Error + Send + Sync>) -> Self {
        Error::user(error)
    }
}

/// `fn main() -> Result<()>` prints this one: as readable as the message itself.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn join(waits: &[Claim]) -> String {
    waits.iter().map(Claim::to_string).collect::<Vec<_>>().join("; ")
}

/// The behaviour that serves in place of single accesses.
fn instead(access: &str) -> &'static str {
    match access {
        "put" => "open a `release_c` and `put` there, or set many at once by `put_many`",
        _ => "open a `read_cache`, or read many at once by a Gather or `at_many`",
    }
}

/// Ranks in words; of many only the first.
pub(crate) fn list(ranks: &[Rank]) -> String {
    const SHOWN: usize = 8;
    let shown = ranks.iter().take(SHOWN).map(Rank::to_string).collect::<Vec<_>>().join(", ");
    match ranks.len().checked_sub(SHOWN) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}

/// Why a rank counts as lost.
fn lost_for(silent_for: Duration) -> String {
    if silent_for.is_zero() {
        return "is gone: its process has ended".into();
    }
    format!(
        "has been silent for {:.1} s: its process or its network is gone, or its machine is overloaded (then start fewer \
         ranks, or raise AURORA_SILENCE)",
        silent_for.as_secs_f64()
    )
}

/// A number of bytes in words.
pub(crate) fn memory(bytes: usize) -> String {
    const UNITS: [&str; 6] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 10_240.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.0} {}", UNITS[unit])
}

fn with_others(asked: usize, together: usize) -> String {
    match together > asked {
        true => format!(", {} with the ranks that share its memory", memory(together)),
        false => String::new(),
    }
}

/// The place of an index in a list.
fn listed(position: &Option<usize>) -> String {
    position.map(|position| format!(", at position {position} of those asked for,")).unwrap_or_default()
}

/// The line that asked, unless it is the one that made the object.
fn elsewhere(site: &Site, object: &ObjectName) -> String {
    if *site == object.made_at { String::new() } else { format!(" (at {site})") }
}

fn near(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!(" (did you mean {name}?)")).unwrap_or_default()
}

fn at(site: &Option<Site>) -> String {
    site.as_ref().map(|site| format!(" (at {site})")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_small_enough_to_return() {
        // From 128 on clippy advises every user against returning it.
        assert!(size_of::<Error>() < 128, "{} bytes", size_of::<Error>());
    }
}
