//! Primitive numbers in place of the general encoding of a scalar's values: no allocation worth the name, no parsing.

use super::scalar::Atomic;
use crate::element::{Add, BUILT_IN, Max, Min, Op};
use crate::operation::Operations;
use crate::service::object::ScalarFn;
use std::any::TypeId;

macro_rules! numbers {
    ($($t:ty)*) => {
        $(impl Atomic for $t {})*

        /// The bytes of a number.
        pub(crate) fn encode<T: 'static>(value: &T) -> Option<Vec<u8>> {
            let value: &dyn std::any::Any = value;
            $(if let Some(number) = value.downcast_ref::<$t>() {
                return Some(number.to_le_bytes().to_vec());
            })*
            None
        }

        /// A number from all of its bytes.
        #[inline]
        pub(crate) fn decode<T: 'static>(bytes: &[u8]) -> Option<T> {
            $(if TypeId::of::<T>() == TypeId::of::<$t>() {
                let mut number = Some(<$t>::from_le_bytes(bytes.try_into().ok()?));
                let number: &mut dyn std::any::Any = &mut number;
                return number.downcast_mut::<Option<T>>()?.take();
            })*
            None
        }

        /// Whether it is a number.
        #[inline]
        pub(crate) fn is<T: 'static>() -> bool {
            [$(TypeId::of::<$t>()),*].contains(&TypeId::of::<T>())
        }

        /// What every home of a number can compute.
        pub(crate) fn ops<T: 'static>() -> Operations<ScalarFn> {
            let mut ops: Operations<ScalarFn> = Operations::default();
            $(if TypeId::of::<T>() == TypeId::of::<$t>() {
                ops.add::<Add>(apply::<$t, Add>).expect(BUILT_IN);
                ops.add::<Min>(apply::<$t, Min>).expect(BUILT_IN);
                ops.add::<Max>(apply::<$t, Max>).expect(BUILT_IN);
            })*
            ops
        }
    };
}

numbers! { u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 }

fn apply<T: 'static, O: Op<T>>(current: &[u8], operand: &[u8]) -> Option<Vec<u8>> {
    encode(&O::apply(decode(current)?, decode(operand)?))
}

/// Whether a rank reads it by one atomic load.
#[inline]
pub(crate) fn fits_a_word<T: 'static>() -> bool {
    size_of::<T>() <= crate::service::scalar::WORD && is::<T>()
}
