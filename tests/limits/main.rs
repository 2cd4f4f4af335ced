//! Jobs that need more memory than their control group has: every rank gets a typed error, and no rank is killed.
//!
//! This binary is the driver. It starts itself as the job in a control group.

mod wants;

use aurora_suite::driver::{Ended, Job};
use aurora_suite::group::ControlGroup;
use aurora_suite::harness;
use libtest_mimic::{Arguments, Failed, Trial};
use std::process::ExitCode;

/// The first argument of the binary as a job; the name of the case follows.
const ARGUMENT: &str = "--as-job-that-wants-memory";

/// The limit of the memory that all ranks of a job use together.
const LIMIT: usize = 256 << 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|first| first == ARGUMENT) {
        return wants::main(&arguments[2]);
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let trials = match ControlGroup::with_memory(LIMIT) {
        Ok(_) => wants::ALL.iter().map(|want| Trial::test(want.name, || trial(want))).collect(),
        Err(reason) => vec![harness::missing("control-group/all", reason)],
    };
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial(want: &wants::Want) -> Result<(), Failed> {
    let group = ControlGroup::with_memory(LIMIT)?;
    let mut command = group.command(&std::env::current_exe().map_err(|error| error.to_string())?);
    command.args([ARGUMENT, want.name]);
    for variable in aurora_core::VARIABLES {
        command.env_remove(variable);
    }
    command.envs(want.cache_limit.map(|limit| ("AURORA_CACHE_LIMIT", limit)));
    let ended = Job::start(command)?.wait()?;
    let all = || format!("{}, {} MiB at the peak", ended.all(), group.peak().unwrap_or(0) >> 20);
    if group.killed() != Some(0) {
        return Err(format!("{:?} ranks were killed: {}", group.killed(), all()).into());
    }
    for rank in 0..wants::RANKS {
        let told = told(&ended, rank).ok_or_else(|| format!("rank {rank} has not told how it went: {}", all()))?;
        let missing = want.words.iter().find(|word| !told.contains(*word));
        if let Some(word) = missing {
            return Err(format!("rank {rank} was told `{told}`, without `{word}`: {}", all()).into());
        }
    }
    if (ended.code() == 0) != want.succeeds() {
        return Err(format!("the job does not end as it should: {}", all()).into());
    }
    Ok(())
}

fn told(ended: &Ended, rank: usize) -> Option<String> {
    ended.note(&wants::note_of(rank))
}
