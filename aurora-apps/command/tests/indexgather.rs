//! Random reads of a table on ranks that are threads: right for every size, and damage is found.

use aurora_apps::implementation::Implementation;
use aurora_apps::indexgather::IndexGather;
use aurora_apps::job::{App, Job};
use aurora_apps::report::{Comparison, Measured, Report};
use aurora_core::Route;
use aurora_core::prelude::*;

const ALL: [Implementation; 3] = [Implementation::Naive, Implementation::Aurora, Implementation::Sequential];

fn compare(config: Config, job: &Job<IndexGather>) -> Comparison<Report> {
    let outcome = config.run(|world| IndexGather::run(world, job, &mut |_| ()));
    outcome.unwrap_or_else(|error| panic!("{job:?}: {error}"))
}

fn small(table: usize, reads: usize) -> Job<IndexGather> {
    Job { reps: 2, seed: Some(17), ..Job::of(IndexGather { table, reads }) }
}

#[test]
fn every_size_is_verified() {
    for ranks in 1..=4 {
        for (table, reads) in [(0, 0), (0, 5), (1, 0), (1, 1), (2, 7), (3, 1000), (1000, 3), (10_007, 30_000)] {
            let report = compare(Config::threads(ranks), &small(table, reads)).main;
            assert!(report.verified, "{report:?}");
            assert_eq!((report.ranks, report.size, report.reps), (ranks, table, 2));
            assert_eq!(report.measures["reads"], reads);
        }
    }
}

#[test]
fn all_implementations_read_the_same() {
    for route in [Route::Local, Route::Shm, Route::Udp] {
        for ranks in [1, 3] {
            let job = Job { implementations: ALL.to_vec(), ..small(5003, 400) };
            let comparison = compare(Config::threads(ranks).route(route), &job);
            assert!(comparison.verified(), "{comparison:?}");
            assert_eq!(comparison.main.implementation, "aurora");
            let names: Vec<_> = comparison.results.iter().map(|report| report.implementation.as_str()).collect();
            assert_eq!(names, ["naive", "aurora", "sequential"]);
        }
    }
}

/// Apart from the start and the stop of the clock: as many messages as batches, not as many as elements.
#[test]
fn a_read_costs_no_message_but_a_batch_does() {
    let messages = |implementation, reads| {
        let job = Job { implementations: vec![implementation], reps: 5, ..small(30_000, reads) };
        compare(Config::threads(3).route(Route::Udp), &job).main.messages.expect("counted")
    };
    // A third of a rank's reads goes to each of two other ranks: one batch there and one back. The deadlock watch may
    // send messages now and then.
    let (none, some) = (messages(Implementation::Aurora, 0), messages(Implementation::Aurora, 900));
    assert!((12..=30).contains(&(some - none)), "{none} and {some}");
    let naive = messages(Implementation::Naive, 900);
    // Two thirds of 900 reads by each of three ranks, there and back.
    assert!((3400..=3900).contains(&(naive - none)), "{none} and {naive}");
}

#[test]
fn one_flipped_bit_is_noticed() {
    for ranks in 1..=4 {
        for (table, reads) in [(1, 1), (1000, 1), (1000, 5000)] {
            for implementation in ALL {
                let job = Job { damage: true, implementations: vec![implementation], ..small(table, reads) };
                let report = compare(Config::threads(ranks), &job).main;
                assert!(!report.verified, "{report:?}");
            }
        }
    }
}

#[test]
fn a_report_tells_the_phase() {
    let report = compare(Config::threads(3), &small(1000, 1000)).main;
    let names: Vec<_> = report.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["read"]);
    assert!(report.seconds.median >= report.sharing_seconds.min && report.sharing_seconds.min > 0.0);
    assert!(report.sequential_seconds > 0.0);
}
