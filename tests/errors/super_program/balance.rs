//! Partial results: wrong identities, and code of the program that fails while ranks share a group.

use super::{all_named, panic_quietly};
use crate::provoke::{Outcomes, in_threads};
use aurora_core::ops::{Max, Min, Product, Sum};
use aurora_core::prelude::*;
use aurora_super::run::names;
use aurora_super::{Dense, Merge, Policy, Super, SuperProgram, Update, Val};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::thread::sleep;
use std::time::Duration;

/// Three ranks of one thread share the only group of a launch. Each step waits, so that all join.
fn shared<T, Op: Merge<T>>(sp: &SuperProgram<'_>, make: fn() -> T, step: fn(u32, &mut T)) -> Result<()>
where
    T: Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
{
    let a = sp.blocks(1, move |_| make())?;
    let run = move |Val(k): Val<u32>, a: &mut Update<T, Op>| {
        sleep(Duration::from_millis(5));
        step(k, a);
    };
    sp.launch(1, 30, run, move |_, k| (Val(k), a.at(0)))
}

fn checked(program: impl Fn(&SuperProgram<'_>) -> Result<()> + Sync) -> Outcomes {
    in_threads(3).checking().run(|world| {
        let sp = Super::default().workers(1).in_flight(1).start(world)?;
        program(&sp)?;
        assert!(sp.report()?.total().merges > 0, "ranks have shared the group");
        Ok(())
    })
}

/// A sum that begins at 1, a product that begins at 0, a list that begins with an entry.
struct Wrong;

impl Merge<u64> for Wrong {
    fn identity(_: &u64) -> u64 {
        1
    }

    fn merge(into: &mut u64, part: u64) {
        *into += part;
    }
}

impl Merge<f64> for Wrong {
    fn identity(_: &f64) -> f64 {
        0.0
    }

    fn merge(into: &mut f64, part: f64) {
        *into *= part;
    }
}

impl Merge<Vec<u8>> for Wrong {
    fn identity(like: &Vec<u8>) -> Vec<u8> {
        like.clone()
    }

    fn merge(into: &mut Vec<u8>, part: Vec<u8>) {
        into.extend(part);
    }
}

#[test]
fn a_wrong_identity_is_found_in_checking_mode() {
    let programs: [fn(&SuperProgram<'_>) -> Result<()>; 3] = [
        |sp| shared::<u64, Wrong>(sp, || 7, |k, sum| *sum += u64::from(k) + 1),
        |sp| shared::<f64, Wrong>(sp, || 7.0, |k, product| *product = *product * 2.0 + f64::from(k)),
        |sp| shared::<Vec<u8>, Wrong>(sp, || vec![3], |k, list| list.push(k as u8)),
    ];
    for program in programs {
        let outcomes = checked(program);
        all_named(&outcomes, names::IDENTITY);
        outcomes
            .all_say(&["the identity of Wrong is wrong", "a value of block 0 of the array", "launch of"])
            .all_cite(&["sp.launch(1, 30, run"]);
    }
}

#[test]
fn a_wrong_identity_is_found_where_ranks_share_nothing() {
    let outcomes = in_threads(3).checking().run(|world| {
        let sp = Super::default().policy(Policy::S).start(world)?;
        let a = sp.blocks(1, |_| 5_u64)?;
        sp.each(1, |a: &mut Update<u64, Wrong>| **a += 1, move |i| (a.at(i),))
    });
    all_named(&outcomes, names::IDENTITY);
}

/// Counts words. Each encoding of an equal table may have another order.
struct Counts;

impl Merge<HashMap<u32, u64>> for Counts {
    fn identity(_: &HashMap<u32, u64>) -> HashMap<u32, u64> {
        HashMap::new()
    }

    fn merge(into: &mut HashMap<u32, u64>, part: HashMap<u32, u64>) {
        part.into_iter().for_each(|(key, count)| *into.entry(key).or_default() += count);
    }
}

impl Merge<BTreeMap<u32, u64>> for Counts {
    fn identity(_: &BTreeMap<u32, u64>) -> BTreeMap<u32, u64> {
        BTreeMap::new()
    }

    fn merge(into: &mut BTreeMap<u32, u64>, part: BTreeMap<u32, u64>) {
        part.into_iter().for_each(|(key, count)| *into.entry(key).or_default() += count);
    }
}

#[test]
fn a_right_identity_gives_no_alarm() {
    let programs: [fn(&SuperProgram<'_>) -> Result<()>; 9] = [
        |sp| shared::<f64, Sum>(sp, || 1.0, |_, sum| *sum += -0.0),
        |sp| shared::<f64, Sum>(sp, || 1.0, |k, sum| *sum += if k == 3 { f64::NAN } else { 0.1 }),
        |sp| shared::<f64, Product>(sp, || 1.0, |k, product| *product *= if k == 3 { f64::NAN } else { -1.5 }),
        |sp| shared::<f64, Min>(sp, || 1.0, |k, least| *least = least.min(f64::from(k))),
        |sp| shared::<f64, Max>(sp, || 1.0, |_, most| *most = most.max(-f64::NAN)),
        |sp| {
            let add = |k, sum: &mut Dense<f32>| sum[(0, k as usize % 2)] += -0.0;
            shared::<Dense<f32>, Sum>(sp, || Dense::from_fn(2, 2, |_, _| -0.0), add)
        },
        |sp| {
            let add = |k, sum: &mut Dense<f64>| sum[(1, k as usize % 2)] += f64::NAN;
            shared::<Dense<f64>, Sum>(sp, || Dense::zeros(2, 2), add)
        },
        |sp| shared::<HashMap<u32, u64>, Counts>(sp, HashMap::new, |k, counts| *counts.entry(k).or_default() += 1),
        |sp| shared::<BTreeMap<u32, u64>, Counts>(sp, BTreeMap::new, |k, counts| *counts.entry(k).or_default() += 1),
    ];
    for (number, program) in programs.into_iter().enumerate() {
        let outcomes = checked(program);
        assert!(outcomes.run.is_ok(), "program {number}: {:?}", outcomes.run);
    }
}

/// Code of the program that fails in one place.
#[derive(Clone, Serialize, Deserialize)]
struct Count(u64);

struct Faulty<const IN_MERGE: bool>;

impl<const IN_MERGE: bool> Merge<Count> for Faulty<IN_MERGE> {
    fn identity(_: &Count) -> Count {
        if IN_MERGE { Count(0) } else { panic_quietly("no identity") }
    }

    fn merge(_: &mut Count, _: Count) {
        panic_quietly("no merge");
    }
}

#[test]
fn identities_and_merges_that_panic() {
    type Body = fn(&SuperProgram<'_>) -> Result<()>;
    let programs: [(Body, &str); 3] = [
        (|sp| shared::<Count, Faulty<true>>(sp, || Count(0), |_, count| count.0 += 1), "no merge"),
        (|sp| shared::<Count, Faulty<false>>(sp, || Count(0), |_, count| count.0 += 1), "no identity"),
        (
            |sp| {
                let fail = |k: u32, _: &mut u64| {
                    if k == 29 {
                        panic_quietly("step 29")
                    }
                };
                shared::<u64, Sum>(sp, || 0, fail)
            },
            "step 29",
        ),
    ];
    for (program, words) in programs {
        let outcomes = in_threads(3).run(|world| program(&Super::default().workers(1).in_flight(1).start(world)?));
        all_named(&outcomes, names::PANICKED);
        outcomes.all_say(&[words]).all_cite(&["sp.launch(1, 30, run"]);
    }
}
