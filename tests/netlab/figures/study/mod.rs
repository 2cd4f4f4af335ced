//! Whole programs on the emulated cluster: the figures of the paper, beside both MPIs. How it is measured: `README.md`
//! beside this.

mod case;
mod goals;
mod grid;
mod point;
mod record;
mod section;
mod table;

use crate::mpis::Mpis;
use aurora_suite::figures::job::{Run, Stage};
use aurora_suite::figures::{say, took};
use aurora_suite::{machine, results};
use clap::Args;
use grid::{Filter, Plan};
use point::Point;
use record::{Identity, Record, Study};
use serde_json::json;
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
    let (commit, mut ran, mut points, mut refused) = (commit(), 0, Vec::new(), Vec::new());
    for (number, plan) in (1..).zip(&plans) {
        let (begun, place) = (Instant::now(), format!("[{number}/{}] {}", plans.len(), plan.key()));
        let run = plan.run(&arguments.mpis, &arguments.patient, arguments.reps as usize);
        let variables = run.variables.clone();
        let identity = Identity { key: plan.key(), commit: commit.clone(), reps: run.reps, variables };
        let kept = record::done(&records, &identity).filter(|_| !damage);
        ran += usize::from(kept.is_none());
        let record = kept.cloned().map_or_else(|| measure(arguments, plan, run, identity), Ok);
        match record.map_err(|why| vec![why]).and_then(|record| Point::new(*plan, record)) {
            Ok(point) => {
                let from =
                    kept.map_or_else(|| format!("{:.0} s", begun.elapsed().as_secs_f64()), |_| "from the file".into());
                say(&format!("{place}: {} ({from})", point.brief()));
                if kept.is_none() {
                    record::append(file, &point.record)?;
                }
                points.push(point);
            }
            Err(reasons) => {
                refused.push(format!("NOT A ROW: {}: {}", plan.key(), reasons.join("; ")));
                say(&format!("{place}: {}", refused[refused.len() - 1]));
            }
        }
    }
    if !damage {
        record::write(&file.with_extension("shown.jsonl"), points.iter().map(|point| &point.record))?;
    }
    let (alone, points): (Vec<_>, Vec<_>) = points.into_iter().partition(|point| point.plan.kernel.is_some());
    let took = format!("{}, {} more taken from {}", took(ran, begun), plans.len() - ran, file.display());
    let text = section::section(&points, &alone, &refused, arguments.reps, &took);
    say(&format!("\n{text}\n{took}"));
    // Nobody wants none, or damaged ones, in the place of those that stand there.
    let is_published = arguments.out.is_none() && filter.is_all() && !damage && !points.is_empty();
    let published = is_published.then(|| PathBuf::from(results::FILE));
    if let Some(out) = arguments.out.as_ref().or(published.as_ref()) {
        results::write(out, HEADING, &text)?;
        say(&format!("written to {}", out.display()));
    }
    if is_published {
        results::write(results::README.as_ref(), README_HEADING, &section::short(&points, &alone))?;
    }
    Ok(if refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs a job.
fn measure(arguments: &Arguments, plan: &Plan, run: Run, of: Identity) -> Result<Record, String> {
    let outcome = run.outcome(arguments.mpis.aurora(run.flavour), arguments.damage)?;
    let mut object = outcome.object;
    object.insert("command".into(), json!(typed(&run)));
    object.insert("labels".into(), plan.labels());
    Ok(Record { study: Study { of, seen: outcome.seen }, object })
}

/// How one would type it.
fn typed(run: &Run) -> String {
    let aurora = format!("aurora {} --json", run.words);
    let Stage::Lab(_) = run.stage else { return aurora };
    let variables = run.environment().into_iter().map(|(name, value)| format!("{name}='{value}' "));
    let variables: String = variables.collect();
    format!("{variables}tests/netlab/netlab mpirun LAB {} {} {aurora}", run.flavour, run.ranks)
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
