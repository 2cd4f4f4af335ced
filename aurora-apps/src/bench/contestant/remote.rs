//! Rank 0 acts on 8 bytes of rank 1 at a time: it reads them, writes them and waits until they have arrived, or adds to
//! a counter. Other ranks take no part.

use super::prelude::*;
use crate::bench::job::Target;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The rank that acts, and the rank on which it acts.
pub const ORIGIN: usize = 0;
pub const TARGET: usize = 1;

/// The number of the target's elements that gets and puts use, one after the other.
const SLOTS: usize = 1024;

/// The time that a target computes between two checks.
const COMPUTING: Duration = Duration::from_millis(1);

/// The time that a target sleeps between two checks.
const SLEEPING: Duration = Duration::from_millis(5);

/// By `at`.
pub fn get(world: &World, kind: Target) -> Result<Contestant<'_>> {
    let mut origin = Origin::new(world, kind)?;
    let (mut slots, mut seen) = (GVector::<u64>::on(world, TARGET, SLOTS)?, Vec::new());
    Ok(Box::new(move |round, watch| {
        round.fill_own(&mut slots)?;
        seen.resize(round.times, 0);
        let acted = origin.measure(watch, || {
            for (number, seen) in seen.iter_mut().enumerate() {
                *seen = slots.at(number % SLOTS)?;
            }
            Ok(())
        })?;
        Ok(acted.map_or(0, |()| wrong_seen(round, &seen)))
    }))
}

/// By `put`.
pub fn put(world: &World, kind: Target) -> Result<Contestant<'_>> {
    let mut origin = Origin::new(world, kind)?;
    let (mut slots, mut values) = (GVector::<u64>::on(world, TARGET, SLOTS)?, vec![0; SLOTS]);
    Ok(Box::new(move |round, watch| {
        round.fill(bytemuck::cast_slice_mut(&mut values), 0);
        origin.measure(watch, || {
            for number in 0..round.times {
                slots.put(number % SLOTS, values[number % SLOTS])?;
            }
            Ok(())
        })?;
        Ok(wrong_slots(round, slots.owner_computes()?.local()))
    }))
}

/// By `fetch_add`.
pub fn fetch_add(world: &World) -> Result<Contestant<'_>> {
    let mut origin = Origin::new(world, Target::Idle)?;
    let counter = GScalar::new(world, TARGET, 0_u64)?;
    Ok(Box::new(move |round, watch| {
        let wrong = origin.measure(watch, || {
            let (first, mut wrong) = (counter.get()?, u64::from(round.damage));
            for number in 0..round.times as u64 {
                wrong += u64::from(counter.fetch_add(1)? != first + number);
            }
            Ok(wrong)
        })?;
        Ok(wrong.unwrap_or(0))
    }))
}

/// By a request and a reply: rank 0 asks for a slot, and rank 1 answers with its value.
#[cfg(feature = "mpi")]
pub fn mpi_get<'w>(ranks: MpiRanks<'w>, kind: Target) -> Result<Contestant<'w>> {
    let (mut slots, mut seen) = (vec![0_u64; SLOTS], Vec::new());
    Ok(Box::new(move |round, watch| {
        round.fill(bytemuck::cast_slice_mut(&mut slots), 0);
        seen.resize(round.times, 0);
        let ask = |number| [(number % SLOTS) as u64];
        messages(&ranks, kind, round, watch, ask, |number, value| seen[number] = value, |[slot]| slots[slot as usize])?;
        Ok(if ranks.me() == ORIGIN { wrong_seen(round, &seen) } else { 0 })
    }))
}

/// By a request and a reply: rank 0 sends a slot and a value, and rank 1 writes the value and confirms.
#[cfg(feature = "mpi")]
pub fn mpi_put<'w>(ranks: MpiRanks<'w>, kind: Target) -> Result<Contestant<'w>> {
    let (mut values, mut slots) = (vec![0_u64; SLOTS], vec![0_u64; SLOTS]);
    Ok(Box::new(move |round, watch| {
        round.fill(bytemuck::cast_slice_mut(&mut values), 0);
        let ask = |number| [(number % SLOTS) as u64, values[number % SLOTS]];
        let reply = |[slot, value]: [u64; 2]| {
            slots[slot as usize] = value;
            slot
        };
        messages(&ranks, kind, round, watch, ask, |_, _| (), reply)?;
        Ok(if ranks.me() == TARGET { wrong_slots(round, &slots) } else { 0 })
    }))
}

/// Collective. Measures the origin, which sends one message after the other and waits for the reply to each. An idle
/// target waits for the messages. A computing target must stop and check for them from time to time, because nothing
/// answers for it.
#[cfg(feature = "mpi")]
fn messages<const N: usize>(
    ranks: &MpiRanks<'_>,
    kind: Target,
    round: Round,
    watch: &mut Watch<'_>,
    ask: impl Fn(usize) -> [u64; N],
    mut hear: impl FnMut(usize, u64),
    mut reply: impl FnMut([u64; N]) -> u64,
) -> Result<()> {
    let (origin, owner) = (ranks.rank(ORIGIN), ranks.rank(TARGET));
    watch.start()?;
    if ranks.me() == ORIGIN {
        for number in 0..round.times {
            owner.send(&ask(number)[..]);
            let mut answer = 0_u64;
            owner.receive_into(&mut answer);
            hear(number, answer);
        }
        watch.done();
    } else if ranks.me() == TARGET {
        for _ in 0..round.times {
            let mut question = [0_u64; N];
            match kind {
                Target::Idle => {
                    origin.receive_into(&mut question[..]);
                }
                Target::Computing => loop {
                    compute(COMPUTING);
                    if let Some((message, _)) = origin.immediate_matched_probe() {
                        message.matched_receive_into(&mut question[..]);
                        break;
                    }
                },
            }
            origin.send(&reply(question));
        }
    }
    watch.stop()
}

/// Returns the number of errors in the values that the origin has read.
fn wrong_seen(round: Round, seen: &[u64]) -> u64 {
    seen.chunks(SLOTS).map(|slots| round.wrong(bytemuck::cast_slice(slots), 0)).sum()
}

/// Returns the number of errors in the target's slots. Other ranks have no slots.
fn wrong_slots(round: Round, slots: &[u64]) -> u64 {
    let written = slots.len().min(round.times);
    round.wrong(bytemuck::cast_slice(&slots[..written]), 0)
}

/// Keeps the target from calling the library until the origin has finished. The target reads only its own memory, so
/// that only its daemon serves the origin.
pub struct Origin {
    kind: Target,
    me: usize,
    /// On the target: the last repetition that has ended.
    over: GVector<u64>,
    repetition: u64,
}

impl Origin {
    /// Collective. Makes the vector by which the origin ends a repetition.
    pub fn new(world: &World, kind: Target) -> Result<Self> {
        Ok(Origin { kind, me: world.rank().index(), over: GVector::on(world, TARGET, 1)?, repetition: 0 })
    }

    /// Collective. Measures `work` on the origin, which alone gets its result. The target sleeps or computes meanwhile.
    pub fn measure<R>(&mut self, watch: &mut Watch<'_>, work: impl FnOnce() -> Result<R>) -> Result<Option<R>> {
        self.repetition += 1;
        watch.start()?;
        let mut result = None;
        if self.me == ORIGIN {
            result = Some(work()?);
            watch.done();
            self.over.put(0, self.repetition)?;
        } else if self.me == TARGET {
            while self.over.at(0)? < self.repetition {
                match self.kind {
                    Target::Idle => std::thread::sleep(SLEEPING),
                    Target::Computing => compute(COMPUTING),
                }
            }
        }
        watch.stop()?;
        Ok(result)
    }
}

/// Keeps a core busy.
fn compute(limit: Duration) {
    let started = Instant::now();
    let mut value = 1_u64;
    while started.elapsed() < limit {
        for step in 0..1000 {
            value = black_box(value.wrapping_mul(31).wrapping_add(step));
        }
    }
}
