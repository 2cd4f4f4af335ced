//! A row of a table: which figure of which job, in which unit, and what is to be reached.

use super::job::{Run, Stage, crowd};
use crate::machine;
use aurora_apps::bench::Operation;
use aurora_apps::report::Spread;

/// One row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Row {
    /// For `--rows`.
    pub name: &'static str,
    /// In words.
    pub what: &'static str,
    /// What it is a figure of.
    pub job: Job,
    /// Which of that job's figures.
    pub figure: Figure,
    /// What Aurora's median is to be.
    pub reach: Reach,
}

/// One of a table that is an array of these.
pub const fn row(name: &'static str, what: &'static str, job: Job, figure: Figure, reach: Reach) -> Row {
    Row { name, what, job, figure, reach }
}

/// An `aurora` command; rows that need the same one share it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Job {
    /// Where it runs.
    pub stage: Stage,
    /// On how many ranks.
    pub ranks: usize,
    /// What follows `aurora`.
    pub words: &'static str,
    /// One that takes long is repeated so many times less.
    pub fewer: usize,
    /// What comes into the busiest node, if the rate of its link can bound that.
    pub payload: Option<Operation>,
}

/// A figure of a job's results, and in what a table gives it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Figure {
    /// As the report calls it.
    pub name: &'static str,
    /// Of several kinds of memory or access this one, and one beside it; none where implementations are compared.
    pub kinds: [Option<&'static str>; 2],
    /// For tables.
    pub unit: &'static str,
    /// How it comes from what the report says.
    pub scale: Scale,
    /// Digits behind the point; otherwise as many as make three in all.
    pub digits: Option<usize>,
}

/// How a figure in its unit comes from seconds, bytes or parts of one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scale {
    /// So many of the unit are one of what the report says.
    Times(f64),
    /// In percent of the rest of a repetition that takes as long as most: what it computes.
    OfComputing,
    /// In multiples of the time in which the payload comes into the busiest node at the rate of its link.
    OfBound,
    /// So many bytes in that time: 10^9 a second.
    Bytes(usize),
}

impl Figure {
    /// So many of the unit are one of what the report says.
    pub const fn new(name: &'static str, unit: &'static str, times: f64) -> Figure {
        Figure { name, kinds: [None; 2], unit, scale: Scale::Times(times), digits: None }
    }

    /// The time of a repetition, in something else than a unit of time.
    pub const fn time(unit: &'static str, scale: Scale) -> Figure {
        Figure { scale, digits: Some(3), ..Figure::new("seconds", unit, 1.0) }
    }

    /// A value in its unit.
    pub fn show(self, value: f64) -> String {
        self.digits.map_or_else(|| three_digits(value), |digits| format!("{value:.digits$}"))
    }

    /// Whether more of it is better.
    pub fn is_a_rate(self) -> bool {
        self.unit.ends_with("/s")
    }

    /// Whether a value is as good as a limit.
    pub fn keeps(self, value: f64, limit: f64) -> bool {
        if self.is_a_rate() { value >= limit } else { value <= limit }
    }
}

/// A number in three digits that count, or as many as stand before its point.
pub fn three_digits(value: f64) -> String {
    let digits = if value > 0.0 { 2.0 - value.log10().floor() } else { 2.0 };
    format!("{value:.*}", digits.clamp(0.0, 9.0) as usize)
}

/// What Aurora's median is to be, in the row's unit: so much or better.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Reach {
    /// A limit.
    Limit(f64),
    /// A limit, the slowest repetition at most so many times the fastest, and nothing resent.
    Steady(f64, f64),
    /// So many times that of the best other.
    OfBeside(f64),
    /// That of an implementation in the first job that has it, and what that is called.
    NoWorse(&'static str, &'static str),
    /// Nobody has said.
    Any,
}

impl Job {
    /// Whom it runs, in turns.
    pub fn implementations(self) -> impl Iterator<Item = &'static str> {
        let listed = self.words.split(' ').find_map(|word| word.strip_prefix("--impl="));
        listed.unwrap_or("aurora").split(',')
    }

    /// Under Open MPI as it comes, where others repeat everything so often.
    pub fn whole(self, reps: usize) -> Run {
        Run::new(self.stage, self.ranks, self.words, reps.div_ceil(self.fewer))
    }

    /// The same with the first of its implementations alone.
    pub fn alone(self, reps: usize) -> Run {
        let first = self.implementations().next().unwrap_or_default();
        let others: String = self.implementations().skip(1).map(|other| format!(",{other}")).collect();
        let words = self.words.replace(&format!("{first}{others}"), first);
        Run::new(self.stage, self.ranks, &words, reps.div_ceil(self.fewer))
    }

    /// The word of its operation or program.
    pub fn command(self) -> &'static str {
        self.words.split(' ').find(|word| *word != "bench").unwrap_or_default()
    }
}

/// An implementation, and a kind of memory or access where there are several.
pub type Pick = (&'static str, Option<&'static str>);

impl Row {
    /// Whom or what it compares, ours first.
    pub fn picks(&self) -> Vec<Pick> {
        match self.figure.kinds {
            [None, None] => self.job.implementations().map(|implementation| (implementation, None)).collect(),
            kinds => kinds.into_iter().flatten().map(|kind| ("aurora", Some(kind))).collect(),
        }
    }

    /// Its words and where it is measured.
    pub fn title(&self) -> String {
        let Job { stage, ranks, .. } = self.job;
        match stage {
            Stage::Node => format!("{}, {ranks} ranks{}", self.what, crowd(machine::allowed_cores(), ranks)),
            _ => format!("{}, N = {ranks}", self.what),
        }
    }

    /// The seconds that the payload into the busiest node takes at the rate of its link; none for what is too short for
    /// that to matter, or has no such link.
    pub fn bound(&self) -> Option<f64> {
        let (Stage::Lab(shape), Scale::OfBound) = (self.job.stage, self.figure.scale) else { return None };
        Some(8.0 * self.job.payload?.most_into_a_rank(self.job.ranks) as f64 / shape.bits_per_second())
    }

    /// Whether nothing can be under way before the clock starts, so that nobody can beat the bound.
    pub fn starts_together(&self) -> bool {
        !self.job.words.contains("--late-rank-ms")
    }

    /// What a report says of the figure, in the row's unit; a repetition takes `seconds`.
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

    /// What is to be reached, in words.
    pub fn goal(&self) -> String {
        let sign = if self.figure.is_a_rate() { ">=" } else { "<=" };
        let limit = |limit: f64| match self.bound() {
            Some(_) => format!("{sign} {limit:.2}"),
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
