//! The few words that the library itself says to the user, on stderr.

use crate::error::{Claim, list};
use aurora_net::Rank;
use std::io::Write;

/// A rank has waited long, and says for whom.
pub(crate) fn late(waiting: &Claim, missing: &[Rank]) {
    say(&format!("aurora: {waiting}, and still waits after 30 s for {}", list(missing)));
}

fn say(text: &str) {
    // Nothing can be done about a closed stderr.
    let _ = writeln!(std::io::stderr(), "{text}");
}
