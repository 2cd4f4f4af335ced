//! The start of the job: by mpirun if there is one, with Aurora and MPI side by side; otherwise by itself, with Aurora
//! alone.

use crate::machine;
use crate::mpi::{self, Flavour};
use aurora_core::{Config, LaunchInfo};
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// The environment variable of the job's processes.
pub const JOB: &str = "SIDE_BY_SIDE";

/// The value of [`JOB`] with which results are made wrong.
pub const DAMAGED: &str = "damaged";

/// The number of ranks, unless `AURORA_RANKS` sets it.
const RANKS: usize = 2;

/// The way in which the job is started.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The number of ranks.
    pub ranks: usize,
    /// The launcher with its options, or the reason why there are no variants of MPI.
    pub mpirun: Result<String, Skipped>,
}

/// The reason why there are no variants of MPI, with advice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Skipped {
    /// The reason, in words.
    pub why: String,
    /// True if this binary was built with MPI, but no mpirun is installed.
    pub is_missing: bool,
}

impl Launch {
    /// Chooses the start that the environment and this binary allow.
    pub fn detect() -> Result<Launch, String> {
        if LaunchInfo::detect() != LaunchInfo::Alone {
            return Err("this starts its job by itself: run it without mpirun or srun".into());
        }
        // This also reports errors in the variables that only the job reads.
        let planned = Config::default().planned_ranks().map_err(|error| error.to_string())?;
        let is_set = std::env::var("AURORA_RANKS").is_ok_and(|ranks| !ranks.is_empty());
        let ranks = planned.filter(|_| is_set).unwrap_or(RANKS);
        let installed = || mpi::built_for().and_then(Flavour::mpirun);
        Ok(Launch { ranks, mpirun: mpirun(cfg!(feature = "mpi"), std::env::var("MPIRUN").ok(), installed, ranks) })
    }

    /// Starts the job of the program `own`, whose arguments are criterion's.
    pub fn command(&self, own: &Path, arguments: Vec<String>) -> Command {
        let launcher = self.mpirun.iter().flat_map(|mpirun| mpirun.split(' ')).map(OsStr::new);
        let mut words = launcher.chain([own.as_os_str()]);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        match self.mpirun {
            Ok(_) => command.env_remove("AURORA_RANKS"),
            Err(_) => command.env("AURORA_RANKS", self.ranks.to_string()),
        };
        command.args(arguments).env(JOB, "job");
        command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
        command
    }
}

/// The named mpirun, otherwise the installed one, with its options; the user's options come last.
fn mpirun(
    is_built: bool,
    named: Option<String>,
    installed: impl FnOnce() -> Result<String, String>,
    ranks: usize,
) -> Result<String, Skipped> {
    let skipped = |why: &str, is_missing| Skipped { why: why.into(), is_missing };
    if !is_built {
        let how = "`MPICC=mpicc.openmpi cargo bench --features mpi --target-dir target/openmpi`";
        return Err(skipped(&format!("built without MPI; with Open MPI: {how}"), false));
    }
    let missing = |why| skipped(&format!("{why}; install it, or name it in MPIRUN"), true);
    let named = named.map_or_else(installed, Ok).map_err(missing)?;
    let mut words: Vec<_> = named.split_whitespace().collect();
    let program = *words.first().ok_or_else(|| skipped("MPIRUN is empty; unset it, or name an mpirun in it", false))?;
    // Only with more ranks than cores: Open MPI's waiting ranks then yield. MPICH needs no such option.
    let more = if ranks > machine::allowed_cores() && !program.contains("mpich") { " --oversubscribe" } else { "" };
    // A computing rank should not be bound to one core together with the daemon that serves it.
    let told = format!("{program} -n {ranks} --bind-to none{more}");
    words[0] = &told;
    Ok(words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(named: Option<&str>, ranks: usize) -> Result<String, Skipped> {
        mpirun(true, named.map(String::from), || Ok("mpirun.openmpi".into()), ranks)
    }

    #[test]
    fn an_mpirun_is_told_to_bind_nobody_and_that_more_ranks_than_cores_are_meant() {
        let cores = machine::allowed_cores();
        for (named, ranks, told) in [
            (None, cores, format!("mpirun.openmpi -n {cores} --bind-to none")),
            (
                Some("mpirun.openmpi"),
                cores + 1,
                format!("mpirun.openmpi -n {} --bind-to none --oversubscribe", cores + 1),
            ),
            (Some("mpirun.mpich"), cores + 1, format!("mpirun.mpich -n {} --bind-to none", cores + 1)),
            (Some("/opt/mpirun  --mca btl tcp,self"), 1, "/opt/mpirun -n 1 --bind-to none --mca btl tcp,self".into()),
        ] {
            assert_eq!(of(named, ranks), Ok(told));
        }
    }

    #[test]
    fn what_is_skipped_can_be_had() {
        let missing = || Err("no mpirun is in PATH".into());
        for (skipped, hint) in [
            (mpirun(false, Some("mpirun.mpich".into()), missing, 1), "--features mpi"),
            (of(Some(" "), 1), "unset it"),
            (mpirun(true, None, missing, 1), "no mpirun is in PATH; install it"),
        ] {
            let Skipped { why, is_missing } = skipped.expect_err(hint);
            assert!(why.contains(hint) && !why.contains('\n') && is_missing == hint.contains("install"), "{why}");
        }
    }

    #[test]
    fn all_are_side_by_side_under_mpirun_and_aurora_is_alone_without() {
        for (mpirun, expected) in [
            (of(None, 1), "mpirun.openmpi -n 1 --bind-to none /x/bench --bench mm2"),
            (mpirun(false, None, || Ok("mpirun".into()), 1), "/x/bench --bench mm2"),
        ] {
            let arguments = ["--bench", "mm2"].map(String::from).into();
            let command = Launch { ranks: 1, mpirun }.command(Path::new("/x/bench"), arguments);
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
            assert_eq!(words.join(" "), expected);
            assert!(command.get_envs().any(|(name, value)| name == JOB && value.is_some()));
        }
    }
}
