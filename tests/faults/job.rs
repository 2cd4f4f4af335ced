//! The job under test.

use crate::cell::{Fault, Place, RANKS};
use crate::commit;
use aurora_apps::treadmarks::Tmk;
use aurora_core::prelude::*;
use aurora_suite::job::exit_code;
use aurora_suite::notes::{note, note_fault};
use std::fs;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

/// The first argument of a binary that is the job; launcher, fault, place and failing rank follow.
pub const ARGUMENT: &str = "--as-job-that-fails";

/// The time after which the other ranks are in their places.
const SETTLED: Duration = Duration::from_millis(200);

/// The time for which threads compute, because they cannot be ended from outside.
const COMPUTING: Duration = Duration::from_millis(1500);

pub fn main(arguments: &[String]) -> ExitCode {
    let [starter, fault, place, rank] = arguments else {
        panic!("launcher, fault, place and rank");
    };
    let fault = Fault::ALL.into_iter().find(|f| f.name() == fault);
    let place = Place::ALL.into_iter().find(|p| p.name() == place);
    let (place, rank) = (place.expect("a place"), rank.parse().expect("a rank"));
    let config = match starter.as_str() {
        "threads" => Config::threads(RANKS),
        "processes" => Config::processes(RANKS),
        "mpi" => Config::mpi(),
        _ => Config::default(),
    };
    let before = Left::here();
    let threads = starter == "threads";
    let outcome = config.run(|world| {
        let outcome = body(world, fault, place, rank, threads);
        if let Err(error) = &outcome {
            note(&format!("rank-{}", world.rank().index()), &error.to_string());
        }
        outcome
    });
    note("left", &format!("{:?}", Left::since(&before)));
    exit_code(outcome)
}

fn body(world: &World, fault: Option<Fault>, place: Place, rank: usize, threads: bool) -> Result<()> {
    let culprit = world.rank() == rank;
    let fail = || {
        std::thread::sleep(SETTLED);
        match fault {
            Some(fault) => {
                note_fault();
                commit::now(fault)
            }
            // The driver causes the fault.
            None => compute(None),
        }
    };
    let mut v = GVector::<i32>::from_fn(world, 3000, |i| i as i32)?;
    world.barrier()?;
    note(&format!("pid-{}", world.rank().index()), &std::process::id().to_string());
    match place {
        Place::Load => {
            let alone = culprit && !threads && fault.is_some_and(|f| commit::soon(f, SETTLED));
            if culprit && !alone {
                return fail();
            }
            if world.rank() == RANKS - 1 {
                // Then the other ranks are still loading.
                std::thread::sleep(SETTLED * 2);
            }
            v.read_cache()?.finish()?;
            // For a rank that is stopped after it has completed the load.
            world.barrier()
        }
        Place::Scope => {
            if culprit {
                let mut own = v.owner_computes_mut()?;
                own.local_mut()[0] = 1;
                return fail();
            }
            std::thread::sleep(SETTLED / 2);
            // A scope that an error leaves ends as usual. Then this call succeeds.
            v.at(v.range_of(rank).start)?;
            world.barrier()
        }
        Place::End => {
            let mut buffered = v.release_c()?;
            buffered.put(7, 7)?;
            if culprit {
                return fail();
            }
            buffered.finish()?;
            world.barrier()
        }
        Place::Fetch => {
            let pages = v.paged_mut()?;
            if culprit {
                return fail();
            }
            std::thread::sleep(SETTLED * 2);
            pages.slice(0..pages.len())?;
            pages.finish()?;
            world.barrier()
        }
        Place::Sync => {
            let mut pages = v.paged_mut()?;
            pages.put(7, 7)?;
            if culprit {
                return fail();
            }
            pages.sync()?;
            world.barrier()
        }
        Place::Lock => {
            let tmk = Tmk::new(world)?;
            if culprit {
                tmk.acquire(1)?;
                world.barrier()?;
                return fail();
            }
            world.barrier()?;
            tmk.acquire(1)?;
            world.barrier()
        }
        Place::Idle => {
            if culprit {
                return fail();
            }
            compute(threads.then_some(COMPUTING))?;
            world.barrier()
        }
    }
}

/// Computes without calling Aurora.
fn compute(limit: Option<Duration>) -> Result<()> {
    let begun = SystemTime::now();
    while limit.is_none_or(|limit| begun.elapsed().is_ok_and(|spent| spent < limit)) {
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// The additional threads and descriptors of a process, compared with earlier.
#[derive(Debug)]
struct Left {
    threads: usize,
    descriptors: usize,
}

impl Left {
    /// Waits a moment, because a joined thread is still listed for a short time.
    fn since(before: &Self) -> Self {
        let until = Instant::now() + Duration::from_millis(200);
        loop {
            let left = Left::here().beyond(before);
            if left.threads + left.descriptors == 0 || Instant::now() > until {
                return left;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn here() -> Self {
        let count = |path| fs::read_dir(path).map_or(0, Iterator::count);
        Left { threads: count("/proc/self/task"), descriptors: count("/proc/self/fd") }
    }

    fn beyond(&self, before: &Self) -> Self {
        Left {
            threads: self.threads.saturating_sub(before.threads),
            descriptors: self.descriptors.saturating_sub(before.descriptors),
        }
    }
}
