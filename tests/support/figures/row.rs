//! A row of a table: a figure of a job, its unit and its target.

use super::job::{Run, Stage, crowd};
use crate::machine;
use aurora_apps::bench::Operation;
use aurora_apps::report::Spread;

/// A row of a table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Row {
    /// The name for `--rows`.
    pub name: &'static str,
    /// The title.
    pub what: &'static str,
    /// The measured job.
    pub job: Job,
    /// The figure of that job.
    pub figure: Figure,
    /// The target for Aurora's median.
    pub reach: Reach,
}

/// Makes a row for a table that is an array of rows.
pub const fn row(name: &'static str, what: &'static str, job: Job, figure: Figure, reach: Reach) -> Row {
    Row { name, what, job, figure, reach }
}

/// An `aurora` command. Rows that need the same command share it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Job {
    /// The place where it runs.
    pub stage: Stage,
    /// The number of ranks.
    pub ranks: usize,
    /// The arguments of `aurora`.
    pub words: &'static str,
    /// The factor by which the repetitions of a long job are reduced.
    pub fewer: usize,
    /// The operation whose bytes enter the busiest node, if the rate of its link can limit the time.
    pub payload: Option<Operation>,
}

/// A figure of a job's results, with its unit in a table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Figure {
    /// The name in the report.
    pub name: &'static str,
    /// The kind of memory or access, and the kind to compare with; none where implementations are compared.
    pub kinds: [Option<&'static str>; 2],
    /// The unit for tables.
    pub unit: &'static str,
    /// The conversion from the report's value.
    pub scale: Scale,
    /// The number of decimal places; if none, as many as give three digits in all.
    pub digits: Option<usize>,
}

/// The conversion to a figure's unit from seconds, bytes or shares.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scale {
    /// The report's value times this factor.
    Times(f64),
    /// In percent of the computing time, which is the rest of the median repetition.
    OfComputing,
    /// As a multiple of the time that the payload into the busiest node takes at the rate of its link.
    OfBound,
    /// The rate for this number of bytes in that time, in 10^9 bytes a second.
    Bytes(usize),
}

impl Figure {
    /// A figure that is the report's value times `times`.
    pub const fn new(name: &'static str, unit: &'static str, times: f64) -> Figure {
        Figure { name, kinds: [None; 2], unit, scale: Scale::Times(times), digits: None }
    }

    /// The time of a repetition in a unit that is not a unit of time.
    pub const fn time(unit: &'static str, scale: Scale) -> Figure {
        Figure { scale, digits: Some(3), ..Figure::new("seconds", unit, 1.0) }
    }

    /// A value in its unit.
    pub fn show(self, value: f64) -> String {
        self.digits.map_or_else(|| three_digits(value), |digits| format!("{value:.digits$}"))
    }

    /// True if more is better.
    pub fn is_a_rate(self) -> bool {
        self.unit.ends_with("/s")
    }

    /// True if a value is as good as a limit or better.
    pub fn keeps(self, value: f64, limit: f64) -> bool {
        if self.is_a_rate() { value >= limit } else { value <= limit }
    }
}

/// A number in three significant digits, or more if there are more before its point.
pub fn three_digits(value: f64) -> String {
    let digits = if value > 0.0 { 2.0 - value.log10().floor() } else { 2.0 };
    format!("{value:.*}", digits.clamp(0.0, 9.0) as usize)
}

/// The target for Aurora's median in the row's unit: this value or a better one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Reach {
    /// A limit.
    Limit(f64),
    /// A limit; a maximum for the slowest repetition as a multiple of the fastest; and nothing resent.
    Steady(f64, f64),
    /// A multiple of the best other median.
    OfBeside(f64),
    /// The median of an implementation in the first job that has it, and the words for it.
    NoWorse(&'static str, &'static str),
    /// No target.
    Any,
}

impl Job {
    /// The implementations that it runs, in turns.
    pub fn implementations(self) -> impl Iterator<Item = &'static str> {
        let listed = self.words.split(' ').find_map(|word| word.strip_prefix("--impl="));
        listed.unwrap_or("aurora").split(',')
    }

    /// Runs all implementations under Open MPI with its default setting. Jobs with `fewer` 1 have `reps` repetitions.
    pub fn whole(self, reps: usize) -> Run {
        Run::new(self.stage, self.ranks, self.words, reps.div_ceil(self.fewer))
    }

    /// Runs the first of its implementations only.
    pub fn alone(self, reps: usize) -> Run {
        let first = self.implementations().next().unwrap_or_default();
        let others: String = self.implementations().skip(1).map(|other| format!(",{other}")).collect();
        let words = self.words.replace(&format!("{first}{others}"), first);
        Run::new(self.stage, self.ranks, &words, reps.div_ceil(self.fewer))
    }

    /// The name of its operation or program.
    pub fn command(self) -> &'static str {
        self.words.split(' ').find(|word| *word != "bench").unwrap_or_default()
    }
}

/// An implementation, and a kind of memory or access where there are several.
pub type Pick = (&'static str, Option<&'static str>);

impl Row {
    /// The implementations or kinds that it compares, Aurora's first.
    pub fn picks(&self) -> Vec<Pick> {
        match self.figure.kinds {
            [None, None] => self.job.implementations().map(|implementation| (implementation, None)).collect(),
            kinds => kinds.into_iter().flatten().map(|kind| ("aurora", Some(kind))).collect(),
        }
    }

    /// Its title and the place where it is measured.
    pub fn title(&self) -> String {
        format!("{}, {}", self.what, self.place())
    }

    /// The number of ranks, and the cores or nodes that they have.
    pub fn place(&self) -> String {
        let Job { stage, ranks, .. } = self.job;
        match stage {
            Stage::Node => format!("{ranks} ranks{}", crowd(machine::allowed_cores(), ranks)),
            Stage::Lab(_) => format!("{ranks} nodes"),
            Stage::Alone(_) => format!("{ranks} processes"),
        }
    }

    /// The seconds that the payload into the busiest node takes at the rate of its link; none if another unit is used
    /// or there is no such link.
    pub fn bound(&self) -> Option<f64> {
        let (Stage::Lab(shape), Scale::OfBound) = (self.job.stage, self.figure.scale) else { return None };
        Some(8.0 * self.job.payload?.most_into_a_rank(self.job.ranks) as f64 / shape.bits_per_second())
    }

    /// True if no transfer can begin before the clock starts, so that no time can be below the bound.
    pub fn starts_together(&self) -> bool {
        !self.job.words.contains("--late-rank-ms")
    }

    /// The report's value in the row's unit; a repetition takes `seconds`.
    pub fn value(&self, said: Spread, seconds: Spread) -> Spread {
        match self.figure.scale {
            Scale::Times(times) => said.map(|value| value * times),
            Scale::OfComputing => said.map(|part| part / (seconds.median - said.median) * 100.0),
            Scale::OfBound => said.map(|value| value / self.bound().unwrap_or(1.0)),
            Scale::Bytes(bytes) => {
                let Spread { min, median, max } = said.map(|seconds| bytes as f64 / seconds / 1e9);
                Spread { min: max, median, max: min }
            }
        }
    }

    /// The target in words.
    pub fn goal(&self) -> String {
        let sign = if self.figure.is_a_rate() { ">=" } else { "<=" };
        let limit = |limit: f64| match self.bound() {
            Some(bound) => format!("{sign} {limit:.2} x {:.2} ms", bound * 1e3),
            None => format!("{sign} {limit} {}", self.figure.unit),
        };
        match self.reach {
            Reach::Limit(of) => limit(of),
            Reach::Steady(of, apart) => format!("{}, max/min <= {apart:.2}, nothing resent", limit(of)),
            Reach::OfBeside(1.0) => "faster".into(),
            Reach::OfBeside(times) => format!("{sign} {times} x"),
            Reach::NoWorse(_, words) => format!("{sign} {words}"),
            Reach::Any => "-".into(),
        }
    }
}
