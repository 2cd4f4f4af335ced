//! How the job is started: by mpirun where there is one, with Aurora and MPI side by side in it; else by itself, with
//! Aurora alone.

use super::case::Variant;
use crate::machine;
use crate::mpi::{self, Flavour};
use aurora_core::{Config, Surroundings};
use std::path::Path;
use std::process::Command;
use thiserror::Error;

/// The variable that a process of the job has.
pub const JOB: &str = "SIDE_BY_SIDE";

/// Its value where results shall be wrong.
pub const DAMAGED: &str = "damaged";

/// How many ranks, unless `AURORA_RANKS` says it.
const RANKS: usize = 2;

/// How the job is started.
#[derive(Clone, Debug)]
pub struct Launch {
    /// How many ranks it has.
    pub ranks: usize,
    /// The launcher with its options, or why there are no variants of MPI.
    pub mpirun: Result<String, Skipped>,
}

/// Why there are no variants of MPI.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Skipped {
    /// This binary knows none.
    #[error(
        "built without MPI; with Open MPI: `MPICC=mpicc.openmpi cargo bench --features mpi --target-dir target/openmpi`"
    )]
    NotBuilt,
    /// The environment says so.
    #[error("MPIRUN is empty; unset it, or name an mpirun in it")]
    NotWanted,
    /// It is not installed.
    #[error("{0}; install it, or name it in MPIRUN")]
    NotFound(String),
}

impl Launch {
    /// What the environment and this binary allow.
    pub fn detect() -> Result<Launch, String> {
        if Surroundings::detect() != Surroundings::Alone {
            return Err("this starts its job by itself: run it without mpirun or srun".into());
        }
        // Also what is wrong with those variables that only the job reads.
        let planned = Config::default().planned_ranks().map_err(|error| error.to_string())?;
        let ranks = is_set("AURORA_RANKS").and(planned).unwrap_or(RANKS);
        let named = std::env::var("MPIRUN").ok();
        let named = named.map_or_else(|| mpi::built_for().and_then(Flavour::mpirun), Ok);
        Ok(Launch { ranks, mpirun: if cfg!(feature = "mpi") { mpirun(named, ranks) } else { Err(Skipped::NotBuilt) } })
    }

    /// Starts the job of the program `own`, whose arguments are criterion's.
    pub fn command(&self, own: &Path, arguments: Vec<String>) -> Command {
        let mut command = match &self.mpirun {
            Ok(mpirun) => {
                let mut words = mpirun.split(' ');
                let mut command = Command::new(words.next().unwrap_or_default());
                command.args(words).arg(own).env_remove("AURORA_RANKS");
                command
            }
            Err(_) => {
                let mut command = Command::new(own);
                command.env("AURORA_RANKS", self.ranks.to_string());
                command
            }
        };
        command.args(arguments).env(JOB, "job");
        command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
        command
    }
}

/// The mpirun that is named or installed, with what it is told; options of the user's last.
fn mpirun(named: Result<String, String>, ranks: usize) -> Result<String, Skipped> {
    let named = named.map_err(Skipped::NotFound)?;
    let mut words: Vec<_> = named.split_whitespace().collect();
    let program = *words.first().ok_or(Skipped::NotWanted)?;
    // Said only where it is true: Open MPI's ranks yield then while they wait. MPICH takes it for granted.
    let more = if ranks > machine::allowed_cores() && !program.contains("mpich") { " --oversubscribe" } else { "" };
    // Ranks that compute should not be kept on a core with who serves them.
    let told = format!("{program} -n {ranks} --bind-to none{more}");
    words[0] = &told;
    Ok(words.join(" "))
}

fn is_set(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|value| !value.is_empty())
}

/// What criterion calls a variant within its group: figures of a route that Aurora has been told to take are others.
pub fn name(variant: &Variant) -> String {
    named(variant, is_set("AURORA_ROUTE").as_deref().filter(|route| *route != "auto"))
}

fn named(variant: &Variant, route: Option<&str>) -> String {
    let route = route.filter(|_| variant.by.is_ours()).map_or(String::new(), |route| format!("-{route}"));
    variant.name() + &route
}

#[cfg(test)]
mod tests {
    use super::super::case::variants;
    use super::*;
    use aurora_apps::implementation::Implementation;

    #[test]
    fn an_mpirun_is_told_to_bind_nobody_and_that_more_ranks_than_cores_are_meant() {
        let cores = machine::allowed_cores();
        for (named, ranks, told) in [
            ("mpirun.openmpi", cores, format!("mpirun.openmpi -n {cores} --bind-to none")),
            ("mpirun.openmpi", cores + 1, format!("mpirun.openmpi -n {} --bind-to none --oversubscribe", cores + 1)),
            ("mpirun.mpich", cores + 1, format!("mpirun.mpich -n {} --bind-to none", cores + 1)),
            ("/opt/mpirun  --mca btl tcp,self", 1, "/opt/mpirun -n 1 --bind-to none --mca btl tcp,self".into()),
        ] {
            assert_eq!(mpirun(Ok(named.into()), ranks), Ok(told));
        }
    }

    #[test]
    fn what_is_skipped_can_be_had() {
        for (skipped, hint) in [
            (Skipped::NotBuilt, "--features mpi"),
            (mpirun(Ok(" ".into()), 1).expect_err("none"), "unset it"),
            (mpirun(Err("no mpirun is in PATH".into()), 1).expect_err("none"), "no mpirun is in PATH; install it"),
        ] {
            let text = skipped.to_string();
            assert!(text.contains(hint) && !text.contains('\n'), "{text}");
        }
    }

    #[test]
    fn all_are_side_by_side_under_mpirun_and_aurora_is_alone_without() {
        for (mpirun, expected) in [
            (mpirun(Ok("mpirun.openmpi".into()), 1), "mpirun.openmpi -n 1 --bind-to none /x/bench --bench mm2"),
            (Err(Skipped::NotBuilt), "/x/bench --bench mm2"),
        ] {
            let arguments = ["--bench", "mm2"].map(String::from).into();
            let command = Launch { ranks: 1, mpirun }.command(Path::new("/x/bench"), arguments);
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
            assert_eq!(words.join(" "), expected);
            assert!(command.get_envs().any(|(name, value)| name == JOB && value.is_some()));
        }
    }

    #[test]
    fn a_route_is_part_of_the_name_of_what_takes_it() {
        let barriers = variants(2).into_iter().filter(|variant| variant.case.group == "barrier");
        let names: Vec<_> = barriers.map(|variant| (variant.by, named(&variant, Some("udp")))).collect();
        assert!(names.contains(&(Implementation::Aurora, "2ranks/aurora-udp".into())), "{names:?}");
        assert!(names.contains(&(Implementation::MpiCollective, "2ranks/mpi-collective".into())), "{names:?}");
    }
}
