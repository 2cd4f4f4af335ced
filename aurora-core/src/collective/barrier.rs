//! The barrier between nodes: the rounds in which all ranks agree what they have come for. Constructions, `fill` and
//! reductions begin with it too.
//!
//! Dissemination: in round `r` a rank tells rank `me + 2^r` all it knows and hears from rank `me - 2^r`; after
//! `log2(size)` rounds everyone has heard of everyone. What is told is a [`Summary`]: what the ranks came for and
//! how far each object's scopes have got, so that ranks that disagree find out here instead of hanging later. A rank
//! may bring a *word*, some bytes that all others learn: contributions to a reduction.
//!
//! Where all ranks share a node's memory they first compare one number there, which says the same (`Kernel::digest`),
//! and tell each other only if it differs.

use crate::error::Claim;
use crate::ids::{Epoch, ObjectId};
use crate::memory::{Demand, Shortage};
use crate::{Error, Site};
use aurora_net::Rank;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One rank's view of one object.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ObjectState {
    pub(crate) rank: Rank,
    pub(crate) epoch: Epoch,
    /// What all ranks must have entered alike: `Opening::digest` of the last scope.
    pub(crate) entered: u64,
    /// Text for a message: the last collective scope and its line.
    pub(crate) last: Claim,
    /// The open scope whose end is awaited by all, as the error that it is if the others have closed theirs.
    pub(crate) open: Option<Box<Error>>,
    /// What is wrong with it: after the barrier all ranks know.
    pub(crate) fault: Option<Box<Error>>,
}

/// What a barrier comes to.
pub(crate) struct Outcome {
    /// All agree, or why not.
    pub(crate) verdict: Result<(), Error>,
    /// Faulty objects that some rank knew of.
    pub(crate) faults: Vec<(ObjectId, Error)>,
    /// More memory is asked for than there is.
    pub(crate) shortage: Option<(Rank, Shortage)>,
    /// What the ranks have brought.
    pub(crate) words: BTreeMap<Rank, Bytes>,
}

/// What a set of ranks came for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Summary {
    /// Hash of what must be equal.
    key: u64,
    claim: Claim,
    objects: BTreeMap<ObjectId, ObjectState>,
    verdict: Option<Error>,
    demand: Demand,
    words: BTreeMap<Rank, Bytes>,
}

impl Summary {
    /// One rank's own.
    pub(crate) fn new(
        claim: Claim,
        key: u64,
        objects: BTreeMap<ObjectId, ObjectState>,
        refusal: Option<Error>,
    ) -> Self {
        Summary { key, claim, objects, verdict: refusal, demand: Demand::default(), words: BTreeMap::new() }
    }

    /// With the memory that the rank will take if all agree.
    pub(crate) fn asking(self, demand: Demand) -> Self {
        Summary { demand, ..self }
    }

    /// With what the rank brings for all.
    pub(crate) fn bringing(mut self, word: Option<Bytes>) -> Self {
        self.words = word.map(|word| (self.claim.rank, word)).into_iter().collect();
        self
    }

    fn site(&self) -> &Site {
        &self.claim.site
    }

    /// Joins what another set of ranks came for.
    fn merge(&mut self, other: Summary) {
        if self.verdict.is_none() {
            self.verdict = other.verdict.clone().or_else(|| self.disagreement(&other));
        }
        if other.claim.rank < self.claim.rank {
            self.claim = other.claim;
        }
        self.demand.merge(other.demand);
        self.words.extend(other.words);
        for (id, state) in other.objects {
            self.objects
                .entry(id)
                .and_modify(|mine| {
                    let fault = mine.fault.take().or_else(|| state.fault.clone());
                    if state.rank < mine.rank {
                        *mine = state.clone();
                    }
                    mine.fault = fault;
                })
                .or_insert(state);
        }
    }

    fn disagreement(&self, other: &Summary) -> Option<Error> {
        if self.key != other.key {
            return Some(mismatch(self.claim.clone(), other.claim.clone()));
        }
        self.objects.iter().find_map(|(id, mine)| {
            let theirs = other.objects.get(id)?;
            if mine.fault.is_some() || theirs.fault.is_some() {
                // Whoever uses it is told; how far its scopes got means nothing.
                return None;
            }
            if (mine.epoch, mine.entered) != (theirs.epoch, theirs.entered) {
                return Some(counted((&mine.last, mine.epoch), (&theirs.last, theirs.epoch)));
            }
            match (&mine.open, &theirs.open) {
                (Some(leak), None) | (None, Some(leak)) => Some((**leak).clone()),
                _ => None,
            }
        })
    }
}

/// `Mismatch` with the lower rank first.
pub(crate) fn mismatch(a: Claim, b: Claim) -> Error {
    let (first, second) = if a.rank <= b.rank { (a, b) } else { (b, a) };
    Error::Mismatch { first: Box::new(first), second: Box::new(second) }
}

/// `Mismatch` of ranks that have got to different scopes of an object, which one line may open again and again.
pub(crate) fn counted((a, entered): (&Claim, Epoch), (b, by_other): (&Claim, Epoch)) -> Error {
    let (mut a, mut b) = (a.clone(), b.clone());
    if a.action == b.action && entered != by_other {
        a.action += &format!(", its scope {entered} of it,");
        b.action += &format!(", its scope {by_other} of it,");
    }
    mismatch(a, b)
}

/// A message of the barrier: `(to, round, what to tell)`.
pub(crate) type Tell = (Rank, u32, Summary);

/// The machine of one rank.
pub(crate) struct Barrier {
    me: usize,
    size: usize,
    seq: u64,
    under_way: Option<(u32, Summary)>,
    early: BTreeMap<(u64, u32), Summary>,
}

impl Barrier {
    pub(crate) fn new(me: Rank, size: usize) -> Self {
        Barrier { me: me.index(), size, seq: 0, under_way: None, early: BTreeMap::new() }
    }

    /// Number of the barrier under way, or of the last one.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    /// Arrives at the next barrier, and returns its number. Where all ranks are on one node and have come for the
    /// same, that is all there is to it.
    pub(crate) fn arrive(&mut self) -> u64 {
        debug_assert!(self.under_way.is_none(), "one barrier at a time");
        self.seq += 1;
        self.seq
    }

    /// Tells the others what for.
    pub(crate) fn start(&mut self, summary: Summary, tell: &mut Vec<Tell>) {
        self.under_way = Some((0, summary));
        self.tell(tell);
        self.advance(tell);
    }

    /// The summary of another rank has come.
    pub(crate) fn receive(&mut self, seq: u64, round: u32, summary: Summary, tell: &mut Vec<Tell>) {
        self.early.insert((seq, round), summary);
        self.advance(tell);
    }

    /// The outcome once everyone has come.
    pub(crate) fn poll(&mut self) -> Option<Outcome> {
        let (round, _) = self.under_way.as_ref()?;
        if *round < self.rounds() {
            return None;
        }
        let (_, summary) = self.under_way.take()?;
        let faulty = summary.objects.into_iter();
        Some(Outcome {
            verdict: summary.verdict.map_or(Ok(()), Err),
            shortage: summary.demand.shortage(),
            words: summary.words,
            faults: faulty.filter_map(|(id, state)| Some((id, *state.fault?))).collect(),
        })
    }

    /// Whether the others have been told what for.
    pub(crate) fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// The rank whose word is missing.
    pub(crate) fn awaited(&self) -> Option<Rank> {
        let (round, _) = self.under_way.as_ref()?;
        (*round < self.rounds()).then(|| Rank::new((self.me + self.size - (1 << round)) % self.size))
    }

    /// The line at which this rank is in a barrier.
    pub(crate) fn site(&self) -> Option<&Site> {
        self.under_way.as_ref().map(|(_, summary)| summary.site())
    }

    fn rounds(&self) -> u32 {
        self.size.next_power_of_two().trailing_zeros()
    }

    fn tell(&self, tell: &mut Vec<Tell>) {
        if let Some((round, summary)) = &self.under_way
            && *round < self.rounds()
        {
            tell.push((Rank::new((self.me + (1 << round)) % self.size), *round, summary.clone()));
        }
    }

    fn advance(&mut self, tell: &mut Vec<Tell>) {
        while let Some((round, summary)) = &mut self.under_way
            && let Some(heard) = self.early.remove(&(self.seq, *round))
        {
            summary.merge(heard);
            *round += 1;
            self.tell(tell);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{MemoryLimit, Pool};
    use std::collections::VecDeque;

    fn summary(rank: usize, key: u64) -> Summary {
        let claim = Claim { rank: Rank::new(rank), action: format!("came for {key}"), site: Site::here() };
        Summary::new(claim, key, BTreeMap::new(), None)
    }

    /// Runs one barrier of `keys.len()` ranks and returns the outcomes and the number of messages.
    fn run(keys: &[u64]) -> (Vec<Result<(), Error>>, usize) {
        let size = keys.len();
        let mut ranks: Vec<_> = (0..size).map(|r| Barrier::new(Rank::new(r), size)).collect();
        let (mut queue, mut messages) = (VecDeque::new(), 0);
        let mut told = Vec::new();
        // The last rank comes last, when all the others' messages have been heard.
        for rank in 0..size {
            assert_eq!(ranks[rank].arrive(), 1);
            ranks[rank].start(summary(rank, keys[rank]), &mut told);
            queue.extend(told.drain(..));
            while let Some((to, round, summary)) = queue.pop_front() {
                messages += 1;
                if rank < size - 1 {
                    assert!(ranks[to.index()].poll().is_none(), "nobody passes before all have come");
                }
                ranks[to.index()].receive(1, round, summary, &mut told);
                queue.extend(told.drain(..));
            }
        }
        (ranks.iter_mut().map(|r| r.poll().expect("all have come").verdict).collect(), messages)
    }

    #[test]
    fn everyone_meets_with_log2_messages_each() {
        for size in 1..20 {
            let (outcomes, messages) = run(&vec![7; size]);
            assert!(outcomes.iter().all(Result::is_ok));
            assert_eq!(messages, size * size.next_power_of_two().trailing_zeros() as usize);
        }
    }

    #[test]
    fn what_all_ask_for_is_known_to_all() {
        for size in 1..20 {
            for available in [40 * size - 1, 40 * size] {
                let mut ranks: Vec<_> = (0..size).map(|rank| Barrier::new(Rank::new(rank), size)).collect();
                let (mut queue, mut told) = (VecDeque::new(), Vec::new());
                for (rank, barrier) in ranks.iter_mut().enumerate() {
                    let pool = Pool { id: 7, limit: MemoryLimit::Machine, available };
                    let demand = Demand::new(Rank::new(rank), 40, vec![pool]);
                    barrier.arrive();
                    barrier.start(summary(rank, 1).asking(demand), &mut told);
                    queue.extend(told.drain(..));
                }
                while let Some((to, round, summary)) = queue.pop_front() {
                    ranks[to.index()].receive(1, round, summary, &mut told);
                    queue.extend(told.drain(..));
                }
                for barrier in &mut ranks {
                    let shortage = barrier.poll().expect("all have come").shortage;
                    assert_eq!(shortage.map(|(_, s)| s.together), (available < 40 * size).then_some(40 * size));
                }
            }
        }
    }

    #[test]
    fn what_each_brings_is_known_to_all() {
        for size in 1..20 {
            let mut ranks: Vec<_> = (0..size).map(|rank| Barrier::new(Rank::new(rank), size)).collect();
            let (mut queue, mut told) = (VecDeque::new(), Vec::new());
            for (rank, barrier) in ranks.iter_mut().enumerate() {
                barrier.arrive();
                // One of them has nothing to say.
                let word = (rank != 2).then(|| Bytes::from(vec![rank as u8; rank]));
                barrier.start(summary(rank, 1).bringing(word), &mut told);
                queue.extend(told.drain(..));
            }
            while let Some((to, round, summary)) = queue.pop_front() {
                ranks[to.index()].receive(1, round, summary, &mut told);
                queue.extend(told.drain(..));
            }
            for barrier in &mut ranks {
                let words = barrier.poll().expect("all have come").words;
                let wanted =
                    (0..size).filter(|rank| *rank != 2).map(|rank| (Rank::new(rank), vec![rank as u8; rank].into()));
                assert!(words.into_iter().eq(wanted));
            }
        }
    }

    #[test]
    fn one_dissenter_is_known_to_all() {
        for size in 2..12 {
            for dissenter in 0..size {
                let mut keys = vec![7; size];
                keys[dissenter] = 8;
                for outcome in run(&keys).0 {
                    assert!(matches!(outcome, Err(Error::Mismatch { .. })));
                }
            }
        }
    }
}
