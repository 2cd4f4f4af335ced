//! Single situations, and their messages.

use aurora_treadmarks::counts::Counts;
use aurora_treadmarks::sim::{Network, Sim, Step};

const PAGE: usize = 4096;

/// A time long after all earlier events.
const LATER: u64 = 1_000_000_000_000;

fn word(at: usize, value: u32) -> Step {
    Step::Write(0, 4 * at, value.to_le_bytes().to_vec())
}

fn read() -> Step {
    Step::Read(0, 0..PAGE)
}

/// Runs ranks that share a page. Returns the counts of each rank, and the words that each of its reads has seen.
fn run<const N: usize>(programs: [Vec<Step>; N]) -> ([Counts; N], [Vec<Vec<u32>>; N]) {
    let mut sim = Sim::new(&[(PAGE, PAGE)], programs, Network::default());
    let mut seen = [const { Vec::new() }; N];
    sim.run(|rank, step, read| {
        if matches!(step, Step::Read(..)) {
            seen[rank].push(bytemuck::pod_collect_to_vec(read));
        }
    })
    .expect("it ends");
    let counts: Vec<_> = sim.counts().collect();
    (counts.try_into().expect("as many as programs"), seen)
}

#[test]
fn writes_are_seen_over_two_locks_and_a_third_rank() {
    let (lock, unlock) = (Step::Acquire, Step::Release);
    let (counts, seen) = run([
        vec![lock(0), word(5, 77), unlock(0)],
        vec![Step::Compute(LATER), lock(0), unlock(0), lock(1), unlock(1)],
        vec![Step::Compute(2 * LATER), lock(1), read(), unlock(1)],
    ]);
    assert_eq!(seen[2][0][5], 77);
    assert_eq!((counts[2].requests, counts[0].answers, counts[1].answers), (1, 1, 0), "the writer has the difference");
}

#[test]
fn a_lock_takes_no_message_two_or_three() {
    let use_at = |time, lock| vec![Step::Compute(time), Step::Acquire(lock), Step::Release(lock)];
    let sum = |programs: [Vec<Step>; 4]| run(programs).0.into_iter().sum::<Counts>().lock;
    let nothing = Vec::new;
    assert_eq!(sum([nothing(), [use_at(0, 1), use_at(0, 1), use_at(0, 5)].concat(), nothing(), nothing()]), 0, "own");
    assert_eq!(sum([nothing(), nothing(), use_at(0, 1), nothing()]), 2, "its manager has it");
    assert_eq!(sum([nothing(), use_at(LATER, 1), use_at(0, 1), nothing()]), 2 + 2, "the manager wants it");
    assert_eq!(sum([nothing(), nothing(), use_at(0, 1), use_at(LATER, 1)]), 2 + 3, "a third rank has it");
    assert_eq!(sum([nothing(), nothing(), [use_at(0, 1), use_at(LATER, 1)].concat(), nothing()]), 2, "again");
}

#[test]
fn a_lock_is_given_to_the_ranks_in_the_order_in_which_they_asked() {
    let add = |time, value| {
        vec![Step::Compute(time), Step::Acquire(2), read(), Step::Compute(LATER), word(0, value), Step::Release(2)]
    };
    let (_, seen) = run([add(3, 10), add(2_000_000, 20), add(1, 30), add(1_000_000, 40)]);
    assert_eq!(seen.map(|reads| reads[0][0]), [30, 40, 0, 10]);
}

#[test]
fn of_a_chain_of_writers_the_last_one_is_asked() {
    let add = |turn: u64| {
        vec![Step::Compute(turn * LATER), Step::Acquire(0), word(turn as usize, 1), Step::Release(0), Step::Barrier]
    };
    let mut reader = vec![Step::Barrier, read()];
    let (counts, seen) = run([add(0), add(1), add(2), reader.clone()]);
    assert_eq!(counts[3].requests, 1);
    assert_eq!(counts.map(|counts| counts.answers), [1, 1, 1, 0], "the second asked the first, the third the second");
    assert_eq!((counts[3].data, counts[3].false_sharing), (3 * 4, 0));
    assert_eq!(seen[3][0][..3], [1; 3]);
    // Each of several concurrent writers is asked.
    let write = |at| vec![word(at, 1), Step::Barrier];
    let (counts, seen) = run([write(0), write(1), write(2), reader.clone()]);
    assert_eq!((counts[3].requests, counts[3].false_sharing), (3, 2));
    assert_eq!(counts.map(|counts| counts.answers), [1, 1, 1, 0]);
    assert_eq!(seen[3][0][..3], [1; 3]);
    // The last writers of two chains are both asked.
    reader.insert(0, Step::Compute(0));
    let link = |lock, turn, at| {
        vec![Step::Compute(turn * LATER), Step::Acquire(lock), word(at, 1), Step::Release(lock), Step::Barrier]
    };
    let (counts, _) = run([link(0, 0, 0), link(0, 1, 1), link(3, 0, 2), link(3, 1, 3), reader]);
    assert_eq!((counts[4].requests, counts[4].data), (2, 4 * 4));
}

#[test]
fn a_difference_is_made_in_the_middle_of_a_later_interval() {
    let writer = vec![word(0, 1), Step::Barrier, word(1, 2), Step::Compute(LATER), word(2, 3), Step::Barrier];
    let reader = vec![Step::Barrier, Step::Compute(LATER / 2), read(), Step::Barrier, read()];
    let (counts, seen) = run([writer, reader]);
    assert_eq!(seen[1][0][..3], [1, 0, 0], "writes of an interval are seen after its end");
    assert_eq!(seen[1][1][..3], [1, 2, 3]);
    assert_eq!((counts[1].requests, counts[1].data), (2, 3 * 4));
}

#[test]
fn intervals_of_which_nobody_asks_have_one_difference() {
    let write = |value| [word(0, value), Step::Barrier];
    let writer = [write(1), write(2), write(3)].concat();
    let reader = vec![Step::Barrier, Step::Barrier, Step::Barrier, read()];
    let (counts, seen) = run([writer, reader]);
    assert_eq!(seen[1][0][0], 3);
    assert_eq!((counts[1].requests, counts[1].data, counts[1].accumulated), (1, 4, 0));
}

#[test]
fn a_word_that_keeps_its_value_is_not_sent() {
    let writer = vec![word(0, 0), word(1, 1), Step::Barrier, Step::Barrier, word(1, 1), Step::Barrier];
    let reader = vec![Step::Barrier, read(), Step::Barrier, Step::Barrier, read()];
    let (counts, _) = run([writer, reader]);
    assert_eq!((counts[1].requests, counts[1].data), (2, 4), "the page counts as written");
}

#[test]
fn a_page_of_which_nobody_asks_has_one_notice() {
    let bytes = |program: Vec<Step>| run([vec![Step::Barrier; 9], program]).0[1].bytes;
    let silent = bytes(vec![Step::Barrier; 9]);
    let writes = (1..10).flat_map(|value| [word(0, value), Step::Barrier]).collect();
    let notices = bytes(writes) - silent;
    assert!((1..20).contains(&notices), "one interval with one page in nine arrivals: {notices} bytes");
}

#[test]
fn ranks_that_wait_for_each_other_are_stuck() {
    let both = |first, second| vec![Step::Acquire(first), Step::Compute(LATER), Step::Acquire(second)];
    let mut sim = Sim::new(&[], [both(0, 1), both(1, 0)], Network::default());
    let stuck = sim.run(|_, _, _| ()).expect_err("a circle").to_string();
    assert!(stuck.contains("rank 0 waits for lock 1; rank 1 waits for lock 0"), "{stuck}");
}

#[test]
fn steps_that_cannot_be_say_why() {
    let says_of = |array: (usize, usize), program: Vec<Step>, words: &str| {
        let run = || Sim::new(&[array], [program], Network::default()).run(|_, _, _| ());
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).expect_err("it panics");
        let text = panic.downcast_ref::<String>().expect("a text");
        assert!(text.contains(words), "{text}");
    };
    says_of((10, 0), Vec::new(), "words of 4 bytes");
    says_of((8, 6), Vec::new(), "words of 4 bytes");
    let says = |program, words| says_of((8, 0), program, words);
    says(vec![Step::Read(1, 0..4)], "rank 0 reads 0..4 of array 1, which has no such bytes");
    says(vec![Step::Read(0, 4..12)], "rank 0 reads 4..12 of array 0");
    says(vec![Step::Write(0, 8, vec![1])], "rank 0 writes 8..9 of array 0");
    says(vec![Step::Acquire(3), Step::Acquire(3)], "rank 0 acquires lock 3, which it holds");
    says(vec![Step::Release(3)], "rank 0 releases lock 3, which it does not hold");
}
