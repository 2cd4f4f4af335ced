//! The handshake between a leader and a node peer: each proves to the other that it belongs to the job.
//!
//! The key itself is not sent. Each side sends a keyed hash of two nonces that the two ranks made for this start and
//! exchanged in their contacts. So a recorded handshake is useless at any other socket.

use super::discovery::ShmContact;
use crate::Rank;
use crate::key::{JobKey, Nonce, Proof};

const RANK: usize = size_of::<u64>();

#[derive(Debug)]
pub(super) struct Handshake {
    key: JobKey,
    leader: Rank,
    /// Nonces by rank; `None` for ranks without shared memory.
    nonces: Vec<Option<Nonce>>,
}

impl Handshake {
    pub fn new(key: JobKey, leader: Rank, contacts: &[Option<ShmContact>]) -> Self {
        let nonces = contacts.iter().map(|contact| contact.map(|contact| contact.nonce)).collect();
        Handshake { key, leader, nonces }
    }

    fn proof(&self, claim: &str, peer: Rank) -> Option<Proof> {
        let nonce = |rank: Rank| self.nonces.get(rank.index()).copied().flatten();
        let about = [nonce(self.leader)?, nonce(peer)?, self.leader.index() as u128, peer.index() as u128];
        Some(self.key.prove(claim, &about))
    }

    fn hello_of(&self, peer: Rank) -> Option<Proof> {
        self.proof("node: peer", peer)
    }

    fn welcome_to(&self, peer: Rank) -> Option<Proof> {
        self.proof("node: leader", peer)
    }

    pub fn hello(&self, peer: Rank) -> Option<Vec<u8>> {
        let number = (peer.index() as u64).to_le_bytes();
        Some([&number[..], &self.hello_of(peer)?.to_bytes()].concat())
    }

    /// The sender of a hello. `None`: not a rank of this job.
    pub fn who(&self, hello: &[u8]) -> Option<Rank> {
        let (number, bytes) = hello.split_first_chunk::<RANK>()?;
        let peer = Rank::from(usize::try_from(u64::from_le_bytes(*number)).ok()?);
        (peer != self.leader && self.hello_of(peer)?.is(bytes)).then_some(peer)
    }

    pub fn welcome(&self, peer: Rank) -> Option<Vec<u8>> {
        Some(self.welcome_to(peer)?.to_bytes().to_vec())
    }

    pub fn is_welcome(&self, peer: Rank, bytes: &[u8]) -> bool {
        self.welcome_to(peer).is_some_and(|proof| proof.is(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handshake(key: JobKey, leader: usize, nonces: [u128; 3]) -> Handshake {
        Handshake { key, leader: Rank::new(leader), nonces: nonces.map(Some).to_vec() }
    }

    #[test]
    fn only_what_belongs_to_both_and_to_this_time_is_believed() {
        let key = JobKey::random().unwrap();
        let (ours, peer) = (handshake(key, 0, [1, 2, 3]), Rank::new(1));
        let (hello, welcome) = (ours.hello(peer).unwrap(), ours.welcome(peer).unwrap());
        assert_eq!(ours.who(&hello), Some(peer));
        assert!(ours.is_welcome(peer, &welcome) && !ours.is_welcome(Rank::new(2), &welcome));
        for other in [
            handshake(JobKey::random().unwrap(), 0, [1, 2, 3]),
            handshake(key, 0, [9, 2, 3]),
            handshake(key, 0, [1, 9, 3]),
            handshake(key, 2, [1, 2, 3]),
        ] {
            assert_eq!(other.who(&hello), None);
            assert!(!other.is_welcome(peer, &welcome));
        }
        assert!(!ours.is_welcome(peer, &hello[RANK..]), "its own words, sent back");
        let renumbered = [&2_u64.to_le_bytes()[..], &hello[RANK..]].concat();
        for garbage in [&[][..], &hello[1..], &[&hello[..], &[0]].concat(), &renumbered, &[0xff; 40]] {
            assert_eq!(ours.who(garbage), None);
        }
    }
}
