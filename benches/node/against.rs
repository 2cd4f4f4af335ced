//! `--against`: Aurora's figure of each row, by two builds.

use crate::job::{self, Said};
use crate::judge;
use crate::report::crowd;
use crate::row::{Figure, ROWS, Row};
use aurora_apps::report::Spread;
use aurora_suite::against::build::Builds;
use aurora_suite::against::count::Count;
use aurora_suite::against::{self, Contested, Job, Lack, Sample};
use aurora_suite::choice::Choice;
use aurora_suite::machine;
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;
use std::process::ExitCode;

/// Compares this build with an old one.
///
/// # Errors
/// What was asked for and cannot be.
pub fn compare(choice: &Choice, aurora: &Path, old: &Path) -> Result<ExitCode, String> {
    let rows = contested(choice)?;
    let builds = Builds::of(aurora, old)?;
    against::compare(&rows, &builds, choice, |job, build| {
        let Stage { ranks, reps } = job.stage;
        job::run(build, ranks, &job.words, reps, choice.damage)
    })
}

/// The chosen rows, but none of MPI alone.
fn contested(choice: &Choice) -> Result<Vec<Shared>, String> {
    let rows = choice.rows(&ROWS, |row| row.name)?;
    let (rows, others): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|row| !row.ours.implementation.starts_with("mpi"));
    match others.first().filter(|_| !choice.is_whole()) {
        Some(other) => Err(format!("the row `{}` is of MPI alone, which builds of Aurora do not change", other.name)),
        None => Ok(rows.into_iter().map(|row| Shared { row, reps: choice.reps() }).collect()),
    }
}

/// A row, of which both builds have a share.
struct Shared {
    row: Row,
    reps: usize,
}

/// Where a job runs, and how often it repeats everything.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Stage {
    ranks: usize,
    reps: usize,
}

impl Contested for Shared {
    type Stage = Stage;
    type Said = Said;

    fn name(&self) -> &'static str {
        self.row.name
    }

    fn what(&self) -> String {
        let ranks = self.row.job.ranks;
        format!("{}, {ranks} ranks{}", self.row.what, crowd(machine::allowed_cores(), ranks))
    }

    fn job(&self) -> Job<Stage> {
        let reps = self.reps.div_ceil(self.row.job.fewer);
        let alone = |word: &str| match word.starts_with("--impl=") {
            true => format!("--impl={}", self.row.ours.implementation),
            false => word.into(),
        };
        let words = self.row.job.words.split(' ').map(alone).chain([format!("--reps={reps}")]).collect();
        Job { stage: Stage { ranks: self.row.job.ranks, reps }, words }
    }

    fn unit(&self) -> &'static str {
        self.row.unit.name()
    }

    fn show(&self, value: f64) -> String {
        self.row.unit.show(value)
    }

    fn more_is_better(&self) -> bool {
        self.row.unit.is_a_rate()
    }

    fn sample(&self, said: &Said) -> Result<Sample, Lack> {
        let pick = self.row.ours;
        let name = match pick.figure {
            Figure::Named(name) => name,
            Figure::SharingByComputing => "sharing_seconds",
        };
        let who = pick.kind.unwrap_or(pick.implementation);
        let result = judge::result(said, pick).filter(|result| !result[name].is_null());
        let result = result.ok_or_else(|| Lack::Unknown(format!("it says no {name} of {who}")))?;
        let spread = judge::find(said, self.row.job.ranks, pick).map_err(Lack::Failed)?;
        Ok(Sample { figure: self.row.unit.of(spread).median, counts: counts(result) })
    }
}

/// What the job has counted: of a program one number each, of an operation those of all repetitions.
fn counts(result: &Value) -> Vec<Count> {
    // In a bench these bytes are what it was asked to move.
    let names: &[&'static str] = match result["bench"].is_null() {
        true => &["messages", "bytes"],
        false => &["messages_sent", "bytes_sent", "packets_sent", "packets_resent"],
    };
    let number = |name: &&'static str| {
        let median = || Spread::deserialize(&result[*name]).ok().map(|spread| spread.median);
        Some((*name, result[*name].as_f64().or_else(median)?))
    };
    names.iter().filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shared(name: &str) -> Shared {
        let row = ROWS.into_iter().find(|row| row.name == name).expect("a row");
        Shared { row, reps: 10 }
    }

    fn said(result: Value) -> Said {
        Said { results: vec![result], reps: 10, busy: None }
    }

    #[test]
    fn aurora_runs_alone_and_rows_share_its_jobs() {
        let words = |name: &str| shared(name).job().words.join(" ");
        assert_eq!(words("load-4"), "bench read-cache --bytes=4194304 --impl=aurora --reps=10");
        assert_eq!(words("load-512"), "bench read-cache --bytes=536870912 --impl=aurora --reps=5");
        assert_eq!(words("histogram-1e5"), "histogram --impl=accumulate --reps=10");
        assert_eq!(shared("mm2").job(), shared("mm2-704").job());
        assert_eq!(shared("load-4").job(), shared("read-4").job());
        assert_ne!(shared("load-4").job(), shared("load-4-by-4").job());
    }

    #[test]
    fn a_figure_that_a_build_does_not_say_is_unknown_to_it_and_a_wrong_one_is_a_failure() {
        let spread = json!({ "min": 1e-6, "median": 2e-6, "max": 4e-6 });
        let mut result = json!({ "bench": "read-cache", "impl": "aurora", "verified": true, "reps": 10, "ranks": 2,
            "bytes": 4194304, "ready_seconds": spread, "packets_sent": spread });
        let row = shared("load-4");
        let sample = row.sample(&said(result.clone())).expect("a figure");
        assert_eq!((sample.figure, &sample.counts[..]), (2.0, &[("packets_sent", 2e-6)][..]));
        result["verified"] = json!(false);
        let wrong = row.sample(&said(result.clone()));
        assert_eq!(wrong, Err(Lack::Failed("aurora has brought wrong bytes".into())));
        result["ready_seconds"] = json!(null);
        assert_eq!(row.sample(&said(result)), Err(Lack::Unknown("it says no ready_seconds of aurora".into())));
    }

    #[test]
    fn a_program_counts_messages_and_bytes() {
        let counted = counts(&json!({ "app": "mm2", "messages": 12, "bytes": 34 }));
        assert_eq!(counted, [("messages", 12.0), ("bytes", 34.0)]);
        assert_eq!(counts(&json!({ "bench": "get", "bytes": 8, "packets_sent": null })), []);
    }
}
