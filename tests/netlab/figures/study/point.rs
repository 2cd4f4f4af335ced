//! What a job of the study has measured, if nothing is missing and nothing is wrong.

use super::case::Case;
use super::grid::Plan;
use super::record::{Record, Study};
use aurora_apps::report::Spread;
pub use aurora_apps::report::recorded::Program as Run;
use aurora_suite::figures::judge::{FASTEST, FULL};

/// A job whose figures count.
#[derive(Clone, Debug)]
pub struct Point {
    pub plan: Plan,
    pub runs: Vec<Run>,
    pub study: Study,
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
            true => Ok(Point { plan, runs, study: record.study.clone() }),
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
pub fn full(run: &Run) -> &'static str {
    if run.cores_busy.is_some_and(|busy| busy > FULL) { " (full)" } else { "" }
}

/// How far repetitions are apart: the slowest over the fastest.
pub fn spread(of: Spread) -> f64 {
    of.max / of.min
}

fn lacks(plan: &Plan, runs: &[Run], reps: usize) -> Vec<String> {
    let of = |name: &'static str| match runs.iter().find(|run| run.implementation == name) {
        None => vec![format!("no figures of {name}")],
        Some(run) => flaws(plan, run, reps).into_iter().map(|flaw| format!("{name} {flaw}")).collect(),
    };
    plan.case.program.implementations.into_iter().flat_map(of).collect()
}

/// What is wrong with a run that was to be repeated so often on so many ranks.
fn basics(run: &Run, case: Case, ranks: usize, reps: usize) -> Vec<String> {
    let mut flaws = Vec::new();
    if !run.verified {
        flaws.push("has a wrong result".into());
    }
    if (run.reps, run.ranks, run.size) != (reps, ranks, case.size) {
        flaws.push(format!("was repeated {} times on {} ranks with size {}", run.reps, run.ranks, run.size));
    }
    flaws
}

fn flaws(plan: &Plan, run: &Run, reps: usize) -> Vec<String> {
    let mut flaws = basics(run, plan.case, plan.nodes, reps);
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
    for name in plan.case.program.bulk {
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
        let mut flaws = basics(run, case, 1, record.study.reps);
        if !(seconds > 0.0 && seconds.is_finite()) {
            flaws.push(format!("has no time: {seconds}"));
        }
        if flaws.is_empty() { Ok(Computing { case, kernel, seconds }) } else { Err(flaws) }
    }

    /// The model: nodes that share cores cannot compute as fast as machines do. So computing that was measured alone is
    /// divided among them, and sharing that was measured on the emulated network is added.
    pub fn speed_up(&self, nodes: usize, run: &Run) -> f64 {
        self.seconds / (self.seconds / nodes as f64 + run.sharing_seconds.median)
    }
}

#[cfg(test)]
pub mod tests {
    use super::super::case::{MM2_704, PSRS_8M};
    use super::super::grid::{PAPERS, SETTINGS};
    use super::super::record::tests::study;
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
            let phases: Vec<_> = case.program.bulk.iter().map(phase).collect();
            let sharing = phases.iter().map(|phase| phase.seconds.median).sum();
            Run {
                implementation: (*implementation).into(),
                ranks: nodes,
                size: case.size,
                reps: REPS,
                verified: true,
                sharing_seconds: Spread::exactly(sharing),
                sequential_seconds: 0.5,
                phases,
                cores_busy: Some(0.5),
                ..Run::default()
            }
        };
        Point { plan, runs: of_bound.iter().map(run).collect(), study: study(&plan.key()) }
    }

    /// One that has all that it must have.
    pub fn whole(case: Case, nodes: usize) -> Point {
        let all: Vec<_> = case.program.implementations.into_iter().map(|name| (name, 1.1)).collect();
        point(case, nodes, &all)
    }

    #[test]
    fn a_row_has_all_figures_all_right() {
        for case in [MM2_704, PSRS_8M] {
            let Point { plan, runs, .. } = whole(case, 4);
            assert_eq!(lacks(&plan, &runs, REPS), Vec::<String>::new());
            assert!(lacks(&plan, &runs[1..], REPS)[0].contains("no figures of aurora"));
        }
        type Change = fn(&mut Run);
        let cases: [(Change, &str); 8] = [
            (|run| run.verified = false, "aurora-whole has a wrong result"),
            (|run| run.reps = 3, "repeated 3 times"),
            (|run| run.ranks = 1, "on 1 ranks"),
            (|run| run.size = 512, "size 512"),
            (|run| run.sharing_seconds.max = f64::NAN, "no min, median and max"),
            (|run| run.cores_busy = None, "how busy"),
            (|run| run.phases[1].name.clear(), "no phase `load P`"),
            (|run| run.phases[0].seconds = Spread::exactly(0.05), "faster than the wire"),
        ];
        for (change, expected) in cases {
            let Point { plan, mut runs, .. } = whole(MM2_704, 4);
            change(&mut runs[0]);
            let flaws = lacks(&plan, &runs, REPS).join("; ");
            assert!(flaws.contains(expected), "{expected}: {flaws}");
        }
    }

    #[test]
    fn a_node_that_is_alone_need_not_share() {
        let mut point = whole(MM2_704, 1);
        point.runs[0].cores_busy = None;
        assert_eq!(lacks(&point.plan, &point.runs, REPS), Vec::<String>::new());
    }

    #[test]
    fn phases_that_belong_together_add_up() {
        let mut run = whole(MM2_704, 4).runs.remove(0);
        run.phases[0].seconds = Spread { min: 1.0, median: 2.0, max: 4.0 };
        run.phases[1].seconds = Spread { min: 0.5, median: 1.0, max: 2.0 };
        assert_eq!(run.phases(&["load R", "load P"]), Spread { min: 1.5, median: 3.0, max: 6.0 });
        assert_eq!(spread(run.phases(&["load R"])), 4.0);
        assert_eq!(full(&run), "");
        run.cores_busy = Some(0.95);
        assert_eq!(full(&run), " (full)");
    }

    #[test]
    fn the_model_has_the_papers_own_figures() {
        let speed_up = |seconds, nodes, sharing| {
            let run = Run { sharing_seconds: Spread::exactly(sharing), ..Run::default() };
            Computing { case: MM2_704, kernel: "dot", seconds }.speed_up(nodes, &run)
        };
        // 704 x 704: 250.7 s of computing; 17.9 s on 16 nodes were 2.2 s more than ideal.
        assert!((speed_up(250.7, 16, 17.9 - 250.7 / 16.0) - 14.0).abs() < 0.05);
        // Without sharing it is the number of nodes.
        assert_eq!(speed_up(3.0, 8, 0.0), 8.0);
        assert!(speed_up(3.0, 8, 0.1) < 8.0 && speed_up(0.01, 8, 0.1) < 1.0);
    }
}
