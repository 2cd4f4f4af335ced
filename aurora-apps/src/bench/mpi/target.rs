//! How the target of a get or put comes to hear that it is asked.

use crate::bench::job::Target;
use crate::bench::target::{COMPUTING, compute};
use mpi::topology::Process;
use mpi::traits::{BufferMut, Source};

/// A target's ear. Nobody answers for a rank that computes, so it has to stop and look.
pub struct Asked<'c> {
    /// Who asks.
    pub origin: &'c Process<'c>,
    /// What the target does until then.
    pub target: Target,
}

impl Asked<'_> {
    /// Waits for what the origin sends; or computes, and looks from time to time.
    pub fn next<B: BufferMut + ?Sized>(&self, into: &mut B) {
        match self.target {
            Target::Idle => {
                self.origin.receive_into(into);
            }
            Target::Computing => loop {
                compute(COMPUTING);
                if let Some((message, _)) = self.origin.immediate_matched_probe() {
                    message.matched_receive_into(into);
                    return;
                }
            },
        }
    }
}
