//! Using an object on its own rank: its open guards, and the barrier.

use super::{Entry, Kernel, Reason};
use crate::collective::{Barrier, BarrierMessage, Digest, Envelope, Merge, ObjectState, Proposal, Summary, Words};
use crate::ids::ObjectId;
use crate::kernel::message::Message;
use crate::memory::Demand;
use crate::{Claim, Error, Kind, Site};
use aurora_net::{Outbox, Payload, Rank};
use bytes::Bytes;
use std::collections::BTreeMap;

impl Kernel {
    pub(crate) fn sound(&self, id: ObjectId) -> Result<(), Error> {
        self.objects.get(&id).map_or(Ok(()), |entry| entry.frame.sound())
    }

    /// This rank's number for a barrier, equal if ranks agree, and true if it requests a second pass.
    pub(crate) fn digest(&mut self, proposal: &Proposal<'_>) -> (u64, bool) {
        let Kernel { core, objects, digests, .. } = self;
        let (sum, has_faults) = digests.update(objects, core.me);
        let needs_summary = proposal.refusal.is_some() || proposal.demand != Demand::default() || has_faults;
        (crate::digest::add(proposal.key, sum), needs_summary)
    }

    /// Arrives at a barrier: sends the digest and this rank's contributions to the next rank.
    pub(crate) fn start_barrier(
        &mut self,
        digest: (u64, bool),
        (word, named): (Option<Bytes>, Words),
        site: &Site,
        out: &mut Outbox,
    ) {
        let digest = Digest::new(self.core.me, digest, word, named);
        self.barrier(out, |barrier, merge, envelopes| barrier.start(digest, site, merge, envelopes));
    }

    pub(crate) fn receive_barrier_message(
        &mut self,
        (seq, round): (u64, u32),
        message: BarrierMessage,
        out: &mut Outbox,
    ) {
        self.core.watch.progress();
        self.barrier(out, |barrier, merge, envelopes| barrier.receive(seq, round, message, merge, envelopes));
    }

    /// This rank's words about the objects that a barrier names.
    pub(crate) fn arrive(&mut self, named: &[ObjectId], out: &mut Outbox) -> Words {
        let mut arrive = |id: &ObjectId| Some((*id, self.call(*id, out, |object, cx| object.arrive(cx))?));
        named.iter().filter_map(&mut arrive).collect()
    }

    /// Merges the words of all ranks and gives them to the objects.
    pub(crate) fn depart(&mut self, named: Vec<Words>, out: &mut Outbox) {
        let mut all = Words::new();
        for (id, word) in named.into_iter().flatten() {
            match (all.get_mut(&id), self.objects.get(&id)) {
                (Some(all), Some(entry)) => entry.machine.merge(all, &word),
                _ => drop(all.insert(id, word)),
            }
        }
        for (id, all) in all {
            self.call(id, out, |object, cx| object.depart(&all, cx));
        }
    }

    fn barrier(&mut self, out: &mut Outbox, act: impl FnOnce(&mut Barrier, Merge<'_>, &mut Vec<Envelope>)) {
        let Kernel { core, objects, .. } = self;
        let merge = |id: ObjectId, all: &mut Vec<u8>, more: &[u8]| {
            if let Some(entry) = objects.get(&id) {
                entry.machine.merge(all, more);
            }
        };
        let mut envelopes = Vec::new();
        act(&mut core.barrier, &merge, &mut envelopes);
        core.send_envelopes(envelopes, out);
    }

    /// Starts the second pass of a barrier: sends the summary of this rank.
    pub(crate) fn start_second_pass(&mut self, proposal: &Proposal<'_>, site: &Site, out: &mut Outbox) {
        let me = self.core.me;
        let claim = Claim { rank: me, action: proposal.action.to_string(), site: site.clone() };
        let objects = self.objects.iter().filter(|(_, entry)| !entry.frame.dropped[me.index()]);
        let objects: BTreeMap<_, _> = objects
            .map(|(id, Entry { frame, machine: object, .. })| {
                let awaited = frame.open.iter().find(|guard| guard.awaited);
                let state = ObjectState {
                    rank: me,
                    epoch: object.entered(),
                    entered: object.digest(),
                    last: object.claim(&frame.name, me),
                    open: awaited.map(|guard| Box::new(frame.leak(me, guard))),
                    fault: frame.fault.clone().map(Box::new),
                };
                (*id, state)
            })
            .collect();
        let summary = Summary::new(claim, proposal, objects);
        self.barrier(out, |barrier, _, envelopes| barrier.start_second_pass(summary, site, envelopes));
    }

    /// Gives pieces to other ranks, in a step of the barrier at which this rank has arrived last.
    pub(crate) fn give(
        &mut self,
        (what, step): (&'static str, u32),
        pieces: Vec<(Rank, Bytes)>,
        site: &Site,
        out: &mut Outbox,
    ) {
        let reason = Reason::new(what, Kind::Exchange, site);
        let message = Message::Piece { seq: self.core.barrier.seq(), step };
        for (to, piece) in pieces {
            self.core.mail.say_for(out, to, &message, Payload::Bytes(piece), Some(&reason));
        }
    }
}
