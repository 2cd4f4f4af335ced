//! The two builds that are compared. Checks that each is an `aurora` that Open MPI can start, and that the old build
//! knows a job.

use crate::process::{self, alone};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The name of the old build.
pub const OLD: &str = "old";

/// The name of the new build.
pub const NEW: &str = "new";

/// The time limit for a build's answer about itself.
const LIMIT: Duration = Duration::from_secs(30);

/// Two builds of `aurora`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Builds {
    pub(super) old: PathBuf,
    pub(super) new: PathBuf,
}

impl Builds {
    /// Checks the build that was made for this comparison and the build that `--against` names.
    ///
    /// # Errors
    /// The reason why a file is no usable `aurora`.
    pub fn of(new: &Path, old: &Path) -> Result<Self, String> {
        let refused = |why: String| format!("--against {}: {why}", old.display());
        let (one, other) = (file(new)?, file(old).map_err(refused)?);
        if one == other {
            let why = "this is the build that is to be compared; keep the old one in another place";
            return Err(refused(format!("{why}, or build it with another CARGO_TARGET_DIR")));
        }
        is_aurora(&other).map_err(refused)?;
        Ok(Builds { old: other, new: one })
    }

    /// True if both files have the same bytes. The comparison then measures only noise.
    pub fn are_the_same(&self) -> bool {
        let bytes = |path: &Path| fs::read(path).ok();
        bytes(&self.old).is_some_and(|old| Some(old) == bytes(&self.new))
    }

    /// The builds of a turn, in the order of their runs.
    pub fn turn(&self) -> [(&'static str, &Path); 3] {
        [(OLD, &self.old), (NEW, &self.new), (OLD, &self.old)]
    }

    /// The reason why the old build does not know a job, if it does not. The build parses the words and then executes
    /// only the appended `--help`.
    pub fn lack(&self, words: &str) -> Option<String> {
        let output = silent(&self.old).args(words.split(' ')).arg("--help").output();
        match output {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(first_line(&String::from_utf8_lossy(&output.stderr))),
            Err(error) => Some(error.to_string()),
        }
    }
}

/// The absolute path of an executable file.
fn file(path: &Path) -> Result<PathBuf, String> {
    let whole = fs::canonicalize(path).map_err(|error| error.to_string())?;
    let about = fs::metadata(&whole).map_err(|error| error.to_string())?;
    match about.permissions().mode() & 0o111 {
        _ if about.is_dir() => Err("this is a directory; name the `aurora` in it".into()),
        0 => Err("this is a file that cannot be executed".into()),
        _ => Ok(whole),
    }
}

/// Asks the build for its version, and then runs two of its ranks under Open MPI.
fn is_aurora(path: &Path) -> Result<(), String> {
    let output = silent(path).arg("--version").output().map_err(|error| format!("this cannot be started: {error}"))?;
    let version = first_line(&String::from_utf8_lossy(&output.stdout));
    if !version.starts_with("aurora ") {
        return Err(format!("this is no `aurora`: asked for its version it says `{version}`"));
    }
    let mut command = Command::new("mpirun.openmpi");
    command.args(["-n", "2", "--oversubscribe", "--bind-to", "none"]).arg(path).args(["info", "--json"]);
    let ended = process::run(alone(command), LIMIT).map_err(|error| format!("mpirun.openmpi: {error}"))?;
    let line = ended.lines.iter().find(|line| line.starts_with('{')).map_or("", String::as_str);
    let info: Value = serde_json::from_str(line).unwrap_or_default();
    match info["ranks"] == 2 && info["launcher"] == "mpi" {
        true => Ok(()),
        false => Err(format!(
            "Open MPI cannot start two ranks of it; build it with `MPICC=mpicc.openmpi cargo build --profile measure \
             --features mpi --bin aurora`. It says: {}",
            ended.errors.split_whitespace().chain(line.split_whitespace()).collect::<Vec<_>>().join(" ")
        )),
    }
}

fn silent(path: &Path) -> Command {
    let mut command = alone(Command::new(path));
    command.stdin(Stdio::null());
    command
}

fn first_line(text: &str) -> String {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("nothing").trim().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(old: &str) -> String {
        Builds::of("/bin/sh".as_ref(), old.as_ref()).expect_err(old)
    }

    #[test]
    fn what_is_no_aurora_is_refused_and_named() {
        let text = std::env::temp_dir().join(format!("aurora-text-{}", std::process::id()));
        fs::write(&text, "aurora 0.1.0\n").expect("written");
        let plain = refusal(&text.to_string_lossy());
        fs::set_permissions(&text, fs::Permissions::from_mode(0o755)).expect("changed");
        let executable = refusal(&text.to_string_lossy());
        fs::remove_file(&text).expect("removed");
        assert!(plain.contains("cannot be executed"), "{plain}");
        assert!(executable.contains("cannot be started"), "{executable}");
        for (old, why) in [
            ("/nowhere/aurora", "No such file"),
            ("/", "this is a directory"),
            ("/bin/true", "this is no `aurora`"),
            ("/bin/sh", "this is the build that is to be compared"),
        ] {
            let said = refusal(old);
            assert!(said.starts_with(&format!("--against {old}: ")) && said.contains(why), "{said}");
        }
    }

    #[test]
    fn a_build_that_refuses_the_words_does_not_know_the_job() {
        let lack = |old: &str| Builds { old: old.into(), new: PathBuf::new() }.lack("bench get");
        assert_eq!(lack("/bin/true"), None);
        assert!(lack("/bin/sh").is_some_and(|said| said.contains("bench")), "a shell has no such script");
    }
}
