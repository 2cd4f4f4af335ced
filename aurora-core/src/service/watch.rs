//! The watch over a waiting rank: a rank that can never come is an error, one that is merely late is not.
//!
//! A rank that has waited a little asks those it waits for what they are doing, asks in turn those *they* wait for, and
//! so on: a *look*. A circle of waits in which no message is under way can never end. Because the answers of one look
//! are not of one moment, a circle counts only if a second look finds the very same waits and message counts: then all
//! of it held at once, at any moment between the two.
//!
//! Who waits for an answer waits for the rank that was asked only if that rank itself holds the request back. If it holds
//! it back until others have ended a scope, those are whom the asker waits for, *through* the rank that was asked.

use crate::Error;
use crate::Site;
use crate::error::Claim;
use crate::message::{Epoch, ObjectId};
use aurora_net::Rank;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// A wait this long is worth a first look.
const FIRST_LOOK: Duration = Duration::from_millis(20);
/// Looks that find nothing grow this far apart.
const RARE_LOOKS: Duration = Duration::from_millis(500);
/// After this long a waiting rank says once for whom it waits.
const NOTICE: Duration = Duration::from_secs(30);

/// What the calling thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// Everyone to come: barrier, construction.
    Rendezvous(&'static str),
    /// All blocks of a ReadCache.
    Load { object: ObjectId, epoch: Epoch },
    /// The end of an earlier scope on all ranks.
    Settle { object: ObjectId },
    /// Answers to one-sided requests.
    Calls { object: ObjectId, action: &'static str },
    /// An owner to apply batches.
    Room { object: ObjectId, owner: Rank },
    /// Transfers from our block to be acknowledged.
    Gate { object: ObjectId },
    /// All ranks to leave `run`.
    Leave,
}

/// A wait under way.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) id: u64,
    pub(crate) what: What,
    pub(crate) site: Site,
    since: Instant,
    /// Something has arrived since the waiting thread last looked whether it can go on.
    stale: bool,
    noticed: bool,
}

/// What a rank answers when asked what it is doing.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RankState {
    /// Its wait, unless it computes or has something new to look at.
    pub(crate) wait: Option<WaitState>,
    /// It has left the closure.
    pub(crate) leaving: bool,
    pub(crate) sent: Vec<u64>,
    pub(crate) received: Vec<u64>,
    /// Ranks whose requests it holds back, and why.
    pub(crate) parked: BTreeMap<Rank, Held>,
    /// Its open scopes whose end all ranks await.
    pub(crate) open: BTreeMap<ObjectId, GuardState>,
}

/// Why the requests of a rank are held back. If for none of these reasons, then for a transfer under way.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Held {
    /// Until the rank that was asked enters or ends a scope itself.
    pub(crate) by_itself: bool,
    /// That scope, if it is open.
    pub(crate) guard: Option<GuardState>,
    /// Until these ranks have entered or ended a scope, each of that object.
    pub(crate) behind: BTreeMap<Rank, ObjectId>,
}

/// A wait, as told to others.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct WaitState {
    id: u64,
    pub(crate) claim: Claim,
    pub(crate) on: Vec<Rank>,
    /// It waits for answers: an edge counts only if the other side holds the request back.
    pub(crate) for_answer: bool,
    /// It waits for the end of a scope of this object.
    pub(crate) for_end_of: Option<ObjectId>,
    /// It waits for everyone.
    pub(crate) for_everyone: bool,
}

/// An open guard, as told to others.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct GuardState {
    pub(crate) behaviour: String,
    pub(crate) object: crate::error::ObjectName,
    pub(crate) opened: Site,
}

/// What the watch wants done.
#[derive(Debug)]
pub(crate) enum Act {
    /// Ask this rank.
    Ask(Rank, u64),
    /// Give up: this can never end.
    GiveUp(Error),
    /// Tell the user for whom we wait.
    Notice(Claim, Vec<Rank>),
}

/// One rank's wait for another that no message under way can end.
#[derive(Clone, PartialEq, Debug)]
struct Step {
    from: Rank,
    to: Rank,
    wait: WaitState,
    /// Messages that `from` has got from whom it asked.
    heard: u64,
    /// The rank that holds the request of `from` back until `to` is through with a scope of the object, and the messages
    /// that it has got from `to`.
    through: Option<(Rank, ObjectId, u64)>,
}

/// A look under way.
#[derive(Debug, Default)]
struct Look {
    number: u64,
    states: BTreeMap<Rank, RankState>,
    asked: BTreeSet<Rank>,
}

/// The watch of one rank.
pub(crate) struct Watch {
    me: Rank,
    waits: u64,
    waiting: Option<Waiting>,
    look: Look,
    /// The circle that the last look found.
    suspect: Option<Vec<Step>>,
    pause: Duration,
    next_look: Option<Instant>,
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
            next_look: None,
            limit,
        }
    }

    /// The calling thread begins to wait.
    pub(crate) fn begin(&mut self, what: What, site: &Site) {
        self.waits += 1;
        let now = Instant::now();
        self.waiting =
            Some(Waiting { id: self.waits, what, site: site.clone(), since: now, stale: false, noticed: false });
        self.pause = FIRST_LOOK;
        self.suspect = None;
        self.look.asked.clear();
        self.next_look = Some(now + FIRST_LOOK);
    }

    /// The calling thread has looked and must wait on.
    pub(crate) fn evaluated(&mut self) {
        if let Some(waiting) = &mut self.waiting {
            waiting.stale = false;
        }
    }

    /// The wait is over.
    pub(crate) fn done(&mut self) {
        self.waiting = None;
        self.next_look = None;
    }

    /// Something has happened that may end the wait.
    pub(crate) fn progress(&mut self) {
        if let Some(waiting) = &mut self.waiting {
            waiting.stale = true;
        }
    }

    /// The wait under way.
    pub(crate) fn waiting(&self) -> Option<&Waiting> {
        self.waiting.as_ref()
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.next_look
    }

    /// The wait in the form that others get, unless something new is to be looked at first.
    pub(crate) fn wait_state(&self, claim: Claim, on: Vec<Rank>) -> Option<WaitState> {
        let waiting = self.waiting.as_ref().filter(|w| !w.stale)?;
        Some(WaitState {
            id: waiting.id,
            claim,
            on,
            for_answer: match waiting.what {
                What::Calls { .. } => true,
                // Our own room depends on the scopes of others.
                What::Room { owner, .. } => owner != self.me,
                _ => false,
            },
            for_end_of: match waiting.what {
                What::Settle { object } => Some(object),
                _ => None,
            },
            for_everyone: matches!(waiting.what, What::Rendezvous(_) | What::Leave),
        })
    }

    /// A time to look has come; `mine` is this rank's own state, `waits` its claim and those missing.
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
        self.look = Look { number: self.look.number + 1, ..Look::default() };
        self.add(self.me, mine, acts);
    }

    /// Another rank has said what it is doing.
    pub(crate) fn heard(&mut self, now: Instant, from: Rank, look: u64, state: RankState, acts: &mut Vec<Act>) {
        if look == self.look.number && self.waiting.is_some() {
            self.add(from, state, acts);
            if self.look.asked.iter().all(|rank| self.look.states.contains_key(rank)) {
                self.judge(now, acts);
            }
        }
    }

    fn add(&mut self, from: Rank, state: RankState, acts: &mut Vec<Act>) {
        let mut ask = |rank: Rank| {
            if rank != self.me && self.look.asked.insert(rank) {
                acts.push(Act::Ask(rank, self.look.number));
            }
        };
        let states = &self.look.states;
        for rank in on(&state) {
            ask(*rank);
            if let Some(held) = states.get(rank).and_then(|asked| asked.parked.get(&from)) {
                held.behind.keys().copied().for_each(&mut ask);
            }
        }
        for (asker, held) in &state.parked {
            if states.get(asker).is_some_and(|s| on(s).contains(&from)) {
                held.behind.keys().copied().for_each(&mut ask);
            }
        }
        self.look.states.insert(from, state);
    }

    /// The look is complete.
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

/// The ranks that a rank waits for.
fn on(state: &RankState) -> &[Rank] {
    state.wait.as_ref().map_or(&[], |wait| &wait.on)
}

/// For whom `from` really waits: no message that could free it is under way.
fn steps(from: Rank, states: &BTreeMap<Rank, RankState>) -> Vec<Step> {
    /// What `to` has got from `from`, if that is all.
    fn heard(to: &RankState, from: &RankState, (me, other): (Rank, Rank)) -> Option<u64> {
        let heard = to.received[other.index()];
        (heard == from.sent[me.index()]).then_some(heard)
    }
    let mut steps = Vec::new();
    let Some((state, wait)) = states.get(&from).and_then(|s| Some((s, s.wait.as_ref()?))) else {
        return steps;
    };
    for &asked in &wait.on {
        let Some(other) = states.get(&asked) else {
            continue;
        };
        let Some(heard_of_it) = heard(state, other, (from, asked)) else {
            continue;
        };
        let step = |to, through| Step { from, to, wait: wait.clone(), heard: heard_of_it, through };
        let held = other.parked.get(&from);
        if !wait.for_answer || held.is_some_and(|held| held.by_itself) {
            steps.push(step(asked, None));
        }
        for (&to, &object) in held.filter(|_| wait.for_answer).iter().flat_map(|h| &h.behind) {
            if let Some(third) = states.get(&to)
                && let Some(heard) = heard(other, third, (asked, to))
            {
                steps.push(step(to, Some((asked, object, heard))));
            }
        }
    }
    steps
}

/// A wait of ours for a rank that has left.
fn left_behind(me: Rank, states: &BTreeMap<Rank, RankState>) -> Option<Step> {
    if states[&me].leaving {
        return None;
    }
    steps(me, states).into_iter().find(|step| states[&step.to].leaving)
}

/// A circle of waits through `me`, beginning with it.
fn circle(me: Rank, states: &BTreeMap<Rank, RankState>) -> Option<Vec<Step>> {
    fn search(
        at: Rank,
        me: Rank,
        states: &BTreeMap<Rank, RankState>,
        path: &mut Vec<Step>,
        seen: &mut BTreeSet<Rank>,
    ) -> bool {
        for step in steps(at, states) {
            let next = step.to;
            if states[&next].leaving {
                continue;
            }
            path.push(step);
            if next == me || (seen.insert(next) && search(next, me, states, path, seen)) {
                return true;
            }
            path.pop();
        }
        false
    }
    let mut path = Vec::new();
    let found = !states[&me].leaving && search(me, me, states, &mut path, &mut BTreeSet::new());
    found.then_some(path)
}

/// What to call a circle of waits, or a wait for a rank that has left.
fn verdict(steps: &[Step], states: &BTreeMap<Rank, RankState>) -> Error {
    /// What keeps the request of a step from being answered, where that is a guard of the rank that was asked.
    fn guard<'a>(step: &Step, states: &'a BTreeMap<Rank, RankState>) -> Option<&'a GuardState> {
        let held = states[&step.to].parked.get(&step.from);
        held.filter(|_| step.through.is_none())?.guard.as_ref()
    }
    for step in steps {
        let other = &states[&step.to];
        let awaited = step.wait.for_end_of;
        let forgotten = awaited
            .or(step.through.map(|(_, object, _)| object))
            .and_then(|object| other.open.get(&object))
            .or_else(|| {
                let held = other.leaving || other.wait.as_ref().is_some_and(|w| w.for_everyone);
                guard(step, states).filter(|_| held)
            });
        if let Some(guard) = forgotten {
            return Error::Leaked {
                rank: step.to,
                behaviour: guard.behaviour.clone(),
                object: guard.object.clone(),
                opened: guard.opened.clone(),
            };
        }
    }
    if let Some(step) = steps.iter().find(|step| states[&step.to].leaving) {
        return Error::RankLeft { left: step.to, waiting: step.wait.claim.clone() };
    }
    let mut sorted: Vec<_> = steps.iter().map(|step| &step.wait.claim).collect();
    sorted.sort_by_key(|claim| claim.rank);
    if steps.iter().all(|step| !step.wait.for_answer)
        && let Some(second) = sorted.iter().find(|claim| claim.action != sorted[0].action)
    {
        return Error::Mismatch { first: Box::new(sorted[0].clone()), second: Box::new((*second).clone()) };
    }
    let waits = steps
        .iter()
        .map(|step| {
            let mut claim = step.wait.claim.clone();
            if let Some(guard) = guard(step, states) {
                claim.action +=
                    &format!(", held back by the {} that {} opened at {}", guard.behaviour, step.to, guard.opened);
            }
            if let Some((holder, ..)) = step.through {
                claim.action += &format!(", which {holder} holds back for a scope of {}", step.to);
            }
            claim
        })
        .collect();
    Error::Deadlock { waits }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(size: usize, rank: usize, on: &[usize]) -> RankState {
        let claim = Claim { rank: Rank::new(rank), action: format!("does {rank}"), site: Site::here() };
        let on: Vec<_> = on.iter().map(|r| Rank::new(*r)).collect();
        let wait = WaitState { id: 1, claim, on, for_answer: false, for_end_of: None, for_everyone: false };
        RankState {
            wait: (!wait.on.is_empty()).then_some(wait),
            sent: vec![0; size],
            received: vec![0; size],
            ..RankState::default()
        }
    }

    fn states(waits: &[&[usize]]) -> BTreeMap<Rank, RankState> {
        waits.iter().enumerate().map(|(r, on)| (Rank::new(r), state(waits.len(), r, on))).collect()
    }

    #[test]
    fn a_circle_is_found_and_a_chain_is_not() {
        assert_eq!(circle(Rank::new(0), &states(&[&[1], &[2], &[0]])).map(|c| c.len()), Some(3));
        assert_eq!(circle(Rank::new(0), &states(&[&[1], &[2], &[]])), None);
        assert_eq!(circle(Rank::new(0), &states(&[&[1], &[2], &[1]])), None, "others' circles are theirs to report");
    }

    #[test]
    fn a_message_under_way_breaks_the_circle() {
        let mut states = states(&[&[1], &[0]]);
        states.get_mut(&Rank::new(1)).unwrap().sent[0] = 1;
        assert_eq!(circle(Rank::new(0), &states), None);
        states.get_mut(&Rank::new(0)).unwrap().received[1] = 1;
        assert!(circle(Rank::new(0), &states).is_some());
    }

    /// Rank 1 waits for an answer of rank 2, which is in a barrier and waits for rank 1.
    fn held_back(held: Held) -> BTreeMap<Rank, RankState> {
        let mut states = states(&[&[], &[2], &[1]]);
        let asker = states.get_mut(&Rank::new(1)).unwrap();
        asker.wait.as_mut().unwrap().for_answer = true;
        let holder = states.get_mut(&Rank::new(2)).unwrap();
        holder.parked.insert(Rank::new(1), held);
        states
    }

    #[test]
    fn who_is_asked_may_wait_for_a_third() {
        let mut behind = Held::default();
        behind.behind.insert(Rank::new(0), ObjectId(1));
        let mut states = held_back(behind.clone());
        let convicts = |states: &_| circle(Rank::new(1), states).map(|c| c.len());
        assert_eq!(convicts(&states), None, "rank 0 computes");
        states.insert(Rank::new(0), state(3, 0, &[1]));
        assert_eq!(convicts(&states), Some(2), "rank 0 waits for the asker");
        states.get_mut(&Rank::new(0)).unwrap().sent[2] = 1;
        assert_eq!(convicts(&states), None, "its word is on the way");

        behind.by_itself = true;
        assert_eq!(convicts(&held_back(behind)), Some(2));
        assert_eq!(convicts(&held_back(Held::default())), None, "a transfer is on its way");
    }

    #[test]
    fn who_has_left_still_answers_for_others() {
        let mut held = Held::default();
        held.behind.insert(Rank::new(0), ObjectId(1));
        let mut states = held_back(held);
        states.get_mut(&Rank::new(2)).unwrap().leaving = true;
        assert_eq!(left_behind(Rank::new(1), &states), None);
        states.get_mut(&Rank::new(0)).unwrap().leaving = true;
        let gone = left_behind(Rank::new(1), &states).unwrap();
        assert_eq!(gone.to, Rank::new(0));
    }

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
        let asked: Vec<_> = acts
            .iter()
            .map(|act| match act {
                Act::Ask(rank, _) => rank.index(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(asked, [2, 0]);
    }

    #[test]
    fn only_a_second_equal_look_convicts() {
        let mut watch = Watch::new(Rank::new(0), None);
        watch.begin(What::Leave, &Site::here());
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
