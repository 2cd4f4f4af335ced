//! What has passed through an endpoint.

use serde::{Deserialize, Serialize};
use std::ops::Sub;

/// Counters of one endpoint since it was made.
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
    /// Packets sent, first or again (UDP only).
    pub packets_out: u64,
    /// Packets that carried bytes again (UDP only).
    pub packets_resent: u64,
    /// Of the transfers sent, those that MPI has carried.
    pub carried_out: u64,
    /// Of the transfers received, those that MPI has carried.
    pub carried_in: u64,
    /// Payloads of those sent, in bytes.
    pub carried_bytes_out: u64,
    /// Payloads of those received, in bytes.
    pub carried_bytes_in: u64,
    /// Datagrams dropped because they do not carry the job's key, or do not come from where the rank is that they name.
    pub datagrams_foreign: u64,
    /// Datagrams dropped because they carry the key and are damaged or make no sense.
    pub datagrams_corrupt: u64,
}

impl Sub for Traffic {
    type Output = Traffic;

    /// What has passed between two readings; nothing where the other one is the later.
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
