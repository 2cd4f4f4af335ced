//! Elements of shared vectors.

/// A type whose values may be elements of a [`GVector`](crate::GVector): plain data without padding or pointers.
///
/// Implemented for every `bytemuck::Pod` type. A struct of your own derives `Pod`, without `unsafe`:
///
/// ```
/// use aurora_core::bytemuck;
///
/// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
/// #[bytemuck(crate = "aurora_core::bytemuck")] // not needed in a crate that depends on bytemuck itself
/// #[repr(C)]
/// struct Particle { position: [f64; 3], mass: f64 }
/// fn is_element<T: aurora_core::Element>() {}
/// is_element::<Particle>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of a shared vector",
    label = "not plain data",
    note = "elements are plain data without padding or pointers: for a struct of your own, `#[derive(Clone, Copy, \
            bytemuck::Pod, bytemuck::Zeroable)] #[repr(C)]`, with the crate `bytemuck`; for a value with its place, \
            `ops::Located` of a number and an index of the same size; to share anything that serde knows, a \
            `GScalar` or a `GMap`",
    note = "`bool` and `char` are not plain data, because not every pattern of bits is one of their values: use `u8` and `u32`"
)]
pub trait Element: bytemuck::Pod + Send + Sync {}

#[diagnostic::do_not_recommend]
impl<T: bytemuck::Pod + Send + Sync> Element for T {}
