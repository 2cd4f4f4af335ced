//! The watch over waits: a wait that can never end is an error, a wait for a late rank is not.
//!
//! A rank that has waited for 20 ms asks the awaited ranks for their state, then asks the ranks that
//! *those* wait for, and so on: a *look*. A circle of waits in which no message is under way can never end. The
//! answers of one look are not of one moment. So a circle counts only if a second look finds the same waits and the
//! same message counts: then the whole circle existed at each moment between the two looks.
//!
//! A rank that waits for an answer waits for the rank that it has asked only if that rank itself holds the request
//! back. If that rank holds the request back until other ranks have ended a scope, the first rank waits for those
//! others, *through* the rank that it has asked. The same holds for ranks that the asked rank's kernel waits for in
//! work that it does without its program ([`relay`]).

mod circle;
mod relay;
mod state;

pub(crate) use relay::Relay;
pub(crate) use state::{GuardState, RankState, WaitState};

use self::circle::{Step, circle, left_behind, verdict};
use self::state::on;
use crate::ids::ObjectId;
use crate::object::{Until, Wait};
use crate::{Claim, Error, Kind, Site};
use aurora_net::Rank;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// The first look comes after this long a wait.
const FIRST_LOOK: Duration = Duration::from_millis(20);
/// The longest pause between looks that find nothing.
const RARE_LOOKS: Duration = Duration::from_millis(500);
/// An incomplete look is given up after this many pauses.
const LONGEST_LOOK: u32 = 8;
/// The time after which a waiting rank prints once the ranks that it waits for.
pub(crate) const NOTICE: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Blocked {
    /// All ranks have to come: a barrier, a construction.
    Barrier(&'static str),
    /// Pieces of other ranks, in a step of a collective call.
    Pieces(&'static str),
    /// Answers to requests.
    Calls { object: ObjectId, action: &'static str, kind: Kind },
    /// All ranks have to leave `run`.
    Leave,
    /// Rank 0's daemon has to send the time of its clock.
    Clock,
    /// A wait that the object defines.
    Object(ObjectId, Wait),
}

impl Blocked {
    pub(crate) fn object(self) -> Option<ObjectId> {
        match self {
            Blocked::Calls { object, .. } | Blocked::Object(object, _) => Some(object),
            Blocked::Barrier(_) | Blocked::Pieces(_) | Blocked::Leave | Blocked::Clock => None,
        }
    }

    pub(crate) fn wait(self) -> Option<(ObjectId, Wait)> {
        if let Blocked::Object(object, wait) = self { Some((object, wait)) } else { None }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) id: u64,
    pub(crate) wait: Blocked,
    pub(crate) site: Site,
    since: Instant,
    /// Something has arrived since the waiting thread last checked whether it can continue.
    stale: bool,
    noticed: bool,
}

/// The next action of the kernel for the watch.
#[derive(Debug)]
pub(crate) enum Act {
    Ask(Rank, u64),
    /// This wait can never end.
    GiveUp(Error),
    /// Tell the user which ranks this rank waits for.
    Notice(Claim, Vec<Rank>),
}

#[derive(Debug, Default)]
struct Look {
    number: u64,
    states: BTreeMap<Rank, RankState>,
    asked: BTreeSet<Rank>,
}

pub(crate) struct Watch {
    me: Rank,
    waits: u64,
    waiting: Option<Waiting>,
    look: Look,
    /// The circle that the last look found.
    suspect: Option<Vec<Step>>,
    pause: Duration,
    /// The number of further pauses to wait for answers to this look.
    patience: u32,
    pub(super) next_look: Option<Instant>,
    limit: Option<Duration>,
}

impl Watch {
    pub(crate) fn new(me: Rank, limit: Option<Duration>) -> Self {
        Watch {
            me,
            waits: 0,
            waiting: None,
            look: Look::default(),
            suspect: None,
            pause: FIRST_LOOK,
            patience: 0,
            next_look: None,
            limit,
        }
    }

    pub(crate) fn begin(&mut self, now: Instant, wait: Blocked, site: &Site) {
        self.waits += 1;
        self.waiting =
            Some(Waiting { id: self.waits, wait, site: site.clone(), since: now, stale: false, noticed: false });
        self.pause = FIRST_LOOK;
        self.suspect = None;
        self.look.asked.clear();
        self.next_look = Some(now + FIRST_LOOK);
    }

    /// The calling thread has checked its condition, and must continue to wait.
    pub(crate) fn evaluated(&mut self) {
        if let Some(waiting) = &mut self.waiting {
            waiting.stale = false;
        }
    }

    /// The wait has ended. Returns its length.
    pub(crate) fn done(&mut self, now: Instant) -> Duration {
        self.next_look = None;
        self.waiting.take().map(|waiting| now.saturating_duration_since(waiting.since)).unwrap_or_default()
    }

    /// Something has happened that may end the wait.
    pub(crate) fn progress(&mut self) {
        if let Some(waiting) = &mut self.waiting {
            waiting.stale = true;
        }
    }

    /// True if the waiting thread has to look again.
    pub(crate) fn has_progress(&self) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| waiting.stale)
    }

    pub(crate) fn waiting(&self) -> Option<&Waiting> {
        self.waiting.as_ref()
    }

    /// The wait as other ranks receive it; `None` if the waiting thread first has to check something new.
    pub(crate) fn wait_state(
        &self,
        claim: Claim,
        on: Vec<Rank>,
        asked: BTreeSet<(Rank, ObjectId)>,
    ) -> Option<WaitState> {
        let waiting = self.waiting.as_ref().filter(|w| !w.stale)?;
        let at = waiting.wait.wait();
        let ends = |until| at.filter(|(_, wait)| wait.until == until);
        Some(WaitState {
            id: waiting.id,
            claim,
            on,
            for_answer: matches!(waiting.wait, Blocked::Calls { .. }) || ends(Until::Answered).is_some(),
            asked,
            for_end_of: ends(Until::Ended).map(|(object, _)| object),
            at: at.map(|(object, wait)| (object, wait.number)),
            for_everyone: matches!(waiting.wait, Blocked::Barrier(_) | Blocked::Pieces(_) | Blocked::Leave),
        })
    }

    /// Looks, if it is time: `mine` is this rank's own state, `claim` describes its wait, `on` has the missing ranks.
    pub(crate) fn handle_timeout(
        &mut self,
        now: Instant,
        mine: RankState,
        claim: Claim,
        on: Vec<Rank>,
        acts: &mut Vec<Act>,
    ) {
        if self.next_look.is_none_or(|at| at > now) {
            return;
        }
        let Some(waiting) = &mut self.waiting else {
            return;
        };
        let waited = now - waiting.since;
        if waited >= NOTICE && !waiting.noticed {
            waiting.noticed = true;
            acts.push(Act::Notice(claim.clone(), on.clone()));
        }
        if let Some(limit) = self.limit.filter(|limit| waited >= *limit) {
            acts.push(Act::GiveUp(Error::Timeout { waiting: claim, missing: on, limit }));
            self.next_look = None;
            return;
        }
        self.next_look = Some(now + self.pause);
        self.pause = (self.pause * 2).min(RARE_LOOKS);
        if self.patience > 0 && !self.is_complete() {
            self.patience -= 1;
            return;
        }
        self.patience = LONGEST_LOOK;
        self.look = Look { number: self.look.number + 1, ..Look::default() };
        self.add(self.me, mine, acts);
        // A rank that waits for itself alone has asked no other.
        if self.is_complete() {
            self.judge(now, acts);
        }
    }

    pub(crate) fn heard(&mut self, now: Instant, from: Rank, look: u64, state: RankState, acts: &mut Vec<Act>) {
        // A late answer to a look of an earlier wait says nothing of this wait.
        if look == self.look.number && self.waiting.is_some() && self.look.asked.contains(&from) {
            self.add(from, state, acts);
            if self.is_complete() {
                self.judge(now, acts);
            }
        }
    }

    /// True if all ranks that were asked in this look have answered.
    fn is_complete(&self) -> bool {
        self.look.asked.iter().all(|rank| self.look.states.contains_key(rank))
    }

    fn add(&mut self, from: Rank, state: RankState, acts: &mut Vec<Act>) {
        let (me, Look { number, asked, states, .. }) = (self.me, &mut self.look);
        // First, because a rank may wait for itself.
        states.insert(from, state);
        let (states, state) = (&*states, &states[&from]);
        let mut ask = |rank: Rank| {
            if rank != me && asked.insert(rank) {
                acts.push(Act::Ask(rank, *number));
            }
        };
        for rank in on(state) {
            ask(*rank);
            let held = states.get(rank).into_iter().flat_map(|asked| asked.held_of(from));
            held.flat_map(|(_, held)| held.ranks()).for_each(&mut ask);
        }
        for ((asker, _), held) in &state.parked {
            if states.get(asker).is_some_and(|s| on(s).contains(&from)) {
                held.ranks().for_each(&mut ask);
            }
        }
        // A rank that waits for this relay has been asked or will be.
        state.relays.iter().flat_map(|(_, relay)| &relay.behind).copied().for_each(&mut ask);
    }

    fn judge(&mut self, now: Instant, acts: &mut Vec<Act>) {
        let states = &self.look.states;
        let suspect = left_behind(self.me, states).map(|step| vec![step]).or_else(|| circle(self.me, states));
        let Some(suspect) = suspect else {
            self.suspect = None;
            return;
        };
        if self.suspect.as_ref() == Some(&suspect) {
            acts.push(Act::GiveUp(verdict(&suspect, states)));
            self.next_look = None;
        } else {
            self.suspect = Some(suspect);
            self.next_look = Some(now + FIRST_LOOK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::circle::tests::{held_back, state};
    use super::state::Held;
    use super::*;

    #[test]
    fn all_who_matter_are_asked() {
        let mut held = Held::default();
        held.behind.insert(Rank::new(0), ObjectId(1));
        let states = held_back(held);
        let mut watch = Watch::new(Rank::new(1), None);
        let mut acts = Vec::new();
        for rank in [1, 2] {
            watch.add(Rank::new(rank), states[&Rank::new(rank)].clone(), &mut acts);
        }
        assert!(matches!(acts[..], [Act::Ask(first, _), Act::Ask(second, _)] if first == 2 && second == 0), "{acts:?}");
    }

    #[test]
    fn those_for_whom_a_relay_waits_are_asked() {
        let mut receiver = state(4, 2, &[3]);
        receiver.relays.push((ObjectId(1), Relay { behind: [Rank::new(0)].into(), ..Relay::default() }));
        let mut watch = Watch::new(Rank::new(3), None);
        let mut acts = Vec::new();
        watch.add(Rank::new(3), state(4, 3, &[2]), &mut acts);
        watch.add(Rank::new(2), receiver, &mut acts);
        assert!(matches!(acts[..], [Act::Ask(first, _), Act::Ask(second, _)] if first == 2 && second == 0), "{acts:?}");
    }

    #[test]
    fn answers_that_take_long_are_waited_for() {
        let (mut watch, begin, mut acts) = (Watch::new(Rank::new(0), None), Instant::now(), Vec::new());
        watch.begin(begin, Blocked::Leave, &Site::here());
        let (mine, other) = (state(2, 0, &[1]), state(2, 1, &[0]));
        let claim = mine.wait.as_ref().unwrap().claim.clone();
        let look = |watch: &mut Watch, second: u64, acts: &mut Vec<Act>| {
            let now = begin + Duration::from_secs(second);
            watch.handle_timeout(now, mine.clone(), claim.clone(), vec![Rank::new(1)], acts);
            watch.look.number
        };
        assert_eq!([1, 2, 3].map(|second| look(&mut watch, second, &mut acts)), [1; 3]);
        watch.heard(begin + Duration::from_secs(4), Rank::new(1), 1, other.clone(), &mut acts);
        assert_eq!([5, 6].map(|second| look(&mut watch, second, &mut acts)), [2; 2], "the second look");
        watch.heard(begin + Duration::from_secs(7), Rank::new(1), 2, other, &mut acts);
        assert!(acts.iter().any(|act| matches!(act, Act::GiveUp(_))));
        // There is a limit: an answer that never arrives.
        let mut deaf = Watch::new(Rank::new(0), None);
        deaf.begin(begin, Blocked::Leave, &Site::here());
        let last = (1..=20).map(|second| look(&mut deaf, second, &mut acts)).last();
        assert_eq!(last, Some(3));
    }

    #[test]
    fn late_answers_to_a_look_of_an_earlier_wait_convict_nobody() {
        let (mut watch, now) = (Watch::new(Rank::new(0), None), Instant::now());
        let states = [state(3, 0, &[1, 2]), state(3, 1, &[0]), state(3, 2, &[0])];
        let claim = states[0].wait.as_ref().unwrap().claim.clone();
        let mut acts = Vec::new();
        watch.begin(now, Blocked::Leave, &Site::here());
        let on = vec![Rank::new(1), Rank::new(2)];
        watch.handle_timeout(now + FIRST_LOOK, states[0].clone(), claim, on, &mut acts);
        assert!(matches!(acts[..], [Act::Ask(..), Act::Ask(..)]), "{acts:?}");
        // Both ranks have passed the point at which this rank waited, and wait for it elsewhere.
        watch.done(now);
        watch.begin(now, Blocked::Leave, &Site::here());
        for rank in [1, 2] {
            watch.heard(now, Rank::new(rank), 1, states[rank].clone(), &mut acts);
        }
        assert_eq!(acts.len(), 2, "{acts:?}");
    }

    #[test]
    fn only_a_second_equal_look_convicts() {
        let mut watch = Watch::new(Rank::new(0), None);
        watch.begin(Instant::now(), Blocked::Leave, &Site::here());
        let (mine, other) = (state(2, 0, &[1]), state(2, 1, &[0]));
        let claim = mine.wait.as_ref().unwrap().claim.clone();
        for look in 1..=3 {
            let mut acts = Vec::new();
            let now = Instant::now() + look * Duration::from_secs(1);
            let mut answer = other.clone();
            if look == 1 {
                answer.wait.as_mut().unwrap().id = 0;
            }
            watch.handle_timeout(now, mine.clone(), claim.clone(), vec![Rank::new(1)], &mut acts);
            watch.heard(now, Rank::new(1), u64::from(look), answer, &mut acts);
            assert_eq!(acts.iter().any(|act| matches!(act, Act::GiveUp(_))), look == 3, "look {look}");
        }
    }
}
