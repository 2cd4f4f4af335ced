//! The figures of an operation.

use super::checked::{in_order, ranks, reps};
use super::{Measured, Report, Spread};
use serde::{Deserialize, Serialize};

/// The figures of one implementation of an operation, in the form that `aurora bench` writes and the report reads.
/// Older files may lack some of them.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Figures {
    /// The operation.
    pub bench: String,
    /// The implementation of the operation.
    #[serde(rename = "impl")]
    pub implementation: String,
    /// The chosen options, if any: `late-rank-ms=100`.
    #[serde(default)]
    pub variant: String,
    /// The kind of memory that was touched, if that is measured.
    pub memory: Option<String>,
    /// The number of ranks of the job.
    #[serde(deserialize_with = "ranks")]
    pub ranks: usize,
    /// The number of bytes that are moved, as the operation defines it.
    pub bytes: usize,
    /// The number of measured repetitions.
    #[serde(deserialize_with = "reps")]
    pub reps: usize,
    /// The number of operations in a repetition. All figures are for one operation.
    #[serde(default)]
    pub times: usize,
    /// The seed that replays the run.
    #[serde(default)]
    pub seed: u64,
    /// True if all data that arrived was right, on every rank in every repetition.
    pub verified: bool,
    /// The slowest rank's time between barriers.
    #[serde(deserialize_with = "in_order")]
    pub seconds: Spread,
    /// The time from the last rank's entry to the last rank's completion, for ranks that share a clock.
    pub ready_seconds: Option<Spread>,
    /// The time of the operation with one full read of the loaded data by every rank.
    pub with_read_seconds: Option<Spread>,
    /// Updates or reads a second: of all ranks together, divided by the slowest rank's time.
    pub per_second: Option<Spread>,
    /// For fresh memory: 10^9 bytes a second that each rank touches.
    pub gigabytes_per_second: Option<Spread>,
    /// Memory of all ranks' processes while they hold the loaded data, shared pages counted once. Present if this was
    /// the only implementation.
    pub pss_bytes: Option<Spread>,
    /// The largest share of a rank divided by the smallest, if the ranks divide tasks among them.
    pub shares: Option<Spread>,
    /// The way of access, if there are several.
    pub access: Option<String>,
    /// CPU time of all ranks together, user and system.
    #[serde(default)]
    pub cpu_seconds: Spread,
    /// Transfers of all ranks, including those of the barrier at the end; none for implementations other than Aurora.
    pub messages_sent: Option<Spread>,
    /// The bytes of these transfers, headers included.
    pub bytes_sent: Option<Spread>,
    /// Packets of all ranks; none if Aurora sends no packets.
    pub packets_sent: Option<Spread>,
    /// The packets that carried bytes again.
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

impl Figures {
    /// Returns a figure other than the time by its name in the JSON object, or `None` if it was not measured.
    pub fn figure(&self, name: &str) -> Option<Spread> {
        match name {
            "ready_seconds" => self.ready_seconds,
            "with_read_seconds" => self.with_read_seconds,
            "per_second" => self.per_second,
            "gigabytes_per_second" => self.gigabytes_per_second,
            "pss_bytes" => self.pss_bytes,
            "cpu_seconds" => Some(self.cpu_seconds),
            "messages_sent" => self.messages_sent,
            "bytes_sent" => self.bytes_sent,
            "packets_sent" => self.packets_sent,
            "packets_resent" => self.packets_resent,
            _ => None,
        }
    }

    /// Returns the kind of memory or of access, if there are several.
    pub fn kind(&self) -> Option<&str> {
        self.memory.as_deref().or(self.access.as_deref())
    }
}

/// The size of an operation is its bytes, and its variant contains its options.
impl From<Figures> for Report {
    fn from(of: Figures) -> Self {
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
            verified: of.verified,
            operation: Some(of),
            ..Report::default()
        }
    }
}
