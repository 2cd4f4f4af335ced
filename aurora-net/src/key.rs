//! The secret key of a job, and proofs of knowing it.
//!
//! The key is passed on in two ways only: in the environment of processes started by rank 0, and by MPI's broadcast.
//! Everything else that is sent or used as a name is derived from it by a keyed hash (HMAC-SHA256). Such a value
//! reveals neither the key nor other derived values.

use hmac_sha256::HMAC;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::hint::black_box;
use std::str::FromStr;

const LEN: usize = 32;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct JobKey([u8; LEN]);

/// A value that only a rank of the job can compute, for one statement.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Proof([u8; LEN]);

/// A number used once, so that a proof cannot be replayed.
pub(crate) type Nonce = u128;

pub(crate) fn nonce() -> Result<Nonce, getrandom::Error> {
    Ok(u128::from(getrandom::u64()?) << 64 | u128::from(getrandom::u64()?))
}

impl JobKey {
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut key = [0; LEN];
        getrandom::fill(&mut key)?;
        Ok(JobKey(key))
    }

    #[cfg(feature = "mpi")]
    pub fn to_bytes(self) -> [u8; LEN] {
        self.0
    }

    #[cfg(any(feature = "mpi", test))]
    pub fn from_bytes(bytes: [u8; LEN]) -> Self {
        JobKey(bytes)
    }

    /// The proof that a rank of this job makes the statement `claim`; `about` distinguishes statements of one kind.
    pub fn prove(&self, claim: &str, about: &[u128]) -> Proof {
        let mut hasher = HMAC::new(self.0);
        // The length first, so that different statements are hashed differently.
        hasher.update((claim.len() as u64).to_le_bytes());
        hasher.update(claim.as_bytes());
        for number in about {
            hasher.update(number.to_le_bytes());
        }
        Proof(hasher.finalize())
    }

    /// The mark of this job's datagrams, sent unencrypted.
    pub fn mark(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.prove("datagrams", &[]).0;
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}

impl Proof {
    #[cfg(any(feature = "mpi", test))]
    pub const LEN: usize = LEN;

    pub fn to_bytes(self) -> [u8; LEN] {
        self.0
    }

    /// Compares in constant time.
    pub fn is(&self, bytes: &[u8]) -> bool {
        let differing = |(a, b): (&u8, &u8)| a ^ b;
        bytes.len() == LEN && black_box(self.0.iter().zip(bytes).map(differing).fold(0, |all, bits| all | bits)) == 0
    }

    /// A part as text, for a name that cannot be guessed.
    #[cfg(any(feature = "mpi", test))]
    pub fn name(&self) -> String {
        hex(&self.0[..LEN / 2])
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl fmt::Debug for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JobKey(..)")
    }
}

/// The key itself, for a place that other users cannot read.
impl fmt::LowerHex for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl FromStr for JobKey {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text.len() != 2 * LEN || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(());
        }
        let mut key = [0; LEN];
        for (at, byte) in key.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(drop)?;
        }
        Ok(JobKey(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_of_one_key_one_claim_and_one_thing() {
        let key = JobKey::random().unwrap();
        let proof = key.prove("a", &[1, 2]);
        assert!(proof.is(&key.prove("a", &[1, 2]).to_bytes()));
        for other in [
            JobKey::random().unwrap().prove("a", &[1, 2]),
            key.prove("b", &[1, 2]),
            key.prove("a", &[2, 1]),
            key.prove("a", &[1]),
            key.prove("", &[1, 2]),
        ] {
            assert!(!proof.is(&other.to_bytes()));
        }
        assert!(!proof.is(&[]) && !proof.is(&proof.to_bytes()[1..]));
    }

    #[test]
    fn a_key_survives_as_text_and_garbage_is_refused() {
        let key = JobKey::random().unwrap();
        assert_eq!(format!("{key:x}").parse(), Ok(key));
        for text in ["", "0", "é".repeat(LEN).as_str(), &"0".repeat(LEN), &"+f".repeat(LEN)] {
            assert_eq!(text.parse::<JobKey>(), Err(()), "{text}");
        }
        assert_eq!(format!("{key:?}"), "JobKey(..)");
    }
}
