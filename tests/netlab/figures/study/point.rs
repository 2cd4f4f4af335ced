//! What a job of the study has measured, if nothing is missing and nothing is wrong.

use super::case::Case;
use super::grid::Plan;
use super::record::{Record, Seen};
use crate::judge::{FASTEST, FULL};
use aurora_apps::report::Spread;
pub use aurora_apps::report::recorded::Program as Run;

/// A job whose figures count.
#[derive(Clone, Debug)]
pub struct Point {
    pub plan: Plan,
    pub runs: Vec<Run>,
    pub seen: Seen,
}

impl Point {
    /// From what the job has said.
    ///
    /// # Errors
    /// All that is missing or cannot be.
    pub fn new(plan: Plan, record: &Record) -> Result<Self, Vec<String>> {
        let runs = record.runs().map_err(|error| vec![error])?;
        let lacks = lacks(&plan, &runs, record.study.reps);
        match lacks.is_empty() {
            true => Ok(Point { plan, runs, seen: record.study.clone() }),
            false => Err(lacks),
        }
    }

    /// By Aurora.
    pub fn aurora(&self) -> Option<&Run> {
        self.runs.iter().find(|run| run.is_aurora())
    }

    /// By MPI.
    pub fn others(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| !run.is_aurora())
    }

    /// By that form of MPI which shares in the least time.
    pub fn best(&self) -> Option<&Run> {
        self.others().min_by(|a, b| a.sharing_seconds.median.total_cmp(&b.sharing_seconds.median))
    }

    /// By a form of MPI, such as `mpi-isend`, which may be called whole.
    pub fn form(&self, form: &str) -> Option<&Run> {
        self.runs.iter().find(|run| run.implementation.starts_with(form))
    }
}

/// Whether the figure tells of the cores, not of the network.
pub fn is_full(run: &Run) -> bool {
    run.cores_busy.is_some_and(|busy| busy > FULL)
}

/// How far repetitions are apart: the slowest over the fastest.
pub fn spread(of: Spread) -> f64 {
    of.max / of.min
}

fn lacks(plan: &Plan, runs: &[Run], reps: usize) -> Vec<String> {
    let mut lacks = Vec::new();
    for name in plan.case.implementations() {
        match runs.iter().find(|run| run.implementation == name) {
            None => lacks.push(format!("no figures of {name}")),
            Some(run) => lacks.extend(flaws(plan, run, reps).into_iter().map(|flaw| format!("{name} {flaw}"))),
        }
    }
    lacks
}

fn flaws(plan: &Plan, run: &Run, reps: usize) -> Vec<String> {
    let mut flaws = Vec::new();
    if !run.verified {
        flaws.push("has a wrong result".into());
    }
    if (run.reps, run.ranks, run.size) != (reps, plan.nodes, plan.case.size()) {
        flaws.push(format!("was repeated {} times on {} ranks with size {}", run.reps, run.ranks, run.size));
    }
    // Alone there may be nothing to share.
    if plan.nodes == 1 {
        return flaws;
    }
    let sharing = run.sharing_seconds;
    if !(sharing.min > 0.0 && sharing.is_in_order()) {
        flaws.push(format!("has no min, median and max of sharing: {sharing}"));
    }
    if run.cores_busy.is_none_or(|busy| !(0.0..=1.0).contains(&busy)) {
        flaws.push("does not say how busy the cores were while it shared".into());
    }
    for name in plan.case.bulk(plan.nodes).0 {
        let phase = run.phases.iter().find(|phase| phase.name == *name);
        match phase.map(|phase| phase.seconds.min) {
            None => flaws.push(format!("has no phase `{name}`")),
            Some(min) if min < FASTEST * plan.bound() => {
                flaws.push(format!("is faster than the wire ({name}: {min} s): it has not gone over it"));
            }
            Some(_) => {}
        }
    }
    flaws
}

/// Seconds of computing alone: the sequential program, in one process of a quiet machine.
#[derive(Clone, PartialEq, Debug)]
pub struct Computing {
    pub case: Case,
    /// What multiplies, or which keys are sorted.
    pub kernel: &'static str,
    pub seconds: f64,
}

impl Computing {
    /// From what the process has said.
    ///
    /// # Errors
    /// What is missing or wrong.
    pub fn new(case: Case, kernel: &'static str, record: &Record) -> Result<Self, Vec<String>> {
        let runs = record.runs().map_err(|error| vec![error])?;
        let Some(run) = runs.first() else { return Err(vec!["no figures".into()]) };
        let seconds = run.sequential_seconds;
        let mut lacks = Vec::new();
        if !run.verified {
            lacks.push("has a wrong result".into());
        }
        if run.ranks != 1 || run.size != case.size() || run.reps != record.study.reps {
            lacks.push(format!("was repeated {} times on {} ranks with size {}", run.reps, run.ranks, run.size));
        }
        if !(seconds > 0.0 && seconds.is_finite()) {
            lacks.push(format!("has no time: {seconds}"));
        }
        match lacks.is_empty() {
            true => Ok(Computing { case, kernel, seconds }),
            false => Err(lacks),
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::super::grid::{PAPERS, SETTINGS};
    use super::super::record::tests::seen;
    use super::*;
    use aurora_apps::report::{Kind, recorded::RecordedPhase};
    use aurora_suite::mpi::Flavour;

    pub const REPS: usize = 5;

    /// Each phase of bulk as many times its bound as is said for the implementation, and little else.
    pub fn point(case: Case, nodes: usize, of_bound: &[(&str, f64)]) -> Point {
        let plan = Plan { network: PAPERS, case, nodes, flavour: Flavour::Open, setting: SETTINGS[0] };
        let run = |(implementation, times): &(&str, f64)| {
            let seconds = Spread::exactly(plan.bound() * times);
            let phase = |name: &&str| RecordedPhase { name: (*name).into(), kind: Kind::Sharing, seconds };
            let phases: Vec<_> = case.bulk(nodes).0.iter().map(phase).collect();
            let sharing = phases.iter().map(|phase| phase.seconds.median).sum();
            Run {
                implementation: (*implementation).into(),
                ranks: nodes,
                size: case.size(),
                reps: REPS,
                verified: true,
                sharing_seconds: Spread::exactly(sharing),
                sequential_seconds: 0.5,
                phases,
                cores_busy: Some(0.5),
                ..Run::default()
            }
        };
        Point { plan, runs: of_bound.iter().map(run).collect(), seen: seen(&plan.key()) }
    }

    /// One that has all that it must have.
    pub fn whole(case: Case, nodes: usize) -> Point {
        let all: Vec<_> = case.implementations().into_iter().map(|name| (name, 1.1)).collect();
        point(case, nodes, &all)
    }

    fn flaw(change: impl Fn(&mut Run)) -> String {
        let mut point = whole(Case::Mm2(704), 4);
        change(&mut point.runs[0]);
        lacks(&point.plan, &point.runs, REPS).join("; ")
    }

    #[test]
    fn a_row_has_all_figures_all_right() {
        for case in [Case::Mm2(704), Case::Psrs(8_000_000)] {
            let Point { plan, runs, .. } = whole(case, 4);
            assert_eq!(lacks(&plan, &runs, REPS), Vec::<String>::new());
            assert!(lacks(&plan, &runs[1..], REPS)[0].contains("no figures of aurora"));
        }
        assert!(flaw(|run| run.verified = false).contains("aurora-whole has a wrong result"));
        assert!(flaw(|run| run.reps = 3).contains("repeated 3 times"));
        assert!(flaw(|run| run.ranks = 1).contains("on 1 ranks"));
        assert!(flaw(|run| run.size = 512).contains("size 512"));
        assert!(flaw(|run| run.sharing_seconds.max = f64::NAN).contains("no min, median and max"));
        assert!(flaw(|run| run.cores_busy = None).contains("how busy"));
        assert!(flaw(|run| run.phases[1].name.clear()).contains("no phase `load P`"));
        assert!(flaw(|run| run.phases[0].seconds = Spread::exactly(0.05)).contains("faster than the wire"));
    }

    #[test]
    fn a_node_that_is_alone_need_not_share() {
        let mut point = whole(Case::Mm2(704), 1);
        point.runs[0].cores_busy = None;
        assert_eq!(lacks(&point.plan, &point.runs, REPS), Vec::<String>::new());
    }

    #[test]
    fn phases_that_belong_together_add_up() {
        let mut run = point(Case::Mm2(704), 4, &[("aurora-whole", 1.0)]).runs.remove(0);
        run.phases[0].seconds = Spread { min: 1.0, median: 2.0, max: 4.0 };
        run.phases[1].seconds = Spread { min: 0.5, median: 1.0, max: 2.0 };
        assert_eq!(run.phases(&["load R", "load P"]), Spread { min: 1.5, median: 3.0, max: 6.0 });
        assert_eq!(spread(run.phases(&["load R"])), 4.0);
        assert!(!is_full(&run));
        run.cores_busy = Some(0.95);
        assert!(is_full(&run));
    }
}
