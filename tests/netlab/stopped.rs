//! A rank is stopped: its process exists, but does not read or compute.

use crate::scenario::{Plan, Program, Scenario};
use aurora_suite::mpi::Flavour;
use libtest_mimic::{Failed, Trial};
use rustix::process::{Signal, kill_process};
use std::thread;
use std::time::Duration;

/// Much shorter than the limit.
const WHILE: Duration = Duration::from_millis(1500);

const RANK: usize = 2;

pub fn trials(flavour: Flavour) -> Vec<Trial> {
    vec![
        Trial::test(format!("{flavour}-lab/a-rank-stops-and-goes-on"), move || goes_on(flavour)),
        Trial::test(format!("{flavour}-lab/a-rank-stops-for-good"), move || stays(flavour)),
    ]
}

fn goes_on(flavour: Flavour) -> Result<(), Failed> {
    let mut scenario = Scenario::start(flavour, Plan::of(Program::Loads), &[])?;
    scenario.wait_for_loads()?;
    signal(&scenario, Signal::STOP)?;
    thread::sleep(WHILE / 2);
    let still = scenario.stands_still(WHILE / 2);
    signal(&scenario, Signal::CONT)?;
    if !still {
        return Err("the job goes on while a rank is stopped".into());
    }
    Ok(scenario.end_well()?)
}

fn stays(flavour: Flavour) -> Result<(), Failed> {
    let mut scenario = Scenario::start(flavour, Plan::losing(RANK), &[])?;
    scenario.wait_for_loads()?;
    scenario.job.note_fault();
    signal(&scenario, Signal::STOP)?;
    scenario.hear_verdicts()?;
    let ended = scenario.end_lost()?;
    match ended.code() {
        0 => Err(format!("it ended well: {}", ended.all()).into()),
        _ => Ok(()),
    }
}

fn signal(scenario: &Scenario, signal: Signal) -> Result<(), Failed> {
    let pid = scenario.job.rank(RANK).ok_or_else(|| format!("rank {RANK} has no process"))?;
    Ok(kill_process(pid, signal)?)
}
