//! A rank fails while MPI carries the blocks: no rank waits for transfers of the failed rank.

use crate::cell::{Fault, RANKS, Starter};
use crate::{MACHINE, commit, start};
use aurora_core::prelude::*;
use aurora_core::{Bulk, Route};
use aurora_suite::driver::Job;
use aurora_suite::mpi;
use aurora_suite::notes::{note, note_fault, noted};
use libtest_mimic::{Failed, Trial};
use rustix::process::{Signal, kill_process};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

/// The first argument of a binary that is the job; the fault that its failing rank causes by itself follows.
pub const ARGUMENT: &str = "--as-job-that-carries";

/// The elements of each rank. A transfer takes some milliseconds by MPI, so that a signal arrives during transfers.
const EACH: usize = 1 << 20;

/// The number of loads before the fault.
const SETTLED: usize = 5;

/// The driver's note that requests the fault.
const STRIKE: &str = "strike";

/// The rank that fails.
const CULPRIT: usize = 1;

pub fn trials() -> Vec<Trial> {
    let Ok(flavour) = mpi::built_for().and_then(|flavour| flavour.launcher(RANKS).map(|_| flavour)) else {
        // The matrix reports the reason.
        return Vec::new();
    };
    let trial = |(fault, delay): (Fault, u64)| {
        let name = format!("{flavour}-bulk/{}-after-{delay}-ms", fault.name());
        Trial::test(name, move || run(Starter::Mpi(flavour), fault, Duration::from_millis(delay)))
    };
    let moments = [(Fault::Kill, 3), (Fault::Stop, 1), (Fault::Stop, 6), (Fault::Panic, 0)];
    moments.map(trial).into()
}

/// The job: loads without end.
pub fn main(arguments: &[String]) -> ExitCode {
    let fault = Fault::ALL.into_iter().find(|fault| [fault.name()] == arguments);
    let outcome = Config::mpi().route(Route::Udp).bulk(Bulk::Mpi).run(|world| {
        let me = world.rank().index();
        let mut v = GVector::<u64>::new(world, EACH * world.size())?;
        for round in 0.. {
            v.owner_computes_mut()?.local_mut().fill(round as u64);
            if me == CULPRIT && round > SETTLED && noted(STRIKE).is_some() {
                note_fault();
                commit::now(fault.expect("only what a rank can do by itself"))?;
            }
            let all = v.read_cache()?;
            assert!([0, EACH - 1, EACH * world.size() - 1].iter().all(|i| all[*i] == round as u64));
            if round == SETTLED {
                let carried = world.traffic().carried_in > 0;
                note(&format!("settled-{me}"), if carried { "by MPI" } else { "not by MPI" });
            }
        }
        Ok(())
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn run(starter: Starter, fault: Fault, delay: Duration) -> Result<(), Failed> {
    let _beside_others = MACHINE.read();
    let mut command = start::launcher(starter, RANKS)?;
    command.args([ARGUMENT, fault.name()]).env("AURORA_SILENCE", "3");
    let mut job = Job::start(command)?;
    let names: Vec<String> = (0..RANKS).map(|rank| format!("settled-{rank}")).collect();
    job.wait_for_notes(&names)?;
    if let Some(rank) = names.iter().find(|name| job.note(name).as_deref() != Some("by MPI")) {
        return Err(format!("{rank}, but MPI has carried nothing to it").into());
    }
    thread::sleep(delay);
    let signal = match fault {
        Fault::Kill => Some(Signal::KILL),
        Fault::Stop => Some(Signal::STOP),
        _ => None,
    };
    match signal {
        Some(signal) => {
            let pid = job.rank(CULPRIT).ok_or("the rank has no process")?;
            job.note_fault();
            kill_process(pid, signal).map_err(|error| error.to_string())?;
        }
        None => job.tell(STRIKE),
    }
    let ended = job.wait()?;
    let messages = ended.messages();
    let who = format!("rank {CULPRIT}");
    let told = match (fault, &messages[..]) {
        // mpirun reports the killed rank. If mpirun takes longer than a second, the other ranks report its silence.
        (Fault::Kill, []) => true,
        (Fault::Kill, [message]) => message.contains(&who) && message.contains("has been silent"),
        (Fault::Stop, [message]) => message.contains(&who) && message.contains("has been silent"),
        (Fault::Panic, [message]) => message.contains(&who) && message.contains("out of cheese"),
        (Fault::Error, [message]) => message.contains(&who) && message.contains("out of tea"),
        _ => false,
    };
    match told && ended.code() != 0 {
        true => Ok(()),
        false => Err(format!("not the one message, or a good end: {}", ended.all()).into()),
    }
}
