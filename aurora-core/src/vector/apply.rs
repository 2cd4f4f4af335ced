//! The operations that an owner applies to elements of its block, whose type the kernel does not know.

use super::batch::Batch;
use super::places::Places;
use crate::Element;
use crate::memory::Cells;
use crate::operation::Operations;
use crate::ops::{BUILT_IN, Op, built_in};
use std::any::TypeId;

/// Applies a batch of operands to a block.
pub(crate) type ApplyFn = fn(block: Cells<'_>, batch: &Batch<'_>);

/// Applies an operation to the elements of a block from `start` on, each with its operand in a partial copy.
pub(crate) type FoldFn = fn(block: Cells<'_>, start: usize, operands: &[u8]);

/// [`FoldFn`] of operation `O` on elements `T`. Leaves out operands that all are neutral: the block is not touched
/// there.
fn fold_op<T: Element, O: Op<T>>(block: Cells<'_>, start: usize, operands: &[u8]) {
    let at_once = (512 / size_of::<T>()).max(1);
    let neutral: Vec<T> = O::NEUTRAL.into_iter().flat_map(|neutral| std::iter::repeat_n(neutral, at_once)).collect();
    let (mut elements, neutral) = (block.elements::<T>(), bytemuck::cast_slice::<T, u8>(&neutral));
    let operands = bytemuck::cast_slice::<u8, T>(operands);
    for (operands, start) in operands.chunks(at_once).zip((start..).step_by(at_once)) {
        // In most copies the first operand differs.
        if bytemuck::cast_slice::<T, u8>(operands) != neutral {
            elements.update_run(start, operands, O::apply);
        }
    }
}

/// The ways in which an owner applies an operation.
#[derive(Clone, Copy)]
pub(crate) struct Apply {
    pub(crate) batch: ApplyFn,
    pub(crate) fold: FoldFn,
}

impl Apply {
    /// Operation `O` on elements `T`.
    pub(crate) fn of<T: Element, O: Op<T>>() -> Self {
        Apply { batch: |block, batch| batch.apply::<T>(block.elements(), O::apply), fold: fold_op::<T, O> }
    }
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

/// The operations that every vector of a primitive number has from its construction.
pub(crate) fn built_in_ops<T: Element>() -> Operations<Apply> {
    let mut ops: Operations<Apply> = Operations::default();
    macro_rules! known {
        ($($t:ty: $($op:ident)*;)*) => {$(
            if TypeId::of::<T>() == TypeId::of::<$t>() {
                $(ops.add::<crate::ops::$op>(Apply::of::<$t, crate::ops::$op>()).expect(BUILT_IN);)*
            }
        )*};
    }
    built_in!(known);
    ops
}
