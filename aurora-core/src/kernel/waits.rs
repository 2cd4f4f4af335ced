//! What this rank waits for and which ranks it waits for; its answer to ranks that ask. The [watch](super::watch)
//! judges by these answers.

use super::watch::{Act, GuardState, RankState, Relay, Wait};
use super::{Call, Entry, Kernel};
use crate::Site;
use crate::error::Claim;
use crate::ids::ObjectId;
use crate::kernel::message::Message;
use crate::object::{Obstacle, OpenGuard, SharedObject};
use aurora_net::{Outbox, Payload, Rank};
use std::collections::BTreeMap;
use std::time::Instant;

impl Kernel {
    /// The ranks that a wait is for.
    pub(crate) fn awaited(&self, wait: Wait) -> Vec<Rank> {
        let mut ranks: Vec<Rank> = match wait {
            Wait::Barrier(_) => match &self.core.node {
                Some(node) if !self.core.barrier.is_under_way() => node.absent(self.core.barrier.seq()),
                _ => self.core.barrier.awaited().into_iter().collect(),
            },
            Wait::Pieces(_) => self.core.pieces.missing().to_vec(),
            Wait::Calls { .. } => {
                let awaited = |call: &&Call| call.reply.is_none() && !call.ahead;
                self.core.calls.values().filter(awaited).map(|call| call.to).collect()
            }
            Wait::Clock => Vec::new(),
            Wait::Leave => self.core.others().filter(|rank| self.core.left[rank.index()].is_none()).collect(),
            of_an_object => self.machine(of_an_object).map(|object| object.awaits(wait)).unwrap_or_default(),
        };
        ranks.sort_unstable();
        ranks.dedup();
        ranks.retain(|rank| *rank != self.core.me);
        ranks
    }

    /// The object at which this rank waits.
    fn machine(&self, wait: Wait) -> Option<&dyn SharedObject> {
        Some(&*self.objects.get(&wait.object()?)?.machine)
    }

    /// What this rank is doing, in words for the others.
    pub(crate) fn claim(&self, wait: Wait, site: &Site) -> Claim {
        let entry = wait.object().and_then(|id| self.objects.get(&id));
        let name = || wait.object().and_then(|id| self.name_of(id)).unwrap_or("a dropped object".into());
        let action = match wait {
            Wait::Barrier(action) | Wait::Pieces(action) => format!("is in {action}"),
            Wait::Calls { action, .. } => format!("waits for the answer to `{action}` on {}", name()),
            Wait::Leave => "is at the end of `run`".into(),
            Wait::Clock => "compares its clock with that of rank 0".into(),
            of_an_object => match entry {
                Some(entry) => entry.machine.doing(of_an_object, &name()),
                None => format!("waits for {}", name()),
            },
        };
        Claim { rank: self.core.me, action, site: site.clone() }
    }

    /// What objects do for others by themselves, as the watch over waiting ranks is told.
    fn relays(&self) -> BTreeMap<ObjectId, Relay> {
        let healthy = self.objects.iter().filter(|(_, entry)| entry.frame.fault.is_none());
        healthy.filter_map(|(id, entry)| Some((*id, entry.machine.relay()?))).collect()
    }

    /// What this rank tells those who ask what it is doing.
    pub(crate) fn state(&self) -> RankState {
        let wait = self.core.watch.waiting().and_then(|waiting| {
            let wait = waiting.wait;
            self.core.watch.wait_state(self.claim(wait, &waiting.site), self.awaited(wait))
        });
        let mut state = RankState {
            wait,
            leaving: self.core.leaving,
            sent: self.core.mail.sent.clone(),
            received: self.core.mail.received.clone(),
            relays: self.relays(),
            idle: self.idle(),
            ..RankState::default()
        };
        for (id, Entry { frame, machine: object }) in &self.objects {
            let told = |guard: &OpenGuard| GuardState {
                behaviour: guard.behaviour.into(),
                object: frame.name.clone(),
                opened: guard.site.clone(),
            };
            if let Some(guard) = frame.open.iter().find(|guard| guard.awaited) {
                state.open.insert(*id, told(guard));
            }
            object.parked(&mut |from, Obstacle { by_itself, behind }| {
                let held = state.parked.entry(from).or_default();
                held.by_itself |= by_itself;
                if by_itself && held.guard.is_none() {
                    held.guard = frame.open.last().map(told);
                }
                held.behind.extend(behind.into_iter().map(|rank| (rank, *id)));
            });
        }
        state
    }

    pub(crate) fn look(&mut self, now: Instant, out: &mut Outbox) {
        let Some(waiting) = self.core.watch.waiting() else {
            return;
        };
        let (wait, site) = (waiting.wait, waiting.site.clone());
        let (mine, claim, on) = (self.state(), self.claim(wait, &site), self.awaited(wait));
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
