//! The operations of `aurora_core::ops` on numbers, and on matrices of them, element by element.

use super::dense::Dense;
use super::operand::Merge;
use aurora_core::Op;
use aurora_core::ops::{And, Max, Min, Or, Product, Sum, Xor};
use bytemuck::Pod;

macro_rules! merges {
    ($t:ident: $($op:ident $identity:expr),*) => {$(
        impl Merge<$t> for $op {
            fn identity(_: &$t) -> $t {
                $identity
            }

            fn merge(into: &mut $t, part: $t) {
                *into = $op::apply(*into, part);
            }
        }
    )*};
}

macro_rules! integers {
    ($($t:ident)*) => {
        $(merges! { $t: Sum 0, Product 1, Min $t::MAX, Max $t::MIN, And !0, Or 0, Xor 0 })*
    };
}

integers! { u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize }
// The sum of 0.0 and -0.0 is 0.0. Of a NaN and a number, Min and Max choose the number.
merges! { f32: Sum -0.0, Product 1.0, Min f32::NAN, Max f32::NAN }
merges! { f64: Sum -0.0, Product 1.0, Min f64::NAN, Max f64::NAN }

macro_rules! matrices {
    ($($op:ident)*) => {$(
        impl<T: Pod> Merge<Dense<T>> for $op
        where
            $op: Op<T> + Merge<T>,
        {
            fn identity(like: &Dense<T>) -> Dense<T> {
                Dense::from_fn(like.rows(), like.columns(), |row, column| $op::identity(&like[(row, column)]))
            }

            fn merge(into: &mut Dense<T>, part: Dense<T>) {
                let shapes = [&*into, &part].map(|matrix| (matrix.rows(), matrix.columns()));
                assert!(
                    shapes[0] == shapes[1],
                    "a partial result of {:?} rows and columns is merged into one of {:?}: a matrix that is updated \
                     has to keep the shape that its creator has given it",
                    shapes[1],
                    shapes[0]
                );
                let both = into.values_mut().iter_mut().zip(part.values());
                both.for_each(|(into, part)| *into = $op::apply(*into, *part));
            }
        }
    )*};
}

matrices! { Sum Product Min Max And Or Xor }

#[cfg(test)]
mod tests {
    use super::*;

    /// Values, and the bits of the identity merged with each.
    fn check<O: Merge<f64>>() {
        for value in [0.0, -0.0, 1.5, -1e300, f64::INFINITY, f64::NEG_INFINITY] {
            let mut merged = O::identity(&value);
            O::merge(&mut merged, value);
            assert_eq!(merged.to_bits(), value.to_bits());
        }
    }

    #[test]
    fn identities_change_nothing() {
        check::<Sum>();
        check::<Product>();
        check::<Min>();
        check::<Max>();
        let matrix = Dense::from_fn(2, 3, |row, column| (10 * row + column) as u8);
        let mut merged = And::identity(&matrix);
        And::merge(&mut merged, matrix.clone());
        assert_eq!(merged, matrix);
        Sum::merge(&mut merged, matrix);
        assert_eq!(merged.values(), [0, 2, 4, 20, 22, 24]);
    }
}
