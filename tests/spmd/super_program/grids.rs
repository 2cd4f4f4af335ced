//! Grids, steps, the order of groups, and operands.

use super::{both, both_give};
use aurora_core::{Result, World};
use aurora_suite::{Body, check};
use aurora_super::{SuperProgram, Val};

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(a_grid_of_one_group),
        Body::of(fewer_groups_than_ranks),
        Body::of(empty_grids_and_groups_without_steps),
        Body::of(steps_by_the_index_of_the_group),
        Body::of(a_group_of_a_hundred_instructions_runs_in_order),
        Body::of(groups_that_write_one_block_run_in_their_order),
        Body::of(groups_of_three_numbers),
        Body::of(eight_operands),
        Body::of(closures_and_functions_with_results),
        Body::of(neighbours_at_every_distance),
        Body::of(one_instruction_in_flight),
    ]
}

/// Appends a number, so that the order is visible.
#[allow(clippy::ptr_arg, reason = "a block is a `Vec`")]
fn append(Val(number): Val<u32>, list: &mut Vec<u32>) {
    list.push(number);
}

fn lists<I: aurora_super::run::Index>(sp: &SuperProgram<'_>, shape: I) -> Result<aurora_super::Blocks<Vec<u32>, I>> {
    sp.blocks(shape, |_| Vec::new())
}

fn all<I: aurora_super::run::Index>(
    sp: &SuperProgram<'_>,
    lists: &aurora_super::Blocks<Vec<u32>, I>,
) -> Result<Vec<Vec<u32>>> {
    sp.fold(lists, |list| vec![list.clone()], |one, other| [one, other].concat())
}

fn a_grid_of_one_group(world: &World) -> Result<()> {
    both_give(world, vec![vec![0, 1]], |sp| {
        let list = lists(sp, (1, 1))?;
        sp.launch((1, 1), 2, append, move |at, k| (Val(k), list.at(at)))?;
        all(sp, &list)
    })
}

fn fewer_groups_than_ranks(world: &World) -> Result<()> {
    both_give(world, vec![vec![], vec![7], vec![]], |sp| {
        let list = lists(sp, 3)?;
        sp.each(1, append, move |_| (Val(7), list.at(1)))?;
        all(sp, &list)
    })
}

fn empty_grids_and_groups_without_steps(world: &World) -> Result<()> {
    both_give(world, vec![vec![1], vec![], vec![1]], |sp| {
        let list = lists(sp, 3)?;
        let none = lists(sp, 0)?;
        lists(sp, (0, 4))?;
        sp.launch(0, 3, append, move |_, _| (Val(0), none.at(0)))?;
        sp.launch((0, 5), 1, append, move |_, _| (Val(0), list.at(0)))?;
        sp.launch((5, 0), 1, append, move |_, _| (Val(0), list.at(0)))?;
        sp.launch((2, 0, 2), 1, append, move |_, _| (Val(0), list.at(0)))?;
        sp.launch(3, 0, append, move |_, _| (Val(0), list.at(9)))?;
        // The operands of a group without steps are not requested.
        sp.launch(4, |i| u32::from(i % 2 == 0), append, move |i, _| (Val(1), list.at(if i == 1 { 9 } else { i % 4 })))
            .and_then(|()| all(sp, &list))
    })
}

fn steps_by_the_index_of_the_group(world: &World) -> Result<()> {
    let want: Vec<Vec<u32>> = (0..10).map(|n| (0..(n / 5 + n % 5) % 4).collect()).collect();
    both_give(world, want, |sp| {
        let list = lists(sp, (2, 5))?;
        sp.launch((2, 5), |(i, j): (u32, u32)| (i + j) % 4, append, move |at, k| (Val(k), list.at(at)))?;
        all(sp, &list)
    })
}

fn a_group_of_a_hundred_instructions_runs_in_order(world: &World) -> Result<()> {
    let want = (0..100).map(|k| k * k).collect();
    both_give(world, want, |sp| {
        let list = lists(sp, 4)?;
        let numbers = sp.blocks(100, |i| i * i)?;
        let copy = |number: &u32, list: &mut Vec<u32>| list.push(*number);
        sp.launch(1, 100, copy, move |_, k| (numbers.at(k), list.at(3)))?;
        sp.value(list.at(3))
    })
}

/// The groups of a block are not adjacent, and have different numbers of steps.
fn groups_that_write_one_block_run_in_their_order(world: &World) -> Result<()> {
    let steps = |i: u32| i % 3;
    let of = move |block: u32| {
        (0..60).filter(move |i| i % 4 == block).flat_map(move |i| (0..steps(i)).map(move |k| i * 10 + k))
    };
    let want: Vec<Vec<u32>> = (0..4).map(|block| of(block).collect()).collect();
    both_give(world, want, |sp| {
        let list = lists(sp, 5)?;
        sp.launch(60, steps, append, move |i, k| (Val(i * 10 + k), list.at(i % 4)))?;
        let mut found = all(sp, &list)?;
        check::equal("the last", found.pop(), Some(vec![]))?;
        Ok(found)
    })
}

fn groups_of_three_numbers(world: &World) -> Result<()> {
    let of = |(i, j, k): (u32, u32, u32)| i * 100 + j * 10 + k;
    let want: Vec<u32> = (0..24).map(|n| of((n / 12, n / 4 % 3, n % 4)) * 2 + 1).collect();
    both_give(world, want, |sp| {
        let shape = (2, 3, 4);
        let (a, b) = (sp.blocks(shape, of)?, sp.blocks(shape, |_| 1)?);
        // Each block is also read on the opposite side of the grid.
        sp.each(
            shape,
            |a: &u32, far: &u32, b: &mut u32| *b += a + far,
            move |(i, j, k)| (a.at((i, j, k)), a.at((1 - i, 2 - j, 3 - k)), b.at((i, j, k))),
        )?;
        sp.each(
            shape,
            |far: &u32, b: &mut u32| *b -= far,
            move |(i, j, k)| (a.at((1 - i, 2 - j, 3 - k)), b.at((i, j, k))),
        )?;
        sp.each(shape, |a: &u32, b: &mut u32| *b += a, move |at| (a.at(at), b.at(at)))?;
        sp.fold(&b, |value| vec![*value], |one, other| [one, other].concat())
    })
}

#[allow(clippy::too_many_arguments, clippy::many_single_char_names, clippy::ptr_arg)]
fn eight(
    a: &u8,
    b: &i64,
    c: Option<&String>,
    d: Option<&u8>,
    e: Val<u32>,
    all: &mut Vec<String>,
    g: &u8,
    h: Val<char>,
) {
    all.push(format!("{a} {b} {c:?} {d:?} {} {g} {}", e.0, h.0));
}

fn eight_operands(world: &World) -> Result<()> {
    let line = |i: u32| match i {
        5 => "5 -1 None None 5 10 x".to_string(),
        _ => format!("{i} {} Some(\"word {}\") None {i} {} x", i64::from(i) - 6, i + 1, i + 5),
    };
    both_give(world, (0..6).map(line).collect::<Vec<_>>(), |sp| {
        let (bytes, words) = (sp.blocks(12, |i: u32| i as u8)?, sp.blocks(6, |i: u32| format!("word {i}"))?);
        let (wide, all) = (sp.blocks(6, |i: u32| i64::from(i) - 6)?, sp.blocks(6, |_: u32| Vec::<String>::new())?);
        sp.each(6, eight, move |i| {
            let (one, five) = (words.near(i, 1), bytes.at(i + 5));
            (bytes.at(i), wide.at(i), one, None, Val(i), all.at(i), five, Val('x'))
        })?;
        sp.fold(&all, Vec::clone, |one, other| [one, other].concat())
    })
}

fn closures_and_functions_with_results(world: &World) -> Result<()> {
    fn halve(number: &mut u64) -> std::result::Result<(), String> {
        *number = if number.is_multiple_of(2) { Ok(*number / 2) } else { Err(format!("{number} is odd")) }?;
        Ok(())
    }
    both_give(world, (0..9).map(|i| i * 3 + 10).sum::<u64>(), |sp| {
        let a = sp.blocks(9, u64::from)?;
        let (factor, text) = (6, String::from("twenty letters of it"));
        sp.each(9, move |a: &mut u64| *a = *a * factor + text.len() as u64, move |i| (a.at(i),))?;
        sp.each(9, halve, move |i| (a.at(i),))?;
        sp.each(9, |a: &mut u64| a.checked_add(0).map(|_| ()).ok_or("it is too large"), move |i| (a.at(i),))?;
        sp.fold(&a, |a| *a, |a, b| a + b)
    })
}

fn neighbours_at_every_distance(world: &World) -> Result<()> {
    const SHAPE: (u32, u32) = (3, 4);
    let wanted = |n: u32| {
        let (i, j) = (n / SHAPE.1, n % SHAPE.1);
        let up_left = if i > 0 && j > 0 { n - SHAPE.1 - 1 } else { 1000 };
        let right = if j + 1 < SHAPE.1 { n + 1 } else { 1000 };
        vec![up_left, right, 1000]
    };
    both_give(world, (0..12).map(wanted).collect::<Vec<_>>(), |sp| {
        let number = sp.blocks(SHAPE, |(i, j): (u32, u32)| i * SHAPE.1 + j)?;
        let seen = lists(sp, SHAPE)?;
        let see = |a: Option<&u32>, b: Option<&u32>, c: Option<&u32>, seen: &mut Vec<u32>| {
            seen.extend([a, b, c].map(|number| number.copied().unwrap_or(1000)));
        };
        sp.each(SHAPE, see, move |at| {
            let far = number.near(at, (i32::MIN, i32::MAX)).or(number.get((3, 0)));
            (number.near(at, (-1, -1)), number.near(at, (0, 1)), far, seen.at(at))
        })?;
        all(sp, &seen)
    })
}

/// An instruction needs five copies, and a thread has one instruction in flight.
fn one_instruction_in_flight(world: &World) -> Result<()> {
    let program = |sp: &SuperProgram<'_>| {
        let (a, b) = (sp.blocks(25, u64::from)?, sp.blocks(25, |_| 0_u64)?);
        type N<'a> = &'a u64;
        let add = |a: N<'_>, b: N<'_>, c: N<'_>, d: N<'_>, e: N<'_>, sum: &mut u64| *sum = *sum * 3 + a + b + c + d + e;
        sp.launch(25, 3, add, move |i, k| {
            let at = |n: u32| a.at((i + n * 5 + k) % 25);
            (at(0), at(1), at(2), at(3), at(4), b.at(i))
        })?;
        sp.fold(&b, |b| vec![*b], |one, other| [one, other].concat())
    };
    let want = both(world, program)?;
    let narrow = aurora_super::Super::default().workers(1).in_flight(1);
    check::equal("one in flight", program(&narrow.start(world)?)?, want.clone())?;
    let wide = aurora_super::Super::default().workers(5).in_flight(1000);
    check::equal("five threads", program(&wide.start(world)?)?, want)
}
