//! What makes a row complete, and whether Aurora reaches what it is to.

use super::job::{Outcome, Stage, Tuning};
use super::row::{Figure, Reach, Row};
use aurora_apps::report::Spread;
use serde::Deserialize;
use serde_json::Value;

/// Nobody is faster than the wire by more than the buckets of its shaping hold.
pub const FASTEST: f64 = 0.95;

/// Cores that are busier than this say nothing about the network.
pub const FULL: f64 = 0.9;

/// A row with everything that it must have.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Which.
    pub row: Row,
    /// Its jobs.
    pub outcomes: Vec<Outcome>,
    /// Whom it compares, job by job.
    pub shares: Vec<Share>,
}

/// What an implementation, or a kind of access, has in a row.
#[derive(Clone, Debug)]
pub struct Share {
    /// The number of its job.
    pub job: usize,
    /// What it is called.
    pub who: &'static str,
    /// Whether the row is about it.
    pub is_ours: bool,
    /// The row's figure in its unit.
    pub value: Spread,
    /// All that was said of it.
    pub said: Value,
}

/// Why a job has no figure of a row.
#[derive(Clone, PartialEq, Debug)]
pub enum Lack {
    /// This build does not measure that.
    Unknown(String),
    /// It does, and has failed.
    Failed(String),
}

impl Lack {
    /// In words.
    pub fn words(self) -> String {
        let (Lack::Unknown(words) | Lack::Failed(words)) = self;
        words
    }
}

/// Takes what a row's jobs have said for a row, if nothing is missing.
///
/// # Errors
/// All that is missing or cannot be.
pub fn complete(row: &Row, ran: Vec<Result<Outcome, String>>) -> Result<Measured, Vec<String>> {
    let (mut missing, mut outcomes, mut shares) = (Vec::new(), Vec::new(), Vec::new());
    let are_several = ran.len() > 1;
    for ran in ran {
        let outcome = match ran {
            Ok(outcome) => outcome,
            Err(why) => {
                missing.push(why);
                continue;
            }
        };
        let job = format!("{}, {}: ", outcome.run.starter(), outcome.run.tuning.name);
        let job = if are_several { job } else { String::new() };
        if outcome.seen.busy.is_none_or(|busy| !(0.0..=1.0).contains(&busy)) {
            missing.push(format!("{job}the CPU share of the job is not known"));
        }
        for (number, pick) in row.picks().into_iter().enumerate() {
            match share(row, pick, &outcome) {
                Ok(share) => shares.push(Share { job: outcomes.len(), is_ours: number == 0, ..share }),
                Err(lack) => missing.push(format!("{job}{}", lack.words())),
            }
        }
        outcomes.push(outcome);
    }
    if missing.is_empty() { Ok(Measured { row: *row, outcomes, shares }) } else { Err(missing) }
}

/// What a job says of an implementation, or of a kind, if nothing is wrong with it.
///
/// # Errors
/// What is.
pub fn share(
    row: &Row,
    (implementation, kind): (&'static str, Option<&'static str>),
    outcome: &Outcome,
) -> Result<Share, Lack> {
    let who = kind.unwrap_or(implementation);
    let is_it = |result: &&Value| {
        let found = result["memory"].as_str().or(result["access"].as_str());
        result["impl"] == implementation && found == kind
    };
    let Some(said) = outcome.results().iter().find(is_it) else {
        return Err(Lack::Unknown(format!("no figures of {who}")));
    };
    let named = |name: &str| match Spread::deserialize(&said[name]) {
        Ok(spread) if 0.0 <= spread.min && spread.is_in_order() => Ok(spread),
        Ok(spread) => Err(Lack::Failed(format!("{who} has no min, median and max of {name}: {spread}"))),
        Err(_) if said[name].is_null() => Err(Lack::Unknown(format!("{who} says no {name}"))),
        Err(error) => Err(Lack::Failed(format!("{who} says no {name}: {error}"))),
    };
    let seconds = named("seconds")?;
    let figure = match row.figure {
        Figure::Named(name) => named(name)?,
        // The rest of a repetition that takes as long as most is what it computes.
        Figure::SharingByComputing => {
            let sharing = named("sharing_seconds")?;
            sharing.map(|part| part / (seconds.median - sharing.median))
        }
    };
    let flaws = flaws(row, outcome, said, seconds);
    match flaws.is_empty() {
        true => Ok(Share { job: 0, who, is_ours: true, value: row.value(figure), said: said.clone() }),
        false => Err(Lack::Failed(format!("{who} {}", flaws.join(", ")))),
    }
}

fn flaws(row: &Row, outcome: &Outcome, said: &Value, seconds: Spread) -> Vec<String> {
    let mut flaws = Vec::new();
    if said["verified"] != true {
        flaws.push("has brought wrong bytes".into());
    }
    if said["reps"] != outcome.run.reps || said["ranks"] != row.job.stage.ranks() {
        flaws.push(format!("was repeated {} times on {} ranks", said["reps"], said["ranks"]));
    }
    // Ranks that share memory send no packets.
    let sends = said["impl"] == "aurora" && !matches!(row.job.stage, Stage::Node { .. });
    if sends && !Spread::deserialize(&said["packets_resent"]).is_ok_and(Spread::is_in_order) {
        flaws.push("does not say what it sent again".into());
    }
    if seconds.max == 0.0 {
        flaws.push("takes no time".into());
    }
    if row.starts_together() && row.bound().is_some_and(|bound| seconds.min < FASTEST * bound) {
        flaws.push(format!("is faster than the wire ({} s): it has not gone over it", seconds.min));
    }
    flaws
}

impl Measured {
    /// Ours, of the jobs in which the others were as they come: these count.
    pub fn ours(&self) -> impl Iterator<Item = &Share> {
        let counts = |share: &&Share| share.is_ours && self.outcomes[share.job].run.tuning == Tuning::DEFAULTS;
        self.shares.iter().filter(counts)
    }

    /// The best of the others, of those that `starter` has started; of the first that is best.
    pub fn best(&self, starter: &str) -> Option<&Share> {
        let sign = if self.row.unit.is_a_rate { -1.0 } else { 1.0 };
        let others = self.shares.iter().filter(|share| !share.is_ours);
        let of = others.filter(|share| self.outcomes[share.job].run.starter() == starter);
        of.min_by(|a, b| (sign * a.value.median).total_cmp(&(sign * b.value.median)))
    }

    /// What starts its jobs, each once.
    pub fn starters(&self) -> Vec<&'static str> {
        let mut starters: Vec<_> = self.outcomes.iter().map(|outcome| outcome.run.starter()).collect();
        starters.dedup();
        starters
    }

    /// Why what is to be reached is not, for each reason; none if it is.
    pub fn shortfalls(&self) -> Vec<String> {
        let mut short = Vec::new();
        for Share { value, said, .. } in self.ours() {
            let mut hold = |what: &str, found: f64, holds: bool| {
                if !holds {
                    short.push(format!("{what} {found:.3}"));
                }
            };
            let median = value.median;
            match self.row.reach {
                Reach::AtMost(most) => hold("median", median, median <= most),
                Reach::AtLeast(least) => hold("median", median, median >= least),
                Reach::Steady(most, apart) => {
                    hold("median", median, median <= most);
                    hold("max/min", value.max / value.min, value.max / value.min <= apart);
                    let resent = said["packets_resent"]["max"].as_f64().unwrap_or(f64::NAN);
                    hold("resent", resent, resent <= 0.0);
                }
                Reach::OfBeside(times) => {
                    let beside = self.starters().first().and_then(|starter| self.best(starter));
                    hold("median", median, beside.is_some_and(|beside| median <= times * beside.value.median));
                }
                Reach::NoWorse(implementation, _) => {
                    let of = self.shares.iter().find(|share| share.who == implementation);
                    let reference = of.map_or(f64::NAN, |share| share.value.median);
                    let holds = if self.row.unit.is_a_rate { median >= reference } else { median <= reference };
                    hold("median", median, holds);
                }
                Reach::Nothing => {}
            }
        }
        short
    }

    /// The share of the cores that was busy, of the job that took most.
    pub fn busy(&self) -> f64 {
        self.outcomes.iter().filter_map(|outcome| outcome.seen.busy).fold(0.0, f64::max)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::job::{Run, Seen};
    use super::super::row::{Job, Unit};
    use super::*;
    use crate::mpi::Flavour;
    use crate::netlab::Shape;
    use aurora_apps::bench::Operation;
    use serde_json::json;

    const REPS: usize = 10;
    const SHAPE: Shape = Shape { rate: "155mbit", queue_kb: 128, mtu: 9000, lost_of_thousand: 0 };
    const LOAD: Operation = Operation::ReadCache { bytes: 704 * 704 * 4, late: None };

    /// Of `at` on this machine, beside messages.
    pub fn row(name: &'static str) -> Row {
        let job = Job { stage: Stage::Node { ranks: 2 }, words: "bench get --impl=aurora,mpi-isend", fewer: 1 };
        let (figure, unit) = (Figure::Named("seconds"), Unit::MICROS);
        Row { name, what: "in words", job, figure, kinds: [None; 2], unit, reach: Reach::AtMost(60.0) }
    }

    /// Of a load on an emulated cluster.
    fn lab() -> Row {
        let words = "bench read-cache --impl=aurora,mpi-collective,mpi-isend";
        let job = Job { stage: Stage::Lab { nodes: 4, shape: SHAPE }, words, fewer: 1 };
        Row { job, unit: Unit::bound_of(LOAD), reach: Reach::Steady(1.05, 1.05), ..row("load-4") }
    }

    /// What an implementation says on two ranks that have ten repetitions of the same time.
    pub fn said(implementation: &str, seconds: f64) -> Value {
        let even = |value: f64| json!({ "min": value, "median": value, "max": value });
        json!({
            "bench": "get", "impl": implementation, "verified": true, "reps": REPS, "ranks": 2, "memory": null,
            "seconds": even(seconds), "cpu_seconds": even(0.1), "packets_resent": null,
        })
    }

    pub fn outcome(run: &Run, results: Vec<Value>) -> Outcome {
        let object = json!({ "results": results }).as_object().cloned().unwrap_or_default();
        Outcome { run: run.clone(), object, seen: Seen { busy: Some(0.5), ..Seen::default() } }
    }

    /// All that a row wants, by both MPIs on an emulated cluster, each repetition as long as this.
    fn ran(row: &Row, seconds: f64) -> Vec<Outcome> {
        let mpis = if matches!(row.job.stage, Stage::Lab { .. }) { &Flavour::BOTH[..] } else { &[Flavour::Open] };
        let of = |(implementation, kind): &(&str, Option<&str>)| {
            let mut said = said(implementation, seconds);
            said["ranks"] = json!(row.job.stage.ranks());
            said["access"] = json!(kind);
            if matches!(row.job.stage, Stage::Lab { .. }) {
                said["packets_resent"] = self::said("", 0.0)["seconds"].clone();
            }
            if let Figure::Named(name) = row.figure {
                said[name] = said["seconds"].clone();
            }
            said
        };
        let results: Vec<_> = row.picks().iter().map(of).collect();
        let run = |flavour: &Flavour| Run { flavour: *flavour, ..row.job.whole(REPS) };
        mpis.iter().map(|flavour| outcome(&run(flavour), results.clone())).collect()
    }

    /// A whole row.
    pub fn measured(row: &Row, seconds: f64) -> Measured {
        complete(row, ran(row, seconds).into_iter().map(Ok).collect()).expect("complete")
    }

    /// What is wrong with a row whose last job is changed like this.
    fn flaw(row: Row, seconds: f64, change: impl Fn(&mut Seen, &mut Vec<Value>)) -> String {
        let mut ran = ran(&row, seconds);
        let last = ran.last_mut().expect("a job");
        let mut results = last.results().to_vec();
        change(&mut last.seen, &mut results);
        last.object.insert("results".into(), results.into());
        let complete = complete(&row, ran.into_iter().map(Ok).collect());
        complete.map_or_else(|flaws| flaws.join("; "), |_| "nothing".into())
    }

    #[test]
    fn a_row_has_all_jobs_all_figures_and_the_share_of_the_cores() {
        type Change = fn(&mut Seen, &mut Vec<Value>);
        let cases: [(Change, &str); 10] = [
            (|_, _| (), "nothing"),
            (|seen, _| seen.busy = None, "CPU share"),
            (|seen, _| seen.busy = Some(1.5), "CPU share"),
            (|_, results| results.truncate(1), "no figures of mpi-"),
            (|_, results| results[1]["verified"] = json!(false), "has brought wrong bytes"),
            (|_, results| results[0]["reps"] = json!(3), "aurora was repeated 3 times on"),
            (|_, results| results[0]["ranks"] = json!(7), "aurora was repeated 10 times on 7 ranks"),
            (|_, results| results[0]["seconds"] = json!(null), "aurora says no seconds"),
            (|_, results| results[0]["seconds"]["max"] = json!(0.0), "no min, median and max of seconds"),
            (|_, results| results[0]["seconds"] = said("", 0.0)["seconds"].clone(), "aurora takes no time"),
        ];
        for (change, expected) in cases {
            for (row, seconds) in [(row("get"), 1e-6), (lab(), 0.077)] {
                let flaw = flaw(row, seconds, change);
                assert!(flaw.contains(expected), "{}: {expected}: {flaw}", row.name);
            }
        }
        let resent: Change = |_, results| results[0]["packets_resent"] = json!(null);
        assert_eq!(flaw(row("get"), 1e-6, resent), "nothing");
        assert_eq!(flaw(lab(), 0.077, resent), "MPICH, defaults: aurora does not say what it sent again");
        let mut failed: Vec<_> = ran(&lab(), 0.077).into_iter().map(Ok).collect();
        failed[1] = Err("MPICH is not there".into());
        assert_eq!(complete(&lab(), failed).expect_err("not complete"), ["MPICH is not there"]);
    }

    #[test]
    fn nobody_is_faster_than_the_wire() {
        let flaw = flaw(lab(), 0.04, |_, _| ());
        assert_eq!(flaw.matches("faster than the wire").count(), 6, "{flaw}");
    }

    #[test]
    fn the_bound_is_the_payload_at_the_rate() {
        let bound = lab().bound().expect("a bound");
        assert!((bound - 704.0 * 704.0 * 4.0 * 0.75 * 8.0 / 155e6).abs() < 1e-9);
        assert_eq!(row("get").bound(), None);
    }

    #[test]
    fn what_is_to_be_reached_can_be_missed() {
        let local = Row { kinds: [Some("at-8"), Some("slice")], ..row("at-8") };
        let rate = Row { unit: Unit::MILLIONS, figure: Figure::Named("per_second"), ..row("rate") };
        let cpu = Row { unit: Unit::CPU_SECONDS, figure: Figure::Named("cpu_seconds"), ..lab() };
        let stream = Row { unit: Unit::rate_of(1000), ..row("stream") };
        let (collective, isend) = (Reach::NoWorse("mpi-collective", ""), Reach::NoWorse("mpi-isend", ""));
        // Ours takes so many times as long as the others, or has so much more.
        for (row, reach, seconds, times, short) in [
            (row("get"), Reach::AtMost(60.0), 60e-6, 1.0, vec![]),
            (row("get"), Reach::AtMost(60.0), 61e-6, 1.0, vec!["median 61.000"]),
            (row("get"), Reach::Nothing, 61e-6, 9.0, vec![]),
            (row("get"), Reach::OfBeside(0.6), 1e-5, 0.59, vec![]),
            (row("get"), Reach::OfBeside(0.6), 1e-5, 0.61, vec!["median 6.100"]),
            (local, Reach::OfBeside(1.1), 1e-5, 1.2, vec!["median 12.000"]),
            (rate, Reach::AtLeast(2.0), 2e6, 1.0, vec![]),
            (rate, Reach::AtLeast(2.0), 2e6, 0.9, vec!["median 1.800"]),
            (lab(), Reach::AtMost(1.05), 0.078, 1.0, vec![]),
            (lab(), Reach::AtMost(1.05), 0.09, 1.0, vec!["median 1.173", "median 1.173"]),
            (cpu, collective, 0.1, 1.0, vec![]),
            (cpu, collective, 0.1, 2.0, vec!["median 0.200", "median 0.200"]),
            (lab(), Reach::NoWorse("tcp", ""), 0.1, 1.0, vec!["median 1.303", "median 1.303"]),
            (stream, isend, 1e-6, 0.9, vec![]),
            (stream, isend, 1e-6, 2.0, vec!["median 0.500"]),
        ] {
            let mut measured = measured(&Row { reach, ..row }, seconds);
            for share in measured.shares.iter_mut().filter(|share| share.is_ours) {
                let times = if row.unit == stream.unit { 1.0 / times } else { times };
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
        assert_eq!(short(|aurora| aurora.said["packets_resent"] = json!(null)), ["resent NaN"]);
        assert_eq!(short(|aurora| aurora.said["packets_resent"]["max"] = json!(2.0)), ["resent 2.000"]);
    }

    #[test]
    fn what_is_tuned_does_not_count_but_the_best_of_it_is_the_others_best() {
        let mut measured = measured(&lab(), 0.078);
        measured.outcomes[1].run.tuning.name = "tuned";
        assert_eq!((measured.ours().count(), measured.starters()), (1, vec!["Open MPI", "MPICH"]));
        measured.shares[5].value.median = 0.5;
        assert_eq!(measured.best("MPICH").map(|share| (share.job, share.who)), Some((1, "mpi-isend")));
        assert_eq!(measured.best("no MPI").map(|share| share.who), None);
    }

    #[test]
    fn shares_of_computing_are_of_what_is_no_sharing() {
        let row = Row { figure: Figure::SharingByComputing, unit: Unit::PERCENT, ..row("mm2") };
        let mut said = said("aurora", 0.101);
        said["sharing_seconds"] = self::said("", 0.001)["seconds"].clone();
        let share = share(&row, ("aurora", None), &outcome(&row.job.whole(REPS), vec![said])).expect("a figure");
        assert!((share.value.median - 1.0).abs() < 1e-9);
    }
}
