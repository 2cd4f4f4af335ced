//! Tables of figures. [`row`] defines the measurement and the target of a row, [`job`] runs its jobs, and [`judge`]
//! decides whether the row is complete and reaches its target.

pub mod job;
pub mod judge;
pub mod row;

use crate::choice::Choice;
use crate::{front, markdown, results};
use job::{Outcome, Run, Stage};
use judge::{Measured, full};
use row::{Reach, Row};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// The columns of the table. The front page reads its lines.
pub const HEAD: &str = "row|what|on|to be reached|Aurora|reached|beside|cores busy";

/// A line of the table. `figures` are Aurora's and those to compare with, each with its median in bold.
pub fn line(measured: &Measured, [aurora, beside]: [String; 2]) -> String {
    let (row, busy) = (measured.row, measured.busy());
    let is_node = row.job.stage == Stage::Node;
    let reached = match &measured.shortfalls()[..] {
        _ if row.reach == Reach::Any => "-".into(),
        [] => "yes".into(),
        _ if is_node => "**no**".into(),
        short => format!("**no**: {}", short.join(", ")),
    };
    let busy = format!("{:.0} %{}", busy * 100.0, if is_node { "" } else { full(busy) });
    markdown::line(&[row.name.into(), row.what.into(), row.place(), row.goal(), aurora, reached, beside, busy])
}

/// A filled table.
#[derive(Debug, Default)]
pub struct Table {
    /// As Markdown: the head, and a line for each row.
    lines: String,
    /// The complete rows.
    pub rows: Vec<Measured>,
    /// The jobs and their results; rows that need the same job share it.
    pub done: Vec<(Run, Result<Outcome, String>)>,
    /// The incomplete rows, with reasons.
    pub refused: String,
    /// The number of jobs, and the minutes that they took.
    pub took: String,
}

impl Table {
    /// Measures rows, and prints a line for each as soon as possible. `figures` are those of [`line()`], `runs` the
    /// jobs of a row, `aurora` the build for a job.
    pub fn fill<'a>(
        rows: &[Row],
        figures: fn(&Measured) -> [String; 2],
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
        add(&mut table.lines, &markdown::head(HEAD));
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
                    add(&mut table.lines, &line(&measured, figures(&measured)));
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

    /// As Markdown: the rows, then the incomplete rows.
    pub fn text(&self) -> String {
        format!("{}\n{}", self.lines, self.refused)
    }

    /// Writes a section to the output file, if there is one, and updates the front page if the results are published.
    /// The exit code is a failure if a row is incomplete.
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

/// The number of jobs and the time since `begun`, in words.
pub fn took(jobs: usize, begun: Instant) -> String {
    format!("{jobs} jobs in {:.1} minutes", begun.elapsed().as_secs_f64() / 60.0)
}

/// Prints a line on stdout; ignores a closed pipe.
pub fn say(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}

/// The exit code of a command. An error means refused arguments, or a figure that cannot be measured or written here.
#[allow(clippy::print_stderr)]
pub fn exit(command: &str, outcome: Result<ExitCode, String>) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        eprintln!("{command}: {error}");
        ExitCode::from(2)
    })
}
