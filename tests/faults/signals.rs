//! Signals from outside: Ctrl-C, and the end of rank 0.

use crate::cell::{Place, RANKS, Starter};
use crate::{MACHINE, start};
use aurora_suite::mpi;
use libtest_mimic::{Failed, Trial};
use rustix::process::Signal;

/// The job itself has no fault.
const NONE: &str = "none";

pub fn trials() -> Vec<Trial> {
    let mut starters = vec![Starter::Processes];
    if let Ok(flavour) = mpi::built_for().and_then(|flavour| flavour.launcher(RANKS).map(|_| flavour)) {
        starters.push(Starter::Mpi(flavour));
    }
    let mut trials = Vec::new();
    for starter in starters {
        for place in [Place::Load, Place::Idle] {
            let places = place.name();
            let name = format!("{starter}/ctrl-c-{places}");
            trials.push(Trial::test(name, move || all_end(starter, place, Signal::INT, true)));
            let name = format!("{starter}/SIGINT-of-the-first-{places}");
            trials.push(Trial::test(name, move || all_end(starter, place, Signal::INT, false)));
            let name = format!("{starter}/SIGTERM-of-the-first-{places}");
            trials.push(Trial::test(name, move || all_end(starter, place, Signal::TERM, false)));
        }
        let name = format!("{starter}/SIGKILL-of-the-first");
        trials.push(Trial::test(name, move || all_end(starter, Place::Idle, Signal::KILL, false)));
    }
    trials
}

/// All processes end, with an exit code other than 0, and with at most one message.
fn all_end(starter: Starter, place: Place, signal: Signal, group: bool) -> Result<(), Failed> {
    let _beside_others = MACHINE.read();
    // Rank 1 never opens the load.
    let mut job = start::job(starter, NONE, place, 1)?;
    start::wait_for_ranks(&mut job)?;
    job.note_fault();
    job.signal(signal, group)?;
    let ended = job.wait()?;
    // MPICH's mpirun sometimes has the exit code 0 after a signal.
    let launchers_own = starter == Starter::Mpi(mpi::Flavour::Mpich);
    if ended.code() == 0 && !launchers_own {
        return Err(format!("it ended well: {}", ended.all()).into());
    }
    if ended.messages().len() > 1 {
        return Err(format!("more than one message: {}", ended.all()).into());
    }
    Ok(())
}
