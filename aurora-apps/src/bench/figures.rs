//! From what each rank measured to what the job took.

use super::watch::{Interval, Lap};
use crate::report::Spread;
use aurora_core::prelude::*;

/// One repetition of the whole job.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Repetition {
    /// The slowest rank's seconds, from the latest rank's entry.
    pub seconds: f64,
    /// All ranks' CPU seconds.
    pub cpu: f64,
    /// All ranks' packets.
    pub packets: f64,
    /// Those that carried bytes again.
    pub resent: f64,
    /// What was found wrong.
    pub wrong: f64,
    /// As `seconds`, of the operation with one full read of its result; 0 where that was not measured.
    pub with_read: f64,
    /// From the moment at which the last rank began to that at which the last one was through, by one clock: what ranks
    /// that have left the barrier at different times waited for each other does not count.
    pub ready: f64,
    /// All ranks' memory; NaN where that was not measured.
    pub pss: f64,
    /// The largest share of a rank over the smallest; NaN where nothing is shared out.
    pub shares: f64,
    /// All ranks' transfers.
    pub messages: f64,
    /// Their bytes.
    pub bytes: f64,
}

impl Repetition {
    /// Collective. The repetition of which this rank measured `lap` and found `wrong` in its part of the result, as all
    /// ranks know it.
    pub fn agree(world: &World, lap: Lap, wrong: u64) -> Result<Self> {
        let Interval { seconds, late } = lap.with_read.unwrap_or_default();
        let (packets, resent, wrong) = (lap.packets as f64, lap.resent as f64, wrong as f64);
        let pss = lap.pss.unwrap_or(f64::NAN);
        let share = lap.share.unwrap_or(f64::NAN);
        let Lap { began, through, .. } = lap;
        let row = [lap.seconds, lap.late, lap.cpu, packets, resent, wrong, seconds, late, began, through, pss, share];
        let sent = [lap.messages as f64, lap.bytes as f64];
        Ok(Repetition::of(&world.all_gather_slice(&[&row[..], &sent].concat())?))
    }

    fn of(rows: &[Vec<f64>]) -> Self {
        let most = |column: usize| rows.iter().map(|row| row[column]).fold(0.0, f64::max);
        let together = |column: usize| rows.iter().map(|row| row[column]).sum();
        Repetition {
            seconds: most(0) - most(1),
            cpu: together(2),
            packets: together(3),
            resent: together(4),
            wrong: together(5),
            with_read: most(6) - most(7),
            ready: (most(9) - most(8)) / 1e9,
            pss: together(10),
            shares: most(11) / rows.iter().map(|row| row[11]).fold(f64::INFINITY, f64::min),
            messages: together(12),
            bytes: together(13),
        }
    }
}

/// Least, middle and most of one figure of the repetitions, for once of `times`.
pub fn spread(of: &[Repetition], times: usize, figure: impl Fn(&Repetition) -> f64) -> Spread {
    Spread::of(of.iter().map(|repetition| figure(repetition) / times as f64))
}

/// How many of what the operation does `amount` of were done in a second.
pub fn rate(of: &[Repetition], times: usize, amount: f64) -> Spread {
    Spread::of(of.iter().map(|repetition| amount * times as f64 / repetition.seconds.max(f64::MIN_POSITIVE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_takes_as_long_as_its_slowest_rank_after_its_latest() {
        let rows = [
            vec![5.0, 0.0, 0.5, 10.0, 1.0, 0.0, 7.0, 0.0, 4e9, 9e9, 100.0, 30.0, 3.0, 64.0],
            vec![4.5, 3.0, 0.25, 20.0, 0.0, 2.0, 8.0, 3.5, 7e9, 8.5e9, 50.0, 20.0, 4.0, 32.0],
        ];
        let job = Repetition {
            seconds: 2.0,
            cpu: 0.75,
            packets: 30.0,
            resent: 1.0,
            wrong: 2.0,
            with_read: 4.5,
            ready: 2.0,
            pss: 150.0,
            shares: 1.5,
            messages: 7.0,
            bytes: 96.0,
        };
        assert_eq!(Repetition::of(&rows), job);
    }

    #[test]
    fn figures_are_for_once() {
        let of = |seconds| Repetition { seconds, ..Repetition::default() };
        let repetitions = [of(8.0), of(4.0)];
        let seconds = spread(&repetitions, 4, |r| r.seconds);
        assert_eq!((seconds.min, seconds.median, seconds.max), (1.0, 1.5, 2.0));
        let rate = rate(&repetitions, 4, 16.0);
        assert_eq!((rate.min, rate.median, rate.max), (8.0, 12.0, 16.0));
    }
}
