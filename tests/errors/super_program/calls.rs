//! A rank makes another call than the other ranks.

use super::{CULPRIT, fails};
use crate::provoke::Outcomes;
use aurora_core::prelude::*;
use aurora_super::{Blocks, SuperProgram, Val};

fn is_culprit(world: &World) -> bool {
    world.rank() == CULPRIT
}

fn add(a: &mut u32) {
    *a += 1;
}

fn take(a: &mut u32) {
    *a -= 1;
}

/// Checks that the error is a mismatch on all ranks.
fn disagree(outcomes: &Outcomes) -> &Outcomes {
    let is_mismatch = |outcome: &Result<()>| matches!(outcome, Err(Error::Mismatch { .. }));
    assert!(outcomes.ranks.iter().flatten().chain([&outcomes.run]).all(is_mismatch), "{outcomes:?}");
    outcomes.all_say(&["ranks disagree", "rank 1 "])
}

#[test]
fn a_launch_that_one_rank_skips() {
    let outcomes = fails(|world, sp| {
        let a = sp.blocks(6, |i| i)?;
        if !is_culprit(world) {
            sp.each(6, add, move |i| (a.at(i),))?;
        }
        sp.each(6, take, move |i| (a.at(5 - i),))
    });
    disagree(&outcomes).all_cite(&["sp.each(6, add", "sp.each(6, take"]);
}

#[test]
fn a_launch_against_another_call() {
    type Other = fn(&SuperProgram<'_>, Blocks<u32, u32>) -> Result<()>;
    let others: [Other; 4] = [
        |sp, a| sp.value(a.at(0)).map(drop),
        |sp, a| sp.fold(&a, |a| *a, |a, b| a + b).map(drop),
        |sp, _| sp.report().map(drop),
        |sp, _| sp.blocks(3, |i| i).map(drop),
    ];
    for (other, line) in
        others.into_iter().zip(["sp.value(a.at(0))", "sp.fold(&a", "sp.report()", "sp.blocks(3, |i| i).map"])
    {
        let outcomes = fails(|world, sp| {
            let a = sp.blocks(6, |i| i)?;
            if is_culprit(world) { other(sp, a) } else { sp.each(6, add, move |i| (a.at(i),)) }
        });
        disagree(&outcomes).all_cite(&[line, "sp.each(6, add"]);
    }
}

#[test]
fn another_function() {
    let outcomes = fails(|world, sp| {
        let a = sp.blocks(6, |i| i)?;
        let operands = move |i| (a.at(i),);
        match is_culprit(world) {
            true => sp.each(6, take, operands),
            false => sp.each(6, add, operands),
        }
    });
    disagree(&outcomes).all_cite(&["true => sp.each(6, take", "false => sp.each(6, add"]);
}

#[test]
fn another_operand_closure() {
    let outcomes = fails(|world, sp| {
        let a = sp.blocks(6, |i| i)?;
        match is_culprit(world) {
            true => sp.launch(6, 1, add, move |i, _| (a.at(i),)),
            false => sp.launch(6, 1, add, move |i, _| (a.at(i),)),
        }
    });
    disagree(&outcomes).all_cite(&["true => sp.launch(6", "false => sp.launch(6"]);
}

#[test]
fn another_grid() {
    let outcomes = fails(|world, sp| {
        let a = sp.blocks(6, |i| i)?;
        sp.each(if is_culprit(world) { 5 } else { 6 }, add, move |i| (a.at(i),))
    });
    disagree(&outcomes).all_cite(&["sp.each(if is_culprit"]);
}

#[test]
fn other_steps() {
    let outcomes = fails(|world, sp| {
        let a = sp.blocks(6, |i| i)?;
        let is_culprit = is_culprit(world);
        sp.launch(6, |i| if is_culprit && i == 4 { 1 } else { 2 }, add, move |i, _| (a.at(i),))
    });
    disagree(&outcomes).all_cite(&["sp.launch(6, |i| if"]);
    let outcomes = fails(|world, sp| {
        let a = sp.blocks(6, |i| i)?;
        sp.launch(6, if is_culprit(world) { 1 } else { 2 }, add, move |i, _| (a.at(i),))
    });
    disagree(&outcomes).all_cite(&["sp.launch(6, if"]);
}

/// The groups of one block have the same number of steps in all, and only a plain value among the operands differs.
#[test]
fn other_steps_of_groups_that_write_one_block() {
    let outcomes = fails(|world, sp| {
        let a = sp.blocks(6, |i| i)?;
        let is_culprit = is_culprit(world);
        let steps = move |i: u32| if is_culprit { 1 + i % 2 * 2 } else { 2 };
        sp.launch(12, steps, |Val(k): Val<u32>, a: &mut u32| *a = *a * 3 + k, move |i, k| (Val(k), a.at(i / 2)))
    });
    disagree(&outcomes).all_cite(&["sp.launch(12, steps"]);
}

/// The same line and closure with other captured values: the written blocks differ.
#[test]
fn other_results() {
    let outcomes = fails(|world, sp| {
        let a = sp.blocks(6, |i| i)?;
        let last = if is_culprit(world) { 5 } else { 6 };
        sp.each(6, add, move |i| (a.at((last + i) % 6),))
    });
    disagree(&outcomes).all_cite(&["sp.each(6, add, move |i| (a.at((last"]);
}

/// The same line and closure with other captured values: the read blocks differ. The ranks compare them when they hand
/// out the instructions.
#[test]
fn other_operands() {
    for step in [0, 1] {
        let outcomes = fails(|world, sp| {
            let (a, b) = (sp.blocks(6, |i| i)?, sp.blocks(6, |i| i)?);
            let far = if is_culprit(world) { 1 } else { 2 };
            sp.launch(
                6,
                2,
                |a: &u32, b: &mut u32| *b += a,
                move |i, k| (a.at(if k == step { (i + far) % 6 } else { i }), b.at(i)),
            )
        });
        disagree(&outcomes)
            .all_say(&["rank 0 names the operands", "rank 1 names other operands", "of the launch of"])
            .all_cite(&["sp.launch("]);
    }
}

#[test]
fn another_array() {
    type Make = fn(&World, &SuperProgram<'_>) -> Result<()>;
    let makes: [Make; 4] = [
        |world, sp| match is_culprit(world) {
            true => sp.blocks(4, u64::from).map(drop),
            false => sp.blocks(4, |i| i).map(drop),
        },
        |world, sp| match is_culprit(world) {
            true => sp.blocks((2, 2), |_| 1).map(drop),
            false => sp.blocks(4, |_| 1).map(drop),
        },
        |world, sp| sp.blocks(if is_culprit(world) { 4 } else { 5 }, |i| i).map(drop),
        |world, sp| sp.blocks(if is_culprit(world) { (4, 5) } else { (5, 4) }, |_| 1).map(drop),
    ];
    for (make, line) in makes.into_iter().zip(["sp.blocks(4, u64", "sp.blocks((2, 2)", "{ 4 } else", "{ (4, 5) }"]) {
        disagree(&fails(make)).all_cite(&[line]);
    }
}

#[test]
fn another_block_or_array() {
    let outcomes = fails(|world, sp| {
        let a = sp.blocks(6, |i| i)?;
        sp.value(a.at(if is_culprit(world) { 4 } else { 5 })).map(drop)
    });
    disagree(&outcomes).all_cite(&["sp.value(a.at(if"]);
    let outcomes = fails(|world, sp| {
        let (a, b) = (sp.blocks(6, |i| i)?, sp.blocks(6, |i| i)?);
        sp.fold(if is_culprit(world) { &a } else { &b }, |a| *a, |a, b| a + b).map(drop)
    });
    disagree(&outcomes).all_cite(&["sp.fold(if"]);
}
