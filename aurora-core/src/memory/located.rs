//! The pairs of a value and its place that are plain data, for [`MinLoc`](crate::ops::MinLoc) and its like.
//!
//! Why the unsafe code is sound:
//!
//! 1. A pair is two numbers in the order of `repr(C)`, without padding: the sizes are compared when it is compiled.
#![allow(unsafe_code)]

use crate::ops::Located;

macro_rules! plain {
    ($($value:ty, $index:ty;)*) => {$(
        const _: () = assert!(size_of::<Located<$value, $index>>() == size_of::<$value>() + size_of::<$index>());
        // SAFETY: (1)
        unsafe impl bytemuck::Zeroable for Located<$value, $index> {}
        // SAFETY: (1)
        unsafe impl bytemuck::Pod for Located<$value, $index> {}
    )*};
}

plain! {
    f64, u64; i64, u64; u64, u64;
    f32, u32; i32, u32; u32, u32;
}

#[cfg(target_pointer_width = "64")]
plain! { f64, usize; i64, usize; u64, usize; }
