//! Tables of figures: [`row`] says what is measured and what is to be reached, [`job`] runs it, [`judge`] says whether
//! a row is complete and whether it reaches that.

pub mod job;
pub mod judge;
pub mod row;

use crate::choice::Choice;
use crate::results;
use job::{Outcome, Run};
use judge::Measured;
use row::Row;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// All jobs of a table by the runs that they were; rows that need the same one share it.
pub type Done = Vec<(Run, Result<Outcome, String>)>;

/// A table that has been filled.
#[derive(Debug, Default)]
pub struct Table {
    head: &'static str,
    lines: Vec<String>,
    /// The rows that have all that they must have.
    pub rows: Vec<Measured>,
    /// What was run.
    pub done: Done,
    /// What is no row, and why.
    pub refused: Vec<String>,
    /// How many jobs, in how many minutes.
    pub took: String,
}

impl Table {
    /// Measures rows, and prints a line for each as soon as it can. `runs` says what jobs a row consists of, `aurora`
    /// by which build.
    pub fn fill<'a>(
        (head, line): (&'static str, fn(&Measured) -> String),
        rows: &[Row],
        runs: impl Fn(&Row) -> Vec<Run>,
        aurora: impl Fn(&Run) -> &'a Path,
        damage: bool,
    ) -> Table {
        let begun = Instant::now();
        let mut table = Table { head, ..Table::default() };
        say(head);
        for row in rows {
            let mut outcome = |run: Run| {
                if let Some((_, done)) = table.done.iter().find(|(done, _)| *done == run) {
                    return done.clone();
                }
                let outcome = run.outcome(aurora(&run), damage);
                table.done.push((run, outcome.clone()));
                outcome
            };
            let ran = runs(row).into_iter().map(&mut outcome).collect();
            match judge::complete(row, ran) {
                Ok(measured) => {
                    table.lines.push(line(&measured));
                    say(&line(&measured));
                    table.rows.push(measured);
                }
                Err(reasons) => {
                    let refused = format!("\nNOT A ROW: {} ({}): {}\n", row.title(), row.name, reasons.join("; "));
                    say(&refused);
                    table.refused.push(refused);
                }
            }
        }
        table.took = took(table.done.len(), begun);
        say(&format!("\n{}", table.took));
        table
    }

    /// As Markdown: the rows, then what is none.
    pub fn text(&self) -> String {
        let lines = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        format!("{}\n{}\n{}", self.head, lines(&self.lines), lines(&self.refused))
    }

    /// Writes a section where that is wanted; the exit code says whether all rows are there.
    ///
    /// # Errors
    /// That it cannot be written.
    pub fn write(&self, choice: &Choice, heading: &str, section: &str) -> Result<ExitCode, String> {
        if let Some(out) = choice.out() {
            results::write(&out, heading, section)?;
            say(&format!("written to {}", out.display()));
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
