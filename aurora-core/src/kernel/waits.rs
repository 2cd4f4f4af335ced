//! The wait of this rank, and its answer to ranks that ask for its state, for the [watch](super::watch).

use super::watch::{Act, Blocked, GuardState, RankState};
use super::{Entry, Kernel};
use crate::kernel::message::Message;
use crate::object::{Awaited, Holds, OpenGuard};
use crate::{Claim, Site};
use aurora_net::{Outbox, Payload, Rank};
use std::collections::BTreeSet;
use std::time::Instant;

impl Kernel {
    /// This rank's wait, in words for other ranks, and the ranks that have to act before it can continue.
    pub(crate) fn awaited(&self, wait: Blocked, site: &Site) -> (Claim, Vec<Rank>) {
        let entry = wait.object().and_then(|id| self.objects.get(&id));
        let name = || entry.map_or("a dropped object".into(), |entry| entry.frame.name.to_string());
        let core = &self.core;
        let (action, mut ranks) = match wait {
            Blocked::Barrier(action) => (
                format!("is in {action}"),
                match &core.node {
                    Some(node) if !core.barrier.is_under_way() => node.absent(core.barrier.seq()),
                    _ => core.barrier.awaited().into_iter().collect(),
                },
            ),
            Blocked::Pieces(action) => (format!("is in {action}"), core.pieces.missing().to_vec()),
            Blocked::Calls { action, .. } => {
                let ranks = core.awaited_calls().map(|call| call.to).collect();
                (format!("waits for the answer to `{action}` on {}", name()), ranks)
            }
            Blocked::Clock => ("compares its clock with that of rank 0".into(), Vec::new()),
            Blocked::Leave => {
                let left = core.others().filter(|rank| core.left[rank.index()].is_none());
                ("is at the end of `run`".into(), left.collect())
            }
            Blocked::Object(_, wait) => match entry {
                Some(Entry { frame, machine, .. }) => {
                    let Awaited { ranks, doing } = machine.awaits(wait, &frame.name);
                    (doing, ranks)
                }
                None => (format!("waits for {}", name()), Vec::new()),
            },
        };
        ranks.sort_unstable();
        ranks.dedup();
        ranks.retain(|rank| rank.index() < core.size);
        (Claim { rank: core.me, action, site: site.clone() }, ranks)
    }

    /// This rank's answer to ranks that ask for its state.
    pub(crate) fn state(&self) -> RankState {
        let wait = self.core.watch.waiting().and_then(|waiting| {
            let (claim, on) = self.awaited(waiting.wait, &waiting.site);
            let asked = match waiting.wait {
                Blocked::Calls { .. } => self.core.awaited_calls().map(|call| (call.to, call.object)).collect(),
                Blocked::Object(object, _) => on.iter().map(|rank| (*rank, object)).collect(),
                _ => BTreeSet::new(),
            };
            self.core.watch.wait_state(claim, on, asked)
        });
        let mut state = RankState {
            wait,
            leaving: self.core.leaving,
            sent: self.core.mail.sent.clone(),
            received: self.core.mail.received.clone(),
            idle: self.idle(),
            ..RankState::default()
        };
        for (id, Entry { frame, machine, .. }) in &self.objects {
            let state_of = |guard: &OpenGuard| GuardState {
                behaviour: guard.behaviour.into(),
                object: frame.name.clone(),
                opened: guard.site.clone(),
            };
            if let Some(guard) = frame.open.iter().find(|guard| guard.awaited) {
                state.open.insert(*id, state_of(guard));
            }
            let guard = frame.open.last().map(state_of);
            machine.holds(&mut Holds { state: &mut state, object: *id, guard, sound: frame.fault.is_none() });
            state.entered.insert(*id, machine.entered());
            if state.wait.iter().flat_map(|wait| &wait.asked).any(|(_, object)| object == id) {
                state.last.insert(*id, machine.claim(&frame.name, self.core.me));
            }
        }
        state
    }

    pub(crate) fn look(&mut self, now: Instant, out: &mut Outbox) {
        let Some(waiting) = self.core.watch.waiting() else {
            return;
        };
        let (wait, site) = (waiting.wait, waiting.site.clone());
        let (mine, (claim, on)) = (self.state(), self.awaited(wait, &site));
        let mut acts = Vec::new();
        self.core.watch.handle_timeout(now, mine, claim, on, &mut acts);
        self.act(acts, out);
    }

    pub(crate) fn act(&mut self, acts: Vec<Act>, out: &mut Outbox) {
        for act in acts {
            match act {
                Act::Ask(rank, look) => self.core.mail.say(out, rank, &Message::Ask { look }, Payload::Empty),
                Act::GiveUp(error) => self.fail_job(error, out),
                Act::Notice(claim, missing) => crate::notice::late(&claim, &missing),
            }
        }
    }
}
