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
    mpirun: Result<Mpirun, Skipped>,
}

/// A launcher.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Mpirun {
    program: String,
    options: Vec<String>,
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
    ///
    /// # Errors
    /// What is wrong with the environment.
    pub fn detect() -> Result<Launch, String> {
        if Surroundings::detect() != Surroundings::Alone {
            return Err("this starts its job by itself: run it without mpirun or srun".into());
        }
        // Also what is wrong with those variables that only the job reads.
        let planned = Config::default().planned_ranks().map_err(|error| error.to_string())?;
        let ranks = is_set("AURORA_RANKS").and(planned).unwrap_or(RANKS);
        let installed = || mpi::built_for().and_then(Flavour::mpirun);
        Ok(Launch {
            ranks,
            mpirun: Mpirun::of(std::env::var("MPIRUN").ok().as_deref(), cfg!(feature = "mpi"), ranks, installed),
        })
    }

    /// Why there are no variants of MPI, if so.
    pub fn skipped(&self) -> Option<&Skipped> {
        self.mpirun.as_ref().err()
    }

    /// Starts the job of the program `own`, whose arguments are criterion's.
    pub fn command(&self, own: &Path, arguments: Vec<String>) -> Command {
        let mut command = match &self.mpirun {
            Ok(Mpirun { program, options }) => {
                let mut command = Command::new(program);
                command.args(options).arg("-n").arg(self.ranks.to_string()).arg(own).env_remove("AURORA_RANKS");
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

fn is_set(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|value| !value.is_empty())
}

/// What criterion calls a variant within its group: figures of a route that Aurora has been told to take are others.
pub fn name(variant: &Variant) -> String {
    named(variant, is_set("AURORA_ROUTE").as_deref().filter(|route| *route != "auto"))
}

fn named(variant: &Variant, route: Option<&str>) -> String {
    match route {
        Some(route) if variant.by.is_ours() => format!("{}-{route}", variant.name()),
        _ => variant.name(),
    }
}

impl Mpirun {
    /// The one that `variable` names, or the `installed` one of the MPI that this was built for.
    fn of(
        variable: Option<&str>,
        is_built: bool,
        ranks: usize,
        installed: impl FnOnce() -> Result<String, String>,
    ) -> Result<Mpirun, Skipped> {
        if !is_built {
            return Err(Skipped::NotBuilt);
        }
        let named = match variable {
            Some(named) => named.to_string(),
            None => installed().map_err(Skipped::NotFound)?,
        };
        let mut words = named.split_whitespace().map(String::from);
        let program = words.next().ok_or(Skipped::NotWanted)?;
        // Ranks that compute should not be kept on a core with who serves them.
        let mut options: Vec<String> = ["--bind-to", "none"].map(String::from).into();
        // Said only where it is true: Open MPI's ranks yield then while they wait. MPICH takes it for granted.
        if ranks > machine::allowed_cores() && !program.contains("mpich") {
            options.push("--oversubscribe".into());
        }
        options.extend(words);
        Ok(Mpirun { program, options })
    }
}

#[cfg(test)]
mod tests {
    use super::super::case::variants;
    use super::*;
    use aurora_apps::implementation::Implementation;

    fn installed() -> Result<String, String> {
        Ok("mpirun.openmpi".into())
    }

    fn words(command: &Command) -> String {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_environment_goes_before_what_is_installed() {
        let of = |variable, is_built| Mpirun::of(variable, is_built, 1, installed);
        assert_eq!(of(None, false), Err(Skipped::NotBuilt));
        assert_eq!(of(Some("mpirun.mpich"), false), Err(Skipped::NotBuilt));
        assert_eq!(of(Some(" "), true), Err(Skipped::NotWanted));
        assert_eq!(of(None, true).expect("one").program, "mpirun.openmpi");
        let named = of(Some("/opt/mpirun --mca btl tcp,self"), true).expect("one");
        assert_eq!(
            (&named.program[..], &named.options.join(" ")[..]),
            ("/opt/mpirun", "--bind-to none --mca btl tcp,self")
        );
        let missing = Mpirun::of(None, true, 1, || Err("no mpirun is in PATH".into()));
        assert_eq!(missing, Err(Skipped::NotFound("no mpirun is in PATH".into())));
    }

    #[test]
    fn more_ranks_than_cores_are_meant() {
        let options = |named, ranks| Mpirun::of(Some(named), true, ranks, installed).expect("one").options.join(" ");
        assert_eq!(options("mpirun.openmpi", machine::allowed_cores()), "--bind-to none");
        assert_eq!(options("mpirun.openmpi", machine::allowed_cores() + 1), "--bind-to none --oversubscribe");
        assert_eq!(options("mpirun.mpich", machine::allowed_cores() + 1), "--bind-to none");
    }

    #[test]
    fn all_are_side_by_side_under_mpirun_and_aurora_is_alone_without() {
        for (mpirun, expected) in [
            (Mpirun::of(None, true, 1, installed), "mpirun.openmpi --bind-to none -n 2 /x/bench --bench mm2"),
            (Err(Skipped::NotBuilt), "/x/bench --bench mm2"),
        ] {
            let command =
                Launch { ranks: 2, mpirun }.command(Path::new("/x/bench"), ["--bench", "mm2"].map(String::from).into());
            assert_eq!(words(&command), expected);
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

    #[test]
    fn what_is_skipped_can_be_had() {
        for (skipped, hint) in [
            (Skipped::NotBuilt, "--features mpi"),
            (Skipped::NotWanted, "unset it"),
            (Skipped::NotFound("no mpirun".into()), "install it"),
        ] {
            let text = skipped.to_string();
            assert!(text.contains(hint) && !text.contains('\n'), "{text}");
        }
    }
}
