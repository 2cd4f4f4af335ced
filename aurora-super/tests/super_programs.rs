//! Super-programs on ranks are equal, to the bit, to the sequential interpreter.

use aurora_core::ops::Sum;
use aurora_core::{Config, Error, Result};
use aurora_super::run::names;
use aurora_super::{Dense, Policy, Super, SuperProgram, Update, Val};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

fn multiply(a: &Dense<f64>, b: &Dense<f64>, c: &mut Update<Dense<f64>, Sum>) {
    for i in 0..a.rows() {
        for k in 0..a.columns() {
            let factor = a[(i, k)];
            c.row_mut(i).iter_mut().zip(b.row(k)).for_each(|(sum, b)| *sum += factor * b);
        }
    }
}

/// A product. With a divisor of 3 the bits of a sum depend on the order of its parts.
fn product(sp: &SuperProgram<'_>, divisor: f64) -> Result<Vec<u64>> {
    let n = 3;
    let block = |seed: u32| {
        move |(i, j): (u32, u32)| {
            Dense::from_fn(4, 4, |r, c| f64::from(seed + i * 31 + j * 17 + (r * 4 + c) as u32 % 7) / divisor)
        }
    };
    let (a, b) = (sp.blocks((n, n), block(1))?, sp.blocks((n, n), block(2))?);
    let c = sp.blocks((n, n), |_| Dense::zeros(4, 4))?;
    sp.launch((n, n), n, multiply, move |(i, j), k| (a.at((i, k)), b.at((k, j)), c.at((i, j))))?;
    let bits = sp.fold(
        &c,
        |c| c.values().iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
        |mut all, more| {
            all.extend(more);
            all
        },
    )?;
    assert_eq!(sp.value(c.at((1, 1)))?.values()[0].to_bits(), bits[4 * 16]);
    assert_eq!(sp.report()?.total().instructions, 27);
    Ok(bits)
}

fn sweep(up: Option<&[f64]>, own: &[f64], down: Option<&[f64]>, new: &mut [f64]) {
    for i in 0..own.len() {
        let left = if i > 0 { own[i - 1] } else { up.map_or(0.0, |up| up[up.len() - 1]) };
        let right = if i + 1 < own.len() { own[i + 1] } else { down.map_or(1.0, |down| down[0]) };
        new[i] = (left + right) / 2.0;
    }
}

fn jacobi(sp: &SuperProgram<'_>) -> Result<Vec<f64>> {
    let strips = 7;
    let mut old = sp.blocks(strips, |s: u32| vec![f64::from(s); 5])?;
    let mut new = sp.blocks(strips, |_: u32| vec![0.0; 5])?;
    for _ in 0..20 {
        sp.each(strips, sweep, move |s| (old.near(s, -1), old.at(s), old.near(s, 1), new.at(s)))?;
        std::mem::swap(&mut old, &mut new);
    }
    sp.fold(&old, Vec::clone, |one, other| [one, other].concat())
}

fn words(sp: &SuperProgram<'_>) -> Result<u64> {
    let text = sp.blocks(10, |i: u32| "a b ".repeat(i as usize))?;
    let tables = sp.blocks(10, |_: u32| HashMap::<String, u64>::new())?;
    let count = sp.blocks(1, |_: u32| 0_u64)?;
    sp.each(
        10,
        |text: &str, table: &mut HashMap<String, u64>| {
            text.split_whitespace().for_each(|word| *table.entry(word.into()).or_default() += 1);
        },
        move |i| (text.at(i), table(tables, i)),
    )?;
    sp.each(
        10,
        |table: &HashMap<String, u64>, Val(k): Val<u32>, all: &mut Update<u64, Sum>| {
            assert_eq!(table.get("a").copied().unwrap_or(0), u64::from(k));
            **all += table.values().sum::<u64>();
        },
        move |i| (tables.at(i), Val(i), count.at(0)),
    )?;
    sp.value(count.at(0))
}

fn table(tables: aurora_super::Blocks<HashMap<String, u64>, u32>, i: u32) -> aurora_super::At<HashMap<String, u64>> {
    tables.at(i)
}

#[test]
fn results_on_ranks_equal_the_sequential_results() {
    let one = SuperProgram::sequential();
    let products = [1.0, 3.0].map(|divisor| product(&SuperProgram::sequential(), divisor).unwrap());
    let (j, w) = (jacobi(&one).unwrap(), words(&one).unwrap());
    assert_eq!(w, 90);
    for (ranks, (name, policy)) in (1..=5).flat_map(|ranks| Policy::ALL.map(|policy| (ranks, policy))) {
        let ([exact, in_order], j) = (products.clone(), j.clone());
        let run = Config::threads(ranks).run(move |world| {
            let start = || Super::default().policy(policy).start(world);
            assert_eq!(product(&start()?, 1.0)?, exact);
            if policy.is_static() {
                assert_eq!(product(&start()?, 3.0)?, in_order);
            }
            let sp = start()?;
            assert_eq!((jacobi(&sp)?, words(&sp)?), (j.clone(), 90));
            Ok(())
        });
        run.unwrap_or_else(|error| panic!("{name} on {ranks} ranks: {error}"));
    }
}

/// Groups that write the same block are not neighbours.
#[test]
fn the_sequential_one_runs_groups_in_their_order() {
    let (seen, steps) = (Arc::new(Mutex::new(Vec::new())), |i: u32| i % 3);
    let sp = SuperProgram::sequential();
    let a = sp.blocks(2, |i| i).unwrap();
    let see = seen.clone();
    let note = move |Val(at): Val<(u32, u32)>, _: &mut u32| see.lock().unwrap().push(at);
    sp.launch(9, steps, note, move |i, k| (Val((i, k)), a.at(i % 2))).unwrap();
    let want: Vec<_> = (0..9).flat_map(|i| (0..steps(i)).map(move |k| (i, k))).collect();
    assert_eq!(*seen.lock().unwrap(), want);
}

#[test]
fn errors_end_a_super_program() {
    let conflict = |sp: &SuperProgram<'_>| {
        let a = sp.blocks(4, |i: u32| u64::from(i))?;
        sp.each(4, |a: &u64, b: &mut u64| *b += a, move |i| (a.at(3 - i), a.at(i)))
    };
    let panics = |sp: &SuperProgram<'_>| {
        let a = sp.blocks(4, |i: u32| u64::from(i))?;
        sp.each(4, |a: &mut u64| assert!(*a < 3, "too much"), move |i| (a.at(i),))
    };
    let outside = |sp: &SuperProgram<'_>| {
        let a = sp.blocks(4, |i: u32| u64::from(i))?;
        sp.each(4, |a: &u64, b: &mut u64| *b += a, move |i| (a.at(i + 1), a.at(i)))
    };
    for program in [conflict as fn(&SuperProgram<'_>) -> Result<()>, panics, outside] {
        let sp = SuperProgram::sequential();
        let alone = program(&sp).unwrap_err();
        assert!(matches!(alone, Error::Object { .. }), "{alone}");
        let later = sp.blocks(1, |_: u32| 0_u64).unwrap_err();
        assert_eq!(later.to_string(), alone.to_string(), "an error ends a super-program");
        let error = Config::threads(3).run(move |world| program(&SuperProgram::new(world)?)).unwrap_err();
        assert!(matches!(error, Error::Object { .. }), "{error}");
    }
}

/// A rank calls the operand closure at the preparation, and for a grant. The function gets the blocks that were named
/// for the grant, or there is an error.
#[test]
fn a_function_gets_the_blocks_of_its_grant() {
    for change_at in 0..6 {
        for optional in [false, true] {
            let run = Config::threads(3).run(move |world| {
                let (sp, calls) = (SuperProgram::new(world)?, AtomicU32::new(0));
                let (a, b) = (sp.blocks(12, |i| 100 + i)?, sp.blocks(3, |_| 0)?);
                // A block of another rank, and from one call on a block of a third rank.
                let named = move |i: u32| {
                    let shift = if calls.fetch_add(1, Ordering::Relaxed) < change_at { 4 } else { 8 };
                    (i * 4 + shift) % 12
                };
                if optional {
                    let read = |a: Option<&u32>, b: &mut u32| *b = a.copied().unwrap_or(7);
                    sp.each(3, read, move |i| (a.get(named(i)), b.at(i)))?;
                } else {
                    sp.each(3, |a: &u32, b: &mut u32| *b = *a, move |i| (a.at(named(i)), b.at(i)))?;
                }
                sp.fold(&b, |b| vec![*b], |one, more| [one, more].concat()).map(|found| {
                    let is_named =
                        |(i, found): (u32, &u32)| [4, 8].map(|shift| 100 + (i * 4 + shift) % 12).contains(found);
                    assert!((0..).zip(&found).all(is_named), "{found:?}");
                })
            });
            if let Err(error) = run {
                assert!(matches!(error, Error::Mismatch { .. }), "{change_at}: {error}");
            }
        }
    }
}

#[test]
fn an_operand_closure_that_names_another_result_for_a_grant_is_an_error() {
    let program = |sp: &SuperProgram<'_>| {
        let (a, calls) = (sp.blocks(10, |i| i)?, AtomicU32::new(0));
        sp.each(1, |a: &mut u32| *a += 1, move |_| (a.at(calls.fetch_add(1, Ordering::Relaxed)),))
    };
    for run in
        [Config::threads(2).run(|world| program(&SuperProgram::new(world)?)), program(&SuperProgram::sequential())]
    {
        let error = run.unwrap_err();
        assert!(matches!(&error, Error::Object { name, .. } if name == names::IMPURE), "{error}");
    }
}
