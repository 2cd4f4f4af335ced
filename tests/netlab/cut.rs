//! A link is taken down for a while or permanently.

use crate::scenario::{Plan, Program, Scenario};
use aurora_suite::mpi::Flavour;
use libtest_mimic::{Failed, Trial};
use std::thread;
use std::time::Duration;

/// Much shorter than the limit.
const WHILE: Duration = Duration::from_millis(1500);

/// Node 1 has rank 0 and mpirun.
const RANKS: [usize; 2] = [0, 2];

pub fn trials(flavour: Flavour) -> Vec<Trial> {
    let mut trials = Vec::new();
    for rank in RANKS {
        let name = format!("{flavour}-lab/the-link-of-rank-{rank}-comes-back");
        trials.push(Trial::test(name, move || comes_back(flavour, rank)));
        let name = format!("{flavour}-lab/the-link-of-rank-{rank}-stays-down");
        trials.push(Trial::test(name, move || stays_down(flavour, rank)));
    }
    trials
}

fn comes_back(flavour: Flavour, rank: usize) -> Result<(), Failed> {
    let mut scenario = Scenario::start(flavour, Plan::of(Program::Loads), &[])?;
    scenario.wait_for_loads()?;
    scenario.lab.link(rank + 1, false)?;
    // Blocks in transit may still complete a load.
    thread::sleep(WHILE / 2);
    let still = scenario.stands_still(WHILE / 2);
    scenario.lab.link(rank + 1, true)?;
    if !still {
        return Err("the job goes on while a link is down".into());
    }
    Ok(scenario.end_well()?)
}

fn stays_down(flavour: Flavour, rank: usize) -> Result<(), Failed> {
    let mut scenario = Scenario::start(flavour, Plan::losing(rank), &[])?;
    scenario.wait_for_loads()?;
    scenario.job.note_fault();
    scenario.lab.link(rank + 1, false)?;
    scenario.hear_verdicts()?;
    // mpirun's messages use the same link, and mpirun would wait for it.
    scenario.lab.link(rank + 1, true)?;
    let ended = scenario.end_lost()?;
    match ended.code() {
        0 => Err(format!("it ended well: {}", ended.all()).into()),
        _ => Ok(()),
    }
}
