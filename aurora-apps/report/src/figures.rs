//! The figures of an operation.

use super::checked::{in_order, ranks, reps};
use super::{Measured, Report, Spread};
use serde::{Deserialize, Serialize};

/// What one implementation of an operation took: what `aurora bench` writes, and what is read of it. A file from before
/// some of it was told says no more than it must.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Figures {
    /// Which operation.
    pub bench: String,
    /// Which implementation of it.
    #[serde(rename = "impl")]
    pub implementation: String,
    /// What was special about it, if anything: `late-rank-ms=100`.
    #[serde(default)]
    pub variant: String,
    /// What kind of memory was touched, where that is measured.
    pub memory: Option<String>,
    /// Ranks of the job.
    #[serde(deserialize_with = "ranks")]
    pub ranks: usize,
    /// What is moved, as the operation defines it.
    pub bytes: usize,
    /// Repetitions that were measured.
    #[serde(deserialize_with = "reps")]
    pub reps: usize,
    /// How often a repetition carries out the operation. All figures are for once.
    #[serde(default)]
    pub times: usize,
    /// The seed that replays the run.
    #[serde(default)]
    pub seed: u64,
    /// Whether everything that arrived was right, on every rank in every repetition.
    pub verified: bool,
    /// The slowest rank's time between barriers.
    #[serde(deserialize_with = "in_order")]
    pub seconds: Spread,
    /// From the last rank's entry to the last one's completion, of ranks that share a clock.
    pub ready_seconds: Option<Spread>,
    /// The same with one full read of what was loaded, by every rank.
    pub with_read_seconds: Option<Spread>,
    /// Updates or reads a second: those of all ranks, over the slowest rank's time.
    pub per_second: Option<Spread>,
    /// Of fresh memory: 10^9 bytes a second that each rank touches.
    pub gigabytes_per_second: Option<Spread>,
    /// Memory of all ranks' processes while they hold what they have loaded, shared pages counted once; where nobody
    /// else's counts with it.
    pub pss_bytes: Option<Spread>,
    /// The largest share of a rank over the smallest, of what they share among them.
    pub shares: Option<Spread>,
    /// What accesses are made of, where there are several kinds.
    pub access: Option<String>,
    /// CPU time of all ranks together, user and system.
    #[serde(default)]
    pub cpu_seconds: Spread,
    /// Transfers of all ranks, those of the barrier at the end among them; none where there are none of ours.
    pub messages_sent: Option<Spread>,
    /// Their bytes, headers included.
    pub bytes_sent: Option<Spread>,
    /// Packets of all ranks; none where there are none of ours.
    pub packets_sent: Option<Spread>,
    /// Of these, those that carried bytes again.
    #[serde(default, deserialize_with = "in_order")]
    pub packets_resent: Option<Spread>,
}

impl Measured for Figures {
    fn implementation(&self) -> &str {
        &self.implementation
    }

    fn verified(&self) -> bool {
        self.verified
    }
}

/// What both have: an operation's size is its bytes, and all that is special about it is its variant.
impl From<&Figures> for Report {
    fn from(of: &Figures) -> Self {
        let parts = [Some(&of.variant), of.memory.as_ref(), of.access.as_ref()];
        let parts: Vec<_> = parts.into_iter().flatten().filter(|part| !part.is_empty()).cloned().collect();
        Report {
            app: of.bench.clone(),
            implementation: of.implementation.clone(),
            variant: parts.join(" "),
            ranks: of.ranks,
            size: of.bytes,
            reps: of.reps,
            seconds: of.seconds,
            packets_resent: of.packets_resent,
            verified: of.verified,
            ..Report::default()
        }
    }
}
