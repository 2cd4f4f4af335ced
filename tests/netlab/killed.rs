//! A rank is killed.

use crate::scenario::{Plan, Program, Scenario};
use aurora_suite::mpi::Flavour;
use libtest_mimic::{Failed, Trial};
use rustix::process::{Signal, kill_process};

const RANK: usize = 2;

pub fn trials(flavour: Flavour) -> Vec<Trial> {
    vec![
        Trial::test(format!("{flavour}-lab/mpirun-ends-a-job-that-loses-a-rank"), move || mpirun_ends_it(flavour)),
        Trial::test(format!("{flavour}-lab/survivors-name-a-killed-rank"), move || survivors_name_it(flavour, 1)),
        Trial::test(format!("{flavour}-lab/survivors-name-a-killed-node-peer"), move || survivors_name_it(flavour, 2)),
    ]
}

fn mpirun_ends_it(flavour: Flavour) -> Result<(), Failed> {
    let mut scenario = Scenario::start(flavour, Plan::of(Program::Loads), &[])?;
    kill(&mut scenario)?;
    let ended = scenario.job.wait()?;
    let words = ["signal 9", "EXIT CODE: 9"];
    let said = words.iter().any(|word| ended.said.contains(word) || ended.stdout().contains(word));
    match said && ended.code() != 0 {
        true => Ok(()),
        false => Err(format!("mpirun does not say why it ends the job: {}", ended.all()).into()),
    }
}

/// With an option that keeps the survivors alive, mpirun leaves the failure to Aurora. (Open MPI's then returns 0.)
fn survivors_name_it(flavour: Flavour, per_node: usize) -> Result<(), Failed> {
    let alone = match flavour {
        Flavour::Open => ("OMPI_EXTRA", "--enable-recovery"),
        Flavour::Mpich => ("MPICH_EXTRA", "-disable-auto-cleanup"),
    };
    let mut scenario = Scenario::start(flavour, Plan { per_node, ..Plan::losing(RANK) }, &[alone])?;
    kill(&mut scenario)?;
    scenario.hear_verdicts()?;
    scenario.end_lost()?;
    Ok(())
}

fn kill(scenario: &mut Scenario) -> Result<(), Failed> {
    scenario.wait_for_loads()?;
    let pid = scenario.job.rank(RANK).ok_or_else(|| format!("rank {RANK} has no process"))?;
    scenario.job.note_fault();
    Ok(kill_process(pid, Signal::KILL)?)
}
