//! Measures one repetition on one rank: time, CPU and packets.

use super::lap::Lap;
use super::process;
use crate::meeting::Meeting;
use aurora_core::Traffic;
use aurora_core::prelude::*;
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// Measures the time, CPU and packets between `start`, `done` and `stop`.
#[derive(Debug)]
pub struct Watch<'w> {
    meeting: &'w dyn Meeting,
    delay: Option<Duration>,
    started: Instant,
    cpu: f64,
    traffic: Traffic,
    /// The measurements.
    pub lap: Lap,
}

impl<'w> Watch<'w> {
    /// Makes a watch for one repetition of ranks that wait for each other in the way of `meeting`. This rank begins
    /// late by `delay`.
    pub fn new(meeting: &'w dyn Meeting, delay: Option<Duration>) -> Self {
        let traffic = meeting.world().traffic();
        Watch { meeting, delay, started: Instant::now(), cpu: 0.0, traffic, lap: Lap::default() }
    }

    /// Collective. Waits until all ranks have arrived and the network is quiet, then begins the measurement.
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

    /// Notes that this rank has finished. A rank that only serves the other ranks never calls this.
    pub fn done(&mut self) {
        self.lap.through = now();
        self.lap.took.end = self.started.elapsed().as_secs_f64();
    }

    /// Collective. Ends the measurement when all ranks have arrived.
    pub fn stop(&mut self) -> Result<()> {
        let world = self.meeting.world();
        let cpu = process::cpu_seconds(world);
        self.meeting.barrier()?;
        // MPI's ranks poll in this barrier, and that CPU time does not belong to the operation.
        let cpu = if self.meeting.serves_afterwards() { process::cpu_seconds(world) } else { cpu };
        let sent = world.traffic() - self.traffic;
        self.lap.cpu = cpu - self.cpu;
        (self.lap.messages, self.lap.bytes) = (sent.transfers_out as f64, sent.bytes_out as f64);
        (self.lap.packets, self.lap.resent) = (sent.packets_out as f64, sent.packets_resent as f64);
        Ok(())
    }

    /// Collective. Measures `work`, the whole operation on this rank.
    pub fn measure<R>(&mut self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        self.start()?;
        let result = work()?;
        self.done();
        self.stop()?;
        Ok(result)
    }

    /// Collective. Measures `work`: the operation once more, together with one full read of its result. Only its time
    /// counts. It is a separate operation, because where ranks share cores, readers would disturb ranks that still
    /// load.
    pub fn measure_with_read<R>(&mut self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let alone = std::mem::take(&mut self.lap);
        let result = self.measure(work)?;
        self.lap = Lap { with_read: self.lap.took, ..alone };
        Ok(result)
    }

    /// Collective. Takes part in the measurement on a rank that only serves the operation.
    pub fn serve(&mut self) -> Result<()> {
        self.start()?;
        self.stop()
    }

    /// Collective. Notes the memory of all ranks at this time. Each rank keeps its memory until all ranks have
    /// measured.
    pub fn weigh(&mut self) -> Result<()> {
        self.meeting.barrier()?;
        self.lap.pss = process::memory(self.meeting.world());
        self.meeting.barrier()
    }
}

/// Returns nanoseconds since a moment that is the same for all processes of a machine; far below 2^53.
fn now() -> f64 {
    let time = clock_gettime(ClockId::Monotonic);
    (time.tv_sec * 1_000_000_000 + time.tv_nsec) as f64
}
