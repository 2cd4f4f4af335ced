//! What is wrong with a table, a configuration or a number.

use crate::spelling::{LONGEST_NAME, meant};
use serde::Serialize;
use std::fmt::{self, Display, Formatter};
use thiserror::Error;

/// Where a run stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Row {
    /// In this line of a text, from 1.
    Line(usize),
    /// In this place of a list, from 1.
    Row(usize),
}

impl Display for Row {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Row::Line(line) => write!(f, "line {line}"),
            Row::Row(row) => write!(f, "row {row}"),
        }
    }
}

/// What is wrong, where it stands, and what to do.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A number that is missing, no number, zero, negative, infinite or too large.
    #[error("{at}: `{found}` is not {expected}")]
    Number {
        /// Row and column, or the machine, or the option.
        at: String,
        /// What is there.
        found: String,
        /// What is to be there.
        expected: &'static str,
    },
    /// No runs, or no machines.
    #[error(
        "the table has no {what}: its first line names the columns (the machines, `seconds`, and if known `total`, `speedup`, \
         `efficiency`), and each other line is a run"
    )]
    Empty {
        /// Runs or machines.
        what: &'static str,
    },
    /// No elapsed times.
    #[error("there is no column `seconds`, the elapsed time of each run{}", renamed(.nearest))]
    NoTimes {
        /// The column that is most probably meant.
        nearest: Option<String>,
    },
    /// No elapsed time of a run whose columns are its own.
    #[error("{row} has no `seconds`, its elapsed time{}", renamed(.nearest))]
    NoTime {
        /// Which run.
        row: Row,
        /// The key that is most probably meant.
        nearest: Option<String>,
    },
    /// Cells that are separated by commas.
    #[error("cells are separated by commas, which stand in numbers too: separate them by tabs or by spaces")]
    Commas,
    /// A column without a name.
    #[error("{row}: column {column} has no name: separate names by one tab, or all of them by spaces")]
    NoName {
        /// Where the names stand.
        row: Row,
        /// Which of them, from 1.
        column: usize,
    },
    /// More cells than columns, or fewer.
    #[error(
        "{row}: {} for {columns} columns: write one for each; `-` stands for a value that is not known",
        if *.cells == 1 { "1 value".into() } else { format!("{} values", .cells) }
    )]
    Cells {
        /// Where.
        row: Row,
        /// How many are there.
        cells: usize,
        /// How many are to be.
        columns: usize,
    },
    /// A machine or a column whose name is taken.
    #[error("{at}: `{name}` is named twice: give each machine and each column a name of its own")]
    Duplicate {
        /// Where.
        at: String,
        /// Its name.
        name: String,
    },
    /// A machine that a configuration names twice.
    #[error("configuration {configuration}: `{machine}` is named twice: name it once, with the sum of its processors")]
    NamedTwice {
        /// What was asked for.
        configuration: String,
        /// The machine.
        machine: String,
    },
    /// A machine called like a column of another kind, or whose name could not be written in a configuration.
    #[error(
        "`{name}` is no name of a machine: it must not be empty, be `total`, `seconds`, `speedup` or `efficiency`, have more than \
         {LONGEST_NAME} bytes, or contain `=`, `,` or control characters"
    )]
    Name {
        /// What it is called.
        name: String,
    },
    /// A number of processors for each machine is needed.
    #[error("{row}: {found} numbers of processors for {machines} machines: give one for each")]
    Machines {
        /// Which run.
        row: Row,
        /// How many are there.
        found: usize,
        /// How many are to be.
        machines: usize,
    },
    /// Something that is no table of runs.
    #[error(
        "more than {most} machines: every column but `total`, `seconds`, `speedup` and `efficiency` is one, so this is most \
         probably another file"
    )]
    TooManyMachines {
        /// How many there may be.
        most: usize,
    },
    /// A machine whose power weight is not known.
    #[error(
        "{machine} has no reference time: add a run on one processor of {machine} alone, or take {machine} out{}",
        meant(.nearest)
    )]
    NoReference {
        /// The machine.
        machine: String,
        /// One that has a reference time and is called almost the same.
        nearest: Option<String>,
    },
    /// Machines that are too different to be compared.
    #[error("{machine} is more than 10^9 times slower than {fastest}: check that both numbers have the same unit")]
    TooSlow {
        /// The slower one.
        machine: String,
        /// The fastest.
        fastest: String,
    },
    /// A run, or a configuration, that uses nothing.
    #[error("{at}: the configuration has no processors: give at least one machine one processor")]
    NoProcessors {
        /// Where.
        at: String,
    },
    /// A number of processors that is not the sum of the others.
    #[error("{row}, column `total`: {found} processors, but the machines have {sum}: correct one of them")]
    Total {
        /// Which run.
        row: Row,
        /// What is there.
        found: u64,
        /// What is to be there.
        sum: u64,
    },
    /// Two runs with one configuration.
    #[error("{row}: the configuration {configuration} is already in {first}: keep one of them, the median say")]
    Repeated {
        /// The second of them.
        row: Row,
        /// The first.
        first: Row,
        /// What both use.
        configuration: String,
    },
    /// A machine that the table does not have.
    #[error("there is no machine `{machine}`{}; the table has {known}", meant(.nearest))]
    UnknownMachine {
        /// What was asked for.
        machine: String,
        /// The one that is called almost the same.
        nearest: Option<String>,
        /// Those that there are, a dozen at most.
        known: String,
    },
    /// A configuration that another table made.
    #[error(
        "the configuration {configuration} is one of {machines}, and here the machines are {known}: make it with \
         the `configuration` of these"
    )]
    OtherMachines {
        /// What was asked for.
        configuration: String,
        /// The machines that it is made of.
        machines: String,
        /// Those that there are.
        known: String,
    },
    /// Something that is not `MACHINE=PROCESSORS`.
    #[error("`{part}` is not MACHINE=PROCESSORS: write a configuration as {example}")]
    Configuration {
        /// What is there.
        part: String,
        /// A right one.
        example: String,
    },
    /// A configuration that no run has.
    #[error("no run has the configuration {configuration}; measured are {known}")]
    NotMeasured {
        /// What was asked for.
        configuration: String,
        /// Those that there are, a dozen at most.
        known: String,
    },
    /// Nothing to predict from.
    #[error(
        "no other run has more than one processor, so no efficiency is known for {configuration}: measure one, or give an \
         efficiency, 85% say"
    )]
    NoParallelRun {
        /// What was asked for.
        configuration: String,
    },
    /// No JSON, or not the right one.
    #[error(
        "line {line}, column {column}: {what}. Write a list of runs, such as \
         [{{\"A\": 1, \"seconds\": 9.5}}, {{\"B\": 1, \"seconds\": 7}}, {{\"A\": 2, \"B\": 1, \"seconds\": 3.1}}]"
    )]
    Json {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What the parser says.
        what: String,
    },
}

/// What to do about a column that is most probably called otherwise.
fn renamed(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |nearest| format!(" (is `{nearest}` meant? Then call it `seconds`)"))
}

/// `value`, if the model can calculate with it.
///
/// # Errors
/// [`Error::Number`]: zero, negative, NaN, infinite, or beyond what products and quotients of such numbers can hold.
pub(super) fn positive(
    value: f64,
    at: impl FnOnce() -> String,
    found: impl Display,
    expected: &'static str,
) -> Result<f64, Error> {
    if (1e-60..=1e60).contains(&value) {
        return Ok(value);
    }
    Err(Error::Number { at: at(), found: found.to_string(), expected })
}
