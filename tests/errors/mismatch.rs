//! Ranks that disagree: each rank gets an error with the call and the line of each rank.

use crate::provoke::every_route;
use aurora_core::ops::Sum;
use aurora_core::prelude::*;

/// The rank that does something else.
const ODD: usize = 1;

#[test]
fn different_behaviours() {
    let outcomes = every_route([2, 3, 4]).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        if world.rank() == ODD {
            let scope = v.release_c()?;
            scope.finish()
        } else {
            v.read_cache()?.finish()
        }
    });
    outcomes
        .all_say(&["ranks disagree", "opened a ReadCache", "opened a ReleaseC"])
        .all_say(&["rank 1 opened", "the GVector<i32> of 10 elements (made at"])
        .all_cite(&["v.read_cache()", "v.release_c()", "GVector::<i32>::new"]);
}

#[test]
fn a_scope_of_one_rank_before_an_access_of_all() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<i32>::new(world, 12)?;
        if world.rank() == ODD {
            drop(v.release_c()?);
        }
        let next = (world.rank().index() + 1) % world.size();
        v.at(next * 12 / world.size())?;
        world.barrier()
    });
    outcomes
        .all_say(&["ranks disagree", " is in a barrier at"])
        .all_say(&["rank 1 opened a ReleaseC of the GVector<i32> of 12 elements"])
        .all_cite(&["drop(v.release_c()?)", "world.barrier()"]);
}

/// A rank waits for an answer of a rank that has entered the scope, which waits for the rank that has not.
#[test]
fn a_scope_that_a_third_rank_skips() {
    let outcomes = every_route([3]).run(|world| {
        let mut v = GVector::<i32>::new(world, 12)?;
        if world.rank() != ODD {
            drop(v.release_c()?);
        }
        if world.rank() == 2 {
            v.at(0)?;
        }
        world.barrier()
    });
    outcomes
        .all_say(&["ranks disagree: rank 1 ", "opened a ReleaseC of the GVector<i32> of 12 elements"])
        .all_cite(&["drop(v.release_c()?)"]);
}

#[test]
fn scopes_of_different_objects() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut apples = GVector::<i32>::new(world, 12)?;
        let mut pears = GVector::<i32>::new(world, 24)?;
        if world.rank() == ODD { pears.release_c()?.finish() } else { apples.release_c()?.finish() }
    });
    outcomes
        .all_say(&["ranks disagree: ", "rank 1 opened a ReleaseC of the GVector<i32> of 24"])
        .all_say(&["opened a ReleaseC of the GVector<i32> of 12"])
        .all_cite(&["pears.release_c()", "apples.release_c()"]);
}

#[test]
fn different_objects_in_the_same_order() {
    let outcomes = every_route([2, 3]).run(|world| {
        let apples = GVector::<i32>::new(world, 10)?;
        let pears = GVector::<i32>::new(world, 20)?;
        if world.rank() == ODD { pears.read_cache()?.finish() } else { apples.read_cache()?.finish() }
    });
    outcomes
        .all_say(&["ranks disagree", "rank 1 opens a ReadCache of the GVector<i32> of 20"])
        .all_say(&["opens a ReadCache of the GVector<i32> of 10"])
        .all_cite(&["pears.read_cache()", "apples.read_cache()"]);
}

#[test]
fn different_lengths() {
    let outcomes = every_route([2, 3, 4]).run(|world| {
        if world.rank() == ODD {
            let long = GVector::<i32>::new(world, 11)?;
            drop(long);
        } else {
            let short = GVector::<i32>::new(world, 10)?;
            drop(short);
        }
        Ok(())
    });
    outcomes
        .all_say(&["ranks disagree", "is in the construction of a GVector<i32> of 10 elements"])
        .all_say(&["rank 1 is in the construction of a GVector<i32> of 11"])
        .all_cite(&["let long", "let short"]);
}

#[test]
fn different_types_shapes_places_and_kinds() {
    type Make = fn(&World) -> Result<()>;
    let makes: [(Make, &str); 6] = [
        (|world| GVector::<i32>::new(world, 12).map(drop), "GVector<i32> of 12 elements"),
        (|world| GVector::<u32>::new(world, 12).map(drop), "GVector<u32> of 12 elements"),
        (|world| GVector::<i32>::new(world, MatrixDim::new(3, 4)).map(drop), "GVector<i32> of 3 x 4"),
        (|world| GVector::<i32>::new(world, MatrixDim::new(4, 3)).map(drop), "GVector<i32> of 4 x 3"),
        (|world| GVector::<i32>::on(world, 0, 12).map(drop), "GVector<i32> of 12 elements on rank 0"),
        (|world| GScalar::new(world, 0, 12).map(drop), "GScalar<i32> on rank 0"),
    ];
    for (at, (usual, first)) in makes.iter().enumerate() {
        for (odd, second) in &makes[at + 1..] {
            let outcomes = every_route([2]).run(|world| if world.rank() == ODD { odd(world) } else { usual(world) });
            outcomes.all_say(&["ranks disagree", first, second]);
        }
    }
}

#[test]
fn different_values_of_a_home() {
    let outcomes = every_route([3]).run(|world| {
        let home = usize::from(world.rank() == ODD);
        GScalar::new(world, home, 1u64).map(drop)
    });
    outcomes.all_say(&["GScalar<u64> on rank 0", "rank 1 is in the construction of a GScalar<u64> on rank 1"]);
}

struct Twice;

impl Op<i32> for Twice {
    fn apply(current: i32, operand: i32) -> i32 {
        current + 2 * operand
    }
}

#[test]
fn different_operations() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        if world.rank() == ODD {
            let mut twice = v.release_c_with(Twice)?;
            twice.update(0, 1)?;
            twice.finish()
        } else {
            let mut add = v.release_c_with(Sum)?;
            add.update(0, 1)?;
            add.finish()
        }
    });
    outcomes
        .all_say(&["ranks disagree", "rank 1 opened a ReleaseC with operation"])
        .all_cite(&["let mut twice", "let mut add"]);
}

#[test]
fn an_operation_on_one_rank_only() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        if world.rank() == ODD {
            let puts = v.release_c()?;
            puts.finish()
        } else {
            let adds = v.release_c_with(Sum)?;
            adds.finish()
        }
    });
    outcomes
        .all_say(&["ranks disagree", "opened a ReleaseC", "with operation Sum"])
        .all_cite(&["let puts", "let adds"]);
}

#[test]
fn a_scope_that_the_others_do_not_open_and_a_barrier() {
    let outcomes = every_route([2, 3, 4]).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        if world.rank() == ODD {
            let scope = v.release_c()?;
            drop(scope);
        }
        world.barrier()
    });
    outcomes
        .all_say(&["ranks disagree", "rank 1 opened a ReleaseC"])
        .all_say(&["has opened no collective scope since it made the GVector<i32> of 10 elements at"])
        .all_cite(&["let scope = v.release_c()"]);
}

#[test]
fn a_barrier_against_a_read_cache() {
    let outcomes = every_route([2, 3, 4]).run(|world| {
        let v = GVector::<i32>::new(world, 10)?;
        if world.rank() == ODD { v.read_cache()?.finish() } else { world.barrier() }
    });
    outcomes
        .all_say(&["ranks disagree", "is in a barrier", "rank 1 opens a ReadCache"])
        .all_cite(&["v.read_cache()", "world.barrier()"]);
}

#[test]
fn a_barrier_against_a_construction_and_a_fill() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        if world.rank() == ODD { v.fill(1) } else { world.barrier() }
    });
    outcomes.all_say(&["ranks disagree", "is in a barrier", "rank 1 is in the filling of"]);
    let outcomes = every_route([2, 3])
        .run(|world| if world.rank() == ODD { GVector::<i32>::new(world, 10).map(drop) } else { world.barrier() });
    outcomes.all_say(&["is in a barrier", "rank 1 is in the construction of a GVector<i32>"]);
}

#[test]
fn a_release_of_a_cache_against_a_fill() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        if world.rank() == ODD { v.release_cache() } else { v.fill(1) }
    });
    outcomes
        .all_say(&[
            "ranks disagree",
            "rank 1 is in the release of the cache of the GVector<i32> of 10",
            "the filling of",
        ])
        .all_cite(&["v.release_cache()", "v.fill(1)"]);
}

#[test]
fn gathers_on_different_roots() {
    let outcomes = every_route([2, 3]).run(|world| {
        let v = GVector::<i32>::new(world, 10)?;
        v.gather_to(world.rank().index().min(1)).map(drop)
    });
    outcomes.all_say(&["ranks disagree", "the gathering of", "on rank 0", "on rank 1"]);
}

#[test]
fn a_scope_that_the_others_never_open_before_they_drop_the_vector() {
    let outcomes = every_route([2, 3]).run_freely(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        if world.rank() == ODD {
            let mut scope = v.release_c()?;
            scope.put(0, 7)?;
            drop(scope);
        }
        Ok(())
    });
    outcomes.run_says(&["rank 1 opened a ReleaseC"]);
}

#[test]
fn a_read_cache_that_a_computing_rank_can_never_open() {
    // The other rank has dropped its vector. The mismatch is found without a further wait.
    let outcomes = every_route([2]).run_freely(|world| {
        let v = GVector::<i32>::new(world, 10)?;
        if world.rank() == ODD {
            return v.read_cache()?.finish();
        }
        drop(v);
        world.barrier()
    });
    outcomes.says(ODD, &["ranks disagree", "rank 0 is in a barrier"]);
    outcomes.run_says(&["rank 1 opens a ReadCache"]);
}
