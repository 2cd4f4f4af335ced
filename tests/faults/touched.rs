//! A rank is killed while all ranks read and write single elements of each other's blocks in shared memory. No rank
//! waits for a rank that died inside a block, and the job ends at once.

use crate::cell::Starter;
use crate::{MACHINE, start};
use aurora_core::Route;
use aurora_core::prelude::*;
use aurora_suite::driver::Job;
use aurora_suite::notes::{note, note_fault};
use libtest_mimic::{Failed, Trial};
use rustix::process::{Signal, getpid, kill_process};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

/// The first argument of a binary that is the job; the rank that is killed follows.
pub const ARGUMENT: &str = "--as-job-that-touches";

const RANKS: usize = 3;

/// One in six of these jobs took the whole grace period.
const JOBS: usize = 25;

/// The surviving ranks have 2 s to end by themselves; they take 10 ms.
const AT_ONCE: Duration = Duration::from_millis(1500);

pub fn trials() -> Vec<Trial> {
    let trial = |rank| Trial::test(format!("processes/killed-inside-a-block/rank-{rank}"), move || run(rank));
    // The death of rank 0 ends all ranks at once, so rank 0 is not a case.
    (1..RANKS).map(trial).collect()
}

pub fn main(arguments: &[String]) -> ExitCode {
    let [killed] = arguments else { panic!("a rank") };
    let killed: usize = killed.parse().expect("a rank");
    let outcome = Config::processes(RANKS).route(Route::Shm).run(|world| {
        let me = world.rank().index();
        let mut v = GVector::<u64>::new(world, 3000)?;
        world.barrier()?;
        if me == killed {
            thread::spawn(|| {
                thread::sleep(Duration::from_millis(20));
                note_fault();
                let _ = kill_process(getpid(), Signal::KILL);
            });
        }
        let theirs = v.range_of((me + 1) % RANKS);
        let outcome = (0..).try_for_each(|round: usize| {
            let index = theirs.start + round % theirs.len();
            v.put(index, v.at(index)?.wrapping_add(1))
        });
        if let Err(error) = &outcome {
            note(&format!("rank-{me}"), &error.to_string());
        }
        outcome
    });
    if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(killed: usize) -> Result<(), Failed> {
    let _alone = MACHINE.write();
    let mut late = Vec::new();
    for job in 0..JOBS {
        let mut command = start::launcher(Starter::Processes, RANKS)?;
        command.args([ARGUMENT, &killed.to_string()]);
        let ended = Job::start(command)?.wait()?;
        if ended.code() == 0 || ended.messages().len() > 1 {
            return Err(format!("not the end of a job one of whose ranks is killed: {}", ended.all()).into());
        }
        if ended.took > AT_ONCE {
            late.push(format!("job {job}: {}", ended.all()));
        }
    }
    // One job may be slow because the machine stalled.
    match late.len() {
        0 | 1 => Ok(()),
        _ => Err(format!("{} of {JOBS} jobs were late:\n{}", late.len(), late.join("\n")).into()),
    }
}
