//! Master and workers: rank 0 keeps the queue of parts and gives them out, and searches itself; a shorter tour's length
//! goes from who has found it straight to all others.
//!
//! MPI has no thread that would answer while a rank searches: ranks look for messages every so many nodes. What that
//! costs: a look is a fraction of a microsecond, and who asks rank 0 for parts waits until it looks next. So a worker
//! asks for its next parts before it begins with those it has, and does not wait unless they are few. A bound is as
//! much older than under Aurora, where it is written into every rank's memory meanwhile.

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

/// The rank that has the queue.
const MASTER: usize = 0;

/// Nodes of the search between two looks for messages: some tens of microseconds.
const LOOK: u32 = 64;

/// The sender has found a tour of this length.
const SHORTER: Tag = 1;
/// The sender wants parts.
const ASK: Tag = 2;
/// These are the parts; there are none left if they are empty.
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
    let desk = Desk::new(talk, (me, size), chunk);
    let mut search = Search::new(&instance, &desk);
    desk.parts.set(search.parts() as u32);
    clock.sharing("read bound", || {
        desk.ask();
        Ok(())
    })?;
    clock.computing("search", || {
        while let Some(mut parts) = desk.take() {
            parts.try_for_each(|part| search.part(part.into()))?;
        }
        Ok(())
    })?;
    let mut records = vec![0; size * Record::length(&instance)];
    let (tour, figures) = clock.sharing("collect tours", || {
        let mine = Record::of(&search, &instance);
        ranks.all_at_once(&vec![&mine[..]; size], records.chunks_mut(mine.len()).collect());
        let (tour, [nodes, improvements]) = Record::join(&records, &instance);
        // What others have said and this rank has not looked for any more.
        desk.hear(improvements - search.improvements);
        Ok((tour, [nodes, improvements]))
    })?;
    Ok((clock.stop()?, tour, figures))
}

/// What a rank says and hears during a search.
struct Desk<'r> {
    talk: &'r SimpleCommunicator,
    me: usize,
    size: usize,
    /// The length of the shortest tour known here.
    shortest: Cell<u32>,
    /// Nodes since the last look.
    nodes: Cell<u32>,
    /// Messages about tours that have come.
    heard: Cell<u64>,
    /// What has been sent, and MPI may not be through with.
    sent: RefCell<Vec<Posted>>,
    /// Parts for this rank, which has not begun with them.
    granted: Cell<Option<(u32, u32)>>,
    /// Of the queue: parts that a rank gets at a time, all there are, the next one, and how many ranks have been told
    /// that there are none.
    chunk: u32,
    parts: Cell<u32>,
    next: Cell<u32>,
    dismissed: Cell<usize>,
}

impl<'r> Desk<'r> {
    fn new(talk: &'r SimpleCommunicator, (me, size): (usize, usize), chunk: u32) -> Self {
        Desk {
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

    /// The next parts to search, `None` if there are none. The master goes when all workers know that.
    fn take(&self) -> Option<Range<u32>> {
        if self.me == MASTER {
            // Where parts are short a worker would wait for many of the master's.
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

    /// A worker asks for parts.
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

    /// Waits until so many messages about tours have come in all.
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

impl Bound for Desk<'_> {
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
