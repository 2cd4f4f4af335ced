//! What makes a row complete, and whether Aurora reaches what it is to.

use crate::job::{Figures, Outcome, Ran, Spread, Starter};
use crate::row::{Reach, Row, Stage};
use crate::tuning::Tuning;
use aurora_apps::bench::Operation;
use aurora_apps::report::Measured as _;
use aurora_suite::machine;
#[cfg(test)]
use aurora_suite::mpi::Flavour;

/// Nobody is faster than the wire by more than the buckets of its shaping hold.
pub const FASTEST: f64 = 0.95;

/// Cores that are busier than this say nothing about the network.
pub const FULL: f64 = 0.9;

/// A row with everything that it must have.
#[derive(Clone, Debug)]
pub struct Measured {
    pub row: Row,
    pub outcomes: Vec<Outcome>,
}

/// In what a row's figures are given.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Unit {
    /// Multiples of so many seconds.
    Bound(f64),
    Micros,
    /// 10^9 bytes a second, of so many bytes.
    Rate(f64),
    CpuSeconds,
}

impl Unit {
    pub fn of(row: &Row) -> Unit {
        match (row.bound(), row.reach, row.operation) {
            (Some(bound), ..) => Unit::Bound(bound),
            (None, Reach::Cpu, _) => Unit::CpuSeconds,
            (None, _, Operation::Stream { bytes }) => Unit::Rate(bytes as f64),
            (None, ..) => Unit::Micros,
        }
    }

    pub fn value(self, figures: &Figures) -> Spread {
        match self {
            Unit::Bound(bound) => figures.seconds.map(|seconds| seconds / bound),
            Unit::Micros => figures.seconds.map(|seconds| seconds * 1e6),
            Unit::Rate(bytes) => {
                let Spread { min, median, max } = figures.seconds.map(|seconds| bytes / seconds / 1e9);
                Spread { min: max, median, max: min }
            }
            Unit::CpuSeconds => figures.cpu_seconds,
        }
    }

    pub fn is_a_rate(self) -> bool {
        matches!(self, Unit::Rate(_))
    }

    pub fn name(self) -> &'static str {
        match self {
            Unit::Bound(_) => "x bound",
            Unit::Micros => "us",
            Unit::Rate(_) => "GB/s",
            Unit::CpuSeconds => "CPU s",
        }
    }

    pub fn show(self, value: f64) -> String {
        match self {
            Unit::Bound(_) | Unit::Rate(_) => format!("{value:.3}"),
            Unit::Micros => format!("{value:.1}"),
            Unit::CpuSeconds => format!("{value:.4}"),
        }
    }
}

/// Takes what a row's jobs have said for a row, if nothing is missing.
///
/// # Errors
/// All that is missing or cannot be.
pub fn complete(row: Row, ran: Vec<Ran>, reps: usize) -> Result<Measured, Vec<String>> {
    let (outcomes, failed): (Vec<_>, Vec<_>) = ran.into_iter().partition(Result::is_ok);
    let mut missing: Vec<String> = failed.into_iter().filter_map(Result::err).collect();
    let outcomes: Vec<Outcome> = outcomes.into_iter().flatten().collect();
    for outcome in &outcomes {
        let who = format!("{}, {}", outcome.starter, outcome.tuning.name);
        missing.extend(lacks(&row, outcome, reps).into_iter().map(|what| format!("{who}: {what}")));
    }
    match missing.is_empty() && !outcomes.is_empty() {
        true => Ok(Measured { row, outcomes }),
        false => Err(missing),
    }
}

fn lacks(row: &Row, outcome: &Outcome, reps: usize) -> Vec<String> {
    let mut lacks = Vec::new();
    if outcome.busy.is_none_or(|busy| !(0.0..=1.0).contains(&busy)) {
        lacks.push("the CPU share of the job is not known".into());
    }
    for name in row.implementations() {
        match outcome.results.iter().find(|figures| figures.implementation == *name) {
            None => lacks.push(format!("no figures of {name}")),
            Some(figures) => lacks.extend(flaws(row, figures, reps).into_iter().map(|flaw| format!("{name} {flaw}"))),
        }
    }
    lacks
}

/// What is wrong with an implementation's figures.
pub fn flaws(row: &Row, figures: &Figures, reps: usize) -> Vec<String> {
    let mut flaws = Vec::new();
    if !figures.verified {
        flaws.push("has brought wrong bytes".into());
    }
    if figures.reps != reps || figures.ranks != row.stage.ranks() {
        flaws.push(format!("was repeated {} times on {} ranks", figures.reps, figures.ranks));
    }
    let (seconds, min) = (figures.seconds, figures.seconds.min);
    if !(min > 0.0 && seconds.is_in_order()) {
        flaws.push(format!("has no min, median and max: {seconds}"));
    }
    if figures.is_aurora() && figures.packets_resent.is_none() {
        flaws.push("does not say what it sent again".into());
    }
    if row.starts_together() && row.bound().is_some_and(|bound| min < FASTEST * bound) {
        flaws.push(format!("is faster than the wire ({min} s): it has not gone over it"));
    }
    flaws
}

impl Measured {
    pub fn unit(&self) -> Unit {
        Unit::of(&self.row)
    }

    pub fn value(&self, figures: &Figures) -> Spread {
        self.unit().value(figures)
    }

    /// Aurora's figures of the jobs in which the others were as they come: these count.
    pub fn aurora(&self) -> Vec<&Figures> {
        let counting = self.outcomes.iter().filter(|outcome| outcome.tuning == Tuning::defaults());
        counting.flat_map(|outcome| outcome.results.iter().filter(|figures| figures.is_aurora())).collect()
    }

    /// What those say who are compared, job by job.
    pub fn others(&self) -> impl Iterator<Item = (&Outcome, &Figures)> {
        let of = |outcome| move |figures| (outcome, figures);
        self.outcomes.iter().flat_map(move |outcome: &Outcome| {
            outcome.results.iter().filter(|figures| !figures.is_aurora()).map(of(outcome))
        })
    }

    /// The best median of those that `starter` has started.
    pub fn best(&self, starter: Starter) -> Option<(&Outcome, &Figures)> {
        let value = |figures: &Figures| figures.seconds.median;
        let cpu = |figures: &Figures| figures.cpu_seconds.median;
        let by = if self.unit() == Unit::CpuSeconds { cpu } else { value };
        let of = self.others().filter(|(outcome, _)| outcome.starter == starter);
        of.min_by(|(_, a), (_, b)| by(a).total_cmp(&by(b)))
    }

    /// What is to be reached, in words.
    pub fn goal(&self) -> String {
        match self.row.reach {
            Reach::Bound(most) => format!("<= {most:.2}"),
            Reach::Steady(most, spread) => format!("<= {most:.2}, max/min <= {spread:.2}, nothing resent"),
            Reach::Micros(most) => format!("<= {most:.0} us"),
            Reach::Tcp => ">= TCP".into(),
            Reach::Cpu | Reach::Collective => "<= Open MPI's collective".into(),
        }
    }

    /// Why it is not reached, for each reason; none if it is.
    pub fn shortfalls(&self) -> Vec<String> {
        let mut short = Vec::new();
        for figures in self.aurora() {
            let value = self.value(figures);
            let mut exceeds = |what: &str, found: f64, most: f64| {
                if found.is_nan() || found > most {
                    short.push(format!("{what} {found:.3}"));
                }
            };
            match self.row.reach {
                Reach::Bound(most) | Reach::Micros(most) => exceeds("median", value.median, most),
                Reach::Steady(most, spread) => {
                    exceeds("median", value.median, most);
                    exceeds("max/min", value.max / value.min, spread);
                    exceeds("resent", figures.packets_resent.map_or(f64::NAN, |resent| resent.max), 0.0);
                }
                Reach::Tcp => exceeds("TCP's / ours", self.reference("tcp") / value.median, 1.0),
                Reach::Collective => exceeds("median", value.median, self.reference("mpi-collective")),
                Reach::Cpu => exceeds("CPU seconds", value.median, self.reference("mpi-collective")),
            }
        }
        short
    }

    /// The median of another implementation, in the first job that has it: Open MPI's, as it comes.
    fn reference(&self, implementation: &str) -> f64 {
        let found = self.others().find(|(_, figures)| figures.implementation == implementation);
        found.map_or(f64::NAN, |(_, figures)| self.value(figures).median)
    }

    /// The share of the cores that was busy, of the job that took most.
    pub fn busy(&self) -> f64 {
        self.outcomes.iter().filter_map(|outcome| outcome.busy).fold(0.0, f64::max)
    }

    pub fn is_full(&self) -> bool {
        self.busy() > FULL
    }

    /// The share of the cores that an implementation took while it was its turn.
    pub fn own_share(figures: &Figures) -> f64 {
        figures.cpu_seconds.median / figures.seconds.median / machine::cores() as f64
    }

    /// Whether an MPI has a part in it.
    pub fn on_lab(&self) -> bool {
        matches!(self.row.stage, Stage::Lab { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::ROWS;

    const REPS: usize = 10;

    fn row(name: &str) -> Row {
        ROWS.into_iter().find(|row| row.name == name).expect("a row")
    }

    /// All that a row wants, each repetition as long as this.
    fn ran(row: &Row, seconds: f64) -> Vec<Ran> {
        let even = Spread::exactly;
        let figures = |name: &&str| Figures {
            implementation: (*name).into(),
            ranks: row.stage.ranks(),
            reps: REPS,
            verified: true,
            seconds: even(seconds),
            cpu_seconds: even(0.1),
            packets_resent: Some(even(0.0)),
            ..Figures::default()
        };
        let outcome = |flavour| Outcome {
            starter: Starter::Mpi(flavour),
            tuning: Tuning::defaults(),
            results: row.implementations().iter().map(figures).collect(),
            busy: Some(0.5),
            network: None,
            remarks: Vec::new(),
        };
        [Flavour::Open, Flavour::Mpich].into_iter().map(|flavour| Ok(outcome(flavour))).collect()
    }

    fn flaw(change: impl Fn(&mut Outcome)) -> String {
        let row = row("load-4");
        let mut ran = ran(&row, 0.077);
        if let Some(Ok(outcome)) = ran.last_mut() {
            change(outcome);
        }
        complete(row, ran, REPS).expect_err("not complete").join("; ")
    }

    #[test]
    fn a_row_has_both_mpis_all_figures_and_the_share_of_the_cores() {
        let row = row("load-4");
        assert!(complete(row, ran(&row, 0.077), REPS).is_ok());
        assert!(flaw(|outcome| outcome.busy = None).contains("CPU share"));
        assert!(flaw(|outcome| outcome.results.truncate(2)).contains("no figures of mpi-isend"));
        assert!(flaw(|outcome| outcome.results[1].verified = false).contains("mpi-collective has brought wrong bytes"));
        assert!(flaw(|outcome| outcome.results[0].reps = 3).contains("repeated 3 times"));
        assert!(flaw(|outcome| outcome.results[0].seconds.max = f64::NAN).contains("no min, median and max"));
        assert!(flaw(|outcome| outcome.results[0].packets_resent = None).contains("sent again"));
        let mut failed = ran(&row, 0.077);
        failed[1] = Err("MPICH is not there".into());
        assert_eq!(complete(row, failed, REPS).expect_err("not complete"), ["MPICH is not there"]);
    }

    #[test]
    fn nobody_is_faster_than_the_wire() {
        let row = row("load-4");
        let flaws = complete(row, ran(&row, 0.04), REPS).expect_err("not complete");
        assert!(flaws.iter().all(|flaw| flaw.contains("faster than the wire")), "{flaws:?}");
    }

    #[test]
    fn what_is_to_be_reached_can_be_missed() {
        let short = |name, seconds, change: fn(&mut Figures)| {
            let row = row(name);
            let mut measured = complete(row, ran(&row, seconds), REPS).expect("complete");
            change(&mut measured.outcomes[1].results[0]);
            measured.shortfalls()
        };
        assert!(short("load-4", 0.078, |_| ()).is_empty());
        assert_eq!(short("load-4", 0.09, |_| ()).len(), 2);
        assert_eq!(short("load-4", 0.078, |aurora| aurora.seconds.max = 0.09), ["max/min 1.154"]);
        assert_eq!(short("load-4", 0.078, |aurora| aurora.packets_resent = None), ["resent NaN"]);
        assert_eq!(short("load-16-cpu", 0.1, |aurora| aurora.cpu_seconds.median = 0.2), ["CPU seconds 0.200"]);
        assert_eq!(short("get-idle", 61e-6, |_| ()).len(), 2);
    }

    #[test]
    fn the_bound_is_the_payload_at_the_rate() {
        let bound = row("load-4").bound().expect("a bound");
        assert!((bound - 704.0 * 704.0 * 4.0 * 0.75 * 8.0 / 155e6).abs() < 1e-9);
        assert!((row("gather").bound().expect("a bound") - 15.0 * 1_048_576.0 * 8.0 / 155e6).abs() < 1e-9);
        assert_eq!(row("get-idle").bound(), None);
    }
}
