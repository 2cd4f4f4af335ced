//! Measures one repetition on one rank: time, CPU and packets.

use super::cpu;
use super::memory;
use crate::meeting::Meeting;
use aurora_core::Traffic;
use aurora_core::prelude::*;
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// What one rank measured of one repetition.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lap {
    /// From the barrier to this rank's own completion; 0 on a rank that only serves the others.
    pub seconds: f64,
    /// How much after the barrier this rank began; 0 but for one that is late on purpose.
    pub late: f64,
    /// When this rank began, and when it was through: nanoseconds of the clock that all ranks of a machine share.
    pub began: f64,
    /// See `began`.
    pub through: f64,
    /// CPU seconds in that time; where the rank serves the others after it, until all are through.
    pub cpu: f64,
    /// Transfers that it sent, until all are through.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that it sent, until all are through.
    pub packets: u64,
    /// Of these, packets that carried bytes again.
    pub resent: u64,
    /// The same operation together with one full read of its result, where that is measured too.
    pub with_read: Option<Interval>,
    /// Bytes of memory that this rank's process had when it had been asked for, its share of what several map.
    pub pss: Option<f64>,
    /// How much of what all ranks share among them this one took.
    pub share: Option<f64>,
}

/// How long something took on one rank.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interval {
    /// From the barrier to this rank's completion.
    pub seconds: f64,
    /// How much after the barrier this rank began.
    pub late: f64,
}

/// Measures what happens between `start`, `done` and `stop`.
#[derive(Debug)]
pub struct Watch<'w> {
    meeting: &'w dyn Meeting,
    delay: Option<Duration>,
    started: Started,
    lap: Lap,
}

#[derive(Debug)]
struct Started {
    at: Instant,
    cpu: f64,
    traffic: Traffic,
}

impl Started {
    fn now(world: &World) -> Self {
        let traffic = world.traffic();
        Started { cpu: cpu::seconds(world), traffic, at: Instant::now() }
    }
}

impl<'w> Watch<'w> {
    /// For one repetition between ranks that meet in `meeting`'s way; `delay` is how much too late this one begins.
    pub fn new(meeting: &'w dyn Meeting, delay: Option<Duration>) -> Self {
        Watch { meeting, delay, started: Started::now(meeting.world()), lap: Lap::default() }
    }

    /// Collective. The operation begins when all ranks are here and quiet.
    pub fn start(&mut self) -> Result<()> {
        self.meeting.quiet()?;
        self.started = Started::now(self.meeting.world());
        if let Some(delay) = self.delay {
            std::thread::sleep(delay);
            self.lap.late = self.started.at.elapsed().as_secs_f64();
        }
        self.lap.began = now();
        Ok(())
    }

    /// This rank is through. One that only serves the others never says so.
    pub fn done(&mut self) {
        self.lap.through = now();
        self.lap.seconds = self.started.at.elapsed().as_secs_f64();
    }

    /// Collective. The operation is over when all ranks are here.
    pub fn stop(&mut self) -> Result<()> {
        let world = self.meeting.world();
        let cpu = cpu::seconds(world);
        self.meeting.barrier()?;
        // MPI's ranks poll in this barrier, which is none of the operation's doing.
        let cpu = if self.meeting.serves_afterwards() { cpu::seconds(world) } else { cpu };
        let sent = world.traffic() - self.started.traffic;
        self.lap.cpu = cpu - self.started.cpu;
        (self.lap.messages, self.lap.bytes) = (sent.transfers_out, sent.bytes_out);
        (self.lap.packets, self.lap.resent) = (sent.packets_out, sent.packets_resent);
        Ok(())
    }

    /// Collective. Measures `work`, which is all there is to the operation on this rank.
    pub fn measure<R>(&mut self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        self.start()?;
        let result = work()?;
        self.done();
        self.stop()?;
        Ok(result)
    }

    /// Collective. Measures `work`, the operation once more together with one full read of its result. Of this only the
    /// time counts; that it comes apart keeps the readers from those who still load, where ranks share cores.
    pub fn measure_with_read<R>(&mut self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let alone = std::mem::take(&mut self.lap);
        let result = self.measure(work)?;
        let Lap { seconds, late, .. } = self.lap;
        self.lap = Lap { with_read: Some(Interval { seconds, late }), ..alone };
        Ok(result)
    }

    /// Collective. This rank has no part in the operation but to serve it.
    pub fn serve(&mut self) -> Result<()> {
        self.start()?;
        self.stop()
    }

    /// Collective. Notes how much memory the ranks have now, all of them: what each holds stays until all have looked.
    pub fn weigh(&mut self) -> Result<()> {
        self.meeting.barrier()?;
        self.lap.pss = memory::proportional(self.meeting.world());
        self.meeting.barrier()
    }

    /// How much of what all ranks share among them this one took.
    pub fn note_share(&mut self, share: f64) {
        self.lap.share = Some(share);
    }

    /// All ranks.
    pub fn world(&self) -> &World {
        self.meeting.world()
    }

    /// What was measured.
    pub fn lap(self) -> Lap {
        self.lap
    }
}

/// Nanoseconds since some moment that is the same for all processes of a machine; far below 2^53.
fn now() -> f64 {
    let time = clock_gettime(ClockId::Monotonic);
    (time.tv_sec * 1_000_000_000 + time.tv_nsec) as f64
}
