//! A rank is stopped while it writes directly to another rank's block in shared memory, and continues later. The block
//! that the owner is lent meanwhile must not change. Either the owner is lent nothing and both ranks get the error of
//! the job, or the writer was outside the block when it was stopped.

use crate::cell::Starter;
use crate::{MACHINE, start};
use aurora_core::prelude::*;
use aurora_core::{Route, Scope};
use aurora_suite::driver::Job;
use aurora_suite::mpi;
use aurora_suite::notes::{note, noted};
use libtest_mimic::{Failed, Trial};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::hint::black_box;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

/// The first argument of a binary that is the job; launcher, stopped rank, and the owner's kind of guard follow.
pub const ARGUMENT: &str = "--as-job-that-is-stopped";

const RANKS: usize = 2;

/// The number of elements of each block.
const EACH: usize = 1 << 16;

/// The value that the owner writes, and no other rank.
const MINE: u64 = u64::MAX;

/// The maximum number of tries in which the signal may come while the writer is outside the block.
const TRIES: usize = 12;

/// The time for which a lent slice is watched after the writer has continued.
const LOOKING: Duration = Duration::from_millis(300);

/// Longer than any step of the test.
const LIMIT: Duration = Duration::from_secs(20);

pub fn trials() -> Vec<Trial> {
    // Rank 1 of self-started processes is a child of rank 0, which kills it some time after the stop.
    let mut cases = vec![(Starter::Processes, 0), (Starter::Processes, 1)];
    if let Ok(flavour) = mpi::built_for().and_then(|flavour| flavour.launcher(RANKS).map(|_| flavour)) {
        cases.extend([(Starter::Mpi(flavour), 0), (Starter::Mpi(flavour), 1)]);
    }
    let trial = |(starter, stopped): (Starter, usize)| {
        ["mut", "shared"].map(|how| {
            let name = format!("{starter}/stopped-inside-a-block-lent-{how}/rank-{stopped}");
            Trial::test(name, move || run(starter, stopped, how))
        })
    };
    cases.into_iter().flat_map(trial).collect()
}

pub fn main(arguments: &[String]) -> ExitCode {
    let [starter, stopped, how] = arguments else { panic!("launcher, rank and how it is lent") };
    let stopped: usize = stopped.parse().expect("a rank");
    let config = if starter == "mpi" { Config::mpi() } else { Config::processes(RANKS) };
    let outcome = config.route(Route::Shm).run(|world| {
        let mut v = GVector::<u64>::new(world, RANKS * EACH)?;
        note(&format!("pid-{}", world.rank().index()), &std::process::id().to_string());
        match world.rank() == stopped {
            true => write(&mut v, 1 - stopped),
            false => lend(&mut v, how),
        }
    });
    if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The stopped rank: writes to the other rank's block without end.
fn write(v: &mut GVector<u64>, owner: usize) -> Result<()> {
    let writes = [1, 2].map(|value| v.range_of(owner).map(|index| (index, value)).collect::<Vec<_>>());
    let begun = Instant::now();
    let (mut rounds, mut turns) = (0_u32, writes.iter().cycle());
    let outcome = loop {
        let writes = turns.next().expect("a cycle has no end");
        if let Err(error) = v.put_many(writes) {
            break Err(error);
        }
        if rounds == 0 {
            note("writing", "");
        }
        rounds += 1;
        if rounds % 256 == 0 && (noted("over").is_some() || begun.elapsed() > LIMIT) {
            break Ok(());
        }
    };
    let word = outcome.as_ref().err().map_or("nothing".into(), ToString::to_string);
    note("writer", &word);
    wait_for("over");
    outcome
}

/// The owner: opens a guard of its block after the writer has been stopped.
fn lend(v: &mut GVector<u64>, how: &str) -> Result<()> {
    wait_for("stopped");
    let outcome = match how {
        "mut" => v.owner_computes_mut().map(|mut own| {
            own.local_mut().fill(MINE);
            watch(own.local_mut())
        }),
        _ => v.owner_computes().map(|own: Scope<'_, _>| {
            let before = own.local().to_vec();
            note("lent", "");
            watch_against(own.local(), &before)
        }),
    };
    let word = match &outcome {
        Ok(true) => "it has changed".into(),
        Ok(false) => "as it was".into(),
        Err(error) => error.to_string(),
    };
    note("owner", &word);
    wait_for("over");
    outcome.map(drop)
}

fn watch(lent: &mut [u64]) -> bool {
    let before = vec![MINE; lent.len()];
    note("lent", "");
    watch_against(lent, &before)
}

/// True if the lent block changes before the driver has seen enough.
fn watch_against(lent: &[u64], before: &[u64]) -> bool {
    let begun = Instant::now();
    while noted("seen").is_none() && begun.elapsed() < LIMIT {
        if black_box(lent) != black_box(before) {
            return true;
        }
    }
    false
}

fn wait_for(name: &str) {
    let begun = Instant::now();
    while noted(name).is_none() && begun.elapsed() < LIMIT {
        thread::sleep(Duration::from_millis(2));
    }
}

fn run(starter: Starter, stopped: usize, how: &str) -> Result<(), Failed> {
    let _beside_others = MACHINE.read();
    for attempt in 0..TRIES {
        if stop_once(starter, stopped, how, attempt)? {
            return Ok(());
        }
    }
    Err(format!("the writer was outside in {TRIES} of {TRIES} jobs").into())
}

/// True if the rank was stopped inside the block.
fn stop_once(starter: Starter, stopped: usize, how: &str, attempt: usize) -> Result<bool, Failed> {
    let mut command = start::launcher(starter, RANKS)?;
    command.args([ARGUMENT, start::word(starter), &stopped.to_string(), how]).env("AURORA_SILENCE", "1");
    let mut job = Job::start(command)?;
    job.wait_for_notes(&["pid-0".into(), "pid-1".into(), "writing".into()])?;
    let pid: i32 = job.note(&format!("pid-{stopped}")).and_then(|pid| pid.parse().ok()).ok_or("no pid")?;
    thread::sleep(Duration::from_micros(1000 + 137 * attempt as u64));
    stop(Pid::from_raw(pid).ok_or("no pid")?)?;
    job.note_fault();
    job.tell("stopped");
    let begun = Instant::now();
    let told = loop {
        match (job.note("owner"), job.note("lent")) {
            (None, None) if begun.elapsed() < LIMIT => thread::sleep(Duration::from_millis(2)),
            (told, _) => break told,
        }
    };
    // A process that was killed because it was stopped no longer exists.
    let _ = kill_process(Pid::from_raw(pid).ok_or("no pid")?, Signal::CONT);
    let Some(told) = told else {
        thread::sleep(LOOKING);
        job.tell("seen");
        job.wait_for_notes(&["owner".into()])?;
        let told = job.note("owner").unwrap_or_default();
        job.tell("over");
        let ended = job.wait()?;
        return match told.as_str() {
            "as it was" => Ok(false),
            _ => Err(format!("lent after {:?}: {told}; {}", begun.elapsed(), ended.all()).into()),
        };
    };
    let who = format!("rank {stopped}");
    // A child of rank 0 that was stopped for long no longer exists and gets no error.
    let mortal = starter == Starter::Processes && stopped != 0;
    let until = Instant::now() + if mortal { Duration::from_secs(5) } else { LIMIT };
    while job.note("writer").is_none() && Instant::now() < until {
        thread::sleep(Duration::from_millis(2));
    }
    let writer = job.note("writer");
    job.tell("over");
    let ended = job.wait()?;
    let owner_knows = told.contains(&who) && told.contains("has been silent");
    let writer_knows = writer.as_ref().map_or(mortal, |writer| writer != "nothing");
    match owner_knows && writer_knows && ended.code() != 0 {
        true => Ok(true),
        false => Err(format!("owner: {told}; writer: {writer:?}; {}", ended.all()).into()),
    }
}

/// Returns when none of the process's threads runs.
fn stop(pid: Pid) -> Result<(), Failed> {
    kill_process(pid, Signal::STOP).map_err(|error| error.to_string())?;
    let begun = Instant::now();
    while begun.elapsed() < LIMIT {
        let tasks = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero()))?;
        let states = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("stat")).ok());
        if states.into_iter().all(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))) {
            return Ok(());
        }
    }
    Err("it does not stop".into())
}
