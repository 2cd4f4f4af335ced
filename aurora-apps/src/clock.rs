//! Where the time of a repetition goes: phases of computing and of sharing, as in the paper's Figure 6.
//!
//! A phase of sharing starts at a barrier, so that it does not count waiting for a rank that still computes, and
//! lasts on each rank until that rank has its data. What a job's phase took is the slowest rank's share of it.
//!
//! Ranks that share cores disturb each other: who has its data computes, and takes the cores from those who still wait
//! for theirs. [`Pace::Apart`] measures sharing as if each rank had a machine of its own.

use crate::cores::Ticks;
use crate::meeting::Meeting;
use aurora_core::Traffic;
use aurora_core::prelude::*;
pub use aurora_report::Kind;
use std::time::{Duration, Instant};

/// How phases follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pace {
    /// As the program has them: who has its data computes.
    #[default]
    Running,
    /// Sharing begins when all ranks are here and quiet, and nobody computes before all have their data. Of a
    /// repetition only its phases count, not the waiting between them; of a run the first repetition, which touches
    /// fresh memory, does not. What overlaps on purpose still does, unless the program [asks](Clock::keeps_apart).
    Apart,
}

impl Pace {
    /// How many repetitions come first that do not count.
    pub fn uncounted(self) -> usize {
        match self {
            Pace::Running => 0,
            Pace::Apart => 1,
        }
    }
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
    /// From the first barrier to this rank's end; at [`Pace::Apart`] the phases' alone.
    pub seconds: f64,
    /// How long data were on their way while this rank computed: sharing that is in no phase.
    pub hidden: f64,
    /// Transfers that this rank sent in it.
    pub messages: u64,
    /// Bytes that this rank sent in it.
    pub bytes: u64,
    /// What this machine's cores did in its phases of sharing; nothing unless these were kept apart.
    pub cores: Ticks,
}

/// Measures one repetition on one rank.
#[derive(Debug)]
pub struct Clock<'w> {
    meeting: &'w dyn Meeting,
    pace: Pace,
    cores: Ticks,
    phases: Vec<Lap>,
    hidden: f64,
    started: Instant,
    traffic: Traffic,
}

impl<'w> Clock<'w> {
    /// Collective. Starts when all ranks are here and quiet; they wait for each other in `meeting`'s way.
    pub fn start(meeting: &'w dyn Meeting) -> Result<Self> {
        Clock::paced(meeting, Pace::Running)
    }

    /// Collective. The same at a pace of its own.
    pub fn paced(meeting: &'w dyn Meeting, pace: Pace) -> Result<Self> {
        meeting.quiet()?;
        let (traffic, cores) = (meeting.world().traffic(), Ticks::default());
        Ok(Clock { meeting, pace, cores, phases: Vec::new(), hidden: 0.0, traffic, started: Instant::now() })
    }

    /// Whether nobody is to compute while others share: what overlaps otherwise comes one after the other then.
    pub fn keeps_apart(&self) -> bool {
        self.pace == Pace::Apart
    }

    /// A phase of computing.
    pub fn computing<R>(&mut self, name: &'static str, work: impl FnOnce() -> Result<R>) -> Result<R> {
        self.lap(name, Kind::Computing, work)
    }

    /// Collective: a phase of sharing, from a barrier to this rank's end of `work`. No scope may be open.
    pub fn sharing<R>(&mut self, name: &'static str, work: impl FnOnce() -> Result<R>) -> Result<R> {
        if self.pace == Pace::Running {
            self.meeting.barrier()?;
            return self.lap(name, Kind::Sharing, work);
        }
        self.meeting.quiet()?;
        let before = Ticks::now();
        let result = self.lap(name, Kind::Sharing, work)?;
        self.meeting.barrier()?;
        if let Some((before, after)) = before.zip(Ticks::now()) {
            self.cores += after - before;
        }
        Ok(result)
    }

    /// A part of a phase that takes turns with others, step by step: it counts to the phase of that name. There is no
    /// barrier before it, so sharing counts the time in which a rank waits for another that still computes.
    pub fn part<R>(&mut self, name: &'static str, kind: Kind, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let result = self.lap(name, kind, work)?;
        let first = self.phases.iter().position(|lap| lap.name == name).expect("just pushed");
        if first + 1 < self.phases.len() {
            let more = self.phases.pop().expect("just pushed");
            self.phases[first].seconds += more.seconds;
        }
        Ok(result)
    }

    /// Collective: two phases at the same time, from a barrier on. Of what `work` does, what it does under
    /// [`Turns::computing`] is computing, and all else waiting for others, which is sharing. It returns how long the
    /// sharing has taken altogether, from its begin; what of that was not waited is hidden.
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
        let seconds = match self.pace {
            Pace::Running => self.started.elapsed().as_secs_f64(),
            Pace::Apart => self.phases.iter().map(|lap| lap.seconds).sum(),
        };
        // A rank serves the others until they are done too.
        self.meeting.barrier()?;
        let sent = self.meeting.world().traffic() - self.traffic;
        let Clock { phases, hidden, cores, .. } = self;
        Ok(Laps { phases, seconds, hidden, messages: sent.transfers_out, bytes: sent.bytes_out, cores })
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
