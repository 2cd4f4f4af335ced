//! Measures one repetition on one rank: time, CPU and packets.

use super::lap::Lap;
use super::process;
use crate::meeting::Meeting;
use aurora_core::Traffic;
use aurora_core::prelude::*;
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// Measures what happens between `start`, `done` and `stop`.
#[derive(Debug)]
pub struct Watch<'w> {
    meeting: &'w dyn Meeting,
    delay: Option<Duration>,
    started: Instant,
    cpu: f64,
    traffic: Traffic,
    /// What was measured.
    pub lap: Lap,
}

impl<'w> Watch<'w> {
    /// For one repetition between ranks that meet in `meeting`'s way; `delay` is how much too late this one begins.
    pub fn new(meeting: &'w dyn Meeting, delay: Option<Duration>) -> Self {
        let traffic = meeting.world().traffic();
        Watch { meeting, delay, started: Instant::now(), cpu: 0.0, traffic, lap: Lap::default() }
    }

    /// Collective. The operation begins when all ranks are here and quiet.
    pub fn start(&mut self) -> Result<()> {
        self.meeting.quiet()?;
        self.traffic = self.meeting.world().traffic();
        self.cpu = process::cpu_seconds(self.meeting.world());
        self.started = Instant::now();
        if let Some(delay) = self.delay {
            std::thread::sleep(delay);
            self.lap.took.late = self.started.elapsed().as_secs_f64();
        }
        self.lap.began = now();
        Ok(())
    }

    /// This rank is through. One that only serves the others never says so.
    pub fn done(&mut self) {
        self.lap.through = now();
        self.lap.took.end = self.started.elapsed().as_secs_f64();
    }

    /// Collective. The operation is over when all ranks are here.
    pub fn stop(&mut self) -> Result<()> {
        let world = self.meeting.world();
        let cpu = process::cpu_seconds(world);
        self.meeting.barrier()?;
        // MPI's ranks poll in this barrier, which is none of the operation's doing.
        let cpu = if self.meeting.serves_afterwards() { process::cpu_seconds(world) } else { cpu };
        let sent = world.traffic() - self.traffic;
        self.lap.cpu = cpu - self.cpu;
        (self.lap.messages, self.lap.bytes) = (sent.transfers_out as f64, sent.bytes_out as f64);
        (self.lap.packets, self.lap.resent) = (sent.packets_out as f64, sent.packets_resent as f64);
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
        self.lap = Lap { with_read: self.lap.took, ..alone };
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
        self.lap.pss = process::memory(self.meeting.world());
        self.meeting.barrier()
    }
}

/// Nanoseconds since some moment that is the same for all processes of a machine; far below 2^53.
fn now() -> f64 {
    let time = clock_gettime(ClockId::Monotonic);
    (time.tv_sec * 1_000_000_000 + time.tv_nsec) as f64
}
