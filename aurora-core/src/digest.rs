//! Digests of values that ranks compare.

/// Adds `value` to a digest, as splitmix64 mixes.
pub(crate) fn add(digest: u64, value: u64) -> u64 {
    let x = (digest ^ value).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

pub(crate) fn of(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks();
    let digest = words.iter().fold(bytes.len() as u64, |digest, word| add(digest, u64::from_le_bytes(*word)));
    match rest {
        [] => digest,
        rest => add(digest, rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))),
    }
}
