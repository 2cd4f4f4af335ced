//! Blocks of every kind, their values and folds.

use super::{both, both_give};
use aurora_core::{Result, World};
use aurora_suite::{Body, check, mix};
use aurora_super::{Csr, Val};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(blocks_of_strings),
        Body::of(blocks_of_options_and_maps),
        Body::of(blocks_of_structs_and_enums),
        Body::of(blocks_without_bytes),
        Body::of(long_blocks),
        Body::of(sparse_blocks),
        Body::of(values_of_blocks_that_no_launch_has_used),
        Body::of(folds_keep_the_order_of_blocks),
    ]
}

fn blocks_of_strings(world: &World) -> Result<()> {
    let want = (0..12).rev().map(|i| format!("{i}{i};")).collect::<String>();
    both_give(world, want, |sp| {
        let (words, twice) = (sp.blocks(12, |i: u32| i.to_string())?, sp.blocks(12, |_: u32| String::new())?);
        sp.launch(
            12,
            2,
            |word: &String, twice: &mut String| twice.push_str(word),
            move |i, _| (words.at(11 - i), twice.at(i)),
        )?;
        sp.fold(&twice, |text| text.clone() + ";", |one, other| one + &other)
    })
}

type Names = Vec<Option<String>>;
type Counts = HashMap<String, u64>;

#[allow(clippy::ptr_arg, reason = "a block is a `Vec`")]
fn count(names: &Names, counts: &mut Counts) {
    names.iter().flatten().for_each(|name| *counts.entry(name.clone()).or_default() += 1);
}

fn blocks_of_options_and_maps(world: &World) -> Result<()> {
    let names = |i: u32| (0..i).map(|n| (n % 3 > 0).then(|| format!("name {}", n % 5))).collect::<Names>();
    let sums = both(world, |sp| {
        let (names, counts) = (sp.blocks(20, names)?, sp.blocks(4, |_: u32| Counts::new())?);
        sp.launch(4, 5, count, move |i, k| (names.at(i + k * 4), counts.at(i)))?;
        sp.fold(
            &counts,
            |counts| counts.clone().into_iter().collect::<BTreeMap<_, _>>(),
            |mut all, more| {
                more.into_iter().for_each(|(name, count)| *all.entry(name).or_default() += count);
                all
            },
        )
    })?;
    check::equal("names", sums.values().sum::<u64>(), (0..20).flat_map(names).flatten().count() as u64)
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
enum Shape {
    Nothing,
    Circle { radius: f32 },
    Path(Vec<(i8, i8)>),
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Picture {
    name: String,
    shapes: Vec<Shape>,
}

fn blocks_of_structs_and_enums(world: &World) -> Result<()> {
    let picture = |i: u32| Picture {
        name: format!("picture {i}"),
        shapes: (0..i)
            .map(|n| match n % 3 {
                0 => Shape::Nothing,
                1 => Shape::Circle { radius: n as f32 / 7.0 },
                _ => Shape::Path((0..n as i8).map(|n| (n, -n)).collect()),
            })
            .collect(),
    };
    let want = (0..9).rev().map(picture).collect::<Vec<_>>();
    both_give(world, want, |sp| {
        let (from, to) = (sp.blocks(9, picture)?, sp.blocks(9, move |_| picture(0))?);
        sp.each(9, Picture::clone_from, move |i| (to.at(i), from.at(8 - i)))?;
        sp.fold(&to, |picture| vec![picture.clone()], |one, other| [one, other].concat())
    })
}

/// A block of no bytes is read on other ranks.
fn blocks_without_bytes(world: &World) -> Result<()> {
    both_give(world, 8 * 15, |sp| {
        let (nothing, sum) = (sp.blocks(8, |_: u32| ())?, sp.blocks(8, |_: u32| 0)?);
        sp.each(
            8,
            |(): &(), Val(n): Val<u64>, sum: &mut u64| *sum += n,
            move |i| (nothing.at(7 - i), Val(8), sum.at(i)),
        )?;
        sp.each(8, |(): &mut ()| (), move |i| (nothing.at(i),))?;
        sp.launch(8, 7, |(): &(), sum: &mut u64| *sum += 1, move |i, k| (nothing.at((i + k) % 8), sum.at(i)))?;
        sp.fold(&sum, |sum| *sum, |a, b| a + b)
    })
}

/// Blocks of more than a MiB.
fn long_blocks(world: &World) -> Result<()> {
    let long = |i: u32| (0..150_000).map(|n| mix(n + u64::from(i))).collect::<Vec<u64>>();
    let want = (0..3).flat_map(|i| long(2 - i)).fold(0, |sum: u64, value| sum.wrapping_mul(31).wrapping_add(value));
    both_give(world, want, |sp| {
        let (long, sum) = (sp.blocks(3, long)?, sp.blocks(1, |_: u32| 0_u64)?);
        let add = |long: &Vec<u64>, sum: &mut u64| {
            long.iter().for_each(|value| *sum = sum.wrapping_mul(31).wrapping_add(*value))
        };
        sp.launch(1, 3, add, move |_, k| (long.at(2 - k), sum.at(0)))?;
        sp.value(sum.at(0))
    })
}

fn sparse_blocks(world: &World) -> Result<()> {
    let block = |i: u32| {
        let is_there = move |r: usize, c: usize| (c * r + i as usize) % 4 == 1;
        Csr::from_rows(5, 9, |r| (0..9).filter(move |c| is_there(r, *c)).map(move |c| (c, (c + r) as f64 / 3.0)))
    };
    let add = |from: &Csr<f64>, all: &mut Vec<(u32, u64)>| {
        let rows = (0..from.rows()).map(|row| from.row(row));
        all.extend(rows.flat_map(|(at, values)| at.iter().copied().zip(values.iter().map(|value| value.to_bits()))));
    };
    let all = both(world, |sp| {
        let (from, all) = (sp.blocks(6, block)?, sp.blocks(6, |_: u32| Vec::new())?);
        sp.launch(6, 2, add, move |i, k| (from.at((i * 5 + 4 + k) % 6), all.at(i)))?;
        sp.fold(&all, Vec::clone, |one, other| [one, other].concat())
    })?;
    check::equal("entries", all.len(), 2 * (0..6).map(|i| block(i).entries()).sum::<usize>())
}

fn values_of_blocks_that_no_launch_has_used(world: &World) -> Result<()> {
    let want = (vec![0_u8; 3], "word 4".to_string(), Some((4, 'x')), 45);
    both_give(world, want, |sp| {
        let (bytes, words) = (
            sp.blocks((2, 2), |(i, j)| vec![0_u8; (i * 2 + j) as usize])?,
            sp.blocks(5, |i: u32| format!("word {i}"))?,
        );
        let (pairs, numbers) = (sp.blocks((1, 1, 9), |(_, _, k)| Some((k, 'x')))?, sp.blocks(10, |i| i)?);
        let fold = sp.fold(&numbers, |number| *number, |one, other| one + other)?;
        Ok((sp.value(bytes.at((1, 1)))?, sp.value(words.at(4))?, sp.value(pairs.at((0, 0, 4)))?, fold))
    })
}

/// The operation is not commutative, and the results have several types.
fn folds_keep_the_order_of_blocks(world: &World) -> Result<()> {
    let text = (0..30).map(|n| format!("{n},")).collect::<String>();
    let number = (0..30).fold(0_u64, |all, n| all.wrapping_mul(31).wrapping_add(n));
    let float = (0..30).map(|n| 1e16 / (f64::from(n) + 0.3)).reduce(|a, b| a - b).map(f64::to_bits);
    let want = (text, number, float, Some(29), ());
    both_give(world, want, |sp| {
        let grid = sp.blocks((5, 6), |(i, j)| i * 6 + j)?;
        let text = sp.fold(&grid, |n| format!("{n},"), |one, other| one + &other)?;
        let number = sp.fold(&grid, |n| u64::from(*n), |all, n| all.wrapping_mul(31).wrapping_add(n))?;
        let float = sp.fold(&grid, |n| 1e16 / (f64::from(*n) + 0.3), |a, b| a - b)?.to_bits();
        let last = sp.fold(&grid, |n| Some(*n), |_, last| last)?;
        Ok((text, number, Some(float), last, sp.fold(&grid, |_| (), |(), ()| ())?))
    })
}
