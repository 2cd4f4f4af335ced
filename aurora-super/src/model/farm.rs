//! A farm: equal units of work, each computed by one processor, without communication.

use super::error::{Error, positive};
use super::machines::{Configuration, Machines};
use super::measurements::Measurements;
use crate::spelling::number;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// A number of equal units, and the time of a unit on a processor of the fastest machine. On a machine of power weight
/// W a unit takes 1/W times as long.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Farm {
    units: NonZeroU32,
    unit_seconds: f64,
}

/// The time at which the last unit of a farm is completed, in seconds: by two rules, and the ideal.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Makespans {
    /// First come, first served: a processor that is free takes the next unit. Of several that become free together,
    /// one of the machine that is listed first is served first.
    pub first_come: f64,
    /// Earliest completion time: each unit goes to the processor that would complete it first, though it may not be
    /// free yet. No other assignment of equal units is completed earlier.
    pub earliest_completion: f64,
    /// All processors compute all the time, as with units that can be divided.
    pub ideal: f64,
}

impl Farm {
    /// Creates a farm of `units` that take `unit_seconds` each on a processor of the fastest machine.
    ///
    /// # Errors
    /// A time that is not a positive number.
    pub fn new(units: NonZeroU32, unit_seconds: f64) -> Result<Self, Error> {
        let expected = "the time of a unit: write seconds, a positive number";
        let unit_seconds = positive(unit_seconds, || "unit".into(), number(unit_seconds), expected)?;
        Ok(Farm { units, unit_seconds })
    }

    /// Creates a farm from the measured application, cut into `units`.
    pub fn of(measurements: &Measurements, units: NonZeroU32) -> Self {
        Farm { units, unit_seconds: measurements.fastest_seconds() / f64::from(units.get()) }
    }

    /// Returns the number of units.
    pub fn units(&self) -> u32 {
        self.units.get()
    }

    /// Returns the time of a unit on a processor of the fastest machine, in seconds.
    pub fn unit_seconds(&self) -> f64 {
        self.unit_seconds
    }

    /// Returns the time at which the farm is completed by each rule. The calculation takes time in proportion to units
    /// and machines, not processors.
    ///
    /// ```
    /// use aurora_super::model::{Farm, Machines};
    /// let machines = Machines::from_speeds([("fast", 4.0), ("slow", 1.0)])?;
    /// let both = machines.configuration("fast=1,slow=1")?;
    /// let farm = Farm::new(7.try_into().unwrap(), 1.0)?;
    /// let makespans = farm.makespans(&machines, &both)?;
    /// // The slow processor takes a second unit at 4 s. The fast one, though busy until 5 s, would complete it at 6 s.
    /// assert_eq!((makespans.first_come, makespans.earliest_completion, makespans.ideal), (8.0, 6.0, 5.6));
    /// # Ok::<(), aurora_super::model::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OtherMachines`] if the configuration is one of other machines.
    pub fn makespans(&self, machines: &Machines, configuration: &Configuration) -> Result<Makespans, Error> {
        let power = machines.power(configuration)?;
        let counts = machines.weights().iter().zip(configuration.processors()).filter(|(_, count)| **count > 0);
        let used: Vec<Processors> = counts
            .map(|(weight, count)| Processors { unit_seconds: self.unit_seconds / weight, count: *count })
            .collect();
        Ok(Makespans {
            first_come: self.hand_out(&used, |processors, handed| processors.completed(handed)),
            earliest_completion: self.hand_out(&used, |processors, handed| processors.completed(handed + 1)),
            ideal: self.unit_seconds * f64::from(self.units.get()) / power,
        })
    }

    /// Gives units to the processors whose `turn` comes first, and returns the time at which all units are completed.
    ///
    /// The processors of a machine are equal, so each takes its k-th unit before any of them takes its next unit. So
    /// the units of all processors of a machine are handed out together.
    fn hand_out(&self, used: &[Processors], turn: impl Fn(&Processors, u32) -> f64) -> f64 {
        let (mut left, mut makespan) = (self.units.get(), 0.0f64);
        let mut handed = vec![0; used.len()];
        while left > 0 {
            let turns = used.iter().zip(&handed).map(|(processors, handed)| turn(processors, *handed)).enumerate();
            // The first of several that are equal; there is a machine in every configuration.
            let Some((next, _)) = turns.min_by(|a, b| a.1.total_cmp(&b.1)) else { break };
            handed[next] += 1;
            left = left.saturating_sub(used[next].count);
            makespan = makespan.max(used[next].completed(handed[next]));
        }
        makespan
    }
}

/// The processors of one machine.
struct Processors {
    /// Seconds that a unit takes.
    unit_seconds: f64,
    /// The number of processors.
    count: u32,
}

impl Processors {
    /// Returns the time at which each of its processors has completed `units`. It is a product, so that both rules
    /// compare the same numbers.
    fn completed(&self, units: u32) -> f64 {
        f64::from(units) * self.unit_seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_takes_time() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e308] {
            let text = Farm::new(NonZeroU32::MIN, bad).unwrap_err().to_string();
            assert_eq!(
                text,
                format!("unit: `{}` is not the time of a unit: write seconds, a positive number", number(bad))
            );
        }
    }

    #[test]
    fn fewer_units_than_processors() {
        let machines = Machines::from_speeds([("slow", 1.0), ("fast", 3.0)]).unwrap();
        let all = machines.configuration("slow=1000000000,fast=2").unwrap();
        let makespans = Farm::new(2.try_into().unwrap(), 1.0).unwrap().makespans(&machines, &all).unwrap();
        assert_eq!((makespans.first_come, makespans.earliest_completion), (3.0, 1.0));
    }
}
