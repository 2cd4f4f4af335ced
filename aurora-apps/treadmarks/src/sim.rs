//! The protocol in virtual time: the machines of all ranks in one thread, programs as steps, and a network with a
//! latency.
//!
//! ```
//! use aurora_treadmarks::Counts;
//! use aurora_treadmarks::sim::{Network, Sim, Step};
//!
//! // Each of 8 ranks adds to a page of counters under a lock, in the order of ranks; then all read it.
//! let program = |rank: u64| {
//!     let sums = (rank as u32 + 1).to_le_bytes().repeat(1024);
//!     let turn = Step::Compute(rank * 1_000_000_000);
//!     let add = [turn, Step::Acquire(0), Step::Write(0, 0, sums), Step::Release(0), Step::Barrier];
//!     add.into_iter().chain([Step::Read(0, 0..4096)])
//! };
//! let mut sim = Sim::new(&[(4096, 0)], (0..8).map(program), Network::default());
//! sim.run(|_rank, _step, _read| ())?;
//! let counts: Counts = sim.counts().sum();
//! assert_eq!((counts.barrier, counts.lock, counts.requests, counts.answers), (14, 20, 14, 14));
//! assert_eq!(counts.data, 56 * 4096);
//! # Ok::<(), aurora_treadmarks::sim::Stuck>(())
//! ```
//!
//! The programs and the [`Network`] determine a run. The counts do not depend on the network if the ranks synchronise
//! by barriers alone, and if no page is read by one rank and written by another between two barriers.

use crate::counts::{Counts, Requests};
use crate::grid::Grid;
use crate::machine::{Machine, Message, Page, Peer, WORD};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::Range;
use thiserror::Error;

/// A step of the program of a rank. Arrays are numbered from 0; ranges and offsets are in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Computes for this number of nanoseconds.
    Compute(u64),
    /// Reads these bytes of the array with this number. Pages that are not up to date are fetched first.
    Read(usize, Range<usize>),
    /// Writes into the array with this number, at this offset, these bytes. Pages that are not up to date are fetched
    /// first.
    Write(usize, usize, Vec<u8>),
    /// Arrives at a barrier.
    Barrier,
    /// Acquires a lock.
    Acquire(u32),
    /// Releases a lock.
    Release(u32),
}

/// The network between the ranks.
#[derive(Clone, Debug)]
pub struct Network {
    /// The latency from the sender to the receiver, in nanoseconds.
    pub latency: u64,
    /// The time for each byte of a message, in addition to the latency, in picoseconds.
    pub byte: u64,
    /// The seed of random delays: each message takes up to 8 times as long, so messages overtake each other. `None`: no
    /// random delays.
    pub jitter: Option<u64>,
}

impl Default for Network {
    /// 100 Mbit/s, and 1.1 ms for a message and its answer.
    fn default() -> Self {
        Network { latency: 550_000, byte: 80_000, jitter: None }
    }
}

impl Network {
    fn time(&self, bytes: usize, random: &mut fastrand::Rng) -> u64 {
        let time = self.latency + self.byte * bytes as u64 / 1000;
        if self.jitter.is_some() { random.u64(time..=8 * time) } else { time }
    }
}

/// A program that cannot end.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("the ranks wait for each other: {}", waiting.join("; "))]
pub struct Stuck {
    /// For each waiting rank, its lock or its step.
    pub waiting: Vec<String>,
}

/// Ranks in virtual time.
pub struct Sim<'a> {
    nodes: Vec<Node<'a>>,
    grids: Vec<Grid>,
    network: Network,
    random: fastrand::Rng,
    queue: BinaryHeap<Reverse<Due>>,
    /// Entries of the queue so far, so that entries of one time keep their order.
    entries: u64,
    now: u64,
}

/// An event, and its time.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: u64,
    entry: u64,
    to: usize,
    /// The message of a rank, encoded; `None`: the rank's program continues.
    from: Option<(Peer, Vec<u8>)>,
}

struct Node<'a> {
    machine: Machine,
    /// The memory of the rank, by array.
    memory: Vec<Vec<u8>>,
    program: Box<dyn Iterator<Item = Step> + 'a>,
    /// The step that is being executed.
    step: Option<Step>,
    counts: Counts,
    requests: Requests,
    held: BTreeSet<u32>,
}

/// The wait of a rank.
enum Wait {
    /// A wait of this number of nanoseconds.
    For(u64),
    /// A wait for messages.
    ForOthers,
}

impl<'a> Sim<'a> {
    /// Creates ranks with these programs, and arrays that are zero. `arrays` has the bytes of each array and of its
    /// rows. The next step of a program is taken when the step before is done.
    ///
    /// # Panics
    /// If an array or a row is not made of words of 4 bytes.
    pub fn new<P>(arrays: &[(usize, usize)], programs: impl IntoIterator<Item = P>, network: Network) -> Self
    where
        P: IntoIterator<Item = Step>,
        P::IntoIter: 'a,
    {
        let has_words = |(len, row): &(usize, usize)| len.is_multiple_of(WORD) && row.is_multiple_of(WORD);
        assert!(arrays.iter().all(has_words), "arrays and rows are made of words of 4 bytes: {arrays:?}");
        let mut pages = 0;
        let grids: Vec<_> = arrays
            .iter()
            .map(|(len, row)| {
                let grid = Grid::new(pages, *len, *row);
                pages += grid.count() as Page;
                grid
            })
            .collect();
        let programs: Vec<_> = programs.into_iter().collect();
        let ranks = programs.len();
        let node = |(rank, program): (usize, P)| {
            let mut machine = Machine::new(rank, ranks);
            machine.grow_to(pages);
            let memory = arrays.iter().map(|(len, _)| vec![0; *len]).collect();
            let (program, step) = (Box::new(program.into_iter()), None);
            Node {
                machine,
                memory,
                program,
                step,
                counts: Counts::default(),
                requests: Requests::default(),
                held: BTreeSet::new(),
            }
        };
        let nodes: Vec<_> = programs.into_iter().enumerate().map(node).collect();
        let random = fastrand::Rng::with_seed(network.jitter.unwrap_or_default());
        let mut sim = Sim { nodes, grids, network, random, queue: BinaryHeap::new(), entries: 0, now: 0 };
        (0..ranks).for_each(|rank| sim.due(0, rank, None));
        sim
    }

    fn due(&mut self, after: u64, to: usize, from: Option<(Peer, Vec<u8>)>) {
        self.entries += 1;
        self.queue.push(Reverse(Due { at: self.now + after, entry: self.entries, to, from }));
    }

    /// Runs all programs to their ends. After each step `look` gets the number of the rank, the step, and the bytes
    /// that it has read. Returns the virtual time in nanoseconds.
    ///
    /// # Errors
    /// The ranks wait for each other, or for a rank whose program has ended.
    ///
    /// # Panics
    /// If a step names an array or bytes that do not exist, acquires a lock that its rank holds, or releases one that
    /// it does not hold.
    pub fn run(&mut self, mut look: impl FnMut(usize, &Step, &[u8])) -> Result<u64, Stuck> {
        while let Some(Reverse(Due { at, to, from, .. })) = self.queue.pop() {
            self.now = at;
            let is_waiting = from.is_some();
            if let Some((from, bytes)) = from {
                let message: Message = postcard::from_bytes(&bytes).expect("it was encoded here");
                let sent = self.nodes[to].machine.handle(from, message).expect("machines understand each other");
                self.send(to, sent);
            }
            self.go_on(to, is_waiting, &mut look);
        }
        let waiting: Vec<_> = self.nodes.iter().enumerate().filter_map(|(rank, node)| node.waiting(rank)).collect();
        if waiting.is_empty() { Ok(self.now) } else { Err(Stuck { waiting }) }
    }

    /// The counts of each rank so far.
    pub fn counts(&self) -> impl Iterator<Item = Counts> + '_ {
        self.nodes.iter().map(|node| node.counts)
    }

    /// The bytes of an array in the copy of a rank.
    pub fn memory(&self, rank: usize, array: usize) -> &[u8] {
        &self.nodes[rank].memory[array]
    }

    fn send(&mut self, from: usize, messages: Vec<(Peer, Message)>) {
        for (to, message) in messages {
            let bytes = postcard::to_allocvec(&message).expect("memory for a message");
            self.nodes[from].counts.sent(&message, bytes.len());
            let after = self.network.time(bytes.len(), &mut self.random);
            self.due(after, usize::from(to), Some((from as Peer, bytes)));
        }
    }

    /// Continues the program of a rank as far as possible. `is_waiting`: only if a step is being executed.
    fn go_on(&mut self, rank: usize, is_waiting: bool, look: &mut impl FnMut(usize, &Step, &[u8])) {
        if is_waiting && matches!(self.nodes[rank].step, None | Some(Step::Compute(_))) {
            return;
        }
        loop {
            let node = &mut self.nodes[rank];
            let (step, is_new) = match node.step.take() {
                Some(step) => (step, false),
                None => match node.program.next() {
                    Some(step) => (step, true),
                    None => return,
                },
            };
            if let Some(wait) = self.step(rank, &step, is_new) {
                self.nodes[rank].step = Some(step);
                if let Wait::For(time) = wait {
                    self.due(time, rank, None);
                }
                return;
            }
            let read = match &step {
                Step::Read(array, range) => &self.nodes[rank].memory[*array][range.clone()],
                _ => &[],
            };
            look(rank, &step, read);
        }
    }

    /// Begins or continues a step. `None` when it is done.
    fn step(&mut self, rank: usize, step: &Step, is_new: bool) -> Option<Wait> {
        if is_new {
            self.nodes[rank].check(rank, step);
        }
        match step {
            Step::Compute(time) => is_new.then_some(Wait::For(*time)),
            Step::Read(array, range) => self.bring(rank, *array, range),
            Step::Write(array, offset, bytes) => {
                let range = *offset..offset + bytes.len();
                let wait = self.bring(rank, *array, &range);
                if wait.is_none() {
                    self.nodes[rank].write(&self.grids[*array], *array, range, bytes);
                }
                wait
            }
            Step::Barrier => {
                if is_new {
                    let sent = self.nodes[rank].synchronise(&self.grids, Machine::barrier);
                    self.send(rank, sent);
                }
                self.nodes[rank].machine.is_in_barrier().then_some(Wait::ForOthers)
            }
            Step::Acquire(lock) => {
                if is_new {
                    let sent = match self.nodes[rank].machine.has_lock(*lock) {
                        true => self.nodes[rank].machine.acquire(*lock),
                        false => self.nodes[rank].synchronise(&self.grids, |machine| machine.acquire(*lock)),
                    };
                    self.send(rank, sent);
                }
                self.nodes[rank].machine.awaited_lock().map(|_| Wait::ForOthers)
            }
            Step::Release(lock) => {
                let sent = self.nodes[rank].synchronise(&self.grids, |machine| machine.release(*lock));
                self.send(rank, sent);
                None
            }
        }
    }
}

impl Sim<'_> {
    /// Brings the pages of a range of bytes up to date, one after the other.
    fn bring(&mut self, rank: usize, array: usize, range: &Range<usize>) -> Option<Wait> {
        let grid = self.grids[array];
        for page in grid.pages(range) {
            if self.nodes[rank].machine.is_valid(page) {
                continue;
            }
            if !self.nodes[rank].machine.is_fetching() {
                let node = &mut self.nodes[rank];
                let wanted = node.machine.miss(page);
                node.requests.missed(&mut node.counts, wanted.iter().map(|(to, _)| *to));
                self.send(rank, wanted);
            }
            let node = &mut self.nodes[rank];
            if node.machine.asked().next().is_some() {
                return Some(Wait::ForOthers);
            }
            let diffs = node.machine.take(page);
            node.counts.applied(&diffs);
            let content = &mut node.memory[array][grid.bytes(page)];
            diffs.iter().for_each(|diff| diff.apply(content));
        }
        None
    }
}

impl Node<'_> {
    fn write(&mut self, grid: &Grid, array: usize, range: Range<usize>, bytes: &[u8]) {
        for page in grid.pages(&range) {
            self.machine.write(page, &self.memory[array][grid.bytes(page)]);
        }
        self.memory[array][range].copy_from_slice(bytes);
    }

    /// Ends the interval, and synchronises.
    fn synchronise(
        &mut self,
        grids: &[Grid],
        with: impl FnOnce(&mut Machine) -> Vec<(Peer, Message)>,
    ) -> Vec<(Peer, Message)> {
        let written: Vec<_> = self.machine.written().collect();
        for page in written {
            let array = grids.iter().position(|grid| grid.has(page)).expect("pages are of arrays");
            self.machine.snapshot(page, &self.memory[array][grids[array].bytes(page)]);
        }
        self.machine.close();
        self.requests.synchronised();
        with(&mut self.machine)
    }

    /// Checks a step, and notes the locks that the rank holds.
    fn check(&mut self, rank: usize, step: &Step) {
        let has = |array: usize, end: usize| self.memory.get(array).is_some_and(|memory| end <= memory.len());
        match step {
            Step::Read(array, range) => {
                let exists = range.start <= range.end && has(*array, range.end);
                assert!(exists, "rank {rank} reads {range:?} of array {array}, which has no such bytes");
            }
            Step::Write(array, offset, bytes) => {
                let range = *offset..offset.saturating_add(bytes.len());
                assert!(
                    has(*array, range.end),
                    "rank {rank} writes {range:?} of array {array}, which has no such bytes"
                );
            }
            Step::Acquire(lock) => {
                assert!(self.held.insert(*lock), "rank {rank} acquires lock {lock}, which it holds");
            }
            Step::Release(lock) => {
                assert!(self.held.remove(lock), "rank {rank} releases lock {lock}, which it does not hold");
            }
            Step::Compute(_) | Step::Barrier => {}
        }
    }

    /// The lock or the step for which the rank waits.
    fn waiting(&self, rank: usize) -> Option<String> {
        let step = self.step.as_ref()?;
        let lock = self.machine.awaited_lock().map(|lock| format!("rank {rank} waits for lock {lock}"));
        Some(lock.unwrap_or_else(|| format!("rank {rank} waits in {step:?}")))
    }
}
