//! The file: JSON of Chrome's trace-event format, whole at any time, to which one rank after the other adds its part.

use crate::Error;
use rustix::fs::{FlockOperation, OFlags, flock};
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The first event says what the file is; so there is always one before a comma.
const BEGIN: &str = concat!(
    "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n",
    "{\"ph\":\"M\",\"name\":\"aurora\",\"pid\":0,\"tid\":0,\"args\":{\"version\":\"",
    env!("CARGO_PKG_VERSION"),
    "\"}}"
);
const END: &str = "\n]}\n";

/// Makes the file, without any rank's part, or empties it.
///
/// # Errors
/// `TraceFile` where it cannot be written.
pub(crate) fn create(path: &Path) -> Result<(), Error> {
    let made = open(path, true).and_then(|mut file| file.write_all(format!("{BEGIN}{END}").as_bytes()));
    made.map_err(|cause| refusal(path, &cause))
}

/// Whether this rank can add its part, where another has made the file or will.
///
/// # Errors
/// `TraceFile` where it cannot.
pub(crate) fn check(path: &Path) -> Result<(), Error> {
    open(path, false).map(drop).map_err(|cause| refusal(path, &cause))
}

fn open(path: &Path, empty: bool) -> io::Result<File> {
    // Nobody may read what is no file, and then opening it would wait.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().write(true).create(true).truncate(empty).custom_flags(flags).open(path)
}

fn refusal(path: &Path, cause: &io::Error) -> Error {
    Error::TraceFile { path: path.display().to_string(), cause: cause.to_string() }
}

/// Adds events, each a JSON object. Ranks that do so at the same time take turns. Where the file is not there (on a machine that does not share
/// rank 0's files) it is made.
pub(super) fn append(path: &Path, events: &[String]) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    // Until it is closed.
    flock(&file, FlockOperation::LockExclusive)?;
    let (len, end) = (file.metadata()?.len(), END.len() as u64);
    let mut text = String::new();
    match len.checked_sub(end) {
        Some(at) => drop(file.seek(SeekFrom::Start(at))?),
        None => text.push_str(BEGIN),
    }
    for event in events {
        text.push_str(",\n");
        text.push_str(event);
    }
    text.push_str(END);
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_whole_after_each_part() {
        let path = std::env::temp_dir().join(format!("aurora-trace-{}.json", std::process::id()));
        let events = || -> usize {
            let text = std::fs::read_to_string(&path).expect("read");
            let whole: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            whole["traceEvents"].as_array().map_or(0, Vec::len)
        };
        create(&path).expect("made");
        check(&path).expect("it can be written");
        assert_eq!(events(), 1);
        append(&path, &["{\"ph\":\"i\"}".into(), "{}".into()]).expect("added");
        assert_eq!(events(), 3);
        append(&path, &[]).expect("added");
        append(&path, &["{}".into()]).expect("added");
        assert_eq!(events(), 4);
        // On a machine where nobody has made it.
        std::fs::remove_file(&path).expect("removed");
        append(&path, &["{}".into()]).expect("made");
        assert_eq!(events(), 2);
        std::fs::remove_file(&path).expect("removed");
        for refused in [create, check] {
            let nowhere = refused(Path::new("/nowhere/trace.json")).expect_err("no such directory");
            assert!(matches!(&nowhere, Error::TraceFile { path, .. } if path == "/nowhere/trace.json"), "{nowhere}");
        }
    }
}
