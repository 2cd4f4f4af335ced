//! Keys and values, and the owner of a key.

use crate::digest;
use crate::memory::Prefetch;
use aurora_net::Rank;
use rustc_hash::FxHasher;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::Any;
use std::borrow::Borrow;
use std::hash::{Hash, Hasher};

/// A type whose values may be keys of a [`GMap`](crate::GMap). Implemented for every type that can be a key.
///
/// `Hash` must give equal keys the same hash on all ranks: it must not depend on an address or on a random number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a key of a `GMap`",
    note = "keys implement `Hash`, `Eq`, `Send`, `Sync`, `serde::Serialize` and `Deserialize`, and borrow nothing: for \
            a type of your own, `#[derive(PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]`"
)]
pub trait MapKey: Hash + Eq + Serialize + DeserializeOwned + Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<K: Hash + Eq + Serialize + DeserializeOwned + Send + Sync + 'static> MapKey for K {}

/// A type whose values may be values of a [`GMap`](crate::GMap). Implemented for every type that can be a value.
///
/// Values travel without the names of fields. Serde's attributes that skip a field, or need its name
/// (`skip_serializing_if`, `untagged`), must not be used: values may then arrive changed. Most such changes of values,
/// and all such changes of keys, are reported as [`Error::Value`](crate::Error::Value).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a value of a `GMap`",
    note = "values implement `serde::Serialize`, `serde::Deserialize`, `Send` and `Sync`, and borrow nothing: for a \
            type of your own, `#[derive(serde::Serialize, serde::Deserialize)]`, and serde with its feature `derive` \
            in Cargo.toml"
)]
pub trait MapValue: Serialize + DeserializeOwned + Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<V: Serialize + DeserializeOwned + Send + Sync + 'static> MapValue for V {}

/// A type that finds a key `K` in a [`GMap`](crate::GMap): `K` itself, or a borrowed form of `K`, such as `str` for
/// `String`. Implemented for every such type.
///
/// The borrowed form must hash and compare as the key does, and serde must encode it as the key. Otherwise calls return
/// [`Error::Value`](crate::Error::Value). For example, a `[u8]` does not find a `[u8; 4]`, because serde writes the
/// length of a slice in front of it. Look such a key up by the array itself.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not find a key of type `{K}`",
    note = "a key is found by a type that it borrows as, if serde encodes it: `String` by `str`, `Vec<T>` by `[T]`"
)]
pub trait Lookup<K>: Hash + Serialize {
    /// Returns true if `self` finds this key.
    #[doc(hidden)]
    fn is(&self, key: &K) -> bool;
}

#[diagnostic::do_not_recommend]
impl<K: Borrow<Q>, Q: Hash + Eq + Serialize + ?Sized> Lookup<K> for Q {
    #[inline]
    fn is(&self, key: &K) -> bool {
        self == key.borrow()
    }
}

/// The hash of a key, equal on all ranks. Each bit of it depends on each bit of the key. The hasher's own result does
/// not have this property: its low bits are equal for all numbers `k << 46`.
#[inline]
pub(super) fn hash_of(key: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = FxHasher::default();
    key.hash(&mut hasher);
    fold(hasher.finish())
}

/// Both halves of a product as one: the upper half depends on the high bits of `bits`, the lower half on the low bits.
#[inline]
fn fold(bits: u64) -> u64 {
    // Without the constant that is added first, keys of equal steps fill a table in a pattern.
    let product = u128::from(bits ^ 0x2d35_8dcc_aa6c_78a5) * 0xd6e8_feb8_6659_fd93;
    product as u64 ^ (product >> 64) as u64
}

/// Prefetches the memory to which a string points.
#[inline]
pub(super) fn prefetch<K: 'static>(key: &K) {
    if let Some(string) = (key as &dyn Any).downcast_ref::<String>() {
        Prefetch::of(string.as_bytes()).fetch(0);
    }
}

/// A hash whose bits are independent of the bits that a table uses: the upper half chooses the owner of a key, the
/// lower half its shard.
#[inline]
pub(super) fn spread(hash: u64) -> u64 {
    digest::add(0, hash)
}

/// The rank that owns the keys of this hash.
#[inline]
pub(super) fn owner_of(hash: u64, ranks: usize) -> Rank {
    Rank::new((((spread(hash) >> 32) * ranks as u64) >> 32) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_key_is_borrowed_as_has_its_hash() {
        assert_eq!(hash_of("word"), hash_of(&String::from("word")));
        assert_eq!(hash_of(&[1u64, 2][..]), hash_of(&vec![1u64, 2]));
        assert!("word".is(&String::from("word")) && !"word".is(&String::from("wort")));
    }

    /// The low bits choose a place in a table, the high bits tell apart the keys there.
    #[test]
    fn keys_that_differ_in_a_few_bits_fill_a_table() {
        for shift in 0..=52 {
            let mut counts = [[0; 128]; 2];
            for key in 0..4096u64 {
                let hash = hash_of(&(key << shift));
                [hash % 128, hash >> 57].iter().zip(&mut counts).for_each(|(part, counts)| counts[*part as usize] += 1);
            }
            // 32 of each are fair.
            assert!(counts.iter().flatten().all(|count| (8..=64).contains(count)), "{shift}: {counts:?}");
        }
    }

    #[test]
    fn every_rank_owns_its_share() {
        for ranks in [1, 2, 3, 7] {
            for step in [1, 8, 1 << 20, 1 << 50] {
                let mut owned = vec![0; ranks];
                (0..10_000u64).for_each(|key| owned[owner_of(hash_of(&(key * step)), ranks).index()] += 1);
                let fair = 10_000 / ranks;
                assert!(owned.iter().all(|own| (fair * 9 / 10..=fair * 11 / 10).contains(own)), "{step}: {owned:?}");
            }
        }
    }
}
