//! The errors in a table, a configuration or a number.

use crate::spelling::{LONGEST_NAME, meant};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};
use thiserror::Error;

/// The place of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
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

/// An error in a table, a configuration or a number. The text names the error, its place and the remedy.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A value that is missing, not a number, zero, negative, infinite, too small or too large.
    #[error("{at}: `{found}` is not {expected}")]
    Number {
        /// Row and column, or the machine, or the option.
        at: String,
        /// The text that is there.
        found: String,
        /// The value that is expected, and the remedy.
        expected: &'static str,
    },
    /// No runs, no machines or no columns.
    #[error(
        "the table has no {what}: its first line names the columns (the machines, `seconds`, and if known `total`, `speedup`, \
         `efficiency`), and each other line is a run"
    )]
    Empty {
        /// The missing thing: `runs`, `machines` or `columns`.
        what: &'static str,
    },
    /// No elapsed times.
    #[error("there is no column `seconds`, the elapsed time of each run{}", renamed(.nearest))]
    NoTimes {
        /// The column that most probably has the elapsed times.
        nearest: Option<String>,
    },
    /// No elapsed time of a run, in a table in which another run has one.
    #[error("{row} has no `seconds`, its elapsed time{}", renamed(.nearest))]
    NoTime {
        /// The run.
        row: Row,
        /// The key that most probably has the elapsed time.
        nearest: Option<String>,
    },
    /// Cells that are separated by commas.
    #[error("cells are separated by commas, which may be part of numbers: separate them by tabs or by spaces")]
    Commas,
    /// A column without a name.
    #[error("{row}: column {column} has no name: separate names by one tab, or all of them by spaces")]
    NoName {
        /// The row of the names.
        row: Row,
        /// The number of the column, from 1.
        column: usize,
    },
    /// More cells than columns, or fewer.
    #[error(
        "{row}: {} for {columns} columns: write one for each; `-` stands for a value that is not known",
        if *.cells == 1 { "1 value".into() } else { format!("{} values", .cells) }
    )]
    Cells {
        /// The run.
        row: Row,
        /// The number of cells.
        cells: usize,
        /// The number of columns.
        columns: usize,
    },
    /// A machine or a column whose name is taken.
    #[error("{at}: `{name}` is named twice: give each machine and each column a name of its own")]
    Duplicate {
        /// The place of the second one.
        at: String,
        /// Its name.
        name: String,
    },
    /// A machine that a configuration names twice.
    #[error("configuration {configuration}: `{machine}` is named twice: name it once, with the sum of its processors")]
    NamedTwice {
        /// The configuration.
        configuration: String,
        /// The machine.
        machine: String,
    },
    /// A machine called like a column of another kind, or whose name could not be written in a configuration.
    #[error(
        "`{name}` cannot be the name of a machine: it must not be empty, be `total`, `seconds`, `speedup` or \
         `efficiency`, have more than {LONGEST_NAME} bytes, or contain `=`, `,` or control characters"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// A run that does not have one number of processors for each machine.
    #[error("{row}: {found} numbers of processors for {machines} machines: give one for each")]
    Machines {
        /// The run.
        row: Row,
        /// The number of numbers.
        found: usize,
        /// The number of machines.
        machines: usize,
    },
    /// More machines than a table of runs can have.
    #[error(
        "more than {most} machines: every column but `total`, `seconds`, `speedup` and `efficiency` is one, so this is most \
         probably another file"
    )]
    TooManyMachines {
        /// The maximum number of machines.
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
        /// A machine with a reference time and almost the same name.
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
    /// A run, or a configuration, without processors.
    #[error("{at}: the configuration has no processors: give at least one machine one processor")]
    NoProcessors {
        /// The place.
        at: String,
    },
    /// A total of processors that is not the sum over the machines.
    #[error("{row}, column `total`: {found} processors, but the machines have {sum}: correct one of them")]
    Total {
        /// The run.
        row: Row,
        /// The total that is there.
        found: u64,
        /// The sum over the machines.
        sum: u64,
    },
    /// Two runs with one configuration.
    #[error("{row}: the configuration {configuration} is already in {first}: keep one of them, for example the median")]
    Repeated {
        /// The second run.
        row: Row,
        /// The first run.
        first: Row,
        /// The configuration of both.
        configuration: String,
    },
    /// Two rows of power weights.
    #[error("{row}: {first} has the power weights `PW` already: keep one of the two rows")]
    Weights {
        /// The second row of power weights.
        row: Row,
        /// The first row of power weights.
        first: Row,
    },
    /// A machine that the table does not have.
    #[error("there is no machine `{machine}`{}; the table has {known}", meant(.nearest))]
    UnknownMachine {
        /// The name that was given.
        machine: String,
        /// The machine with almost the same name.
        nearest: Option<String>,
        /// The machines of the table, a dozen at most.
        known: String,
    },
    /// A configuration of other machines.
    #[error(
        "the configuration {configuration} was made for {machines}, but the machines are {known}: make it with \
         `configuration` of these machines"
    )]
    OtherMachines {
        /// The configuration.
        configuration: String,
        /// The machines that it is made of.
        machines: String,
        /// The machines here.
        known: String,
    },
    /// A part of a configuration that is not `MACHINE=PROCESSORS`.
    #[error("`{part}` is not MACHINE=PROCESSORS: write a configuration as {example}")]
    Configuration {
        /// The part.
        part: String,
        /// A valid configuration.
        example: String,
    },
    /// A configuration that no run has.
    #[error("no run has the configuration {configuration}; the measured ones are {known}")]
    NotMeasured {
        /// The configuration.
        configuration: String,
        /// The measured configurations, a dozen at most.
        known: String,
    },
    /// No run from which a prediction is possible.
    #[error(
        "no other run has more than one processor, so no efficiency is known for {configuration}: measure one, or give an \
         efficiency, for example 85%"
    )]
    NoParallelRun {
        /// The configuration.
        configuration: String,
    },
    /// Text that is not JSON, or not a list of runs.
    #[error(
        "line {line}, column {column}: {what}. Write a list of runs, such as \
         [{{\"A\": 1, \"seconds\": 9.5}}, {{\"B\": 1, \"seconds\": 7}}, {{\"A\": 2, \"B\": 1, \"seconds\": 3.1}}]"
    )]
    Json {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The message of the parser.
        what: String,
    },
}

/// Returns the remedy for a column that most probably has the wrong name.
fn renamed(nearest: &Option<String>) -> String {
    nearest
        .as_ref()
        .map_or_else(String::new, |nearest| format!(" (if `{nearest}` is that column, rename it to `seconds`)"))
}

/// Returns `value`, if the model can calculate with it.
///
/// # Errors
/// [`Error::Number`]: zero, negative, NaN, infinite, or so small or large that products and quotients of such numbers
/// could overflow.
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
