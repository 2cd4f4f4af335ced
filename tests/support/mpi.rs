//! The MPI for which this binary is built, and the way to start its ranks.

use crate::machine;
use std::fmt;
use std::process::Command;

/// An implementation of MPI.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flavour {
    /// Open MPI.
    Open,
    /// MPICH.
    Mpich,
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Flavour::Open => "openmpi",
            Flavour::Mpich => "mpich",
        })
    }
}

/// The MPI whose library this process has loaded.
///
/// # Errors
/// The reason why there is none, for the report.
pub fn built_for() -> Result<Flavour, String> {
    if !cfg!(feature = "mpi") {
        return Err("built without MPI; build with `--features mpi`".into());
    }
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    if maps.contains("/libmpich") {
        Ok(Flavour::Mpich)
    } else if maps.contains("/libmpi.so") || maps.contains("/libopen-pal") {
        Ok(Flavour::Open)
    } else {
        Err("neither Open MPI's nor MPICH's library is loaded in this process".into())
    }
}

impl Flavour {
    /// Both implementations.
    pub const BOTH: [Flavour; 2] = [Flavour::Open, Flavour::Mpich];

    /// Its name, for tables.
    pub fn words(self) -> &'static str {
        match self {
            Flavour::Open => "Open MPI",
            Flavour::Mpich => "MPICH",
        }
    }

    /// The version that is installed here.
    pub fn version(self) -> String {
        let word = if self == Flavour::Open { "mpirun" } else { "Version:" };
        let said = machine::said(&format!("mpirun.{self}"), &["--version"], word);
        said.split_whitespace().last().unwrap_or("unknown").into()
    }

    /// Its mpirun.
    ///
    /// # Errors
    /// If it is not installed.
    pub fn mpirun(self) -> Result<String, String> {
        let name = format!("mpirun.{self}");
        let known = [name.as_str(), "mpirun"].into_iter().find(|name| is_found(name));
        known.map(String::from).ok_or_else(|| format!("neither {name} nor mpirun is in PATH"))
    }

    /// The command that starts `size` ranks of a program, whose path and arguments follow.
    ///
    /// # Errors
    /// If it is not installed.
    pub fn launcher(self, size: usize) -> Result<Command, String> {
        let mut command = Command::new(self.mpirun()?);
        command.args(["-n", &size.to_string()]);
        if self == Flavour::Open {
            // A test may use more ranks than cores, and may run as root.
            command.args(["--oversubscribe", "--bind-to", "none"]);
            command.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
            command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        }
        Ok(command)
    }
}

fn is_found(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|path| path.join(program).is_file())
}
