//! A job that uses everything a little until one of its ranks is killed.

use aurora_core::ops::Sum;
use aurora_core::prelude::*;
use aurora_core::{GScalar, GVector, distmemcpy};
use aurora_suite::job::exit_code;
use aurora_suite::notes::note_fault;
use aurora_suite::{check, mix};
use rustix::process::{Signal, getpid, kill_process};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

/// The first argument of a binary that is the job; launcher, ranks and point follow.
pub const ARGUMENT: &str = "--as-job-that-is-killed";

/// Longer than a rank lives before it is killed.
const LIFE: Duration = Duration::from_secs(20);

/// The rounds of a job that must end by itself.
const ROUNDS: usize = 2;

/// Several pages on each rank.
const LENGTH: usize = 20_011;

/// The moment from which time is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// The start of the process.
    Start,
    /// The start of the function that all ranks run.
    Work,
    /// The end of that function.
    End,
}

impl Moment {
    const ALL: [Moment; 3] = [Moment::Start, Moment::Work, Moment::End];
}

/// The rank that is killed, and the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    pub rank: usize,
    pub moment: Moment,
    pub after: Duration,
}

impl Point {
    /// The arguments of the program in a job's command.
    pub fn arguments(self, processes: bool, ranks: usize) -> [String; 6] {
        let starter = if processes { "processes" } else { "mpi" };
        let Point { rank, moment, after } = self;
        let (ranks, rank, micros) = (ranks.to_string(), rank.to_string(), after.as_micros().to_string());
        [ARGUMENT.into(), starter.into(), ranks, rank, format!("{moment:?}"), micros]
    }

    fn parse(words: &[String]) -> Option<Self> {
        let [rank, moment, micros] = words else { return None };
        let moment = Moment::ALL.into_iter().find(|known| format!("{known:?}") == *moment)?;
        Some(Point { rank: rank.parse().ok()?, moment, after: Duration::from_micros(micros.parse().ok()?) })
    }

    fn strikes(self, moment: Moment, rank: usize) {
        if self.moment == moment && self.rank == rank {
            thread::spawn(move || {
                thread::sleep(self.after);
                note_fault();
                let _ = kill_process(getpid(), Signal::KILL);
            });
        }
    }
}

pub fn main(arguments: &[String]) -> ExitCode {
    let [starter, ranks, point @ ..] = arguments else { panic!("launcher, ranks and point") };
    let point = Point::parse(point).expect("a point");
    let config = match starter.as_str() {
        "processes" => Config::processes(ranks.parse().expect("ranks")),
        _ => Config::mpi(),
    };
    point.strikes(Moment::Start, announced_rank());
    let outcome = config.run(|world| {
        point.strikes(Moment::Work, world.rank().index());
        walk(world, point.moment == Moment::End)?;
        point.strikes(Moment::End, world.rank().index());
        Ok(())
    });
    exit_code(outcome)
}

/// The rank from the launcher's variables, before Aurora starts: Aurora's, Open MPI's or MPICH's.
fn announced_rank() -> usize {
    let ticket = std::env::var("AURORA_JOB").ok().and_then(|ticket| Some(ticket.split(':').nth(1)?.to_string()));
    let told = ["OMPI_COMM_WORLD_RANK", "PMI_RANK"].into_iter().find_map(|name| std::env::var(name).ok());
    ticket.or(told).and_then(|rank| rank.parse().ok()).unwrap_or(0)
}

/// All kinds of communication between ranks, with checked results, in endless rounds or a few.
fn walk(world: &World, ends: bool) -> Result<()> {
    let begun = Instant::now();
    let rounds = if ends { ROUNDS } else { usize::MAX };
    let visits = GScalar::new(world, world.size() - 1, 0_u64)?;
    for round in 0..rounds {
        if begun.elapsed() > LIFE {
            return Err(Error::user("nobody has been killed"));
        }
        visit(world, &visits, round)?;
    }
    Ok(())
}

fn visit(world: &World, visits: &GScalar<u64>, round: usize) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let want = |i: usize| mix((i + round) as u64);
    let mut v = GVector::from_fn(world, LENGTH, want)?;
    // Loads. After each load the owners write again.
    for turn in 1..=3 {
        check::same(v.read_cache()?.as_slice(), 0, |i| want(i).wrapping_add(turn - 1))?;
        let mut own = v.owner_computes_mut()?;
        own.local_mut().iter_mut().for_each(|x| *x = x.wrapping_add(1));
        own.finish()?;
    }
    world.barrier()?;
    // Single elements of the neighbour's block, and all elements of all ranks.
    let theirs = v.range_of((me + 1) % p);
    for i in theirs.start..theirs.start + 20 {
        v.put(i, v.at(i)?.wrapping_add(1))?;
    }
    let mut whole = vec![0; LENGTH];
    distmemcpy(&mut whole[..], v.range(..))?;
    let some: Vec<usize> = (0..2000).map(|k| (k * 37 + round) % LENGTH).collect();
    check::equal("elements", v.at_many(&some)?.len(), some.len())?;
    visits.fetch_add(1)?;
    // Reductions: with the barrier, in steps, and of different lengths.
    check::equal("sum", world.all_reduce(Sum, me + 1)?, p * (p + 1) / 2)?;
    let mut sums = vec![me as u64 + 1; 50_000];
    world.all_reduce_slice(Sum, &mut sums)?;
    check::same(&sums, 0, |_| (p * (p + 1) / 2) as u64)?;
    let texts = world.all_gather("a".repeat(20_000 * me))?;
    check::equal("letters", texts.iter().map(String::len).sum::<usize>(), 20_000 * (p * (p - 1) / 2))?;
    // Updates of elements of all ranks.
    let mut sums = GVector::<u64>::new(world, 1009)?;
    let mut updates = sums.release_c_with(Sum)?;
    (0..20_000).try_for_each(|k| updates.update(k % 1009, 1))?;
    updates.finish()?;
    check::whole(&sums, |i| (p * (i..20_000).step_by(1009).len()) as u64)?;
    check::equal("gathered", v.gather_to(round % p)?.is_some(), me == round % p)?;
    world.barrier()
}
