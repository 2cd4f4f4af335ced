//! What a connection counts.

/// Totals since the connection was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Transfers acknowledged whole by the peer.
    pub transfers_out: u64,
    /// Transfers delivered.
    pub transfers_in: u64,
    /// Header and payload bytes of `transfers_out`.
    pub bytes_out: u64,
    /// Header and payload bytes of `transfers_in`.
    pub bytes_in: u64,
    /// Packets built.
    pub packets_out: u64,
    /// Intact new packets received.
    pub packets_in: u64,
    /// Packets given up as lost.
    pub packets_lost: u64,
    /// Packets built that carry something again.
    pub packets_resent: u64,
    /// Probe time-outs.
    pub probes: u64,
    /// Packets built to find out whether the path carries their length; not among `packets_lost` if it does not.
    pub mtu_probes: u64,
    /// Packets received again, or too late to be of use.
    pub duplicates: u64,
    /// Transfers abandoned because their payload was withdrawn.
    pub withdrawn: u64,
}
