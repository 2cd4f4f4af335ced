//! A row of a table: which figure of which job, in which unit, and what is to be reached.

use super::job::{Run, Stage, Tuning};
use crate::mpi::Flavour;
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
    /// Which of a job's figures.
    pub figure: Figure,
    /// Of several kinds of memory or access this one, and one beside it; none where implementations are compared.
    pub kinds: [Option<&'static str>; 2],
    /// In what it is given.
    pub unit: Unit,
    /// What is to be reached.
    pub reach: Reach,
}

/// An `aurora` command; rows that need the same one share it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Job {
    /// Where it runs.
    pub stage: Stage,
    /// What follows `aurora`.
    pub words: &'static str,
    /// One that takes long is repeated so many times less.
    pub fewer: usize,
}

/// A figure of a job's results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Figure {
    /// As the report calls it.
    Named(&'static str),
    /// The time of sharing by that of computing.
    SharingByComputing,
}

/// In what figures are given.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Unit {
    /// For tables.
    pub name: &'static str,
    /// Whether more of it is better.
    pub is_a_rate: bool,
    /// So many of it are one of what a report says: seconds, bytes, parts of one.
    times: f64,
    /// Digits behind the point; otherwise as many as make three in all.
    digits: Option<usize>,
    of: Of,
}

/// Of what a figure is the multiple.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Of {
    One,
    /// The time in which the payload of an operation comes into the busiest node.
    Bound(Operation),
    /// A second, of so many bytes.
    Bytes(usize),
}

impl Unit {
    /// Time.
    pub const NANOS: Unit = Unit::new("ns", 1e9);
    /// Time.
    pub const MICROS: Unit = Unit::new("us", 1e6);
    /// Time.
    pub const MILLIS: Unit = Unit::new("ms", 1e3);
    /// Time of processors.
    pub const CPU_SECONDS: Unit = Unit::new("CPU s", 1.0).digits(4);
    /// A part of a whole.
    pub const PERCENT: Unit = Unit::new("%", 100.0);
    /// Memory.
    pub const MEBIBYTES: Unit = Unit::new("MiB", 1.0 / (1 << 20) as f64);
    /// 10^6 a second.
    pub const MILLIONS: Unit = Unit { is_a_rate: true, ..Unit::new("million/s", 1e-6) };
    /// 10^9 bytes a second.
    pub const GIGABYTES: Unit = Unit { is_a_rate: true, ..Unit::new("GB/s", 1.0) };

    /// The same of what takes a time for so many bytes.
    pub const fn rate_of(bytes: usize) -> Unit {
        Unit { of: Of::Bytes(bytes), ..Unit::GIGABYTES.digits(3) }
    }

    /// Multiples of the time in which an operation's payload comes into the busiest node at the rate of its link.
    pub const fn bound_of(operation: Operation) -> Unit {
        Unit { of: Of::Bound(operation), ..Unit::new("x bound", 1.0).digits(3) }
    }

    const fn new(name: &'static str, times: f64) -> Unit {
        Unit { name, is_a_rate: false, times, digits: None, of: Of::One }
    }

    /// The same with so many digits behind the point.
    pub const fn digits(self, digits: usize) -> Unit {
        Unit { digits: Some(digits), ..self }
    }

    /// A figure in it.
    pub fn show(self, value: f64) -> String {
        let digits = self.digits.unwrap_or(match value {
            _ if value >= 100.0 => 0,
            _ if value >= 10.0 => 1,
            _ => 2,
        });
        format!("{value:.digits$}")
    }
}

/// What Aurora's median is to be, in the row's unit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Reach {
    /// So much or less.
    AtMost(f64),
    /// So much or more.
    AtLeast(f64),
    /// So much or less, the slowest repetition at most so many times the fastest, and nothing resent.
    Steady(f64, f64),
    /// At most so many times that of the best other.
    OfBeside(f64),
    /// No worse than an implementation in the first job that has it, and what that is called.
    NoWorse(&'static str, &'static str),
    /// Nobody has said.
    Nothing,
}

impl Job {
    /// Whom it runs, in turns.
    pub fn implementations(self) -> impl Iterator<Item = &'static str> {
        let listed = self.words.split(' ').find_map(|word| word.strip_prefix("--impl="));
        listed.unwrap_or("aurora").split(',')
    }

    /// How often it repeats everything where others do `reps` times.
    fn run(self, words: impl Iterator<Item = String>, reps: usize) -> Run {
        Run::new(self.stage, Flavour::Open, words, reps.div_ceil(self.fewer))
    }

    /// Under Open MPI as it comes.
    pub fn whole(self, reps: usize) -> Run {
        self.run(self.words.split(' ').map(String::from), reps)
    }

    /// The same with the first of its implementations alone.
    pub fn alone(self, reps: usize) -> Run {
        let first = self.implementations().next().unwrap_or_default();
        let alone = |word: &str| if word.starts_with("--impl=") { format!("--impl={first}") } else { word.into() };
        self.run(self.words.split(' ').map(alone), reps)
    }

    /// Under an MPI that is set up like this.
    pub fn tuned(self, reps: usize, flavour: Flavour, tuning: Tuning) -> Run {
        Run { flavour, tuning, ..self.whole(reps) }
    }

    /// The word of its operation or program.
    pub fn command(self) -> &'static str {
        self.words.split(' ').find(|word| *word != "bench").unwrap_or_default()
    }
}

impl Row {
    /// Whom or what it compares, ours first: implementations, and kinds.
    pub fn picks(&self) -> Vec<(&'static str, Option<&'static str>)> {
        match self.kinds {
            [None, None] => self.job.implementations().map(|implementation| (implementation, None)).collect(),
            kinds => kinds.into_iter().flatten().map(|kind| ("aurora", Some(kind))).collect(),
        }
    }

    /// Its words and where it is measured.
    pub fn title(&self) -> String {
        format!("{}, {}", self.what, self.job.stage.words())
    }

    /// The seconds that the payload into the busiest node takes at the rate of its link; none for what is too short for
    /// that to matter, or has no such link.
    pub fn bound(&self) -> Option<f64> {
        match (self.job.stage, self.unit.of) {
            (Stage::Lab { nodes, shape }, Of::Bound(operation)) => {
                Some(8.0 * operation.most_into_a_rank(nodes) as f64 / shape.bits_per_second())
            }
            _ => None,
        }
    }

    /// Whether nothing can be under way before the clock starts, so that nobody can beat the bound.
    pub fn starts_together(&self) -> bool {
        !self.job.words.contains("--late-rank-ms")
    }

    /// What a report says, in the row's unit.
    pub fn value(&self, said: Spread) -> Spread {
        let bound = self.bound().unwrap_or(1.0);
        match self.unit.of {
            Of::Bytes(bytes) => {
                let Spread { min, median, max } = said.map(|seconds| bytes as f64 / seconds / 1e9);
                Spread { min: max, median, max: min }
            }
            Of::One | Of::Bound(_) => said.map(|value| value * self.unit.times / bound),
        }
    }

    /// What is to be reached, in words.
    pub fn goal(&self) -> String {
        let unit = if self.bound().is_some() { String::new() } else { format!(" {}", self.unit.name) };
        let number = |number: f64| match self.bound() {
            Some(_) => format!("{number:.2}"),
            None => number.to_string(),
        };
        match self.reach {
            Reach::AtMost(most) => format!("<= {}{unit}", number(most)),
            Reach::AtLeast(least) => format!(">= {}{unit}", number(least)),
            Reach::Steady(most, apart) => {
                format!("<= {}{unit}, max/min <= {apart:.2}, nothing resent", number(most))
            }
            Reach::OfBeside(1.0) => "faster".into(),
            Reach::OfBeside(times) => format!("<= {times} x"),
            Reach::NoWorse(_, words) => format!("{} {words}", if self.unit.is_a_rate { ">=" } else { "<=" }),
            Reach::Nothing => "-".into(),
        }
    }
}
