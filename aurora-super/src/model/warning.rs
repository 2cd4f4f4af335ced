//! Reasons to doubt a prediction.

use super::curve::Curve;
use super::error::Error;
use super::machines::Configuration;
use super::measurements::{Measured, Measurements};
use std::fmt::{self, Display, Formatter};

/// A reason to doubt a prediction that is made from the efficiencies of runs.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Warning {
    /// More processors than any run on several processors has, or fewer.
    Extrapolation {
        /// The number of processors of the prediction.
        processors: u64,
        /// The minimum number of processors of the runs on several processors. It is 1 if there is no such run.
        least: u64,
        /// Their maximum number of processors.
        most: u64,
    },
    /// A machine that no run on several processors uses.
    UnusedMachine {
        /// The machine.
        machine: String,
    },
    /// A curve that was fitted to one run.
    OneRun,
}

impl Display for Warning {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Extrapolation { most: 1, .. } => {
                write!(f, "no run has several processors, so no loss of efficiency is known")
            }
            Warning::Extrapolation { processors, least, most } => {
                let side = if processors > most { "more" } else { "fewer" };
                let range = if least == most { least.to_string() } else { format!("{least} to {most}") };
                write!(
                    f,
                    "{processors} processors are {side} than those of any run on several processors ({range}): the \
                     efficiency is extrapolated"
                )
            }
            Warning::UnusedMachine { machine } => {
                write!(f, "no run on several processors uses {machine}: the efficiency is that of other machines")
            }
            Warning::OneRun => write!(
                f,
                "the curve goes through one run, so its deviation says nothing about its error: measure another \
                 configuration"
            ),
        }
    }
}

impl Measurements {
    /// Returns the reasons to doubt a prediction for `to` from the efficiency of a run, or from a curve. A prediction
    /// for one processor is its reference time, which needs no warning. A run on `to` itself counts as one of the runs.
    ///
    /// ```
    /// use aurora_super::model::read;
    /// let table = read("a b seconds\n1 0 10\n0 1 20\n4 0 3\n")?;
    /// let to = table.machines().configuration("a=2,b=1")?;
    /// let texts: Vec<_> = table.warnings(&to, Some(&table.curve(&to)?))?.iter().map(ToString::to_string).collect();
    /// assert!(texts[0].starts_with("3 processors are fewer than those of any run on several processors (4)"));
    /// assert!(texts[1].starts_with("no run on several processors uses b"));
    /// assert!(texts[2].starts_with("the curve goes through one run"));
    /// # Ok::<(), aurora_super::model::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OtherMachines`].
    pub fn warnings(&self, to: &Configuration, curve: Option<&Curve>) -> Result<Vec<Warning>, Error> {
        self.machines().check(to)?;
        let processors = to.total();
        if processors == 1 {
            return Ok(Vec::new());
        }
        let parallel = || self.runs().iter().map(Measured::configuration).filter(|of| of.total() > 1);
        let totals = || parallel().map(Configuration::total);
        let (least, most) = (totals().min().unwrap_or(1), totals().max().unwrap_or(1));
        let mut warnings = Vec::new();
        if !(least..=most).contains(&processors) {
            warnings.push(Warning::Extrapolation { processors, least, most });
        }
        for (index, machine) in self.machines().names().iter().enumerate().filter(|_| most > 1) {
            if to.processors()[index] > 0 && parallel().all(|of| of.processors()[index] == 0) {
                warnings.push(Warning::UnusedMachine { machine: machine.clone() });
            }
        }
        warnings.extend(curve.filter(|curve| curve.runs == 1).map(|_| Warning::OneRun));
        Ok(warnings)
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    const TABLE: &str = "a b seconds\n1 0 10\n0 1 20\n";

    fn warnings(runs: &str, to: &str) -> Vec<Warning> {
        let table = read(&format!("{TABLE}{runs}")).unwrap();
        let to = table.machines().configuration(to).unwrap();
        table.warnings(&to, table.curve(&to).ok().as_ref()).unwrap()
    }

    #[test]
    fn a_prediction_outside_the_runs_is_an_extrapolation() {
        let runs = "2 0 6\n0 4 6\n2 2 4\n6 0 2\n";
        let extrapolation = |processors| Warning::Extrapolation { processors, least: 2, most: 6 };
        for (to, expected) in [
            ("a=1", vec![]),
            ("a=2", vec![]),
            ("a=6", vec![]),
            ("a=3,b=3", vec![]),
            ("a=7", vec![extrapolation(7)]),
            ("a=1,b=4000000000", vec![extrapolation(4_000_000_001)]),
        ] {
            assert_eq!(warnings(runs, to), expected, "{to}");
        }
        let fewer = &warnings("4 4 2\n5 4 1\n", "a=2")[0];
        assert_eq!(
            fewer.to_string(),
            "2 processors are fewer than those of any run on several processors (8 to 9): the efficiency is \
             extrapolated"
        );
    }

    #[test]
    fn a_machine_without_a_run_on_several_processors_and_a_curve_through_one_run_are_named() {
        let unused = Warning::UnusedMachine { machine: "b".into() };
        assert_eq!(warnings("2 0 6\n4 0 4\n", "a=1,b=2"), std::slice::from_ref(&unused));
        assert_eq!(warnings("2 0 6\n4 0 4\n", "a=3"), []);
        assert_eq!(warnings("4 0 4\n", "b=4"), [unused, Warning::OneRun]);
        let none = warnings("", "b=4");
        assert_eq!(none, [Warning::Extrapolation { processors: 4, least: 1, most: 1 }]);
        assert!(none[0].to_string().starts_with("no run has several processors"));
    }
}
