//! Digests of values that ranks compare.

use aurora_net::Random;

/// Adds `value` to a digest.
pub(crate) fn add(digest: u64, value: u64) -> u64 {
    Random::new(digest ^ value).bits()
}

pub(crate) fn of(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks();
    let digest = words.iter().fold(bytes.len() as u64, |digest, word| add(digest, u64::from_le_bytes(*word)));
    match rest {
        [] => digest,
        rest => add(digest, rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))),
    }
}
