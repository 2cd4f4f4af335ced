//! Whole programs on the emulated cluster: the figures of the paper, beside both MPIs. How it is measured: `README.md`
//! beside this.

mod case;
mod goals;
mod grid;
mod job;
mod point;
mod record;
mod section;
mod table;

use crate::mpis::Mpis;
use aurora_suite::figures::{say, took};
use aurora_suite::{machine, results};
use clap::Args;
use grid::Filter;
use job::Job;
use point::{Computing, Point, spread};
use record::Record;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// Its part of the results.
const HEADING: &str = "# The paper's figures on the emulated cluster";

/// What the README says of it.
const README_HEADING: &str = "### The paper's programs on an emulated cluster";

#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    filter: Filter,
    /// How often to repeat each program
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    reps: u32,
    /// Where each job's figures go when it is done; what is there already is not measured again
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
    /// Begin anew, whatever is there
    #[arg(long)]
    fresh: bool,
    /// In which file to write the section of these results [default: benches/RESULTS.md, if nothing is left out]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    mpis: Mpis,
    /// `patient.c` as a library
    #[arg(long, value_name = "FILE")]
    patient: PathBuf,
    /// Damage each result before it is verified
    #[arg(long, hide = true)]
    damage: bool,
}

/// All that was measured, and what was not.
#[derive(Debug, Default)]
pub struct Found {
    pub points: Vec<Point>,
    pub computing: Vec<Computing>,
    /// What is no row, and why.
    pub refused: Vec<String>,
    /// What the tables are made of.
    records: Vec<Record>,
    /// How many jobs were run, and how many were in the file.
    ran: usize,
    kept: usize,
}

/// Runs the jobs that are not done, and writes the tables.
///
/// # Errors
/// What was asked for and cannot be; a file that cannot be read or written.
pub fn study(arguments: &Arguments) -> Result<ExitCode, String> {
    let Arguments { filter, mpis, file, patient, damage, .. } = arguments;
    let (reps, begun) = (arguments.reps as usize, Instant::now());
    let plans = filter.plans()?;
    let kernels = filter.cases().flat_map(|case| case.program.kernels.iter().map(move |kernel| (case, *kernel)));
    let kernels: Vec<_> = kernels.collect();
    let mut study = Progress::new(arguments, plans.len() + kernels.len())?;
    for (case, kernel) in kernels {
        let computing = study.take(&Job::alone(case, kernel, reps), |record| {
            let computing = Computing::new(case, kernel, record)?;
            Ok((format!("{:.4} s of computing alone", computing.seconds), computing))
        })?;
        study.found.computing.extend(computing);
    }
    for plan in plans {
        let point = study.take(&Job::on_lab(&plan, mpis, patient, reps), |record| {
            let point = Point::new(plan, record)?;
            Ok((brief(&point), point))
        })?;
        study.found.points.extend(point);
    }
    let found = study.found;
    if !damage {
        record::write(&file.with_extension("shown.jsonl"), &found.records)?;
    }
    let took = format!("{}, {} more taken from {}", took(found.ran, begun), found.kept, file.display());
    let text = section::section(&found, arguments.reps, &took);
    say(&format!("\n{text}\n{took}"));
    // Nobody wants none, or damaged ones, in the place of those that stand there.
    let is_published = arguments.out.is_none() && filter.is_all() && !damage && !found.points.is_empty();
    let published = is_published.then(|| PathBuf::from(results::FILE));
    if let Some(out) = arguments.out.as_ref().or(published.as_ref()) {
        results::write(out, HEADING, &text)?;
        say(&format!("written to {}", out.display()));
    }
    if is_published {
        results::write(results::README.as_ref(), README_HEADING, &section::short(&found))?;
    }
    Ok(if found.refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The jobs one after the other, each with a line that says what it came to.
struct Progress<'a> {
    arguments: &'a Arguments,
    commit: String,
    records: Vec<Record>,
    all: usize,
    number: usize,
    found: Found,
}

impl<'a> Progress<'a> {
    fn new(arguments: &'a Arguments, all: usize) -> Result<Self, String> {
        let file = &arguments.file;
        if arguments.fresh && file.exists() {
            fs::remove_file(file).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        let (records, others) = record::load(file)?;
        if others > 0 {
            say(&format!("{}: {others} lines are none of this study", file.display()));
        }
        Ok(Progress { arguments, commit: commit(), records, all, number: 0, found: Found::default() })
    }

    /// A job's figures: from the file, or run now and then added to it. What is no row is said, and not kept.
    fn take<T>(
        &mut self,
        job: &Job,
        judge: impl Fn(&Record) -> Result<(String, T), Vec<String>>,
    ) -> Result<Option<T>, String> {
        let Arguments { mpis, file, damage, .. } = self.arguments;
        let begun = Instant::now();
        self.number += 1;
        let kept = record::done(&self.records, &job.key, job.run.reps, &self.commit, &job.run.tuning.words());
        let kept = kept.filter(|_| !damage).cloned();
        let is_new = kept.is_none();
        self.found.ran += usize::from(is_new);
        self.found.kept += usize::from(!is_new);
        let record = kept.map_or_else(|| job.record(mpis, &self.commit, *damage), Ok);
        let judged = record.map_err(|why| vec![why]).and_then(|record| Ok((judge(&record)?, record)));
        let place = format!("[{}/{}] {}", self.number, self.all, job.key);
        match judged {
            Ok(((words, taken), record)) => {
                let from = format!("{:.0} s", begun.elapsed().as_secs_f64());
                say(&format!("{place}: {words} ({})", if is_new { &from } else { "from the file" }));
                if is_new {
                    record::append(file, &record)?;
                }
                self.found.records.push(record);
                Ok(Some(taken))
            }
            Err(reasons) => {
                let refused = format!("NOT A ROW: {}: {}", job.key, reasons.join("; "));
                say(&format!("{place}: {refused}"));
                self.found.refused.push(refused);
                Ok(None)
            }
        }
    }
}

/// The commit, and a number for what differs from it here: two such states are never taken for one. What measuring
/// writes does not count.
fn commit() -> String {
    let commit = machine::said("git", &["rev-parse", "--short", "HEAD"], "");
    let parts = [":/", ":(top,exclude)benches/RESULTS.md", ":(top,exclude)README.md"];
    match Command::new("git").args(["diff", "HEAD", "--"]).args(parts).output() {
        Ok(differs) if !differs.stdout.is_empty() => {
            let mut hasher = DefaultHasher::new();
            differs.stdout.hash(&mut hasher);
            format!("{commit}-dirty-{:08x}", hasher.finish() as u32)
        }
        _ => commit,
    }
}

/// What a job came to, in a line.
fn brief(point: &Point) -> String {
    let of = |run: &point::Run| {
        let sharing = run.sharing_seconds;
        let busy = run.cores_busy.map_or(String::new(), |busy| format!(", {:.0} % busy", busy * 100.0));
        format!("{} {:.1} ms (max/min {:.2}{busy})", run.implementation, sharing.median * 1e3, spread(sharing))
    };
    format!("sharing {}", point.runs.iter().map(of).collect::<Vec<_>>().join(", "))
}
