//! Rank 0 acts on 8 bytes of rank 1's at a time: reads them, writes them and goes on when they are there, or adds to a
//! counter. Other ranks have no part in it.

use super::prelude::*;
use crate::bench::job::Target;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The rank that acts, and the one that it acts on.
pub const ORIGIN: usize = 0;
pub const TARGET: usize = 1;

/// Elements of the target that gets and puts go to, one after the other.
const SLOTS: usize = 1024;

/// How long a target computes before it looks up.
const COMPUTING: Duration = Duration::from_millis(1);

/// How long it sleeps before it looks up.
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

/// By a message there and one back: rank 0 asks for a slot, and rank 1 answers with its value.
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

/// The same: rank 0 sends what is to be written where, and rank 1 confirms.
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

/// Collective. Measures the origin, which sends one message after the other and hears the reply to each. The target has
/// to wait for them; or it computes, and nobody answers for it, so it has to stop and look from time to time.
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

/// What is wrong with what the origin has read.
fn wrong_seen(round: Round, seen: &[u64]) -> u64 {
    seen.chunks(SLOTS).map(|slots| round.wrong(bytemuck::cast_slice(slots), 0)).sum()
}

/// What is wrong with the slots of the target. Other ranks have none.
fn wrong_slots(round: Round, slots: &[u64]) -> u64 {
    let written = slots.len().min(round.times);
    round.wrong(bytemuck::cast_slice(&slots[..written]), 0)
}

/// Keeps the target away from the library until the origin is through. It looks at its own memory only, so that nothing
/// but its daemon serves the origin.
pub struct Origin {
    kind: Target,
    me: usize,
    /// On the target: the last repetition that is over.
    over: GVector<u64>,
    repetition: u64,
}

impl Origin {
    /// Collective.
    pub fn new(world: &World, kind: Target) -> Result<Self> {
        Ok(Origin { kind, me: world.rank().index(), over: GVector::on(world, TARGET, 1)?, repetition: 0 })
    }

    /// Collective. Measures `work` of the origin, which alone has a result; the target sleeps or computes meanwhile.
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
