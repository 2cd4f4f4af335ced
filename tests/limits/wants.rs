//! The jobs: three ranks in one control group.

use Nodes::{Apart, One, Two};
use aurora_core::Route;
use aurora_core::ops::Sum;
use aurora_core::prelude::*;
use aurora_suite::job::exit_code;
use aurora_suite::notes::{note, noted};
use std::process::ExitCode;
use std::time::{Duration, Instant};

pub const RANKS: usize = 3;

const MIB: usize = 1 << 20;

type Words = &'static [&'static str];

/// The memory that a job requests, and the expected words of each of its ranks.
#[derive(Debug)]
pub struct Want {
    pub name: &'static str,
    pub words: Words,
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

/// A case in which only missing memory is a limit.
const fn want(name: &'static str, nodes: Nodes, words: Words, body: fn(&World) -> Result<()>) -> Want {
    Want { name, words, cache_limit: ANY, nodes, body }
}

impl Want {
    const fn cache_limit(self, cache_limit: Option<&'static str>) -> Self {
        Want { cache_limit, ..self }
    }

    pub fn succeeds(&self) -> bool {
        self.words == FINE
    }
}

/// More than the memory of the group, so that only missing memory is a limit.
const ANY: Option<&str> = Some("1GiB");

const FINE: Words = &["fine"];

pub const ALL: &[Want] = &[
    want(
        "blocks_that_fit_alone_but_not_together",
        One,
        &["OutOfMemory", "needs 133 MiB for its block of", "400 MiB with the ranks that share", "control group /"],
        |world| GVector::<u8>::new(world, 400 * MIB).map(drop),
    ),
    want(
        "values_are_not_computed_for_blocks_that_do_not_fit",
        One,
        &["OutOfMemory", "400 MiB with the ranks that share"],
        |world| GVector::<u8>::from_fn(world, 400 * MIB, |_| unreachable!("there is no room")).map(drop),
    ),
    want("a_block_on_one_rank", One, &["OutOfMemory", "rank 2 needs 300 MiB for its block of", "on rank 2"], |world| {
        GVector::<u8>::on(world, 2, 300 * MIB).map(drop)
    }),
    want("one_vector_after_another", One, &["OutOfMemory", "for its block of"], |world| {
        let vectors: Result<Vec<_>> = (0..8).map(|_| GVector::<u8>::new(world, 48 * MIB)).collect();
        vectors.map(drop)
    }),
    want("small_vectors_too", One, &["OutOfMemory", "for its block of"], |world| {
        let vectors: Result<Vec<_>> = (0..200).map(|_| GVector::<u8>::new(world, 6 * MIB)).collect();
        vectors.map(drop)
    }),
    want(
        "a_map_that_grows",
        One,
        &["OutOfMemory", "for its part of the GMap<usize, Vec>", "tests/limits/wants.rs"],
        |world| {
            let mut map = GMap::<usize, Vec<u8>>::new(world)?;
            for key in (world.rank().index()..1998).step_by(world.size()) {
                map.release_c()?.insert(key, vec![1; MIB])?;
            }
            map.global_len().map(drop)
        },
    ),
    want(
        "caches_beside_each_other",
        Apart,
        &["OutOfMemory", "needs 70 MiB for a ReadCache of", "tests/limits/wants.rs"],
        |world| {
            let v = GVector::<u64>::from_fn(world, 70 * MIB / 8, |i| i as u64)?;
            v.read_cache().map(drop)
        },
    ),
    want("caches_that_are_the_blocks_themselves", One, FINE, |world| {
        let v = GVector::<u64>::from_fn(world, 200 * MIB / 8, |i| i as u64)?;
        assert!(v.read_cache()?.iter().enumerate().all(|(i, value)| *value == i as u64));
        Ok(())
    }),
    // The blocks, and on each of the two nodes one copy of the other node's blocks: one and two thirds.
    want("caches_that_each_node_has_once", Two, FINE, |world| {
        let mut v = GVector::<u64>::new(world, 75 * MIB / 8)?;
        for round in 1..4 {
            v.owner_computes_mut()?.local_mut().fill(round);
            assert!(v.read_cache()?.iter().all(|value| *value == round));
            // Otherwise a rank that still shows the old blocks would make the new blocks take a second place.
            world.barrier()?;
        }
        Ok(())
    }),
    want(
        "caches_for_which_a_node_has_no_room",
        Two,
        &["OutOfMemory", "for a ReadCache of", "tests/limits/wants.rs"],
        |world| {
            let v = GVector::<u64>::new(world, 120 * MIB / 8)?;
            v.read_cache().map(drop)
        },
    ),
    want("places_that_a_cache_has_given_back", Two, FINE, |world| {
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
    }),
    want("a_rank_that_comes_late_to_a_cache", Apart, &["OutOfMemory", "needs 70 MiB for a ReadCache of"], |world| {
        let v = GVector::<u64>::from_fn(world, 70 * MIB / 8, |i| i as u64)?;
        if world.rank() == 1 {
            std::thread::sleep(std::time::Duration::from_millis(500));
        }
        v.read_cache().map(drop)
    }),
    want(
        "partial_copies_beside_each_other",
        One,
        &["OutOfMemory", "for this rank's part of an Accumulate of", "tests/limits/wants.rs"],
        |world| {
            let len = 70 * MIB / 8;
            let mut v = GVector::<u64>::new(world, len)?;
            let mut sums = v.accumulate(Sum)?;
            let touched = (0..len).try_for_each(|i| sums.update(i, 1));
            touched.and(sums.finish()).and(world.barrier()).and(v.at(0).map(drop))
        },
    ),
    want("partial_copies_of_a_few_elements", One, FINE, |world| {
        let mut v = GVector::<u64>::new(world, 100 * MIB / 8)?;
        for _ in 0..3 {
            let mut sums = v.accumulate(Sum)?;
            (0..100 * MIB / 8).step_by(1000).try_for_each(|i| sums.update(i, 1))?;
        }
        world.barrier()?;
        assert_eq!((v.at(0)?, v.at(1)?), (9, 0));
        Ok(())
    }),
    want(
        "halos_for_which_there_is_no_room",
        Apart,
        &["OutOfMemory", "for a HaloCache of", "tests/limits/wants.rs"],
        |world| {
            let v = GVector::<u64>::new(world, 30 * MIB / 8)?;
            v.halo_cache(Halo::periodic(30 * MIB / 8)).map(drop)
        },
    ),
    want(
        "a_halo_into_which_neighbours_push_before_there_is_room",
        One,
        &["OutOfMemory", "for a HaloCache of", "tests/limits/wants.rs"],
        |world| {
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
    ),
    want("halos_and_edges_that_fit", Apart, FINE, |world| {
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
    }),
    want("a_gather", One, &["OutOfMemory", "rank 1 needs 140 MiB for a gather of"], |world| {
        let v = GVector::<u8>::new(world, 140 * MIB)?;
        v.gather_to(1).map(drop)
    }),
    want("what_fits", One, FINE, |world| {
        let v = GVector::<u64>::from_fn(world, 40 * MIB / 8, |i| i as u64)?;
        assert!(v.read_cache()?.iter().enumerate().all(|(i, value)| *value == i as u64));
        let whole = v.gather_to(2)?;
        assert_eq!(whole.map(|whole| whole.len()), (world.rank() == 2).then_some(40 * MIB / 8));
        Ok(())
    }),
    want("memory_that_a_cache_has_given_back", Apart, FINE, |world| {
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
    }),
    want(
        "a_block_that_moves_away_from_its_readers",
        One,
        &["OutOfMemory", "needs 66 MiB for a copy of its block, which other ranks still read, of"],
        |world| {
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
    ),
    // Less than 166 MiB are free.
    want(
        "a_cache_of_more_than_half_of_what_is_free",
        Apart,
        &["CacheLimit", "needs 90 MiB for a ReadCache of", "more than half of the", "tests/limits/wants.rs"],
        |world| {
            let v = GVector::<u64>::new(world, 90 * MIB / 8)?;
            v.read_cache().map(drop)
        },
    )
    .cache_limit(None),
    want(
        "a_cache_of_more_than_is_allowed",
        Apart,
        &["CacheLimit", "needs 40 MiB for a ReadCache of", "more than the 30 MiB of AURORA_CACHE_LIMIT"],
        |world| {
            let v = GVector::<u64>::new(world, 40 * MIB / 8)?;
            v.read_cache_blocks().map(drop)
        },
    )
    .cache_limit(Some("30M")),
    want("caches_of_as_much_as_is_allowed", Two, FINE, |world| {
        let mut v = GVector::<u64>::new(world, 30 * MIB / 8)?;
        for round in 1..4 {
            v.owner_computes_mut()?.local_mut().fill(round);
            assert!(v.read_cache_blocks()?.whole()?.iter().all(|value| *value == round));
            world.barrier()?;
        }
        Ok(())
    })
    .cache_limit(Some("30M")),
    want("less_after_too_much", Apart, FINE, |world| {
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
    }),
];

/// The name of a rank's note of its result.
pub fn note_of(rank: usize) -> String {
    format!("rank-{rank}")
}

pub fn main(name: &str) -> ExitCode {
    let want = ALL.iter().find(|want| want.name == name).expect("a name");
    let together = Config::processes(RANKS);
    let config = match want.nodes {
        One => together,
        Two => together.ranks_per_node(2),
        Apart => together.route(Route::Udp),
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
    exit_code(outcome)
}
