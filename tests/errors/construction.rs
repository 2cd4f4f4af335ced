//! Objects that cannot be made: all ranks refuse them, even if only one rank asks for them.

use crate::provoke::{every_route, on_every_route};
use aurora_core::prelude::*;

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Nothing;

#[test]
fn elements_without_size() {
    let outcomes = every_route([1, 2, 3]).run(|world| GVector::<Nothing>::new(world, 10).map(drop));
    outcomes.all_say(&["have no size", "Nothing"]).all_cite(&["GVector::<Nothing>::new(world, 10)"]);
    let outcomes = every_route([1, 2, 3]).run(|world| GVector::<()>::new(world, 10).map(drop));
    outcomes.all_say(&["elements of type () have no size"]);
}

#[test]
fn more_than_the_machine_has() {
    on_every_route([1, 2, 4], |job| {
        for size in [usize::MAX / 16, 1 << 50] {
            let outcomes = job.run(|world| GVector::<u64>::new(world, size).map(drop));
            let object = format!("for its block of the GVector<u64> of {size} elements (made at tests/errors/");
            outcomes
                .all_say(&["rank 0 needs", &object, "use more machines"])
                .all_cite(&["GVector::<u64>::new(world, size)"]);
            if job.ranks > 1 {
                outcomes.all_say(&["with the ranks that share its memory"]);
            }
        }
    });
}

#[test]
fn more_than_fits_an_address() {
    for size in [usize::MAX, usize::MAX / 8] {
        let outcomes = every_route([1, 3]).run(|world| GVector::<u64>::new(world, size).map(drop));
        let words = format!("{size} elements of u64 are more bytes than rank");
        outcomes.all_say(&[&words, "share less data"]).all_cite(&["GVector::<u64>::new(world, size)"]);
    }
    let outcomes = every_route([1, 3]).run(|world| {
        let dim = MatrixDim::new(usize::MAX / 2, 3);
        GVector::<u8>::new(world, dim).map(drop)
    });
    outcomes.all_say(&["x 3 of u8 are more bytes than rank"]);
    let outcomes = every_route([1, 3]).run(|world| GVector::<[u64; 512]>::on(world, 0, usize::MAX / 512).map(drop));
    outcomes.all_say(&["more bytes than rank"]);
}

/// Rows without columns need no memory, but their number must not overflow.
#[test]
fn more_rows_than_can_be_counted() {
    let outcomes = every_route([2, 3]).run(|world| {
        let rows = vec![usize::MAX; world.size()];
        GVector::<u64>::new(world, Partition::rows(&rows, 0)).map(drop)
    });
    outcomes
        .all_say(&["x 0 in blocks of [", "the number of rows is greater than 18446744073709551615"])
        .all_cite(&["GVector::<u64>::new(world, Partition::rows(&rows, 0))"]);
    let outcomes = every_route([2, 3]).run(|world| {
        let rows = vec![1 << 40; world.size()];
        let empty = GVector::<u64>::new(world, Partition::rows(&rows, 0))?;
        assert_eq!((empty.len(), empty.dim()), (0, Some(MatrixDim::new(world.size() << 40, 0))));
        Ok(())
    });
    outcomes.succeed("no element takes no memory");
}

#[test]
fn too_large_on_one_rank_alone() {
    on_every_route([2, 3, 4], |job| {
        for odd in 0..job.ranks {
            let outcomes = job.run(|world| {
                let len = if world.rank() == odd { usize::MAX } else { 10 };
                GVector::<u64>::new(world, len).map(drop)
            });
            let words = format!("18446744073709551615 elements of u64 are more bytes than rank {odd} can address");
            outcomes.all_say(&[&words]);
            let outcomes = job.run(|world| {
                let len = if world.rank() == odd { 1 << 50 } else { 10 };
                GVector::<u64>::new(world, len).map(drop)
            });
            outcomes.all_say(&["ranks disagree", "of 10 elements", "of 1125899906842624 elements"]);
        }
    });
}

#[test]
fn what_one_rank_alone_cannot_hold() {
    on_every_route([2, 3], |job| {
        let outcomes = job.run(|world| GVector::<u8>::on(world, 1, 1usize << 46).map(drop));
        outcomes
            .all_say(&["rank 1 needs 64 TiB for its block of the GVector<u8> of 70368744177664 elements on rank 1"]);
        assert!(!outcomes.text(0).contains("with the ranks"), "the others need nothing: {}", outcomes.text(0));
    });
}

#[test]
fn a_from_fn_is_not_called_for_what_cannot_be() {
    for (len, words) in [(usize::MAX, "more bytes than rank"), (1 << 50, "needs 4096 TiB for its block")] {
        let outcomes = every_route([2]).run(|world| GVector::<u64>::from_fn(world, len, |_| unreachable!()).map(drop));
        outcomes.all_say(&[words]);
    }
}

#[test]
fn after_a_refusal_the_program_can_go_on() {
    for len in [usize::MAX, 1 << 50] {
        let outcomes = every_route([1, 2, 3]).run(|world| {
            let refused = GVector::<u64>::new(world, len).map(drop);
            let mut v = GVector::<u64>::new(world, 10)?;
            v.fill(4)?;
            assert_eq!(v.read_cache()?.iter().sum::<u64>(), 40);
            world.barrier()?;
            refused
        });
        outcomes.all_say(&["elements"]);
    }
}

#[test]
fn a_panic_while_one_rank_makes_its_part() {
    on_every_route([2, 3], |job| {
        let outcomes = job.run_freely(|world| {
            GVector::<u64>::from_fn(world, 10, |i| {
                assert!(i != 9, "nine is not possible");
                i as u64
            })
            .map(drop)
        });
        outcomes.run_says(&["panicked: nine is not possible", "tests/errors/construction.rs:"]);
        for rank in 0..job.ranks - 1 {
            outcomes.says(rank, &["failed: panicked: nine is not possible"]);
        }
    });
}

#[test]
fn a_value_that_cannot_travel() {
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Stubborn(#[serde(serialize_with = "refuse")] u8);
    fn refuse<S: serde::Serializer>(_: &u8, _: S) -> std::result::Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("will not go"))
    }
    let outcomes = every_route([1, 2, 3]).run(|world| GScalar::new(world, 0, Stubborn(1)).map(drop));
    outcomes
        .all_say(&["a value of type Stubborn cannot be sent to other ranks"])
        .all_cite(&["GScalar::new(world, 0, Stubborn(1))"]);
}

#[test]
fn lengths_for_another_number_of_ranks() {
    on_every_route([1, 2, 3], |job| {
        let [many, few] = [job.ranks + 1, job.ranks - 1];
        let outcomes = job.run(|world| GVector::<u8>::new(world, Partition::lengths(&vec![4; many])).map(drop));
        outcomes
            .all_say(&[&format!("{many} lengths for {} ranks", job.ranks), "give one for each rank"])
            .all_cite(&["Partition::lengths(&vec![4; many])"]);
        let outcomes = job.run(|world| GVector::<u8>::new(world, Partition::rows(&vec![4; few], 3)).map(drop));
        outcomes.all_say(&[&format!("{few} numbers of rows for {} ranks", job.ranks)]);
        let outcomes = job.run(|world| GVector::<u8>::new(world, Partition::weighted(10, &vec![1.0; many])).map(drop));
        outcomes
            .all_say(&[&format!("{many} weights for {} ranks", job.ranks)])
            .all_cite(&["Partition::weighted(10, &vec![1.0; many])"]);
        // Only one rank passes the wrong lengths, and the program continues.
        let outcomes = job.run(|world| {
            let lengths = vec![4; if world.rank() == job.ranks - 1 { many } else { job.ranks }];
            let refused = GVector::<u8>::from_fn(world, Partition::lengths(&lengths), |i| i as u8).map(drop);
            let v = GVector::<u8>::from_fn(world, 10, |i| i as u8)?;
            assert_eq!(v.read_cache()?.iter().sum::<u8>(), 45);
            refused
        });
        outcomes.all_say(&[&format!("{many} lengths for {} ranks", job.ranks)]);
    });
}

#[test]
fn weights_that_are_none() {
    on_every_route([1, 2, 3], |job| {
        for (bad, text) in [(-1.0, "-1"), (f64::NAN, "NaN"), (f64::INFINITY, "inf"), (f64::NEG_INFINITY, "-inf")] {
            let outcomes = job.run(|world| {
                let mut weights = vec![1.0; world.size()];
                weights[job.ranks - 1] = bad;
                GVector::<u64>::new(world, Partition::weighted((10, 3), &weights)).map(drop)
            });
            outcomes
                .all_say(&[&format!("rank {} cannot have the weight {text}", job.ranks - 1), "0 or greater"])
                .all_cite(&["Partition::weighted((10, 3), &weights)"]);
        }
        let outcomes = job.run(|world| {
            let weights = vec![0.0; world.size()];
            GVector::<u64>::new(world, Partition::weighted(10, &weights)).map(drop)
        });
        outcomes
            .all_say(&[&format!("the weights of all {} ranks are 0", job.ranks), "a weight greater than 0"])
            .all_cite(&["Partition::weighted(10, &weights)"]);
    });
}

#[test]
fn blocks_that_together_are_too_long() {
    on_every_route([2, 3], |job| {
        let outcomes = job.run(|world| {
            let mut lengths = vec![1; world.size()];
            lengths[0] = usize::MAX;
            GVector::<u64>::new(world, Partition::lengths(&lengths)).map(drop)
        });
        let most = usize::MAX as u128 + job.ranks as u128 - 1;
        outcomes.all_say(&[&format!("{most} elements in blocks of [18446744073709551615, 1"), "can address"]);
        let outcomes = job.run(|world| {
            let rows = vec![usize::MAX / 8; world.size()];
            GVector::<u8>::new(world, Partition::rows(&rows, 5)).map(drop)
        });
        outcomes
            .all_say(&["x 5 in blocks of [2305843009213693951, 2305843009213693951", "] rows of u8 are more bytes"]);
    });
}

#[test]
fn lengths_that_differ_between_ranks() {
    let outcomes = every_route([2, 3, 4]).run(|world| {
        let mut lengths = vec![5; world.size()];
        lengths[1] = 2;
        if world.rank() == 1 {
            lengths.swap(0, 1);
            GVector::<u64>::new(world, Partition::lengths(&lengths)).map(drop)
        } else {
            GVector::<u64>::from_fn(world, Partition::lengths(&lengths), |_| 0).map(drop)
        }
    });
    outcomes
        .all_say(&["ranks disagree", "elements in blocks of [5, 2", "elements in blocks of [2, 5"])
        .all_say(&["the lists differ first at rank 0: "])
        .all_cite(&["GVector::<u64>::new(world", "GVector::<u64>::from_fn(world"]);
    let outcomes = every_route([2, 3, 4]).run(|world| {
        let lengths: Vec<usize> = (0..world.size()).collect();
        match world.is_root() {
            true => GVector::<u64>::new(world, Partition::lengths(&lengths)).map(drop),
            false => GVector::<u64>::new(world, lengths.iter().sum::<usize>()).map(drop),
        }
    });
    outcomes.all_say(&["ranks disagree", "elements in blocks of [0, 1"]);
    let outcomes = every_route([2, 3, 4]).run(|world| {
        let mut weights = vec![1.0; world.size()];
        weights[world.rank().index()] = 3.0;
        GVector::<u64>::new(world, Partition::weighted(100, &weights)).map(drop)
    });
    outcomes.all_say(&["100 elements in blocks of weights [", "the lists differ first at rank "]);
}

#[test]
fn what_one_rank_alone_is_to_own_and_cannot_hold() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut lengths = vec![1; world.size()];
        lengths[1] = 1 << 46;
        GVector::<u8>::new(world, Partition::lengths(&lengths)).map(drop)
    });
    outcomes
        .all_say(&["rank 1 needs 64 TiB for its block of the GVector<u8> of 7036874417766", "in blocks of [1, 7036"]);
}
