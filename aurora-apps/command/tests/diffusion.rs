//! Diffusion on ranks that are threads: equal to the sequential result bit by bit for every shape, and damage is found.

use aurora_apps::diffusion::Diffusion;
use aurora_apps::implementation::Implementation;
use aurora_apps::job::{App, Job};
use aurora_apps::report::{Comparison, Measured, Report};
use aurora_core::Route;
use aurora_core::prelude::*;

fn compare(config: Config, job: &Job<Diffusion>) -> Comparison<Report> {
    let outcome = config.run(|world| Diffusion::run(world, job, &mut |_| ()));
    outcome.unwrap_or_else(|error| panic!("{job:?}: {error}"))
}

fn run(ranks: usize, job: Job<Diffusion>) -> Report {
    compare(Config::threads(ranks), &job).main
}

fn with(program: Diffusion) -> Job<Diffusion> {
    Job { reps: 2, seed: Some(17), ..Job::of(program) }
}

fn small(rows: usize, cols: usize, steps: usize) -> Job<Diffusion> {
    with(Diffusion { rows, cols, steps, weights: Vec::new() })
}

#[test]
fn every_shape_is_verified() {
    for ranks in 1..=4 {
        for (rows, cols) in [(0, 5), (1, 1), (1, 7), (2, 2), (3, 3), (4, 1), (5, 0), (7, 40), (64, 33)] {
            for steps in [0, 1, 2, 11] {
                let report = run(ranks, small(rows, cols, steps));
                assert!(report.verified, "{report:?}");
                assert_eq!((report.ranks, report.size, report.reps), (ranks, rows, 2));
                assert_eq!((report.measures["cols"], report.measures["steps"]), (cols, steps));
            }
        }
    }
}

#[test]
fn element_by_element_it_comes_to_the_same() {
    let implementations = vec![Implementation::Naive, Implementation::Aurora, Implementation::Sequential];
    for ranks in 1..=4 {
        let job = Job { implementations: implementations.clone(), ..small(13, 11, 5) };
        let comparison = compare(Config::threads(ranks).route(Route::Udp), &job);
        assert!(comparison.verified(), "{comparison:?}");
        assert_eq!(comparison.main.implementation, "aurora");
        let [naive, aurora, sequential] = &comparison.results[..] else { panic!("{comparison:?}") };
        assert!(ranks == 1 || naive.messages > aurora.messages, "{comparison:?}");
        assert_eq!((sequential.implementation.as_str(), sequential.messages), ("sequential", None));
    }
}

/// Also if a rank between others, or at an end, has no rows.
#[test]
fn ranks_may_have_weights() {
    let implementations = vec![Implementation::Naive, Implementation::Aurora, Implementation::Sequential];
    for weights in [vec![1.0, 3.0], vec![2.5, 0.0, 1.0], vec![0.0, 7.0, 0.0, 1.0], vec![0.0, 1.0]] {
        for damage in [false, true] {
            let implementations = implementations.clone();
            let diffusion = Diffusion { rows: 14, cols: 9, steps: 5, weights: weights.clone() };
            let job = Job { implementations, damage, ..with(diffusion) };
            let comparison = compare(Config::threads(weights.len()), &job);
            assert!(comparison.results.iter().all(|report| report.verified != damage), "{comparison:?}");
        }
    }
}

/// Apart from one exchange for each of two vectors at the start, and the stop of the clock, a step sends one message
/// over each border in each direction.
#[test]
fn a_step_costs_a_message_to_each_neighbour() {
    for ranks in 1..=4 {
        let messages = |steps| {
            let job = Job { reps: 5, ..small(40, 10, steps) };
            compare(Config::threads(ranks).route(Route::Udp), &job).main.messages.expect("counted")
        };
        let (few, many) = (messages(10), messages(110));
        let borders = ranks as u64 - 1;
        // The deadlock watch may send messages now and then.
        assert!((200 * borders..=200 * borders + 20).contains(&(many - few)), "{few} and {many} on {ranks} ranks");
    }
}

#[test]
fn one_flipped_bit_is_noticed() {
    for ranks in 1..=4 {
        for (rows, cols) in [(1, 1), (16, 5)] {
            for implementation in [Implementation::Aurora, Implementation::Naive, Implementation::Sequential] {
                let job = Job { damage: true, implementations: vec![implementation], ..small(rows, cols, 3) };
                let report = run(ranks, job);
                assert!(!report.verified, "{report:?}");
            }
        }
    }
}

#[test]
fn a_report_tells_both_phases() {
    let report = run(3, small(64, 64, 20));
    let names: Vec<_> = report.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["edges", "stencil"]);
    assert!(report.seconds.median >= report.sharing_seconds.min && report.sharing_seconds.min > 0.0);
    assert!(report.sequential_seconds > 0.0);
}
