//! The counters of an endpoint.

use serde::{Deserialize, Serialize};
use std::ops::Sub;

/// Totals of an endpoint since its creation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Traffic {
    /// Transfers sent.
    pub transfers_out: u64,
    /// Transfers received whole.
    pub transfers_in: u64,
    /// Headers and payloads of the transfers sent, in bytes.
    pub bytes_out: u64,
    /// Headers and payloads of the transfers received, in bytes.
    pub bytes_in: u64,
    /// Packets sent, repetitions included (UDP only).
    pub packets_out: u64,
    /// Packets that carried data again (UDP only).
    pub packets_resent: u64,
    /// Transfers sent by MPI, also counted in `transfers_out`.
    pub carried_out: u64,
    /// Transfers received by MPI, also counted in `transfers_in`.
    pub carried_in: u64,
    /// Payloads sent by MPI, in bytes.
    pub carried_bytes_out: u64,
    /// Payloads received by MPI, in bytes.
    pub carried_bytes_in: u64,
    /// Datagrams dropped because they lack the job's key or do not come from the address of the rank that they name.
    pub datagrams_foreign: u64,
    /// Datagrams dropped because they are damaged or malformed, with the job's key.
    pub datagrams_corrupt: u64,
}

impl Sub for Traffic {
    type Output = Traffic;

    /// The difference between two readings; zero where `earlier` is the later one.
    fn sub(self, earlier: Traffic) -> Traffic {
        Traffic {
            transfers_out: self.transfers_out.saturating_sub(earlier.transfers_out),
            transfers_in: self.transfers_in.saturating_sub(earlier.transfers_in),
            bytes_out: self.bytes_out.saturating_sub(earlier.bytes_out),
            bytes_in: self.bytes_in.saturating_sub(earlier.bytes_in),
            packets_out: self.packets_out.saturating_sub(earlier.packets_out),
            packets_resent: self.packets_resent.saturating_sub(earlier.packets_resent),
            carried_out: self.carried_out.saturating_sub(earlier.carried_out),
            carried_in: self.carried_in.saturating_sub(earlier.carried_in),
            carried_bytes_out: self.carried_bytes_out.saturating_sub(earlier.carried_bytes_out),
            carried_bytes_in: self.carried_bytes_in.saturating_sub(earlier.carried_bytes_in),
            datagrams_foreign: self.datagrams_foreign.saturating_sub(earlier.datagrams_foreign),
            datagrams_corrupt: self.datagrams_corrupt.saturating_sub(earlier.datagrams_corrupt),
        }
    }
}
