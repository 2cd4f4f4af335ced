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
    let sizes = [usize::MAX, usize::MAX / 8, usize::MAX / 16, 1 << 50];
    on_every_route([1, 2, 4], |job| {
        for size in sizes {
            let told = job.run(|world| GVector::<u64>::new(world, size).map(drop));
            let shape = format!("{size} elements of u64 need");
            told.all_say(&[&shape, "on the machine of rank", "use more machines"])
                .all_cite(&["GVector::<u64>::new(world, size)"]);
        }
    });
}

#[test]
fn more_than_fits_an_address() {
    on_every_route([1, 3], |job| {
        let told = job.run(|world| {
            let dim = MatrixDim::new(usize::MAX / 2, 3);
            GVector::<u8>::new(world, dim).map(drop)
        });
        told.all_say(&["x 3 of u8 need"]);
        let told = job.run(|world| GVector::<[u64; 512]>::on(world, 0, usize::MAX / 512).map(drop));
        told.all_say(&["need 16384 PiB"]);
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
            let words = format!("on the machine of rank {odd}");
            told.all_say(&["18446744073709551615 elements of u64 need", &words]);
        }
    });
}

#[test]
fn what_one_rank_alone_cannot_hold() {
    on_every_route([2, 3], |job| {
        let told = job.run(|world| GVector::<u8>::on(world, 1, 1usize << 46).map(drop));
        told.all_say(&["of u8 need 64 TiB on the machine of rank 1"]);
    });
}

#[test]
fn copies_of_the_whole_that_the_machine_cannot_hold_together() {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap();
    let available = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = available.unwrap().trim().strip_suffix("kB").unwrap();
    let half = kilobytes.trim().parse::<usize>().unwrap() * 512;
    on_every_route([3], |job| {
        let told = job.run(|world| {
            // Untouched zeros: it is made of nothing yet.
            let v = GVector::<u8>::new(world, half)?;
            v.read_cache().map(drop)
        });
        told.all_say(&["of u8 need", "on the machine of rank"]).all_cite(&["v.read_cache()"]);
    });
}

#[test]
fn a_from_fn_is_not_called_for_what_cannot_be() {
    on_every_route([2], |job| {
        let told = job.run(|world| GVector::<u64>::from_fn(world, usize::MAX, |_| unreachable!()).map(drop));
        told.all_say(&["need 16384 PiB"]);
    });
}

#[test]
fn after_a_refusal_the_program_can_go_on() {
    on_every_route([1, 2, 3], |job| {
        let told = job.run(|world| {
            let refused = GVector::<u64>::new(world, usize::MAX).map(drop);
            let mut v = GVector::<u64>::new(world, 10)?;
            v.fill(4)?;
            assert_eq!(v.read_cache()?.iter().sum::<u64>(), 40);
            world.barrier()?;
            refused
        });
        told.all_say(&["need 16384 PiB"]);
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
        told.all_say(&["a value of type Stubborn cannot travel"]).all_cite(&["GScalar::new(world, 0, Stubborn(1))"]);
    });
}
