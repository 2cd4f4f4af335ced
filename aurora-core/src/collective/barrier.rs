//! The barrier between nodes: the rounds in which all ranks agree on any collective call.
//!
//! Dissemination: in round `r` a rank sends all it knows to rank `me + 2^r` and receives from rank `me - 2^r`. After
//! `ceil(log2(size))` rounds every rank has the data of all ranks. In the first pass a rank sends a [`Digest`]: one
//! number, a flag that all numbers so far were equal, and words. If they were not equal, a second pass follows with a
//! [`Summary`]: the calls of the ranks in words, each object's scopes, faults, and memory that is requested. So
//! ranks that disagree get an error here instead of waiting for ever later.
//!
//! A rank may bring a *word*: some bytes that all other ranks get, such as contributions to a reduction. It also brings
//! the words of the objects that the barrier names. Objects merge these words, each rank's exactly once ([`Merging`]).
//!
//! Ranks that share a node's memory first compare one number there (`Kernel::digest`), and send summaries if it
//! differs.

use super::proposal::Proposal;
use super::words::{Merge, Merging, Words};
use crate::ids::{Epoch, ObjectId};
use crate::memory::{Demand, Shortage};
use crate::{Claim, Error, Site};
use aurora_net::Rank;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ObjectState {
    pub(crate) rank: Rank,
    pub(crate) epoch: Epoch,
    /// The value that must be equal on all ranks: `Opening::digest` of the last scope.
    pub(crate) entered: u64,
    /// For an error: the last collective scope and its line.
    pub(crate) last: Claim,
    /// The open scope whose end all ranks await, as the error if the other ranks have closed this scope.
    pub(crate) open: Option<Box<Error>>,
    /// The fault of the object: after the barrier all ranks know it.
    pub(crate) fault: Option<Box<Error>>,
}

/// The result of a barrier.
pub(crate) struct Outcome {
    /// `Ok` if all ranks agree, else the error.
    pub(crate) verdict: Result<(), Error>,
    /// The faults of objects that any rank knew.
    pub(crate) faults: Vec<(ObjectId, Error)>,
    /// More memory is requested than is free.
    pub(crate) shortage: Option<(Rank, Shortage)>,
    pub(crate) words: BTreeMap<Rank, Bytes>,
    pub(crate) named: Words,
}

/// The data of a set of ranks in the first pass.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Digest {
    digest: u64,
    /// Not all ranks of the set have this digest, or one of them requests a second pass.
    differs: bool,
    words: BTreeMap<Rank, Bytes>,
    named: Merging,
}

impl Digest {
    /// The digest of one rank; `differs`: the rank requests a second pass.
    pub(crate) fn new(rank: Rank, (digest, differs): (u64, bool), word: Option<Bytes>, named: Words) -> Self {
        let words = word.map(|word| (rank, word)).into_iter().collect();
        Digest { digest, differs, words, named: Merging::new(named) }
    }

    fn merge(&mut self, round: u32, size: usize, other: Digest, merge: Merge<'_>) {
        self.differs |= other.differs || self.digest != other.digest;
        self.words.extend(other.words);
        self.named.merge(round, size, other.named, merge);
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum BarrierMessage {
    First(Digest),
    Second(Box<Summary>),
}

/// The collective call of a set of ranks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Summary {
    /// Hash of all that must be equal.
    key: u64,
    claim: Claim,
    objects: BTreeMap<ObjectId, ObjectState>,
    verdict: Option<Error>,
    /// The memory that these ranks will take if all agree.
    demand: Demand,
}

impl Summary {
    pub(crate) fn new(claim: Claim, proposal: &Proposal<'_>, objects: BTreeMap<ObjectId, ObjectState>) -> Self {
        Summary {
            key: proposal.key,
            claim,
            objects,
            verdict: proposal.refusal.clone(),
            demand: proposal.demand.clone(),
        }
    }

    fn merge(&mut self, other: Summary) {
        if self.verdict.is_none() {
            self.verdict = other.verdict.clone().or_else(|| self.disagreement(&other));
        }
        if other.claim.rank < self.claim.rank {
            self.claim = other.claim;
        }
        self.demand.merge(other.demand);
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
                // The next use of the object returns the fault; the scopes of a faulty object need not be equal.
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

/// `Mismatch` of ranks that are in different scopes of an object, which one line may open several times.
pub(crate) fn counted((a, entered): (&Claim, Epoch), (b, by_other): (&Claim, Epoch)) -> Error {
    let (mut a, mut b) = (a.clone(), b.clone());
    if a.action == b.action && entered != by_other {
        a.action += &format!(", its scope {entered} of it,");
        b.action += &format!(", its scope {by_other} of it,");
    }
    mismatch(a, b)
}

/// A message of the barrier: receiver, round, contents.
pub(crate) type Envelope = (Rank, u32, BarrierMessage);

pub(crate) struct Barrier {
    me: usize,
    size: usize,
    seq: u64,
    under_way: Option<UnderWay>,
    early: BTreeMap<(u64, u32), BarrierMessage>,
}

/// A barrier in which this rank has sent something.
struct UnderWay {
    /// The number of completed rounds; the rounds of the second pass follow the rounds of the first.
    round: u32,
    digest: Digest,
    summary: Option<Box<Summary>>,
    site: Site,
}

impl Barrier {
    pub(crate) fn new(me: Rank, size: usize) -> Self {
        Barrier { me: me.index(), size, seq: 0, under_way: None, early: BTreeMap::new() }
    }

    /// Number of the barrier under way, or of the last one.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    /// Arrives at the next barrier, and returns its number. If all ranks are on one node and agree, nothing else is
    /// needed.
    pub(crate) fn arrive(&mut self) -> u64 {
        debug_assert!(self.under_way.is_none(), "one barrier at a time");
        self.seq += 1;
        self.seq
    }

    /// Sends this rank's digest.
    pub(crate) fn start(&mut self, digest: Digest, site: &Site, merge: Merge<'_>, envelopes: &mut Vec<Envelope>) {
        self.under_way = Some(UnderWay { round: 0, digest, summary: None, site: site.clone() });
        self.send(envelopes);
        self.advance(merge, envelopes);
    }

    /// Sends the summary of this rank: digests differ.
    pub(crate) fn start_second_pass(&mut self, summary: Summary, site: &Site, envelopes: &mut Vec<Envelope>) {
        let digest = self.under_way.take().map(|before| before.digest).unwrap_or_default();
        let round = self.rounds();
        self.under_way = Some(UnderWay { round, digest, summary: Some(Box::new(summary)), site: site.clone() });
        self.send(envelopes);
        self.advance(&|_, _, _| {}, envelopes);
    }

    pub(crate) fn receive(
        &mut self,
        seq: u64,
        round: u32,
        message: BarrierMessage,
        merge: Merge<'_>,
        envelopes: &mut Vec<Envelope>,
    ) {
        self.early.insert((seq, round), message);
        self.advance(merge, envelopes);
    }

    /// True if a second pass is due and this rank has not started it.
    pub(crate) fn wants_second_pass(&self) -> bool {
        self.under_way.as_ref().is_some_and(|under_way| {
            under_way.round == self.rounds() && under_way.digest.differs && under_way.summary.is_none()
        })
    }

    /// The outcome, once all ranks have arrived.
    pub(crate) fn poll(&mut self) -> Option<Outcome> {
        let rounds = self.rounds();
        let is_over = |under_way: &UnderWay| match under_way.summary {
            None => under_way.round == rounds && !under_way.digest.differs,
            Some(_) => under_way.round == 2 * rounds,
        };
        let UnderWay { digest, summary, .. } = self.under_way.take_if(|under_way| is_over(under_way))?;
        let mut outcome = Outcome {
            verdict: Ok(()),
            faults: Vec::new(),
            shortage: None,
            words: digest.words,
            named: digest.named.all(self.size),
        };
        if let Some(summary) = summary {
            outcome.verdict = summary.verdict.map_or(Ok(()), Err);
            outcome.shortage = summary.demand.shortage();
            outcome.faults = summary.objects.into_iter().filter_map(|(id, state)| Some((id, *state.fault?))).collect();
        }
        Some(outcome)
    }

    /// True if this rank has sent something.
    pub(crate) fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// The rank whose message is missing.
    pub(crate) fn awaited(&self) -> Option<Rank> {
        let step = self.step(self.under_way.as_ref()?)?;
        Some(Rank::new((self.me + self.size - step) % self.size))
    }

    /// The line at which this rank is in a barrier.
    pub(crate) fn site(&self) -> Option<&Site> {
        self.under_way.as_ref().map(|under_way| &under_way.site)
    }

    fn rounds(&self) -> u32 {
        self.size.next_power_of_two().trailing_zeros()
    }

    /// The distance to the ranks with which this rank communicates in the current round.
    fn step(&self, under_way: &UnderWay) -> Option<usize> {
        let (rounds, round) = (self.rounds(), under_way.round);
        match under_way.summary {
            None => (round < rounds).then(|| 1 << round),
            Some(_) => (round < 2 * rounds).then(|| 1 << (round - rounds)),
        }
    }

    fn send(&self, envelopes: &mut Vec<Envelope>) {
        if let Some(under_way) = &self.under_way
            && let Some(step) = self.step(under_way)
        {
            let message = match &under_way.summary {
                None => BarrierMessage::First(under_way.digest.clone()),
                Some(summary) => BarrierMessage::Second(summary.clone()),
            };
            envelopes.push((Rank::new((self.me + step) % self.size), under_way.round, message));
        }
    }

    fn advance(&mut self, merge: Merge<'_>, envelopes: &mut Vec<Envelope>) {
        while let Some(under_way) = &mut self.under_way
            && let Some(message) = self.early.remove(&(self.seq, under_way.round))
        {
            match (message, &mut under_way.summary) {
                (BarrierMessage::First(digest), None) => {
                    under_way.digest.merge(under_way.round, self.size, digest, merge)
                }
                (BarrierMessage::Second(summary), Some(mine)) => mine.merge(*summary),
                // This rank begins its second pass later.
                (message @ BarrierMessage::Second(_), None) => {
                    self.early.insert((self.seq, under_way.round), message);
                    return;
                }
                // No rank that follows the protocol sends this.
                (BarrierMessage::First(_), Some(_)) => continue,
            }
            under_way.round += 1;
            self.send(envelopes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::MemoryLimit;
    use crate::memory::Pool;
    use std::collections::VecDeque;

    fn summary(rank: usize, key: u64) -> Summary {
        let claim = Claim { rank: Rank::new(rank), action: format!("is in call {key}"), site: Site::here() };
        Summary::new(claim, &Proposal::new("a barrier", &key, key), BTreeMap::new())
    }

    /// Ranks that exchange messages until none is left.
    struct Ranks {
        barriers: Vec<Barrier>,
        queue: VecDeque<Envelope>,
        messages: usize,
    }

    impl Ranks {
        fn new(size: usize) -> Self {
            let barriers = (0..size).map(|rank| Barrier::new(Rank::new(rank), size)).collect();
            Ranks { barriers, queue: VecDeque::new(), messages: 0 }
        }

        /// A rank arrives with a digest; if digests differ, it sends a summary.
        fn arrive(&mut self, rank: usize, digest: Digest, summary: &dyn Fn(usize) -> Summary) {
            let mut envelopes = Vec::new();
            assert_eq!(self.barriers[rank].arrive(), 1);
            self.barriers[rank].start(digest, &Site::here(), &concat, &mut envelopes);
            self.queue.extend(envelopes.drain(..));
            loop {
                for (rank, barrier) in self.barriers.iter_mut().enumerate() {
                    if barrier.wants_second_pass() {
                        barrier.start_second_pass(summary(rank), &Site::here(), &mut envelopes);
                    }
                }
                self.queue.extend(envelopes.drain(..));
                let Some((to, round, what)) = self.queue.pop_front() else {
                    break;
                };
                self.messages += 1;
                self.barriers[to.index()].receive(1, round, what, &concat, &mut envelopes);
                self.queue.extend(envelopes.drain(..));
            }
        }

        fn outcomes(&mut self) -> Vec<Outcome> {
            self.barriers.iter_mut().map(|barrier| barrier.poll().expect("all have come")).collect()
        }
    }

    fn concat(_: ObjectId, all: &mut Vec<u8>, more: &[u8]) {
        all.extend_from_slice(more);
    }

    /// The outcomes of one barrier.
    fn met(size: usize, digest: impl Fn(usize) -> Digest, summary: &dyn Fn(usize) -> Summary) -> Vec<Outcome> {
        let mut ranks = Ranks::new(size);
        (0..size).for_each(|rank| ranks.arrive(rank, digest(rank), summary));
        ranks.outcomes()
    }

    /// Runs one barrier of `keys.len()` ranks and returns the outcomes and the number of messages.
    fn run(keys: &[u64]) -> (Vec<Result<(), Error>>, usize) {
        let mut ranks = Ranks::new(keys.len());
        for (rank, key) in keys.iter().enumerate() {
            assert!(ranks.barriers.iter_mut().all(|barrier| barrier.poll().is_none()), "not before all have come");
            let digest = Digest::new(Rank::new(rank), (*key, false), None, Words::new());
            ranks.arrive(rank, digest, &|rank| summary(rank, keys[rank]));
        }
        (ranks.outcomes().into_iter().map(|outcome| outcome.verdict).collect(), ranks.messages)
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
                let asking = |rank| {
                    let pool = Pool { id: 7, limit: MemoryLimit::Machine, available };
                    Summary { demand: Demand::new(Rank::new(rank), 40, vec![pool]), ..summary(rank, 1) }
                };
                // One rank that requests a second pass is enough.
                let digest = |rank| Digest::new(Rank::new(rank), (1, rank == 0), None, Words::new());
                for outcome in met(size, digest, &asking) {
                    let together = outcome.shortage.map(|(_, shortage)| shortage.together);
                    assert_eq!(together, (available < 40 * size).then_some(40 * size));
                }
            }
        }
    }

    #[test]
    fn what_each_brings_is_known_to_all() {
        for size in 1..20 {
            // Also if digests differ: some ranks request a second pass.
            for differ in [false, true] {
                let digest = |rank| {
                    let word = (rank != 2).then(|| Bytes::from(vec![rank as u8; rank]));
                    Digest::new(Rank::new(rank), (1, differ && rank == 0), word, Words::new())
                };
                for outcome in met(size, digest, &|rank| summary(rank, 1)) {
                    let words = (0..size).filter(|rank| *rank != 2);
                    let wanted = words.map(|rank| (Rank::new(rank), vec![rank as u8; rank].into()));
                    assert!(outcome.verdict.is_ok() && outcome.words.into_iter().eq(wanted));
                }
            }
        }
    }

    #[test]
    fn the_words_of_objects_come_in_exactly_once() {
        for size in 1..40 {
            let digest = |rank| {
                // Two objects; a rank has no word of the second.
                let mut words = Words::from([(ObjectId(1), vec![rank as u8])]);
                words.extend((rank != 1).then(|| (ObjectId(2), vec![100 + rank as u8])));
                Digest::new(Rank::new(rank), (1, false), None, words)
            };
            for outcome in met(size, digest, &|rank| summary(rank, 1)) {
                let sorted = |id| {
                    let mut word = outcome.named.get(&ObjectId(id)).cloned().unwrap_or_default();
                    word.sort_unstable();
                    word
                };
                assert_eq!(sorted(1), (0..size as u8).collect::<Vec<_>>(), "{size} ranks");
                assert_eq!(
                    sorted(2),
                    (0..size as u8).filter(|rank| *rank != 1).map(|rank| 100 + rank).collect::<Vec<_>>()
                );
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
