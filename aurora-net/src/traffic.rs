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
    /// Datagrams with the job's key that were dropped because they are damaged or malformed.
    pub datagrams_corrupt: u64,
}

impl Traffic {
    fn by_field(self, other: Traffic, operation: fn(u64, u64) -> u64) -> Traffic {
        Traffic {
            transfers_out: operation(self.transfers_out, other.transfers_out),
            transfers_in: operation(self.transfers_in, other.transfers_in),
            bytes_out: operation(self.bytes_out, other.bytes_out),
            bytes_in: operation(self.bytes_in, other.bytes_in),
            packets_out: operation(self.packets_out, other.packets_out),
            packets_resent: operation(self.packets_resent, other.packets_resent),
            carried_out: operation(self.carried_out, other.carried_out),
            carried_in: operation(self.carried_in, other.carried_in),
            carried_bytes_out: operation(self.carried_bytes_out, other.carried_bytes_out),
            carried_bytes_in: operation(self.carried_bytes_in, other.carried_bytes_in),
            datagrams_foreign: operation(self.datagrams_foreign, other.datagrams_foreign),
            datagrams_corrupt: operation(self.datagrams_corrupt, other.datagrams_corrupt),
        }
    }

    pub(crate) fn plus(self, other: Traffic) -> Traffic {
        self.by_field(other, |one, other| one + other)
    }
}

impl Sub for Traffic {
    type Output = Traffic;

    /// The difference between two readings, by counter; zero if the counter of `earlier` is larger.
    fn sub(self, earlier: Traffic) -> Traffic {
        self.by_field(earlier, u64::saturating_sub)
    }
}
