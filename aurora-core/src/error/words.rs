//! Parts of the messages of errors.

use super::{Claim, ObjectName};
use crate::Site;
use aurora_net::{Rank, UdpTrouble};
use std::time::Duration;

pub(super) fn join(waits: &[Claim]) -> String {
    waits.iter().map(Claim::to_string).collect::<Vec<_>>().join("; ")
}

/// The first words about a circle of waits.
pub(super) fn stuck(waits: &[Claim]) -> &'static str {
    match waits {
        [_] => "a rank waits for itself and cannot go on",
        _ => "ranks wait for each other and none can go on",
    }
}

/// The advice against a circle of waits.
pub(super) fn instead_of_waiting(waits: &[Claim]) -> &'static str {
    match waits {
        [_] => "release a lock, or another resource that this rank holds, before requesting it again",
        _ => "end a scope before an access that waits for a scope of another rank",
    }
}

/// The possible causes if the descriptions of two ranks are equal.
pub(super) fn alike(first: &Claim, second: &Claim) -> &'static str {
    match first.action == second.action {
        true => {
            "; both descriptions are equal, so the difference is one that they do not show: two types with one name \
             (rename one), two objects made by one line (use the same one on all ranks), values that a plan requires to \
             be equal, a construction that panicked on one rank before (let all ranks return after it), or two builds \
             of the program (start the same executable on all ranks)"
        }
        false => "",
    }
}

pub(super) fn race(is_possible: bool) -> &'static str {
    match is_possible {
        true => "a possible race (none if the program does not use this one of the elements or entries that it holds)",
        false => "a race",
    }
}

pub(super) fn instead(access: &str) -> &'static str {
    match access {
        "put" => "open a `release_c` and `put` there, or set many at once by `put_many`",
        _ => {
            "open a `read_cache`, or a `halo_cache` if it is next to this rank's part, read many at once by `batched_reads` or `at_many`, or open a `paged` scope"
        }
    }
}

/// The place of a panic: in a call, in an operation that another rank sent, or in a behaviour.
pub(super) fn amid(behaviour: &str, opened: &Site, object: &ObjectName) -> String {
    if behaviour == A_CALL {
        return format!("during {behaviour} on it");
    }
    match *opened == object.made_at {
        // Only the rank that sent the operation knows the line that opened its scope.
        true => format!("in an operation of another rank's {behaviour}"),
        false => format!("inside the {behaviour} that it opened at {opened}"),
    }
}

/// The `behaviour` of a rank that panicked while no behaviour was open.
pub(crate) const A_CALL: &str = "a call";

/// Ranks in words; only the first eight of many.
pub(crate) fn list(ranks: &[Rank]) -> String {
    const SHOWN: usize = 8;
    let shown = ranks.iter().take(SHOWN).map(Rank::to_string).collect::<Vec<_>>().join(", ");
    match ranks.len().checked_sub(SHOWN) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}

pub(super) fn for_whom(ranks: &[Rank]) -> String {
    if ranks.is_empty() { String::new() } else { format!("; missing: {}", list(ranks)) }
}

pub(super) fn meanwhile(waiting: &Option<Box<Claim>>) -> String {
    waiting.as_ref().map(|waiting| format!(", and {waiting}")).unwrap_or_default()
}

pub(super) fn lost_for(silent_for: Duration, trouble: &Option<Box<UdpTrouble>>) -> String {
    let seconds = silent_for.as_secs_f64();
    match trouble {
        _ if silent_for.is_zero() => "is gone: its process has ended".into(),
        Some(trouble) => format!("has been silent for {seconds:.1} s: {trouble}"),
        None => format!(
            "has been silent for {seconds:.1} s: its process or its network is gone, or its machine is overloaded (then \
             start fewer ranks, or raise AURORA_SILENCE)"
        ),
    }
}

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

pub(super) fn with_others(asked: usize, together: usize) -> String {
    match together > asked {
        true => format!(", {} with the ranks that share its memory", memory(together)),
        false => String::new(),
    }
}

/// The length of a vector whose name does not contain it, such as a matrix.
pub(super) fn length(object: &ObjectName, len: usize) -> String {
    match object.what.contains(&format!(" of {len} elements")) {
        true => String::new(),
        false => format!(", which has {len} elements"),
    }
}

pub(super) fn listed(position: &Option<usize>) -> String {
    position.map(|position| format!(", at position {position} of those asked for,")).unwrap_or_default()
}

/// The line of the call, unless this line made the object.
pub(super) fn elsewhere(site: &Site, object: &ObjectName) -> String {
    if *site == object.made_at { String::new() } else { format!(" (at {site})") }
}

pub(super) fn near(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!(" (did you mean {name}?)")).unwrap_or_default()
}

pub(super) fn at(site: &Option<Site>) -> String {
    site.as_ref().map(|site| format!(" (at {site})")).unwrap_or_default()
}
