//! How keys and values travel: a primitive number as its bytes, every other type by serde.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::{Any, TypeId};

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
            postcard::serialize_with_flavor(value, postcard::ser_flavors::Size::default())
        }

        /// Whether `T` is a primitive number: all its encodings have one length.
        #[inline]
        pub(super) fn is_number<T: 'static>() -> bool {
            [$(TypeId::of::<$t>()),*].contains(&TypeId::of::<T>())
        }

        /// Takes a value from the front of `bytes`.
        #[inline]
        pub(super) fn read<T: DeserializeOwned + 'static>(bytes: &mut &[u8]) -> postcard::Result<T> {
            $(if TypeId::of::<T>() == TypeId::of::<$t>() {
                let (number, rest) = bytes.split_first_chunk().ok_or(postcard::Error::DeserializeUnexpectedEnd)?;
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

/// Appends a key that is asked for: its hash, and its encoding by serde, for every type. What a key is borrowed as
/// should have both of the key; its owner compares them.
pub(super) fn write_sought(hash: u64, key: &(impl Serialize + ?Sized), into: &mut Vec<u8>) -> postcard::Result<()> {
    into.extend_from_slice(&hash.to_le_bytes());
    *into = postcard::to_extend(key, std::mem::take(into))?;
    Ok(())
}

/// Takes such a key, and the hash that it has where it is asked for.
pub(super) fn read_sought<K: DeserializeOwned>(bytes: &mut &[u8]) -> postcard::Result<(u64, K)> {
    let hash = read(bytes)?;
    Ok((hash, read_by_serde(bytes)?))
}

fn write_by_serde(value: &impl Serialize, into: &mut Vec<u8>) -> postcard::Result<()> {
    *into = postcard::to_extend(value, std::mem::take(into))?;
    Ok(())
}

fn read_by_serde<T: DeserializeOwned>(bytes: &mut &[u8]) -> postcard::Result<T> {
    let (value, rest) = postcard::take_from_bytes(bytes)?;
    *bytes = rest;
    Ok(value)
}

/// Takes one byte that is 0 or 1.
#[inline]
pub(super) fn read_flag(bytes: &mut &[u8]) -> postcard::Result<bool> {
    let (flag, rest) = bytes.split_first().ok_or(postcard::Error::DeserializeUnexpectedEnd)?;
    *bytes = rest;
    match flag {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(postcard::Error::DeserializeBadBool),
    }
}

/// Whether bytes cannot be decoded because of the type, not because of the bytes: serde does not support what the
/// type asks for, or the type's own `Deserialize` refuses a value.
pub(super) fn is_of_the_type(error: &postcard::Error) -> bool {
    use postcard::Error::{NotYetImplemented, SerdeDeCustom, SerdeSerCustom, WontImplement};
    matches!(error, WontImplement | NotYetImplemented | SerdeSerCustom | SerdeDeCustom)
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
        assert_eq!((read::<T>(&mut rest), rest), (Ok(value), &[9][..]));
        assert!(bytes == 0 || read::<T>(&mut &encoded[1..bytes]).is_err());
    }

    #[test]
    fn values_come_back() {
        there_and_back(5u8, 1);
        there_and_back(300u64, 8);
        there_and_back(-0.5f32, 4);
        there_and_back(i128::MIN, 16);
        there_and_back(String::from("word"), 5);
        there_and_back((300u64, true), 3);
        there_and_back((), 0);
        there_and_back(vec![1u32, 2], 3);
    }

    #[test]
    fn a_flag_is_one_of_two() {
        assert_eq!([[0], [1]].map(|byte| read_flag(&mut &byte[..]).ok()), [Some(false), Some(true)]);
        assert!(read_flag(&mut &[2][..]).is_err() && read_flag(&mut &[][..]).is_err());
    }
}
