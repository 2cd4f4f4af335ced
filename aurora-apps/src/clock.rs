//! Where the time of a repetition goes: phases of computing and of sharing, as in the paper's Figure 6.
//!
//! A phase of sharing starts at a barrier, so that it does not count waiting for a rank that still computes, and
//! lasts on each rank until that rank has its data. What a job's phase took is the slowest rank's share of it.

use crate::meeting::Meeting;
use aurora_core::Traffic;
use aurora_core::prelude::*;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// What a phase does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Works on what the rank has.
    Computing,
    /// Moves shared data between ranks.
    Sharing,
}

/// What one rank measured of one phase.
#[derive(Clone, Debug)]
pub struct Lap {
    /// What was done.
    pub name: &'static str,
    /// Computing or sharing.
    pub kind: Kind,
    /// How long it took here.
    pub seconds: f64,
}

/// What one rank measured of one repetition.
#[derive(Clone, Debug)]
pub struct Laps {
    /// The phases, in order.
    pub phases: Vec<Lap>,
    /// From the first barrier to this rank's end.
    pub seconds: f64,
    /// How long data were on their way while this rank computed: sharing that is in no phase.
    pub hidden: f64,
    /// Transfers that this rank sent in it.
    pub messages: u64,
    /// Bytes that this rank sent in it.
    pub bytes: u64,
}

/// Measures one repetition on one rank.
#[derive(Debug)]
pub struct Clock<'w> {
    meeting: &'w dyn Meeting,
    phases: Vec<Lap>,
    hidden: f64,
    started: Instant,
    traffic: Traffic,
}

impl<'w> Clock<'w> {
    /// Collective. Starts when all ranks are here and quiet; they wait for each other in `meeting`'s way.
    pub fn start(meeting: &'w dyn Meeting) -> Result<Self> {
        meeting.quiet()?;
        let traffic = meeting.world().traffic();
        Ok(Clock { meeting, phases: Vec::new(), hidden: 0.0, traffic, started: Instant::now() })
    }

    /// A phase of computing.
    pub fn computing<R>(&mut self, name: &'static str, work: impl FnOnce() -> Result<R>) -> Result<R> {
        self.lap(name, Kind::Computing, work)
    }

    /// Collective: a phase of sharing, from a barrier to this rank's end of `work`. No scope may be open.
    pub fn sharing<R>(&mut self, name: &'static str, work: impl FnOnce() -> Result<R>) -> Result<R> {
        self.meeting.barrier()?;
        self.lap(name, Kind::Sharing, work)
    }

    /// A part of a phase that takes turns with others, step by step: it counts to the phase of that name. There is no barrier before
    /// it, so sharing counts the time in which a rank waits for another that still computes.
    pub fn part<R>(&mut self, name: &'static str, kind: Kind, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let result = self.lap(name, kind, work)?;
        let first = self.phases.iter().position(|lap| lap.name == name).expect("just pushed");
        if first + 1 < self.phases.len() {
            let more = self.phases.pop().expect("just pushed");
            self.phases[first].seconds += more.seconds;
        }
        Ok(result)
    }

    /// Collective: two phases at the same time, from a barrier on. Of what `work` does, what it does under [`Turns::computing`] is
    /// computing, and all else waiting for others, which is sharing. It returns how long the sharing has taken altogether, from its
    /// begin; what of that was not waited is hidden.
    pub fn overlapping(
        &mut self,
        (sharing, computing): (&'static str, &'static str),
        work: impl FnOnce(&mut Turns) -> Result<Duration>,
    ) -> Result<()> {
        self.meeting.barrier()?;
        let (start, mut turns) = (Instant::now(), Turns::default());
        let shared = work(&mut turns)?.as_secs_f64();
        let computed = turns.computed.as_secs_f64();
        let waited = start.elapsed().as_secs_f64() - computed;
        self.phases.push(Lap { name: sharing, kind: Kind::Sharing, seconds: waited });
        self.phases.push(Lap { name: computing, kind: Kind::Computing, seconds: computed });
        self.hidden += (shared - waited).max(0.0);
        Ok(())
    }

    /// Collective. This rank has done its part; what it sent is counted once all have.
    pub fn stop(self) -> Result<Laps> {
        let seconds = self.started.elapsed().as_secs_f64();
        // A rank serves the others until they are done too.
        self.meeting.barrier()?;
        let sent = self.meeting.world().traffic() - self.traffic;
        let Clock { phases, hidden, .. } = self;
        Ok(Laps { phases, seconds, hidden, messages: sent.transfers_out, bytes: sent.bytes_out })
    }

    fn lap<R>(&mut self, name: &'static str, kind: Kind, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let start = Instant::now();
        let result = work()?;
        self.phases.push(Lap { name, kind, seconds: start.elapsed().as_secs_f64() });
        Ok(result)
    }
}

/// Tells computing from waiting, where they take turns.
#[derive(Debug, Default)]
pub struct Turns {
    computed: Duration,
}

impl Turns {
    /// Computes for a while.
    pub fn computing<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = work();
        self.computed += start.elapsed();
        result
    }
}
