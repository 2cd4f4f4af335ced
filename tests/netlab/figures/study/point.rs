//! The figures of a job of the study, if they are complete and without error.

use super::grid::Plan;
use super::record::Record;
pub use aurora_apps::report::Report as Run;
use aurora_apps::report::Spread;
use aurora_suite::figures::judge::{self, disorder, is_share, too_fast};
use aurora_suite::heard;

/// A job with valid figures.
#[derive(Clone, Debug)]
pub struct Point {
    pub plan: Plan,
    pub runs: Vec<Run>,
    pub record: Record,
}

impl Point {
    /// Makes a point of a job's output.
    pub fn new(plan: Plan, record: Record, reps: usize) -> Result<Self, Vec<String>> {
        let runs = heard::results(&record.object).map_err(|error| vec![error])?;
        let lacks = lacks(&plan, &runs, reps);
        if lacks.is_empty() { Ok(Point { plan, runs, record }) } else { Err(lacks) }
    }

    /// Aurora's run.
    pub fn aurora(&self) -> Option<&Run> {
        self.runs.iter().find(|run| run.is_aurora())
    }

    /// The runs of MPI.
    pub fn others(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| !run.is_aurora())
    }

    /// The run of the form of MPI that shares in the least time.
    pub fn best(&self) -> Option<&Run> {
        self.others().min_by(|a, b| a.sharing_seconds.median.total_cmp(&b.sharing_seconds.median))
    }

    /// The run of a form of MPI, such as `mpi-isend`, whose name may end with `-whole`.
    pub fn form(&self, form: &str) -> Option<&Run> {
        self.runs.iter().find(|run| run.implementation.starts_with(form))
    }

    /// The sequential program's seconds, if it computes alone.
    pub fn alone(&self) -> f64 {
        self.runs[0].sequential_seconds
    }

    /// The model: nodes that share cores cannot compute as fast as machines do. So the computing time measured alone is
    /// divided among them, and the sharing time measured on the emulated network is added.
    pub fn speed_up(&self, nodes: usize, run: &Run) -> f64 {
        self.alone() / (self.alone() / nodes as f64 + run.sharing_seconds.median)
    }

    /// The result of the job in a line.
    pub fn brief(&self) -> String {
        if self.plan.kernel.is_some() {
            return format!("{:.4} s of computing alone", self.alone());
        }
        let of = |run: &Run| {
            let (name, millis) = (&run.implementation, run.sharing_seconds.median * 1e3);
            let busy = run.cores_busy.map_or(String::new(), |busy| format!(", {:.0} % busy", busy * 100.0));
            format!("{name} {millis:.1} ms (max/min {:.2}{busy})", spread(run.sharing_seconds))
        };
        format!("sharing {}", self.runs.iter().map(of).collect::<Vec<_>>().join(", "))
    }
}

/// Marks a figure that the cores limit, not the network.
pub fn full(run: &Run) -> &'static str {
    run.cores_busy.map_or("", judge::full)
}

/// The spread of repetitions: the slowest divided by the fastest.
pub fn spread(of: Spread) -> f64 {
    of.max / of.min
}

fn lacks(plan: &Plan, runs: &[Run], reps: usize) -> Vec<String> {
    let of = |name: &&str| match runs.iter().find(|run| run.implementation == *name) {
        None => vec![format!("no figures of {name}")],
        Some(run) => flaws(plan, run, reps).into_iter().map(|flaw| format!("{name} {flaw}")).collect(),
    };
    plan.implementations().iter().flat_map(of).collect()
}

fn flaws(plan: &Plan, run: &Run, reps: usize) -> Vec<String> {
    let mut flaws = judge::flaws(run, reps, plan.nodes, Some(plan.case.size));
    let (alone, sharing) = (run.sequential_seconds, run.sharing_seconds);
    if plan.kernel.is_some() && !(alone > 0.0 && alone.is_finite()) {
        flaws.push(format!("has no time: {alone}"));
    }
    // A single node may have nothing to share.
    if plan.nodes == 1 {
        return flaws;
    }
    flaws.extend(disorder("sharing", sharing));
    flaws.extend((sharing.min == 0.0).then(|| "takes no time to share".into()));
    if !is_share(run.cores_busy) {
        flaws.push("does not say how busy the cores were while it shared".into());
    }
    flaws.extend(plan.case.program.bulk.iter().filter_map(|name| {
        match run.phases.iter().find(|phase| phase.name == *name) {
            None => Some(format!("has no phase `{name}`")),
            Some(phase) => too_fast(name, phase.seconds.min, plan.bound()),
        }
    }));
    flaws
}

#[cfg(test)]
pub mod tests {
    use super::super::case::{Case, MM2_704, PSRS_8M};
    use super::super::record::tests::record;
    use super::*;
    use aurora_apps::report::{Kind, Phase};

    const REPS: usize = 5;

    /// Each phase of `bulk` takes the implementation's multiple of its bound, and little else takes time.
    pub fn point(case: Case, nodes: usize, of_bound: &[(&str, f64)]) -> Point {
        let plan = Plan { nodes, ..Plan::of(case) };
        let run = |(implementation, times): &(&str, f64)| {
            let seconds = Spread::exactly(plan.bound() * times);
            let phase = |name: &&str| Phase { name: (*name).into(), kind: Kind::Sharing, seconds };
            let phases: Vec<_> = case.program.bulk.iter().map(phase).collect();
            let sharing_seconds = Spread::exactly(phases.iter().map(|phase| phase.seconds.median).sum());
            let (implementation, ranks, size, reps) = (implementation.to_string(), nodes, case.size, REPS);
            let (cores_busy, verified) = (Some(0.5), true);
            Run { implementation, ranks, size, reps, verified, sharing_seconds, phases, cores_busy, ..Run::default() }
        };
        Point { plan, runs: of_bound.iter().map(run).collect(), record: record(&plan.key()) }
    }

    /// The sequential program with its first kernel.
    pub fn alone(case: Case, seconds: f64) -> Point {
        let mut point = point(case, 1, &[("aurora", 0.0)]);
        (point.plan.kernel, point.runs[0].sequential_seconds) = (Some(case.program.kernels[0]), seconds);
        point
    }

    /// A complete point.
    fn whole(case: Case, nodes: usize) -> Point {
        point(case, nodes, &case.program.implementations.map(|name| (name, 1.1)))
    }

    fn found(of: &Point) -> String {
        lacks(&of.plan, &of.runs, REPS).join("; ")
    }

    #[test]
    fn a_row_has_all_figures_all_right() {
        for case in [MM2_704, PSRS_8M] {
            let mut whole = whole(case, 4);
            assert_eq!((found(&whole), found(&alone(case, 0.7))), (String::new(), String::new()));
            whole.runs.remove(0);
            assert!(found(&whole).starts_with("no figures of aurora"));
        }
        type Change = fn(&mut Run);
        let cases: [(Change, &str); 9] = [
            (|run| run.verified = false, "aurora-whole has a wrong result"),
            (|run| run.reps = 3, "repeated 3 times"),
            (|run| run.ranks = 1, "on 1 ranks"),
            (|run| run.size = 512, "size 512"),
            (|run| run.sharing_seconds.max = f64::NAN, "no min, median and max"),
            (|run| run.sharing_seconds.min = 0.0, "takes no time to share"),
            (|run| run.cores_busy = None, "how busy"),
            (|run| run.phases[1].name.clear(), "no phase `load P`"),
            (|run| run.phases[0].seconds = Spread::exactly(0.05), "faster than the wire"),
        ];
        for (change, expected) in cases {
            let mut whole = whole(MM2_704, 4);
            change(&mut whole.runs[0]);
            assert!(found(&whole).contains(expected), "{expected}: {}", found(&whole));
        }
        assert_eq!(found(&alone(MM2_704, 0.0)), "aurora has no time: 0");
        // A single node need not share.
        let mut single = whole(MM2_704, 1);
        single.runs[0].cores_busy = None;
        assert_eq!(found(&single), "");
    }

    #[test]
    fn a_record_has_the_form_of_a_program() {
        let plan = Plan { nodes: 4, ..Plan::of(MM2_704) };
        let flaws = Point::new(plan, record("a"), REPS).expect_err("it is of another implementation");
        assert!(flaws[0].starts_with("no figures of aurora-whole"), "{flaws:?}");
        let mut other = record("a");
        other.object.remove("results");
        let flaws = Point::new(plan, other, REPS).expect_err("there are no results");
        assert!(flaws[0].starts_with("the job said figures of another form"), "{flaws:?}");
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
            alone(MM2_704, seconds).speed_up(nodes, &run)
        };
        // 704 x 704: 250.7 s of computing; 17.9 s on 16 nodes were 2.2 s more than ideal.
        assert!((speed_up(250.7, 16, 17.9 - 250.7 / 16.0) - 14.0).abs() < 0.05);
        // Without sharing the speed-up is the number of nodes.
        assert_eq!(speed_up(3.0, 8, 0.0), 8.0);
        assert!(speed_up(3.0, 8, 0.1) < 8.0 && speed_up(0.01, 8, 0.1) < 1.0);
    }
}
