//! The few words that the library itself says to the user, on stderr.

use crate::error::Claim;
use aurora_net::Rank;
use std::io::Write;

/// A rank has waited long, and says for whom.
pub(crate) fn late(waiting: &Claim, missing: &[Rank]) {
    let missing: Vec<_> = missing.iter().map(Rank::to_string).collect();
    say(&format!("aurora: {waiting}, and still waits after 30 s for {}", missing.join(", ")));
}

fn say(text: &str) {
    // Nothing can be done about a closed stderr.
    let _ = writeln!(std::io::stderr(), "{text}");
}
