//! The parallel sort on ranks that are threads: every input and length, and damage is found.

use aurora_apps::clock::Pace;
use aurora_apps::implementation::Implementation;
use aurora_apps::job::{App, Job};
use aurora_apps::psrs::{Input, Psrs};
use aurora_apps::report::Report;
use aurora_core::Route;
use aurora_core::prelude::*;
use clap::ValueEnum;

fn run(ranks: usize, job: Job<Psrs>) -> Report {
    let job = &job;
    Config::threads(ranks)
        .run(|world| Psrs::run(world, job, &mut |_| ()))
        .unwrap_or_else(|error| panic!("{job:?} on {ranks} ranks: {error}"))
        .main
}

fn with(program: Psrs) -> Job<Psrs> {
    Job { reps: 2, seed: Some(17), ..Job::of(program) }
}

fn small(keys: usize, input: Input) -> Job<Psrs> {
    with(Psrs { keys, input, pace: Pace::Running })
}

#[test]
fn every_input_and_length_is_verified() {
    for ranks in 1..=4 {
        for &input in Input::value_variants() {
            for keys in [0, 1, 2, 3, 5, 17, 1000] {
                let report = run(ranks, small(keys, input));
                assert!(report.verified, "{report:?}");
                assert_eq!((report.ranks, report.size, report.reps), (ranks, keys, 2));
            }
        }
    }
}

#[test]
fn many_keys_of_every_input_are_verified() {
    for ranks in [1, 2, 3, 4, 7] {
        for &input in Input::value_variants() {
            let job = Job { reps: 1, ..small(100_003, input) };
            assert!(run(ranks, job).verified, "{input:?} on {ranks} ranks");
        }
    }
}

#[test]
fn keys_by_themselves_and_one_rank_alone_sort_the_same_keys() {
    for (ranks, keys, damage) in
        [(1, 7, false), (3, 0, false), (3, 2, false), (2, 997, false), (4, 997, false), (3, 997, true)]
    {
        for input in [Input::Uniform, Input::Reverse, Input::Equal] {
            let implementations = vec![Implementation::Naive, Implementation::Sequential];
            let job = &Job { implementations, damage, ..small(keys, input) };
            let report = Config::threads(ranks).run(|world| Psrs::run(world, job, &mut |_| ())).expect("a report");
            let names: Vec<_> = report.results.iter().map(|report| report.implementation.as_str()).collect();
            assert_eq!(names, ["naive", "sequential"]);
            assert!(report.results.iter().all(|report| report.verified != damage), "{report:?}");
        }
    }
}

#[test]
fn threads_of_one_rank_sort_the_same_keys() {
    for damage in [false, true] {
        let implementations = vec![Implementation::Aurora, Implementation::Rayon];
        let job = &Job { implementations, damage, ..small(10_007, Input::Few) };
        let report = Config::threads(3).run(|world| Psrs::run(world, job, &mut |_| ())).expect("a report");
        let names: Vec<_> = report.results.iter().map(|report| report.implementation.as_str()).collect();
        assert_eq!(names, ["aurora", "rayon"]);
        assert!(report.results.iter().all(|report| report.verified != damage), "{report:?}");
    }
}

#[test]
fn one_dropped_key_is_noticed() {
    for ranks in 1..=4 {
        for &input in Input::value_variants() {
            for keys in [1, 3, 1000] {
                let job = Job { damage: true, ..small(keys, input) };
                let report = run(ranks, job);
                assert!(!report.verified, "{report:?}");
            }
        }
    }
}

#[test]
fn a_report_tells_the_phases() {
    let report = run(3, small(1000, Input::Uniform));
    let names: Vec<_> = report.phases.iter().map(|phase| phase.name.as_str()).collect();
    let expected = [
        "sort block",
        "gather samples",
        "sort samples",
        "read pivots",
        "cut block",
        "exchange cuts",
        "fetch partitions",
        "merge",
        "move keys",
    ];
    assert_eq!(names, expected);
}

#[test]
fn phases_can_be_kept_apart() {
    for ranks in [1, 3] {
        let job = &with(Psrs { keys: 10_007, input: Input::Uniform, pace: Pace::Apart });
        let config = Config::threads(ranks).route(if ranks == 1 { Route::Local } else { Route::Udp });
        let report = config.run(|world| Psrs::run(world, job, &mut |_| ())).expect("it runs").main;
        assert!(report.verified && report.reps == 2, "{report:?}");
        let phases: f64 = report.phases.iter().map(|phase| phase.seconds.max).sum();
        assert!(report.seconds.max <= phases, "{report:?}");
    }
}
