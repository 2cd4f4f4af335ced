//! `--against`: Aurora's figure of each row, by two builds, both started by Open MPI.

use crate::job::{self, Binaries, Figures, Outcome, Plan, Spread, Starter};
use crate::judge::{self, Unit};
use crate::row::{Row, Stage};
use crate::tuning::Tuning;
use aurora_apps::report::Measured;
use aurora_suite::against::build::Builds;
use aurora_suite::against::count::Count;
use aurora_suite::against::{self, Contested, Job, Lack, Sample};
use aurora_suite::choice::Choice;
use aurora_suite::mpi::Flavour;
use std::path::Path;
use std::process::ExitCode;

/// Compares this build with an old one.
///
/// # Errors
/// What was asked for and cannot be.
pub fn compare(choice: &Choice, rows: Vec<Row>, binaries: &Binaries, old: &Path) -> Result<ExitCode, String> {
    let builds = Builds::of(binaries.of(Flavour::Open), old)?;
    let rows: Vec<_> = rows.into_iter().map(|row| Shared { row, reps: choice.reps() }).collect();
    against::compare(&rows, &builds, choice, |job, build| {
        let starter = match job.stage {
            Stage::Lab { .. } => Starter::Mpi(Flavour::Open),
            Stage::Loopback { .. } => Starter::Itself,
        };
        let plan = Plan { stage: job.stage, arguments: job.words.clone(), starter, tuning: Tuning::defaults() };
        job::attempt(&plan, build, choice.damage)
    })
}

/// A row, of which both builds have a share.
struct Shared {
    row: Row,
    reps: usize,
}

impl Contested for Shared {
    type Stage = Stage;
    type Said = Outcome;

    fn name(&self) -> &'static str {
        self.row.name
    }

    fn what(&self) -> String {
        format!("{}, N = {}", self.row.what, self.row.stage.ranks())
    }

    fn job(&self) -> Job<Stage> {
        let reps = format!("--reps={}", self.reps);
        let words = [&["bench".into()], &self.row.arguments_of(&["aurora"])[..], &[reps]].concat();
        Job { stage: self.row.stage, words }
    }

    fn unit(&self) -> &'static str {
        Unit::of(&self.row).name()
    }

    fn show(&self, value: f64) -> String {
        Unit::of(&self.row).show(value)
    }

    fn more_is_better(&self) -> bool {
        Unit::of(&self.row).is_a_rate()
    }

    fn sample(&self, said: &Outcome) -> Result<Sample, Lack> {
        let ours = said.results.iter().find(|figures| figures.is_aurora());
        let ours = ours.ok_or_else(|| Lack::Failed("no figures of aurora".into()))?;
        match &judge::flaws(&self.row, ours, self.reps)[..] {
            [] => Ok(Sample { figure: Unit::of(&self.row).value(ours).median, counts: counts(ours) }),
            flaws => Err(Lack::Failed(format!("aurora {}", flaws.join("; ")))),
        }
    }
}

fn counts(figures: &Figures) -> Vec<Count> {
    let named = |name, spread: Option<Spread>| spread.map(|spread| (name, spread.median));
    let all = [
        named("messages_sent", figures.messages_sent),
        named("bytes_sent", figures.bytes_sent),
        named("packets_sent", figures.packets_sent),
        named("packets_resent", figures.packets_resent),
    ];
    all.into_iter().flatten().collect()
}
