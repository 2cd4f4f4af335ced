//! The times of ranks: the moments of other ranks that come before a rank's present.

use aurora_net::Rank;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A stretch of one rank's program that no release cuts. Moments of one rank are ordered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Moment {
    /// The number of completed calls that order all ranks: equal on all ranks between two such calls.
    phase: u32,
    /// The number of other releases that the rank has made since.
    tick: u32,
}

impl Moment {
    /// The moment of a scope that has not ended: no rank comes after it.
    pub(crate) const NEVER: Moment = Moment { phase: u32::MAX, tick: u32::MAX };
}

/// A time of more runs does not fit a header.
const LONGEST: usize = 16;

/// The moments before an access: all moments of all ranks up to a phase, and later moments of some ranks. It is the
/// vector time of Mattern and Fidge, of which most entries are equal: every barrier makes them equal.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(into = "Runs", from = "Runs")]
pub(crate) struct Time {
    /// Every moment of an earlier phase comes before.
    phase: u32,
    /// By ranks: this moment of the same or a later phase, and all before it.
    seen: BTreeMap<u32, Moment>,
}

/// A [`Time`] as it travels: after a load the entries of all ranks are equal.
#[derive(Clone, Serialize, Deserialize)]
struct Runs {
    phase: u32,
    /// The first rank, the number of ranks, and their moment.
    runs: Vec<(u32, u32, Moment)>,
}

impl From<Time> for Runs {
    fn from(time: Time) -> Self {
        let mut runs: Vec<(u32, u32, Moment)> = Vec::new();
        for (rank, moment) in time.seen {
            match runs.last_mut() {
                Some((first, count, last)) if *first + *count == rank && *last == moment => *count += 1,
                _ => runs.push((rank, 1, moment)),
            }
        }
        Runs { phase: time.phase, runs }
    }
}

impl From<Runs> for Time {
    fn from(Runs { phase, runs }: Runs) -> Self {
        let most = crate::environment::MAX_RANKS as u32;
        let ranks = |(first, count, moment): (u32, u32, Moment)| {
            (first.min(most)..first.saturating_add(count).min(most)).map(move |rank| (rank, moment))
        };
        Time { phase, seen: runs.into_iter().flat_map(ranks).collect() }
    }
}

impl Time {
    /// A time later than all moments: for accesses that must never be reported as a race.
    pub(crate) fn after_all() -> Self {
        Time { phase: u32::MAX, seen: BTreeMap::new() }
    }

    pub(crate) fn covers(&self, rank: Rank, moment: Moment) -> bool {
        moment.phase < self.phase || self.seen.get(&(rank.index() as u32)).is_some_and(|seen| *seen >= moment)
    }

    /// The time in a form that fits a header; if it is too long, [`Time::after_all`].
    pub(crate) fn short(&self) -> Self {
        if Runs::from(self.clone()).runs.len() <= LONGEST { self.clone() } else { Time::after_all() }
    }

    pub(crate) fn phase(&self) -> u32 {
        self.phase
    }

    pub(crate) fn joined(&self, other: &Time) -> Time {
        let mut time = self.clone();
        time.join(other);
        time
    }

    pub(crate) fn join(&mut self, other: &Time) {
        self.phase = self.phase.max(other.phase);
        for (rank, moment) in &other.seen {
            let seen = self.seen.entry(*rank).or_default();
            *seen = (*seen).max(*moment);
        }
        let phase = self.phase;
        self.seen.retain(|_, moment| moment.phase >= phase);
    }
}

/// A rank's present.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    me: u32,
    now: Moment,
    time: Time,
}

impl Clock {
    pub(crate) fn new(me: Rank) -> Self {
        Clock { me: me.index() as u32, now: Moment::default(), time: Time::default() }
    }

    /// The present moment.
    pub(crate) fn now(&self) -> Moment {
        self.now
    }

    /// The time before the present moment, for a header. If it is too long, [`Time::after_all`]: no access races with
    /// it.
    pub(crate) fn time(&self) -> Time {
        self.time.short()
    }

    /// Ends the present moment. A rank that acquires the returned time comes after that moment.
    pub(crate) fn release(&mut self) -> Time {
        let mut time = self.time.clone();
        time.seen.insert(self.me, self.now);
        self.now.tick += 1;
        time
    }

    /// The present comes after a release of another rank.
    pub(crate) fn acquire(&mut self, released: &Time) {
        self.time.join(released);
        self.time.seen.remove(&self.me);
    }

    /// All ranks have met: the present comes after all earlier moments of all ranks.
    pub(crate) fn met(&mut self) {
        self.now = Moment { phase: self.now.phase + 1, tick: 0 };
        self.time = Time { phase: self.now.phase, seen: BTreeMap::new() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Release(usize),
        /// Acquires the release of this number, if it exists.
        Acquire(usize, usize),
        Meet,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (0usize..4).prop_map(Step::Release),
            4 => (0usize..4, 0usize..60).prop_map(|(rank, nth)| Step::Acquire(rank, nth)),
            1 => Just(Step::Meet),
        ];
        prop::collection::vec(step, 0..60)
    }

    proptest! {
        /// Against the textbook: a full vector of counters on each rank.
        #[test]
        fn times_order_what_full_vectors_order(steps in steps()) {
            let mut clocks: Vec<_> = (0..4).map(|rank| Clock::new(Rank::new(rank))).collect();
            let mut full = vec![[0u32; 4]; 4];
            (0..4).for_each(|rank| full[rank][rank] = 1);
            let (mut released, mut events) = (Vec::new(), Vec::new());
            for step in steps {
                for rank in 0..4 {
                    events.push((rank, clocks[rank].now(), full[rank][rank]));
                    for (of, moment, count) in &events {
                        if *of != rank {
                            let covered = clocks[rank].time().covers(Rank::new(*of), *moment);
                            prop_assert_eq!(covered, full[rank][*of] >= *count, "{} {:?}", of, moment);
                        }
                    }
                }
                match step {
                    Step::Release(rank) => {
                        released.push((clocks[rank].release(), full[rank]));
                        full[rank][rank] += 1;
                    }
                    Step::Acquire(rank, nth) => {
                        let Some((time, counts)) = released.get(nth) else { continue };
                        clocks[rank].acquire(time);
                        let own = full[rank][rank];
                        full[rank].iter_mut().zip(counts).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
                        full[rank][rank] = own;
                    }
                    Step::Meet => {
                        clocks.iter_mut().for_each(Clock::met);
                        let latest = |of: usize| full.iter().map(|mine| mine[of]).max().unwrap_or(0);
                        let all: [u32; 4] = std::array::from_fn(latest);
                        full = vec![all; 4];
                        (0..4).for_each(|rank| full[rank][rank] += 1);
                    }
                }
            }
        }
    }

    #[test]
    fn a_barrier_makes_a_time_short() {
        let mut clocks = [0, 1].map(|rank| Clock::new(Rank::new(rank)));
        let released = clocks[0].release();
        clocks[1].acquire(&released);
        assert_eq!(clocks[1].time.seen.len(), 1);
        clocks.iter_mut().for_each(Clock::met);
        assert_eq!(clocks[1].time.seen.len(), 0);
        assert!(!clocks[1].time().covers(Rank::new(0), clocks[0].now()));
        assert!(
            !Time::after_all().covers(Rank::new(0), Moment::NEVER)
                && Time::after_all().covers(Rank::new(0), clocks[0].now())
        );
    }
}
