//! The two-stage multiplication on ranks that are threads: right for every shape, and damage is found.

use aurora_apps::clock::Pace;
use aurora_apps::implementation::Implementation;
use aurora_apps::job::{App, Job, defaults};
use aurora_apps::mm2::{Kernel, Mm2};
use aurora_apps::report::Report;
use aurora_core::Route;
use aurora_core::prelude::*;

fn run(ranks: usize, job: Job<Mm2>) -> Report {
    let job = &job;
    Config::threads(ranks)
        .run(|world| Mm2::run(world, job, &mut |_| ()))
        .unwrap_or_else(|error| panic!("{job:?} on {ranks} ranks: {error}"))
        .main
}

fn with(program: Mm2) -> Job<Mm2> {
    Job { reps: 2, seed: Some(17), ..Job::of(program) }
}

fn small(size: usize) -> Job<Mm2> {
    with(Mm2 { size, ..defaults() })
}

#[test]
fn every_shape_is_verified() {
    for ranks in 1..=4 {
        for size in [0, 1, 2, 3, 5, 64, 129] {
            for kernel in [Kernel::Dot, Kernel::Tiled] {
                let report = run(ranks, with(Mm2 { size, kernel, ..defaults() }));
                assert!(report.verified, "{report:?}");
                assert_eq!((report.ranks, report.size, report.reps), (ranks, size, 2));
            }
        }
    }
}

/// Both as the rows arrive and when all have arrived, over a network where they arrive in pieces.
#[test]
fn streaming_and_whole_are_both_verified() {
    for (ranks, kernel) in [(2, Kernel::Tiled), (3, Kernel::Tiled), (3, Kernel::Dot)] {
        let implementations = vec![Implementation::Aurora, Implementation::AuroraWhole];
        let job = &Job { implementations, ..with(Mm2 { size: 300, kernel, ..defaults() }) };
        let config = Config::threads(ranks).route(Route::Udp);
        let comparison = config.run(|world| Mm2::run(world, job, &mut |_| ())).expect("it runs");
        let names: Vec<_> = comparison.results.iter().map(|report| report.implementation.as_str()).collect();
        assert_eq!(names, ["aurora", "aurora-whole"]);
        for report in &comparison.results {
            assert!(report.verified && report.messages.is_some(), "{report:?}");
        }
        let hidden = |at: usize| comparison.results[at].hidden_seconds.max;
        assert!(hidden(0) >= 0.0 && hidden(1) == 0.0);
    }
}

#[test]
fn elements_by_themselves_and_one_rank_alone_multiply_the_same_matrices() {
    for (ranks, size, damage) in [(1, 0, false), (3, 2, false), (2, 33, false), (4, 33, false), (3, 33, true)] {
        let implementations = vec![Implementation::Naive, Implementation::Sequential];
        let job = &Job { implementations, damage, ..small(size) };
        let report = Config::threads(ranks).run(|world| Mm2::run(world, job, &mut |_| ())).expect("a report");
        let names: Vec<_> = report.results.iter().map(|report| report.implementation.as_str()).collect();
        assert_eq!(names, ["naive", "sequential"]);
        assert!(report.results.iter().all(|report| report.verified != damage), "{report:?}");
    }
}

/// Also if a rank has no rows, and one has all.
#[test]
fn ranks_may_have_weights() {
    for weights in [vec![1.0, 3.0], vec![2.5, 0.0, 1.0], vec![0.0, 7.0, 0.0, 0.0]] {
        for damage in [false, true] {
            let implementations = vec![
                Implementation::Naive,
                Implementation::Aurora,
                Implementation::AuroraWhole,
                Implementation::Sequential,
            ];
            let mm2 = Mm2 { size: 33, weights: weights.clone(), ..defaults() };
            let job = &Job { implementations, damage, ..with(mm2) };
            let config = Config::threads(weights.len()).route(Route::Udp);
            let report = config.run(|world| Mm2::run(world, job, &mut |_| ())).expect("a report");
            assert!(report.results.iter().all(|report| report.verified != damage), "{report:?}");
        }
    }
    let job = &with(Mm2 { size: 33, weights: vec![1.0, 3.0], ..defaults() });
    let refused = Config::threads(3).run(|world| Mm2::run(world, job, &mut |_| ())).expect_err("a weight is missing");
    assert!(refused.to_string().contains("2 weights for 3 ranks"), "{refused}");
}

#[test]
fn the_papers_smaller_size_is_verified() {
    for ranks in [1, 3, 4] {
        assert!(run(ranks, Job { reps: 1, ..small(512) }).verified);
    }
}

#[test]
fn one_flipped_element_is_noticed() {
    for ranks in 1..=4 {
        for size in [1, 64] {
            let report = run(ranks, Job { damage: true, ..small(size) });
            assert!(!report.verified, "{report:?}");
        }
    }
}

#[test]
fn a_report_tells_the_phases_of_both_stages() {
    let report = run(2, small(64));
    let names: Vec<_> = report.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["load R", "P <- Q x R", "load P", "R <- Q x P"]);
    assert!(report.seconds.median >= report.sharing_seconds.min);
    assert!(report.sequential_seconds > 0.0);
}

/// Only the phases count, and the repetition that touches fresh memory does not.
#[test]
fn phases_can_be_kept_apart() {
    let implementations = vec![Implementation::AuroraWhole, Implementation::Aurora];
    let job = &Job { implementations, reps: 3, ..with(Mm2 { size: 300, pace: Pace::Apart, ..defaults() }) };
    let config = Config::threads(3).route(Route::Udp);
    let comparison = config.run(|world| Mm2::run(world, job, &mut |_| ())).expect("it runs");
    for report in &comparison.results {
        assert!(report.verified && report.reps == 3, "{report:?}");
        let phases: f64 = report.phases.iter().map(|phase| phase.seconds.max).sum();
        assert!(report.seconds.max <= phases, "{report:?}");
        assert!(report.cores_busy.is_none_or(|busy| (0.0..=1.0).contains(&busy)), "{report:?}");
    }
}

#[test]
fn progress_hears_of_each_repetition_on_each_rank() {
    for pace in [Pace::Running, Pace::Apart] {
        let heard = Config::threads(2)
            .run(|world| {
                let mut heard = Vec::new();
                Mm2::run(world, &with(Mm2 { size: 3, pace, ..defaults() }), &mut |done| heard.push(done))?;
                Ok(heard)
            })
            .unwrap();
        assert_eq!(heard, [1, 2]);
    }
}

#[test]
fn without_a_seed_each_run_draws_its_own() {
    let job = || Job { seed: None, ..small(2) };
    assert_ne!(run(2, job()).seed, run(2, job()).seed);
    assert_eq!(run(2, small(2)).seed, 17);
}
