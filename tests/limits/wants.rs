//! The jobs: three ranks in one control group.

use aurora_core::Route;
use aurora_core::ops::Sum;
use aurora_core::prelude::*;
use aurora_suite::notes::{note, noted};
use std::process::ExitCode;
use std::time::{Duration, Instant};

pub const RANKS: usize = 3;

const MIB: usize = 1 << 20;

/// The memory that a job requests, and the expected words of each of its ranks.
#[derive(Debug)]
pub struct Want {
    pub name: &'static str,
    pub words: &'static [&'static str],
    /// The limit of one copy; half of the free memory if it is not set.
    pub cache_limit: Option<&'static str>,
    nodes: Nodes,
    body: fn(&World) -> Result<()>,
}

/// The ranks that share memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Nodes {
    /// All ranks.
    One,
    /// Ranks 0 and 1, but not rank 2.
    Two,
    /// None. Each rank then has a cache of its own.
    Apart,
}

impl Want {
    pub fn succeeds(&self) -> bool {
        self.words == FINE
    }
}

/// More than the memory of the group, so that only missing memory is a limit.
const ANY: Option<&str> = Some("1GiB");

const FINE: &[&str] = &["fine"];

pub const ALL: &[Want] = &[
    Want {
        name: "blocks_that_fit_alone_but_not_together",
        nodes: Nodes::One,
        cache_limit: ANY,
        words: &[
            "OutOfMemory",
            "needs 133 MiB for its block of",
            "400 MiB with the ranks that share",
            "control group /",
        ],
        body: |world| GVector::<u8>::new(world, 400 * MIB).map(drop),
    },
    Want {
        name: "values_are_not_computed_for_blocks_that_do_not_fit",
        nodes: Nodes::One,
        cache_limit: ANY,
        words: &["OutOfMemory", "400 MiB with the ranks that share"],
        body: |world| GVector::<u8>::from_fn(world, 400 * MIB, |_| unreachable!("there is no room")).map(drop),
    },
    Want {
        name: "a_block_on_one_rank",
        nodes: Nodes::One,
        cache_limit: ANY,
        words: &["OutOfMemory", "rank 2 needs 300 MiB for its block of", "on rank 2"],
        body: |world| GVector::<u8>::on(world, 2, 300 * MIB).map(drop),
    },
    Want {
        name: "one_vector_after_another",
        nodes: Nodes::One,
        cache_limit: ANY,
        words: &["OutOfMemory", "for its block of"],
        body: |world| {
            let vectors: Result<Vec<_>> = (0..8).map(|_| GVector::<u8>::new(world, 48 * MIB)).collect();
            vectors.map(drop)
        },
    },
    Want {
        name: "small_vectors_too",
        nodes: Nodes::One,
        cache_limit: ANY,
        words: &["OutOfMemory", "for its block of"],
        body: |world| {
            let vectors: Result<Vec<_>> = (0..200).map(|_| GVector::<u8>::new(world, 6 * MIB)).collect();
            vectors.map(drop)
        },
    },
    Want {
        name: "a_map_that_grows",
        nodes: Nodes::One,
        cache_limit: ANY,
        words: &["OutOfMemory", "for its part of the GMap<usize, Vec>", "tests/limits/wants.rs"],
        body: |world| {
            let mut map = GMap::<usize, Vec<u8>>::new(world)?;
            for key in (world.rank().index()..1998).step_by(world.size()) {
                map.release_c()?.insert(key, vec![1; MIB])?;
            }
            map.global_len().map(drop)
        },
    },
    Want {
        name: "caches_beside_each_other",
        nodes: Nodes::Apart,
        cache_limit: ANY,
        words: &["OutOfMemory", "needs 70 MiB for a ReadCache of", "tests/limits/wants.rs"],
        body: |world| {
            let v = GVector::<u64>::from_fn(world, 70 * MIB / 8, |i| i as u64)?;
            v.read_cache().map(drop)
        },
    },
    Want {
        name: "caches_that_are_the_blocks_themselves",
        nodes: Nodes::One,
        cache_limit: ANY,
        words: FINE,
        body: |world| {
            let v = GVector::<u64>::from_fn(world, 200 * MIB / 8, |i| i as u64)?;
            assert!(v.read_cache()?.iter().enumerate().all(|(i, value)| *value == i as u64));
            Ok(())
        },
    },
    Want {
        // The blocks, and on each of the two nodes one copy of the other node's blocks: one and two thirds.
        name: "caches_that_each_node_has_once",
        nodes: Nodes::Two,
        cache_limit: ANY,
        words: FINE,
        body: |world| {
            let mut v = GVector::<u64>::new(world, 75 * MIB / 8)?;
            for round in 1..4 {
                v.owner_computes_mut()?.local_mut().fill(round);
                assert!(v.read_cache()?.iter().all(|value| *value == round));
                // Otherwise a rank that still shows the old blocks would make the new blocks take a second place.
                world.barrier()?;
            }
            Ok(())
        },
    },
    Want {
        name: "caches_for_which_a_node_has_no_room",
        nodes: Nodes::Two,
        cache_limit: ANY,
        words: &["OutOfMemory", "for a ReadCache of", "tests/limits/wants.rs"],
        body: |world| {
            let v = GVector::<u64>::new(world, 120 * MIB / 8)?;
            v.read_cache().map(drop)
        },
    },
    Want {
        name: "places_that_a_cache_has_given_back",
        nodes: Nodes::Two,
        cache_limit: ANY,
        words: FINE,
        body: |world| {
            let mut vectors = Vec::new();
            // Each block takes its own place, and while there is a cache, one copy on each node.
            for k in 1..=7 {
                let mut v = GVector::<u64>::on(world, 2, 20 * MIB / 8)?;
                if world.rank() == 2 {
                    v.owner_computes_mut()?.local_mut().fill(k);
                }
                for _ in 0..2 {
                    assert!(v.read_cache()?.iter().all(|value| *value == k));
                    v.release_cache()?;
                }
                vectors.push(v);
            }
            Ok(())
        },
    },
    Want {
        name: "a_rank_that_comes_late_to_a_cache",
        nodes: Nodes::Apart,
        cache_limit: ANY,
        words: &["OutOfMemory", "needs 70 MiB for a ReadCache of"],
        body: |world| {
            let v = GVector::<u64>::from_fn(world, 70 * MIB / 8, |i| i as u64)?;
            if world.rank() == 1 {
                std::thread::sleep(std::time::Duration::from_millis(500));
            }
            v.read_cache().map(drop)
        },
    },
    Want {
        name: "partial_copies_beside_each_other",
        nodes: Nodes::One,
        cache_limit: ANY,
        words: &["OutOfMemory", "for this rank's part of an Accumulate of", "tests/limits/wants.rs"],
        body: |world| {
            let len = 70 * MIB / 8;
            let mut v = GVector::<u64>::new(world, len)?;
            let mut sums = v.accumulate(Sum)?;
            let touched = (0..len).try_for_each(|i| sums.update(i, 1));
            touched.and(sums.finish()).and(world.barrier()).and(v.at(0).map(drop))
        },
    },
    Want {
        name: "partial_copies_of_a_few_elements",
        nodes: Nodes::One,
        cache_limit: ANY,
        words: FINE,
        body: |world| {
            let mut v = GVector::<u64>::new(world, 100 * MIB / 8)?;
            for _ in 0..3 {
                let mut sums = v.accumulate(Sum)?;
                (0..100 * MIB / 8).step_by(1000).try_for_each(|i| sums.update(i, 1))?;
            }
            world.barrier()?;
            assert_eq!((v.at(0)?, v.at(1)?), (9, 0));
            Ok(())
        },
    },
    Want {
        name: "halos_for_which_there_is_no_room",
        nodes: Nodes::Apart,
        cache_limit: ANY,
        words: &["OutOfMemory", "for a HaloCache of", "tests/limits/wants.rs"],
        body: |world| {
            let v = GVector::<u64>::new(world, 30 * MIB / 8)?;
            v.halo_cache(Halo::periodic(30 * MIB / 8)).map(drop)
        },
    },
    Want {
        name: "a_halo_into_which_neighbours_push_before_there_is_room",
        nodes: Nodes::One,
        cache_limit: ANY,
        words: &["OutOfMemory", "for a HaloCache of", "tests/limits/wants.rs"],
        body: |world| {
            let v = GVector::<u64>::new(world, 30 * MIB / 8)?;
            let mut taken = Vec::new();
            if world.rank() == 1 {
                taken.resize(120 * MIB, 1u8);
                std::thread::sleep(std::time::Duration::from_millis(500));
            }
            let shown = v.halo_cache(Halo::fixed(10 * MIB / 8)).map(drop);
            assert!(taken.iter().all(|byte| *byte == 1));
            shown
        },
    },
    Want {
        name: "halos_and_edges_that_fit",
        nodes: Nodes::Apart,
        cache_limit: ANY,
        words: FINE,
        body: |world| {
            let mut v = GVector::<u64>::new(world, 30 * MIB / 8)?;
            for _ in 0..3 {
                let mut h = v.halo_cache_mut(Halo::fixed(8 * MIB / 8))?;
                for step in 1..6 {
                    h.local_mut().fill(step);
                    h.refresh()?;
                    assert!(h.before().iter().chain(h.behind()).all(|value| *value == step));
                }
            }
            Ok(())
        },
    },
    Want {
        name: "a_gather",
        nodes: Nodes::One,
        cache_limit: ANY,
        words: &["OutOfMemory", "rank 1 needs 140 MiB for a gather of"],
        body: |world| {
            let v = GVector::<u8>::new(world, 140 * MIB)?;
            v.gather_to(1).map(drop)
        },
    },
    Want {
        name: "what_fits",
        nodes: Nodes::One,
        cache_limit: ANY,
        words: FINE,
        body: |world| {
            let v = GVector::<u64>::from_fn(world, 40 * MIB / 8, |i| i as u64)?;
            assert!(v.read_cache()?.iter().enumerate().all(|(i, value)| *value == i as u64));
            let whole = v.gather_to(2)?;
            assert_eq!(whole.map(|whole| whole.len()), (world.rank() == 2).then_some(40 * MIB / 8));
            Ok(())
        },
    },
    Want {
        name: "memory_that_a_cache_has_given_back",
        nodes: Nodes::Apart,
        cache_limit: ANY,
        words: FINE,
        body: |world| {
            let mut vectors = Vec::new();
            // Two such caches would not fit at the same time.
            for k in 0..3 {
                let mut v = GVector::<u64>::from_fn(world, 30 * MIB / 8, |i| (i + k) as u64)?;
                for _ in 0..2 {
                    assert!(v.read_cache()?.iter().enumerate().all(|(i, value)| *value == (i + k) as u64));
                    v.release_cache()?;
                }
                vectors.push(v);
            }
            Ok(())
        },
    },
    Want {
        name: "a_block_that_moves_away_from_its_readers",
        nodes: Nodes::One,
        cache_limit: ANY,
        words: &["OutOfMemory", "needs 66 MiB for a copy of its block, which other ranks still read, of"],
        body: |world| {
            let mut v = GVector::<u64>::new(world, 198 * MIB / 8)?;
            let copy = v.read_cache()?;
            if world.rank().index() > 0 {
                let met = world.barrier();
                assert!(copy.iter().all(|value| *value == 0));
                return met;
            }
            drop(copy);
            v.owner_computes_mut()?.local_mut().fill(1);
            world.barrier()
        },
    },
    Want {
        // Less than 166 MiB are free.
        name: "a_cache_of_more_than_half_of_what_is_free",
        nodes: Nodes::Apart,
        cache_limit: None,
        words: &["CacheLimit", "needs 90 MiB for a ReadCache of", "more than half of the", "tests/limits/wants.rs"],
        body: |world| {
            let v = GVector::<u64>::new(world, 90 * MIB / 8)?;
            v.read_cache().map(drop)
        },
    },
    Want {
        name: "a_cache_of_more_than_is_allowed",
        nodes: Nodes::Apart,
        cache_limit: Some("30M"),
        words: &["CacheLimit", "needs 40 MiB for a ReadCache of", "more than the 30 MiB of AURORA_CACHE_LIMIT"],
        body: |world| {
            let v = GVector::<u64>::new(world, 40 * MIB / 8)?;
            v.read_cache_blocks().map(drop)
        },
    },
    Want {
        name: "caches_of_as_much_as_is_allowed",
        nodes: Nodes::Two,
        cache_limit: Some("30M"),
        words: FINE,
        body: |world| {
            let mut v = GVector::<u64>::new(world, 30 * MIB / 8)?;
            for round in 1..4 {
                v.owner_computes_mut()?.local_mut().fill(round);
                assert!(v.read_cache_blocks()?.whole()?.iter().all(|value| *value == round));
                world.barrier()?;
            }
            Ok(())
        },
    },
    Want {
        name: "less_after_too_much",
        nodes: Nodes::Apart,
        cache_limit: ANY,
        words: FINE,
        body: |world| {
            for _ in 0..2 {
                let v = GVector::<u64>::from_fn(world, 70 * MIB / 8, |i| i as u64)?;
                let refused = v.read_cache();
                assert!(matches!(refused, Err(Error::OutOfMemory { .. })), "{refused:?}");
                drop(refused);
                drop(v);
                // Wait until the memory is free again on all ranks.
                world.barrier()?;
                let v = GVector::<u64>::from_fn(world, 20 * MIB / 8, |i| i as u64)?;
                assert!(v.read_cache()?.iter().enumerate().all(|(i, value)| *value == i as u64));
            }
            Ok(())
        },
    },
];

/// The name of a rank's note of its result.
pub fn note_of(rank: usize) -> String {
    format!("rank-{rank}")
}

pub fn main(name: &str) -> ExitCode {
    let want = ALL.iter().find(|want| want.name == name).expect("a name");
    let together = Config::processes(RANKS);
    let config = match want.nodes {
        Nodes::One => together,
        Nodes::Two => together.ranks_per_node(2),
        Nodes::Apart => together.route(Route::Udp),
    };
    let outcome = config.run(|world| {
        let outcome = (want.body)(world);
        let told = match &outcome {
            Ok(()) => "fine".into(),
            Err(error @ Error::OutOfMemory { .. }) => format!("OutOfMemory: {error}"),
            Err(error @ Error::CacheLimit { .. }) => format!("CacheLimit: {error}"),
            Err(error) => format!("another error: {error}"),
        };
        note(&note_of(world.rank().index()), &told);
        if outcome.is_err() {
            // The first rank that fails ends the job, so each rank waits until all ranks have written their notes.
            let until = Instant::now() + Duration::from_secs(20);
            while (0..RANKS).any(|rank| noted(&note_of(rank)).is_none()) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        outcome
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

#[allow(clippy::print_stderr)]
fn say(text: &str) {
    eprintln!("{text}");
}
