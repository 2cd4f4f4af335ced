//! The operations that combine values, and the trait for operations of your own.
//!
//! | operation | MPI | of |
//! |---|---|---|
//! | [`Sum`], [`Product`] | `MPI_SUM`, `MPI_PROD` | integers (wrapping), floats, complex numbers, arrays |
//! | [`Min`], [`Max`] | `MPI_MIN`, `MPI_MAX` | integers, floats, arrays |
//! | [`And`], [`Or`], [`Xor`] | `MPI_BAND`, `MPI_BOR`, `MPI_BXOR` | integers, arrays |
//! | [`MinLoc`], [`MaxLoc`] | `MPI_MINLOC`, `MPI_MAXLOC` | [`Located`], tuples `(value, index)` |
//!
//! Arrays are combined element by element. Objects of primitive numbers know these operations from their construction.
//! Objects of other types learn an operation when all ranks open a scope with it. Before that,
//! [`GMap::update`](crate::GMap::update) and [`release_alone_with`](crate::GVector::release_alone_with) refuse it.
//! An operation is always passed by value:
//!
//! ```
//! use aurora_core::ops::{Max, Sum};
//! use aurora_core::prelude::*;
//!
//! Config::threads(3).run(|world| {
//!     let mine = world.rank().index() as i64;
//!     assert_eq!(world.all_reduce(Max, mine)?, 2);                    // a reduction
//!     assert_eq!(world.all_reduce(Sum, [mine, -mine])?, [3, -3]);     // of an array
//!     let mut v = GVector::<i64>::new(world, 10)?;
//!     v.accumulate(Sum)?.update(7, mine)?;                            // a scope
//!     let mut m = GMap::<String, i64>::new(world)?;
//!     m.update("most", Max, mine)?;                                   // one entry
//!     Ok(())
//! })?;
//! # Ok::<(), aurora_core::Error>(())
//! ```
//!
//! # Complex numbers
//!
//! With the feature `num-complex`, [`Sum`] and [`Product`] combine `num_complex::Complex<f32>` and `Complex<f64>`. Both
//! can be elements of vectors, and values of scalars and maps.

pub use crate::operation::OpId;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::ops::{Add as _, BitAnd as _, BitOr as _, BitXor as _, Mul as _};

/// An operation that the owner of an element applies to it: `current <- apply(current, operand)`.
///
/// An operation is a type without fields, so that every rank has its code. A value of a type with fields does not
/// compile where an operation is expected. Two types are two operations, even if they have one name. An application is
/// atomic: no rank sees an intermediate value. Operands of several ranks are applied in any order, so the operation
/// must be **commutative** in its operands: `apply(apply(x, a), b)` must equal `apply(apply(x, b), a)`. Sums,
/// differences, products, minima and unions are commutative; "keep the last operand" is not.
/// [`accumulate_in_order`](crate::GVector::accumulate_in_order) and the reductions of
/// [`World`](crate::World::all_reduce) keep the order of the ranks, and take any operation.
///
/// ```
/// use aurora_core::prelude::*;
///
/// /// Addition modulo a prime.
/// struct Modulo;
/// impl Op<u64> for Modulo {
///     fn apply(current: u64, operand: u64) -> u64 {
///         (current + operand) % 101
///     }
/// }
///
/// Config::threads(3).run(|world| {
///     let mut v = GVector::<u64>::new(world, 1)?;
///     let mut scope = v.release_c_with(Modulo)?;
///     scope.update(0, 50)?;
///     scope.finish()?;
///     assert_eq!(v.at(0)?, 150 % 101);
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
///
/// Put values that an operation needs into the operands. `cargo build` refuses fields, `cargo check` does not:
///
/// ```compile_fail,E0080
/// # use aurora_core::prelude::*;
/// struct Scaled(f64); // each rank could have another factor
/// impl Op<f64> for Scaled {
///     fn apply(current: f64, operand: f64) -> f64 {
///         current + operand
///     }
/// }
/// # let _ = Config::threads(1).run(|world| {
/// world.all_reduce(Scaled(0.5), 1.0)?; // error: an operation has no fields
/// # Ok(())
/// # });
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no operation on `{T}`",
    note = "an operation is a type that implements `Op<{T}>`: one of `aurora_core::ops`, such as `Sum`, or a struct \
            of your own without fields (no closure); a scope takes it as `release_c_with(Sum)`, a reduction as \
            `all_reduce(Sum, x)`"
)]
#[doc(alias = "MPI_Op_create")]
pub trait Op<T>: 'static {
    /// Returns the new value of the element.
    fn apply(current: T, operand: T) -> T;

    /// Combines two operands before they reach the element, as in an [`Accumulate`](crate::Accumulate). A reduction,
    /// which has no element, uses only `combine`. `apply(apply(x, a), b)` must equal `apply(x, combine(a, b))`.
    /// The default is `apply`, which is right for an associative operation. Subtraction, for example, needs its own
    /// `combine`: to subtract `a` and then `b` is to subtract `a + b`.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// struct TakeAway;
    /// impl Op<i64> for TakeAway {
    ///     fn apply(current: i64, operand: i64) -> i64 {
    ///         current - operand
    ///     }
    ///     fn combine(first: i64, second: i64) -> i64 {
    ///         first + second
    ///     }
    /// }
    ///
    /// Config::threads(2).run(|world| {
    ///     let mut stock = GVector::<i64>::from_fn(world, 3, |_| 100)?;
    ///     let mut sold = stock.accumulate(TakeAway)?;
    ///     (1..=4).try_for_each(|pieces| sold.update(1, pieces))?; // each rank sells 10
    ///     sold.finish()?;
    ///     assert_eq!(stock.at(1)?, 80);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    fn combine(first: T, second: T) -> T {
        Self::apply(first, second)
    }

    /// The neutral element of `combine`, to the last bit: an operand that is equal to it changes no element. The
    /// library's own operations on numbers and arrays have one.
    #[doc(hidden)]
    const NEUTRAL: Option<T> = None;
}

/// Takes an operation, of which only the type counts. A type with fields does not compile: they would be ignored.
#[inline]
pub(crate) fn stateless<O>(_: O) {
    const { assert!(size_of::<O>() == 0, "an operation has no fields: only its type reaches the other ranks") };
}

/// The sum. It wraps for integers.
#[doc(alias("Add", "MPI_SUM"))]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sum;

/// The product. It wraps for integers.
#[doc(alias("Mul", "MPI_PROD"))]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Product;

/// The smaller value. If one of two floats is a NaN, this is the other one. If the two are equal, or both NaNs, the
/// first one stays.
#[doc(alias = "MPI_MIN")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Min;

/// The larger value. If one of two floats is a NaN, this is the other one. If the two are equal, or both NaNs, the
/// first one stays.
#[doc(alias = "MPI_MAX")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Max;

/// Bitwise and.
#[doc(alias("BitAnd", "MPI_BAND"))]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct And;

/// Bitwise or.
#[doc(alias("BitOr", "MPI_BOR"))]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Or;

/// Bitwise exclusive or.
#[doc(alias("BitXor", "MPI_BXOR"))]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Xor;

/// The smaller value with its index. Of equal values, the value with the lower index. A NaN loses against any number.
///
/// ```
/// use aurora_core::ops::{Located, MinLoc};
/// use aurora_core::prelude::*;
///
/// Config::threads(3).run(|world| {
///     let residual = [0.5, 0.25, 0.25][world.rank().index()];
///     let least = world.all_reduce(MinLoc, Located::new(residual, world.rank().index() as u64))?;
///     assert_eq!((least.value, least.index), (0.25, 1));
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
#[doc(alias = "MPI_MINLOC")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MinLoc;

/// The larger value with its index. Of equal values, the value with the lower index. A NaN loses against any number.
#[doc(alias = "MPI_MAXLOC")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MaxLoc;

/// A value and its index, for [`MinLoc`] and [`MaxLoc`]. Pairs of `f64`, `i64` or `u64` with an index of `u64` or
/// `usize`, and of `f32`, `i32` or `u32` with an index of `u32`, can be elements of vectors and travel in reductions. A
/// `GScalar` or a `GMap` may also hold a `Located` or a tuple `(value, index)` of any types with a total order, or of
/// plain floats. With NaNs inside tuples or arrays the result depends on the order of the ranks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[repr(C)]
pub struct Located<V, I = u64> {
    /// The value, which is compared.
    pub value: V,
    /// The place of the value, such as a rank or the index of an element.
    pub index: I,
}

impl<V, I> Located<V, I> {
    /// Makes the pair of a value and its index.
    pub const fn new(value: V, index: I) -> Self {
        Located { value, index }
    }
}

macro_rules! operation {
    ($op:ident; $($method:ident $neutral:block: $($t:ty)*;)*) => {
        $($(
            impl Op<$t> for $op {
                #[inline]
                fn apply(current: $t, operand: $t) -> $t {
                    current.$method(operand)
                }

                const NEUTRAL: Option<$t> = {
                    #[allow(dead_code)]
                    type N = $t;
                    Some($neutral)
                };
            }
        )*)*

        /// Combines arrays element by element.
        impl<T: Copy, const N: usize> Op<[T; N]> for $op
        where
            $op: Op<T>,
        {
            #[inline]
            fn apply(mut current: [T; N], operand: [T; N]) -> [T; N] {
                // Without an iterator, whose functions may not be inlined in the user's crate.
                let mut i = 0;
                while i < N {
                    current[i] = $op::apply(current[i], operand[i]);
                    i += 1;
                }
                current
            }

            const NEUTRAL: Option<[T; N]> = match <$op as Op<T>>::NEUTRAL {
                Some(neutral) => Some([neutral; N]),
                None => None,
            };
        }
    };
}

operation! { Sum; wrapping_add { 0 }: u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize; add { -0.0 }: f32 f64; }
operation! { Product; wrapping_mul { 1 }: u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize; mul { 1.0 }: f32 f64; }
operation! { Min; min { N::MAX }: u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize; }
operation! { Max; max { N::MIN }: u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize; }
operation! { And; bitand { !0 }: u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize; }
operation! { Or; bitor { 0 }: u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize; }
operation! { Xor; bitxor { 0 }: u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize; }

macro_rules! float_choice {
    ($($op:ident: $is_better:ident, $($t:ident)*;)*) => {$($(
        impl Op<$t> for $op {
            /// The methods of floats do not say which of two NaNs they return.
            #[inline]
            fn apply(current: $t, operand: $t) -> $t {
                let first_number = current.is_nan() & !operand.is_nan();
                if operand.$is_better(&current) | first_number { operand } else { current }
            }

            const NEUTRAL: Option<$t> = Some($t::NAN);
        }
    )*)*};
}

float_choice! { Min: lt, f32 f64; Max: gt, f32 f64; }

/// The pair whose value is `wanted`, compared with the value of the other pair.
#[inline]
fn choose<V: PartialOrd, I: PartialOrd>(a: (V, I), b: (V, I), wanted: Ordering) -> (V, I) {
    #[expect(clippy::eq_op, reason = "a NaN differs from itself")]
    let number = |value: &V| value == value;
    let first = match a.0.partial_cmp(&b.0) {
        Some(Ordering::Equal) => a.1 <= b.1,
        Some(order) => order == wanted,
        None => match (number(&a.0), number(&b.0)) {
            (true, false) => true,
            (false, true) => false,
            _ => a.1 <= b.1,
        },
    };
    if first { a } else { b }
}

macro_rules! located {
    ($($op:ident: $wanted:ident;)*) => {$(
        impl<V: PartialOrd, I: PartialOrd> Op<(V, I)> for $op {
            #[inline]
            fn apply(current: (V, I), operand: (V, I)) -> (V, I) {
                choose(current, operand, Ordering::$wanted)
            }
        }

        impl<V: PartialOrd, I: PartialOrd> Op<Located<V, I>> for $op {
            #[inline]
            fn apply(current: Located<V, I>, operand: Located<V, I>) -> Located<V, I> {
                let pair = |located: Located<V, I>| (located.value, located.index);
                let (value, index) = choose(pair(current), pair(operand), Ordering::$wanted);
                Located { value, index }
            }
        }
    )*};
}

located! { MinLoc: Less; MaxLoc: Greater; }

#[cfg(feature = "num-complex")]
macro_rules! complex {
    ($($t:ty)*) => {$(
        impl Op<num_complex::Complex<$t>> for Sum {
            #[inline]
            fn apply(current: num_complex::Complex<$t>, operand: num_complex::Complex<$t>) -> num_complex::Complex<$t> {
                current + operand
            }

            const NEUTRAL: Option<num_complex::Complex<$t>> = Some(num_complex::Complex::new(-0.0, -0.0));
        }

        impl Op<num_complex::Complex<$t>> for Product {
            #[inline]
            fn apply(current: num_complex::Complex<$t>, operand: num_complex::Complex<$t>) -> num_complex::Complex<$t> {
                current * operand
            }
        }
    )*};
}

#[cfg(feature = "num-complex")]
complex! { f32 f64 }

/// Why the built-in operations are never refused.
pub(crate) const BUILT_IN: &str = "the library's own operations have numbers of their own";

/// Calls a macro with the operations that the owners of primitive numbers know: `type: operations;` of each.
macro_rules! built_in {
    ($with:ident) => {
        $with! {
            u8: Sum Product Min Max And Or Xor; u16: Sum Product Min Max And Or Xor;
            u32: Sum Product Min Max And Or Xor; u64: Sum Product Min Max And Or Xor;
            u128: Sum Product Min Max And Or Xor; usize: Sum Product Min Max And Or Xor;
            i8: Sum Product Min Max And Or Xor; i16: Sum Product Min Max And Or Xor;
            i32: Sum Product Min Max And Or Xor; i64: Sum Product Min Max And Or Xor;
            i128: Sum Product Min Max And Or Xor; isize: Sum Product Min Max And Or Xor;
            f32: Sum Product Min Max; f64: Sum Product Min Max;
        }
    };
}
pub(crate) use built_in;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap() {
        assert_eq!((Sum::apply(250u8, 10), Product::apply(i64::MAX, 2)), (4, -2));
        assert_eq!((And::apply(6u8, 3), Or::apply(6u8, 3), Xor::apply(6u8, 3)), (2, 7, 5));
    }

    #[test]
    fn arrays_are_combined_element_by_element() {
        assert_eq!(Sum::apply([1.5, 2.0], [1.0, -2.0]), [2.5, 0.0]);
        assert_eq!(Max::apply([[1, 9]; 2], [[5, 2]; 2]), [[5, 9]; 2]);
    }

    /// Checks that the neutral element changes no value, to the last bit.
    fn check_neutral<T: bytemuck::Pod + std::fmt::Debug, O: Op<T>>(values: &[T]) {
        let neutral = O::NEUTRAL.expect("it has one");
        for value in values {
            for (first, second) in [(*value, neutral), (neutral, *value)] {
                let combined = O::combine(first, second);
                assert_eq!(bytemuck::bytes_of(&combined), bytemuck::bytes_of(value), "{value:?}");
            }
            assert_eq!(bytemuck::bytes_of(&O::apply(*value, neutral)), bytemuck::bytes_of(value), "{value:?}");
        }
    }

    #[test]
    fn neutral_elements_change_nothing() {
        macro_rules! check {
            ($($t:ty: $($op:ident)*;)*) => {$($(
                let (least, most) = (<$t>::MIN, <$t>::MAX);
                let values = [least, most, 0 as $t, 1 as $t, most / (3 as $t), least / (3 as $t)];
                check_neutral::<$t, $op>(&values);
                check_neutral::<[$t; 3], $op>(&[[values[0], values[1], values[2]], [values[3], values[4], values[5]]]);
            )*)*};
        }
        built_in!(check);
        macro_rules! floats {
            ($($t:ident: $($op:ident)*;)*) => {$($(
                let numbers = [-0.0, 0.0, <$t>::INFINITY, <$t>::NEG_INFINITY, <$t>::MIN_POSITIVE];
                check_neutral::<$t, $op>(&numbers);
                let neutral = <$op as Op<$t>>::NEUTRAL.expect("it has one");
                // NaNs of other bits stay too.
                for nan in [<$t>::NAN, -<$t>::NAN, <$t>::from_bits(<$t>::NAN.to_bits() | 77)] {
                    assert_eq!($op::apply(nan, neutral).to_bits(), nan.to_bits());
                }
            )*)*};
        }
        floats! { f32: Sum Product Min Max; f64: Sum Product Min Max; }
        let choices =
            [Min::apply(f64::NAN, 2.0), Min::apply(2.0, f64::NAN), Max::apply(3.0, 2.0), Min::apply(3.0, 2.0)];
        assert_eq!(choices, [2.0, 2.0, 3.0, 2.0]);
        assert!(<MinLoc as Op<(u8, u8)>>::NEUTRAL.is_none());
    }

    /// Any order of any operands gives one result: the operation chooses the minimum in an order of all pairs.
    #[test]
    fn a_place_is_chosen_whatever_the_order() {
        let values = [f64::NAN, -1.0, 0.0, -0.0, 2.5, f64::INFINITY, f64::NEG_INFINITY];
        let pairs = values.iter().flat_map(|value| (0..3u64).map(move |index| (*value, index)));
        let pairs: Vec<_> = pairs.collect();
        type Apply = fn((f64, u64), (f64, u64)) -> (f64, u64);
        let bits = |(value, index): (f64, u64)| (value.to_bits(), index);
        let check = |apply: Apply| {
            for a in &pairs {
                for b in &pairs {
                    let same = a.0 == b.0 && a.1 == b.1; // 0.0 and -0.0 at one place: the first stays
                    assert!(same || bits(apply(*a, *b)) == bits(apply(*b, *a)), "{a:?} {b:?}");
                    for c in &pairs {
                        let (left, right) = (apply(apply(*a, *b), *c), apply(*a, apply(*b, *c)));
                        assert_eq!(bits(left), bits(right), "{a:?} {b:?} {c:?}");
                    }
                }
            }
        };
        check(MinLoc::apply);
        check(MaxLoc::apply);
        assert_eq!(MinLoc::apply((f64::NAN, 0), (7.0, 9u64)), (7.0, 9));
        assert_eq!(MaxLoc::apply((7.0, 9u64), (7.0, 3)), (7.0, 3));
        assert_eq!(MaxLoc::apply(("a", 1), ("b", 2)), ("b", 2));
        assert_eq!(MinLoc::apply(Located::new(2i32, 4u32), Located::new(1, 5)), Located::new(1, 5));
    }

    #[cfg(feature = "num-complex")]
    #[test]
    fn complex_numbers() {
        let (a, b) = (num_complex::Complex::new(1.0, 2.0), num_complex::Complex::new(3.0, -1.0));
        assert_eq!((Sum::apply(a, b), Product::apply(a, b)), (a + b, a * b));
    }
}
