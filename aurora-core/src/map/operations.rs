//! The operations that every map of a primitive number knows from its construction.

use crate::element::{Add, BUILT_IN, Max, Min, Op, Or};
use crate::operation::Operations;
use std::any::{Any, TypeId};

/// The new value from the current one and an operand.
pub(super) type OpFn<V> = fn(V, V) -> V;

pub(super) fn built_in<V: 'static>() -> Operations<OpFn<V>> {
    let mut ops: Operations<OpFn<V>> = Operations::default();
    macro_rules! known {
        ($($t:ty: $($op:ty)*;)*) => {$(
            if TypeId::of::<V>() == TypeId::of::<$t>() {
                $(
                    let apply: OpFn<$t> = <$op as Op<$t>>::apply;
                    if let Some(apply) = (&apply as &dyn Any).downcast_ref::<OpFn<V>>() {
                        ops.add::<$op>(*apply).expect(BUILT_IN);
                    }
                )*
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::OpId;

    #[test]
    fn numbers_have_operations() {
        let apply = |op| built_in::<i32>().find(op).map(|apply| apply(5, 3));
        assert_eq!(apply(OpId::of::<Add>()), Some(8));
        assert_eq!(apply(OpId::of::<Min>()), Some(3));
        assert!(built_in::<String>().find(OpId::of::<Add>()).is_none());
    }
}
