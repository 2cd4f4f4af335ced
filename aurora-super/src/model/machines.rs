//! Machines, their power weights, and how many processors of each a run uses.

use super::error::{Error, positive};
use crate::spelling::{listed, nearest, number, quoted};
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

/// Machines that are compared by one application, each with its power weight W: 1 for the fastest, less for the others.
#[derive(Clone, PartialEq, Debug)]
pub struct Machines {
    names: Arc<[String]>,
    weights: Vec<f64>,
}

/// The number of processors of each machine that are used, at least one in all.
///
/// It has the names of its machines: [`Machines`] with other names, or with the same names in another order, refuse it.
/// It is printed in the form that [`Machines::configuration`] reads.
///
/// ```
/// use aurora_super::model::{Error, Machines};
/// let machines = Machines::from_speeds([("new", 3.0), ("old", 1.0)])?;
/// let configuration = machines.configuration("old=2, new=1")?;
/// assert_eq!((configuration.to_string().as_str(), configuration.total()), ("new=1,old=2", 3));
/// let others = Machines::from_speeds([("old", 1.0), ("new", 3.0)])?;
/// assert!(matches!(others.power(&configuration), Err(Error::OtherMachines { .. })));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Configuration {
    processors: Vec<u32>,
    machines: Arc<[String]>,
}

/// The minimum power weight. The number of a slower machine probably has another unit. The limit also keeps H' below 1.
pub(super) const SMALLEST_WEIGHT: f64 = 1e-9;

impl Machines {
    /// Equation (1): power weights from the speeds of machines, in any unit that is the same for all.
    ///
    /// ```
    /// use aurora_super::model::Machines;
    /// let machines = Machines::from_speeds([("new", 3.0e9), ("old", 1.0e9)])?;
    /// assert_eq!(machines.weights(), [1.0, 1.0 / 3.0]);
    /// # Ok::<(), aurora_super::model::Error>(())
    /// ```
    ///
    /// # Errors
    /// A speed that is not a positive number, a name twice, no machines at all, or a machine that is more than 10^9
    /// times slower than the fastest.
    pub fn from_speeds<N: Into<String>>(speeds: impl IntoIterator<Item = (N, f64)>) -> Result<Self, Error> {
        Self::new(speeds, "a speed: write a positive number", |speed, fastest| speed / fastest, f64::max)
    }

    /// Equation (2): power weights from the seconds that the application takes on one processor of each machine.
    ///
    /// # Errors
    /// The errors of [`from_speeds`](Self::from_speeds).
    pub fn from_times<N: Into<String>>(times: impl IntoIterator<Item = (N, f64)>) -> Result<Self, Error> {
        Self::new(times, "an elapsed time: write seconds, a positive number", |time, least| least / time, f64::min)
    }

    fn new<N: Into<String>>(
        machines: impl IntoIterator<Item = (N, f64)>,
        expected: &'static str,
        weight: impl Fn(f64, f64) -> f64,
        faster: impl Fn(f64, f64) -> f64,
    ) -> Result<Self, Error> {
        let (names, numbers): (Vec<String>, Vec<f64>) = machines.into_iter().map(|(n, x)| (n.into(), x)).unzip();
        for (index, (name, value)) in names.iter().zip(&numbers).enumerate() {
            if names[..index].contains(name) {
                return Err(Error::Duplicate { at: format!("machine {}", index + 1), name: name.clone() });
            }
            positive(*value, || format!("machine {name}"), number(*value), expected)?;
        }
        let best = numbers.iter().copied().reduce(faster).ok_or(Error::Empty { what: "machines" })?;
        let weights: Vec<f64> = numbers.iter().map(|number| weight(*number, best)).collect();
        if let Some(slow) = weights.iter().position(|weight| *weight < SMALLEST_WEIGHT) {
            // The best is one of the numbers.
            let fastest = numbers.iter().position(|number| *number == best).unwrap_or(0);
            return Err(Error::TooSlow { machine: names[slow].clone(), fastest: names[fastest].clone() });
        }
        Ok(Machines { names: names.into(), weights })
    }

    /// Returns the names of the machines.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the power weight W of each machine: in (0, 1], and 1 for the fastest.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Reads a configuration such as `SH=6,CSNT=2`. Machines that `text` does not name are not used.
    ///
    /// # Errors
    /// A part that is not `MACHINE=PROCESSORS`, a machine that is unknown or named twice, 0 processors.
    pub fn configuration(&self, text: &str) -> Result<Configuration, Error> {
        let mut processors = vec![0; self.names.len()];
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let wrong = || Error::Configuration { part: quoted(part), example: self.example() };
            let (machine, count) = part.split_once('=').ok_or_else(wrong)?;
            let (machine, count) = (machine.trim(), count.trim());
            let index = self.names.iter().position(|name| name == machine).ok_or_else(|| self.unknown(machine))?;
            if processors[index] > 0 {
                return Err(Error::NamedTwice { configuration: quoted(text), machine: machine.into() });
            }
            let expected =
                "a number of processors: write a whole number from 1 to 4294967295, or leave the machine out";
            processors[index] = count.parse().ok().filter(|count| *count > 0).ok_or_else(|| Error::Number {
                at: format!("machine {machine}"),
                found: quoted(count),
                expected,
            })?;
        }
        Configuration::new(processors, self.names.clone(), || "configuration".into())
    }

    /// Returns the power of a configuration in processors of the fastest machine, the denominator of (6): sum(W_j n_j).
    ///
    /// # Errors
    /// [`Error::OtherMachines`].
    pub fn power(&self, configuration: &Configuration) -> Result<f64, Error> {
        self.check(configuration)?;
        Ok(self.power_of(configuration))
    }

    /// As [`power`](Self::power), for a configuration that is known to be of these machines.
    pub(super) fn power_of(&self, configuration: &Configuration) -> f64 {
        self.sum(configuration, |weight| weight)
    }

    /// Returns the heterogeneity H of a configuration, equation (7). Its denominator is the number of machines in use,
    /// not of processors: 0 for processors of the fastest machine alone, and above 1 for many slow ones.
    ///
    /// # Errors
    /// [`Error::OtherMachines`].
    pub fn heterogeneity(&self, configuration: &Configuration) -> Result<f64, Error> {
        self.check(configuration)?;
        let used = configuration.processors.iter().filter(|count| **count > 0).count();
        Ok(self.sum(configuration, |weight| 1.0 - weight) / used as f64)
    }

    /// Returns the mean of 1 - W over all processors of a configuration, in [0, 1). Not in the paper: equation (7) with
    /// the number of processors as its denominator.
    ///
    /// # Errors
    /// [`Error::OtherMachines`].
    pub fn heterogeneity_per_processor(&self, configuration: &Configuration) -> Result<f64, Error> {
        self.check(configuration)?;
        Ok(self.sum(configuration, |weight| 1.0 - weight) / configuration.total() as f64)
    }

    fn sum(&self, configuration: &Configuration, of: impl Fn(f64) -> f64) -> f64 {
        self.weights.iter().zip(&configuration.processors).map(|(weight, count)| of(*weight) * f64::from(*count)).sum()
    }

    /// Checks that a configuration is of these machines.
    pub(super) fn check(&self, configuration: &Configuration) -> Result<(), Error> {
        if configuration.machines == self.names {
            return Ok(());
        }
        let machines = listed(configuration.machines.iter(), ", ");
        Err(Error::OtherMachines { machines, configuration: configuration.to_string(), known: self.known() })
    }

    fn known(&self) -> String {
        listed(self.names.iter(), ", ")
    }

    fn unknown(&self, machine: &str) -> Error {
        let names = || self.names.iter().map(String::as_str);
        let known = self.known();
        Error::UnknownMachine { machine: quoted(machine), nearest: nearest(machine, names()), known }
    }

    fn example(&self) -> String {
        self.names.iter().take(2).map(|name| format!("{name}=2")).collect::<Vec<_>>().join(",")
    }
}

impl Configuration {
    pub(super) fn new(
        processors: Vec<u32>,
        machines: Arc<[String]>,
        at: impl FnOnce() -> String,
    ) -> Result<Self, Error> {
        if processors.iter().all(|count| *count == 0) {
            return Err(Error::NoProcessors { at: at() });
        }
        Ok(Configuration { processors, machines })
    }

    /// Returns a configuration of the same machines with these numbers of processors.
    pub(super) fn with(&self, processors: Vec<u32>) -> Self {
        Configuration { processors, machines: self.machines.clone() }
    }

    /// Returns the number of processors of each machine.
    pub fn processors(&self) -> &[u32] {
        &self.processors
    }

    /// Returns the number of processors of all machines together.
    pub fn total(&self) -> u64 {
        self.processors.iter().copied().map(u64::from).sum()
    }

    /// Returns the number of processors to add or remove to make one configuration of the other.
    pub(super) fn distance(&self, other: &Configuration) -> u64 {
        self.processors.iter().zip(&other.processors).map(|(a, b)| u64::from(a.abs_diff(*b))).sum()
    }
}

impl Display for Configuration {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let used = self.machines.iter().zip(&self.processors).filter(|(_, count)| **count > 0);
        f.pad(&used.map(|(name, count)| format!("{name}={count}")).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machines() -> Machines {
        Machines::from_times([("SH", 35609.729), ("CSNT", 37839.885)]).unwrap()
    }

    #[test]
    fn one_processor_of_each_machine_is_equations_4_and_5() {
        let machines = Machines::from_speeds([("a", 4.0), ("b", 1.0), ("c", 2.0)]).unwrap();
        let each = machines.configuration("a=1,b=1,c=1").unwrap();
        assert_eq!(machines.power(&each), Ok(1.0 + 0.25 + 0.5));
        assert_eq!(machines.heterogeneity(&each), Ok((0.75 + 0.5) / 3.0));
        assert_eq!(machines.heterogeneity(&each), machines.heterogeneity_per_processor(&each));
    }

    #[test]
    fn configurations_are_read_as_they_are_written() {
        let configuration = machines().configuration(" CSNT=2, SH=6 ").unwrap();
        assert_eq!((configuration.processors(), configuration.total()), (&[6, 2][..], 8));
        assert_eq!(configuration.to_string(), "SH=6,CSNT=2");
        assert_eq!(machines().configuration("CSNT=1").unwrap().to_string(), "CSNT=1");
    }

    #[test]
    fn configurations_of_other_machines_are_refused() {
        let configuration = machines().configuration("CSNT=2").unwrap();
        assert!(machines().power(&configuration).is_ok());
        for names in [&["CSNT", "SH"][..], &["SH"], &["SH", "CSNT", "RCF"], &["a", "b"]] {
            let others = Machines::from_speeds(names.iter().map(|name| (*name, 1.0))).unwrap();
            let refused = others.power(&configuration).unwrap_err();
            assert_eq!(
                refused.to_string(),
                format!(
                    "the configuration CSNT=2 was made for SH, CSNT, but the machines are {}: make it with \
                     `configuration` of these machines",
                    names.join(", ")
                )
            );
            let farm = crate::model::Farm::new(2.try_into().unwrap(), 1.0).unwrap();
            assert_eq!(others.heterogeneity(&configuration), Err(refused.clone()));
            assert_eq!(others.heterogeneity_per_processor(&configuration), Err(refused.clone()));
            assert_eq!(farm.makespans(&others, &configuration), Err(refused));
        }
    }

    #[test]
    fn configurations_that_cannot_be() {
        let error_of = |text: &str| machines().configuration(text).unwrap_err().to_string();
        assert_eq!(
            error_of("SH=6,CNST=2"),
            "there is no machine `CNST` (did you mean `CSNT`?); the table has SH, CSNT"
        );
        assert_eq!(error_of("sh=6"), "there is no machine `sh` (did you mean `SH`?); the table has SH, CSNT");
        assert_eq!(error_of("Origin=6"), "there is no machine `Origin`; the table has SH, CSNT");
        assert_eq!(error_of("SH"), "`SH` is not MACHINE=PROCESSORS: write a configuration as SH=2,CSNT=2");
        assert_eq!(
            error_of("SH=6,SH=1"),
            "configuration SH=6,SH=1: `SH` is named twice: name it once, with the sum of its processors"
        );
        for count in ["0", "-1", "1.5", "", "99999999999", "NaN"] {
            assert_eq!(
                error_of(&format!("SH={count}")),
                format!(
                    "machine SH: `{count}` is not a number of processors: write a whole number from 1 to 4294967295, \
                     or leave the machine out"
                )
            );
        }
        let nothing = "configuration: the configuration has no processors: give at least one machine one processor";
        assert_eq!(error_of(" , "), nothing);
    }

    #[test]
    fn numbers_that_cannot_be() {
        for speed in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-200, 1e308] {
            let text = number(speed);
            let speeds = Machines::from_speeds([("a", 1.0), ("b", speed)]).unwrap_err().to_string();
            assert_eq!(speeds, format!("machine b: `{text}` is not a speed: write a positive number"));
            let times = Machines::from_times([("a", 1.0), ("b", speed)]).unwrap_err().to_string();
            assert_eq!(times, format!("machine b: `{text}` is not an elapsed time: write seconds, a positive number"));
        }
        let error_of = |speeds: &[(&str, f64)]| Machines::from_speeds(speeds.iter().copied()).unwrap_err().to_string();
        assert_eq!(
            error_of(&[("a", 1.0), ("b", 2.0), ("a", 3.0)]),
            "machine 3: `a` is named twice: give each machine and each column a name of its own"
        );
        assert_eq!(
            error_of(&[("a", 1.0), ("b", 1.1e9)]),
            "a is more than 10^9 times slower than b: check that both numbers have the same unit"
        );
        assert!(Machines::from_speeds([("a", 1.0), ("b", 0.9e9)]).is_ok());
        assert!(error_of(&[]).starts_with("the table has no machines: its first line names the columns"));
    }
}
