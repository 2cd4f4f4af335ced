//! The program on ranks that are threads: equal to the sequential matrix bit by bit for every shape, and damage is
//! found.

use super::kernel::half_of;
use super::{BLACK, Precision, Problem, RED, Sor, half_sweeps_by_treadmarks, pages, parity};
use crate::clock::Clock;
use crate::implementation::Implementation;
use crate::job::{App, Job, defaults};
use crate::random::Stream;
use crate::report::{Comparison, Measured, Report};
use aurora_core::ops::Sum;
use aurora_core::prelude::*;
use aurora_core::{Kind, Route};
use aurora_treadmarks::Tmk;

const ALL: [Implementation; 5] = [
    Implementation::Aurora,
    Implementation::Pages,
    Implementation::Treadmarks,
    Implementation::Sequential,
    Implementation::Naive,
];
const PRECISIONS: [Precision; 2] = [Precision::Single, Precision::Double];

fn compare(config: Config, job: &Job<Sor>) -> Comparison<Report> {
    let outcome = config.run(|world| Sor::run(world, job, &mut |_| ()));
    outcome.unwrap_or_else(|error| panic!("{job:?}: {error}"))
}

fn small(rows: usize, cols: usize, half_sweeps: usize, precision: Precision) -> Job<Sor> {
    let problem = Problem { name: "test", rows, cols, half_sweeps, precision, published: None };
    Job { implementations: ALL.into(), reps: 2, seed: Some(17), ..Job::of(Sor { problem }) }
}

#[test]
fn every_shape_is_verified() {
    let shapes = [(0, 5), (5, 0), (1, 1), (2, 2), (3, 3), (4, 1), (5, 9), (7, 40), (13, 11), (33, 20)];
    for ranks in [1, 2, 3, 4, 8] {
        for (number, (rows, cols)) in shapes.into_iter().enumerate() {
            for half_sweeps in [0, 5] {
                // Each shape has each kind of number on some ranks.
                let job = Job { reps: 1, ..small(rows, cols, half_sweeps, PRECISIONS[(number + ranks) % 2]) };
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
                let job = Job { damage: true, reps: 1, ..small(rows, cols, 3, precision) };
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
    let job = Job { implementations: ALL.into(), reps: 1, ..Job::of(Sor { problem }) };
    let comparison = compare(Config::threads(2), &job);
    assert!(comparison.results.iter().all(|report| !report.verified), "{comparison:?}");
}

#[test]
fn size_a_has_the_published_sum_on_ranks() {
    let implementations = ALL.into_iter().filter(|of| *of != Implementation::Naive).collect();
    let comparison = compare(Config::threads(3), &Job { implementations, reps: 1, ..Job::of(defaults()) });
    assert!(comparison.verified(), "{comparison:?}");
    assert_eq!(comparison.main.seed, 10_101_010);
}

/// Apart from one exchange for each of two vectors at the start and the stop of the clock, a half-sweep sends one
/// message over each border in each direction.
#[test]
fn a_half_sweep_costs_a_message_to_each_neighbour() {
    for ranks in 1..=4 {
        let messages = |half_sweeps| {
            let job = small(40, 10, half_sweeps, Precision::Double);
            let job = Job { implementations: vec![Implementation::Aurora], reps: 5, ..job };
            compare(Config::threads(ranks).route(Route::Udp), &job).main.messages.expect("counted")
        };
        let (few, many) = (messages(10), messages(110));
        let borders = ranks as u64 - 1;
        // The deadlock watch may send messages now and then.
        assert!((200 * borders..=200 * borders + 20).contains(&(many - few)), "{few} and {many} on {ranks} ranks");
    }
}

/// Messages and bytes of each kind that all ranks send, between the opening of the scopes and their end.
fn sent_by_pages(ranks: usize, problem: &Problem) -> [(u64, u64); 4] {
    const KINDS: [Kind; 4] = [Kind::Page, Kind::Answer, Kind::Barrier, Kind::Control];
    let counted = |world: &World| {
        let value = |i: usize| Stream::new(1, 0).unit(i as u64) as f32;
        let half = || GVector::from_fn(world, MatrixDim::new(problem.rows, problem.half_cols()), value);
        let (mut red, mut black) = (half()?, half()?);
        let mine = red.local_rows();
        let mine = mine.start.max(1)..mine.end.min(problem.rows - 1);
        let mut clock = Clock::start(world)?;
        let (mut own, mut other) = (red.paged_mut()?, black.paged_mut()?);
        world.barrier()?;
        let before = world.stats();
        world.barrier()?; // no rank sweeps before all have looked
        pages::sweep((&mut own, &mut other), mine, problem.cols, problem.half_sweeps, &mut clock)?;
        world.barrier()?; // all is sent
        let sent = world.stats() - before;
        world.barrier()?; // no rank ends its scopes before all have looked
        let costs = KINDS.map(|kind| sent.of(kind));
        assert_eq!(costs.iter().map(|cost| cost.messages).sum::<u64>(), sent.traffic.transfers_out, "{sent}");
        let mut sums = costs.map(|cost| [cost.messages, cost.bytes]);
        world.all_reduce_slice(Sum, sums.as_flattened_mut())?;
        Ok(sums.map(|[messages, bytes]| (messages, bytes)))
    };
    Config::threads(ranks).route(Route::Udp).run(counted).expect("a job")
}

/// The matrix of the comparison, at its number of ranks.
#[test]
fn half_sweeps_by_pages_send_what_has_changed_on_shared_pages() {
    let (ranks, sweeps, borders) = (8, Problem::PAPER.half_sweeps as u64, 2 * 7);
    // The deadlock watch sends messages when a machine is busy.
    let [pages, answers, barriers, _watch] = sent_by_pages(ranks, &Problem::PAPER);
    // Over each border in each direction: the edge of either colour is requested once. After the first half-sweep no
    // rank holds an edge of the colour that was updated; after every other half-sweep the edge is pushed.
    let (asked, pushed) = (2 * borders, (sweeps - 1) * borders);
    assert_eq!([pages.0, answers.0, barriers.0], [asked + pushed, asked, 24 * (sweeps + 2)]);
    // An edge is two pages. All of it is pushed but one element, which is at the border of the matrix. Each message has
    // a header, and each run of elements its length.
    let (row, header) = (6144, 60);
    assert!((row * asked..=(row + header) * asked).contains(&answers.1), "{answers:?}");
    assert!(((row - 4) * pushed..=row * pushed + header * pages.0).contains(&pages.1), "{pages:?}");
    // Message passing sends 8607 KB in the comparison.
    assert!(pages.1 + answers.1 <= 103 * 86_070, "{pages:?}, {answers:?}");
    assert!(barriers.1 <= header * barriers.0, "{barriers:?}");
}

/// The same comparison: 70 messages a half-sweep, which are 7000 for its 100, and 14 for one more barrier.
#[test]
fn half_sweeps_by_treadmarks_send_what_treadmarks_sends() {
    let (ranks, problem) = (8, &Problem::PAPER);
    let counted = |world: &World| {
        let (half, rank) = (problem.half_cols(), world.rank().index());
        let mine = rank * problem.rows / ranks..(rank + 1) * problem.rows / ranks;
        let tmk = Tmk::new(world)?;
        let array = || tmk.array::<f32>(problem.rows * half, half);
        let (mut red, mut black) = (array()?, array()?);
        for (colour, array) in [(RED, &mut red), (BLACK, &mut black)] {
            for row in mine.clone() {
                let values = problem.start(1, 0).row(row, problem.cols);
                let mut elements = array.write(row * half..(row + 1) * half)?;
                elements.iter_mut().zip(half_of(&values, parity(row, colour))).for_each(|(to, from)| *to = from);
            }
        }
        tmk.barrier()?;
        let inner = mine.start.max(1)..mine.end.min(problem.rows - 1);
        // The first iteration is not measured there.
        let mut clock = Clock::start(world)?;
        half_sweeps_by_treadmarks(&tmk, (&mut red, &mut black), inner.clone(), problem.cols, 2, &mut clock)?;
        let before = tmk.total_counts(world)?;
        half_sweeps_by_treadmarks(&tmk, (&mut red, &mut black), inner, problem.cols, 100, &mut clock)?;
        Ok(tmk.total_counts(world)? - before)
    };
    let counts = Config::threads(ranks).run(counted).expect("a job");
    assert_eq!((counts.messages(), counts.barrier, counts.requests), (7000, 1400, 2800));
    // An edge has 6144 bytes. One of its elements is at the border of the matrix, and few others keep their value.
    assert!((1400 * (6144 - 8)..=1400 * (6144 - 4)).contains(&counts.data), "{counts:?}");
    // All that is sent: 8853 KB in the comparison.
    assert!(counts.bytes <= 8_853_000, "{counts:?}");
}

#[test]
fn element_by_element_a_large_matrix_is_refused() {
    let job = Job { implementations: ALL.into(), ..Job::of(defaults()) };
    let refused = Config::threads(2).run(|world| Sor::run(world, &job, &mut |_| ())).expect_err("too large");
    assert!(refused.to_string().contains("add `--size s`, or leave it out"), "{refused}");
}
