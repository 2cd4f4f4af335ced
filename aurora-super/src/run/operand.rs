//! Parameters of instructions: how a function's parameter names, borrows and returns a block.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::{Any, type_name};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// The data of a block of the runtime on ranks: any type that serde can encode and decode, and that is `Clone + Send +
/// Sync + 'static`. The scheduler's record of a block is [`data::Block`](crate::data::Block).
///
/// Every such type is a block; there is nothing to implement. Blocks travel between ranks through serde: a block that
/// is encoded and decoded has to equal the original, so no field may be skipped. An instruction that reads a block must
/// not change it, as it could through an atomic or a mutex: other ranks have copies.
///
/// [`Dense`](crate::Dense) and [`Csr`](crate::Csr) travel as raw bytes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the data of a block",
    label = "not a block",
    note = "a block is `Clone + Serialize + DeserializeOwned + Send + Sync + 'static`: derive `Clone`, `Serialize` and \
            `Deserialize`"
)]
pub trait Block: Clone + Serialize + DeserializeOwned + Send + Sync + 'static {}

impl<T: Clone + Serialize + DeserializeOwned + Send + Sync + 'static> Block for T {}

/// An associative and commutative operation on blocks, for [`Update`]. `Sum`, `Product`, `Min`, `Max`, `And`, `Or` and
/// `Xor` of `aurora_core::ops` are operations on numbers and on [`Dense`](crate::Dense) matrices of them.
///
/// Several ranks may update partial results of one block, which are merged at the end. All partial results but the
/// first begin as the identity.
///
/// ```
/// use aurora_core::prelude::*;
/// use aurora_super::{Merge, SuperProgram, Update};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Serialize, Deserialize)]
/// struct Counts {
///     bins: Vec<u64>,
///     most: u64,
/// }
///
/// struct Add;
///
/// impl Merge<Counts> for Add {
///     fn identity(like: &Counts) -> Counts {
///         Counts { bins: vec![0; like.bins.len()], most: 0 }
///     }
///
///     fn merge(into: &mut Counts, part: Counts) {
///         into.bins.iter_mut().zip(part.bins).for_each(|(bin, more)| *bin += more);
///         into.most = into.most.max(part.most);
///     }
/// }
///
/// fn count(numbers: &[u64], counts: &mut Update<Counts, Add>) {
///     for number in numbers {
///         counts.bins[(*number % 4) as usize] += 1;
///         counts.most = counts.most.max(*number);
///     }
/// }
///
/// Config::threads(3).run(|world| {
///     let sp = SuperProgram::new(world)?;
///     let numbers = sp.blocks(100, |i: u32| vec![u64::from(i), 3])?;
///     let counts = sp.blocks(1, |_: u32| Counts { bins: vec![0; 4], most: 0 })?;
///     sp.each(100, count, move |i| (numbers.at(i), counts.at(0)))?;
///     let counts = sp.value(counts.at(0))?;
///     assert_eq!((counts.bins, counts.most), (vec![25, 25, 25, 125], 99));
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
pub trait Merge<T>: 'static {
    /// The value that changes nothing when it is merged. `like` is the block as its creator makes it, and not its
    /// present value: so a block that is updated has to keep the shape that its creator has given it.
    fn identity(like: &T) -> T;

    /// Merges a partial result into another.
    fn merge(into: &mut T, part: T);
}

/// A block that the instruction updates by the operation `Op`: a parameter `&mut Update<T, Op>`. It dereferences to
/// the block.
///
/// The instruction merges its contribution into the block, as `*sum += x` does. Several ranks may execute instructions
/// of one block at the same time. When an instruction begins, the block holds a partial result: either the value from
/// before the launch or the [identity](Merge::identity), and the contributions of some of the other instructions. It is
/// not determined which ones.
///
/// # Floating-point numbers
///
/// The order of the contributions may differ from run to run, and with it the last bits of a sum of floating-point
/// numbers. [`Policy::S`](crate::Policy::S) and [`Policy::SYN`](crate::Policy::SYN) keep the order of the sequential
/// program: all bits are then equal on any number of ranks.
///
/// # Checks
///
/// With `AURORA_CHECK=1` each rank merges the identity and the result of its first instruction of each launch, and each
/// partial result before another rank gets it. If the encoding of the merged value differs from that of the result, the
/// identity is wrong, and all ranks get the error [`Identity`](crate::run::names::IDENTITY). Bytes in another order are
/// no finding, because the entries of a hash table have no order. Without ranks nothing is checked.
pub struct Update<T, Op> {
    block: T,
    op: PhantomData<fn(Op)>,
}

impl<T, Op> Deref for Update<T, Op> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.block
    }
}

impl<T, Op> DerefMut for Update<T, Op> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.block
    }
}

impl<T: fmt::Debug, Op> fmt::Debug for Update<T, Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.block.fmt(f)
    }
}

/// A plain value as a parameter: a number of the step, a factor, a seed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Val<V>(pub V);

/// The handle of a block in an array of `T`: [`Blocks::at`](crate::Blocks::at) makes it.
pub struct At<T> {
    pub(super) place: Place,
    block: PhantomData<fn() -> T>,
}

/// A block as a handle names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(unnameable_types, reason = "in hidden methods of `Operand` alone")]
pub struct Place {
    /// The number of the block in its super-program.
    pub(super) block: u32,
    /// The number of its array.
    pub(super) array: u32,
    /// The number of its super-program in this process.
    pub(super) program: u32,
}

impl Place {
    /// In place of a block number: the index is outside the array.
    pub(super) const OUTSIDE: u32 = u32::MAX;
}

impl<T> At<T> {
    pub(super) fn new(place: Place) -> Self {
        At { place, block: PhantomData }
    }
}

impl<T> Clone for At<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for At<T> {}

impl<T> fmt::Debug for At<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.block {
            Place::OUTSIDE => write!(f, "outside array {}", self.place.array),
            block => write!(f, "block {block}"),
        }
    }
}

/// The value of a block, whatever its type.
pub(super) type Value = Arc<dyn Any + Send + Sync>;
/// An operand while its instruction runs; `None` if there is no such block.
#[doc(hidden)]
pub type Cell = Option<Arc<dyn Any + Send + Sync>>;

/// How an instruction uses an operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[doc(hidden)]
#[allow(unnameable_types, reason = "in hidden methods of `Operand` alone")]
pub enum Access {
    /// A plain value.
    None,
    /// It reads the block.
    Read,
    /// It reads and writes the block, alone.
    Write,
    /// It updates the block.
    Update,
}

/// The operation of an [`Update`], without its types.
#[derive(Clone, Copy)]
#[doc(hidden)]
#[allow(unnameable_types, reason = "in hidden methods of `Operand` alone")]
pub struct Merging {
    pub(super) identity: fn(&Value) -> Value,
    pub(super) merge: fn(Value, Value) -> Value,
    pub(super) name: fn() -> &'static str,
}

impl Merging {
    const fn of<T: Block, Op: Merge<T>>() -> Self {
        Merging {
            identity: |like| Arc::new(Op::identity(like.downcast_ref().expect("a handle has the type of its block"))),
            merge: |into, part| {
                let mut into = owned(into);
                Op::merge(&mut into, owned(part));
                Arc::new(into)
            },
            name: type_name::<Op>,
        }
    }

    /// The first operation of several operands.
    pub(super) const fn first(all: &[Option<Merging>]) -> Option<Merging> {
        match all {
            [] => None,
            [None, rest @ ..] => Merging::first(rest),
            [first, ..] => *first,
        }
    }
}

/// An operand of one instruction, before its value is known.
#[doc(hidden)]
#[derive(Clone)]
#[allow(unnameable_types, reason = "in hidden methods of `Operand` alone")]
pub enum Arg {
    /// A block.
    Block(Place),
    /// No block.
    Absent,
    /// A plain value.
    Plain(Arc<dyn Any + Send + Sync>),
}

mod sealed {
    #[allow(unnameable_types, reason = "parameters are those of this crate")]
    pub trait Sealed {}
}

/// A parameter of an instruction.
///
/// | parameter | the operand closure gives | the instruction |
/// |---|---|---|
/// | `&T` | `blocks.at(i)` | reads the block |
/// | `Option<&T>` | `blocks.get(i)`, `blocks.near(i, d)` or `None` | reads the block, if there is one |
/// | `&mut T` | `blocks.at(i)` | reads and writes the block |
/// | `&mut Update<T, Op>` | `blocks.at(i)` | updates the block by `Op` |
/// | `Val<V>` | `Val(value)` | gets a copy of the value |
///
/// If the blocks are `Vec<T>`, the parameters may be slices as well: `&[T]`, `Option<&[T]>`, `&mut [T]`. If they are
/// `String`, the parameters may be `&str`, `Option<&str>` and `&mut str`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of an instruction",
    label = "not a parameter of an instruction",
    note = "parameters are `&T`, `Option<&T>`, `&mut T`, `&mut Update<T, Op>` and `Val<V>`"
)]
pub trait Operand: sealed::Sealed {
    #[doc(hidden)]
    const ACCESS: Access;
    #[doc(hidden)]
    const MERGING: Option<Merging> = None;
    /// The type by which the operand closure names it.
    type At;
    #[doc(hidden)]
    type Held;
    #[doc(hidden)]
    type Item<'a>;

    #[doc(hidden)]
    fn arg(at: Self::At) -> Arg;
    #[doc(hidden)]
    fn take(cell: &mut Cell) -> Self::Held;
    #[doc(hidden)]
    fn lend(held: &mut Self::Held) -> Self::Item<'_>;
    #[doc(hidden)]
    fn give(held: Self::Held, cell: &mut Cell);
}

/// Returns the value of a cell, which keeps it too.
fn shared<T: Send + Sync + 'static>(cell: &Cell) -> Option<Arc<T>> {
    let value = cell.clone()?;
    Some(value.downcast().unwrap_or_else(|_| panic!("a handle has the type of its block")))
}

/// Returns a block's value: a copy, if the value is shared.
pub(super) fn owned<T: Block>(value: Value) -> T {
    Arc::unwrap_or_clone(value.downcast().unwrap_or_else(|_| panic!("a handle has the type of its block")))
}

/// Returns the value of a cell for one instruction alone. It is copied if it is still shared.
fn alone<T: Clone + Send + Sync + 'static>(cell: &mut Cell) -> T {
    let value = shared(cell).expect("a written block is there");
    *cell = None;
    Arc::unwrap_or_clone(value)
}

impl<T: Block> sealed::Sealed for &T {}
impl<T: Block> Operand for &T {
    const ACCESS: Access = Access::Read;
    type At = At<T>;
    type Held = Arc<T>;
    type Item<'a> = &'a T;

    fn arg(at: At<T>) -> Arg {
        Arg::Block(at.place)
    }

    fn take(cell: &mut Cell) -> Arc<T> {
        shared(cell).expect("a block that is read is there")
    }

    fn lend(held: &mut Arc<T>) -> &T {
        held
    }

    fn give(_: Arc<T>, _: &mut Cell) {}
}

impl<T: Block> sealed::Sealed for Option<&T> {}
impl<T: Block> Operand for Option<&T> {
    const ACCESS: Access = Access::Read;
    type At = Option<At<T>>;
    type Held = Option<Arc<T>>;
    type Item<'a> = Option<&'a T>;

    fn arg(at: Option<At<T>>) -> Arg {
        at.map_or(Arg::Absent, |at| Arg::Block(at.place))
    }

    fn take(cell: &mut Cell) -> Option<Arc<T>> {
        shared(cell)
    }

    fn lend(held: &mut Option<Arc<T>>) -> Option<&T> {
        held.as_deref()
    }

    fn give(_: Option<Arc<T>>, _: &mut Cell) {}
}

impl<T: Block> sealed::Sealed for &mut T {}
impl<T: Block> Operand for &mut T {
    const ACCESS: Access = Access::Write;
    type At = At<T>;
    type Held = T;
    type Item<'a> = &'a mut T;

    fn arg(at: At<T>) -> Arg {
        Arg::Block(at.place)
    }

    fn take(cell: &mut Cell) -> T {
        alone(cell)
    }

    fn lend(held: &mut T) -> &mut T {
        held
    }

    fn give(held: T, cell: &mut Cell) {
        *cell = Some(Arc::new(held));
    }
}

impl<T: Block, Op: Merge<T>> sealed::Sealed for &mut Update<T, Op> {}
impl<T: Block, Op: Merge<T>> Operand for &mut Update<T, Op> {
    const ACCESS: Access = Access::Update;
    const MERGING: Option<Merging> = Some(Merging::of::<T, Op>());
    type At = At<T>;
    type Held = Update<T, Op>;
    type Item<'a> = &'a mut Update<T, Op>;

    fn arg(at: At<T>) -> Arg {
        Arg::Block(at.place)
    }

    fn take(cell: &mut Cell) -> Update<T, Op> {
        Update { block: alone(cell), op: PhantomData }
    }

    fn lend(held: &mut Update<T, Op>) -> &mut Update<T, Op> {
        held
    }

    fn give(held: Update<T, Op>, cell: &mut Cell) {
        *cell = Some(Arc::new(held.block));
    }
}

/// Parameters that borrow from the block: a slice of a `Vec`, a `str` of a `String`.
macro_rules! borrowed {
    ($([$($t:ident)?] $of:ty, $block:ty;)*) => {$(
        impl<$($t: Block)?> sealed::Sealed for &$of {}
        impl<$($t: Block)?> Operand for &$of {
            const ACCESS: Access = Access::Read;
            type At = At<$block>;
            type Held = Arc<$block>;
            type Item<'a> = &'a $of;

            fn arg(at: Self::At) -> Arg {
                Arg::Block(at.place)
            }

            fn take(cell: &mut Cell) -> Self::Held {
                <&$block as Operand>::take(cell)
            }

            fn lend(held: &mut Self::Held) -> &$of {
                held
            }

            fn give(_: Self::Held, _: &mut Cell) {}
        }

        impl<$($t: Block)?> sealed::Sealed for Option<&$of> {}
        impl<$($t: Block)?> Operand for Option<&$of> {
            const ACCESS: Access = Access::Read;
            type At = Option<At<$block>>;
            type Held = Option<Arc<$block>>;
            type Item<'a> = Option<&'a $of>;

            fn arg(at: Self::At) -> Arg {
                <Option<&$block> as Operand>::arg(at)
            }

            fn take(cell: &mut Cell) -> Self::Held {
                shared(cell)
            }

            fn lend(held: &mut Self::Held) -> Option<&$of> {
                held.as_ref().map(|block| &***block)
            }

            fn give(_: Self::Held, _: &mut Cell) {}
        }

        impl<$($t: Block)?> sealed::Sealed for &mut $of {}
        impl<$($t: Block)?> Operand for &mut $of {
            const ACCESS: Access = Access::Write;
            type At = At<$block>;
            type Held = $block;
            type Item<'a> = &'a mut $of;

            fn arg(at: Self::At) -> Arg {
                Arg::Block(at.place)
            }

            fn take(cell: &mut Cell) -> $block {
                alone(cell)
            }

            fn lend(held: &mut $block) -> &mut $of {
                held
            }

            fn give(held: $block, cell: &mut Cell) {
                <&mut $block as Operand>::give(held, cell);
            }
        }
    )*};
}

borrowed! {
    [T] [T], Vec<T>;
    [] str, String;
}

impl<V: Clone + Send + Sync + 'static> sealed::Sealed for Val<V> {}
impl<V: Clone + Send + Sync + 'static> Operand for Val<V> {
    const ACCESS: Access = Access::None;
    type At = Val<V>;
    type Held = V;
    type Item<'a> = Val<V>;

    fn arg(at: Val<V>) -> Arg {
        Arg::Plain(Arc::new(at.0))
    }

    fn take(cell: &mut Cell) -> V {
        alone(cell)
    }

    fn lend(held: &mut V) -> Val<V> {
        Val(held.clone())
    }

    fn give(_: V, _: &mut Cell) {}
}
