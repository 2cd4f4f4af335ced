//! The few words that the library itself says to the user, on stderr.

use crate::Error;
use crate::error::{Claim, list};
use aurora_net::Rank;
use aurora_net::bootstrap::Failure;
use std::io::Write;

/// A rank has waited long, and says for whom.
pub(crate) fn late(waiting: &Claim, missing: &[Rank]) {
    say(&format!("aurora: {waiting}, and still waits after 30 s for {}", list(missing)));
}

/// An operation of the user's has panicked in what other ranks have sent, and made this the fault of its object.
pub(crate) fn operation_panicked(failure: &Failure, fault: &Error) {
    say(&format!("aurora: {failure}; {fault}"));
}

fn say(text: &str) {
    // Nothing can be done about a closed stderr.
    let _ = writeln!(std::io::stderr(), "{text}");
}
