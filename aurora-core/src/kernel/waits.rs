//! What this rank waits for, from whom, and what it says of that to those who ask: what the [watch](super::watch) judges by.

use super::watch::{Act, GuardState, RankState, What};
use super::{Call, Service};
use crate::Site;
use crate::epoch::Collective;
use crate::epoch::Ledger;
use crate::error::Claim;
use crate::ids::{Epoch, ObjectId};
use crate::kernel::message::Message;
use crate::vector::object::{Object, Obstacle, OpenGuard};
use crate::window::Window;
use aurora_net::{Outbox, Payload, Rank};
use std::time::Instant;

impl Service {
    /// The ranks that a wait is for.
    pub(crate) fn awaited(&self, what: What) -> Vec<Rank> {
        if let Some(ranks) = self.awaited_at_scalar(what) {
            return ranks;
        }
        let ledger = |object: ObjectId| self.objects.get(&object).map(|object| &object.ledger);
        let missing = |ledger: &Ledger, (window, upto): (Window, Epoch)| {
            ledger.in_the_way(window, upto).find_map(|epoch| {
                let missing: Vec<_> = ledger.awaited(epoch).collect();
                (!missing.is_empty()).then_some(missing)
            })
        };
        let behind = |object: ObjectId| {
            let object = self.objects.get(&object)?;
            let all = (Window::WHOLE, object.ledger.epoch);
            missing(&object.ledger, if object.scalar_scopes.is_some() { all } else { object.behind })
        };
        let mut ranks: Vec<Rank> = match what {
            What::Rendezvous(_) => match &self.node {
                Some(node) if !self.rendezvous.is_under_way() => node.absent(self.rendezvous.seq()),
                _ => self.rendezvous.awaited().into_iter().collect(),
            },
            What::Pieces(_) => self.pieces.missing().to_vec(),
            What::Load { object, .. } if self.meeting(object).is_some() => {
                self.meeting(object).map(|(sharing, turn)| sharing.absent(turn)).unwrap_or_default()
            }
            What::Load { object, epoch } => ledger(object)
                .map(|l| missing(l, l.scope_of(epoch)).unwrap_or_else(|| l.incomplete_blocks(epoch).collect()))
                .filter(|ranks| !ranks.is_empty())
                .unwrap_or_else(|| self.receivers_awaited(object, epoch)),
            What::Halo { object } => {
                self.objects.get(&object).map(|object| object.edges.awaited().collect()).unwrap_or_default()
            }
            What::Settle { object } => behind(object).unwrap_or_default(),
            What::Lead { object } => ledger(object).map(Ledger::laggards).unwrap_or_default(),
            What::Room { object, owner } if owner == self.me => {
                let turn = |o: &Object| o.ledger.awaited_before(o.behind.1 + 1, self.me).collect();
                behind(object).or_else(|| self.objects.get(&object).map(turn)).unwrap_or_default()
            }
            What::Calls { .. } => {
                let awaited = |call: &&Call| call.reply.is_none() && !call.ahead;
                self.calls.values().filter(awaited).map(|call| call.to).collect()
            }
            What::Room { owner, .. } => vec![owner],
            What::Gate { .. } | What::Clock => Vec::new(),
            What::Leave => self.others().filter(|rank| self.left[rank.index()].is_none()).collect(),
        };
        ranks.sort_unstable();
        ranks.dedup();
        ranks.retain(|rank| *rank != self.me);
        ranks
    }

    /// What this rank is doing, in words for the others.
    pub(crate) fn claim(&self, what: What, site: &Site) -> Claim {
        let name = |object: ObjectId| match self.objects.get(&object) {
            Some(object) => object.name.to_string(),
            None => "a dropped object".into(),
        };
        let action = match what {
            What::Rendezvous(action) | What::Pieces(action) => format!("is in {action}"),
            What::Halo { object } => {
                let doing = self.objects.get(&object).map(|object| object.edges.exchange()).unwrap_or_default();
                let action = if doing.number == 0 { "opens" } else { "refreshes" };
                // Where several are open it says which.
                format!("{action} a HaloCache of {}, scope {} of it", name(object), doing.epoch)
            }
            What::Load { object, .. } => {
                let last = self.objects.get(&object).and_then(|object| object.ledger.last.as_ref());
                let mostly = last.is_some_and(|last| last.behaviour == Collective::ReadMostly);
                format!("opens a {} of {}", if mostly { "ReadMostly" } else { "ReadCache" }, name(object))
            }
            What::Settle { object } | What::Lead { object } => {
                format!("waits for the end of a scope of {}", name(object))
            }
            What::Calls { object, action } => {
                format!("waits for the answer to `{action}` on {}", name(object))
            }
            What::Room { object, .. } => {
                let last = self.objects.get(&object).and_then(|object| object.ledger.last.as_ref());
                let behaviour = match last.map(|last| last.behaviour) {
                    Some(Collective::Accumulate | Collective::AccumulateInOrder) => "an Accumulate",
                    _ => "a ReleaseC",
                };
                format!("waits in {behaviour} for room to write to {}", name(object))
            }
            What::Gate { object } => format!("waits until transfers from {} are acknowledged", name(object)),
            What::Leave => "is at the end of `run`".into(),
            What::Clock => "compares its clock with that of rank 0".into(),
        };
        Claim { rank: self.me, action, site: site.clone() }
    }

    /// What this rank tells those who ask what it is doing.
    pub(crate) fn state(&self) -> RankState {
        let wait = self.watch.waiting().and_then(|waiting| {
            let what = waiting.what;
            self.watch.wait_state(self.claim(what, &waiting.site), self.awaited(what))
        });
        let mut state = RankState {
            wait,
            leaving: self.leaving,
            sent: self.mail.sent.clone(),
            received: self.mail.received.clone(),
            relays: self.relays(),
            idle: self.idle(),
            ..RankState::default()
        };
        for (id, object) in &self.objects {
            let told = |guard: &OpenGuard| GuardState {
                behaviour: guard.behaviour.into(),
                object: object.name.clone(),
                opened: guard.site.clone(),
            };
            if let Some(guard) = object.open.iter().find(|guard| guard.awaited) {
                state.open.insert(*id, told(guard));
            }
            for parked in &object.parked {
                let Obstacle { by_itself, behind } = object.obstacle(parked.from, &parked.work);
                let held = state.parked.entry(parked.from).or_default();
                held.by_itself |= by_itself;
                if by_itself && held.guard.is_none() {
                    held.guard = object.open.last().map(told);
                }
                held.behind.extend(behind.into_iter().map(|rank| (rank, *id)));
            }
        }
        state
    }

    pub(crate) fn look(&mut self, now: Instant, out: &mut Outbox) {
        let Some(waiting) = self.watch.waiting() else {
            return;
        };
        let (what, site) = (waiting.what, waiting.site.clone());
        let (mine, claim, on) = (self.state(), self.claim(what, &site), self.awaited(what));
        let mut acts = Vec::new();
        self.watch.handle_timeout(now, mine, claim, on, &mut acts);
        self.act(acts, out);
    }

    pub(crate) fn act(&mut self, acts: Vec<Act>, out: &mut Outbox) {
        for act in acts {
            match act {
                Act::Ask(rank, look) => self.mail.post(out, rank, &Message::Ask { look }, Payload::Empty),
                Act::GiveUp(error) => self.fail(None, error, out),
                Act::Notice(claim, missing) => crate::notice::late(&claim, &missing),
            }
        }
    }
}
