//! Checking mode: the race detector ([`race`](crate::race)) of one vector.
//!
//! Every access goes through the kernel of the elements' owner, which notes it. A request carries a [`Stamp`] of its
//! rank; the writes in a batch carry [`Lines`]. The time that a scope releases at its end travels with the messages
//! that announce the end. A rank acquires it when it has waited for that end
//! ([`acquire`](crate::scope::Scopes::acquire)). A slice that the program holds is noted when it is given back
//! ([`Held`]).

mod held;
mod lines;

pub(crate) use held::Held;
pub(crate) use lines::Lines;

use super::batch::Batch;
use super::core::VectorCore;
use crate::error::Raced;
use crate::ids::Epoch;
use crate::object::Cx;
use crate::ops::OpId;
use crate::race::{Access, AccessKind, By, Moment, Opened, Origin, Party, Past, Scope, Shadow, Time};
use crate::window::Window;
use crate::{Error, Site};
use aurora_net::Rank;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The name of a ReleaseC of one rank alone in errors.
pub(crate) const ALONE: &str = "ReleaseC alone";

/// A rank's record of the accesses to a vector.
#[derive(Default)]
pub(crate) struct Checker {
    /// The last accesses to its own block.
    shadow: Shadow,
    /// The elements that this rank and its neighbours have shown each other, by global indices.
    shown: Vec<Past>,
    /// The number of this rank's last ReleaseC alone.
    alone: u64,
}

/// The origin of a request: its rank's time and line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Stamp {
    at: Moment,
    /// The moment at which the program got a slice, if the access is a slice.
    since: Option<Moment>,
    time: Time,
    line: Site,
    /// The elements that the receiver and the sender have shown each other, by global indices.
    shown: Vec<Past>,
    /// The ReleaseC of one rank alone to which the writes belong.
    pub(crate) alone: Option<Alone>,
    /// The scope of the access, as the owner knows it.
    #[serde(skip)]
    opened: Option<Opened>,
}

/// A ReleaseC of one rank alone: its number on that rank, and its line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Alone {
    pub(crate) number: u64,
    pub(crate) opened: Site,
}

/// The origin of the writes in a batch.
pub(crate) enum Noted<'a> {
    /// A request.
    Call(&'a Stamp),
    /// A collective scope, in which ranks may write one element.
    Scope,
    /// A step of the scope opened here: two ranks that write one element between two steps race, as ranks without a
    /// scope do.
    Steps(Opened),
}

impl Stamp {
    /// The stamp of the present moment, for accesses to a block of `to`.
    fn here(check: &Checker, to: Rank, line: &Site, cx: &Cx<'_>) -> Self {
        /// The maximum number of shown ranges that fit a header.
        const MOST_SHOWN: usize = 4;
        let order = cx.order();
        let (at, mut time, line) = (order.now(), order.time(), line.clone().clipped());
        let concerns = |past: &&Past| (past.rank == to || to == cx.me()) && !time.covers(past.rank, past.upto);
        let mut shown: Vec<_> = check.shown.iter().filter(concerns).cloned().collect();
        if shown.len() > MOST_SHOWN && to != cx.me() {
            (time, shown) = (Time::after_all(), Vec::new());
        }
        Stamp { at, since: None, time, line, shown, alone: None, opened: None }
    }
}

impl VectorCore {
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
        let own = self.dist.range(self.scopes.ledger.me());
        let shown: Vec<_> = stamp.shown.iter().filter_map(|past| past.within(&own)).collect();
        let (owner, since) = (self.scopes.ledger.me(), stamp.since.unwrap_or(stamp.at));
        let by = By { rank: from, owner, since, at: stamp.at, time: &stamp.time, epoch, shown: &shown };
        let access = Access { kind, scope, line: &stamp.line, opened: stamp.opened.as_ref() };
        let found = check.shadow.access(&by, &access, ranges);
        let party = Party { rank: from, kind, scope, line: stamp.line.clone(), opened: stamp.opened.clone() };
        let raced = |place| Raced::Element(own.start + place);
        let strict = cx.is_strict();
        found.report(&party, (cx.name(), owner), strict, raced).inspect_err(|race| cx.fail(race.clone()))
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
        let Some(stamp) = self.stamp(cx.me(), line, cx) else {
            return Ok(());
        };
        self.note((cx.me(), self.comes_after(window)), &stamp, (kind, Scope::None), ranges, cx)
    }

    /// Notes that this rank has filled its block, in the scope of this epoch.
    pub(crate) fn note_fill(&mut self, epoch: Epoch, line: &Site, cx: &mut Cx<'_>) -> Result<(), Error> {
        let Some(stamp) = self.stamp(cx.me(), line, cx) else {
            return Ok(());
        };
        let (by, how) = ((cx.me(), epoch - 1), (AccessKind::Write, Scope::Together(epoch)));
        self.note(by, &stamp, how, Some(0..self.block.len()), cx)
    }

    /// Notes the writes of a batch that is applied.
    pub(crate) fn note_batch(
        &mut self,
        (from, epoch): (Rank, Epoch),
        noted: Noted<'_>,
        op: Option<OpId>,
        payload: &[u8],
        cx: &mut Cx<'_>,
    ) -> Result<(), Error> {
        let len = self.block.len();
        let (Some(_), Some(batch)) = (&self.check, Batch::parse(payload, self.block.element, len)) else {
            return Ok(());
        };
        let kind = op.map_or(AccessKind::Write, AccessKind::Update);
        let (stamp, scope, after, opened) = match noted {
            Noted::Call(stamp @ Stamp { alone: Some(alone), .. }) => {
                let opened = Opened { name: ALONE.into(), line: alone.opened.clone() };
                (Some(stamp), Scope::Alone(alone.number), epoch, Some(opened))
            }
            Noted::Call(stamp) => (Some(stamp), Scope::None, epoch, None),
            Noted::Steps(opened) => (None, Scope::None, epoch - 1, Some(opened)),
            Noted::Scope => {
                let opened = self.scopes.ledger.opening_of(from, epoch).map(Opened::from);
                (None, Scope::Together(epoch), epoch - 1, opened)
            }
        };
        let before = stamp.is_none().then(|| self.scopes.released_before(epoch));
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
                (Some(Origin { line, at, time }), of_request) => Stamp {
                    at: *at,
                    since: None,
                    time: before.as_ref().map_or_else(|| time.clone(), |before| time.joined(before)),
                    line: line.clone(),
                    shown: of_request.map_or(Vec::new(), |stamp| stamp.shown.clone()),
                    alone: None,
                    opened: opened.clone(),
                },
                (None, Some(stamp)) => Stamp { opened: opened.clone(), ..stamp.clone() },
                // No rank that follows the protocol sends this.
                (None, None) => continue,
            };
            self.note((from, after), &stamp, (kind, scope), ranges, cx)?;
        }
        Ok(())
    }

    /// Notes that a rank has ended its ReleaseC alone of this number, at the moment of the stamp.
    pub(crate) fn ended_alone(&mut self, from: Rank, number: u64, stamp: &Stamp) {
        if let Some(check) = &mut self.check {
            check.shadow.ended(from, number, stamp.at);
        }
    }

    pub(crate) fn is_checked(&self) -> bool {
        self.check.is_some()
    }

    /// Checking mode: the stamp of the present moment, for accesses to a block of `to`.
    pub(crate) fn stamp(&self, to: Rank, line: &Site, cx: &Cx<'_>) -> Option<Stamp> {
        self.check.as_ref().map(|check| Stamp::here(check, to, line, cx))
    }

    /// The number of the ReleaseC alone that this rank opens.
    pub(crate) fn next_alone(&mut self) -> u64 {
        let check = self.check.get_or_insert_default();
        check.alone += 1;
        check.alone
    }

    /// Notes that a neighbour, at this moment, and this rank have shown each other these elements.
    pub(crate) fn was_shown(&mut self, rank: Rank, upto: Moment, ranges: impl IntoIterator<Item = Range<usize>>) {
        let Some(check) = &mut self.check else {
            return;
        };
        for range in ranges {
            check.shown.retain(|past| past.rank != rank || past.range != range);
            check.shown.push(Past { rank, upto, range });
        }
    }
}
