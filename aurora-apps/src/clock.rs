//! Measures the phases of a repetition: computing and sharing, as in the paper's Figure 6.
//!
//! A phase of sharing starts at a barrier, so that it does not count the wait for a rank that still computes. On each
//! rank the phase lasts until that rank has its data. The time of the job's phase is the time of its slowest rank.
//!
//! Ranks that share cores disturb each other: a rank that has its data computes, and takes the core from ranks that
//! still wait for their data. [`Pace::Apart`] measures sharing as if each rank had a machine of its own.

use crate::cores::Ticks;
use crate::meeting::Meeting;
use aurora_core::Traffic;
use aurora_core::prelude::*;
pub use aurora_report::Kind;
use clap::builder::{BoolValueParser, TypedValueParser};
use std::time::{Duration, Instant};

/// Something that is measured by another function.
pub type Work<'w> = &'w dyn Fn() -> Result<()>;

/// The rule by which phases follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pace {
    /// As in the program: a rank that has its data computes.
    #[default]
    Running,
    /// Sharing begins when all ranks have arrived and the network is quiet, and no rank computes before all ranks have
    /// their data. Of a repetition only its phases count, not the waits between them. The first repetition of a run
    /// does not count, because it touches fresh memory. Phases that overlap on purpose still overlap, unless the
    /// program [asks](Clock::keeps_apart).
    Apart,
}

impl Pace {
    /// Returns the number of repetitions at the start of a run that do not count.
    pub fn uncounted(self) -> usize {
        match self {
            Pace::Running => 0,
            Pace::Apart => 1,
        }
    }
}

/// Returns the parser of an option that asks for [`Pace::Apart`].
pub fn apart() -> impl TypedValueParser<Value = Pace> {
    BoolValueParser::new().map(|apart| if apart { Pace::Apart } else { Pace::Running })
}

/// One phase as one rank measured it.
#[derive(Clone, Debug)]
pub struct Lap {
    /// The name of the phase.
    pub name: &'static str,
    /// Computing or sharing.
    pub kind: Kind,
    /// Seconds that the phase took on this rank.
    pub seconds: f64,
}

/// One repetition as one rank measured it.
#[derive(Clone, Debug)]
pub struct Laps {
    /// The phases, in order.
    pub phases: Vec<Lap>,
    /// Seconds from the first barrier to this rank's end; at [`Pace::Apart`] the sum of the phases' seconds.
    pub seconds: f64,
    /// Seconds during which data were in transit while this rank computed. No phase counts this time of sharing.
    pub hidden: f64,
    /// Transfers that this rank sent in the repetition.
    pub messages: u64,
    /// Bytes that this rank sent in the repetition.
    pub bytes: u64,
    /// Ticks of this machine's cores in the phases of sharing; zero unless the pace is [`Pace::Apart`].
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
    /// Collective. Starts a clock when all ranks have arrived and the network is quiet. `meeting` is the way in which
    /// the ranks wait for each other.
    pub fn start(meeting: &'w dyn Meeting) -> Result<Self> {
        Clock::paced(meeting, Pace::Running)
    }

    /// Collective. As [`start`](Clock::start), at the given pace.
    pub fn paced(meeting: &'w dyn Meeting, pace: Pace) -> Result<Self> {
        meeting.quiet()?;
        let (traffic, cores) = (meeting.world().traffic(), Ticks::default());
        Ok(Clock { meeting, pace, cores, phases: Vec::new(), hidden: 0.0, traffic, started: Instant::now() })
    }

    /// Returns whether no rank may compute while others share. The program must then run one after the other the phases
    /// that it overlaps otherwise.
    pub fn keeps_apart(&self) -> bool {
        self.pace == Pace::Apart
    }

    /// Measures a phase of computing.
    pub fn computing<R>(&mut self, name: &'static str, work: impl FnOnce() -> Result<R>) -> Result<R> {
        self.lap(name, Kind::Computing, work)
    }

    /// Collective. Measures a phase of sharing, from a barrier to the end of `work` on this rank. No scope may be open.
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

    /// Measures a part of a phase that alternates with parts of other phases, step by step. Parts with the same `name`
    /// are one phase. There is no barrier before a part, so sharing includes the time in which a rank waits for another
    /// rank that still computes.
    pub fn part<R>(&mut self, name: &'static str, kind: Kind, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let result = self.lap(name, kind, work)?;
        let first = self.phases.iter().position(|lap| lap.name == name).expect("just pushed");
        if first + 1 < self.phases.len() {
            let more = self.phases.pop().expect("just pushed");
            self.phases[first].seconds += more.seconds;
        }
        Ok(result)
    }

    /// Collective. Measures two phases that overlap, from a barrier on. The time that `work` spends in
    /// [`Turns::computing`] is computing; the rest of its time is waiting for other ranks, which counts as sharing.
    /// `work` returns the whole time of the sharing, from its begin. The difference between that time and the waiting
    /// is hidden sharing.
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

    /// Collective. Ends the measurement on this rank. The sent transfers and bytes are counted when all ranks have
    /// called this.
    pub fn stop(self) -> Result<Laps> {
        let seconds = match self.pace {
            Pace::Running => self.started.elapsed().as_secs_f64(),
            Pace::Apart => self.phases.iter().map(|lap| lap.seconds).sum(),
        };
        // A rank serves the other ranks until they are done.
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

/// Measures the computing of a phase in which computing and waiting alternate.
#[derive(Debug, Default)]
pub struct Turns {
    computed: Duration,
}

impl Turns {
    /// Runs `work` and counts its time as computing.
    pub fn computing<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = work();
        self.computed += start.elapsed();
        result
    }
}
