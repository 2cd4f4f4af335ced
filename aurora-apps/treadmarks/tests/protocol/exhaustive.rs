//! All programs of few operations, with all orders of the messages: 3 ranks, 2 pages, 4 operations. Equal states are
//! visited once.
//!
//! A page has a word for each rank, which the rank alone writes, and a word that belongs to the lock. A word counts its
//! writes. So a read is correct if each word has at least the number of the writes that precede the read.

use aurora_treadmarks::machine::{Machine, Message, Page, Peer, WORD};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

const RANKS: usize = 3;
const PAGES: usize = 2;
/// The word of a page that belongs to the lock.
const LOCKED: usize = RANKS;
const LOCK: u32 = 1;

/// For each page and word, a number of writes.
type Words = [[u32; RANKS + 1]; PAGES];

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Operation {
    Read(Page),
    /// Writes the rank's own word.
    Write(Page),
    /// Acquires the lock, reads, writes the word of the lock, releases.
    Locked(Page),
    Barrier,
}

use Operation::{Barrier, Locked, Read, Write};

const ALL: [Operation; 7] = [Read(0), Read(1), Write(0), Write(1), Locked(0), Locked(1), Barrier];

#[derive(Clone, Hash)]
struct Node {
    machine: Machine,
    memory: Words,
    doing: Option<Operation>,
    /// True: the rank holds the lock.
    holds: bool,
    /// The writes that precede the rank's next operation.
    before: Words,
    /// The writes that precede its next operation once it has left the barrier in which it waits.
    met: Words,
    /// The number of barriers at which it has arrived.
    barriers: usize,
}

#[derive(Clone, Hash)]
struct State {
    nodes: [Node; RANKS],
    flying: Vec<(Peer, Peer, Message)>,
    /// Operations that may still begin.
    left: usize,
    /// All writes.
    written: Words,
    /// The writes that precede the next acquire.
    released: Words,
}

fn join(all: &mut Words, more: &Words) {
    let words = all.as_flattened_mut().iter_mut().zip(more.as_flattened());
    words.for_each(|(all, more)| *all = (*all).max(*more));
}

fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

impl State {
    fn new(left: usize) -> Self {
        let node = |rank| {
            let mut machine = Machine::new(rank, RANKS);
            machine.grow_to(PAGES as Page);
            let zero = Words::default();
            Node { machine, memory: zero, doing: None, holds: false, before: zero, met: zero, barriers: 0 }
        };
        let zero = Words::default();
        State { nodes: std::array::from_fn(node), flying: Vec::new(), left, written: zero, released: zero }
    }

    /// All states that may follow this state.
    fn next(&self) -> Vec<State> {
        let mut next = Vec::new();
        for message in 0..self.flying.len() {
            let mut state = self.clone();
            let (from, to, message) = state.flying.remove(message);
            let sent = state.nodes[usize::from(to)].machine.handle(from, message).expect("it makes sense");
            state.send(to.into(), sent);
            state.go_on(to.into(), false);
            next.push(state);
        }
        // All ranks arrive at a barrier at which one rank has arrived.
        let barriers = self.nodes.iter().map(|node| node.barriers).max();
        for rank in (0..RANKS).filter(|rank| self.nodes[*rank].doing.is_none()) {
            for operation in ALL {
                let is_free = operation == Barrier && Some(self.nodes[rank].barriers) < barriers;
                if is_free || self.left > 0 {
                    let mut state = self.clone();
                    state.left -= usize::from(!is_free);
                    state.begin(rank, operation);
                    next.push(state);
                }
            }
        }
        next
    }

    fn begin(&mut self, rank: usize, operation: Operation) {
        self.nodes[rank].doing = Some(operation);
        self.go_on(rank, true);
    }

    fn send(&mut self, from: usize, sent: Vec<(Peer, Message)>) {
        self.flying.extend(sent.into_iter().map(|(to, message)| (from as Peer, to, message)));
        // States that differ only in the order of messages in flight are equal.
        self.flying.sort_by_key(hash);
    }

    fn close(&mut self, rank: usize) {
        let Node { machine, memory, .. } = &mut self.nodes[rank];
        let written: Vec<_> = machine.written().collect();
        written.into_iter().for_each(|page| machine.snapshot(page, bytemuck::bytes_of(&memory[page as usize])));
        machine.close();
    }

    /// Continues the operation of a rank as far as possible.
    fn go_on(&mut self, rank: usize, is_new: bool) {
        match self.nodes[rank].doing {
            None => return,
            Some(Read(page)) => {
                if !self.bring(rank, page) {
                    return;
                }
                self.check(rank, page);
            }
            Some(Write(page)) => {
                if !self.bring(rank, page) {
                    return;
                }
                self.write(rank, page, rank);
            }
            Some(Locked(page)) => {
                if is_new {
                    if !self.nodes[rank].machine.has_lock(LOCK) {
                        self.close(rank);
                    }
                    let sent = self.nodes[rank].machine.acquire(LOCK);
                    self.send(rank, sent);
                }
                if self.nodes[rank].machine.awaited_lock().is_some() {
                    return;
                }
                if !self.nodes[rank].holds {
                    assert!(self.nodes.iter().all(|node| !node.holds), "one rank holds the lock");
                    self.nodes[rank].holds = true;
                    let released = self.released;
                    join(&mut self.nodes[rank].before, &released);
                }
                if !self.bring(rank, page) {
                    return;
                }
                self.check(rank, page);
                self.write(rank, page, LOCKED);
                self.close(rank);
                self.nodes[rank].holds = false;
                self.released = self.nodes[rank].before;
                let sent = self.nodes[rank].machine.release(LOCK);
                self.send(rank, sent);
            }
            Some(Barrier) => {
                if is_new {
                    self.close(rank);
                    self.nodes[rank].barriers += 1;
                    let number = self.nodes[rank].barriers;
                    if self.nodes.iter().all(|node| node.barriers == number) {
                        let mut all = Words::default();
                        self.nodes.iter().for_each(|node| join(&mut all, &node.before));
                        self.nodes.iter_mut().for_each(|node| node.met = all);
                    }
                    let sent = self.nodes[rank].machine.barrier();
                    self.send(rank, sent);
                }
                if self.nodes[rank].machine.is_in_barrier() {
                    return;
                }
                let node = &mut self.nodes[rank];
                node.before = std::mem::take(&mut node.met);
            }
        }
        self.nodes[rank].doing = None;
    }

    /// Requests missing differences of a page. Returns true if the page is up to date.
    fn bring(&mut self, rank: usize, page: Page) -> bool {
        let machine = &mut self.nodes[rank].machine;
        if machine.is_valid(page) {
            return true;
        }
        if !machine.is_fetching() {
            let sent = machine.miss(page);
            self.send(rank, sent);
        }
        let Node { machine, memory, .. } = &mut self.nodes[rank];
        if machine.asked().next().is_some() {
            return false;
        }
        let content = bytemuck::bytes_of_mut(&mut memory[page as usize]);
        machine.take(page).iter().for_each(|diff| diff.apply(content));
        true
    }

    fn write(&mut self, rank: usize, page: Page, word: usize) {
        let (Node { machine, memory, before, .. }, at) = (&mut self.nodes[rank], page as usize);
        machine.write(page, bytemuck::bytes_of(&memory[at]));
        memory[at][word] += 1;
        self.written[at][word] += 1;
        assert_eq!(memory[at][word], self.written[at][word], "rank {rank} has missed a write of word {word}");
        before[at][word] = memory[at][word];
    }

    fn check(&self, rank: usize, page: Page) {
        let (node, at) = (&self.nodes[rank], page as usize);
        for word in 0..=RANKS {
            let (seen, before, all) = (node.memory[at][word], node.before[at][word], self.written[at][word]);
            assert!(
                (before..=all).contains(&seen),
                "rank {rank} sees {seen} of {before}..={all} writes of {page}:{word}"
            );
        }
    }

    /// Lets all ranks pass a barrier and read everything.
    fn end(mut self) {
        let ends = [Barrier, Read(0), Read(1)].into_iter();
        for (operation, rank) in ends.flat_map(|end| (0..RANKS).map(move |rank| (end, rank))) {
            self.begin(rank, operation);
            if operation == Barrier && rank + 1 < RANKS {
                continue; // to the last one of the ranks
            }
            while let Some((from, to, message)) = self.flying.pop() {
                let sent = self.nodes[usize::from(to)].machine.handle(from, message).expect("it makes sense");
                self.send(to.into(), sent);
                self.go_on(to.into(), false);
            }
        }
        for node in &self.nodes {
            assert_eq!(node.memory, self.written);
        }
    }
}

#[test]
fn all_orders_of_all_small_programs() {
    const OPERATIONS: usize = 4;
    const { assert!(WORD == size_of::<u32>()) };
    let mut open = vec![State::new(OPERATIONS)];
    let mut seen = HashSet::new();
    let mut ends = 0;
    while let Some(state) = open.pop() {
        if !seen.insert(hash(&state)) {
            continue;
        }
        assert!(seen.len() < 1_000_000, "the states have no end");
        let idle = state.flying.is_empty() && state.nodes.iter().all(|node| node.doing.is_none());
        let next = state.next();
        assert!(idle || !next.is_empty(), "stuck: {:?}", state.nodes.each_ref().map(|node| node.doing));
        open.extend(next);
        if idle && state.left == 0 {
            ends += 1;
            state.end();
        }
    }
    assert!(ends > 1000 && seen.len() > 20_000, "{} states, {ends} ends", seen.len());
}
