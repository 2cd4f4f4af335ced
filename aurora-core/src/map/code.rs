//! The encoding of keys and values: a primitive number as its bytes, every other type by serde, with its length in
//! front. So a type that reads less or more than it has written is found, and damages nothing behind it.

use super::key::{Lookup, MapKey};
use crate::encoding::{LEFT_OVER, unreadable};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::{Any, TypeId};
use std::fmt;

macro_rules! numbers {
    ($($t:ty)*) => {
        /// Appends the encoding of a value.
        #[inline]
        pub(super) fn write<T: Serialize + 'static>(value: &T, into: &mut Vec<u8>) -> postcard::Result<()> {
            $(if TypeId::of::<T>() == TypeId::of::<$t>()
                && let Some(number) = (value as &dyn Any).downcast_ref::<$t>()
            {
                into.extend_from_slice(&number.to_le_bytes());
                return Ok(());
            })*
            write_by_serde(value, into)
        }

        /// The length of that encoding.
        #[inline]
        pub(super) fn len<T: Serialize + 'static>(value: &T) -> postcard::Result<usize> {
            $(if TypeId::of::<T>() == TypeId::of::<$t>() {
                return Ok(size_of::<$t>());
            })*
            let len = postcard::serialize_with_flavor(value, postcard::ser_flavors::Size::default())?;
            Ok(len + if len < LONG as usize { 1 } else { 1 + size_of::<u64>() })
        }

        /// True if `T` is a primitive number: all its encodings have one length.
        #[inline]
        pub(super) fn is_number<T: 'static>() -> bool {
            [$(TypeId::of::<$t>()),*].contains(&TypeId::of::<T>())
        }

        /// Takes a value from the front of `bytes`.
        #[inline]
        pub(super) fn read<T: DeserializeOwned + 'static>(bytes: &mut &[u8]) -> Result<T, Fault> {
            $(if TypeId::of::<T>() == TypeId::of::<$t>() {
                let (number, rest) = bytes.split_first_chunk().ok_or(Fault::Malformed)?;
                let mut number = Some(<$t>::from_le_bytes(*number));
                if let Some(number) = (&mut number as &mut dyn Any).downcast_mut::<Option<T>>().and_then(Option::take) {
                    *bytes = rest;
                    return Ok(number);
                }
            })*
            read_by_serde(bytes)
        }
    };
}

numbers! { u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 }

/// The reason why a key or value cannot be sent, or cannot be read at its receiver.
#[derive(Debug)]
pub(super) enum Fault {
    /// No rank of this build sends such bytes.
    Malformed,
    /// The type is at fault: the words of serde, or the mistake of the type.
    Type(String),
}

impl From<postcard::Error> for Fault {
    fn from(cause: postcard::Error) -> Self {
        Fault::Type(unreadable(&cause))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Malformed => "its bytes are incomplete",
            Fault::Type(cause) => cause,
        })
    }
}

/// Appends a key that is looked up: its hash, and its encoding by serde, for every type. A borrowed form must have the
/// hash and the encoding of the key: the encoding is checked here, the hash by the owner.
pub(super) fn write_sought<K: MapKey>(
    hash: u64,
    key: &(impl Lookup<K> + ?Sized),
    into: &mut Vec<u8>,
) -> Result<(), Fault> {
    into.extend_from_slice(&hash.to_le_bytes());
    write_checked::<K>(key, into)
}

/// Takes such a key, and the hash that it has on the rank that looks it up.
pub(super) fn read_sought<K: DeserializeOwned>(bytes: &mut &[u8]) -> Result<(u64, K), Fault> {
    let hash = read(bytes)?;
    Ok((hash, read_by_serde(bytes)?))
}

/// Appends a key as [`write`] does, if reading gives the same key.
pub(super) fn write_key<K: MapKey>(key: &K, into: &mut Vec<u8>) -> Result<(), Fault> {
    match is_number::<K>() || TypeId::of::<K>() == TypeId::of::<String>() {
        true => Ok(write(key, into)?),
        false => write_checked::<K>(key, into),
    }
}

fn write_checked<K: MapKey>(key: &(impl Lookup<K> + ?Sized), into: &mut Vec<u8>) -> Result<(), Fault> {
    let at = into.len();
    write_by_serde(key, into)?;
    match read_by_serde::<K>(&mut &into[at..]) {
        Ok(read) if key.is(&read) => Ok(()),
        _ => Err(Fault::Type(ANOTHER_KEY.into())),
    }
}

/// The cause for refusing a key that other ranks would read as another key.
pub(super) const ANOTHER_KEY: &str = "its bytes decode to another value; if it was looked up in a form that is hashed \
    or encoded differently (as `[T]` for `[T; N]`), look it up by the key itself; otherwise `Hash` must not depend on \
    an address or on a random number, and `Deserialize` must read all that `Serialize` writes and `Eq` compares (no \
    serde attributes that skip)";

/// From this length on, a length has 8 bytes behind this one.
const LONG: u8 = u8::MAX;

fn write_by_serde(value: &(impl Serialize + ?Sized), into: &mut Vec<u8>) -> postcard::Result<()> {
    let at = into.len();
    into.push(0);
    *into = postcard::to_extend(value, std::mem::take(into))?;
    let len = into.len() - at - 1;
    match u8::try_from(len) {
        Ok(short) if short < LONG => into[at] = short,
        _ => {
            into[at] = LONG;
            into.splice(at + 1..at + 1, (len as u64).to_le_bytes());
        }
    }
    Ok(())
}

fn read_by_serde<T: DeserializeOwned>(bytes: &mut &[u8]) -> Result<T, Fault> {
    let (short, mut rest) = bytes.split_first().ok_or(Fault::Malformed)?;
    let mut len = u64::from(*short);
    if *short == LONG {
        let (long, behind) = rest.split_first_chunk().ok_or(Fault::Malformed)?;
        (len, rest) = (u64::from_le_bytes(*long), behind);
    }
    let (encoded, rest) = rest.split_at_checked(len as usize).ok_or(Fault::Malformed)?;
    *bytes = rest;
    match postcard::take_from_bytes(encoded)? {
        (value, []) => Ok(value),
        _ => Err(Fault::Type(LEFT_OVER.into())),
    }
}

/// Takes one byte that is 0 or 1.
#[inline]
pub(super) fn read_flag(bytes: &mut &[u8]) -> Result<bool, Fault> {
    let (flag, rest) = bytes.split_first().ok_or(Fault::Malformed)?;
    *bytes = rest;
    match flag {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Fault::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Debug;

    fn there_and_back<T: Serialize + DeserializeOwned + PartialEq + Debug + 'static>(value: T, bytes: usize) {
        let mut encoded = vec![7];
        write(&value, &mut encoded).expect("it can be encoded");
        assert_eq!((encoded.len(), len(&value)), (1 + bytes, Ok(bytes)));
        encoded.push(9);
        let mut rest = &encoded[1..];
        assert_eq!((read::<T>(&mut rest).ok(), rest), (Some(value), &[9][..]));
        assert!(bytes == 0 || read::<T>(&mut &encoded[1..bytes]).is_err());
    }

    #[test]
    fn values_come_back() {
        there_and_back(5u8, 1);
        there_and_back(300u64, 8);
        there_and_back(-0.5f32, 4);
        there_and_back(i128::MIN, 16);
        there_and_back(String::from("word"), 6);
        // Two lengths in front: of the string, and of its encoding. The second takes 9 bytes from 255 on.
        for (len, encoded) in [(200, 203), (252, 255), (253, 264), (255, 266), (1000, 1011), (70_000, 70_012)] {
            there_and_back("x".repeat(len), encoded);
        }
        there_and_back((300u64, true), 4);
        there_and_back((), 1);
        there_and_back(vec![1u32, 2], 4);
    }

    #[test]
    fn a_flag_is_one_of_two() {
        assert_eq!([[0], [1]].map(|byte| read_flag(&mut &byte[..]).ok()), [Some(false), Some(true)]);
        assert!(read_flag(&mut &[2][..]).is_err() && read_flag(&mut &[][..]).is_err());
    }
}
