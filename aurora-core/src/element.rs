//! What a shared vector may hold, and the operations that an element's owner applies.

use crate::memory::Cells;
pub use crate::operation::OpId;
use crate::operation::Operations;
use crate::vector::batch::Batch;
use crate::vector::places::Places;
use std::any::TypeId;
use std::ops::{Add as _, BitOr as _};

/// A type whose values may be elements of a [`GVector`](crate::GVector): plain data without padding or pointers.
///
/// Implemented for every `bytemuck::Pod` type. A struct of your own derives that, without `unsafe`, in a crate with
/// `bytemuck = { version = "1", features = ["derive"] }`:
///
/// ```
/// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
/// #[repr(C)]
/// struct Particle { position: [f64; 3], mass: f64 }
/// fn is_element<T: aurora_core::Element>() {}
/// is_element::<Particle>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of a shared vector",
    label = "not plain data",
    note = "elements are plain data without padding or pointers: for a struct of your own, `#[derive(Clone, Copy, \
            bytemuck::Pod, bytemuck::Zeroable)] #[repr(C)]`; to share anything that serde knows, a `GScalar` or a \
            `GMap`",
    note = "`bool` and `char` are not plain data, because not every pattern of bits is one of their values: use `u8` and `u32`"
)]
pub trait Element: bytemuck::Pod + Send + Sync {}

#[diagnostic::do_not_recommend]
impl<T: bytemuck::Pod + Send + Sync> Element for T {}

/// An operation that the owner of an element applies to it: `current <- apply(current, operand)`.
///
/// A stateless type, so that every rank has its code. Two types are two operations, even if they have one name. An
/// application is atomic: no rank sees a value in between. Operands of several ranks are applied in any order, so the
/// operation must be **commutative** in its operands: `apply(apply(x, a), b)` is the same as `apply(apply(x, b), a)`.
/// Sums, differences, products, minima and unions are; "keep the last one" is not.
/// [`accumulate_in_order`](crate::GVector::accumulate_in_order) and the reductions of
/// [`World`](crate::World::all_reduce) keep the order of the ranks, and take any operation.
///
/// ```
/// use aurora_core::prelude::*;
///
/// struct Xor;
/// impl Op<u64> for Xor {
///     fn apply(current: u64, operand: u64) -> u64 {
///         current ^ operand
///     }
/// }
///
/// Config::threads(3).run(|world| {
///     let mut v = GVector::<u64>::new(world, 1)?;
///     let mut scope = v.release_c_with::<Xor>()?;
///     scope.update(0, 1 << usize::from(world.rank()))?;
///     scope.finish()?;
///     assert_eq!(v.at(0)?, 0b111);
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no operation on `{T}`",
    note = "an operation is a type that implements `Op<{T}>`: `Add`, `Min`, `Max` or `Or` of numbers, or one of your own (no closure); a scope takes it as \
            `release_c_with::<Add>()`, a reduction as `all_reduce(Add, x)`"
)]
pub trait Op<T>: 'static {
    /// The new value.
    fn apply(current: T, operand: T) -> T;

    /// Combines two operands before they reach the element, as in an [`Accumulate`](crate::Accumulate); a reduction,
    /// which has no element, uses only this. `apply(apply(x, a), b)` must be the same as `apply(x, combine(a, b))`.
    /// An associative operation needs no other than this default. Subtraction, for example, does: to subtract `a` and
    /// then `b` is to subtract `a + b`.
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
    ///     let mut sold = stock.accumulate::<TakeAway>()?;
    ///     (1..=4).try_for_each(|pieces| sold.update(1, pieces))?; // each rank 10
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
}

/// Sum, wrapping for integers.
#[derive(Clone, Copy, Debug)]
pub struct Add;

/// The smaller one; if one of two floats is a NaN, the other.
#[derive(Clone, Copy, Debug)]
pub struct Min;

/// The larger one; if one of two floats is a NaN, the other.
#[derive(Clone, Copy, Debug)]
pub struct Max;

/// Bitwise or.
#[derive(Clone, Copy, Debug)]
pub struct Or;

macro_rules! operation {
    ($op:ty; $($method:ident: $($t:ty)*;)*) => {$($(
        impl Op<$t> for $op {
            #[inline]
            fn apply(current: $t, operand: $t) -> $t { current.$method(operand) }
        }
    )*)*};
}

operation! { Add; wrapping_add: u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize; add: f32 f64; }
operation! { Min; min: u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64; }
operation! { Max; max: u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64; }
operation! { Or; bitor: u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize; }

/// Applies a batch of operands to a block.
pub(crate) type ApplyFn = fn(block: Cells<'_>, batch: &Batch<'_>);

/// [`ApplyFn`] of operation `O` on elements `T`.
pub(crate) fn apply_op<T: Element, O: Op<T>>(block: Cells<'_>, batch: &Batch<'_>) {
    batch.apply::<T>(block.elements(), O::apply);
}

/// Access to elements for the kernel, which does not know their type.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    /// Puts the values of a batch into a block.
    pub(crate) put: ApplyFn,
    /// Puts consecutive values into a block, from element `start` on.
    pub(crate) store: fn(block: Cells<'_>, start: usize, values: &[u8]),
    /// Copies the elements at `places`, which lie within the block.
    pub(crate) gather: fn(block: &[u8], places: Places<'_>, into: &mut [u8]),
}

impl Access {
    pub(crate) fn of<T: Element>() -> Self {
        Access {
            put: |block, batch| batch.apply::<T>(block.elements(), |_, new| new),
            store: |block, start, values| {
                let mut elements = block.elements::<T>();
                for (index, value) in (start..).zip(values.chunks_exact(size_of::<T>())) {
                    elements.set(index, bytemuck::pod_read_unaligned(value));
                }
            },
            gather: |block, places, into| places.gather::<T>(bytemuck::cast_slice(block), into),
        }
    }
}

/// Why the built-in operations are never refused.
pub(crate) const BUILT_IN: &str = "the library's own operations have numbers of their own";

/// The operations that every vector of a primitive number has from its construction.
pub(crate) fn built_in_ops<T: Element>() -> Operations<ApplyFn> {
    let mut ops: Operations<ApplyFn> = Operations::default();
    macro_rules! known {
        ($($t:ty: $($op:ty)*;)*) => {$(
            if TypeId::of::<T>() == TypeId::of::<$t>() {
                $(ops.add::<$op>(apply_op::<$t, $op>).expect(BUILT_IN);)*
            }
        )*};
    }
    known! {
        u8: Add Min Max Or; u16: Add Min Max Or; u32: Add Min Max Or; u64: Add Min Max Or; u128: Add Min Max Or;
        i8: Add Min Max Or; i16: Add Min Max Or; i32: Add Min Max Or; i64: Add Min Max Or; i128: Add Min Max Or;
        usize: Add Min Max Or; isize: Add Min Max Or; f32: Add Min Max; f64: Add Min Max;
    }
    ops
}
