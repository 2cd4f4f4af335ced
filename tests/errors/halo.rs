//! Errors of HaloCaches: ranks that open different ones, ranks that never open one, and forbidden accesses.

use crate::provoke::{Quiet, every_route, on_every_route, panic_of};
use aurora_core::prelude::*;
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::thread::sleep;
use std::time::Duration;

/// The rank that does something else.
const ODD: usize = 1;

#[test]
fn different_widths_boundaries_and_kinds() {
    for (usual, odd, text) in [
        (Halo::fixed(1), Halo::fixed(2), "rank 1 opened a HaloCache (width 2, fixed) of the GVector<i32> of 10"),
        (Halo::fixed(2), Halo::fixed(0), "rank 1 opened a HaloCache (width 0, fixed) of"),
        (Halo::periodic(1), Halo::fixed(1), "opened a HaloCache (width 1, periodic) of the GVector<i32> of 10"),
    ] {
        let outcomes = every_route([2, 3, 4]).run_freely(|world| {
            let v = GVector::<i32>::new(world, 10)?;
            if world.rank() == ODD {
                let odd_one = v.halo_cache(odd)?;
                odd_one.finish()?;
            } else {
                let usual_one = v.halo_cache(usual)?;
                usual_one.finish()?;
            }
            world.barrier()
        });
        outcomes.run_says(&["ranks disagree", text]).run_cites(&["let odd_one", "let usual_one"]);
    }
    let outcomes = every_route([2, 3, 4]).run_freely(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        if world.rank() == ODD {
            v.halo_cache_mut(1)?.finish()?
        } else {
            v.halo_cache(1)?.finish()?
        }
        world.barrier()
    });
    outcomes.run_says(&["ranks disagree", "rank 1 opened a HaloCache (width 1, fixed, for writing) of"]);
}

#[test]
fn a_rank_that_owns_nothing_asks_for_another() {
    let outcomes = every_route([3, 4]).run_freely(|world| {
        let v = GVector::<i32>::new(world, 2)?;
        let last = world.rank() == world.size() - 1;
        let h = v.halo_cache(if last { 2 } else { 1 })?;
        // No scope is opened after it.
        world.barrier()?;
        h.finish()?;
        world.barrier()
    });
    outcomes.run_says(&["ranks disagree", "opened a HaloCache (width 2, fixed)", "(width 1, fixed)"]);
}

#[test]
fn another_behaviour() {
    type Open = fn(&mut GVector<i32>) -> Result<()>;
    let others: [(&str, Open); 3] = [
        ("a ReadCache of", |v| v.read_cache()?.finish()),
        ("a ReleaseC of", |v| v.release_c()?.finish()),
        ("is in a fill", |v| v.fill(1)),
    ];
    for (text, open) in others {
        for odd_has_halo in [false, true] {
            let outcomes = every_route([2, 3, 4]).run_freely(|world| {
                let mut v = GVector::<i32>::new(world, 10)?;
                if (world.rank() == ODD) == odd_has_halo { v.halo_cache(1)?.finish() } else { open(&mut v) }?;
                world.barrier()
            });
            outcomes.run_says(&["ranks disagree", "a HaloCache", text]);
        }
    }
}

#[test]
fn a_rank_that_refreshes_once_more() {
    let outcomes = every_route([2, 3, 4]).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let mut h = v.halo_cache_mut(1)?;
        h.refresh()?;
        if world.rank() == ODD {
            h.local_mut()[0] = 7;
            let error = h.refresh().expect_err("nobody comes"); // once more
            assert!(h.before().is_empty() && h.behind().is_empty(), "nothing is shown of what was not exchanged");
            h.local_mut()[1] = 8;
            h.refresh().expect_err("the job has ended");
            assert_eq!(h.local()[..2], [7, 8], "the own part is shown still");
            return Err(error);
        }
        drop(h);
        world.barrier()
    });
    outcomes
        .all_say(&["ranks disagree", "rank 1 refreshes a HaloCache of the GVector<i32> of 10", "is in a barrier"])
        .all_cite(&["once more"]);
}

#[test]
fn a_rank_that_is_one_scope_further() {
    let outcomes = every_route([2, 3]).run(|world| {
        let v = GVector::<i32>::new(world, 10)?;
        let mut h = v.halo_cache(1)?;
        if world.rank() == ODD {
            h.refresh()?;
            drop(h);
        } else {
            drop(h);
            drop(v.halo_cache(1)?);
        }
        world.barrier()
    });
    outcomes.all_say(&["ranks disagree", "rank 1 refreshes a HaloCache", "opens a HaloCache"]);
}

#[test]
fn two_that_are_refreshed_in_another_order() {
    let outcomes = every_route([2, 3, 4]).run(|world| {
        let v = GVector::<i32>::new(world, 10)?;
        let (mut older, mut newer) = (v.halo_cache(1)?, v.halo_cache(2)?);
        if world.rank() == ODD {
            newer.refresh()?; // as the first
            older.refresh()?;
        } else {
            older.refresh()?;
            newer.refresh()?;
        }
        world.barrier()
    });
    outcomes
        .all_say(&["ranks disagree", "rank 1 refreshes a HaloCache of", "scope 1 of it", "scope 2 of it"])
        .all_cite(&["as the first", "older.refresh()"]);
}

/// A rank without a neighbour continues at once, and keeps no record of the scope.
#[test]
fn what_ranks_that_are_past_it_have_not_opened() {
    type Open = fn(&mut GVector<u64>) -> Result<()>;
    let others: [(&str, Open); 4] = [
        ("opened a ReadCache of", |v| v.read_cache()?.finish()),
        ("opened a ReadCache + ReleaseC of", |v| v.read_cache_release_c()?.finish()),
        ("opened a ReleaseC of", |v| {
            let len = v.len();
            let mut scope = v.release_c()?;
            (0..len).try_for_each(|i| scope.put(i, 1))?;
            scope.finish()
        }),
        ("opened a ReleaseC of", |v| v.release_c()?.finish()),
    ];
    on_every_route([2, 3], |job| {
        for (text, open) in others {
            for owner in [0, ODD] {
                let outcomes = job.run_freely(|world| {
                    let mut v = GVector::<u64>::on(world, owner, 30_000)?;
                    if world.rank() == ODD {
                        // The other ranks have ended their HaloCaches by then.
                        sleep(Duration::from_millis(10));
                        return open(&mut v);
                    }
                    (0..3).try_for_each(|_| v.halo_cache(2)?.finish())?;
                    world.barrier()
                });
                // Ranks that share memory send no messages for a ReadCache, so only the deadlock detection finds the
                // mismatch.
                let error = outcomes.run.as_ref().expect_err("the job fails").to_string();
                if error.contains("is in a barrier") {
                    outcomes.run_says(&["ranks disagree", "rank 1 opens a ReadCache of"]);
                } else {
                    let theirs = "opened a HaloCache (width 2, fixed) of the GVector<u64> of 30000";
                    outcomes.run_says(&["ranks disagree", theirs, text]).run_cites(&["v.halo_cache(2)"]);
                }
            }
        }
    });
}

#[test]
fn a_width_for_which_a_rank_has_no_neighbour() {
    let outcomes = every_route([2, 3]).run_freely(|world| {
        let v = GVector::<i32>::new(world, 10)?;
        let none = world.rank() == ODD;
        if none {
            for _ in 0..100 {
                let alone = v.halo_cache(0)?;
                alone.finish()?;
            }
        } else {
            v.halo_cache(1)?.finish()?;
        }
        world.barrier()
    });
    let texts = ["ranks disagree", "rank 1 opened a HaloCache (width 0, fixed)", "a HaloCache (width 1, fixed) of"];
    outcomes.run_says(&texts).run_cites(&["let alone", "v.halo_cache(1)"]);
}

#[test]
fn different_vectors() {
    let outcomes = every_route([2, 3]).run(|world| {
        let (apples, pears) = (GVector::<i32>::new(world, 10)?, GVector::<i32>::new(world, 20)?);
        if world.rank() == ODD { pears.halo_cache(1)?.finish() } else { apples.halo_cache(1)?.finish() }
    });
    outcomes
        .all_say(&["ranks disagree", "opens a HaloCache of the GVector<i32> of 20", "of the GVector<i32> of 10"])
        .all_cite(&["pears.halo_cache(1)", "apples.halo_cache(1)"]);
}

#[test]
fn a_neighbour_that_has_left() {
    let outcomes = every_route([2, 3]).run_freely(|world| {
        let v = GVector::<i32>::new(world, 10)?;
        if world.rank() == ODD { Ok(()) } else { v.halo_cache(1)?.finish() }
    });
    outcomes.says(0, &["rank 1 has left `run` already", "opens a HaloCache of"]);
}

#[test]
fn a_forgotten_guard() {
    // A writeable guard is found by any later use, a read guard by the next use that writes.
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let mut open = v.halo_cache_mut(1)?;
        open.local_mut();
        if world.rank() == ODD {
            forget(open);
        } else {
            open.finish()?;
        }
        v.halo_cache(1)?.finish()
    });
    outcomes.all_say(&["rank 1 has not closed the HaloCache of the GVector<i32> of 10"]).all_cite(&["let mut open"]);
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let open = v.halo_cache(1)?;
        if world.rank() == ODD {
            forget(open);
        } else {
            open.finish()?;
        }
        v.halo_cache_mut(1)?.finish()
    });
    outcomes.all_say(&["rank 1 has not closed the HaloCache of the GVector<i32> of 10"]).all_cite(&["let open"]);
}

#[test]
fn a_panic_inside() {
    let outcomes = every_route([2, 3, 4]).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let steps = |v: &mut GVector<i32>| -> Result<()> {
            let mut h = v.halo_cache_mut(1)?;
            for step in 0..3 {
                h.local_mut().fill(step);
                if world.rank() == ODD && step == 1 {
                    panic_any(Quiet);
                }
                h.refresh()?;
            }
            Ok(())
        };
        match catch_unwind(AssertUnwindSafe(|| steps(&mut v))) {
            Ok(outcome) => outcome?,
            Err(_) => assert!(world.rank() == ODD),
        }
        // The rank that panicked gets the error at its next use, the other ranks at their next use or before.
        v.halo_cache(1)?.finish()
    });
    outcomes.all_say(&["is poisoned: rank 1 panicked inside the HaloCache that it opened at"]).all_cite(&["let mut h"]);
}

#[test]
fn who_looks_around_a_fixed_end_is_told_of_a_periodic_halo() {
    let outcomes = every_route([3]).run_freely(|world| {
        let v = GVector::<i32>::new(world, 30)?;
        let m = GVector::<i32>::new(world, MatrixDim::new(6, 4))?;
        let (h, g) = (v.halo_cache(2)?, m.halo_cache(1)?);
        let around = match world.rank().index() {
            0 => [panic_of(|| _ = h[28]), panic_of(|| _ = g.row(5)[0])],
            1 => return Ok(()),
            _ => [panic_of(|| _ = h[1]), panic_of(|| _ = g[(0, 3)])],
        };
        for text in around {
            assert!(text.contains("around the ends, which are fixed here, `Halo::periodic` shows it"), "{text}");
        }
        let far = [
            panic_of(|| _ = h[if world.is_root() { 27 } else { 2 }]),
            panic_of(|| _ = g.row(3 - world.rank().index() / 2)[0]),
        ];
        for text in far {
            assert!(!text.contains("periodic"), "{text}");
        }
        Ok(())
    });
    outcomes.succeed("all is well");
}

#[test]
fn what_is_not_shown_and_what_is_not_to_be_written() {
    let outcomes = every_route([3]).run_freely(|world| {
        let mut v = GVector::<i32>::new(world, 30)?;
        let mut m = GVector::<i32>::new(world, MatrixDim::new(6, 4))?;
        if world.rank() != ODD {
            return (v.halo_cache_mut(2)?.finish(), m.halo_cache_mut(1)?.finish()).1;
        }
        // A panic inside a scope poisons its vector. So the panics are caught one by one outside, on valid guards.
        let mut h = v.halo_cache_mut(2)?;
        let mut g = m.halo_cache_mut(1)?;
        for (text, wanted) in [
            (panic_of(|| _ = h[7]), "index 7 is outside 8..22, the part and the halo"),
            (panic_of(|| _ = h[22]), "index 22 is outside 8..22"),
            (
                panic_of(|| _ = h[30]),
                "index 30 is outside a vector of 30 elements: beyond a fixed end there is no halo",
            ),
            (panic_of(|| h[9] = 1), "index 9 is outside 10..20, which this rank owns: the halo is read-only"),
            (panic_of(|| h[20] += 1), "index 20 is outside 10..20, which this rank owns: the halo is read-only"),
            (panic_of(|| h[0] = 1), "index 0 is outside 10..20, which this rank owns: use `put` or `release_c`"),
            (panic_of(|| h[30] = 1), "index 30 is outside a vector of 30 elements: beyond a fixed end"),
            (panic_of(|| _ = g.row(6)[0]), "row 6 is outside a matrix of 6 rows: beyond a fixed end"),
            (
                panic_of(|| _ = g.row(8)[0]),
                "row 8 is outside a matrix of 6 rows (`indices()` are those of elements, `rows()`",
            ),
            (panic_of(|| g.row_mut(0)[0] = 1), "row 0 is outside rows 2..4, which this rank owns: use `put` or"),
            (panic_of(|| g.row_mut(6)[0] = 1), "row 6 is outside a matrix of 6 rows: beyond a fixed end"),
            (panic_of(|| _ = g[(5, 0)]), "row 5 is outside rows 1..5"),
            (panic_of(|| _ = g.row(0)[0]), "row 0 is outside rows 1..5"),
            (panic_of(|| _ = g[(2, 4)]), "column 4 is outside 0..4"),
            (panic_of(|| g[(4, 0)] = 1), "row 4 is outside rows 2..4, which this rank owns"),
            (panic_of(|| g.row_mut(1)[0] = 1), "row 1 is outside rows 2..4, which this rank owns"),
            (panic_of(|| g[(2, 4)] = 1), "column 4 is outside 0..4"),
        ] {
            assert!(text.contains(wanted), "{text}");
        }
        assert!(matches!(h.at(7), Err(Error::NotShown { index: 7, start: 8, end: 22, .. })));
        assert!(matches!(h.at(30), Err(Error::IndexOutside { index: 30, .. })));
        assert!(matches!(h.put(8, 1), Err(Error::NotShown { index: 8, start: 10, end: 20, .. })));
        drop(h);
        drop(g);
        let r = v.halo_cache(Halo::periodic(12))?;
        let text = panic_of(|| _ = r[31]);
        assert!(
            text.contains("index 31 is outside a vector of 30 elements: around the ends it has the number 1"),
            "{text}"
        );
        r.finish()
    });
    // The other ranks have not opened the last one.
    outcomes.says(ODD, &["a HaloCache"]);
}

#[test]
fn a_halo_that_does_not_fit() {
    let outcomes = every_route([2]).run(|world| {
        let v = GVector::<u64>::new(world, 10)?;
        let wide = v.halo_cache(Halo::periodic(usize::MAX / 16));
        wide.map(drop)
    });
    outcomes.all_say(&["for a HaloCache of the GVector<u64> of 10"]);
}
