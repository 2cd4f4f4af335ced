//! Whole programs on the emulated cluster: the figures of the paper, beside both MPIs. How it is measured: `README.md`
//! beside this.

mod case;
mod goals;
mod grid;
mod job;
mod model;
mod point;
mod record;
mod section;
mod table;

use crate::job::Binaries;
use crate::say;
use crate::tuning::{self, Wishes};
use aurora_suite::{machine, results};
use case::Case;
use clap::Args;
use grid::Filter;
use job::Jobs;
use point::{Computing, Point, spread};
use record::Record;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// Its part of the results.
const HEADING: &str = "# The paper's figures on the emulated cluster";

/// What the README says of it.
const README_HEADING: &str = "### The paper's programs on an emulated cluster";

#[derive(Args, Debug)]
pub struct Arguments {
    /// Only these data sets: mm2-512, mm2-704, psrs-6M, psrs-8M
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    rows: Vec<String>,
    /// Only these networks: 155-9000, 155-1500, 1000-9000
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    networks: Vec<String>,
    /// Only these numbers of nodes: 1, 2, 4, 8, 16
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    nodes: Vec<usize>,
    /// Only beside these: openmpi, mpich
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    mpis: Vec<String>,
    /// Only in these settings: defaults, tuned, defaults-polling, tuned-polling
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    settings: Vec<String>,
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
    /// Another tuning of Open MPI, such as "OMPI_MCA_a=1 OMPI_MCA_b=2"
    #[arg(long, value_name = "VARIABLES")]
    tuned_openmpi: Option<String>,
    /// Another tuning of MPICH, such as "UCX_RNDV_THRESH=inf"
    #[arg(long, value_name = "VARIABLES")]
    tuned_mpich: Option<String>,
    #[command(flatten)]
    binaries: Binaries,
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
    pub records: Vec<Record>,
    /// How many jobs were run, and how many were in the file.
    pub ran: usize,
    pub kept: usize,
}

/// Runs the jobs that are not done, and writes the tables.
///
/// # Errors
/// What was asked for and cannot be; a file that cannot be read or written.
pub fn study(arguments: &Arguments) -> Result<ExitCode, String> {
    let filter = Filter {
        networks: arguments.networks.clone(),
        rows: arguments.rows.clone(),
        nodes: arguments.nodes.clone(),
        mpis: arguments.mpis.clone(),
        settings: arguments.settings.clone(),
    };
    let plans = filter.plans()?;
    let begun = Instant::now();
    let mut file = Progress::new(arguments, plans.len() + kernels(&filter).len())?;
    let mut found = Found::default();
    for (case, kernel) in kernels(&filter) {
        let take = |jobs: &Jobs| jobs.alone(case, kernel);
        let computing = file.take(&Jobs::alone_key(case, kernel), "", take, |record| {
            let computing = Computing::new(case, kernel, record)?;
            Ok((format!("{:.4} s of computing alone", computing.seconds), computing))
        })?;
        found.computing.extend(computing);
    }
    for plan in plans {
        let variables = plan.tuning(&file.jobs.wishes).words();
        let point = file.take(
            &plan.key(),
            &variables,
            |jobs| jobs.on_lab(&plan),
            |record| {
                let point = Point::new(plan, record)?;
                Ok((brief(&point), point))
            },
        )?;
        found.points.extend(point);
    }
    (found.refused, found.ran, found.kept) = (file.refused, file.ran, file.kept);
    found.records = file.shown;
    let shown = arguments.file.with_extension("shown.jsonl");
    if !arguments.damage {
        record::write(&shown, &found.records)?;
    }
    let took = format!(
        "{} jobs in {:.1} minutes, {} more taken from {}",
        found.ran,
        begun.elapsed().as_secs_f64() / 60.0,
        found.kept,
        arguments.file.display()
    );
    let text = section::section(&found, arguments.reps, &took);
    say(&format!("\n{text}\n{took}"));
    let (out, whole) = match (&arguments.out, filter.is_all()) {
        (Some(out), _) => (Some(out.clone()), false),
        // Nobody wants none, or damaged ones, in the place of those that stand there.
        (None, true) if arguments.damage || found.points.is_empty() => (None, false),
        (None, true) => (Some(results::FILE.into()), true),
        (None, false) => (None, false),
    };
    if let Some(out) = out {
        results::write(&out, HEADING, &text)?;
        say(&format!("written to {}", out.display()));
    }
    if whole {
        results::write(results::README.as_ref(), README_HEADING, &section::short(&found))?;
    }
    Ok(if found.refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn kernels(filter: &Filter) -> Vec<(Case, &'static str)> {
    let of = |case: Case| case.kernels().iter().map(move |kernel| (case, *kernel));
    filter.cases().into_iter().flat_map(of).collect()
}

/// The jobs one after the other, each with a line that says what it came to.
struct Progress<'a> {
    jobs: Jobs,
    file: &'a Path,
    records: Vec<Record>,
    all: usize,
    number: usize,
    ran: usize,
    kept: usize,
    refused: Vec<String>,
    /// What is no row is not in it, nor what is in the file of other commits.
    shown: Vec<Record>,
}

impl<'a> Progress<'a> {
    fn new(arguments: &'a Arguments, all: usize) -> Result<Self, String> {
        let file = arguments.file.as_path();
        if arguments.fresh && file.exists() {
            fs::remove_file(file).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        let (records, others) = record::load(file)?;
        if others > 0 {
            say(&format!("{}: {others} lines are none of this study", file.display()));
        }
        let wishes = Wishes {
            openmpi: arguments.tuned_openmpi.as_deref().map(tuning::parse).transpose()?,
            mpich: arguments.tuned_mpich.as_deref().map(tuning::parse).transpose()?,
        };
        let jobs = Jobs {
            binaries: arguments.binaries.clone(),
            patient: arguments.patient.clone(),
            reps: arguments.reps as usize,
            damage: arguments.damage,
            wishes,
            commit: commit(),
        };
        Ok(Progress { jobs, file, records, all, number: 0, ran: 0, kept: 0, refused: Vec::new(), shown: Vec::new() })
    }

    /// A job's figures: from the file, or run now and then added to it. What is no row is said, and not kept.
    fn take<T>(
        &mut self,
        key: &str,
        variables: &str,
        run: impl FnOnce(&Jobs) -> Result<Record, String>,
        judge: impl Fn(&Record) -> Result<(String, T), Vec<String>>,
    ) -> Result<Option<T>, String> {
        self.number += 1;
        let begun = Instant::now();
        let kept = record::done(&self.records, key, self.jobs.reps, &self.jobs.commit, variables);
        let kept = kept.filter(|_| !self.jobs.damage);
        let (record, is_new) = match kept {
            Some(record) => (Ok(record.clone()), false),
            None => (run(&self.jobs), true),
        };
        let judged = record.map_err(|why| vec![why]).and_then(|record| Ok((judge(&record)?, record)));
        let place = format!("[{}/{}] {key}", self.number, self.all);
        match judged {
            Ok(((words, taken), record)) => {
                if is_new {
                    record::append(self.file, &record)?;
                    self.ran += 1;
                    say(&format!("{place}: {words} ({:.0} s)", begun.elapsed().as_secs_f64()));
                } else {
                    self.kept += 1;
                    say(&format!("{place}: {words} (from the file)"));
                }
                self.shown.push(record);
                Ok(Some(taken))
            }
            Err(reasons) => {
                self.ran += usize::from(is_new);
                let refused = format!("NOT A ROW: {key}: {}", reasons.join("; "));
                say(&format!("{place}: {refused}"));
                self.refused.push(refused);
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
