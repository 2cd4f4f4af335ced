//! Invalid operands.

use super::{CULPRIT, all_named, fails, fails_alike};
use aurora_core::ops::Sum;
use aurora_super::run::names;
use aurora_super::{SuperProgram, Update};

fn add(a: &u32, b: &mut u32) {
    *b += a;
}

#[test]
fn a_block_that_one_instruction_reads_and_writes() {
    let outcomes = fails_alike(names::CONFLICT, |sp| {
        let a = sp.blocks(6, |i| i)?;
        sp.each(1, add, move |i| (a.at(0), a.at(i)))
    });
    outcomes.all_say(&[
        "step 0 of group 0 of the launch of add",
        "both reads and writes block 0",
        "array of 6 blocks of u32",
    ]);
    outcomes.all_cite(&["sp.each(1, add", "let a = sp.blocks(6"]);
}

#[test]
fn a_block_that_one_group_reads_and_another_writes() {
    let outcomes = fails_alike(names::CONFLICT, |sp| {
        let (a, b) = (sp.blocks((2, 3), |(i, j)| i * j)?, sp.blocks((2, 3), |_| 1)?);
        let read = move |at| if at == (0, 0) { a.at((1, 0)) } else { b.at(at) };
        sp.each((2, 3), add, move |at| (read(at), a.at(at)))
    });
    outcomes.all_say(&["group (0, 0)", "reads block (1, 0)", "which another group of the launch writes"]);
    outcomes.all_cite(&["sp.each((2, 3), add", "let (a, b) = (sp.blocks((2, 3)"]);
}

/// One instruction among many, on one of the ranks.
#[test]
fn one_instruction_that_reads_a_result() {
    let outcomes = fails_alike(names::CONFLICT, |sp| {
        let (a, b) = (sp.blocks(30, |i| i)?, sp.blocks(30, |i| i)?);
        sp.launch(30, 3, add, move |i, k| (if (i, k) == (17, 2) { b.at(3) } else { a.at(i) }, b.at(i)))
    });
    outcomes
        .all_say(&["step 2 of group 17 of the launch of add", "reads block 3"])
        .all_cite(&["let (a, b) = (sp.blocks(30"]);
}

#[test]
fn two_parameters_that_write() {
    let outcomes = fails_alike(names::CONFLICT, |sp| {
        let a = sp.blocks(6, |i| i)?;
        let swap = |a: &mut u32, _: &u32, b: &mut Update<u32, Sum>| std::mem::swap(a, b);
        sp.each(3, swap, move |i| (a.at(i), a.at(5), a.at(i + 3)))
    });
    outcomes.all_say(&["writes two blocks, its operands 0 and 2"]).all_cite(&["sp.each(3, swap"]);
}

#[test]
fn no_parameter_that_writes() {
    let outcomes = fails_alike(names::CONFLICT, |sp| {
        let a = sp.blocks(6, |i| i)?;
        sp.each(3, |a: &u32| assert!(*a < 6), move |i| (a.at(i),))
    });
    outcomes.all_say(&["writes no block", "&mut T"]).all_cite(&["sp.each(3, |a: &u32|"]);
}

#[test]
fn another_result_in_a_later_step() {
    let outcomes = fails_alike(names::CONFLICT, |sp| {
        let (a, b) = (sp.blocks(6, |i| i)?, sp.blocks((2, 5), |(i, _)| i)?);
        sp.launch(2, 5, add, move |i, k| (a.at(i), b.at((i, if i == 1 && k == 3 { 1 } else { 0 }))))
    });
    outcomes.all_say(&["step 3 of group 1", "writes block (1, 1)", "step 0 of its group writes block (1, 0)"]);
    outcomes.all_cite(&["sp.launch(2, 5, add"]);
}

#[test]
fn an_index_outside_the_array() {
    let outcomes = fails_alike(names::OUTSIDE, |sp| {
        let (a, b) = (sp.blocks(6, |i| i)?, sp.blocks(6, |i| i)?);
        sp.each(6, add, move |i| (a.at(i + 1), b.at(i)))
    });
    outcomes.all_say(&["operand 0 of step 0 of group 5", "is outside the array of 6 blocks of u32"]);
    outcomes.all_cite(&["sp.each(6, add", "let (a, b)"]);
    let outcomes = fails_alike(names::OUTSIDE, |sp| {
        let (a, b) = (sp.blocks(6, |i| i)?, sp.blocks((2, 2, 2), |_| 1)?);
        sp.each((2, 2), add, move |(i, j)| (a.at(i), b.at((0, i, 2 - j))))
    });
    outcomes.all_say(&["operand 1 of step 0 of group (0, 0)", "is outside the array of (2, 2, 2) blocks of u32"]);
    let outcomes = fails_alike(names::OUTSIDE, |sp| {
        let a = sp.blocks((3, 4), |(i, _)| i)?;
        sp.value(a.at((0, 4))).map(drop)
    });
    outcomes.all_say(&["outside the array of (3, 4) blocks of u32"]).all_cite(&["sp.blocks((3, 4)"]);
}

#[test]
fn a_handle_of_another_super_program() {
    let outcomes = fails(|world, sp| {
        let (other, b) = (SuperProgram::new(world)?, sp.blocks(6, |i| i)?);
        let a = other.blocks(6, |i| i)?;
        sp.each(6, add, move |i| (a.at(i), b.at(i)))
    });
    outcomes.all_say(&["operand 0", "another super-program"]).all_cite(&["sp.each(6, add"]);
    all_named(&outcomes, names::OUTSIDE);
    let outcomes = fails(|world, sp| {
        let (other, a) = (SuperProgram::new(world)?, sp.blocks(6, |i| i)?);
        let b = other.blocks(6, |i| i)?;
        sp.each(6, add, move |i| (a.at(i), b.at(i)))
    });
    outcomes.all_say(&["operand 1", "another super-program"]);
    all_named(&outcomes, names::OUTSIDE);
    let outcomes =
        fails(|world, sp| SuperProgram::new(world)?.blocks(6, |i| i).and_then(|a| sp.value(a.at(1)).map(drop)));
    outcomes.all_say(&["another super-program"]);
    all_named(&outcomes, names::OUTSIDE);
    let outcomes = fails(|world, sp| {
        let a = SuperProgram::new(world)?.blocks(6, |i| i)?;
        sp.fold(&a, |a| *a, |a, b| a + b).map(drop)
    });
    outcomes.all_say(&["another super-program"]);
    all_named(&outcomes, names::OUTSIDE);
}

/// Only one rank has an index outside the array.
#[test]
fn an_index_outside_the_array_on_one_rank() {
    let outcomes = fails(|world, sp| {
        let (a, b) = (sp.blocks(6, |i| i)?, sp.blocks(6, |i| i)?);
        let far = if world.rank() == CULPRIT { 9 } else { 2 };
        sp.launch(6, 3, add, move |i, k| (a.at(if i == 3 && k == 1 { far } else { i }), b.at(i)))
    });
    outcomes.all_say(&["SuperProgram"]).all_cite(&["sp.launch(6, 3, add"]);
}

#[test]
fn grids_and_arrays_that_are_too_large() {
    let outcomes = fails_alike(names::TOO_LARGE, |sp| {
        let a = sp.blocks(6, |i| i)?;
        sp.each((1 << 16, 1 << 16), |a: &mut u32| *a += 1, move |(i, _)| (a.at(i),))
    });
    outcomes.all_say(&["a launch over (65536, 65536)"]).all_cite(&["sp.each((1 << 16"]);
    let outcomes = fails_alike(names::TOO_LARGE, |sp| sp.blocks((1 << 31, 2, 1), |(i, _, _)| i).map(drop));
    outcomes.all_say(&["an array of (2147483648, 2, 1)", "4294967294"]).all_cite(&["sp.blocks((1 << 31"]);
    let outcomes = fails_alike(names::TOO_LARGE, |sp| {
        sp.blocks(6, |i| i)?;
        sp.blocks(u32::MAX - 6, |i| i).map(drop)
    });
    outcomes.all_say(&["an array of 4294967289", "4294967294"]);
}

#[test]
fn a_fold_of_an_array_without_blocks() {
    let outcomes = fails_alike(names::EMPTY, |sp| {
        let a = sp.blocks((4, 0), |(i, _)| i)?;
        sp.fold(&a, |a| *a, |a, b| a + b).map(drop)
    });
    outcomes.all_say(&["the array of (4, 0) blocks of u32", "has no blocks"]).all_cite(&["sp.blocks((4, 0)"]);
}
