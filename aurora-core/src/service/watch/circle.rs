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
    /// Ranks whose requests it holds back, and the open guard in their way.
    pub(crate) parked: BTreeMap<Rank, Option<GuardState>>,
    /// Its open scopes whose end all ranks await.
    pub(crate) open: BTreeMap<ObjectId, GuardState>,
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

/// Whether `from` really waits for `to`: no message that could free it is under way.
fn waits_for(from: Rank, to: Rank, states: &BTreeMap<Rank, RankState>) -> bool {
    let (Some(a), Some(b)) = (states.get(&from), states.get(&to)) else {
        return false;
    };
    let Some(wait) = a.wait.as_ref().filter(|wait| wait.on.contains(&to)) else {
        return false;
    };
    a.received[to.index()] == b.sent[from.index()] && (!wait.for_answer || b.parked.contains_key(&from))
}

/// A rank that has left and for which we wait.
pub(super) fn left_behind(me: Rank, states: &BTreeMap<Rank, RankState>) -> Option<Rank> {
    if states[&me].leaving {
        return None;
    }
    states.iter().find(|(rank, state)| state.leaving && waits_for(me, **rank, states)).map(|(rank, _)| *rank)
}

/// A circle of waits through `me`, beginning with it.
pub(super) fn circle(me: Rank, states: &BTreeMap<Rank, RankState>) -> Option<Vec<Rank>> {
    fn search(
        at: Rank,
        me: Rank,
        states: &BTreeMap<Rank, RankState>,
        path: &mut Vec<Rank>,
        seen: &mut BTreeSet<Rank>,
    ) -> bool {
        path.push(at);
        for &next in states[&at].wait.iter().flat_map(|wait| &wait.on) {
            if !waits_for(at, next, states) || states[&next].leaving {
                continue;
            }
            if next == me || (seen.insert(next) && search(next, me, states, path, seen)) {
                return true;
            }
        }
        path.pop();
        false
    }
    let mut path = Vec::new();
    let found = !states[&me].leaving && search(me, me, states, &mut path, &mut BTreeSet::new());
    found.then_some(path)
}

/// What to call a circle of waits.
pub(super) fn verdict(members: &[Rank], states: &BTreeMap<Rank, RankState>) -> Error {
    let waits: Vec<(Rank, &WaitState, Rank)> = members
        .iter()
        .zip(members.iter().cycle().skip(1))
        .filter_map(|(from, to)| Some((*from, states[from].wait.as_ref()?, *to)))
        .collect();
    for (from, wait, to) in &waits {
        let other = &states[to];
        let forgotten = wait.for_end_of.and_then(|object| other.open.get(&object)).or_else(|| {
            let held = other.leaving || other.wait.as_ref().is_some_and(|w| w.for_everyone);
            other.parked.get(from).and_then(Option::as_ref).filter(|_| held)
        });
        if let Some(guard) = forgotten {
            return Error::Leaked {
                rank: *to,
                behaviour: guard.behaviour.clone(),
                object: guard.object.clone(),
                opened: guard.opened.clone(),
            };
        }
    }
    if let Some((_, wait, left)) = waits.iter().find(|(_, _, to)| states[to].leaving) {
        return Error::RankLeft { left: *left, waiting: wait.claim.clone() };
    }
    let mut sorted: Vec<_> = waits.iter().map(|(_, wait, _)| &wait.claim).collect();
    sorted.sort_by_key(|claim| claim.rank);
    if waits.iter().all(|(_, wait, _)| !wait.for_answer)
        && let Some(second) = sorted.iter().find(|claim| claim.action != sorted[0].action)
    {
        return Error::Mismatch { first: Box::new(sorted[0].clone()), second: Box::new((*second).clone()) };
    }
    let waits = waits
        .iter()
        .map(|(from, wait, to)| {
            let mut claim = wait.claim.clone();
            if let Some(Some(guard)) = states[to].parked.get(from) {
                claim.action += &format!(", held back by the {} that {to} opened at {}", guard.behaviour, guard.opened);
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
}
