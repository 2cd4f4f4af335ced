//! Misuse of behaviours on parts of a vector.

use crate::provoke::{Quiet, caught, every_route, panic_of};
use aurora_core::ops::Sum;
use aurora_core::prelude::*;
use std::mem::forget;
use std::panic::panic_any;

/// The rank that does something else.
const ODD: usize = 1;

#[test]
fn different_ranges() {
    type Open = fn(SliceMut<'_, i32>) -> Result<()>;
    let opens: [(&str, Open); 4] = [
        ("ReadCache", |part| part.read_cache().map(drop)),
        ("ReleaseC", |part| part.release_c()?.finish()),
        ("ReleaseC with operation Sum", |part| part.release_c_with(Sum)?.finish()),
        ("ReadCache + ReleaseC", |part| part.read_cache_release_c()?.finish()),
    ];
    for (behaviour, open) in opens {
        let outcomes = every_route([2, 3]).run(|world| {
            let mut v = GVector::<i32>::new(world, 10)?;
            if world.rank() == ODD {
                open(v.slice_mut(2..7))?;
            } else {
                open(v.slice_mut(2..8))?;
            }
            world.barrier()
        });
        outcomes
            .all_say(&["ranks disagree", &format!("rank 1 opened a {behaviour} of elements 2..7 of the GVector<i32>")])
            .all_say(&[&format!("opened a {behaviour} of elements 2..8 of the GVector<i32>")]);
    }
}

#[test]
fn a_part_and_the_whole() {
    let outcomes = every_route([2, 3]).run(|world| {
        let v = GVector::<i32>::new(world, 10)?;
        if world.rank() == ODD { v.slice(1..).read_cache()?.finish() } else { v.read_cache()?.finish() }
    });
    outcomes
        .all_say(&["ranks disagree", "opened a ReadCache of the GVector<i32> of 10"])
        .all_say(&["rank 1 opened a ReadCache of elements 1..10 of the GVector<i32> of 10"])
        .all_cite(&["v.slice(1..).read_cache()", "v.read_cache()"]);
}

/// The other part can be used until a call needs the whole vector.
#[test]
fn a_forgotten_guard_of_a_part() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let (mut left, mut right) = v.split_at_mut(8);
        if world.rank() == ODD {
            let mut own = left.slice_mut(..).owner_computes_mut()?;
            own.local_mut()[0] = 1;
            forget(own);
        }
        let mut writes = right.slice_mut(..).release_c()?;
        writes.put(9, 7)?;
        writes.finish()?;
        assert_eq!(right.slice(9..).read_cache()?[9], 7);
        assert_eq!(v.at(9)?, 7);
        v.read_cache().map(drop)
    });
    outcomes
        .all_say(&["rank 1 has not closed the OwnerComputes of the GVector<i32> of 10 elements"])
        .all_cite(&["left.slice_mut(..).owner_computes_mut()"]);
}

#[test]
fn a_panic_beside_another_scope() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let (mut left, mut right) = v.split_at_mut(5);
        let writes = right.slice_mut(..).release_c()?;
        if world.rank() == ODD {
            caught(|| {
                let mut own = left.slice_mut(..).owner_computes_mut().unwrap();
                own.local_mut().fill(666);
                panic_any(Quiet)
            });
        }
        drop(writes);
        v.read_cache().map(drop)
    });
    outcomes.all_say(&["is poisoned: rank 1 panicked inside the OwnerComputes"]);
}

/// An invalid order of scopes: rank 0 ends the first scope before it opens the second, rank 1 opens the second first.
#[test]
fn scopes_in_different_orders() {
    let outcomes = every_route([2]).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let (mut left, mut right) = v.split_at_mut(5);
        let writes = left.slice_mut(..).release_c()?;
        if world.rank() == ODD {
            // Opened before the end of the outer scope, which the other rank is already waiting for.
            right.slice_mut(..).release_c()?.finish()?;
            writes.finish()
        } else {
            writes.finish()?;
            right.slice_mut(..).release_c()?.finish()
        }
    });
    outcomes
        .all_say(&["ranks disagree: rank 0 waits for the end", "but rank 1 opened a ReleaseC of elements 5..10"])
        .all_cite(&["left.slice_mut(..).release_c()", "right.slice_mut(..).release_c()?.finish()?;"]);
}

#[test]
fn an_index_outside_of_a_part() {
    let outcomes = every_route([2]).run(|world| {
        let mut m = GVector::<i32>::new(world, MatrixDim::new(6, 5))?;
        let cache = m.rows(1..4).read_cache()?;
        let words = [
            (panic_of(|| cache[4]), "index 4 is outside 5..20, the slice that this ReadCache shows"),
            (panic_of(|| cache[20]), "index 20 is outside 5..20"),
            (panic_of(|| cache[4..6][0]), "range 4..6 is outside 5..20, the slice that this ReadCache shows"),
            (
                panic_of(|| cache[(4, 0)]),
                "row 4, column 0 (index 20) is outside 5..20, the slice that this ReadCache shows",
            ),
            (panic_of(|| cache[(6, 0)]), "row 6 is outside a matrix of 6 rows"),
            (panic_of(|| cache.row(0)[0]), "row 0 is outside elements 5..20, the slice that this ReadCache shows"),
            (panic_of(|| cache.row(6)[0]), "row 6 is outside a matrix of 6 rows"),
        ];
        for (text, words) in words {
            assert!(text.contains(words), "`{text}` without `{words}`");
        }
        drop(cache);
        let mut both = m.rows_mut(1..4).read_cache_release_c()?;
        let text = panic_of(|| both[20] = 1);
        assert!(text.contains("index 20 is outside 5..20, the slice that this ReadCache + ReleaseC shows"), "{text}");
        let text = panic_of(|| both.slice_mut(15..21)[0]);
        assert!(text.contains("range 15..21 is outside 5..20"), "{text}");
        drop(both);
        let own = m.rows(1..).owner_computes()?;
        let text = panic_of(|| own[0]);
        assert!(text.contains("the part of the slice that this rank owns"), "{text}");
        drop(own);
        let text = panic_of(|| m.split_at_mut(31).0.range());
        assert!(text.contains("element 31 is outside 0..30, the elements that are split"), "{text}");
        m.read_cache()?.finish()
    });
    outcomes.succeed("the scopes ended well");
}
