//! Predictions for configurations that were not measured.

use super::curve::Curve;
use super::efficiency::Efficiency;
use super::error::Error;
use super::machines::Configuration;
use super::measurements::{Measured, Measurements};
use serde::Serialize;
use std::cmp::Reverse;

/// The predicted speed-up and time of a configuration at some efficiency.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Prediction {
    /// The efficiency that is assumed, a fraction.
    pub efficiency: Efficiency,
    /// The speed-up SP: equation (6), solved for SP.
    pub speedup: f64,
    /// The time T in seconds: equation (3), solved for T.
    pub seconds: f64,
}

impl Measurements {
    /// Predicts the speed-up and the time of `to` at this efficiency: SP = E sum(W_j n_j), T = min T_j / SP (section
    /// 3).
    ///
    /// # Errors
    /// [`Error::OtherMachines`] if `to` is a configuration of other machines.
    pub fn predict(&self, to: &Configuration, efficiency: Efficiency) -> Result<Prediction, Error> {
        let speedup = efficiency.fraction() * self.machines().power(to)?;
        Ok(Prediction { efficiency, speedup, seconds: self.fastest_seconds() / speedup })
    }

    /// Returns the run whose configuration is nearest to `to`: the one with the fewest processors to add or remove, and
    /// of several such runs the one with the most processors. Only runs on more than one processor count. The run on
    /// `to` itself does not count, so that a prediction can be compared with it. If `to` is one processor, the run is
    /// that machine's reference.
    ///
    /// # Errors
    /// [`Error::NoParallelRun`], or [`Error::OtherMachines`].
    pub fn nearest(&self, to: &Configuration) -> Result<&Measured, Error> {
        self.machines().check(to)?;
        let rank = |run: &&Measured| (run.configuration().distance(to), Reverse(run.configuration().total()));
        self.telling(to).min_by_key(rank).ok_or_else(|| no_parallel_run(to))
    }

    /// Returns the [`Curve`] through the efficiencies of the runs that count for `to` in [`nearest`](Self::nearest).
    ///
    /// # Errors
    /// [`Error::NoParallelRun`], or [`Error::OtherMachines`].
    pub fn curve(&self, to: &Configuration) -> Result<Curve, Error> {
        self.machines().check(to)?;
        let points = self.telling(to).map(|run| (run.configuration().total(), self.efficiency(run)));
        Curve::through(points).ok_or_else(|| no_parallel_run(to))
    }

    fn telling(&self, to: &Configuration) -> impl Iterator<Item = &Measured> {
        let parallel = to.total() > 1;
        let counts = move |run: &&Measured| {
            let configuration = run.configuration();
            if parallel { configuration.total() > 1 && configuration != to } else { configuration.total() == 1 }
        };
        self.runs().iter().filter(counts)
    }
}

fn no_parallel_run(to: &Configuration) -> Error {
    Error::NoParallelRun { configuration: to.to_string() }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    const TABLE: &str = "a b seconds\n1 0 10\n0 1 20\n4 0 4\n2 0 6\n0 2 11\n";

    #[test]
    fn the_nearest_run_has_the_fewest_processors_to_add_or_remove() {
        let table = read(TABLE).unwrap();
        let nearest = |text| {
            let run = table.nearest(&table.machines().configuration(text).unwrap()).unwrap();
            run.configuration().to_string()
        };
        assert_eq!(nearest("a=9"), "a=4");
        assert_eq!(nearest("a=1,b=2"), "b=2");
        // Of two runs that are equally near, the one with more processors.
        assert_eq!(nearest("a=3"), "a=4");
        // A measured configuration is predicted from another run; one processor is its own reference.
        assert_eq!(nearest("a=2"), "a=4");
        assert_eq!(nearest("b=1"), "b=1");
    }

    #[test]
    fn one_processor_is_predicted_as_it_was_measured() {
        let table = read(TABLE).unwrap();
        let alone = table.machines().configuration("b=1").unwrap();
        let curve = table.curve(&alone).unwrap();
        assert_eq!((curve.runs, curve.serial_fraction), (2, 0.0));
        assert_eq!(table.predict(&alone, curve.efficiency(1)).unwrap().seconds, 20.0);
    }

    #[test]
    fn nothing_is_known_without_a_run_on_several_processors() {
        let table = read("a seconds\n1 10\n2 6\n").unwrap();
        let text = table.nearest(&table.machines().configuration("a=2").unwrap()).unwrap_err().to_string();
        assert_eq!(
            text,
            "no other run has more than one processor, so no efficiency is known for a=2: measure one, or give an efficiency, \
             for example 85%"
        );
    }

    #[test]
    fn a_configuration_that_was_not_measured() {
        let table = read(TABLE).unwrap();
        let text = table.run(&table.machines().configuration("a=3").unwrap()).unwrap_err().to_string();
        assert_eq!(text, "no run has the configuration a=3; the measured ones are a=1; b=1; a=4; a=2; b=2");
        let many = (1..=1000).map(|count| format!("{count} {count}\n")).collect::<String>();
        let table = read(&format!("a seconds\n{many}")).unwrap();
        let text = table.run(&table.machines().configuration("a=2000").unwrap()).unwrap_err().to_string();
        assert!(text.ends_with(
            "the measured ones are a=1; a=2; a=3; a=4; a=5; a=6; a=7; a=8; a=9; a=10; a=11; a=12; and 988 more"
        ));
    }

    #[test]
    fn configurations_of_another_table_are_refused() {
        let (table, other) = (read(TABLE).unwrap(), read("b a seconds\n1 0 20\n0 1 10\n").unwrap());
        let to = other.machines().configuration("a=4").unwrap();
        let efficiency = "80%".parse().unwrap();
        for refused in [
            table.predict(&to, efficiency).map(|_| ()),
            table.nearest(&to).map(|_| ()),
            table.curve(&to).map(|_| ()),
            table.run(&to).map(|_| ()),
        ] {
            assert!(matches!(refused, Err(Error::OtherMachines { .. })), "{refused:?}");
        }
    }
}
