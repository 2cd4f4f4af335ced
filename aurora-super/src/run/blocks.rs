//! Arrays of blocks: the handle of the program, and the array itself without its type.

use super::index::Index;
use super::launch::{Trouble, names, panic_message};
use super::operand::{At, Block, Place, Value};
use crate::BlockId;
use aurora_core::Site;
use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A handle of an array of blocks: [`SuperProgram::blocks`](crate::SuperProgram::blocks) makes it. It is `Copy`: `move`
/// closures capture a copy.
pub struct Blocks<T, I> {
    shape: I,
    first: BlockId,
    array: u32,
    program: u32,
    block: PhantomData<fn() -> T>,
}

impl<T, I: Copy> Clone for Blocks<T, I> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, I: Copy> Copy for Blocks<T, I> {}

impl<T, I: fmt::Debug> fmt::Debug for Blocks<T, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blocks<{}> of {:?}", short(type_name::<T>()), self.shape)
    }
}

impl<T, I: Index> Blocks<T, I> {
    pub(super) fn new(shape: I, Place { block, array, program }: Place) -> Self {
        Blocks { shape, first: block, array, program, block: PhantomData }
    }

    /// Returns the shape of the array, in blocks.
    pub fn shape(&self) -> I {
        self.shape
    }

    /// Returns the block at an index. An index outside the array is an error of the launch that uses it.
    pub fn at(&self, index: I) -> At<T> {
        let block = self.shape.number(index).map_or(Place::OUTSIDE, |number| self.first + number);
        At::new(Place { block, array: self.array, program: self.program })
    }

    /// Returns the block at an index, or `None` outside the array: for a parameter `Option<&T>`.
    pub fn get(&self, index: I) -> Option<At<T>> {
        self.shape.number(index).map(|_| self.at(index))
    }

    /// Returns the block at a distance from an index, or `None` outside the array: `near(i, -1)` is the block before
    /// `i`, `near((i, j), (0, 1))` the block to the right.
    pub fn near(&self, index: I, distance: I::Step) -> Option<At<T>> {
        self.shape.near(index, distance).map(|index| self.at(index))
    }

    pub(super) fn array(&self) -> (u32, u32) {
        (self.program, self.array)
    }
}

/// The last part of the path of a type or function.
pub(super) fn short(name: &'static str) -> &'static str {
    if name.ends_with("{{closure}}") {
        return "a closure";
    }
    name.split('<').next().and_then(|path| path.rsplit("::").next()).filter(|name| !name.is_empty()).unwrap_or(name)
}

type Make = dyn Fn(u32) -> Value + Send + Sync;

/// An array of blocks, without its type.
pub(super) struct Array {
    pub(super) blocks: Range<BlockId>,
    /// Rows and columns of the matrix in which the blocks stand.
    pub(super) matrix: [u32; 2],
    /// Such as `array of (4, 4) blocks of Dense`.
    pub(super) name: String,
    pub(super) made_at: Site,
    make: Box<Make>,
    show: Box<dyn Fn(u32) -> String + Send + Sync>,
    encode: fn(&Value) -> Result<Vec<u8>, String>,
    decode: fn(&[u8]) -> Result<Value, String>,
}

/// The cause if a block cannot be read as its type has written it.
fn disagree(how: impl fmt::Display) -> String {
    format!("its `Deserialize` reads other bytes than its `Serialize` writes ({how})")
}

impl Array {
    pub(super) fn new<T: Block, I: Index>(
        shape: I,
        first: BlockId,
        area: u32,
        make: impl Fn(I) -> T + Send + Sync + 'static,
        made_at: Site,
    ) -> Self {
        Array {
            blocks: first..first + area,
            matrix: shape.matrix(),
            name: format!("array of {shape:?} blocks of {}", short(type_name::<T>())),
            made_at,
            make: Box::new(move |number| Arc::new(make(shape.nth(number)))),
            show: Box::new(move |number| format!("{:?}", shape.nth(number))),
            encode: |value| {
                let block = value.downcast_ref::<T>().expect("an array has one type");
                postcard::to_allocvec(block).map_err(|error| error.to_string())
            },
            decode: |bytes| match postcard::take_from_bytes::<T>(bytes) {
                Ok((block, [])) => Ok(Arc::new(block)),
                Ok((_, rest)) => Err(disagree(format_args!("{} bytes of {} are left over", rest.len(), bytes.len()))),
                // The message of the type itself.
                Err(error @ (postcard::Error::SerdeDeCustom | postcard::Error::WontImplement)) => {
                    Err(error.to_string())
                }
                Err(error) => Err(disagree(error)),
            },
        }
    }

    /// Runs the creator of the program.
    pub(super) fn make(&self, block: BlockId) -> Result<Value, Trouble> {
        self.shielded("the creator", block, || Ok((self.make)(block - self.blocks.start)))
    }

    pub(super) fn encode(&self, block: BlockId, value: &Value) -> Result<Vec<u8>, Trouble> {
        self.shielded("Serialize", block, || (self.encode)(value))
    }

    pub(super) fn decode(&self, block: BlockId, bytes: &[u8]) -> Result<Value, Trouble> {
        self.shielded("Deserialize", block, || (self.decode)(bytes))
    }

    /// Runs code of the program for a block. A panic is an error.
    fn shielded<R>(&self, what: &str, block: BlockId, run: impl FnOnce() -> Result<R, String>) -> Result<R, Trouble> {
        let of = || format!("{what} of {}", self.show(block));
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(ran) => ran.map_err(|error| Trouble { name: names::VALUE, cause: format!("{}: {error}", of()) }),
            Err(panic) => {
                Err(Trouble { name: names::PANICKED, cause: format!("{} panicked: {}", of(), panic_message(panic)) })
            }
        }
    }

    /// A block in words: `block (1, 2) of the array of ..`.
    pub(super) fn show(&self, block: BlockId) -> String {
        format!("block {} of {self}", (self.show)(block - self.blocks.start))
    }
}

impl fmt::Display for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} (made at {})", self.name, self.made_at)
    }
}

/// Returns true if there is memory for the tables of `count` blocks or groups.
pub(super) fn has_room(count: u32) -> bool {
    /// The bytes of a group on the dispatcher; a block takes less.
    const BYTES: usize = 64;
    /// Fewer blocks or groups always fit.
    const FEW: u32 = 1 << 20;
    count < FEW || aurora_core::available_memory().is_none_or(|available| count as usize <= available / (2 * BYTES))
}

/// All arrays of a super-program, in the order of their blocks.
#[derive(Clone, Default)]
pub(super) struct Arrays(Vec<Arc<Array>>);

impl Arrays {
    pub(super) fn push(&mut self, array: Arc<Array>) {
        self.0.push(array);
    }

    pub(super) fn into_vec(self) -> Vec<Arc<Array>> {
        self.0
    }

    pub(super) fn count(&self) -> u32 {
        self.0.len() as u32
    }

    /// Returns the number of blocks of all arrays.
    pub(super) fn blocks(&self) -> u32 {
        self.0.last().map_or(0, |last| last.blocks.end)
    }

    pub(super) fn get(&self, array: u32) -> &Arc<Array> {
        &self.0[array as usize]
    }

    /// The array of a block.
    pub(super) fn of(&self, block: BlockId) -> &Arc<Array> {
        let at = self.0.partition_point(|array| array.blocks.end <= block);
        &self.0[at]
    }
}
