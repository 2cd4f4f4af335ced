//! The operations that every map of a primitive number knows from its construction.

use crate::operation::Operations;
use crate::ops::{BUILT_IN, Op, built_in};
use std::any::{Any, TypeId};

/// The new value from the current one and an operand.
pub(super) type OpFn<V> = fn(V, V) -> V;

pub(super) fn built_in<V: 'static>() -> Operations<OpFn<V>> {
    let mut ops: Operations<OpFn<V>> = Operations::default();
    macro_rules! known {
        ($($t:ty: $($op:ident)*;)*) => {$(
            if TypeId::of::<V>() == TypeId::of::<$t>() {
                $(
                    let apply: OpFn<$t> = <crate::ops::$op as Op<$t>>::apply;
                    if let Some(apply) = (&apply as &dyn Any).downcast_ref::<OpFn<V>>() {
                        ops.add::<crate::ops::$op>(*apply).expect(BUILT_IN);
                    }
                )*
            }
        )*};
    }
    built_in!(known);
    ops
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::OpId;
    use crate::ops::{Min, Sum, Xor};

    #[test]
    fn numbers_have_operations() {
        let apply = |op| built_in::<i32>().find(op).map(|apply| apply(5, 3));
        assert_eq!(apply(OpId::of::<Sum>()), Some(8));
        assert_eq!(apply(OpId::of::<Min>()), Some(3));
        assert_eq!(apply(OpId::of::<Xor>()), Some(6));
        assert!(built_in::<String>().find(OpId::of::<Sum>()).is_none());
    }
}
