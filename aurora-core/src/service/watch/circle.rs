//! Who really waits for whom, whether that is a circle, and what to call it. Pure.

use crate::Site;
use crate::error::{Claim, Error};
use crate::message::ObjectId;
use aurora_net::Rank;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

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
    pub(super) id: u64,
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

/// One rank's wait for another that no message under way can end.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Step {
    from: Rank,
    to: Rank,
    wait: WaitState,
    /// Messages that `from` has got from whom it asked.
    heard: u64,
    /// The rank that holds the request of `from` back until `to` is through with a scope of the object, and the messages
    /// that it has got from `to`.
    through: Option<(Rank, ObjectId, u64)>,
}

/// The ranks that a rank waits for.
pub(super) fn on(state: &RankState) -> &[Rank] {
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
pub(super) fn left_behind(me: Rank, states: &BTreeMap<Rank, RankState>) -> Option<Step> {
    if states[&me].leaving {
        return None;
    }
    steps(me, states).into_iter().find(|step| states[&step.to].leaving)
}

/// A circle of waits through `me`, beginning with it.
pub(super) fn circle(me: Rank, states: &BTreeMap<Rank, RankState>) -> Option<Vec<Step>> {
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
pub(super) fn verdict(steps: &[Step], states: &BTreeMap<Rank, RankState>) -> Error {
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
            // Who waits for another scope of the same object is in a scope of each of two parts.
            .filter(|object| other.wait.as_ref().is_none_or(|wait| wait.for_end_of != Some(*object)))
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
pub(super) mod tests {
    use super::*;

    pub(in crate::service::watch) fn state(size: usize, rank: usize, on: &[usize]) -> RankState {
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

    pub(in crate::service::watch) fn states(waits: &[&[usize]]) -> BTreeMap<Rank, RankState> {
        waits.iter().enumerate().map(|(r, on)| (Rank::new(r), state(waits.len(), r, on))).collect()
    }

    /// Rank 1 waits for an answer of rank 2, which is in a barrier and waits for rank 1.
    pub(in crate::service::watch) fn held_back(held: Held) -> BTreeMap<Rank, RankState> {
        let mut states = states(&[&[], &[2], &[1]]);
        let asker = states.get_mut(&Rank::new(1)).unwrap();
        asker.wait.as_mut().unwrap().for_answer = true;
        let holder = states.get_mut(&Rank::new(2)).unwrap();
        holder.parked.insert(Rank::new(1), held);
        states
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
}
