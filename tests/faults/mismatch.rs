//! Ranks that disagree, in jobs whose ranks leave as soon as they get the error: each rank gets a `Mismatch`, in
//! whatever order the messages arrive.

use crate::MACHINE;
use crate::cell::Starter;
use crate::start::{launcher, word};
use aurora_core::ops::{Max, Sum};
use aurora_core::prelude::*;
use aurora_suite::driver::Job;
use aurora_suite::notes::{note, noted};
use aurora_suite::{harness, mpi};
use libtest_mimic::{Failed, Trial};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The first argument of a binary that is the job; launcher, number of ranks, kind and late rank follow.
pub const ARGUMENT: &str = "--as-job-that-disagrees";

/// The delay of the late rank: the other ranks have the error by then.
const LATE: Duration = Duration::from_millis(150);

/// An MPI job ends as soon as one of its ranks leaves with an error. So each rank waits until all ranks have it.
const KNOWN: Duration = Duration::from_secs(20);

/// The length of the vector.
const LEN: usize = 12;

/// A complete collective call.
type Call = fn(&World, &mut GVector<u64>) -> Result<()>;

/// Pairs of calls that do not match: rank 1 makes the first, the other ranks the second.
const KINDS: [(&str, Call, Call); 8] = [
    ("behaviours", |_, v| v.release_c()?.finish(), |_, v| v.read_cache()?.finish()),
    ("load-and-barrier", |_, v| v.read_cache()?.finish(), |world, _| world.barrier()),
    ("lengths", |world, _| make(world, 11), |world, _| make(world, 10)),
    ("operations", |_, v| update(v, Max), |_, v| update(v, Sum)),
    ("accumulate", |_, v| v.accumulate(Sum)?.finish(), |_, v| update(v, Sum)),
    ("fill-and-barrier", |_, v| v.fill(1), |world, _| world.barrier()),
    ("one-scope-more", |world, v| v.release_c().map(drop).and_then(|()| world.barrier()), |world, _| world.barrier()),
    ("scalars", |world, _| scalar(world, Max), |world, _| scalar(world, Sum)),
];

fn make(world: &World, len: usize) -> Result<()> {
    GVector::<u64>::new(world, len).map(drop)
}

fn update(v: &mut GVector<u64>, op: impl Op<u64>) -> Result<()> {
    let mut scope = v.release_c_with(op)?;
    (0..LEN).try_for_each(|i| scope.update(i, 1))?;
    scope.finish()
}

fn scalar(world: &World, op: impl Op<u64>) -> Result<()> {
    let mut s = GScalar::new(world, 0, 0u64)?;
    s.accumulate(op)?.finish()
}

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut starters = vec![Starter::Threads, Starter::Processes];
    match mpi::built_for().and_then(|flavour| flavour.launcher(3).map(|_| flavour)) {
        Ok(flavour) => starters.push(Starter::Mpi(flavour)),
        Err(reason) => trials.push(harness::missing("mpirun/mismatch", reason)),
    }
    for starter in starters {
        for (kind, ..) in KINDS {
            trials.push(Trial::test(format!("{starter}/mismatch-{kind}"), move || all_are_told(starter, kind)));
        }
    }
    trials
}

/// For several numbers of ranks, and with each rank late; in the last job no rank is late.
fn all_are_told(starter: Starter, kind: &str) -> Result<(), Failed> {
    let _beside_others = MACHINE.read();
    // An MPI job takes longer to start.
    let sizes: &[usize] = if matches!(starter, Starter::Mpi(_)) { &[3] } else { &[2, 3, 4] };
    for ranks in sizes.iter().copied() {
        for late in 0..=ranks {
            let mut command = launcher(starter, ranks)?;
            command.args([ARGUMENT, word(starter), &ranks.to_string(), kind, &late.to_string()]);
            let ended = Job::start(command)?.wait()?;
            let views: Vec<_> = (0..ranks).map(|rank| ended.note(&format!("rank-{rank}"))).collect();
            let run = if matches!(starter, Starter::Mpi(_)) { None } else { Some(ended.note("run")) };
            let is_told = |view: &Option<String>| view.as_ref().is_some_and(|view| view.starts_with("Mismatch"));
            if !views.iter().chain(&run).all(is_told) {
                return Err(format!("{ranks} ranks, rank {late} late: {views:#?}, run {run:?}, {}", ended.all()).into());
            }
        }
    }
    Ok(())
}

pub fn main(arguments: &[String]) -> ExitCode {
    let [starter, ranks, kind, late] = arguments else {
        panic!("launcher, number of ranks, kind and who is late");
    };
    let (ranks, late): (usize, usize) = (ranks.parse().expect("a number"), late.parse().expect("a rank"));
    let (_, odd, usual) = KINDS.into_iter().find(|(name, ..)| name == kind).expect("a kind");
    let config = match starter.as_str() {
        "threads" => Config::threads(ranks),
        "processes" => Config::processes(ranks),
        _ => Config::mpi(),
    };
    let outcome = config.run(|world| {
        // A rank that is slow to leave the barrier gets the error there.
        let outcome = GVector::<u64>::new(world, LEN).and_then(|mut v| {
            world.barrier()?;
            if world.rank() == late {
                std::thread::sleep(LATE);
            }
            let call = if world.rank() == 1 { odd } else { usual };
            call(world, &mut v)
        });
        note(&format!("rank-{}", world.rank().index()), &view(&outcome));
        if starter == "mpi" {
            let until = Instant::now() + KNOWN;
            let is_told = |rank: usize| noted(&format!("rank-{rank}")).is_some();
            while !(0..ranks).all(is_told) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        outcome
    });
    note("run", &view(&outcome));
    if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The kind of an error, and its text.
fn view(outcome: &Result<()>) -> String {
    match outcome {
        Ok(()) => "nothing".into(),
        Err(error @ Error::Mismatch { .. }) => format!("Mismatch: {error}"),
        Err(error @ Error::JobFailed { .. }) => format!("JobFailed: {error}"),
        Err(error) => format!("another: {error}"),
    }
}
