//! The counters of a connection.

use std::iter::Sum;

/// Totals since the connection was created.
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
    /// Packets built that carry data again.
    pub packets_resent: u64,
    /// Probe time-outs.
    pub probes: u64,
    /// Probes of the path's MTU. `packets_lost` does not count lost probes.
    pub mtu_probes: u64,
    /// Packets received again, or too late.
    pub duplicates: u64,
    /// Transfers abandoned because their payload was withdrawn.
    pub withdrawn: u64,
}

impl Sum for Counters {
    fn sum<I: Iterator<Item = Counters>>(all: I) -> Counters {
        all.fold(Counters::default(), |sum, one| Counters {
            transfers_out: sum.transfers_out + one.transfers_out,
            transfers_in: sum.transfers_in + one.transfers_in,
            bytes_out: sum.bytes_out + one.bytes_out,
            bytes_in: sum.bytes_in + one.bytes_in,
            packets_out: sum.packets_out + one.packets_out,
            packets_in: sum.packets_in + one.packets_in,
            packets_lost: sum.packets_lost + one.packets_lost,
            packets_resent: sum.packets_resent + one.packets_resent,
            probes: sum.probes + one.probes,
            mtu_probes: sum.mtu_probes + one.mtu_probes,
            duplicates: sum.duplicates + one.duplicates,
            withdrawn: sum.withdrawn + one.withdrawn,
        })
    }
}
