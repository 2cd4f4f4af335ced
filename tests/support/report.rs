//! The report of a job about its bodies: lines on rank 0's stdout.

use std::io::Write;

const MARK: &str = "@body";

/// A line of the report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Line {
    /// A body begins.
    Begins(String),
    /// A body has ended on every rank.
    Passed(String),
}

impl Line {
    pub(crate) fn say(&self) {
        let (word, name) = match self {
            Line::Begins(name) => ("begins", name),
            Line::Passed(name) => ("passed", name),
        };
        let mut stdout = std::io::stdout().lock();
        // If the driver has ended, nobody needs the report.
        let _ = writeln!(stdout, "{MARK} {word} {name}").and_then(|()| stdout.flush());
    }

    pub(crate) fn hear(line: &str) -> Option<Line> {
        let mut words = line.strip_prefix(MARK)?.split_whitespace();
        let (word, name) = (words.next()?, words.next()?.to_string());
        match word {
            "begins" => Some(Line::Begins(name)),
            "passed" => Some(Line::Passed(name)),
            _ => None,
        }
    }
}
