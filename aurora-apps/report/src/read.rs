//! Reads what `--json` has printed: JSON objects one after the other, from files and from standard input.

use super::recorded::{Recorded, recorded};
use serde_json::{Deserializer, Value};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What stands for standard input.
pub const STDIN: &str = "-";

/// No run is longer, and who reads on in a device may never come to its end.
const LONGEST_LINE: u64 = 64 << 20;

/// No file is longer: of its runs so much memory is used several times over.
const LONGEST_FILE: u64 = 64 << 20;

/// Why there is nothing to read, and what to do.
#[derive(Debug, Error)]
pub enum Unread {
    /// The system says no.
    #[error("{file}: cannot be read: {source}")]
    File {
        /// As the user named it.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// No text, most likely.
    #[error(
        "{file}, line {line}: longer than {} MiB, so no run. A file holds what `aurora ... --json` has printed on standard \
         output, one object after the other, and nothing else",
        LONGEST_LINE >> 20
    )]
    LongLine {
        /// As the user named it.
        file: String,
        /// From 1 on.
        line: usize,
    },
    /// Something that goes on and on.
    #[error(
        "{file}: longer than {} MiB: give files of fewer runs, and make a page of each",
        LONGEST_FILE >> 20
    )]
    LongFile {
        /// As the user named it.
        file: String,
    },
    /// Something else.
    #[error(
        "{file}, line {line}: not JSON: {what}. A file holds what `aurora ... --json` has printed on standard output, one \
         object after the other, and nothing else"
    )]
    NotJson {
        /// As the user named it.
        file: String,
        /// From 1 on.
        line: usize,
        /// What the parser says.
        what: String,
    },
    /// JSON of some other kind.
    #[error(
        "{file}, line {line}: JSON, but no run: it has none of `app`, `bench` and `policy`. Runs are what `aurora mm2 --json`, the \
         other programs, `aurora bench ... --json` and `aurora simulate --json` print; take this out of the file"
    )]
    NoRun {
        /// As the user named it.
        file: String,
        /// From 1 on.
        line: usize,
    },
    /// A run that lacks something.
    #[error("{file}, line {line}: a run that cannot be: {what}. Print it again with this version's `--json`")]
    Broken {
        /// As the user named it.
        file: String,
        /// Where the object begins, from 1 on.
        line: usize,
        /// What is missing or wrong.
        what: String,
    },
    /// Nothing at all.
    #[error("no run in {files}: `aurora mm2 --json >> runs.json` writes one")]
    Empty {
        /// All of them.
        files: String,
    },
    /// It can be read once.
    #[error("`-`, standard input, is given more than once")]
    StdinTwice,
}

/// Reads all files, in order; `-` is standard input. A run that is there several times is read once.
///
/// # Errors
/// The first file and line that is no run; [`Unread::Empty`] if there is none at all.
pub fn read(files: &[PathBuf]) -> Result<Vec<Recorded>, Unread> {
    if files.iter().filter(|file| is_stdin(file)).count() > 1 {
        return Err(Unread::StdinTwice);
    }
    let mut runs = Vec::new();
    for file in files {
        let name = if is_stdin(file) { "standard input".to_string() } else { file.display().to_string() };
        let bytes = bytes(&name, file)?;
        parse(&name, &bytes, &mut runs)?;
    }
    let mut seen = HashSet::new();
    runs.retain(|run| seen.insert(run.object.to_string()));
    if runs.is_empty() {
        let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
        return Err(Unread::Empty { files: names.join(", ") });
    }
    Ok(runs)
}

/// Whether it stands for standard input.
pub fn is_stdin(file: &Path) -> bool {
    file == Path::new(STDIN)
}

fn bytes(name: &str, file: &Path) -> Result<Vec<u8>, Unread> {
    let unread = |source| Unread::File { file: name.into(), source };
    let mut text: Box<dyn BufRead> = if is_stdin(file) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(file).map_err(unread)?))
    };
    let (mut bytes, mut line) = (Vec::new(), 1);
    loop {
        let length = text.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes).map_err(unread)?;
        if length as u64 == LONGEST_LINE && !bytes.ends_with(b"\n") {
            return Err(Unread::LongLine { file: name.into(), line });
        }
        if length == 0 {
            return Ok(bytes);
        }
        if bytes.len() as u64 > LONGEST_FILE {
            return Err(Unread::LongFile { file: name.into() });
        }
        line += 1;
    }
}

/// The runs of one file.
///
/// # Errors
/// As [`read`].
pub fn parse(file: &str, bytes: &[u8], runs: &mut Vec<Recorded>) -> Result<(), Unread> {
    let mut values = Deserializer::from_slice(bytes).into_iter::<Value>();
    let (mut line, mut counted) = (1, 0);
    loop {
        let begin = begin_after(bytes, values.byte_offset());
        line += bytes[counted..begin].iter().filter(|byte| **byte == b'\n').count();
        counted = begin;
        let Some(value) = values.next() else { return Ok(()) };
        let value = value.map_err(|error| {
            let what = error.to_string();
            // The parser's own place stands before it already.
            let what = what.split(" at line ").next().unwrap_or_default().to_string();
            Unread::NotJson { file: file.into(), line: error.line(), what }
        })?;
        match recorded(file, line, value) {
            Ok(Some(run)) => runs.push(run),
            Ok(None) => return Err(Unread::NoRun { file: file.into(), line }),
            Err(what) => return Err(Unread::Broken { file: file.into(), line, what }),
        }
    }
}

/// Where the first thing stands at `offset` or behind it.
fn begin_after(bytes: &[u8], offset: usize) -> usize {
    bytes[offset..].iter().position(|byte| !byte.is_ascii_whitespace()).map_or(offset, |at| offset + at)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{bench, program};
    use super::super::recorded::What;
    use super::*;

    fn parsed(text: &str) -> Result<Vec<Recorded>, Unread> {
        let mut runs = Vec::new();
        parse("runs.json", text.as_bytes(), &mut runs).map(|()| runs)
    }

    #[test]
    fn objects_follow_each_other_in_any_layout() {
        let (one, other) = (program("mm2", 704, 4, &[("aurora", 0.02)]), bench("exchange", 4, &[("aurora", 0.3)]));
        let text = format!("\n{one}\n{}{other}  \n\n{one}", serde_json::to_string_pretty(&one).unwrap());
        let runs = parsed(&text).unwrap();
        assert_eq!(runs.iter().map(|run| run.line).collect::<Vec<_>>()[..2], [2, 3]);
        assert_eq!(runs.len(), 4);
        assert!(matches!(&runs[2].what, What::Bench(benches) if benches[0].ranks == 4));
    }

    #[test]
    fn what_is_no_run_is_named_with_its_line() {
        let run = program("mm2", 704, 4, &[("aurora", 0.02)]).to_string();
        let told = |text: String| parsed(&text).unwrap_err().to_string();
        let text = told(format!("{run}\nmpirun: something\n"));
        assert!(text.starts_with("runs.json, line 2: not JSON") && text.contains("--json"), "{text}");
        let text = told(format!("{run}\n\n{{\"version\":\"0.1\"}}"));
        assert!(text.starts_with("runs.json, line 3: JSON, but no run"), "{text}");
        let text = told(run.replace("\"size\"", "\"sighs\""));
        assert!(text.starts_with("runs.json, line 1: a run that cannot be") && text.contains("`size`"), "{text}");
        let text = told(format!("{run}\n{}", &run[..run.len() / 2]));
        assert!(text.starts_with("runs.json, line 2: not JSON: EOF"), "{text}");
        let text = told(run.replace("\"reps\":", "\"reps\":1844674407370955161"));
        assert!(text.contains("nothing is repeated"), "{text}");
        let text = told("{\"app\":\"mm2\",\"results\":[]}".into());
        assert!(text.contains("no results"), "{text}");
        let text = told(run.replace("\"ranks\":4", "\"ranks\":0"));
        assert!(text.contains("0 ranks"), "{text}");
        let text = told(run.replace("\"ranks\":4", "\"ranks\":18446744073709551615"));
        assert!(text.contains("no job of 18446744073709551615 ranks"), "{text}");
        let text = told(run.replace("\"sequential_seconds\":0.04", "\"sequential_seconds\":1e300"));
        assert!(text.contains("1e300 s is no time"), "{text}");
        let text = told(run.replace("\"min\":", "\"min\":9"));
        assert!(text.contains("not in order"), "{text}");
        let text = told(run.replace("\"labels\":{}", "\"labels\":{\"nodes\":\"x\"}"));
        assert!(text.contains("number from 1 on"), "{text}");
    }

    #[test]
    fn what_stood_there_before_there_were_labels_can_be_read() {
        let mut run = program("mm2", 704, 4, &[("aurora", 0.02)]);
        let object = run.as_object_mut().unwrap();
        for key in ["labels", "command", "machine", "date"] {
            assert!(object.remove(key).is_some());
        }
        assert_eq!(parsed(&run.to_string()).unwrap()[0].circumstances.command, "");
    }

    #[test]
    fn a_run_that_is_there_twice_is_one() {
        let folder = std::env::temp_dir();
        let file = |name: &str| folder.join(format!("aurora-report-{name}-{}", std::process::id()));
        let (one, other) = (file("one"), file("other"));
        let run = program("mm2", 704, 4, &[("aurora", 0.02)]);
        let later = {
            let mut run = run.clone();
            run["date"] = "2001-01-02T00:00:00Z".into();
            run
        };
        std::fs::write(&one, format!("{run}\n{later}\n")).unwrap();
        std::fs::write(&other, serde_json::to_string_pretty(&run).unwrap()).unwrap();
        let runs = read(&[one.clone(), other.clone(), one.clone()]);
        [one, other].iter().for_each(|file| std::fs::remove_file(file).unwrap());
        let places: Vec<_> = runs.unwrap().iter().map(|run| run.line).collect();
        assert_eq!(places, [1, 2]);
    }

    #[test]
    fn what_has_no_end_is_refused() {
        let text = read(&["/dev/zero".into()]).unwrap_err().to_string();
        assert!(text.starts_with("/dev/zero, line 1: longer than 64 MiB") && text.contains("--json"), "{text}");
    }

    #[test]
    fn lines_without_end_are_refused() {
        let endless = std::env::temp_dir().join(format!("aurora-report-endless-{}", std::process::id()));
        std::fs::write(&endless, vec![b'\n'; (LONGEST_FILE + 1) as usize]).unwrap();
        let text = read(std::slice::from_ref(&endless)).unwrap_err().to_string();
        std::fs::remove_file(&endless).unwrap();
        assert!(text.contains("longer than 64 MiB: give files of fewer runs"), "{text}");
    }

    #[test]
    fn nothing_is_no_run() {
        let empty = std::env::temp_dir().join(format!("aurora-report-empty-{}", std::process::id()));
        std::fs::write(&empty, " \n").unwrap();
        let text = read(std::slice::from_ref(&empty)).unwrap_err().to_string();
        std::fs::remove_file(&empty).unwrap();
        assert!(text.starts_with("no run in ") && text.contains("aurora mm2 --json"), "{text}");
        let text = read(&[empty]).unwrap_err().to_string();
        assert!(text.contains("cannot be read"), "{text}");
        assert!(matches!(read(&["-".into(), "-".into()]), Err(Unread::StdinTwice)));
    }
}
