//! Combines the measurements of the ranks into the figures of the job.

use crate::clock::{Kind, Laps};
use crate::cores::Ticks;
use crate::implementation::Implementation;
use crate::report::{Phase, Report, Spread};
use aurora_core::prelude::*;

/// One repetition as one rank saw it.
#[derive(Clone, Debug)]
pub struct Repetition {
    /// Times and traffic.
    pub laps: Laps,
    /// The sequential program's time; 0 on all ranks but the one that ran it.
    pub sequential: f64,
    /// The number of errors that this rank found in its part of the result.
    pub wrong: u64,
}

impl Repetition {
    /// Returns the figures as a row for all ranks to gather: eight figures, then one for each phase.
    pub fn row(&self) -> Vec<f64> {
        let Laps { seconds, hidden, messages, bytes, cores, ref phases } = self.laps;
        let mut row = vec![seconds, self.sequential, self.wrong as f64, messages as f64, bytes as f64, hidden];
        row.extend([cores.all as f64, cores.idle as f64]);
        row.extend(phases.iter().map(|lap| lap.seconds));
        row
    }
}

/// Collects the repetitions of a run. All ranks hold the same tally, because they agree on each figure.
#[derive(Debug, Default)]
pub struct Tally {
    phases: Vec<(&'static str, Kind)>,
    jobs: Vec<Job>,
}

/// One repetition of the whole job.
#[derive(Debug)]
struct Job {
    seconds: f64,
    sequential: f64,
    wrong: f64,
    messages: f64,
    bytes: f64,
    hidden: f64,
    /// The cores of rank 0's machine.
    cores: Ticks,
    phases: Vec<f64>,
}

impl Job {
    /// Makes a job from the rows of all ranks, see [`Repetition::row`].
    fn of(rows: &[Vec<f64>]) -> Self {
        let slowest = |column: usize| rows.iter().map(|row| row[column]).fold(0.0, f64::max);
        let least = |column: usize| rows.iter().map(|row| row[column]).reduce(f64::min).unwrap_or(0.0);
        let together = |column: usize| rows.iter().map(|row| row[column]).sum();
        let columns = rows.first().map_or(0, Vec::len);
        Job {
            seconds: slowest(0),
            sequential: slowest(1),
            wrong: together(2),
            messages: together(3),
            bytes: together(4),
            hidden: least(5),
            cores: rows.first().map_or_else(Ticks::default, |row| Ticks { all: row[6] as u64, idle: row[7] as u64 }),
            phases: (8..columns).map(slowest).collect(),
        }
    }
}

impl Tally {
    /// Collective. Adds a repetition; every repetition has the same phases.
    pub fn add(&mut self, world: &World, mine: &Repetition) -> Result<()> {
        let row = mine.row();
        if self.jobs.is_empty() {
            self.phases = mine.laps.phases.iter().map(|lap| (lap.name, lap.kind)).collect();
        }
        self.jobs.push(Job::of(&world.all_gather_slice(&row)?));
        Ok(())
    }

    /// Returns the report of all repetitions by `implementation`, without the description of the job.
    pub fn report(&self, world: &World, implementation: Implementation) -> Report {
        let of = |figure: fn(&Job) -> f64| Spread::of(self.jobs.iter().map(figure));
        let phase = |column: usize| Spread::of(self.jobs.iter().map(|job| job.phases[column]));
        let sharing = |job: &Job| {
            let phases = self.phases.iter().zip(&job.phases);
            let sharing = phases.filter(|((_, kind), _)| *kind == Kind::Sharing);
            sharing.fold(0.0, |sum, (_, seconds)| sum + seconds)
        };
        let ours = implementation.is_ours();
        let sent = |figure: fn(&Job) -> f64| ours.then(|| of(figure).median.round() as u64);
        let mut cores = Ticks::default();
        self.jobs.iter().for_each(|job| cores += job.cores);
        let seconds = of(|job| job.seconds);
        let sequential = of(|job| job.sequential).median;
        Report {
            implementation: implementation.name().into(),
            ranks: world.size(),
            reps: self.jobs.len(),
            seconds,
            repetitions: self.jobs.iter().map(|job| job.seconds).collect(),
            sharing_seconds: Spread::of(self.jobs.iter().map(sharing)),
            hidden_seconds: of(|job| job.hidden),
            sequential_seconds: sequential,
            speedup: if seconds.median > 0.0 { sequential / seconds.median } else { 0.0 },
            messages: sent(|job| job.messages),
            bytes: sent(|job| job.bytes),
            phases: (self.phases.iter().enumerate())
                .map(|(column, &(name, kind))| Phase { name: name.into(), kind, seconds: phase(column) })
                .collect(),
            cores_busy: cores.busy(),
            verified: !self.jobs.is_empty() && self.jobs.iter().all(|job| job.wrong == 0.0),
            ..Report::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_takes_as_long_as_its_slowest_rank_and_sends_what_all_send() {
        let rows = [
            vec![1.0, 9.0, 0.0, 3.0, 100.0, 0.7, 20.0, 15.0, 0.1, 0.9],
            vec![2.0, 0.0, 1.0, 4.0, 50.0, 0.6, 30.0, 1.0, 0.2, 0.8],
        ];
        let job = Job::of(&rows);
        assert_eq!((job.seconds, job.sequential, job.wrong), (2.0, 9.0, 1.0));
        assert_eq!((job.messages, job.bytes, job.hidden), (7.0, 150.0, 0.6));
        assert_eq!(job.phases, [0.2, 0.9]);
        assert_eq!(job.cores.busy(), Some(0.25));
    }
}
