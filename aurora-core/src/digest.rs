//! Numbers that stand for what ranks compare.

use std::any::TypeId;
use std::hash::{Hash, Hasher};

/// The digest of what has been digested so far and of `value`, as splitmix64 mixes.
pub(crate) fn add(digest: u64, value: u64) -> u64 {
    let x = (digest ^ value).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A number that stands for a type: equal on all ranks, which run one program.
pub(crate) fn of_type<T: 'static + ?Sized>() -> u64 {
    let mut mixer = Mixer(0);
    TypeId::of::<T>().hash(&mut mixer);
    mixer.0
}

/// What a type's identity is hashed by: a few words, each mixed in.
struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for word in bytes.chunks(8) {
            let mut whole = [0; 8];
            whole[..word.len()].copy_from_slice(word);
            self.write_u64(u64::from_le_bytes(whole));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = add(self.0, word);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
