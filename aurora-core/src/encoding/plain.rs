//! A fixed encoding of primitive numbers, in place of the general encoding of values: nothing is parsed.

use std::any::{Any, TypeId};

macro_rules! numbers {
    ($($t:ty)*) => {
        pub(crate) fn encode<T: 'static>(value: &T) -> Option<Vec<u8>> {
            let value: &dyn Any = value;
            $(if let Some(number) = value.downcast_ref::<$t>() {
                return Some(number.to_le_bytes().to_vec());
            })*
            None
        }

        #[inline]
        pub(crate) fn decode<T: 'static>(bytes: &[u8]) -> Option<T> {
            $(if TypeId::of::<T>() == TypeId::of::<$t>() {
                let mut number = Some(<$t>::from_le_bytes(bytes.try_into().ok()?));
                let number: &mut dyn Any = &mut number;
                return number.downcast_mut::<Option<T>>()?.take();
            })*
            None
        }

        /// True if `T` is a primitive number.
        #[inline]
        pub(crate) fn is<T: 'static>() -> bool {
            [$(TypeId::of::<$t>()),*].contains(&TypeId::of::<T>())
        }
    };
}

/// Calls a macro with all primitive numbers.
macro_rules! for_numbers {
    ($define:ident) => {
        $define! { u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 }
    };
}
pub(crate) use for_numbers;

for_numbers!(numbers);
