//! Instructions and operands of super-programs.
use aurora_core::prelude::*;
use aurora_super::{Blocks, SuperProgram};

fn add(a: &u64, b: &mut u64) {
    *b += a;
}

type Numbers = Blocks<u64, u32>;

/// The operands have the types of the parameters.
fn a_block_of_another_type(sp: &SuperProgram<'_>, a: Blocks<String, u32>, b: Numbers) -> Result<()> {
    sp.each(4, add, move |i| (a.at(i), b.at(i)))
}

/// There is an operand for each parameter.
fn too_few_operands(sp: &SuperProgram<'_>, b: Numbers) -> Result<()> {
    sp.each(4, add, move |i| (b.at(i),))
}

/// A block is borrowed, and a plain value is a `Val`.
fn a_parameter_that_is_no_operand(sp: &SuperProgram<'_>, b: Numbers) -> Result<()> {
    sp.each(4, |n: u32, b: &mut u64| *b += u64::from(n), move |i| (i, b.at(i)))
}

/// The operand closure moves the handles.
fn a_missing_move(sp: &SuperProgram<'_>, a: Numbers, b: Numbers) -> Result<()> {
    sp.each(4, add, |i| (a.at(i), b.at(i)))
}

/// The instruction moves its captured values.
fn a_missing_move_of_a_captured_value(sp: &SuperProgram<'_>, b: Numbers) -> Result<()> {
    let factor = 3;
    sp.each(4, |b: &mut u64| *b *= factor, move |i| (b.at(i),))
}

/// Blocks are sent to other ranks.
#[derive(Clone)]
struct NoSerde(u64);

fn a_block_without_serde(sp: &SuperProgram<'_>) -> Result<()> {
    sp.blocks(4, |i: u32| NoSerde(u64::from(i))).map(drop)
}

/// The parameters of a closure need types.
fn parameters_without_types(sp: &SuperProgram<'_>, b: Numbers) -> Result<()> {
    sp.each(4, |b| *b += 1, move |i| (b.at(i),))
}

/// An instruction returns nothing, or a `Result`.
fn an_instruction_with_a_value(sp: &SuperProgram<'_>, b: Numbers) -> Result<()> {
    sp.each(4, |b: &mut u64| *b + 1, move |i| (b.at(i),))
}

fn main() {}
