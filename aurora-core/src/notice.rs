//! The notices that the library itself prints on stderr.

use crate::Error;
use crate::error::{Claim, ObjectName, list};
use aurora_net::Rank;
use aurora_net::bootstrap::Failure;
use std::io::Write;
use std::path::Path;

/// A rank has waited for 30 s.
pub(crate) fn late(waiting: &Claim, missing: &[Rank]) {
    let of = if missing.is_empty() { "a transfer that is under way".into() } else { list(missing) };
    say(&format!("aurora: {waiting}, and still waits after 30 s for {of}"));
}

/// A rank polls, and no rank can change the elements that it reads: it is `alone`, or all others wait, poll or have
/// left.
pub(crate) fn polls(polling: &Claim, alone: bool) {
    let others = if alone { "there is no other rank" } else { "all other ranks wait, poll too, or have left" };
    say(&format!(
        "aurora: {polling}, while {others}: no rank is left that could change it (AURORA_TIMEOUT ends such a loop)"
    ));
}

/// A user's operation has panicked in work that other ranks have sent, which made `fault` the fault of its object.
pub(crate) fn operation_panicked(failure: &Failure, fault: &Error) {
    say(&format!("aurora: {failure}; {fault}"));
}

/// An object has panicked in a call that cannot send: a call that asks for a place.
pub(crate) fn object_panicked(failure: &Failure, object: &ObjectName) {
    say(&format!("aurora: {failure}; {object} is poisoned"));
}

/// The counters of a job that has ended. `missing`: the number of ranks that have not reported their counters.
pub(crate) fn stats(table: &str, missing: usize) {
    let missing = match missing {
        0 => String::new(),
        1 => ", without those of one rank".into(),
        more => format!(", without those of {more} ranks"),
    };
    say(&format!("aurora: counters (AURORA_STATS=1){missing}\n{}", table.trim_end()));
}

pub(crate) fn trace_lost(path: &Path, cause: &std::io::Error) {
    say(&format!("aurora: a rank's part of the trace {} is lost: {cause}", path.display()));
}

/// Checking mode: a possible race. It is a race if the program uses the element of a slice, or the entry, that it
/// holds.
pub(crate) fn possible_race(race: &Error) {
    say(&format!("aurora: {race}"));
}

/// Checking mode: too many different accesses to remember.
pub(crate) fn races_forgotten(object: &ObjectName, rank: Rank) {
    say(&format!(
        "aurora: {rank} cannot remember all accesses to its part of {object}: a race may be missed (AURORA_CHECK=1)"
    ));
}

/// Checking mode by `AURORA_CHECK`: a job has ended by this race, although its program may not report it.
pub(crate) fn race(race: &Error) {
    say(&format!("aurora: {race}"));
}

/// Checking mode by `AURORA_CHECK`: it has found no race in this job.
pub(crate) fn checked(ranks: usize) {
    let ranks = if ranks == 1 { "one rank".into() } else { format!("{ranks} ranks") };
    say(&format!("aurora: the race detector has watched a job of {ranks} to its end (AURORA_CHECK)"));
}

fn say(text: &str) {
    // In one write: a launcher may put output of other ranks between two writes. A closed stderr is ignored.
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}
