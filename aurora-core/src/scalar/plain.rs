//! Primitive numbers as words, and the operations of their homes.

use crate::encoding::plain::{decode, encode, for_numbers, is};
use crate::operation::{OpId, Operations};
use crate::ops::{BUILT_IN, Max, Min, Op, Sum};
use crate::scalar::{Atomic, ScalarFn, WORD};
use std::any::{Any, TypeId};

macro_rules! numbers {
    ($($t:ty)*) => {
        $(impl Atomic for $t {})*

        /// A number of up to 8 bytes as a word.
        #[inline]
        pub(crate) fn to_word<T: 'static>(value: &T) -> Option<u64> {
            let value: &dyn Any = value;
            $(if let Some(number) = value.downcast_ref::<$t>().filter(|_| size_of::<$t>() <= WORD) {
                return word(&number.to_le_bytes());
            })*
            None
        }

        /// Operation `O` on numbers as words: the new value from the current one and an operand.
        #[inline]
        pub(crate) fn on_words<T: 'static, O: 'static>() -> Option<fn(u64, u64) -> u64> {
            $(if TypeId::of::<T>() == TypeId::of::<$t>() && size_of::<$t>() <= WORD {
                let of = TypeId::of::<O>();
                return if of == TypeId::of::<Sum>() {
                    Some(apply_to_words::<$t, Sum>)
                } else if of == TypeId::of::<Min>() {
                    Some(apply_to_words::<$t, Min>)
                } else if of == TypeId::of::<Max>() {
                    Some(apply_to_words::<$t, Max>)
                } else {
                    None
                };
            })*
            None
        }

        /// The operations that every home of a number can compute.
        pub(crate) fn ops<T: 'static>() -> Operations<ScalarFn> {
            let mut ops: Operations<ScalarFn> = Operations::default();
            $(if TypeId::of::<T>() == TypeId::of::<$t>() {
                ops.add::<Sum>(apply::<$t, Sum>).expect(BUILT_IN);
                ops.add::<Min>(apply::<$t, Min>).expect(BUILT_IN);
                ops.add::<Max>(apply::<$t, Max>).expect(BUILT_IN);
            })*
            ops
        }
    };
}

for_numbers!(numbers);

fn apply<T: 'static, O: Op<T>>(current: &[u8], operand: &[u8]) -> Option<Vec<u8>> {
    encode(&O::apply(decode(current)?, decode(operand)?))
}

pub(crate) fn find<T: 'static>(op: OpId) -> Option<ScalarFn> {
    ops::<T>().find(op)
}

#[inline]
fn apply_to_words<T: 'static, O: Op<T>>(current: u64, operand: u64) -> u64 {
    let computed = from_word(current).zip(from_word(operand)).map(|(current, operand)| O::apply(current, operand));
    computed.and_then(|value| to_word(&value)).unwrap_or(current)
}

/// A value of up to 8 bytes as a word.
#[inline]
pub(crate) fn word(bytes: &[u8]) -> Option<u64> {
    let mut word = [0; WORD];
    word.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(u64::from_le_bytes(word))
}

#[inline]
pub(crate) fn from_word<T: 'static>(word: u64) -> Option<T> {
    decode(word.to_le_bytes().get(..size_of::<T>())?)
}

/// True if a value is read by one atomic load.
#[inline]
pub(crate) fn fits_a_word<T: 'static>() -> bool {
    size_of::<T>() <= WORD && is::<T>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: PartialEq + Copy + std::fmt::Debug + 'static>(values: &[T]) {
        for value in values {
            let word = to_word(value).unwrap();
            assert_eq!(from_word::<T>(word), Some(*value));
            assert_eq!(word.to_le_bytes()[..size_of::<T>()], encode(value).unwrap());
        }
        let sum = on_words::<T, Sum>().unwrap();
        let [a, b] = [values[0], values[1]].map(|value| to_word(&value).unwrap());
        assert_eq!(from_word(sum(a, b)), Some(values[2]));
    }

    #[test]
    fn numbers_are_words() {
        check(&[250_u8, 10, 4]);
        check(&[-3_i16, 2, -1]);
        check(&[1.5_f32, -0.25, 1.25]);
        check(&[u64::MAX, 2, 1]);
        check(&[0.1_f64, 0.2, 0.1 + 0.2]);
        assert!(to_word(&1_u128).is_none() && on_words::<u128, Sum>().is_none());
        assert!(to_word(&true).is_none() && on_words::<u64, crate::ops::Or>().is_none());
    }
}
