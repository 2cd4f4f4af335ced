//! Random programs, with messages that overtake each other, against happens-before (hb1): a read sees a write unless
//! another write of the word lies between them. In programs without races there is one such write for each read.

use crate::with_seeds;
use aurora_treadmarks::sim::{Network, Sim, Step};
use std::collections::BTreeMap;

const WORD: usize = 4;

/// A write of a word: the writer's rank and clock.
struct Write {
    rank: usize,
    clock: u32,
    /// For each rank: the number of steps that precede the write, the write included.
    after: Vec<u32>,
}

/// Follows a run. Each write has its own number, which is the written value; 0 is the initial value.
struct Hb {
    /// For each rank: the steps that precede its next step, as a number for each rank.
    clocks: Vec<Vec<u32>>,
    /// For each rank: the number of barriers that it has passed.
    barriers: Vec<usize>,
    /// For each barrier: the steps that precede all steps after it.
    met: Vec<Vec<u32>>,
    /// For each lock: the steps that precede the next acquire.
    released: BTreeMap<u32, Vec<u32>>,
    writes: Vec<Write>,
    /// For each array and word: the numbers of its writes.
    words: BTreeMap<(usize, usize), Vec<u32>>,
}

fn join(clock: &mut [u32], other: &[u32]) {
    clock.iter_mut().zip(other).for_each(|(clock, other)| *clock = (*clock).max(*other));
}

impl Hb {
    fn new(ranks: usize) -> Self {
        Hb {
            clocks: vec![vec![0; ranks]; ranks],
            barriers: vec![0; ranks],
            met: Vec::new(),
            released: BTreeMap::new(),
            writes: Vec::new(),
            words: BTreeMap::new(),
        }
    }

    fn done(&mut self, rank: usize, step: &Step, read: &[u8]) {
        self.clocks[rank][rank] += 1;
        match step {
            Step::Compute(_) => {}
            Step::Read(array, range) => {
                for (word, value) in (range.start / WORD..).zip(read.as_chunks::<WORD>().0) {
                    self.check(rank, *array, word, u32::from_le_bytes(*value));
                }
            }
            Step::Write(array, offset, bytes) => {
                for (word, value) in (offset / WORD..).zip(bytes.as_chunks::<WORD>().0) {
                    let (clock, after) = (self.clocks[rank][rank], self.clocks[rank].clone());
                    let number = u32::from_le_bytes(*value) as usize;
                    if self.writes.len() <= number {
                        self.writes.resize_with(number + 1, || Write { rank: 0, clock: 0, after: Vec::new() });
                    }
                    self.writes[number] = Write { rank, clock, after };
                    self.words.entry((*array, word)).or_default().push(number as u32);
                }
            }
            Step::Barrier => {
                let number = self.barriers[rank];
                self.barriers[rank] += 1;
                if self.met.len() == number {
                    // All ranks have arrived, and this rank is the first to continue.
                    let mut all = vec![0; self.clocks.len()];
                    self.clocks.iter().for_each(|clock| join(&mut all, clock));
                    self.met.push(all);
                }
                join(&mut self.clocks[rank], &self.met[number]);
            }
            Step::Acquire(lock) => {
                if let Some(released) = self.released.remove(lock) {
                    join(&mut self.clocks[rank], &released);
                }
            }
            Step::Release(lock) => drop(self.released.insert(*lock, self.clocks[rank].clone())),
        }
    }

    fn check(&self, rank: usize, array: usize, word: usize, value: u32) {
        let none = Vec::new();
        let written = self.words.get(&(array, word)).unwrap_or(&none);
        assert!(value == 0 || written.contains(&value), "rank {rank} reads {value} in word {word}, which nobody wrote");
        let hidden = written.iter().find(|later| {
            let later = &self.writes[**later as usize];
            let is_read = self.clocks[rank][later.rank] >= later.clock;
            let follows = value == 0 || {
                let write = &self.writes[value as usize];
                (write.rank, write.clock) != (later.rank, later.clock) && later.after[write.rank] >= write.clock
            };
            is_read && follows
        });
        assert!(hidden.is_none(), "rank {rank} reads {value} in word {word} of array {array}, but {hidden:?} is newer");
    }
}

/// The arrays: their bytes and the bytes of a row. Some pages are shorter than 4096 bytes.
const ARRAYS: [(usize, usize); 3] = [(8192, 8192), (80, 20), (12, 12)];

/// The programs of all ranks. All programs pass the same barriers.
fn programs(ranks: usize, random: &mut fastrand::Rng) -> Vec<Vec<Step>> {
    let phases = random.usize(1..6);
    let mut number = 0;
    let mut bytes = |words: usize| {
        let mut bytes = Vec::new();
        for _ in 0..words {
            number += 1;
            bytes.extend_from_slice(&u32::to_le_bytes(number));
        }
        bytes
    };
    let mut programs = vec![Vec::new(); ranks];
    for phase in 0..phases {
        for (rank, program) in programs.iter_mut().enumerate() {
            for _ in 0..random.usize(0..6) {
                let array = random.usize(..ARRAYS.len());
                let words = ARRAYS[array].0 / WORD;
                let (first, len) = (random.usize(..words), random.usize(1..5));
                let range = first * WORD..(first + len).min(words) * WORD;
                match random.u32(..10) {
                    0 => program.push(Step::Compute(random.u64(..4_000_000))),
                    1..4 => program.push(Step::Read(array, range)),
                    4 => program.push(Step::Write(array, range.start, bytes(range.len() / WORD))),
                    5 | 6 => {
                        // A word that is this rank's in this phase: no race.
                        let own = words - 1 - (rank + phase) % ranks % words;
                        program.push(Step::Write(array, own * WORD, bytes(1)));
                    }
                    _ => {
                        // Words that belong to a lock.
                        let lock = random.u32(..3);
                        let word = lock as usize * WORD;
                        program.push(Step::Acquire(lock));
                        if random.bool() {
                            program.push(Step::Read(array.min(1), word..word + WORD));
                        }
                        if random.bool() {
                            program.push(Step::Write(array.min(1), word, bytes(1)));
                        }
                        if random.u32(..4) == 0 {
                            // Another lock inside, always in this order.
                            program.push(Step::Acquire(lock + 3));
                            program.push(Step::Write(1, 16 + word, bytes(1)));
                            program.push(Step::Release(lock + 3));
                        }
                        program.push(Step::Release(lock));
                    }
                }
            }
            program.push(Step::Barrier);
        }
    }
    for program in &mut programs {
        program.extend((0..ARRAYS.len()).map(|array| Step::Read(array, 0..ARRAYS[array].0)));
    }
    programs
}

#[test]
fn reads_see_writes_that_nothing_hides() {
    with_seeds(5000, |random| {
        let ranks = random.usize(1..6);
        let programs = programs(ranks, random);
        let jitter = Some(random.u64(..));
        let mut sim = Sim::new(&ARRAYS, programs, Network { latency: 100_000, byte: 1000, jitter });
        let mut hb = Hb::new(ranks);
        sim.run(|rank, step, read| hb.done(rank, step, read)).expect("no circle of locks");
    });
}
