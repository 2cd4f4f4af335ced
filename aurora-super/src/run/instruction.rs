//! Instructions: functions over blocks.

use super::operand::{Access, Arg, Cell, Merging, Operand};
use smallvec::SmallVec;
use std::fmt::Display;

/// The operands of an instruction.
#[doc(hidden)]
pub type Args = SmallVec<[Arg; 4]>;

#[diagnostic::on_unimplemented(
    message = "an instruction does not return `{Self}`",
    label = "this is no end of an instruction",
    note = "an instruction returns `()`, or a `Result<(), E>` whose `E` can be displayed"
)]
/// The return type of an instruction: `()`, or a `Result` whose error ends the super-program.
pub trait Outcome {
    #[doc(hidden)]
    fn outcome(self) -> Result<(), String>;
}

impl Outcome for () {
    fn outcome(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: Display> Outcome for Result<(), E> {
    fn outcome(self) -> Result<(), String> {
        self.map_err(|error| error.to_string())
    }
}

/// An instruction: a function or a `move` closure of 1 to 8 [operands](Operand) (S0 section 1: *SI*). There is nothing
/// to implement.
///
/// An instruction runs once for each step of each group, from beginning to end, on one thread of some rank. It must not
/// wait for another instruction. `'static` keeps the [`World`](aurora_core::World), vectors and guards out of it: an
/// instruction uses only its operands.
///
/// The parameters of a closure need their types, with `&`: `|a: &u64, b: &mut u64| *b += a`.
#[diagnostic::on_unimplemented(
    message = "this is not an instruction",
    label = "not an instruction over blocks",
    note = "an instruction is a function, or a `move` closure whose parameters have types: `&T`, `Option<&T>`, \
            `&mut T`, `&mut Update<T, Op>` with `Op: Merge<T>`, or `Val<V>`; it returns `()` or a `Result<(), E>`"
)]
pub trait Instruction<P>: Send + Sync + 'static {
    /// The operands of one instruction, as the operand closure returns them: a tuple with one place for each parameter.
    type At;

    #[doc(hidden)]
    const ACCESS: &'static [Access];
    #[doc(hidden)]
    const MERGING: Option<Merging>;
    #[doc(hidden)]
    fn args(at: Self::At) -> Args;
    #[doc(hidden)]
    fn run(&self, cells: &mut [Cell]) -> Result<(), String>;
}

macro_rules! instruction {
    ($($p:ident $n:tt),*) => {
        impl<Func, Out: Outcome, $($p: Operand),*> Instruction<fn($($p),*) -> Out> for Func
        where
            Func: Send + Sync + 'static,
            for<'x> &'x Func: Fn($($p),*) -> Out + Fn($(<$p as Operand>::Item<'_>),*) -> Out,
        {
            type At = ($($p::At,)*);
            const ACCESS: &'static [Access] = &[$($p::ACCESS),*];
            const MERGING: Option<Merging> = Merging::first(&[$($p::MERGING),*]);

            fn args(at: Self::At) -> Args {
                Args::from_iter([$($p::arg(at.$n)),*])
            }

            #[allow(non_snake_case, reason = "the names of types, for values of theirs")]
            fn run(&self, cells: &mut [Cell]) -> Result<(), String> {
                // Chooses the signature of `Func` that takes items, of the two.
                #[allow(clippy::too_many_arguments, reason = "as many as the function has")]
                fn call<Out, $($p),*>(f: impl Fn($($p),*) -> Out, $($p: $p),*) -> Out {
                    f($($p),*)
                }
                $(let mut $p = $p::take(&mut cells[$n]);)*
                let out = call(self, $($p::lend(&mut $p)),*).outcome();
                $($p::give($p, &mut cells[$n]);)*
                out
            }
        }
    };
}

instruction!(A 0);
instruction!(A 0, B 1);
instruction!(A 0, B 1, C 2);
instruction!(A 0, B 1, C 2, D 3);
instruction!(A 0, B 1, C 2, D 3, E 4);
instruction!(A 0, B 1, C 2, D 3, E 4, F 5);
instruction!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
instruction!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
