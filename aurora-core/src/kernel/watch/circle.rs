//! The ranks that a rank really waits for, the search for a circle of waits, and the error for a circle. Pure.

use super::state::{GuardState, Held, RankState, WaitState};
use crate::Error;
use crate::collective::mismatch;
use crate::ids::ObjectId;
use aurora_net::Rank;
use std::collections::{BTreeMap, BTreeSet};

/// One rank's wait for another that no message under way can end.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Step {
    from: Rank,
    to: Rank,
    wait: WaitState,
    /// The ranks in between. `from` has asked the first. Each holds its request back until the next has ended its
    /// scope of that object; the last waits for `to`.
    through: Vec<(Rank, ObjectId)>,
    /// The number of messages that each rank of the chain, from `from` on, has received from the next.
    heard: Vec<u64>,
    /// If one of several ranks would be enough: all ranks that are also stuck, each in this wait.
    beside: Vec<Stuck>,
}

/// A rank, the number of its wait, and the numbers of the messages that it has received.
type Stuck = (Rank, u64, Vec<u64>);

/// The ranks that `from` really waits for: no message that could end its wait is under way.
fn steps(from: Rank, states: &BTreeMap<Rank, RankState>) -> Vec<Step> {
    steps_beside(from, states, &BTreeSet::from([from]))
}

/// True if a rank can do nothing before other ranks act that can do nothing either. `stuck` has the ranks assumed to
/// be stuck; ranks that are found to be stuck are added. A rank that has left does nothing any more.
fn is_stuck(rank: Rank, states: &BTreeMap<Rank, RankState>, stuck: &mut BTreeSet<Rank>) -> bool {
    let Some(state) = states.get(&rank) else {
        return false;
    };
    if state.leaving || stuck.contains(&rank) {
        return true;
    }
    let mut assumed = stuck.clone();
    assumed.insert(rank);
    steps_beside(rank, states, &assumed).into_iter().any(|step| {
        let mut all = assumed.clone();
        let found = is_stuck(step.to, states, &mut all);
        if found {
            stuck.extend(all);
            stuck.extend(step.beside.iter().map(|(rank, ..)| *rank));
        }
        found
    })
}

/// As [`steps`], where the ranks `assumed` are assumed to be stuck.
fn steps_beside(from: Rank, states: &BTreeMap<Rank, RankState>, assumed: &BTreeSet<Rank>) -> Vec<Step> {
    let mut steps = Vec::new();
    let Some(wait) = states.get(&from).and_then(|state| state.wait.as_ref()) else {
        return steps;
    };
    let step = |to| Step { from, to, wait: wait.clone(), through: Vec::new(), heard: Vec::new(), beside: Vec::new() };
    let mut open: Vec<Step> = wait.on.iter().rev().copied().map(step).collect();
    let mut relayed_by = BTreeSet::new();
    while let Some(mut step) = open.pop() {
        let (asker, asked) = (step.through.last().map_or(from, |(rank, _)| *rank), step.to);
        let (Some(heard), Some(other)) = (all_heard(asker, asked, states), states.get(&asked)) else {
            continue;
        };
        step.heard.push(heard);
        let behind = |to, object| {
            let through = step.through.iter().copied().chain([(asked, object)]).collect();
            Step { to, through, ..step.clone() }
        };
        let relay = other.relays.iter().find(|(object, relay)| relay.serves(wait, *object));
        let by_itself = if let Some(&(object, ref relay)) = relay {
            // Ranks that wait for each other's relays wait for data from elsewhere.
            let is_new = relayed_by.insert(asked);
            if is_new {
                open.extend(relay.behind.iter().rev().map(|to| behind(*to, object)));
            }
            is_new && relay.by_itself
        } else if wait.for_answer && step.through.is_empty() {
            let held = || other.held(asked, from, wait);
            for (ranks, object) in held().flat_map(|held| &held.any) {
                let mut stuck = assumed.clone();
                let can_none = ranks.iter().all(|rank| {
                    let heard = *rank == asked || all_heard(asked, *rank, states).is_some();
                    heard && is_stuck(*rank, states, &mut stuck)
                });
                if can_none {
                    let of = |rank: &Rank| {
                        let state = states.get(rank)?;
                        Some((*rank, state.wait.as_ref().map_or(0, |wait| wait.id), state.received.clone()))
                    };
                    let beside: Vec<_> = stuck.iter().chain(ranks).filter_map(of).collect();
                    let any = ranks.iter().rev().map(|to| match *to == asked {
                        true => Step { beside: beside.clone(), ..step.clone() },
                        false => Step { beside: beside.clone(), ..behind(*to, *object) },
                    });
                    steps.extend(any);
                }
            }
            let all_behind: Vec<_> = held().flat_map(|held| &held.behind).collect();
            open.extend(all_behind.into_iter().rev().map(|(to, object)| behind(*to, *object)));
            held().any(|held| held.by_itself)
        } else {
            true
        };
        if by_itself {
            steps.push(step);
        }
    }
    steps
}

/// The number of messages that `by` has received from `from`; `None` if a message is still under way.
fn all_heard(by: Rank, from: Rank, states: &BTreeMap<Rank, RankState>) -> Option<u64> {
    let heard = states.get(&by)?.received[from.index()];
    (heard == states.get(&from)?.sent[by.index()]).then_some(heard)
}

/// A wait of `me` for a rank that has left.
pub(super) fn left_behind(me: Rank, states: &BTreeMap<Rank, RankState>) -> Option<Step> {
    if states[&me].leaving {
        return None;
    }
    steps(me, states).into_iter().find(|step| states[&step.to].leaving)
}

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

/// The error for a circle of waits, or for a wait for a rank that has left.
pub(super) fn verdict(steps: &[Step], states: &BTreeMap<Rank, RankState>) -> Error {
    /// The guard of the asked rank that keeps the request of a step from being answered, if there is one.
    fn guard<'a>(step: &'a Step, states: &'a BTreeMap<Rank, RankState>) -> Option<&'a GuardState> {
        let held = step.through.is_empty().then(|| states[&step.to].held(step.to, step.from, &step.wait));
        held.into_iter().flatten().find_map(|held| held.guard.as_ref())
    }
    for step in steps {
        let other = &states[&step.to];
        let awaited = step.wait.for_end_of;
        let forgotten = awaited
            .or(step.through.last().map(|(_, object)| *object))
            // If `to` waits for another scope of this object, the two are scopes of different parts: none is
            // forgotten.
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
                object: Box::new(guard.object.clone()),
                opened: guard.opened.clone(),
                waiting: Some(Box::new(step.wait.claim.clone())),
            };
        }
    }
    let is_held = |step| guard(step, states).is_some() || !step.beside.is_empty();
    if !steps.iter().any(is_held)
        && let Some(mismatch) = not_entered(steps, states)
    {
        return mismatch;
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
                    &format!(" (held back by the {} that {} opened at {})", guard.behaviour, step.to, guard.opened);
            }
            if let Some((holder, _)) = step.through.last() {
                let to = step.to;
                claim.action += &match step.wait.for_answer {
                    true => format!(" (which {holder} delays until a scope of {to} ends)"),
                    false => format!(" (for which {holder} waits for {to})"),
                };
            }
            claim
        })
        .collect();
    Error::Deadlock { waits }
}

/// The error of a wait that can end only after a collective scope which the other rank has not entered, because the
/// other rank waits in another call.
fn not_entered(steps: &[Step], states: &BTreeMap<Rank, RankState>) -> Option<Error> {
    let scope = |step: &Step| {
        let (mine, other) = (&states[&step.from], &states[&step.to]);
        let holds_back = |object, held: &Held| held.by_itself && step.wait.asked.contains(&(step.to, object));
        let held = || other.held_of(step.from).find(|(object, held)| holds_back(*object, held));
        let awaited = step.through.last().map(|(_, object)| *object).or(step.wait.for_end_of);
        let object = awaited.or_else(|| held().map(|(object, _)| object))?;
        let is_behind = !other.leaving && other.entered.get(&object)? < mine.entered.get(&object)?;
        mine.last.get(&object).filter(|_| is_behind)
    };
    steps.iter().find_map(|step| {
        let mine = scope(step)?;
        // The other rank may be in a scope that this rank has not entered either.
        let theirs = steps.iter().filter(|other| other.from == step.to).find_map(scope);
        let theirs = theirs.or_else(|| Some(&states[&step.to].wait.as_ref()?.claim))?;
        Some(mismatch(mine.clone(), theirs.clone()))
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::relay::Relay;
    use super::*;
    use crate::Site;
    use crate::error::Claim;

    pub(in crate::kernel::watch) fn state(size: usize, rank: usize, on: &[usize]) -> RankState {
        let claim = Claim { rank: Rank::new(rank), action: format!("does {rank}"), site: Site::here() };
        let on: Vec<_> = on.iter().map(|r| Rank::new(*r)).collect();
        let asked = on.iter().map(|to| (*to, ObjectId(1))).collect();
        let (for_answer, for_end_of, at, for_everyone) = (false, None, None, false);
        let wait = WaitState { id: 1, claim, on, for_answer, asked, for_end_of, at, for_everyone };
        RankState {
            wait: (!wait.on.is_empty()).then_some(wait),
            sent: vec![0; size],
            received: vec![0; size],
            ..RankState::default()
        }
    }

    pub(in crate::kernel::watch) fn states(waits: &[&[usize]]) -> BTreeMap<Rank, RankState> {
        waits.iter().enumerate().map(|(r, on)| (Rank::new(r), state(waits.len(), r, on))).collect()
    }

    pub(in crate::kernel::watch) fn held_back(held: Held) -> BTreeMap<Rank, RankState> {
        let mut states = states(&[&[], &[2], &[1]]);
        let asker = states.get_mut(&Rank::new(1)).unwrap();
        asker.wait.as_mut().unwrap().for_answer = true;
        let holder = states.get_mut(&Rank::new(2)).unwrap();
        holder.parked.insert((Rank::new(1), ObjectId(1)), held);
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
    fn a_request_that_another_object_holds_back_is_another() {
        let mut states = held_back(Held { by_itself: true, ..Held::default() });
        let convicts = |states: &_| circle(Rank::new(1), states).is_some();
        assert!(convicts(&states));
        // It waits for an answer of object 2, which is under way.
        states.get_mut(&Rank::new(1)).unwrap().wait.as_mut().unwrap().asked = [(Rank::new(2), ObjectId(2))].into();
        assert!(!convicts(&states));
        states.get_mut(&Rank::new(2)).unwrap().parked.insert((Rank::new(1), ObjectId(2)), Held::default());
        assert!(!convicts(&states));
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

    /// Two nodes. Rank 3 loads. Rank 2 is in a barrier, and receives the block of rank 0 for both ranks.
    fn relayed(relay: Option<Relay>) -> BTreeMap<Rank, RankState> {
        let mut states = states(&[&[], &[2], &[3], &[2]]);
        states.get_mut(&Rank::new(3)).unwrap().wait.as_mut().unwrap().at = Some((ObjectId(1), 5));
        let receiver = states.get_mut(&Rank::new(2)).unwrap();
        receiver.relays.extend(relay.map(|relay| (ObjectId(1), relay)));
        states
    }

    /// Waits have the number of their load.
    fn load(number: u64, behind: &[usize]) -> Relay {
        Relay { waits: (number, u64::MAX), by_itself: false, behind: behind.iter().copied().map(Rank::new).collect() }
    }

    fn convicts(rank: usize, states: &BTreeMap<Rank, RankState>) -> Option<Vec<usize>> {
        circle(Rank::new(rank), states).map(|steps| steps.iter().map(|step| step.to.index()).collect())
    }

    #[test]
    fn what_is_received_in_the_background_is_waited_for_elsewhere() {
        assert_eq!(convicts(3, &relayed(None)), Some(vec![2, 3]), "it has received all, and has to come");
        let mut states = relayed(Some(load(5, &[0])));
        assert_eq!(convicts(3, &states), None, "rank 0 computes");
        assert_eq!(convicts(2, &states), None, "the same from the other side");
        states.insert(Rank::new(0), state(4, 0, &[3]));
        assert_eq!(convicts(3, &states), Some(vec![0, 3]), "rank 0 waits for who waits for it");
        states.get_mut(&Rank::new(0)).unwrap().sent[2] = 1;
        assert_eq!(convicts(3, &states), None, "its block is on the way");
        states.get_mut(&Rank::new(2)).unwrap().received[0] = 1;
        assert_eq!(convicts(3, &states), Some(vec![0, 3]));
        states.get_mut(&Rank::new(2)).unwrap().sent[3] = 1;
        assert_eq!(convicts(3, &states), None, "what rank 2 has made of it is on the way");
    }

    #[test]
    fn only_what_is_waited_for_counts() {
        // A rank that streams a later load has completed this one.
        assert_eq!(convicts(3, &relayed(Some(load(6, &[0])))), Some(vec![2, 3]));
        assert_eq!(convicts(3, &relayed(Some(load(4, &[0])))), None, "it comes before this one");
        let mut states = relayed(None);
        states.get_mut(&Rank::new(2)).unwrap().relays.push((ObjectId(2), load(5, &[0])));
        assert_eq!(convicts(3, &states), Some(vec![2, 3]), "it is of another object");
        let mut states = relayed(Some(load(5, &[0])));
        states.get_mut(&Rank::new(3)).unwrap().wait.as_mut().unwrap().at = None;
        assert_eq!(convicts(3, &states), Some(vec![2, 3]), "it waits for something else");
    }

    #[test]
    fn who_relays_may_wait_for_who_relays() {
        let mut states = relayed(Some(load(5, &[1])));
        states.get_mut(&Rank::new(1)).unwrap().relays.push((ObjectId(1), load(5, &[0, 2])));
        assert_eq!(convicts(3, &states), None, "rank 0 computes");
        states.insert(Rank::new(0), state(4, 0, &[3]));
        assert_eq!(convicts(3, &states), Some(vec![0, 3]));
        states.get_mut(&Rank::new(1)).unwrap().sent[2] = 1;
        assert_eq!(convicts(3, &states), None, "what rank 1 relays is on the way");
    }

    #[test]
    fn the_home_of_a_scalar_waits_for_the_rest() {
        // Rank 3 waits for the end of a scope, and has asked its home, which is in a barrier.
        let home = |by_itself, behind: &[usize]| Relay { by_itself, ..load(0, behind) };
        let mut states = relayed(Some(home(false, &[1])));
        let wait = states.get_mut(&Rank::new(3)).unwrap().wait.as_mut().unwrap();
        (wait.at, wait.for_end_of) = (Some((ObjectId(1), 0)), Some(ObjectId(1)));
        states.insert(Rank::new(1), state(4, 1, &[]));
        assert_eq!(convicts(3, &states), None, "rank 1 computes");
        let gone = |states: &_| left_behind(Rank::new(3), states).map(|step| step.to.index());
        states.get_mut(&Rank::new(2)).unwrap().leaving = true;
        assert_eq!(gone(&states), None, "the home has left, and rank 1 is still to come");
        states.get_mut(&Rank::new(1)).unwrap().leaving = true;
        assert_eq!(gone(&states), Some(1));
        states.get_mut(&Rank::new(1)).unwrap().sent[2] = 1;
        assert_eq!(gone(&states), None, "its end is on the way");
        states.get_mut(&Rank::new(2)).unwrap().relays = vec![(ObjectId(1), home(true, &[]))];
        assert_eq!(gone(&states), Some(2), "the home itself has not ended it");
    }

    #[test]
    fn who_has_left_still_receives_for_others() {
        let mut states = relayed(Some(load(5, &[0])));
        states.get_mut(&Rank::new(2)).unwrap().leaving = true;
        assert_eq!(left_behind(Rank::new(3), &states), None);
        let mut over = states.clone();
        over.get_mut(&Rank::new(2)).unwrap().relays.clear();
        assert!(left_behind(Rank::new(3), &over).is_some());
        states.get_mut(&Rank::new(0)).unwrap().leaving = true;
        assert_eq!(left_behind(Rank::new(3), &states).map(|step| step.to.index()), Some(0));
    }

    /// Rank 1 waits for an answer of rank 0, which holds it back until one of these ranks does something.
    fn kept_for_any(states: &mut BTreeMap<Rank, RankState>, asker: usize, ranks: &[usize]) {
        let held = Held { any: vec![(ranks.iter().copied().map(Rank::new).collect(), ObjectId(1))], ..Held::default() };
        states.get_mut(&Rank::new(0)).unwrap().parked.insert((Rank::new(asker), ObjectId(1)), held);
        states.get_mut(&Rank::new(asker)).unwrap().wait.as_mut().unwrap().for_answer = true;
    }

    #[test]
    fn one_of_several_is_enough() {
        // The home is in a barrier, for which rank 1 has to come.
        let mut states = states(&[&[1], &[0], &[0], &[]]);
        kept_for_any(&mut states, 1, &[0, 2, 3]);
        kept_for_any(&mut states, 2, &[0, 1, 3]);
        assert_eq!((convicts(1, &states), convicts(2, &states)), (None, None), "rank 3 computes");
        states.insert(Rank::new(3), state(4, 3, &[2]));
        assert!(convicts(1, &states).is_some() && convicts(2, &states).is_some(), "nobody is left");
        states.get_mut(&Rank::new(3)).unwrap().sent[0] = 1;
        assert_eq!(convicts(1, &states), None, "its message is on the way");
        states.get_mut(&Rank::new(0)).unwrap().received[3] = 1;
        let before = circle(Rank::new(1), &states);
        states.get_mut(&Rank::new(3)).unwrap().wait.as_mut().unwrap().id = 2;
        assert_ne!(circle(Rank::new(1), &states), before, "it was elsewhere meanwhile");
    }

    #[test]
    fn nobody_is_left_but_ranks_that_have_left() {
        let mut states = states(&[&[], &[0], &[]]);
        kept_for_any(&mut states, 1, &[0, 2]);
        let gone = |states: &_| left_behind(Rank::new(1), states).map(|step| step.to.index());
        states.get_mut(&Rank::new(0)).unwrap().leaving = true;
        assert_eq!(gone(&states), None, "rank 2 computes");
        states.get_mut(&Rank::new(2)).unwrap().leaving = true;
        assert!(gone(&states).is_some());
    }

    #[test]
    fn who_asks_itself_waits_for_others() {
        let mut states = states(&[&[0], &[]]);
        kept_for_any(&mut states, 0, &[1]);
        assert_eq!(convicts(0, &states), None, "rank 1 computes");
        states.insert(Rank::new(1), state(2, 1, &[0]));
        assert_eq!(convicts(0, &states), Some(vec![1, 0]));
    }
}
