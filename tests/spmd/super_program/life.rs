//! Super-programs at the same time as each other and as vectors, and one launch after the other.

use super::{both, both_give};
use aurora_core::ops::{Max, Sum};
use aurora_core::{GVector, Result, World};
use aurora_suite::{Body, check};
use aurora_super::{Policy, Super, SuperProgram};

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(dropped_at_once),
        Body::of(arrays_that_are_never_used),
        Body::of(two_super_programs_at_once),
        Body::of(vectors_and_reductions_between_launches),
        Body::of(copies_of_an_earlier_launch_are_loaded_again),
        Body::of(copies_that_nobody_has_written_are_kept),
        Body::of(two_hundred_launches),
        Body::of(launches_without_instructions_between_others),
        Body::of(the_report_counts_instructions_and_launches),
        Body::of(the_report_has_policy_and_weights),
    ]
}

fn dropped_at_once(world: &World) -> Result<()> {
    drop(SuperProgram::new(world)?);
    drop((SuperProgram::new(world)?, SuperProgram::new(world)?));
    drop(Super::default().workers(4).start(world)?);
    world.barrier()
}

fn arrays_that_are_never_used(world: &World) -> Result<()> {
    let sp = SuperProgram::new(world)?;
    sp.blocks(100, |_: u32| -> u64 { panic!("no block is used") })?;
    sp.blocks((7, 3), |_| "word".to_string())?;
    sp.blocks(0, |_: u32| 0_u64)?;
    let used = sp.blocks(3, |i| i)?;
    check::equal("value", sp.value(used.at(2))?, 2)
}

fn two_super_programs_at_once(world: &World) -> Result<()> {
    let (one, two) = (SuperProgram::new(world)?, SuperProgram::new(world)?);
    let (a, b) = (one.blocks(7, |i| i)?, two.blocks(7, |i| i * 10)?);
    let next = |from: &u32, to: &mut u32| *to += from;
    let (c, d) = (one.blocks(7, |_| 0)?, two.blocks(7, |_| 0)?);
    for _ in 0..3 {
        one.each(7, next, move |i| (a.at(6 - i), c.at(i)))?;
        two.each(7, next, move |i| (b.at((i + 3) % 7), d.at(i)))?;
    }
    check::equal("one", one.value(c.at(1))?, 15)?;
    drop(one);
    two.each(7, next, move |i| (b.at(i), d.at(i)))?;
    check::equal("two", two.fold(&d, |d| vec![*d], |x, y| [x, y].concat())?[1], 3 * 40 + 10)
}

fn vectors_and_reductions_between_launches(world: &World) -> Result<()> {
    let me = world.rank().index() as u64;
    let sp = SuperProgram::new(world)?;
    let mut v = GVector::<u64>::new(world, 40)?;
    let a = sp.blocks(10, u64::from)?;
    for round in 1..4 {
        sp.each(10, move |a: &mut u64| *a += round, move |i| (a.at(i),))?;
        let sum = sp.fold(&a, |a| *a, |x, y| x + y)?;
        let mut mine = v.owner_computes_mut()?;
        for i in mine.indices() {
            mine[i] += sum;
        }
        mine.finish()?;
        check::equal("most", world.all_reduce(Max, sum + me)?, sum + world.size() as u64 - 1)?;
        let seen = v.at(39)?;
        world.barrier()?;
        let far = sp.blocks(10, move |i| seen + u64::from(i))?;
        check::equal("made of a vector", sp.value(far.at(9))?, seen + 9)?;
    }
    let sums = [55, 75, 105];
    check::equal("all", world.all_reduce(Sum, v.at(0)?)?, sums.iter().sum::<u64>() * world.size() as u64)
}

/// The owner has written the block in between.
fn copies_of_an_earlier_launch_are_loaded_again(world: &World) -> Result<()> {
    let want = (0..11).map(|i| (0..6).map(|round| (10 - i) * 100 + round).collect()).collect::<Vec<Vec<u64>>>();
    both_give(world, want, |sp| {
        let (a, seen) = (sp.blocks(11, |i| u64::from(i) * 100)?, sp.blocks(11, |_| Vec::new())?);
        for _ in 0..6 {
            sp.each(11, |a: &u64, seen: &mut Vec<u64>| seen.push(*a), move |i| (a.at(10 - i), seen.at(i)))?;
            sp.each(11, |a: &mut u64| *a += 1, move |i| (a.at(i),))?;
        }
        sp.fold(&seen, |seen| vec![seen.clone()], |one, other| [one, other].concat())
    })
}

fn copies_that_nobody_has_written_are_kept(world: &World) -> Result<()> {
    let sp = Super::default().policy(Policy::S).start(world)?;
    let (a, b) = (sp.blocks(8, u64::from)?, sp.blocks(8, |_| 0_u64)?);
    let add = |a: &u64, b: &mut u64| *b += a;
    sp.each(8, add, move |i| (a.at(7 - i), b.at(i)))?;
    let loads = sp.report()?.total().loads;
    for _ in 0..3 {
        sp.each(8, add, move |i| (a.at(7 - i), b.at(i)))?;
    }
    check::equal("loads", sp.report()?.total().loads, loads)?;
    check::equal("some", (loads > 0, loads <= 8), (world.size() > 1, true))?;
    check::equal("sum", sp.fold(&b, |b| *b, |x, y| x + y)?, 4 * 28)
}

fn two_hundred_launches(world: &World) -> Result<()> {
    both(world, |sp| {
        let a = sp.blocks(1, |_| 0_u64)?;
        for n in 0..200 {
            sp.each(1, move |a: &mut u64| *a = *a * 3 % 1_000_003 + n, move |_| (a.at(0),))?;
        }
        sp.value(a.at(0))
    })
    .map(drop)
}

/// The reports of a launch arrive while the next one is made.
fn launches_without_instructions_between_others(world: &World) -> Result<()> {
    both_give(world, vec![60_u32; 10], |sp| {
        let a = sp.blocks(10, |_| 0)?;
        let add = |a: &mut u32| *a += 1;
        for _ in 0..30 {
            sp.each(10, add, move |i| (a.at(i),))?;
            sp.each(0, add, move |i| (a.at(i),))?;
            sp.launch(10, |i| u32::from(i == 11), add, move |i, _| (a.at(i),))?;
            sp.each(10, add, move |i| (a.at(9 - i),))?;
        }
        sp.fold(&a, |a| vec![*a], |one, other| [one, other].concat())
    })
}

fn the_report_counts_instructions_and_launches(world: &World) -> Result<()> {
    let sp = Super::default().policy(Policy::S).start(world)?;
    let a = sp.blocks(5, |i| i)?;
    sp.launch(5, |i| i, |a: &mut u32| *a += 1, move |i, _| (a.at(i),))?;
    sp.launch(0, 1, |a: &mut u32| *a += 1, move |i, _| (a.at(i),))?;
    let report = sp.report()?;
    check::equal("ranks", report.ranks.len(), world.size())?;
    let total = report.total();
    check::equal("total", (total.instructions, total.launches, total.loads), (10, 2, 0))?;
    check::equal("threads", report.ranks.iter().all(|rank| rank.workers > 0), true)?;
    sp.each(2, |a: &mut u32| *a += 1, move |i| (a.at(i),))?;
    let since = sp.report()?.since(&report).total();
    check::equal(
        "since",
        (since.instructions, since.launches, since.elapsed <= sp.report()?.total().elapsed),
        (2, 1, true),
    )
}

/// Before a launch, the weights are the known speeds; the fastest has the weight 1.
fn the_report_has_policy_and_weights(world: &World) -> Result<()> {
    let speeds: Vec<f64> = (0..world.size()).map(|rank| 2.0 + 2.0 * rank as f64).collect();
    let sp = Super::default().policy(Policy::ECT).speeds(&speeds[..]).start(world)?;
    let most = 2.0 * world.size() as f64;
    let report = sp.report()?;
    check::equal("weights", &report.weights, &speeds.iter().map(|speed| speed / most).collect::<Vec<_>>())?;
    check::equal("policy", report.policy, Policy::ECT)?;
    let text = report.to_string();
    check::equal("text", text.starts_with("0 launches in 0.000 s, policy ect\n") && text.contains(" weight "), true)
}
