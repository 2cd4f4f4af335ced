//! Tables of figures: [`row`] says what is measured and what is to be reached, [`job`] runs it, [`judge`] says whether
//! a row is complete and whether it reaches that.

pub mod job;
pub mod judge;
pub mod row;

use crate::choice::Choice;
use crate::{front, results};
use job::{Outcome, Run};
use judge::Measured;
use row::Row;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// A table that has been filled.
#[derive(Debug, Default)]
pub struct Table {
    /// As Markdown: the head, and a line for each row.
    lines: String,
    /// The rows that have all that they must have.
    pub rows: Vec<Measured>,
    /// What was run, and what came of it; rows that need the same job share it.
    pub done: Vec<(Run, Result<Outcome, String>)>,
    /// What is no row, and why.
    pub refused: String,
    /// How many jobs, in how many minutes.
    pub took: String,
}

impl Table {
    /// Measures rows, and prints a line for each as soon as it can. `runs` says what jobs a row consists of, `aurora`
    /// by which build.
    pub fn fill<'a>(
        (head, line): (&str, fn(&Measured) -> String),
        rows: &[Row],
        runs: impl Fn(&Row) -> Vec<Run>,
        aurora: impl Fn(&Run) -> &'a Path,
        damage: bool,
    ) -> Table {
        let begun = Instant::now();
        let mut table = Table::default();
        let add = |text: &mut String, line: &str| {
            say(line);
            text.extend([line, "\n"]);
        };
        add(&mut table.lines, head);
        for row in rows {
            let mut outcome = |run: Run| {
                if let Some((_, done)) = table.done.iter().find(|(done, _)| *done == run) {
                    return done.clone();
                }
                let outcome = run.outcome(aurora(&run), damage);
                table.done.push((run, outcome.clone()));
                outcome
            };
            match judge::complete(row, runs(row).into_iter().map(&mut outcome).collect()) {
                Ok(measured) => {
                    add(&mut table.lines, &line(&measured));
                    table.rows.push(measured);
                }
                Err(reasons) => {
                    let refused = format!("\nNOT A ROW: {} ({}): {}\n", row.title(), row.name, reasons.join("; "));
                    add(&mut table.refused, &refused);
                }
            }
        }
        table.took = took(table.done.len(), begun);
        say(&format!("\n{}", table.took));
        table
    }

    /// As Markdown: the rows, then what is none.
    pub fn text(&self) -> String {
        format!("{}\n{}", self.lines, self.refused)
    }

    /// Writes a section where that is wanted, if it can; the exit code says whether all rows are there.
    pub fn write(&self, choice: &Choice, heading: &str, section: &str) -> Result<ExitCode, String> {
        if let Some(out) = choice.out() {
            results::write(&out, heading, section)?;
            say(&format!("written to {}", out.display()));
        }
        if choice.is_published() {
            front::update()?;
        }
        Ok(if self.refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// So many jobs since then.
pub fn took(jobs: usize, begun: Instant) -> String {
    format!("{jobs} jobs in {:.1} minutes", begun.elapsed().as_secs_f64() / 60.0)
}

/// A line on stdout; a reader that has gone has read enough.
pub fn say(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}

/// What a command comes to: an error is refused arguments, or what cannot be measured or written here.
#[allow(clippy::print_stderr)]
pub fn exit(command: &str, outcome: Result<ExitCode, String>) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        eprintln!("{command}: {error}");
        ExitCode::from(2)
    })
}
