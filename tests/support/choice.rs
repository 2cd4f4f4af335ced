//! The command line of the programs that measure: rows, repetitions, build to compare with, and output file.

use crate::figures::row::Row;
use crate::results;
use clap::Args;
use std::path::{Path, PathBuf};

/// The default number of turns of two builds.
pub const TURNS: u32 = 5;

/// The common options of `benches/one-node` and `tests/netlab/measure`.
#[derive(Args, Debug)]
pub struct Choice {
    /// Only these rows; then nothing is written without --out
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    rows: Vec<String>,
    /// Number of repetitions of each operation; long ones are repeated less
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    reps: u32,
    /// File for the section of these results [default: benches/RESULTS.md]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Compare this build with another one's `aurora` instead of with MPI; then nothing is written without --out
    #[arg(long, value_name = "BINARY")]
    against: Option<PathBuf>,
    /// Number of turns (old, new, old) of the two builds [default: 5]
    #[arg(long, value_name = "N", requires = "against", value_parser = clap::value_parser!(u32).range(1..=99))]
    turns: Option<u32>,
    /// Damage the data before they are sent
    #[arg(long, hide = true)]
    pub damage: bool,
    /// Directory in which relative paths begin
    #[arg(long, value_name = "DIRECTORY", hide = true, default_value = ".")]
    from: PathBuf,
}

impl Choice {
    /// The rows of `all` that are to be measured.
    ///
    /// # Errors
    /// An unknown name, with all names that exist.
    pub fn rows(&self, all: &[Row]) -> Result<Vec<Row>, String> {
        if self.rows.is_empty() {
            return Ok(all.to_vec());
        }
        let known = || all.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
        let find = |wanted: &String| {
            let row = all.iter().find(|row| row.name == wanted).copied();
            row.ok_or_else(|| format!("there is no row `{wanted}`; the rows: {}", known()))
        };
        self.rows.iter().map(find).collect()
    }

    /// True if all rows are chosen.
    pub fn is_whole(&self) -> bool {
        self.rows.is_empty()
    }

    /// The number of repetitions of each operation.
    pub fn reps(&self) -> usize {
        self.reps as usize
    }

    /// The other build, if the comparison is with a build.
    pub fn against(&self) -> Option<PathBuf> {
        self.against.as_deref().map(|path| self.place(path))
    }

    /// The number of turns of the two builds.
    pub fn turns(&self) -> usize {
        self.turns.unwrap_or(TURNS) as usize
    }

    /// True if the results are published: the whole table, compared with MPI, in its usual file.
    pub fn is_published(&self) -> bool {
        self.is_whole() && self.against.is_none() && self.out.is_none()
    }

    /// The output file, if there is one.
    pub fn out(&self) -> Option<PathBuf> {
        let published = self.is_published().then(|| results::FILE.into());
        self.out.as_deref().map(|path| self.place(path)).or(published)
    }

    fn place(&self, path: &Path) -> PathBuf {
        self.from.join(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::judge::tests::row;
    use clap::Parser;
    use std::process::Command;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        choice: Choice,
    }

    fn parsed(line: &str) -> Result<Choice, String> {
        let words = std::iter::once("measure").chain(line.split_whitespace());
        Line::try_parse_from(words).map(|line| line.choice).map_err(|error| error.to_string())
    }

    fn choice(line: &str) -> Choice {
        parsed(line).expect("well formed")
    }

    #[test]
    fn a_comparison_of_builds_writes_only_where_it_is_told_to() {
        let file = |path: &str| Some(PathBuf::from(path));
        assert_eq!(choice("").out(), file(results::FILE));
        assert_eq!(choice("--rows get").out(), None);
        assert_eq!(choice("--against old/aurora").out(), None);
        assert_eq!(choice("--against old/aurora --out x.md --from /a").out(), file("/a/x.md"));
        assert_eq!(choice("--rows get --out /x.md --from /a").out(), file("/x.md"));
        assert_eq!(choice("--against old/aurora --from /a").against(), file("/a/old/aurora"));
    }

    #[test]
    fn wrong_arguments_are_refused() {
        assert_eq!((choice("--against x").turns(), choice("--against x --turns 7").turns()), (5, 7));
        let cases = [
            ("--turns 3", "--against"),
            ("--against x --turns 0", "1..=99"),
            ("--reps 0", "1.."),
            ("--against", "BINARY"),
        ];
        for (line, expected) in cases {
            let said = parsed(line).expect_err(line);
            assert!(said.contains(expected), "{line}: {said}");
        }
        let all = [row("get"), row("put")];
        let rows = |line| choice(line).rows(&all);
        assert_eq!((rows(""), rows("--rows put")), (Ok(all.to_vec()), Ok(vec![all[1]])));
        assert_eq!(rows("--rows get,pt"), Err("there is no row `pt`; the rows: get, put".into()));
    }

    #[test]
    fn the_scripts_refuse_what_is_no_build_before_they_build_one() {
        let said = |script: &str, line: &str| {
            let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join(script));
            // A `PATH` without cargo.
            command.args(line.split_whitespace()).env("PATH", "/usr/bin:/bin").current_dir("/");
            let output = command.output().expect("the script starts");
            (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        let cases = [
            ("benches/one-node", "--against", "--against takes a value"),
            ("benches/one-node", "--against nowhere/aurora", "not 'nowhere/aurora'"),
            ("benches/one-node", "--against=/etc/passwd", "not '/etc/passwd'"),
            ("benches/one-node", "--against /bin", "not '/bin'"),
            ("benches/one-node", "--turns 3", "--turns goes with --against"),
            ("benches/one-node", "--against bin/true --turns 0", "--turns takes a number from 1 to 99, not '0'"),
            ("benches/one-node", "--against bin/true --rows gett", "there is no row 'gett'"),
            ("tests/netlab/measure", "--rows late --against", "not ''"),
            ("tests/netlab/measure", "--against nowhere/aurora", "not 'nowhere/aurora'"),
            ("tests/netlab/measure", "--against=/bin", "not '/bin'"),
        ];
        for (script, line, expected) in cases {
            let (code, errors) = said(script, line);
            assert!(code == Some(2) && errors.contains(expected), "{script} {line}: {code:?}, {errors}");
        }
    }
}
