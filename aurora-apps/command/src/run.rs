//! `aurora run`: any program that uses Aurora, on ranks.

use crate::arguments::RouteName;
use crate::complain;
use crate::refusal::{Reason, Refusal};
use aurora_apps::values::number;
use clap::{Args, ValueEnum};
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{Error, ErrorKind};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The exit codes of shells and `env` for a program that does not exist, and for a program that cannot be executed.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

#[derive(Args, Debug)]
pub struct RunArguments {
    /// Number of ranks [default: set by the program, else the cores, at most 4]
    #[arg(short = 'n', long, value_name = "N", value_parser = number::<u32>(1..=u32::MAX.into()))]
    pub ranks: Option<u32>,
    /// The launcher that starts the ranks
    #[arg(long, value_enum, default_value_t)]
    pub launcher: LauncherName,
    /// File with the machines for mpirun, one on each line
    #[arg(long, value_name = "FILE")]
    pub hostfile: Option<PathBuf>,
    /// Carrier of messages between ranks
    #[arg(long, value_enum, default_value_t)]
    pub route: RouteName,
    /// The program, which uses Aurora, and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LauncherName {
    /// None: the program starts its ranks itself, on this machine
    #[default]
    Own,
    /// `mpirun` of MPI, or the command in the variable MPIRUN. The program is built with that MPI
    Mpirun,
    /// `srun` of Slurm
    Srun,
}

/// Replaces this process by the program, or by the launcher of its ranks.
pub fn start(arguments: &RunArguments) -> ExitCode {
    let mut command = arguments.command(&[]);
    let error = command.exec();
    complain(unstarted(&command, &error));
    ExitCode::from(if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE })
}

/// Returns the reason why a command has not been started, and a hint.
pub fn unstarted(command: &Command, error: &Error) -> String {
    let program = Path::new(command.get_program());
    let is_here = error.kind() == ErrorKind::NotFound && program.components().count() == 1 && program.is_file();
    let hint = if is_here { format!("; the one in this folder is ./{}", program.display()) } else { String::new() };
    format!("{} cannot be started: {error}{hint}", program.display())
}

fn mpirun() -> OsString {
    env::var_os("MPIRUN").filter(|mpirun| !mpirun.is_empty()).unwrap_or_else(|| "mpirun".into())
}

impl RunArguments {
    /// Checks that the launcher accepts these arguments.
    ///
    /// # Errors
    /// The argument that it does not accept.
    pub fn check(&self) -> Result<(), Refusal> {
        let by_mpirun = self.launcher == LauncherName::Mpirun;
        if let Some(file) = self.hostfile.as_ref().filter(|_| !by_mpirun) {
            let value = Some(file.display().to_string());
            return Err(Refusal { argument: "--hostfile <FILE>", value, reason: Reason::Hostfile });
        }
        if by_mpirun && self.program.iter().any(|word| word == ":") {
            return Err(Refusal { argument: "<PROGRAM>", value: Some(":".into()), reason: Reason::Colon });
        }
        Ok(())
    }

    /// Returns the command that starts the program, with these variables.
    pub fn command(&self, variables: &[(&str, &str)]) -> Command {
        let route = self.route.to_string();
        let route = (self.route != RouteName::Auto).then_some(("AURORA_ROUTE", route.as_str()));
        let variables: Vec<_> = route.into_iter().chain(variables.iter().copied()).collect();
        match self.launcher {
            LauncherName::Own => self.own(&variables),
            LauncherName::Mpirun => {
                let mut command = Command::new(mpirun());
                if let Some(hosts) = &self.hostfile {
                    command.arg("--hostfile").arg(hosts);
                } else {
                    // Allows more ranks than cores: the first variable is for Open MPI 4, the second for Open MPI 5.
                    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
                    command.env("PRTE_MCA_rmaps_default_mapping_policy", ":OVERSUBSCRIBE");
                }
                self.by(command, &["--bind-to", "none"], &variables)
            }
            LauncherName::Srun => self.by(Command::new("srun"), &[], &variables),
        }
    }

    fn own(&self, variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new(&self.program[0]);
        command.args(&self.program[1..]).envs(variables.iter().copied());
        if let Some(ranks) = self.ranks {
            command.env("AURORA_RANKS", ranks.to_string());
        }
        command
    }

    /// Adds the program and its variables to a launcher's command. Open MPI passes variables to other machines only on
    /// request; `env` passes them under any launcher.
    fn by(&self, mut command: Command, options: &[&str], variables: &[(&str, &str)]) -> Command {
        let ranks = self.ranks.map(|ranks| ranks.to_string().into());
        if let Some(ranks) = ranks.or(env::var_os("AURORA_RANKS")).filter(|ranks| !ranks.is_empty()) {
            command.arg("-n").arg(ranks);
        }
        command.args(options);
        let inherited = env::vars_os().filter(|(name, _)| is_a_setting(name));
        let own = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let all: Vec<(OsString, OsString)> = inherited.chain(own).collect();
        if !all.is_empty() {
            command.arg("env");
        }
        for (name, value) in all {
            let mut setting = name;
            setting.push("=");
            setting.push(value);
            command.arg(setting);
        }
        if self.program[0].to_string_lossy().contains('=') {
            // `env` would interpret the program's name as a variable.
            command.args(["sh", "-c", r#"exec "$0" "$@""#]);
        }
        command.args(&self.program);
        command
    }
}

/// Returns whether ranks read this variable. Their number comes from the launcher.
fn is_a_setting(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| aurora_core::VARIABLES.contains(&name) && name != "AURORA_RANKS")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_launcher_gets_its_words() {
        let of = |launcher, hostfile: Option<&str>| {
            let arguments = RunArguments {
                ranks: Some(3),
                launcher,
                hostfile: hostfile.map(PathBuf::from),
                route: if hostfile.is_some() { RouteName::Auto } else { RouteName::Udp },
                program: vec!["./p".into(), "-x".into()],
            };
            let command = arguments.command(&[("AURORA_CHECK", "1")]);
            let words = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>();
            (command.get_program().to_string_lossy().into_owned(), words.join(" "))
        };
        let (program, words) = of(LauncherName::Own, None);
        assert_eq!((program.as_str(), words.as_str()), ("./p", "-x"));
        let (program, words) = of(LauncherName::Srun, None);
        let settings = "env AURORA_ROUTE=udp AURORA_CHECK=1 ./p -x";
        assert!(program == "srun" && words.starts_with("-n 3 env ") && words.ends_with(settings), "{words}");
        let (_, words) = of(LauncherName::Mpirun, Some("hosts"));
        assert!(words.starts_with("--hostfile hosts -n 3 --bind-to none env "), "{words}");
        assert!(words.ends_with("AURORA_CHECK=1 ./p -x"), "{words}");
    }
}
