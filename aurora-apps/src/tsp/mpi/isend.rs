//! Master and workers: rank 0 keeps the queue of parts, gives parts to the workers, and searches itself. A rank that
//! has found a shorter tour sends its length to all other ranks directly.
//!
//! MPI has no thread that answers while a rank searches, so ranks check for messages after every [`LOOK`] nodes. A
//! check costs a fraction of a microsecond, and a rank that asks rank 0 for parts waits until rank 0 checks. So a
//! worker asks for its next parts before it begins with the parts it has, and it does not wait unless they are few. A
//! bound is older than under Aurora by the time between two checks, because Aurora writes it into every rank's memory
//! meanwhile.

use super::record::Record;
use crate::clock::Clock;
use crate::mpi_ranks::MpiRanks;
use crate::mpi_ranks::posted::Posted;
use crate::tsp::Instance;
use crate::tsp::parallel::Outcome;
use crate::tsp::search::{Bound, Search};
use aurora_core::prelude::*;
use mpi::Tag;
use mpi::point_to_point::Message;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Source};
use std::cell::{Cell, RefCell};
use std::ops::Range;

/// The rank that keeps the queue.
const MASTER: usize = 0;

/// The number of nodes between two checks for messages: some tens of microseconds.
const LOOK: u32 = 64;

/// The tag of a message: the sender has found a tour of this length.
const SHORTER: Tag = 1;
/// The tag of a message: the sender asks for parts.
const ASK: Tag = 2;
/// The tag of a message: parts for the receiver. An empty range means that no parts are left.
const PARTS: Tag = 3;

/// Collective. Searches rank 0's instance.
pub fn search(ranks: &MpiRanks<'_>, talk: &SimpleCommunicator, instance: &Instance, chunk: u32) -> Result<Outcome> {
    let (me, size, n) = (ranks.me(), ranks.size(), instance.cities());
    let mut distances = vec![0; n * n];
    if me == MASTER {
        distances.copy_from_slice(instance.distances());
    }
    let mut clock = Clock::start(ranks)?;
    clock.sharing("read distances", || {
        let nothing: &[u32] = &[];
        if me == MASTER {
            let mut outgoing = vec![&distances[..]; size];
            outgoing[MASTER] = nothing;
            ranks.all_at_once(&outgoing, Vec::new());
        } else {
            let mut incoming: Vec<&mut [u32]> = (0..size).map(|_| Default::default()).collect();
            incoming[MASTER] = &mut distances;
            ranks.all_at_once(&vec![nothing; size], incoming);
        }
        Ok(())
    })?;
    let instance = Instance::new(n, |i, j| distances[i * n + j]);
    let state = RankState::new(talk, (me, size), chunk);
    let mut search = Search::new(&instance, &state);
    state.parts.set(search.parts() as u32);
    clock.sharing("read bound", || {
        state.ask();
        Ok(())
    })?;
    clock.computing("search", || {
        while let Some(mut parts) = state.take() {
            parts.try_for_each(|part| search.part(part.into()))?;
        }
        Ok(())
    })?;
    let mut records = vec![0; size * Record::length(&instance)];
    let (tour, figures) = clock.sharing("collect tours", || {
        let mine = Record::of(&search, &instance);
        ranks.all_at_once(&vec![&mine[..]; size], records.chunks_mut(mine.len()).collect());
        let (tour, [nodes, improvements]) = Record::join(&records, &instance);
        // Receives the other ranks' messages that this rank has not yet checked for.
        state.hear(improvements - search.improvements);
        Ok((tour, [nodes, improvements]))
    })?;
    Ok((clock.stop()?, tour, figures))
}

/// The state and the messages of a rank during a search.
struct RankState<'r> {
    talk: &'r SimpleCommunicator,
    me: usize,
    size: usize,
    /// The length of the shortest tour known here.
    shortest: Cell<u32>,
    /// The number of nodes since the last check.
    nodes: Cell<u32>,
    /// The number of received messages about tours.
    heard: Cell<u64>,
    /// Sends that may be incomplete.
    sent: RefCell<Vec<Posted>>,
    /// Parts that this rank has received and not yet begun.
    granted: Cell<Option<(u32, u32)>>,
    /// The queue: the number of parts that a rank gets at a time, the number of all parts, the next part, and the
    /// number of workers that know that no parts are left.
    chunk: u32,
    parts: Cell<u32>,
    next: Cell<u32>,
    dismissed: Cell<usize>,
}

impl<'r> RankState<'r> {
    fn new(talk: &'r SimpleCommunicator, (me, size): (usize, usize), chunk: u32) -> Self {
        RankState {
            talk,
            me,
            size,
            shortest: Cell::new(u32::MAX),
            nodes: Cell::new(0),
            heard: Cell::new(0),
            sent: RefCell::default(),
            granted: Cell::new(None),
            chunk,
            parts: Cell::new(0),
            next: Cell::new(0),
            dismissed: Cell::new(0),
        }
    }

    /// Returns the next parts to search, or `None` if no parts are left. The master returns `None` when all workers
    /// know that.
    fn take(&self) -> Option<Range<u32>> {
        if self.me == MASTER {
            // Checks for messages first: if parts are short, a worker would otherwise wait for many parts of the
            // master.
            self.look();
            let (first, end) = self.draw();
            while first == end && self.dismissed.get() + 1 < self.size {
                self.wait();
            }
            return (first < end).then_some(first..end);
        }
        let (first, end) = loop {
            match self.granted.take() {
                Some(parts) => break parts,
                None => self.wait(),
            }
        };
        if first == end {
            return None;
        }
        self.ask();
        Some(first..end)
    }

    /// Asks the master for parts, on a worker.
    fn ask(&self) {
        if self.me != MASTER {
            self.send(MASTER, ASK, &[]);
        }
    }

    /// Takes parts out of the queue.
    fn draw(&self) -> (u32, u32) {
        let first = self.next.get();
        let end = self.parts.get().min(first.saturating_add(self.chunk));
        self.next.set(end);
        (first, end)
    }

    /// Waits until `messages` messages about tours have arrived in all.
    fn hear(&self, messages: u64) {
        while self.heard.get() < messages {
            self.wait();
        }
    }

    fn look(&self) {
        while let Some((message, _)) = self.talk.any_process().immediate_matched_probe() {
            self.handle(message);
        }
    }

    fn wait(&self) {
        self.handle(self.talk.any_process().matched_probe().0);
    }

    fn handle(&self, message: Message) {
        let mut numbers = [0; 2];
        let status = message.matched_receive_into(&mut numbers[..]);
        match status.tag() {
            SHORTER => {
                self.shortest.set(self.shortest.get().min(numbers[0]));
                self.heard.set(self.heard.get() + 1);
            }
            ASK => {
                let (first, end) = self.draw();
                self.dismissed.set(self.dismissed.get() + usize::from(first == end));
                self.send(status.source_rank() as usize, PARTS, &[first, end]);
            }
            _ => self.granted.set(Some((numbers[0], numbers[1]))),
        }
    }

    fn send(&self, to: usize, tag: Tag, numbers: &[u32]) {
        let mut sent = self.sent.borrow_mut();
        sent.retain_mut(|posted| !posted.test());
        sent.push(Posted::send(&self.talk.process_at_rank(to as i32), tag, numbers));
    }
}

impl Bound for RankState<'_> {
    #[inline]
    fn length(&self) -> Result<u32> {
        let nodes = self.nodes.get() + 1;
        self.nodes.set(nodes % LOOK);
        if nodes == LOOK {
            self.look();
        }
        Ok(self.shortest.get())
    }

    fn improve(&self, length: u32) -> Result<()> {
        self.shortest.set(self.shortest.get().min(length));
        for to in (1..self.size).map(|step| (self.me + step) % self.size) {
            self.send(to, SHORTER, &[length]);
        }
        Ok(())
    }
}
