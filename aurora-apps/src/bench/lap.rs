//! The measurements of one repetition: by one rank, and by all ranks.

use crate::report::Spread;
use aurora_core::prelude::*;
use serde::{Deserialize, Serialize};

/// The figures of one rank, or of several ranks together.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Lap {
    /// The time of the operation.
    pub took: Interval,
    /// The time of the same operation together with one full read of its result; 0 if that is not measured.
    pub with_read: Interval,
    /// The time at which the last rank began, in nanoseconds of the clock that all ranks of a machine share.
    pub began: f64,
    /// The time at which the last rank finished. From `began` to here, the waits of ranks that left the barrier at
    /// different times do not count.
    pub through: f64,
    /// CPU seconds in that time. If ranks serve each other afterwards, it lasts until all ranks have finished.
    pub cpu: f64,
    /// Transfers sent until all ranks have finished, and their bytes; packets, and those of them that carried bytes
    /// again.
    pub messages: f64,
    pub bytes: f64,
    pub packets: f64,
    pub resent: f64,
    /// Bytes of memory when `Watch::weigh` was called; a page that several processes map counts by its share. NaN if
    /// the system does not report it.
    pub pss: f64,
    /// The minimum and the maximum that a rank took of the shared tasks; 0 if the operation has no shared tasks.
    pub share: [f64; 2],
    /// The number of errors found.
    pub wrong: f64,
}

/// The time that something took on a rank, in seconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Interval {
    /// From the barrier to the rank's own completion; 0 on a rank that only serves the other ranks.
    pub end: f64,
    /// The delay between the barrier and the begin; 0 except on a rank that is late on purpose.
    pub late: f64,
}

impl Interval {
    /// Returns the slowest rank's seconds, from the latest rank's entry.
    pub fn seconds(self) -> f64 {
        self.end - self.late
    }

    fn and(self, other: Self) -> Self {
        Interval { end: self.end.max(other.end), late: self.late.max(other.late) }
    }
}

impl Lap {
    /// Collective. Returns the combined measurements of all ranks, the same on every rank.
    pub fn agree(self, world: &World) -> Result<Self> {
        Ok(world.all_gather(self)?.into_iter().reduce(Lap::and).unwrap_or(self))
    }

    fn and(self, other: Self) -> Self {
        Lap {
            took: self.took.and(other.took),
            with_read: self.with_read.and(other.with_read),
            began: self.began.max(other.began),
            through: self.through.max(other.through),
            cpu: self.cpu + other.cpu,
            messages: self.messages + other.messages,
            bytes: self.bytes + other.bytes,
            packets: self.packets + other.packets,
            resent: self.resent + other.resent,
            pss: self.pss + other.pss,
            share: [self.share[0].min(other.share[0]), self.share[1].max(other.share[1])],
            wrong: self.wrong + other.wrong,
        }
    }
}

/// Returns the spread of a figure over the repetitions, for one of the `times` operations in each.
pub fn spread(of: &[Lap], times: usize, figure: impl Fn(&Lap) -> f64) -> Spread {
    Spread::of(of.iter().map(|lap| figure(lap) / times as f64))
}

/// Returns the rate per second of something that one operation does `amount` times.
pub fn rate(of: &[Lap], times: usize, amount: f64) -> Spread {
    Spread::of(of.iter().map(|lap| amount * times as f64 / lap.took.seconds().max(f64::MIN_POSITIVE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_takes_as_long_as_its_slowest_rank_after_its_latest() {
        let lap = |[end, late, read, read_late, began, through, least, most]: [f64; 8], sum: f64| Lap {
            took: Interval { end, late },
            with_read: Interval { end: read, late: read_late },
            began,
            through,
            share: [least, most],
            cpu: sum,
            messages: sum + 1.0,
            bytes: sum + 2.0,
            packets: sum + 3.0,
            resent: sum + 4.0,
            pss: sum + 5.0,
            wrong: sum + 6.0,
        };
        let one = lap([5.0, 0.0, 7.0, 0.0, 4e9, 9e9, 30.0, 30.0], 10.0);
        let two = lap([4.5, 3.0, 8.0, 3.5, 7e9, 8.5e9, 20.0, 20.0], 20.0);
        let both = one.and(two);
        assert_eq!((both.took.seconds(), both.with_read.seconds(), both.through - both.began), (2.0, 4.5, 2e9));
        assert_eq!(both.share, [20.0, 30.0]);
        let sums = [both.cpu, both.messages, both.bytes, both.packets, both.resent, both.pss, both.wrong];
        assert_eq!(sums, [30.0, 32.0, 34.0, 36.0, 38.0, 40.0, 42.0]);
    }

    #[test]
    fn figures_are_for_once() {
        let of = |end| Lap { took: Interval { end, late: 0.0 }, ..Lap::default() };
        let laps = [of(8.0), of(4.0)];
        let seconds = spread(&laps, 4, |lap| lap.took.seconds());
        assert_eq!((seconds.min, seconds.median, seconds.max), (1.0, 1.5, 2.0));
        let rate = rate(&laps, 4, 16.0);
        assert_eq!((rate.min, rate.median, rate.max), (8.0, 12.0, 16.0));
    }
}
