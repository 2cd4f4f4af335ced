//! The program on ranks that are threads: the sequential matrix bit by bit for every shape, and wrong when it is.

use super::{Precision, Problem, Sor, run};
use crate::implementation::Implementation;
use crate::report::{Comparison, Measured, Report};
use aurora_core::Route;
use aurora_core::prelude::*;

const ALL: [Implementation; 3] = [Implementation::Aurora, Implementation::Sequential, Implementation::Naive];
const PRECISIONS: [Precision; 2] = [Precision::Single, Precision::Double];

fn compare(config: Config, job: &Sor) -> Comparison<Report> {
    let outcome = config.run(|world| run(world, job, &mut |_| ()));
    outcome.unwrap_or_else(|error| panic!("{job:?}: {error}"))
}

fn small(rows: usize, cols: usize, half_sweeps: usize, precision: Precision) -> Sor {
    let problem = Problem { name: "test", rows, cols, half_sweeps, precision, published: None };
    Sor { problem, implementations: ALL.into(), reps: 2, seed: Some(17), damage: false }
}

#[test]
fn every_shape_is_verified() {
    let shapes = [(0, 5), (5, 0), (1, 1), (2, 2), (3, 3), (4, 1), (5, 9), (7, 40), (13, 11), (33, 20)];
    for ranks in [1, 2, 3, 4, 8] {
        for (number, (rows, cols)) in shapes.into_iter().enumerate() {
            for half_sweeps in [0, 1, 8] {
                // Each shape has each kind of number on some ranks.
                let job = Sor { reps: 1, ..small(rows, cols, half_sweeps, PRECISIONS[(number + ranks) % 2]) };
                let comparison = compare(Config::threads(ranks), &job);
                assert!(comparison.verified(), "{job:?} {comparison:?}");
                assert_eq!(comparison.results.len(), ALL.len());
                let report = comparison.main;
                assert_eq!((report.ranks, report.size, report.variant.as_str()), (ranks, rows, "test"));
            }
        }
    }
}

#[test]
fn one_flipped_bit_is_noticed() {
    for ranks in [1, 3] {
        for (rows, cols) in [(1, 1), (2, 1), (5, 7), (6, 4)] {
            for precision in PRECISIONS {
                let job = Sor { damage: true, reps: 1, ..small(rows, cols, 3, precision) };
                let comparison = compare(Config::threads(ranks), &job);
                assert!(comparison.results.iter().all(|report| !report.verified), "{comparison:?}");
            }
        }
    }
}

/// The bits are right, and the sum is not the published one.
#[test]
fn another_sum_is_noticed() {
    let problem = Problem { published: Some(0.5), rows: 9, cols: 9, ..Problem::A };
    let job = Sor { problem, implementations: ALL.into(), reps: 1, ..Sor::default() };
    let comparison = compare(Config::threads(2), &job);
    assert!(comparison.results.iter().all(|report| !report.verified), "{comparison:?}");
}

#[test]
fn size_a_has_the_published_sum_on_ranks() {
    let implementations = vec![Implementation::Aurora, Implementation::Sequential];
    let comparison = compare(Config::threads(3), &Sor { implementations, reps: 1, ..Sor::default() });
    assert!(comparison.verified(), "{comparison:?}");
    assert_eq!(comparison.main.seed, 10_101_010);
}

/// Beside one exchange for each of two vectors at the start and the stop of the clock, a half-sweep is a message over
/// each border and way.
#[test]
fn a_half_sweep_costs_a_message_to_each_neighbour() {
    for ranks in 1..=4 {
        let messages = |half_sweeps| {
            let job = small(40, 10, half_sweeps, Precision::Double);
            let job = Sor { implementations: vec![Implementation::Aurora], reps: 5, ..job };
            compare(Config::threads(ranks).route(Route::Udp), &job).main.messages.expect("counted")
        };
        let (few, many) = (messages(10), messages(110));
        let borders = ranks as u64 - 1;
        // The watch over waiting ranks may speak now and then.
        assert!((200 * borders..=200 * borders + 20).contains(&(many - few)), "{few} and {many} on {ranks} ranks");
    }
}

#[test]
fn element_by_element_a_large_matrix_is_refused() {
    let job = Sor { implementations: ALL.into(), ..Sor::default() };
    let refused = Config::threads(2).run(|world| run(world, &job, &mut |_| ())).expect_err("too large");
    assert!(refused.to_string().contains("add `--size s`, or leave it out"), "{refused}");
}
