//! Word count on ranks that are threads: right for every size, by each implementation, and damage is found.

use aurora_apps::implementation::Implementation;
use aurora_apps::job::{App, Job};
use aurora_apps::report::{Comparison, Report};
use aurora_apps::wordcount::WordCount;
use aurora_core::prelude::*;

const ALL: [Implementation; 3] = [Implementation::Aurora, Implementation::Naive, Implementation::Sequential];

fn run(ranks: usize, job: Job<WordCount>) -> Comparison<Report> {
    let job = &job;
    Config::threads(ranks)
        .run(|world| WordCount::run(world, job, &mut |_| ()))
        .unwrap_or_else(|error| panic!("{job:?} on {ranks} ranks: {error}"))
}

fn small(bytes: usize, words: usize) -> Job<WordCount> {
    Job { implementations: ALL.into(), reps: 2, seed: Some(17), ..Job::of(WordCount { bytes, words }) }
}

#[test]
fn every_size_is_verified() {
    for ranks in 1..=4 {
        for (bytes, words) in [(0, 10), (100, 0), (3, 1), (1000, 7), (1000, 100_000), (100_000, 2000)] {
            let report = run(ranks, small(bytes, words));
            assert_eq!(report.results.len(), 3);
            for report in report.results {
                assert!(report.verified, "{report:?}");
                assert_eq!((report.ranks, report.size, report.reps), (ranks, bytes, 2));
                assert_eq!(report.measures["words"], words);
            }
        }
    }
}

#[test]
fn one_word_too_many_is_noticed_in_each() {
    for ranks in 1..=4 {
        for words in [1, 1000] {
            let report = run(ranks, Job { damage: true, ..small(5000, words) });
            assert!(report.results.iter().all(|report| !report.verified), "{report:?}");
        }
    }
}
