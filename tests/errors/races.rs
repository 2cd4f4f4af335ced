//! The race detector: programs with two accesses in no order, and the same programs with a barrier.

use crate::provoke::{Job, Outcomes, on_every_route};
use aurora_core::Raced;
use aurora_core::ops::Sum;
use aurora_core::prelude::*;

/// An element of rank 0.
const INDEX: usize = 2;

/// An access of one rank to an element or an entry of rank 0.
#[derive(Clone, Copy)]
pub struct Step<Act> {
    /// A word of its line.
    pub line: &'static str,
    pub act: Act,
    writes: bool,
    /// True if only the owner can do this.
    pub own: bool,
}

pub const fn step<Act: Copy>(line: &'static str, writes: bool, own: bool, act: Act) -> Step<Act> {
    Step { line, act, writes, own }
}

/// The pairs of accesses that need an order.
pub fn pairs<Act: Copy>(steps: &[Step<Act>]) -> impl Iterator<Item = [Step<Act>; 2]> {
    let all = steps.iter().flat_map(move |first| steps.iter().map(move |second| [*first, *second]));
    let commute = |[a, b]: &[Step<Act>; 2]| a.line == b.line && a.line.contains("update");
    all.filter(move |pair| (pair[0].writes || pair[1].writes) && !pair[1].own && !commute(pair))
}

/// Rank 0 makes one access and rank 1 another: at any time, or one after the other if they are `ordered`.
pub fn turns<Act: Copy>(
    world: &World,
    steps: [Step<Act>; 2],
    ordered: bool,
    mut act: impl FnMut(Act) -> Result<()>,
) -> Result<()> {
    let me = world.rank().index();
    let first = if me == 0 { act(steps[0].act) } else { Ok(()) };
    if ordered {
        world.barrier()?;
    }
    if me == 1 { act(steps[1].act) } else { first }
}

type Act = fn(&mut GVector<u64>) -> Result<()>;

const STEPS: [Step<Act>; 13] = [
    step("v.put(INDEX, 1)", true, false, |v| v.put(INDEX, 1)),
    step("v.put_many(&[(INDEX, 2)])", true, false, |v| v.put_many(&[(INDEX, 2)])),
    step("v.range_mut(1..4)", true, false, |v| distmemcpy(v.range_mut(1..4), &[3; 3][..])),
    step("alone.put(INDEX, 4)", true, false, |v| {
        let mut alone = v.release_alone()?;
        alone.put(INDEX, 4)?;
        alone.finish()
    }),
    step("alone.update(INDEX, 5)", true, false, |v| {
        let mut alone = v.release_alone_with(Sum)?;
        alone.update(INDEX, 5)?;
        alone.finish()
    }),
    step("part.put(INDEX, 6)", true, false, |v| {
        let mut part = v.slice_mut(INDEX..INDEX + 1).release_alone()?;
        part.put(INDEX, 6)?;
        part.finish()
    }),
    step("v.owner_computes_mut()", true, true, |v| {
        v.owner_computes_mut()?[INDEX] = 7;
        Ok(())
    }),
    step("v.slice_mut(..4).owner_computes_mut()", true, true, |v| {
        v.slice_mut(..4).owner_computes_mut()?[INDEX] = 8;
        Ok(())
    }),
    step("v.at(INDEX)", false, false, |v| v.at(INDEX).map(drop)),
    step("v.at_many(&[INDEX])", false, false, |v| v.at_many(&[INDEX]).map(drop)),
    step("v.range(..INDEX + 1)", false, false, |v| distmemcpy(&mut [0; INDEX + 1][..], v.range(..INDEX + 1))),
    step("v.batched_reads()", false, false, |v| v.batched_reads()?.read(&[INDEX]).map(drop)),
    step("v.slice(INDEX..).batched_reads()", false, false, |v| {
        v.slice(INDEX..).batched_reads()?.read(&[INDEX]).map(drop)
    }),
];

fn both(job: Job, steps: [Step<Act>; 2], ordered: bool) -> Outcomes {
    program(job, |world, v, _| turns(world, steps, ordered, |act| act(v)))
}

/// Checks that all ranks get a race, with the lines of both accesses.
fn is_race(outcomes: &Outcomes, index: usize, lines: &[&str]) {
    for outcome in &outcomes.ranks {
        let Some(Err(Error::Race { is_possible: false, what: Raced::Element(found), .. })) = outcome else {
            panic!("{outcome:?} is no race, of {lines:?}");
        };
        assert_eq!(*found, index);
    }
    let words =
        ["a race on element", "rank 0 ", "rank 1 ", "of the GVector<u64> of 12 elements (made at", "nothing orders"];
    outcomes.all_say(&words).all_cite(lines);
}

#[test]
fn a_missing_barrier_is_found() {
    on_every_route([2], |job| {
        for pair in pairs(&STEPS) {
            let index = if pair.iter().all(|step| step.line.contains("range")) { 1 } else { INDEX };
            is_race(&both(job, pair, false), index, &pair.map(|step| step.line));
        }
    });
}

/// A barrier between the read and the write does not make them one step. An update in a ReleaseC does.
#[test]
fn a_read_and_a_later_write_are_advised_to_be_an_update() {
    let step = |line| STEPS.into_iter().find(|step| step.line == line).expect("there is one");
    on_every_route([2], |job| {
        let outcomes = both(job, [step("v.at(INDEX)"), step("v.put(INDEX, 1)")], false);
        outcomes.all_say(&["such as a barrier", "all `update` it with one operation in a `release_c_with(Op)`"]);
    });
}

#[test]
fn a_barrier_orders() {
    on_every_route([2, 3], |job| {
        for pair in pairs(&STEPS) {
            both(job, pair, true).run.unwrap_or_else(|error| panic!("{:?}: {error}", pair.map(|step| step.line)));
        }
    });
}

#[test]
fn updates_by_one_operation_are_no_race() {
    on_every_route([2, 3], |job| {
        let update = STEPS.into_iter().find(|step| step.line.contains("update")).expect("there is one");
        both(job, [update; 2], false).run.expect("they commute");
    });
}

/// A program with two vectors. Every rank gets the result, whichever rank finds a race.
fn program(job: Job, body: impl Fn(&World, &mut GVector<u64>, &mut GVector<u64>) -> Result<()> + Sync) -> Outcomes {
    job.checking().run(|world| {
        let mut v = GVector::<u64>::new(world, 12)?;
        let mut w = GVector::<u64>::new(world, 12)?;
        let outcome = body(world, &mut v, &mut w);
        world.barrier()?;
        outcome?;
        v.at(0).and(w.at(0)).map(drop)
    })
}

#[test]
fn an_access_before_the_scope_in_which_others_write() {
    on_every_route([2, 3], |job| {
        for read in [true, false] {
            let outcomes = program(job, |world, v, _| {
                match world.rank().index() {
                    1 if read => drop(v.at(INDEX)?), // too early
                    1 => v.put(INDEX, 1)?,           // too early
                    _ => {}
                }
                let mut scope = v.release_c()?;
                if world.is_root() {
                    scope.put(INDEX, 2)?; // in the scope
                }
                scope.finish()
            });
            is_race(&outcomes, INDEX, &["too early", "in the scope", "let mut scope = v.release_c()"]);
        }
        // An owner's accesses before a scope come before the other ranks' writes in the scope.
        let outcomes = program(job, |world, v, _| {
            v.owner_computes_mut()?.local_mut().fill(1);
            let mut scope = v.release_c()?;
            if world.rank() == 1 {
                scope.put(INDEX, 2)?;
            }
            scope.finish()
        });
        outcomes.run.expect("no batch overtakes its owner");
    });
}

/// The calls that order ranks: after such a call, rank 1 may read the value that rank 0 has put before it.
#[test]
fn what_orders_orders_other_vectors_too() {
    type Order = fn(&World, &mut GVector<u64>, &mut GScalar<u64>) -> Result<()>;
    let orders: [(&str, Order); 11] = [
        ("barrier", |world, _, _| world.barrier()),
        ("all_reduce", |world, _, _| world.all_reduce(Sum, 1_u64).map(drop)),
        ("construction", |world, _, _| GVector::<u8>::new(world, 3).map(drop)),
        ("fill", |_, v, _| v.fill(1)),
        ("gather", |_, v, _| v.gather_to(0).map(drop)),
        ("read_cache", |_, v, _| v.read_cache().map(drop)),
        ("read_cache_blocks", |_, v, _| v.read_cache_blocks()?.blocks().try_for_each(|block| block.map(drop))),
        ("release_c", |_, v, _| v.release_c()?.finish()),
        ("accumulate, the next access", |_, v, _| {
            drop(v.accumulate(Sum)?);
            v.at(5).map(drop)
        }),
        ("a scalar's accumulate", |_, _, s| {
            let mut sum = s.accumulate(Sum)?;
            sum.update(1);
            sum.finish()
        }),
        ("a scalar that is awaited", |world, _, s| {
            if world.is_root() {
                return s.set(1);
            }
            while s.get()? == 0 {}
            Ok(())
        }),
    ];
    on_every_route([2, 3], |job| {
        for (what, order) in orders {
            let outcomes = job.checking().run(|world| {
                let mut v = GVector::<u64>::new(world, 12)?;
                let mut w = GVector::<u64>::new(world, 12)?;
                let mut s = GScalar::new(world, 1, 0_u64)?;
                if world.is_root() {
                    w.put(INDEX, 1)?;
                    w.put(11, 1)?;
                    w.owner_computes_mut()?[0] = 1;
                }
                order(world, &mut v, &mut s)?;
                if world.rank() == 1 {
                    assert_eq!(w.at_many(&[0, INDEX, 11])?, [1; 3]);
                }
                world.barrier()
            });
            outcomes.run.unwrap_or_else(|error| panic!("{what}: {error}"));
        }
    });
}

/// Opening a scope orders nothing, nor does a call that waits for no rank.
#[test]
fn what_does_not_order() {
    type Between = fn(&mut GVector<u64>) -> Result<()>;
    let between: [Between; 5] = [
        |v| v.owner_computes().map(drop),
        |v| v.release_c().map(drop),
        |v| v.read_cache_blocks().map(drop),
        |v| v.halo_cache(1).map(drop),
        |_| Ok(()),
    ];
    on_every_route([2], |job| {
        for between in between {
            let outcomes = program(job, |world, v, w| {
                let put = if world.is_root() { w.put(INDEX, 1) } else { Ok(()) }; // before
                between(v)?;
                if world.rank() == 1 {
                    w.at(INDEX)?; // behind
                }
                put
            });
            is_race(&outcomes, INDEX, &["before", "behind"]);
        }
    });
}

/// An exchange orders neighbours for the elements of their halos.
#[test]
fn a_halo_orders_what_it_shows() {
    on_every_route([2, 3], |job| {
        for (index, shown) in [(3, true), (2, false)] {
            let outcomes = program(job, |world, v, _| {
                // With three ranks the blocks have four elements, with two ranks six.
                let index = if world.size() == 2 { index + 2 } else { index };
                let mut halo = v.halo_cache_mut(1)?;
                halo.local_mut().fill(5); // written
                halo.refresh()?;
                halo.finish()?;
                if world.rank() == 1 {
                    assert_eq!(v.at(index)?, 5); // read
                }
                Ok(())
            });
            match shown {
                true => outcomes.run.expect("the edge was shown"),
                false => is_race(&outcomes, if job.ranks == 2 { 4 } else { 2 }, &["v.halo_cache_mut(1)", "read"]),
            }
        }
    });
}

#[test]
fn a_put_beside_an_exchange() {
    on_every_route([2, 3], |job| {
        for ordered in [false, true] {
            let outcomes = program(job, |world, v, _| {
                let edge = v.range_of(0).end - 1;
                if world.rank() == 1 {
                    v.put(edge, 1)?; // put
                }
                if ordered {
                    world.barrier()?;
                }
                v.halo_cache(1)?.finish() // exchanged
            });
            match ordered {
                true => outcomes.run.expect("it is ordered"),
                false => is_race(&outcomes, if job.ranks == 2 { 5 } else { 3 }, &["put", "exchanged"]),
            }
        }
    });
}

/// A slice is no proof of a race: the program continues.
#[test]
fn what_rests_on_a_slice_is_no_error() {
    on_every_route([2, 3], |job| {
        let outcomes = program(job, |world, v, w| {
            if world.is_root() {
                assert_eq!(v.owner_computes()?.local()[0], 0);
            } else if world.rank() == 1 {
                v.put(INDEX, 1)?;
            }
            world.barrier()?;
            // Written before the barrier, and held across the barrier.
            let mut own = w.owner_computes_mut()?;
            own.local_mut().fill(1);
            world.barrier()?;
            drop(own);
            assert_eq!(w.at(11 * (1 - world.rank().index().min(1)))?, 1);
            Ok(())
        });
        outcomes.run.expect("it may be right");
    });
}
