//! The search by collective operations alone. While the ranks search, Iallgather runs round after round. In each round
//! every rank tells the length of the shortest tour it knows, and whether it wants parts. All ranks receive the same
//! data, so each rank knows the owner of each part: every rank has a copy of the queue, and there is no master.
//!
//! A round ends when the slowest rank has checked it, after every [`LOOK`] nodes, because MPI has no thread that does
//! so meanwhile. A rank asks for parts when it begins with its last parts, and so seldom waits. A bound is up to two
//! rounds old. Rounds consist of messages, so a rank checks less often than a rank that only checks for messages.

use super::record::Record;
use crate::clock::Clock;
use crate::mpi_ranks::MpiRanks;
use crate::mpi_ranks::posted::Posted;
use crate::tsp::Instance;
use crate::tsp::parallel::Outcome;
use crate::tsp::search::{Bound, Search};
use aurora_core::prelude::*;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{CommunicatorCollectives, Root};
use std::cell::{Cell, RefCell};
use std::ops::Range;

/// The rank whose instance is searched.
const ROOT: usize = 0;

/// The number of nodes between two checks of the round.
const LOOK: u32 = 256;

/// The state of a rank in a round: it has further parts than those it searches.
const SUPPLIED: u32 = 0;
/// The state of a rank in a round: it has only the parts that it searches or begins with now.
const AT_ITS_LAST: u32 = 1;
/// The state of a rank in a round: it has no parts.
const IDLE: u32 = 2;

/// Collective. Searches rank 0's instance.
pub fn search(ranks: &MpiRanks<'_>, talk: &SimpleCommunicator, instance: &Instance, chunk: u32) -> Result<Outcome> {
    let n = instance.cities();
    let mut distances = vec![0; n * n];
    if ranks.me() == ROOT {
        distances.copy_from_slice(instance.distances());
    }
    let mut clock = Clock::start(ranks)?;
    clock.sharing("read distances", || {
        ranks.rank(ROOT).broadcast_into(&mut distances[..]);
        Ok(())
    })?;
    let instance = Instance::new(n, |i, j| distances[i * n + j]);
    let rounds = Rounds::new(talk, (ranks.me(), ranks.size()), chunk);
    let mut search = Search::new(&instance, &rounds);
    rounds.parts.set(search.parts() as u32);
    clock.sharing("read bound", || {
        rounds.begin();
        Ok(())
    })?;
    clock.computing("search", || {
        while let Some(mut parts) = rounds.take() {
            parts.try_for_each(|part| search.part(part.into()))?;
        }
        Ok(())
    })?;
    let mut records = vec![0; ranks.size() * Record::length(&instance)];
    clock.sharing("collect tours", || {
        ranks.comm.all_gather_into(&Record::of(&search, &instance)[..], &mut records[..]);
        Ok(())
    })?;
    let (tour, figures) = Record::join(&records, &instance);
    Ok((clock.stop()?, tour, figures))
}

/// The knowledge of a rank from the rounds.
struct Rounds<'r> {
    talk: &'r SimpleCommunicator,
    me: usize,
    size: usize,
    /// The length of the shortest tour known here.
    shortest: Cell<u32>,
    /// The number of nodes since the last check.
    nodes: Cell<u32>,
    /// The round in progress; `None` when the search has ended.
    round: RefCell<Option<Posted>>,
    /// Parts that this rank has been given and not yet begun, and whether it searches other parts.
    granted: Cell<Option<(u32, u32)>>,
    busy: Cell<bool>,
    /// The queue, the same on all ranks: the number of parts that a rank gets at a time, the number of all parts, and
    /// the next part.
    chunk: u32,
    parts: Cell<u32>,
    next: Cell<u32>,
}

impl<'r> Rounds<'r> {
    fn new(talk: &'r SimpleCommunicator, (me, size): (usize, usize), chunk: u32) -> Self {
        Rounds {
            talk,
            me,
            size,
            shortest: Cell::new(u32::MAX),
            nodes: Cell::new(0),
            round: RefCell::new(None),
            granted: Cell::new(None),
            busy: Cell::new(false),
            chunk,
            parts: Cell::new(0),
            next: Cell::new(0),
        }
    }

    /// Begins a round.
    fn begin(&self) {
        let granted = self.granted.get();
        // A rank that is not busy begins with its granted parts before the round ends.
        let state = match (granted, self.busy.get()) {
            (Some(_), true) => SUPPLIED,
            (Some(_), false) | (None, true) => AT_ITS_LAST,
            (None, false) => IDLE,
        };
        let mine = [self.shortest.get(), state];
        *self.round.borrow_mut() = Some(Posted::all_gather(self.talk, self.size, &mine));
    }

    /// Ends the round in progress, after waiting for it if necessary. Begins the next round, unless all ranks are idle
    /// and no parts are left.
    fn end(&self) {
        let Some(mut round) = self.round.take() else { return };
        let (reports, mut idle) = (round.wait(), 0);
        let over = self.next.get() >= self.parts.get();
        for (rank, report) in reports.chunks_exact(2).enumerate() {
            self.shortest.set(self.shortest.get().min(report[0]));
            idle += usize::from(report[1] == IDLE);
            let first = self.next.get();
            if report[1] != SUPPLIED && first < self.parts.get() {
                let end = self.parts.get().min(first.saturating_add(self.chunk));
                self.next.set(end);
                if rank == self.me {
                    self.granted.set(Some((first, end)));
                }
            }
        }
        if !(over && idle == self.size) {
            self.begin();
        }
    }

    /// Returns the next parts to search, or `None` when no rank has any.
    fn take(&self) -> Option<Range<u32>> {
        self.busy.set(false);
        loop {
            if let Some((first, end)) = self.granted.take() {
                self.busy.set(true);
                return Some(first..end);
            }
            if self.round.borrow().is_none() {
                return None;
            }
            self.end();
        }
    }
}

impl Bound for Rounds<'_> {
    #[inline]
    fn length(&self) -> Result<u32> {
        let nodes = self.nodes.get() + 1;
        self.nodes.set(nodes % LOOK);
        if nodes == LOOK && self.round.borrow_mut().as_mut().is_some_and(Posted::test) {
            self.end();
        }
        Ok(self.shortest.get())
    }

    fn improve(&self, length: u32) -> Result<()> {
        self.shortest.set(self.shortest.get().min(length));
        Ok(())
    }
}
