//! The histogram on ranks that are threads: right for every size, by each implementation, and damage is found.

use aurora_apps::histogram::Histogram;
use aurora_apps::implementation::Implementation;
use aurora_apps::job::{App, Job};
use aurora_apps::report::{Comparison, Report};
use aurora_core::prelude::*;

const ALL: [Implementation; 4] =
    [Implementation::Aurora, Implementation::Accumulate, Implementation::Naive, Implementation::Sequential];

fn run(ranks: usize, job: Job<Histogram>) -> Comparison<Report> {
    let job = &job;
    Config::threads(ranks)
        .run(|world| Histogram::run(world, job, &mut |_| ()))
        .unwrap_or_else(|error| panic!("{job:?} on {ranks} ranks: {error}"))
}

fn small(table: usize, updates: usize) -> Job<Histogram> {
    Job { implementations: ALL.into(), reps: 2, seed: Some(17), ..Job::of(Histogram { table, updates }) }
}

#[test]
fn every_size_is_verified() {
    for ranks in 1..=4 {
        for (table, updates) in [(0, 10), (1, 0), (1, 100), (3, 100), (1000, 7), (1000, 3000), (50_000, 20_000)] {
            let report = run(ranks, small(table, updates));
            assert_eq!(report.results.len(), 4);
            for report in report.results {
                assert!(report.verified, "{report:?}");
                assert_eq!((report.ranks, report.size, report.reps), (ranks, table, 2));
                assert_eq!(report.measures["updates"], updates);
            }
        }
    }
}

#[test]
fn one_misplaced_update_is_noticed_in_each() {
    for ranks in 1..=4 {
        for table in [1, 2, 1000] {
            let report = run(ranks, Job { damage: true, ..small(table, 2000) });
            assert!(report.results.iter().all(|report| !report.verified), "{report:?}");
        }
    }
}

/// The reason for turns: if two ranks read a counter before either has written it, one update is lost.
#[test]
fn without_turns_an_update_is_lost() {
    let counted = Config::threads(2).run(|world| {
        let mut counter = GVector::<u64>::new(world, 1)?;
        let count = counter.at(0)?;
        world.barrier()?;
        counter.put(0, count + 1)?;
        world.barrier()?;
        counter.at(0)
    });
    assert_eq!(counted.expect("no error, only a wrong count"), 1);
}
