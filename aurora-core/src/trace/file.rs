//! The file: JSON of Chrome's trace-event format. It is valid at any time, and each rank appends its part.

use crate::Error;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::process::{Resource, getrlimit};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// The first event names the format, so there is always an event before a comma.
const BEGIN: &str = concat!(
    "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n",
    "{\"ph\":\"M\",\"name\":\"aurora\",\"pid\":0,\"tid\":0,\"args\":{\"version\":\"",
    env!("CARGO_PKG_VERSION"),
    "\"}}"
);
/// The start of the file in all versions.
const ANY_VERSION: &str = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{\"ph\":\"M\",\"name\":\"aurora\"";
const END: &str = "\n]}\n";

/// Makes the file, without any rank's part, or empties one that is a trace.
///
/// # Errors
/// `TraceFile` if it cannot be written, or is not a trace.
pub(crate) fn create(path: &Path) -> Result<(), Error> {
    let made = spare_others(path).and_then(|()| open(path, true));
    let made = made.and_then(|mut file| write(&mut file, &format!("{BEGIN}{END}")));
    made.map_err(|cause| refusal(path, &cause))
}

/// Refuses to overwrite a file that is not a trace, such as somebody's results.
fn spare_others(path: &Path) -> io::Result<()> {
    let is_file = std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() > 0);
    if !is_file {
        return Ok(());
    }
    let mut begin = Vec::new();
    File::open(path)?.take(ANY_VERSION.len() as u64).read_to_end(&mut begin)?;
    match begin == ANY_VERSION.as_bytes() {
        true => Ok(()),
        false => Err(io::Error::new(ErrorKind::AlreadyExists, "this file exists and is not a trace of Aurora")),
    }
}

/// Checks that this rank can append its part to the file, which another rank has made or will make.
///
/// # Errors
/// `TraceFile` if it cannot.
pub(crate) fn check(path: &Path) -> Result<(), Error> {
    open(path, false).map(drop).map_err(|cause| refusal(path, &cause))
}

fn open(path: &Path, empty: bool) -> io::Result<File> {
    // Without a reader, opening a pipe would wait.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().write(true).create(true).truncate(empty).custom_flags(flags).open(path)?;
    if file.metadata()?.file_type().is_fifo() {
        // A pipe cannot be changed in place, and once its reader is gone, a write would wait for ever.
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is a pipe"));
    }
    Ok(file)
}

fn refusal(path: &Path, cause: &io::Error) -> Error {
    Error::TraceFile { path: path.display().to_string(), cause: cause.to_string() }
}

/// Appends events, each a JSON object. A lock orders ranks that do so at the same time. If the file does not exist
/// (on a machine that does not share rank 0's files), it is made.
pub(super) fn append(path: &Path, events: &[String]) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    // Until the file is closed.
    flock(&file, FlockOperation::LockExclusive)?;
    let at = place(&mut file)?;
    let mut text = String::from(if at == 0 { BEGIN } else { "" });
    for event in events {
        text.push_str(",\n");
        text.push_str(event);
    }
    text.push_str(END);
    let written = write(&mut file, &text);
    if written.is_err() {
        // If the disk is full, for example, the parts of the others stay valid. There was room for them.
        let begin = if at == 0 { BEGIN } else { "" };
        let again = file.set_len(at).and_then(|()| file.seek(SeekFrom::Start(at)));
        let _ = again.and_then(|_| write(&mut file, &format!("{begin}{END}")));
    }
    written
}

/// Writes text, unless the file would exceed this process's limit: then the system would kill the process.
fn write(file: &mut File, text: &str) -> io::Result<()> {
    // A file that is not regular has no end, and no limit.
    let end = if file.metadata()?.is_file() { file.stream_position()? + text.len() as u64 } else { 0 };
    match getrlimit(Resource::Fsize).current.filter(|allowed| *allowed < end) {
        None => file.write_all(text.as_bytes()),
        Some(allowed) => Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!(
                "files of this process may have {allowed} bytes, and this one needs {end}; allow more (`ulimit -f`)"
            ),
        )),
    }
}

/// Seeks to where the next event goes, over `END` or after the last complete event. 0 in an empty file.
fn place(file: &mut File) -> io::Result<u64> {
    let len = file.metadata()?.len();
    let mut end = [0; END.len()];
    if let Some(at) = len.checked_sub(END.len() as u64) {
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut end)?;
        if end == *END.as_bytes() {
            return file.seek(SeekFrom::Start(at));
        }
    }
    if len == 0 {
        return Ok(0);
    }
    // A rank was ended while it wrote. Only between two events is there a comma at the end of a line.
    let mut text = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut text)?;
    if !text.starts_with(BEGIN.as_bytes()) {
        return Err(io::Error::new(ErrorKind::InvalidData, "it is no trace, and stays"));
    }
    let whole = text.windows(2).rposition(|pair| pair == b",\n").unwrap_or(BEGIN.len()) as u64;
    file.set_len(whole)?;
    file.seek(SeekFrom::Start(whole))
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
        // A rank was killed while it wrote: the end and a part of the last event are missing.
        let text = std::fs::read(&path).expect("read");
        std::fs::write(&path, &text[..text.len() - END.len() - 1]).expect("cut off");
        append(&path, &["{}".into(), "{}".into()]).expect("added");
        assert_eq!(events(), 5);
        // A file that is no trace does not change.
        std::fs::write(&path, "something else").expect("written");
        append(&path, &["{}".into()]).expect_err("no trace");
        create(&path).expect_err("no trace");
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "something else");
        // On a machine where no rank has made it.
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
