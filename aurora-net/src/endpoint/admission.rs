//! Admission of datagrams: which ones are passed on to the protocol.

use crate::Rank;
use crate::proto::sender_of;
use crate::wire::DatagramError;
use std::net::SocketAddr;

/// Checks, before a datagram is parsed, that it carries the job's key and comes from the socket of the rank that it
/// names. The key excludes senders that have never seen a packet of this job. The address excludes senders that have
/// seen one, but cannot forge a source address. All other hosts must be kept off the network: nothing is encrypted.
/// Address translation between ranks is not supported: a translated address cannot be told from a forged one.
#[derive(Debug)]
pub(super) struct Admission {
    key: u64,
    /// Addresses by rank; `None` for ranks that are reached by another route.
    addresses: Vec<Option<SocketAddr>>,
    warned: bool,
}

impl Admission {
    pub(super) fn new(key: u64, addresses: Vec<Option<SocketAddr>>) -> Self {
        Admission { key, addresses, warned: false }
    }

    pub(super) fn address(&self, rank: Rank) -> Option<SocketAddr> {
        self.addresses[rank.index()]
    }

    /// Checks a datagram from `source`. The error is the reason to drop it.
    pub(super) fn admit(&mut self, source: SocketAddr, datagram: &[u8]) -> Result<(), DatagramError> {
        let claimed = sender_of(self.key, datagram)?;
        // The rank does not exist or has another route: most likely the datagram is damaged.
        let known = self.addresses.get(claimed.index()).copied().flatten().ok_or(DatagramError::Corrupt)?;
        if known == source {
            return Ok(());
        }
        if !std::mem::replace(&mut self.warned, true) {
            tracing::warn!(
                "dropped a packet with this job's key that names {claimed} but comes from {source}, not from {known}: \
                 is there address translation between the machines? Aurora needs a network without it"
            );
        }
        Err(DatagramError::ForeignAddress { claimed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{self, PacketNumber};

    const KEY: u64 = 77;

    fn at(port: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 1], port))
    }

    fn packet(from: usize) -> Vec<u8> {
        let mut packet = Vec::new();
        wire::begin(&mut packet, KEY, Rank::new(from), PacketNumber(0), PacketNumber(0));
        wire::seal(&mut packet, 0, Rank::new(0));
        packet
    }

    #[test]
    fn datagrams_from_another_address_are_dropped() {
        let mut admission = Admission::new(KEY, vec![None, Some(at(1)), Some(at(2))]);
        assert_eq!(admission.admit(at(1), &packet(1)), Ok(()));
        for source in [at(2), SocketAddr::from(([10, 0, 0, 2], 1))] {
            let claimed = Rank::new(1);
            assert_eq!(admission.admit(source, &packet(1)), Err(DatagramError::ForeignAddress { claimed }));
        }
        assert_eq!(admission.admit(at(2), &packet(2)), Ok(()));
    }

    #[test]
    fn datagrams_without_the_key_or_a_rank_are_dropped() {
        let mut admission = Admission::new(KEY, vec![None, Some(at(1))]);
        let mut foreign = packet(1);
        foreign[0] ^= 1;
        assert_eq!(admission.admit(at(1), &foreign), Err(DatagramError::ForeignKey));
        assert_eq!(admission.admit(at(1), &packet(0)), Err(DatagramError::Corrupt), "ourselves");
        assert_eq!(admission.admit(at(1), &packet(9)), Err(DatagramError::Corrupt), "no such rank");
        assert_eq!(admission.admit(at(1), &[]), Err(DatagramError::Truncated { len: 0 }));
    }
}
