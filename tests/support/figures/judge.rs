//! Decides whether a row is complete, and whether Aurora reaches the row's target.

use super::job::{DEFAULTS, Outcome, Run, Stage};
use super::row::{Pick, Reach, Row};
use aurora_apps::report::figures::Figures;
use aurora_apps::report::{Report, Spread};

/// The minimum time, as part of the time of the wire. Only the bytes in the buckets of the shaping can go faster.
const FASTEST: f64 = 0.95;

/// With a larger share of busy cores, a figure says nothing about the network.
const FULL: f64 = 0.9;

/// A complete row.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The row.
    pub row: Row,
    /// Its jobs.
    pub outcomes: Vec<Outcome>,
    /// The compared figures, job by job.
    pub shares: Vec<Share>,
}

/// The figures of an implementation, or of a kind of access, in a row.
#[derive(Clone, Debug)]
pub struct Share {
    /// The number of its job.
    pub job: usize,
    /// The name of the implementation or the kind.
    pub who: &'static str,
    /// True for the first implementation or kind of the row, which the row is about.
    pub is_ours: bool,
    /// The row's figure in its unit.
    pub value: Spread,
    /// All its figures.
    pub result: Report,
}

/// The reason why a job has no figure of a row.
#[derive(Clone, PartialEq, Debug)]
pub struct Lack {
    /// In words.
    pub words: String,
    /// True if this build does not measure the figure; false if the measurement failed.
    pub is_unknown: bool,
}

/// Describes the errors that the figures of any job can have. The job has `reps` repetitions on `ranks` ranks, and data
/// of this size if it is known.
pub fn flaws(of: &Report, reps: usize, ranks: usize, size: Option<usize>) -> Vec<String> {
    let found = (of.reps, of.ranks, of.size);
    let is_other = found != (reps, ranks, size.unwrap_or(of.size));
    let other = || format!("was repeated {} times on {} ranks with size {}", found.0, found.1, found.2);
    let wrong = (!of.verified).then(|| "has a wrong result".into());
    wrong.into_iter().chain(is_other.then(other)).collect()
}

/// Describes the error of a figure without a minimum, a median and a maximum from 0 on.
pub fn disorder(name: &str, of: Spread) -> Option<String> {
    let is_ordered = of.min >= 0.0 && of.is_in_order();
    (!is_ordered).then(|| format!("has no min, median and max of {name}: {of}"))
}

/// Describes the error of a figure that is faster than the wire allows.
pub fn too_fast(what: &str, seconds: f64, bound: f64) -> Option<String> {
    let text = || format!("is faster than the wire ({what}: {seconds} s): it has not gone over it");
    (seconds < FASTEST * bound).then(text)
}

/// True if this is a share between 0 and 1.
pub fn is_share(busy: Option<f64>) -> bool {
    busy.is_some_and(|busy| (0.0..=1.0).contains(&busy))
}

/// Marks a figure that the cores limit, not the network.
pub fn full(busy: f64) -> &'static str {
    if busy > FULL { " (full)" } else { "" }
}

/// Makes a row of its jobs' results, or returns the list of all missing or impossible figures.
pub fn complete(row: &Row, ran: Vec<Result<Outcome, String>>) -> Result<Measured, Vec<String>> {
    let are_several = ran.len() > 1;
    let mut missing: Vec<String> = ran.iter().filter_map(|ran| ran.clone().err()).collect();
    let outcomes: Vec<Outcome> = ran.into_iter().flatten().collect();
    let mut shares = Vec::new();
    for (job, outcome) in outcomes.iter().enumerate() {
        let mut lacks = |why: String| {
            missing.push(if are_several { format!("{}: {why}", outcome.run.setup()) } else { why });
        };
        if !is_share(outcome.seen.busy) {
            lacks("the CPU share of the job is not known".into());
        }
        for (number, pick) in row.picks().into_iter().enumerate() {
            match share(row, pick, outcome) {
                Ok(share) => shares.push(Share { job, is_ours: number == 0, ..share }),
                Err(lack) => lacks(lack.words),
            }
        }
    }
    if missing.is_empty() { Ok(Measured { row: *row, outcomes, shares }) } else { Err(missing) }
}

/// A job's figures of an implementation or a kind, if they are free of errors.
pub fn share(row: &Row, (implementation, kind): Pick, outcome: &Outcome) -> Result<Share, Lack> {
    let who = kind.unwrap_or(implementation);
    let is_it = |result: &&Report| {
        result.implementation == implementation && result.operation.as_ref().and_then(Figures::kind) == kind
    };
    let lack = |is_unknown, words| Lack { words, is_unknown };
    let result = outcome.results.iter().find(is_it).ok_or_else(|| lack(true, format!("no figures of {who}")))?;
    let named = |name: &str| {
        let spread = result.figure(name).ok_or_else(|| lack(true, format!("{who} says no {name}")))?;
        disorder(name, spread).map_or(Ok(spread), |flaw| Err(lack(false, format!("{who} {flaw}"))))
    };
    let seconds = named("seconds")?;
    let value = row.value(named(row.figure.name)?, seconds);
    // Ranks that share memory send no packets.
    let sends = result.is_aurora() && row.job.stage != Stage::Node;
    let is_silent = sends && !result.figure("packets_resent").is_some_and(Spread::is_in_order);
    let bound = row.bound().filter(|_| row.starts_together());
    let mut flaws = flaws(result, outcome.run.reps, row.job.ranks, None);
    flaws.extend(is_silent.then(|| "does not say what it sent again".into()));
    flaws.extend((seconds.max == 0.0).then(|| "takes no time".into()));
    flaws.extend(bound.and_then(|bound| too_fast("seconds", seconds.min, bound)));
    match flaws.is_empty() {
        true => Ok(Share { job: 0, who, is_ours: true, value, result: result.clone() }),
        false => Err(lack(false, format!("{who} {}", flaws.join(", ")))),
    }
}

impl Measured {
    /// Aurora's figures, of the jobs in which the MPI has its default setting: the target is for these.
    pub fn ours(&self) -> impl Iterator<Item = &Share> {
        let counts = |share: &&Share| share.is_ours && self.run(share).setting == DEFAULTS;
        self.shares.iter().filter(counts)
    }

    /// The best figure of the other systems for each starter; the first of equal figures.
    pub fn best(&self) -> Vec<&Share> {
        let sign = if self.row.figure.is_a_rate() { -1.0 } else { 1.0 };
        let others: Vec<_> = self.shares.iter().filter(|share| !share.is_ours).collect();
        let started = others.chunk_by(|a, b| self.run(a).starter() == self.run(b).starter());
        let order = |a: &&Share, b: &&Share| (sign * a.value.median).total_cmp(&(sign * b.value.median));
        started.filter_map(|of| of.iter().copied().min_by(order)).collect()
    }

    /// The job in which something was measured.
    pub fn run(&self, share: &Share) -> &Run {
        &self.outcomes[share.job].run
    }

    /// The reasons why the target is missed; empty if it is reached.
    pub fn shortfalls(&self) -> Vec<String> {
        let limit = match self.row.reach {
            Reach::Limit(limit) | Reach::Steady(limit, _) => Some(limit),
            Reach::OfBeside(times) => self.best().first().map(|beside| times * beside.value.median),
            Reach::NoWorse(implementation, _) => {
                self.shares.iter().find(|share| share.who == implementation).map(|share| share.value.median)
            }
            Reach::Any => return Vec::new(),
        };
        let mut short = Vec::new();
        for Share { value: Spread { min, median, max }, result, .. } in self.ours() {
            let keeps = limit.is_some_and(|limit| self.row.figure.keeps(*median, limit));
            let mut held = vec![("median", *median, keeps)];
            if let Reach::Steady(_, apart) = self.row.reach {
                let resent = result.figure("packets_resent").map_or(f64::NAN, |resent| resent.max);
                held.extend([("max/min", max / min, max / min <= apart), ("resent", resent, resent <= 0.0)]);
            }
            let missed = held.into_iter().filter(|(.., keeps)| !keeps);
            short.extend(missed.map(|(what, found, _)| format!("{what} {found:.3}")));
        }
        short
    }

    /// The maximum over all jobs of the share of busy cores.
    pub fn busy(&self) -> f64 {
        self.outcomes.iter().filter_map(|outcome| outcome.seen.busy).fold(0.0, f64::max)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::job::Seen;
    use super::super::row::{self, Figure, Job, Scale};
    use super::*;
    use crate::mpi::Flavour;
    use crate::netlab::Shape;
    use aurora_apps::bench::Operation;
    use serde_json::Map;

    const REPS: usize = 10;
    const SHAPE: Shape = Shape { rate: "155mbit", queue_kb: 128, mtu: 9000, lost_of_thousand: 0 };
    const LOAD: Operation = Operation::ReadCache { bytes: 704 * 704 * 4, late: None };

    /// A row of `get` on this machine, compared with messages.
    pub fn row(name: &'static str) -> Row {
        let job =
            Job { stage: Stage::Node, ranks: 2, words: "bench get --impl=aurora,mpi-isend", fewer: 1, payload: None };
        row::row(name, "in words", job, Figure::new("seconds", "us", 1e6), Reach::Limit(60.0))
    }

    /// A row of a load on an emulated cluster.
    fn lab() -> Row {
        let words = "bench read-cache --impl=aurora,mpi-collective,mpi-isend";
        let job = Job { stage: Stage::Lab(SHAPE), ranks: 4, words, fewer: 1, payload: Some(LOAD) };
        row::row("load-4", "in words", job, Figure::time("x bound", Scale::OfBound), Reach::Steady(1.05, 1.05))
    }

    /// The figures of an implementation on two ranks, with ten repetitions of the same time.
    pub fn figures(implementation: &str, seconds: f64) -> Figures {
        let (seconds, cpu_seconds) = (Spread::exactly(seconds), Spread::exactly(0.1));
        let (implementation, verified) = (implementation.into(), true);
        Figures { implementation, ranks: 2, reps: REPS, verified, seconds, cpu_seconds, ..Figures::default() }
    }

    pub fn outcome(run: &Run, results: Vec<Report>) -> Outcome {
        let seen = Seen { busy: Some(0.5), ..Seen::default() };
        Outcome { run: run.clone(), object: Map::new(), results, seen }
    }

    /// All results that a row needs, from both MPIs on an emulated cluster; every repetition takes `seconds`.
    fn ran(row: &Row, seconds: f64) -> Vec<Outcome> {
        let is_lab = row.job.stage != Stage::Node;
        let of = |(implementation, kind): &(&str, Option<&str>)| {
            let mut figures = figures(implementation, seconds);
            (figures.ranks, figures.access) = (row.job.ranks, kind.map(String::from));
            figures.packets_resent = is_lab.then(Spread::default);
            figures.per_second = Some(figures.seconds);
            figures.into()
        };
        let results: Vec<_> = row.picks().iter().map(of).collect();
        let mpis = if is_lab { &Flavour::BOTH[..] } else { &[Flavour::Open] };
        let run = |flavour: &Flavour| Run { flavour: *flavour, ..row.job.whole(REPS) };
        mpis.iter().map(|flavour| outcome(&run(flavour), results.clone())).collect()
    }

    /// A complete row.
    fn measured(row: &Row, seconds: f64) -> Measured {
        complete(row, ran(row, seconds).into_iter().map(Ok).collect()).expect("complete")
    }

    /// Damages a job's measurements from outside, or its results.
    type Change = fn(&mut Seen, &mut Vec<Report>);

    fn resent(of: &mut Report) -> &mut Option<Spread> {
        &mut of.operation.as_mut().expect("an operation").packets_resent
    }

    /// The errors of a row after `change` of its last job.
    fn flaw(row: Row, seconds: f64, change: Change) -> String {
        let mut ran = ran(&row, seconds);
        let last = ran.last_mut().expect("a job");
        change(&mut last.seen, &mut last.results);
        let complete = complete(&row, ran.into_iter().map(Ok).collect());
        complete.map_or_else(|flaws| flaws.join("; "), |_| "nothing".into())
    }

    #[test]
    fn a_row_has_all_jobs_all_figures_and_the_share_of_the_cores() {
        let cases: [(Change, &str); 9] = [
            (|_, _| (), "nothing"),
            (|seen, _| seen.busy = None, "CPU share"),
            (|seen, _| seen.busy = Some(1.5), "CPU share"),
            (|_, results| results.truncate(1), "no figures of mpi-"),
            (|_, results| results[1].verified = false, "has a wrong result"),
            (|_, results| results[0].reps = 3, "aurora was repeated 3 times on"),
            (|_, results| results[0].ranks = 7, "aurora was repeated 10 times on 7 ranks"),
            (|_, results| results[0].seconds.max = 0.0, "no min, median and max of seconds"),
            (|_, results| results[0].seconds = Spread::default(), "aurora takes no time"),
        ];
        for (change, expected) in cases {
            for (row, seconds) in [(row("get"), 1e-6), (lab(), 0.077)] {
                let flaw = flaw(row, seconds, change);
                assert!(flaw.contains(expected), "{}: {expected}: {flaw}", row.name);
            }
        }
        let resent: Change = |_, results| *resent(&mut results[0]) = None;
        assert_eq!(flaw(row("get"), 1e-6, resent), "nothing");
        assert_eq!(flaw(lab(), 0.077, resent), "MPICH, defaults: aurora does not say what it sent again");
        let mut failed: Vec<_> = ran(&lab(), 0.077).into_iter().map(Ok).collect();
        failed[1] = Err("MPICH is not there".into());
        assert_eq!(complete(&lab(), failed).expect_err("not complete"), ["MPICH is not there"]);
    }

    #[test]
    fn nobody_is_faster_than_the_wire_and_the_bound_is_the_payload_at_the_rate() {
        let flaw = flaw(lab(), 0.04, |_, _| ());
        assert_eq!(flaw.matches("faster than the wire").count(), 6, "{flaw}");
        let bound = lab().bound().expect("a bound");
        assert!((bound - 704.0 * 704.0 * 4.0 * 0.75 * 8.0 / 155e6).abs() < 1e-9);
        assert_eq!(row("get").bound(), None);
    }

    #[test]
    fn what_is_to_be_reached_can_be_missed() {
        let of = |figure: Figure| Row { figure, ..row("get") };
        let local = of(Figure { kinds: [Some("at-8"), Some("slice")], ..row("at-8").figure });
        let rate = of(Figure::new("per_second", "million/s", 1e-6));
        let stream = of(Figure::time("GB/s", Scale::Bytes(1000)));
        let cpu = Row { figure: Figure::new("cpu_seconds", "CPU s", 1.0), ..lab() };
        let (collective, isend) = (Reach::NoWorse("mpi-collective", ""), Reach::NoWorse("mpi-isend", ""));
        // Aurora takes `times` as long as the others, or has `times` their rate.
        for (row, reach, seconds, times, short) in [
            (row("get"), Reach::Limit(60.0), 60e-6, 1.0, vec![]),
            (row("get"), Reach::Limit(60.0), 61e-6, 1.0, vec!["median 61.000"]),
            (row("get"), Reach::Any, 61e-6, 9.0, vec![]),
            (row("get"), Reach::OfBeside(0.6), 1e-5, 0.59, vec![]),
            (row("get"), Reach::OfBeside(0.6), 1e-5, 0.61, vec!["median 6.100"]),
            (local, Reach::OfBeside(1.1), 1e-5, 1.2, vec!["median 12.000"]),
            (rate, Reach::Limit(2.0), 2e6, 1.0, vec![]),
            (rate, Reach::Limit(2.0), 2e6, 0.9, vec!["median 1.800"]),
            (lab(), Reach::Limit(1.05), 0.078, 1.0, vec![]),
            (lab(), Reach::Limit(1.05), 0.09, 1.0, vec!["median 1.173", "median 1.173"]),
            (cpu, collective, 0.1, 1.0, vec![]),
            (cpu, collective, 0.1, 2.0, vec!["median 0.200", "median 0.200"]),
            (lab(), Reach::NoWorse("tcp", ""), 0.1, 1.0, vec!["median 1.303", "median 1.303"]),
            (stream, isend, 1e-6, 0.9, vec![]),
            (stream, isend, 1e-6, 2.0, vec!["median 0.500"]),
        ] {
            let mut measured = measured(&Row { reach, ..row }, seconds);
            for share in measured.shares.iter_mut().filter(|share| share.is_ours) {
                let times = if row.figure == stream.figure { 1.0 / times } else { times };
                share.value = share.value.map(|value| value * times);
            }
            assert_eq!(measured.shortfalls(), short, "{}, {reach:?}", row.name);
        }
    }

    #[test]
    fn a_steady_row_is_even_and_resends_nothing() {
        let short = |change: fn(&mut Share)| {
            let mut measured = measured(&lab(), 0.078);
            change(&mut measured.shares[3]);
            measured.shortfalls()
        };
        assert!(short(|_| ()).is_empty());
        assert_eq!(short(|aurora| aurora.value.max *= 1.154), ["max/min 1.154"]);
        assert_eq!(short(|aurora| *resent(&mut aurora.result) = None), ["resent NaN"]);
        assert_eq!(
            short(|aurora| *resent(&mut aurora.result) = Some(Spread { max: 2.0, ..Spread::default() })),
            ["resent 2.000"]
        );
    }

    #[test]
    fn what_is_tuned_does_not_count_but_the_best_of_it_is_the_others_best() {
        let mut measured = measured(&lab(), 0.078);
        measured.outcomes[1].run.setting = "tuned";
        measured.shares[5].value.median = 0.5;
        let best: Vec<_> = measured.best().iter().map(|of| (measured.run(of).starter(), of.who)).collect();
        assert_eq!((measured.ours().count(), best), (1, vec![("Open MPI", "mpi-collective"), ("MPICH", "mpi-isend")]));
    }

    #[test]
    fn shares_of_computing_are_of_what_is_no_sharing() {
        let figure = Figure { scale: Scale::OfComputing, ..Figure::new("sharing_seconds", "%", 100.0) };
        let (sharing_seconds, operation) = (Spread::exactly(0.001), None);
        let result = Report { sharing_seconds, operation, ..figures("aurora", 0.101).into() };
        let row = Row { figure, ..row("mm2") };
        let share = share(&row, ("aurora", None), &outcome(&row.job.whole(REPS), vec![result])).expect("a figure");
        assert!((share.value.median - 1.0).abs() < 1e-9);
    }
}
