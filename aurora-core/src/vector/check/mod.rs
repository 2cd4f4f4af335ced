//! Checking mode: the race detector ([`race`](crate::race)) of one vector.
//!
//! Every access goes through the kernel of the elements' owner, which notes it. A request carries a [`Stamp`] of its
//! rank; the writes in a batch carry [`Lines`]. What a scope releases at its end travels with the messages that
//! announce the end ([`Vector::released`]), and is acquired by a rank when it has waited for that end
//! ([`Vector::acquire`]). A slice that the program holds is noted when it is given back ([`Held`]).

mod held;
mod lines;

pub(crate) use held::Held;
pub(crate) use lines::Lines;
use lines::Write;

use super::batch::Batch;
use super::machine::Vector;
use crate::element::OpId;
use crate::error::Claim;
use crate::ids::Epoch;
use crate::object::Cx;
use crate::race::{Access, AccessKind, By, Clash, Found, Moment, Past, Scope, Shadow, Time};
use crate::window::Window;
use crate::{Error, Site};
use aurora_net::Rank;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

/// What a rank knows of the accesses to a vector.
#[derive(Default)]
pub(crate) struct Checker {
    /// The last accesses to its own block.
    shadow: Shadow,
    /// What all ranks have released in scopes that this rank has not acquired: by epochs, with their parts.
    released: BTreeMap<Epoch, (Window, Time)>,
    /// What was released in scopes that this rank has acquired, by their parts.
    acquired: Vec<(Window, Time)>,
    /// What this rank and its neighbours have shown each other, by global indices.
    shown: Vec<Past>,
    /// The number of this rank's last scope alone.
    alone: u64,
}

/// What a request says of its rank.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Stamp {
    at: Moment,
    /// Of a slice: when the program got it.
    since: Option<Moment>,
    time: Time,
    line: Site,
    /// What the receiver's block and the sender have been shown of each other, by global indices.
    shown: Vec<Past>,
    /// The scope alone whose writes these are.
    pub(crate) alone: Option<Alone>,
}

/// A ReleaseC of one rank alone: its number on that rank, and its line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Alone {
    pub(crate) number: u64,
    pub(crate) opened: Site,
}

impl Stamp {
    /// Of the present, for accesses to a block of `to`.
    pub(crate) fn here(check: &Checker, to: Rank, line: &Site, cx: &Cx<'_>) -> Self {
        /// More do not fit a header.
        const MOST_SHOWN: usize = 4;
        let order = &cx.core.order;
        let (at, mut time, line) = (order.now(), order.time(), line.clone().clipped());
        let concerns = |past: &&Past| (past.rank == to || to == cx.me()) && !time.covers(past.rank, past.upto);
        let mut shown: Vec<_> = check.shown.iter().filter(concerns).cloned().collect();
        if shown.len() > MOST_SHOWN && to != cx.me() {
            (time, shown) = (Time::after_all(), Vec::new());
        }
        Stamp { at, since: None, time, line, shown, alone: None }
    }
}

/// An access as errors describe it.
struct Party {
    rank: Rank,
    kind: AccessKind,
    scope: Scope,
    line: Site,
    opened: Option<Site>,
}

impl From<Clash> for Party {
    fn from(Clash { rank, kind, scope, line, opened, .. }: Clash) -> Self {
        Party { rank, kind, scope, line, opened }
    }
}

impl Party {
    fn claim(&self) -> Claim {
        let what = match self.kind {
            AccessKind::Read => "reads it",
            AccessKind::Lent => "holds a slice of it for reading",
            AccessKind::Write => "writes it",
            AccessKind::Update(_) => "updates it",
        };
        let behaviour = match self.scope {
            Scope::None => None,
            Scope::Together(_) => Some("ReleaseC"),
            Scope::Alone(_) => Some("ReleaseC alone"),
        };
        let inside = behaviour.zip(self.opened.as_ref()).map(|(behaviour, opened)| match *opened == self.line {
            true => format!(" inside the {behaviour} opened"),
            false => format!(" inside the {behaviour} opened at {opened},"),
        });
        Claim { rank: self.rank, action: format!("{what}{}", inside.unwrap_or_default()), site: self.line.clone() }
    }
}

/// What would order two accesses.
fn advice(first: &Party, second: &Party) -> &'static str {
    match (first.scope, second.scope) {
        (Scope::Together(a), Scope::Together(b)) if a == b => {
            "let one rank write it, or all `update` it with one operation"
        }
        (Scope::Together(_), _) | (_, Scope::Together(_)) => {
            "let both ranks end that scope before the other access, or order them before the scope, by a barrier"
        }
        (Scope::Alone(_), _) | (_, Scope::Alone(_)) => {
            "end that scope and then order the ranks, by a barrier, or order them before the write"
        }
        (Scope::None, Scope::None) => "put a call between them that orders the ranks, such as a barrier",
    }
}

/// More scopes than ranks may be ahead are not acquired only if this rank does not use the vector.
const MANY: usize = 32;

impl Vector {
    /// Notes an access of a rank to these elements of our block, if they are checked.
    pub(crate) fn note(
        &mut self,
        (from, epoch): (Rank, Epoch),
        stamp: &Stamp,
        (kind, scope): (AccessKind, Scope),
        ranges: impl IntoIterator<Item = Range<usize>>,
        cx: &mut Cx<'_>,
    ) -> Result<(), Error> {
        let Some(check) = &mut self.check else {
            return Ok(());
        };
        let own = self.dist.range(self.ledger.me());
        let shown: Vec<_> = stamp.shown.iter().filter_map(|past| past.within(&own)).collect();
        let (owner, since) = (self.ledger.me(), stamp.since.unwrap_or(stamp.at));
        let by = By { rank: from, owner, since, at: stamp.at, time: &stamp.time, epoch, shown: &shown };
        let (line, opened) = (&stamp.line, stamp.alone.as_ref().map(|alone| &alone.opened));
        let found = check.shadow.access(&by, &Access { kind, scope, line, opened }, ranges);
        let party = Party { rank: from, kind, scope, line: line.clone(), opened: opened.cloned() };
        self.report(found, &party, cx)
    }

    /// Notes an access of this rank's program to its own block.
    pub(crate) fn note_own(
        &mut self,
        kind: AccessKind,
        window: Window,
        line: &Site,
        ranges: impl IntoIterator<Item = Range<usize>>,
        cx: &mut Cx<'_>,
    ) -> Result<(), Error> {
        let Some(check) = &self.check else {
            return Ok(());
        };
        let stamp = Stamp::here(check, cx.me(), line, cx);
        self.note((cx.me(), self.comes_after(window)), &stamp, (kind, Scope::None), ranges, cx)
    }

    /// Notes that this rank has filled its block, in the scope of this epoch.
    pub(crate) fn note_fill(&mut self, epoch: Epoch, line: &Site, cx: &mut Cx<'_>) -> Result<(), Error> {
        let Some(check) = &self.check else {
            return Ok(());
        };
        let stamp = Stamp::here(check, cx.me(), line, cx);
        let (by, how) = ((cx.me(), epoch - 1), (AccessKind::Write, Scope::Together(epoch)));
        self.note(by, &stamp, how, Some(0..self.block.len()), cx)
    }

    /// The last scope that an access of this rank to a part comes after.
    pub(crate) fn comes_after(&self, window: Window) -> Epoch {
        // While a scope of a part is open, scopes of other parts may be open too.
        if window.is_whole() { self.ledger.epoch } else { self.ledger.predecessor() }
    }

    /// Notes the writes of a batch that is applied. `stamp`: of the request; a batch of a collective scope has none.
    pub(crate) fn note_batch(
        &mut self,
        (from, epoch): (Rank, Epoch),
        stamp: Option<&Stamp>,
        op: Option<OpId>,
        payload: &[u8],
        cx: &mut Cx<'_>,
    ) -> Result<(), Error> {
        let len = self.block.len();
        let (Some(_), Some(batch)) = (&self.check, Batch::parse(payload, self.block.element, len)) else {
            return Ok(());
        };
        let kind = op.map_or(AccessKind::Write, AccessKind::Update);
        let (scope, epoch, alone) = match stamp {
            Some(Stamp { alone: Some(alone), .. }) => (Scope::Alone(alone.number), epoch, Some(alone.clone())),
            Some(_) => (Scope::None, epoch, None),
            None => {
                let record = self.ledger.find(epoch);
                let theirs = record.and_then(|record| record.from[from.index()].opening.as_ref());
                let opening = theirs.or_else(|| record.and_then(|record| record.mine.as_ref()));
                let alone = opening.map(|opening| Alone { number: 0, opened: opening.site.clone() });
                (Scope::Together(epoch), epoch - 1, alone)
            }
        };
        let before = stamp.is_none().then(|| self.released_before(epoch + 1, self.ledger.scope_of(epoch + 1).0));
        let lines = Lines::decode(batch.lines());
        let mut runs = batch.runs(0).into_iter().map(|(run, _)| run);
        let mut rest = runs.next();
        for (values, line) in lines.of_runs(batch.len()) {
            let mut ranges = Vec::new();
            let mut left = values;
            while left > 0
                && let Some(run) = rest.take()
            {
                let cut = run.start + left.min(run.len());
                left -= cut - run.start;
                ranges.push(run.start..cut);
                rest = if cut < run.end { Some(cut..run.end) } else { runs.next() };
            }
            let stamp = match (line, stamp) {
                (Some(Write { line, at, time }), of_request) => Stamp {
                    at: *at,
                    since: None,
                    time: before.as_ref().map_or_else(|| time.clone(), |before| time.joined(before)),
                    line: line.clone(),
                    shown: of_request.map_or(Vec::new(), |stamp| stamp.shown.clone()),
                    alone: alone.clone(),
                },
                (None, Some(stamp)) => stamp.clone(),
                // No rank that follows the protocol sends this.
                (None, None) => continue,
            };
            self.note((from, epoch), &stamp, (kind, scope), ranges, cx)?;
        }
        Ok(())
    }

    /// A rank has ended its scope alone of this number, at the moment of the stamp.
    pub(crate) fn ended_alone(&mut self, from: Rank, number: u64, stamp: &Stamp) {
        if let Some(check) = &mut self.check {
            check.shadow.ended(from, number, stamp.at);
        }
    }

    /// The number of the scope alone that this rank opens.
    pub(crate) fn next_alone(&mut self) -> u64 {
        let check = self.check.get_or_insert_default();
        check.alone += 1;
        check.alone
    }

    /// A rank has ended or announced its part of a scope, and releases what it did before.
    pub(crate) fn released(&mut self, epoch: Epoch, window: Window, time: Option<&Time>) {
        let (Some(check), Some(time)) = (&mut self.check, time) else {
            return;
        };
        check.released.entry(epoch).or_insert_with(|| (window, Time::default())).1.join(time);
        while check.released.len() > MANY {
            let ledger = &self.ledger;
            let mut settled = check.released.iter().filter(|(epoch, _)| ledger.is_settled(**epoch));
            let Some((first, (of, _))) = settled.next() else {
                return;
            };
            let Some(next) = settled.find(|(_, (window, _))| window == of).map(|(epoch, _)| *epoch) else {
                return;
            };
            let (first, (_, time)) = (*first, check.released[first].clone());
            check.released.remove(&first);
            check.released.entry(next).and_modify(|(_, later)| later.join(&time));
        }
    }

    /// What this rank's program does from now on comes after the scopes of a part that are settled.
    pub(crate) fn acquire(&mut self, window: Window, cx: &mut Cx<'_>) {
        let Some(check) = &mut self.check else {
            return;
        };
        let ledger = &self.ledger;
        check.released.retain(|epoch, (of, time)| {
            let is_over = *epoch <= ledger.epoch && ledger.is_settled(*epoch) && of.overlaps(window);
            if is_over {
                cx.core.order.acquire(time);
                match check.acquired.iter_mut().find(|(window, _)| window == of) {
                    Some((_, acquired)) => acquired.join(time),
                    None => check.acquired.push((*of, time.clone())),
                }
            }
            !is_over
        });
        if check.acquired.len() > MANY {
            // Before the last barrier: no rank can still be in a scope that follows one of these.
            let last = check.acquired.iter().map(|(_, time)| time.phase()).max();
            check.acquired.retain(|(_, time)| Some(time.phase()) == last);
        }
    }

    /// What the scopes of a part before this one have released: batches of this one are applied after it.
    fn released_before(&self, epoch: Epoch, window: Window) -> Time {
        let (mut before, ledger) = (Time::default(), &self.ledger);
        if let Some(check) = &self.check {
            let settled = |earlier: &&Epoch| **earlier < epoch && ledger.is_settled(**earlier);
            let released = check.released.iter().filter(|(earlier, _)| settled(earlier)).map(|(_, of)| of);
            let all = released.chain(&check.acquired).filter(|(of, _)| of.overlaps(window));
            all.for_each(|(_, time)| before.join(time));
        }
        before
    }

    /// A neighbour has shown us these elements, and we have shown it ours, at this moment of the neighbour.
    pub(crate) fn was_shown(&mut self, rank: Rank, upto: Moment, ranges: impl IntoIterator<Item = Range<usize>>) {
        let Some(check) = &mut self.check else {
            return;
        };
        for range in ranges {
            check.shown.retain(|past| past.rank != rank || past.range != range);
            check.shown.push(Past { rank, upto, range });
        }
    }

    fn report(&mut self, found: Found, later: &Party, cx: &mut Cx<'_>) -> Result<(), Error> {
        let Found { race, possible, has_forgotten } = found;
        let (object, start) = (cx.frame.name.clone(), self.dist.range(self.ledger.me()).start);
        let race_of = |clash: Clash| {
            let index = start + clash.place;
            let earlier = Party::from(clash);
            let (first, second) = if earlier.rank <= later.rank { (&earlier, later) } else { (later, &earlier) };
            let (advice, object) = (advice(first, second).to_string(), Box::new(object.clone()));
            Error::Race { index, object, first: Box::new(first.claim()), second: Box::new(second.claim()), advice }
        };
        if has_forgotten {
            crate::notice::races_forgotten(&object, cx.me());
        }
        for clash in possible {
            crate::notice::possible_race(&race_of(clash));
        }
        match race.map(race_of) {
            None => Ok(()),
            Some(race) => {
                cx.fail(race.clone());
                Err(race)
            }
        }
    }
}
