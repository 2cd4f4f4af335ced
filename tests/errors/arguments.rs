//! Invalid arguments. The rank that passes one gets the error before anything is sent.

use crate::provoke::{every_route, on_every_route};
use aurora_core::ops::Sum;
use aurora_core::prelude::*;

/// The error of `wrong` has this text on every rank, and the vector stays usable.
#[track_caller]
fn all_refuse(words: &[&str], line: &str, wrong: fn(&mut GVector<i32>) -> Result<()>) {
    let outcomes = every_route([1, 2, 4]).run(|world| {
        let mut v = GVector::<i32>::from_fn(world, 10, |i| i as i32)?;
        let outcome = wrong(&mut v);
        // The error belongs to one rank: the vector is unchanged, and the job continues.
        world.barrier()?;
        assert!(v.read_cache()?.iter().copied().eq(0..10));
        outcome
    });
    outcomes.all_say(words).all_say(&["the GVector<i32> of 10 elements (made at"]).all_cite(&[line]);
}

#[test]
fn an_index_outside() {
    let words = ["index 10 is outside the GVector<i32> of 10 elements (made at"];
    all_refuse(&words, "v.at(10)", |v| v.at(10).map(drop));
    all_refuse(&words, "v.put(10, 1)", |v| v.put(10, 1));
    let in_a_list = ["index 10, at position 1 of those asked for, is outside the GVector<i32> of 10 elements (made at"];
    all_refuse(&in_a_list, "v.at_many(&[3, 10])", |v| v.at_many(&[3, 10]).map(drop));
    all_refuse(&in_a_list, "v.put_many(&[(3, 1), (10, 1)])", |v| v.put_many(&[(3, 1), (10, 1)]));
    all_refuse(&words, "own.at(10)", |v| {
        let own = v.owner_computes()?;
        own.at(10).map(drop)
    });
    all_refuse(&words, "alone.put(10, 1)", |v| {
        let mut alone = v.release_alone()?;
        alone.put(10, 1)
    });
    let far = ["index 18446744073709551615 is outside"];
    all_refuse(&far, "v.at(usize::MAX)", |v| v.at(usize::MAX).map(drop));
}

#[test]
fn an_index_outside_in_collective_scopes() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let mut scope = v.release_c_with(Sum)?;
        let put = scope.put(10, 1);
        let update = scope.update(usize::MAX, 1);
        scope.finish()?;
        let cache = v.read_cache()?;
        let at = cache.at(10);
        drop(cache);
        assert_eq!(v.at(9)?, 0);
        for outcome in [put, update, at.map(drop)] {
            assert!(matches!(outcome, Err(Error::IndexOutside { len: 10, .. })), "{outcome:?}");
        }
        v.at(11).map(drop)
    });
    outcomes.all_say(&["index 11 is outside"]);
}

#[test]
fn a_range_outside() {
    let long = ["range 4..11 is too long for the GVector<i32> of 10 elements (made at"];
    all_refuse(&long, "v.range(4..11)", |v| distmemcpy(&mut [0; 7][..], v.range(4..11)));
    all_refuse(&long, "v.range_mut(4..11)", |v| distmemcpy(v.range_mut(4..11), &[0; 7][..]));
    all_refuse(&long, "alone.put_slice(4, &[0; 7])", |v| {
        let mut alone = v.release_alone()?;
        alone.put_slice(4, &[0; 7])
    });
    let reversed = ["range 7..4 is reversed, of the GVector<i32> of 10 elements (made at"];
    let (from, to) = (7, 4);
    assert!(from > to);
    all_refuse(&reversed, "v.range(from..to)", |v| {
        let (from, to) = (7, 4);
        distmemcpy(&mut [0; 3][..], v.range(from..to))
    });
    all_refuse(&reversed, "v.range_mut(from..to)", |v| {
        let (from, to) = (7, 4);
        distmemcpy(v.range_mut(from..to), &[0; 0][..])
    });
    all_refuse(&["range 18446744073709551615..10 is reversed"], "v.range(usize::MAX..)", |v| {
        distmemcpy(&mut [0; 3][..], v.range(usize::MAX..))
    });
    all_refuse(&["range 0..18446744073709551615 is too long"], "v.range(..=usize::MAX)", |v| {
        distmemcpy(&mut [0; 3][..], v.range(..=usize::MAX))
    });
    all_refuse(&["is too long"], "alone.put_slice(usize::MAX", |v| {
        let mut alone = v.release_alone()?;
        alone.put_slice(usize::MAX, &[0; 2])
    });
}

#[test]
fn lengths_that_differ() {
    let outcomes = every_route([1, 2, 4]).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let w = GVector::<i32>::new(world, 20)?;
        let between = distmemcpy(v.range_mut(..), w.range(3..16));
        let words = "a copy of 13 elements into 10 elements";
        assert!(between.unwrap_err().to_string().contains(words));
        let into = distmemcpy(v.range_mut(2..8), &[0; 5][..]);
        assert!(into.unwrap_err().to_string().contains("a copy of 5 elements into 6 elements"));
        distmemcpy(&mut [0; 4][..], v.range(2..8))
    });
    outcomes
        .all_say(&["a copy of 6 elements into 4 elements", "must have the same length"])
        .all_cite(&["v.range(2..8)"]);
}

#[test]
fn one_wrong_pair_of_many_leaves_all_as_it_was() {
    let outcomes = every_route([2, 3]).run(|world| {
        let v = GVector::<i32>::from_fn(world, 10, |i| i as i32)?;
        let (mut a, mut b) = ([-1; 5], [-1; 3]);
        let pairs = [(&mut a[..], v.range(0..5)), (&mut b[..], v.range(5..10))];
        let outcome = distmemcpy_many(pairs);
        assert_eq!((a, b), ([-1; 5], [-1; 3]));
        outcome
    });
    outcomes.all_say(&["a copy of 5 elements into 3 elements"]);
}

#[test]
fn an_index_that_a_behaviour_does_not_show() {
    let outcomes = every_route([2, 4]).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let other = (world.rank().index() + 1) % world.size();
        let index = v.range_of(other).start;
        let range = v.local_range();
        let mut own = v.owner_computes_mut()?;
        let write = own.put(index, 1).unwrap_err().to_string();
        let seen = own.at(index);
        let words = format!("index {index} is outside {}..{}, the part of", range.start, range.end);
        assert!(write.contains(&words), "{write}");
        assert!(seen.as_ref().unwrap_err().to_string().contains(&words));
        seen.map(drop)
    });
    outcomes.all_say(&["that OwnerComputes shows here", "GVector<i32> of 10 elements"]).all_cite(&["own.at(index)"]);
}

#[test]
fn a_rank_that_does_not_exist() {
    on_every_route([1, 3], |job| {
        let size = job.ranks;
        let words = format!("rank 7 does not exist: this job has {size} ranks");
        let outcomes = job.run(|world| GVector::<i32>::on(world, 7, 10).map(drop));
        outcomes.all_say(&[&words]).all_cite(&["GVector::<i32>::on(world, 7, 10)"]);
        let outcomes = job.run(|world| GScalar::new(world, 7, 0u8).map(drop));
        outcomes.all_say(&[&words]).all_cite(&["GScalar::new(world, 7, 0u8)"]);
        let outcomes = job.run(|world| {
            let v = GVector::<i32>::new(world, 10)?;
            v.gather_to(7).map(drop)
        });
        outcomes.all_say(&[&words]).all_cite(&["v.gather_to(7)"]);
        // The number before rank 0.
        let outcomes = job.run(|world| GVector::<i32>::on(world, 0_usize.wrapping_sub(1), 10).map(drop));
        outcomes.all_say(&["does not exist: this job has"]).all_cite(&["0_usize.wrapping_sub(1)"]);
    });
}

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Point([f32; 2]);

struct Longest;

impl Op<Point> for Longest {
    fn apply(current: Point, operand: Point) -> Point {
        if operand.0[0] > current.0[0] { operand } else { current }
    }
}

#[test]
fn an_operation_that_owners_do_not_know() {
    let outcomes = every_route([1, 2, 3]).run(|world| {
        let mut v = GVector::<Point>::new(world, 10)?;
        let unknown = v.release_alone_with(Longest).map(drop);
        // The owners know the operation after all ranks have opened a scope with it.
        v.release_c_with(Longest)?.finish()?;
        v.release_alone_with(Longest)?.update(9, Point([1.0; 2]))?;
        unknown
    });
    outcomes
        .all_say(&["does not know operation", "Longest", "GVector<Point> of 10 elements"])
        .all_cite(&["let unknown"]);
}
