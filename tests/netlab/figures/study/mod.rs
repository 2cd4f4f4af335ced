//! Whole programs on the emulated cluster: the figures of the paper, compared with both MPIs. `README.md` in this
//! folder describes the measurement.

mod case;
mod goals;
mod grid;
mod point;
mod record;
mod section;

use crate::mpis::Mpis;
use aurora_suite::figures::job::{Run, Stage};
use aurora_suite::figures::{say, took};
use aurora_suite::{front, machine, results};
use clap::Args;
use grid::{Filter, Plan};
use point::Point;
use record::Record;
use serde_json::json;
use std::fs;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// The heading of its section in the results.
const HEADING: &str = "# The paper's figures on the emulated cluster";

#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    filter: Filter,
    /// Number of repetitions of each program
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    reps: u32,
    /// File for each job's figures when it is done; jobs that it already has are not measured again
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
    /// Measure again all that the file has
    #[arg(long)]
    fresh: bool,
    /// File for the section of these results [default: benches/RESULTS.md, if nothing is left out]
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

/// Runs the jobs that are not done, and writes the tables.
pub fn study(arguments: &Arguments) -> Result<ExitCode, String> {
    let Arguments { filter, file, damage, fresh, .. } = arguments;
    let (plans, begun) = (filter.plans()?, Instant::now());
    if *fresh && file.exists() {
        fs::remove_file(file).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    let (records, others) = record::load(file)?;
    if others > 0 {
        say(&format!("{}: {others} lines are none of this study", file.display()));
    }
    let (commit, mut kept, mut points, mut refused) = (commit(), 0, Vec::new(), Vec::new());
    for (number, plan) in (1..).zip(&plans) {
        let (begun, place) = (Instant::now(), format!("[{number}/{}] {}", plans.len(), plan.key()));
        match job(arguments, plan, &records, &commit) {
            Ok((point, is_new)) => {
                let from = format!("{:.0} s", begun.elapsed().as_secs_f64());
                say(&format!("{place}: {} ({})", point.brief(), if is_new { &from } else { "from the file" }));
                if is_new {
                    record::append(file, &point.record)?;
                }
                kept += usize::from(!is_new);
                points.push(point);
            }
            Err(reasons) => {
                let reasons = format!("NOT A ROW: {}: {}", plan.key(), reasons.join("; "));
                say(&format!("{place}: {reasons}"));
                refused.push(reasons);
            }
        }
    }
    if !damage {
        record::write(&file.with_extension("shown.jsonl"), points.iter().map(|point| &point.record))?;
    }
    let (alone, points): (Vec<_>, Vec<_>) = points.into_iter().partition(|point| point.plan.kernel.is_some());
    let took = format!("{}, {kept} more taken from {}", took(plans.len() - kept, begun), file.display());
    let text = section::section(&points, &alone, &refused, arguments.reps, &took);
    say(&format!("\n{text}\n{took}"));
    // An empty table or damaged results must not replace the published results.
    let is_published = arguments.out.is_none() && filter.is_all() && !damage && !points.is_empty();
    let published = is_published.then(|| PathBuf::from(results::FILE));
    if let Some(out) = arguments.out.as_ref().or(published.as_ref()) {
        results::write(out, HEADING, &text)?;
        say(&format!("written to {}", out.display()));
    }
    if is_published {
        front::update()?;
    }
    Ok(if refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A job's figures, and true if they are new: from the file or from a run. Otherwise the list of all errors.
fn job(arguments: &Arguments, plan: &Plan, records: &[Record], commit: &str) -> Result<(Point, bool), Vec<String>> {
    let Arguments { mpis, patient, damage, .. } = arguments;
    let run = plan.run(mpis, patient, arguments.reps as usize);
    let study = json!({ "key": plan.key(), "commit": commit, "reps": run.reps, "variables": run.variables });
    if let Some(kept) = record::done(records, &study).filter(|_| !damage) {
        return Ok((Point::new(*plan, kept.clone(), run.reps)?, false));
    }
    let outcome = run.outcome(mpis.aurora(run.flavour), *damage).map_err(|why| vec![why])?;
    let mut object = outcome.object;
    object.insert("command".into(), typed(&run).into());
    object.insert("labels".into(), plan.labels());
    Ok((Point::new(*plan, Record { study, seen: outcome.seen, object }, run.reps)?, true))
}

/// The command as a user types it.
fn typed(run: &Run) -> String {
    let aurora = format!("aurora {} --json", run.words);
    let Stage::Lab(_) = run.stage else { return aurora };
    let variables = run.environment().into_iter().map(|(name, value)| format!("{name}='{value}' "));
    let variables: String = variables.collect();
    format!("{variables}tests/netlab/netlab mpirun LAB {} {} {aurora}", run.flavour, run.ranks)
}

/// The commit, and a hash of the local changes, so that two different states have different names. Files that
/// measurements write do not count.
fn commit() -> String {
    let commit = machine::said("git", &["rev-parse", "--short", "HEAD"], "");
    let parts = [":/", ":(top,exclude)benches/RESULTS.md", ":(top,exclude)README.md", ":(top,exclude)docs/src/images"];
    let differs = Command::new("git").args(["diff", "HEAD", "--"]).args(parts).output();
    match differs.map(|differs| differs.stdout).unwrap_or_default() {
        same if same.is_empty() => commit,
        differs => {
            let number = BuildHasherDefault::<DefaultHasher>::default().hash_one(&differs) as u32;
            format!("{commit}-dirty-{number:08x}")
        }
    }
}
