//! Launchers for which this program was not built: an error, and never worlds of one rank.

use crate::cell::Place;
use crate::{MACHINE, job};
use aurora_suite::driver::Job;
use aurora_suite::harness;
use aurora_suite::mpi::{self, Flavour};
use libtest_mimic::{Failed, Trial};

pub fn trials() -> Vec<Trial> {
    match mpi::built_for() {
        Err(_) => [Flavour::Open, Flavour::Mpich]
            .map(|flavour| trial(flavour, "without-mpi", &["built without MPI", "--features mpi"]))
            .into(),
        Ok(Flavour::Open) => vec![trial(Flavour::Mpich, "of-openmpi", &["built for Open MPI"])],
        Ok(Flavour::Mpich) => vec![trial(Flavour::Open, "of-mpich", &["built for MPICH"])],
    }
}

fn trial(flavour: Flavour, built: &str, words: &'static [&'static str]) -> Trial {
    let name = format!("a-program-{built}-under-{flavour}");
    match own_launcher(flavour) {
        Err(reason) => harness::missing(&name, reason),
        Ok(()) => Trial::test(name, move || is_refused(flavour, words)),
    }
}

/// Only if its own name is known: plain `mpirun` may belong to either MPI.
fn own_launcher(flavour: Flavour) -> Result<(), String> {
    let command = flavour.launcher(2)?;
    let name = format!("mpirun.{flavour}");
    match command.get_program().to_string_lossy().ends_with(&name) {
        true => Ok(()),
        false => Err(format!("{name} is not in PATH")),
    }
}

fn is_refused(flavour: Flavour, words: &[&str]) -> Result<(), Failed> {
    let _beside_others = MACHINE.read();
    let mut command = flavour.launcher(2)?;
    command.arg(std::env::current_exe()?);
    // Like a program that takes the launcher from its environment.
    command.args([job::ARGUMENT, "surroundings", "none", Place::Load.name(), "0"]);
    let ended = Job::start(command)?.wait()?;
    if ended.code() == 0 {
        return Err(format!("it ended well: {}", ended.all()).into());
    }
    match words.iter().all(|word| ended.said.contains(word)) {
        true => Ok(()),
        false => Err(format!("it does not say {words:?}: {}", ended.all()).into()),
    }
}
