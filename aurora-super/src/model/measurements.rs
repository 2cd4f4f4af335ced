//! Measured runs of one application, checked.

use super::decimal::Decimal;
use super::efficiency::Efficiency;
use super::error::{Error, Row, positive};
use super::machines::{Configuration, Machines};
use crate::spelling::{LONGEST_NAME, listed, nearest, number, quoted};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Columns of a table that are not machines.
pub(super) const COLUMNS: [&str; 4] = ["total", "seconds", "speedup", "efficiency"];

/// One run: a configuration, its elapsed time, and the speed-up and efficiency that a table prints for it.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    pub(super) row: Option<Row>,
    pub(super) processors: Vec<u32>,
    pub(super) seconds: Decimal,
    pub(super) speedup: Option<Decimal>,
    pub(super) efficiency: Option<Decimal>,
}

impl Run {
    /// Creates a run from its number of processors of each machine, and its elapsed time in seconds.
    pub fn new(processors: impl Into<Vec<u32>>, seconds: f64) -> Self {
        Run { row: None, processors: processors.into(), seconds: seconds.into(), speedup: None, efficiency: None }
    }
}

/// A run of [`Measurements`].
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    row: Row,
    configuration: Configuration,
    seconds: Decimal,
    speedup: Option<Decimal>,
    efficiency: Option<Decimal>,
}

impl Measured {
    /// Returns the place of the run in its table.
    pub fn row(&self) -> Row {
        self.row
    }

    /// Returns the number of processors of each machine that the run used.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// Returns the elapsed time T.
    pub fn seconds(&self) -> &Decimal {
        &self.seconds
    }

    /// Returns the speed-up that the table prints.
    pub fn printed_speedup(&self) -> Option<&Decimal> {
        self.speedup.as_ref()
    }

    /// Returns the efficiency that the table prints, in per cent.
    pub fn printed_efficiency(&self) -> Option<&Decimal> {
        self.efficiency.as_ref()
    }
}

/// The row of power weights that a table prints, `PW`.
#[derive(Clone, PartialEq, Debug)]
pub struct PrintedWeights {
    pub(super) row: Row,
    pub(super) weights: Vec<Decimal>,
}

impl PrintedWeights {
    /// Returns the place of the row in its table.
    pub fn row(&self) -> Row {
        self.row
    }

    /// Returns the printed power weight of each machine, in the order of the machines.
    pub fn weights(&self) -> &[Decimal] {
        &self.weights
    }
}

/// Runs of one application on several configurations, among them one on one processor of each machine.
///
/// Every number is positive and finite, every run has a processor, every machine has a reference time, and no
/// configuration occurs twice. So no calculation can fail because of a bad number.
#[derive(Clone, PartialEq, Debug)]
pub struct Measurements {
    machines: Machines,
    runs: Vec<Measured>,
    /// For each machine the run on one processor of it.
    references: Vec<usize>,
    printed_weights: Option<PrintedWeights>,
}

impl Measurements {
    /// Creates a table of `runs` on `machines`, and checks it. Each run counts its processors in the order of
    /// `machines`.
    ///
    /// ```
    /// use aurora_super::model::{Measurements, Run};
    /// let runs = [Run::new([1, 0], 10.0), Run::new([0, 1], 20.0), Run::new([2, 2], 4.0)];
    /// let table = Measurements::new(["fast", "slow"], runs)?;
    /// let run = &table.runs()[2];
    /// assert_eq!(table.speedup(run), 2.5);
    /// assert_eq!(table.efficiency(run).fraction(), 2.5 / 3.0);
    /// # Ok::<(), aurora_super::model::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first error, with its row and column.
    pub fn new<N: Into<String>>(
        machines: impl IntoIterator<Item = N>,
        runs: impl IntoIterator<Item = Run>,
    ) -> Result<Self, Error> {
        let names: Arc<[String]> = machines.into_iter().map(Into::into).collect();
        if let Some(name) = names.iter().find(|name| !is_name(name)) {
            return Err(Error::Name { name: quoted(name) });
        }
        let runs = runs.into_iter().enumerate();
        let mut runs = runs.map(|(index, run)| check(index, run, &names)).collect::<Result<Vec<_>, _>>()?;
        as_columns(&mut runs);
        if runs.is_empty() {
            return Err(Error::Empty { what: "runs" });
        }
        let reference = |machine| {
            let alone = |run: &Measured| run.configuration.total() == 1 && run.configuration.processors()[machine] == 1;
            runs.iter().position(alone)
        };
        let found: Vec<Option<usize>> = (0..names.len()).map(reference).collect();
        if let Some(without) = found.iter().position(Option::is_none) {
            let with = names.iter().zip(&found).filter(|(_, reference)| reference.is_some());
            let nearest = nearest(&names[without], with.map(|(name, _)| name.as_str()));
            return Err(Error::NoReference { machine: names[without].clone(), nearest });
        }
        let references: Vec<usize> = found.into_iter().flatten().collect();
        let times = references.iter().map(|run| runs[*run].seconds.value());
        let machines = Machines::from_times(names.iter().cloned().zip(times))?;
        let mut seen = BTreeMap::new();
        for run in &runs {
            if let Some(first) = seen.insert(&run.configuration, run.row) {
                return Err(Error::Repeated { row: run.row, first, configuration: run.configuration.to_string() });
            }
        }
        Ok(Measurements { machines, runs, references, printed_weights: None })
    }

    /// Returns the machines, with their power weights by equation (2).
    pub fn machines(&self) -> &Machines {
        &self.machines
    }

    /// Returns the power weights that the table prints, if it has a row `PW`.
    pub fn printed_weights(&self) -> Option<&PrintedWeights> {
        self.printed_weights.as_ref()
    }

    /// Returns the same table with printed power weights, which were checked.
    pub(super) fn with_printed_weights(self, printed_weights: Option<PrintedWeights>) -> Self {
        Measurements { printed_weights, ..self }
    }

    /// Returns the runs, in the order of the table.
    pub fn runs(&self) -> &[Measured] {
        &self.runs
    }

    /// Returns the run on one processor of each machine, in the order of the machines.
    pub fn references(&self) -> impl ExactSizeIterator<Item = &Measured> {
        self.references.iter().map(|run| &self.runs[*run])
    }

    /// Returns the time on one processor of the fastest machine: min T_j, in seconds.
    pub fn fastest_seconds(&self) -> f64 {
        self.references().map(|run| run.seconds.value()).fold(f64::INFINITY, f64::min)
    }

    /// Returns the relative speed-up SP, equation (3).
    pub fn speedup(&self, run: &Measured) -> f64 {
        self.fastest_seconds() / run.seconds.value()
    }

    /// Returns the efficiency E, equation (6), of a run of this table: exactly 1 on one processor.
    pub fn efficiency(&self, run: &Measured) -> Efficiency {
        Efficiency::of(self.speedup(run) / self.machines.power_of(&run.configuration))
    }

    /// Returns the run with this configuration.
    ///
    /// # Errors
    /// [`Error::NotMeasured`], or [`Error::OtherMachines`].
    pub fn run(&self, configuration: &Configuration) -> Result<&Measured, Error> {
        self.machines.check(configuration)?;
        let found = self.runs.iter().find(|run| run.configuration == *configuration);
        found.ok_or_else(|| Error::NotMeasured {
            configuration: configuration.to_string(),
            known: listed(self.runs.iter().map(|run| &run.configuration), "; "),
        })
    }

    /// Returns the same table with other times of some runs.
    pub(super) fn with_times(&self, times: &BTreeMap<usize, Decimal>) -> Result<Self, Error> {
        let with = |(index, old): (usize, &Measured)| Run {
            row: Some(old.row),
            processors: old.configuration.processors().into(),
            seconds: times.get(&index).unwrap_or(&old.seconds).clone(),
            speedup: old.speedup.clone(),
            efficiency: old.efficiency.clone(),
        };
        let table = Self::new(self.machines.names(), self.runs.iter().enumerate().map(with))?;
        Ok(table.with_printed_weights(self.printed_weights.clone()))
    }
}

fn is_name(name: &str) -> bool {
    let is_short = !name.is_empty() && name.len() <= LONGEST_NAME;
    is_short && !COLUMNS.contains(&name) && !name.contains(|c: char| matches!(c, '=' | ',') || c.is_control())
}

fn check(index: usize, run: Run, machines: &Arc<[String]>) -> Result<Measured, Error> {
    let row = run.row.unwrap_or(Row::Row(index + 1));
    if run.processors.len() != machines.len() {
        return Err(Error::Machines { row, found: run.processors.len(), machines: machines.len() });
    }
    let check = |decimal: &Decimal, column: &str, expected| {
        let found = Some(decimal.to_string()).filter(|text| text.len() <= 30);
        let found = found.unwrap_or_else(|| number(decimal.value()));
        positive(decimal.value(), || format!("{row}, column `{column}`"), found, expected)
    };
    check(&run.seconds, "seconds", "an elapsed time: write seconds, a positive number")?;
    if let Some(speedup) = &run.speedup {
        check(speedup, "speedup", "a speed-up: write a positive number, or `-` if it is not known")?;
    }
    if let Some(efficiency) = &run.efficiency {
        check(efficiency, "efficiency", "an efficiency: write per cent, a positive number, or `-` if it is not known")?;
    }
    let configuration = Configuration::new(run.processors, machines.clone(), || row.to_string())?;
    Ok(Measured { row, configuration, seconds: run.seconds, speedup: run.speedup, efficiency: run.efficiency })
}

/// Tables print `1` and `100` for speed-ups and efficiencies that are exact, in a column of others that have places.
fn as_columns(runs: &mut [Measured]) {
    let columns: [fn(&mut Measured) -> &mut Option<Decimal>; 2] = [|run| &mut run.speedup, |run| &mut run.efficiency];
    for column in columns {
        let places = |run| column(run).as_ref().map_or(0, Decimal::places);
        let most = runs.iter_mut().map(places).max().unwrap_or(0);
        runs.iter_mut().for_each(|run| *column(run) = column(run).take().map(|number| number.in_column(most)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(machines: &[&str], runs: &[(&[u32], f64)]) -> String {
        let runs = runs.iter().map(|(processors, seconds)| Run::new(*processors, *seconds));
        Measurements::new(machines.iter().copied(), runs).unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_is_named_with_its_row_and_column() {
        for seconds in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e308] {
            let text = number(seconds);
            assert_eq!(
                error_of(&["a"], &[(&[1], 1.0), (&[2], seconds)]),
                format!("row 2, column `seconds`: `{text}` is not an elapsed time: write seconds, a positive number")
            );
        }
        assert_eq!(
            error_of(&["a", "b"], &[(&[1, 0], 1.0), (&[0, 0], 1.0)]),
            "row 2: the configuration has no processors: give at least one machine one processor"
        );
        assert_eq!(
            error_of(&["a", "b"], &[(&[1], 1.0)]),
            "row 1: 1 numbers of processors for 2 machines: give one for each"
        );
        assert_eq!(
            error_of(&["SH", "CSNT", "CNST"], &[(&[1, 0, 0], 1.0), (&[0, 1, 0], 1.0), (&[1, 0, 2], 1.0)]),
            "CNST has no reference time: add a run on one processor of CNST alone, or take CNST out \
             (did you mean `CSNT`?)"
        );
        assert_eq!(
            error_of(&["a", "b"], &[(&[1, 0], 1.0), (&[0, 2], 1.0)]),
            "b has no reference time: add a run on one processor of b alone, or take b out"
        );
        assert_eq!(
            error_of(&["a", "a"], &[(&[1, 0], 1.0), (&[0, 1], 1.0)]),
            "machine 2: `a` is named twice: give each machine and each column a name of its own"
        );
        assert_eq!(
            error_of(&["a"], &[(&[1], 1.0), (&[2], 1.0), (&[1], 1.5)]),
            "row 3: the configuration a=1 is already in row 1: keep one of them, for example the median"
        );
        assert_eq!(
            error_of(&["a", "b"], &[(&[1, 0], 1.0), (&[0, 1], 2e9)]),
            "b is more than 10^9 times slower than a: check that both numbers have the same unit"
        );
        for name in ["", "seconds", "a=b", "a,b"] {
            let text = error_of(&[name], &[(&[1], 1.0)]);
            assert!(text.starts_with(&format!("`{name}` cannot be the name of a machine")), "{text}");
        }
        assert!(error_of(&["a"], &[]).starts_with("the table has no runs: its first line names the columns"));
        assert!(error_of(&[], &[]).starts_with("the table has no runs"));
    }
}
