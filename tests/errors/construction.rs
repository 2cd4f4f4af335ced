//! Objects that cannot be made: refused on all ranks, even if one rank alone asks for them.

use crate::provoke::on_every_route;
use aurora_core::prelude::*;

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Nothing;

#[test]
fn elements_without_size() {
    on_every_route([1, 2, 3], |job| {
        let told = job.run(|world| GVector::<Nothing>::new(world, 10).map(drop));
        told.all_say(&["have no size", "Nothing"]).all_cite(&["GVector::<Nothing>::new(world, 10)"]);
        let told = job.run(|world| GVector::<()>::new(world, 10).map(drop));
        told.all_say(&["elements of type () have no size"]);
    });
}

#[test]
fn more_than_the_machine_has() {
    on_every_route([1, 2, 4], |job| {
        for size in [usize::MAX / 16, 1 << 50] {
            let told = job.run(|world| GVector::<u64>::new(world, size).map(drop));
            let object = format!("for its block of the GVector<u64> of {size} elements (made at tests/errors/");
            told.all_say(&["rank 0 needs", &object, "use more machines"])
                .all_cite(&["GVector::<u64>::new(world, size)"]);
            if job.ranks > 1 {
                told.all_say(&["with the ranks that share its memory"]);
            }
        }
    });
}

#[test]
fn more_than_fits_an_address() {
    on_every_route([1, 3], |job| {
        for size in [usize::MAX, usize::MAX / 8] {
            let told = job.run(|world| GVector::<u64>::new(world, size).map(drop));
            let words = format!("{size} elements of u64 are more bytes than rank");
            told.all_say(&[&words, "share less data"]).all_cite(&["GVector::<u64>::new(world, size)"]);
        }
        let told = job.run(|world| {
            let dim = MatrixDim::new(usize::MAX / 2, 3);
            GVector::<u8>::new(world, dim).map(drop)
        });
        told.all_say(&["x 3 of u8 are more bytes than rank"]);
        let told = job.run(|world| GVector::<[u64; 512]>::on(world, 0, usize::MAX / 512).map(drop));
        told.all_say(&["more bytes than rank"]);
    });
}

#[test]
fn too_large_on_one_rank_alone() {
    on_every_route([2, 3, 4], |job| {
        for odd in 0..job.ranks {
            let told = job.run(|world| {
                let len = if world.rank() == odd { usize::MAX } else { 10 };
                GVector::<u64>::new(world, len).map(drop)
            });
            let words = format!("18446744073709551615 elements of u64 are more bytes than rank {odd} can address");
            told.all_say(&[&words]);
            let told = job.run(|world| {
                let len = if world.rank() == odd { 1 << 50 } else { 10 };
                GVector::<u64>::new(world, len).map(drop)
            });
            told.all_say(&["ranks disagree", "of 10 elements", "of 1125899906842624 elements"]);
        }
    });
}

#[test]
fn what_one_rank_alone_cannot_hold() {
    on_every_route([2, 3], |job| {
        let told = job.run(|world| GVector::<u8>::on(world, 1, 1usize << 46).map(drop));
        told.all_say(&["rank 1 needs 64 TiB for its block of the GVector<u8> of 70368744177664 elements on rank 1"]);
        assert!(!told.text(0).contains("with the ranks"), "the others need nothing: {}", told.text(0));
    });
}

#[test]
fn a_from_fn_is_not_called_for_what_cannot_be() {
    on_every_route([2], |job| {
        for (len, words) in [(usize::MAX, "more bytes than rank"), (1 << 50, "needs 4096 TiB for its block")] {
            let told = job.run(|world| GVector::<u64>::from_fn(world, len, |_| unreachable!()).map(drop));
            told.all_say(&[words]);
        }
    });
}

#[test]
fn after_a_refusal_the_program_can_go_on() {
    on_every_route([1, 2, 3], |job| {
        for len in [usize::MAX, 1 << 50] {
            let told = job.run(|world| {
                let refused = GVector::<u64>::new(world, len).map(drop);
                let mut v = GVector::<u64>::new(world, 10)?;
                v.fill(4)?;
                assert_eq!(v.read_cache()?.iter().sum::<u64>(), 40);
                world.barrier()?;
                refused
            });
            told.all_say(&["elements"]);
        }
    });
}

#[test]
fn a_panic_while_one_rank_makes_its_part() {
    on_every_route([2, 3], |job| {
        let told = job.run_freely(|world| {
            GVector::<u64>::from_fn(world, 10, |i| {
                assert!(i != 9, "nine is not possible");
                i as u64
            })
            .map(drop)
        });
        let text = told.run.as_ref().expect_err("the panic").to_string();
        assert!(text.contains("panicked: nine is not possible"), "{text}");
        assert!(text.contains("tests/errors/construction.rs:"), "{text}");
        for rank in 0..job.ranks - 1 {
            told.says(rank, &["failed: panicked: nine is not possible"]);
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
    on_every_route([1, 2, 3], |job| {
        let told = job.run(|world| GScalar::new(world, 0, Stubborn(1)).map(drop));
        told.all_say(&["a value of type Stubborn cannot be sent to other ranks"])
            .all_cite(&["GScalar::new(world, 0, Stubborn(1))"]);
    });
}
