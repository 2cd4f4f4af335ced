//! The shadow against a model that never forgets.

use super::*;
use crate::ops::{Max, Sum};
use crate::race::Clock;
use proptest::prelude::*;

const RANKS: usize = 3;
const OWNER: usize = 1;

#[derive(Clone, Debug)]
enum Step {
    Access(usize, AccessKind, Range<usize>),
    /// Inside the collective scope that is open on all ranks.
    Together(usize, bool, Range<usize>),
    Alone(usize, bool, Range<usize>),
    EndAlone(usize),
    Settle,
    Release(usize),
    Acquire(usize, usize),
    Meet,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kind = prop_oneof![
        4 => Just(AccessKind::Read),
        2 => Just(AccessKind::Write),
        1 => Just(AccessKind::Update(OpId::of::<Sum>())),
        1 => Just(AccessKind::Update(OpId::of::<Max>())),
    ];
    let range = || (0usize..8, 1usize..4).prop_map(|(start, len)| start..start + len);
    let step = prop_oneof![
        6 => (0..RANKS, kind, range()).prop_map(|(rank, kind, range)| Step::Access(rank, kind, range)),
        2 => (0..RANKS, any::<bool>(), range()).prop_map(|(rank, put, range)| Step::Together(rank, put, range)),
        1 => (0..RANKS, any::<bool>(), range()).prop_map(|(rank, put, range)| Step::Alone(rank, put, range)),
        1 => (0..RANKS).prop_map(Step::EndAlone),
        2 => Just(Step::Settle),
        3 => (0..RANKS).prop_map(Step::Release),
        3 => (0..RANKS, 0usize..20).prop_map(|(rank, nth)| Step::Acquire(rank, nth)),
        2 => Just(Step::Meet),
    ];
    prop::collection::vec(step, 0..80)
}

/// An access as the model keeps it: for ever.
struct Kept {
    rank: usize,
    kind: AccessKind,
    scope: Scope,
    at: Moment,
    range: Range<usize>,
}

/// Ranks in one process, and all that they have ever accessed.
struct Model {
    clocks: Vec<Clock>,
    epoch: Epoch,
    /// By ranks: the number of the scope alone, and the ends of earlier ones.
    alone: Vec<Vec<Moment>>,
    kept: Vec<Kept>,
    shadow: Shadow,
}

impl Model {
    fn new() -> Self {
        let clocks = (0..RANKS).map(|rank| Clock::new(Rank::new(rank))).collect();
        let (alone, kept) = (vec![Vec::new(); RANKS], Vec::new());
        Model { clocks, epoch: 0, alone, kept, shadow: Shadow::default() }
    }

    /// The element of the first race that the model knows, and true if the shadow has found a race there.
    fn access(&mut self, rank: usize, kind: AccessKind, scope: Scope, range: Range<usize>) -> (bool, Option<usize>) {
        let (at, time) = (self.clocks[rank].now(), self.clocks[rank].time());
        let comes_before = |earlier: &Kept| match earlier.scope {
            _ if earlier.rank == rank => true,
            _ if earlier.rank == OWNER && earlier.scope != scope && matches!(scope, Scope::Together(_)) => true,
            Scope::None => time.covers(Rank::new(earlier.rank), earlier.at),
            Scope::Together(epoch) => self.epoch >= epoch,
            Scope::Alone(number) => self.alone[earlier.rank]
                .get(number as usize)
                .is_some_and(|end| time.covers(Rank::new(earlier.rank), *end)),
        };
        let races = |place: usize| {
            let others = self.kept.iter().filter(|earlier| earlier.range.contains(&place));
            others.into_iter().any(|earlier| earlier.kind.conflicts_with(kind) && !comes_before(earlier))
        };
        let is_race = range.clone().any(races);
        let owner = Rank::new(OWNER);
        let by = By { rank: Rank::new(rank), owner, since: at, at, time: &time, epoch: self.epoch, shown: &[] };
        let line = Site::here();
        let access = Access { kind, scope, line: &line, opened: None };
        let found = self.shadow.access(&by, &access, [range.clone()]).race;
        if let Some(clash) = &found {
            assert!(races(clash.place), "{clash:?}");
        }
        self.kept.push(Kept { rank, kind, scope, at, range });
        (is_race, found.map(|clash| clash.place))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    /// Against all accesses ever: a race is found exactly if there is one.
    #[test]
    fn what_is_forgotten_is_not_missed(steps in steps()) {
        let (mut model, mut released) = (Model::new(), Vec::new());
        for step in steps {
            let write = |put| if put { AccessKind::Write } else { AccessKind::Update(OpId::of::<Sum>()) };
            let (is_race, found) = match step {
                Step::Access(rank, kind, range) => model.access(rank, kind, Scope::None, range),
                Step::Together(rank, put, range) => {
                    let scope = Scope::Together(model.epoch + 1);
                    model.access(rank, write(put), scope, range)
                }
                Step::Alone(rank, put, range) => {
                    let scope = Scope::Alone(model.alone[rank].len() as u64);
                    model.access(rank, write(put), scope, range)
                }
                Step::EndAlone(rank) => {
                    let (number, now) = (model.alone[rank].len() as u64, model.clocks[rank].now());
                    model.shadow.ended(Rank::new(rank), number, now);
                    model.alone[rank].push(now);
                    continue;
                }
                Step::Settle => {
                    model.epoch += 1;
                    let times: Vec<_> = model.clocks.iter_mut().map(Clock::release).collect();
                    for clock in &mut model.clocks {
                        times.iter().for_each(|time| clock.acquire(time));
                    }
                    continue;
                }
                Step::Release(rank) => {
                    released.push(model.clocks[rank].release());
                    continue;
                }
                Step::Acquire(rank, nth) => {
                    if let Some(time) = released.get(nth) {
                        model.clocks[rank].acquire(time);
                    }
                    continue;
                }
                Step::Meet => {
                    model.clocks.iter_mut().for_each(Clock::met);
                    continue;
                }
            };
            prop_assert_eq!(is_race, found.is_some());
            if is_race {
                break;
            }
        }
    }
}

fn by<'a>(rank: usize, time: &'a Time, shown: &'a [Past]) -> By<'a> {
    let (since, at) = (Moment::default(), Moment::default());
    By { rank: Rank::new(rank), owner: Rank::new(OWNER), since, at, time, epoch: 0, shown }
}

/// The races that a shadow finds when ranks access ranges in turn, without any order.
fn unordered(shadow: &mut Shadow, accesses: &[(usize, AccessKind, Range<usize>)]) -> Vec<Found> {
    let time = Time::default();
    let access = |(rank, kind, range): &(usize, AccessKind, Range<usize>)| {
        let by = by(*rank, &time, &[]);
        let access = Access { kind: *kind, scope: Scope::None, line: &Site::here(), opened: None };
        shadow.access(&by, &access, [range.clone()])
    };
    accesses.iter().map(access).collect()
}

#[test]
fn what_rests_on_a_slice_is_possible_and_reported_once() {
    use AccessKind::{Lent, Write};
    let mut shadow = Shadow::default();
    let found = unordered(&mut shadow, &[(0, Lent, 0..10), (1, Write, 3..4), (1, Write, 5..6), (0, Lent, 0..10)]);
    let possible: Vec<_> = found.iter().map(|found| found.possible.len()).collect();
    // The pair of lines is the same, but which of them comes first is not.
    assert_eq!(possible, [0, 1, 0, 0]);
    assert!(found.iter().all(|found| found.race.is_none()));
}

#[test]
fn what_was_written_in_a_slice_that_is_still_held_may_be_ordered() {
    let mut shadow = Shadow::default();
    let mut clocks = [0, 1].map(|rank| Clock::new(Rank::new(rank)));
    let since = clocks[0].now();
    clocks.iter_mut().for_each(Clock::met);
    let line = Site::here();
    let access = |kind| Access { kind, scope: Scope::None, line: &line, opened: None };
    let time = clocks[0].time();
    let held = By { since, at: clocks[0].now(), ..by(0, &time, &[]) };
    shadow.access(&held, &access(AccessKind::Write), Some(0..4));
    let time = clocks[1].time();
    let found = shadow.access(&by(1, &time, &[]), &access(AccessKind::Read), Some(0..4));
    assert_eq!((found.race, found.possible.len()), (None, 1));
    let time = Time::default();
    assert!(shadow.access(&by(1, &time, &[]), &access(AccessKind::Read), Some(0..4)).race.is_some());
}

#[test]
fn equal_neighbours_are_one_entry() {
    let mut shadow = Shadow::default();
    let each: Vec<_> = (0..1000).map(|at| (0, AccessKind::Write, at..at + 1)).collect();
    unordered(&mut shadow, &each);
    assert_eq!(shadow.entries.len(), 1);
    unordered(&mut shadow, &[(0, AccessKind::Read, 400..401)]);
    assert_eq!(shadow.entries.len(), 3);
    unordered(&mut shadow, &[(0, AccessKind::Write, 0..1000)]);
    assert_eq!(shadow.entries.len(), 1);
}

#[test]
fn full_memory_is_reported_once_and_stays_bounded() {
    let mut shadow = Shadow::with_most(100);
    let each: Vec<_> = (0..1000).map(|at| (0, AccessKind::Write, 2 * at..2 * at + 1)).collect();
    let found = unordered(&mut shadow, &each);
    assert_eq!(found.iter().filter(|found| found.has_forgotten).count(), 1);
    assert!(shadow.entries.len() <= 100);
}

#[test]
fn what_a_neighbour_has_shown_is_ordered_there_and_nowhere_else() {
    let mut shadow = Shadow::default();
    unordered(&mut shadow, &[(0, AccessKind::Write, 0..10)]);
    let shown = [Past { rank: Rank::new(0), upto: Moment::default(), range: 0..4 }];
    let time = Time::default();
    let by = by(1, &time, &shown);
    let access = Access { kind: AccessKind::Read, scope: Scope::None, line: &Site::here(), opened: None };
    assert_eq!(shadow.access(&by, &access, Some(2..3)).race, None);
    assert_eq!(shadow.access(&by, &access, Some(3..6)).race.map(|clash| clash.place), Some(4));
}

#[test]
fn scopes_that_are_over_are_forgotten() {
    let (mut shadow, time, line) = (Shadow::default(), Time::default(), Site::here());
    for number in 0..10_000 {
        let access = Access { kind: AccessKind::Write, scope: Scope::Alone(number), line: &line, opened: None };
        assert!(shadow.access(&by(0, &time, &[]), &access, Some(3..4)).race.is_none());
        shadow.ended(Rank::new(0), number, Moment::default());
    }
    assert!(shadow.alone.len() <= MOST_ALONE);
    // The last one is not.
    let access = Access { kind: AccessKind::Read, scope: Scope::None, line: &line, opened: None };
    assert!(shadow.access(&by(1, &time, &[]), &access, Some(3..4)).race.is_some());
}
