//! The notes of a job's ranks for its driver. They are files, so they reach the driver even if the output does not.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The variable with the directory of the notes. The driver also finds the job's processes by it.
pub const DIRECTORY: &str = "SUITE_NOTES";

/// The note with the time of the fault.
const FAULT: &str = "fault";

/// Writes a note, if a driver wants notes.
///
/// # Panics
/// If the note cannot be written.
pub fn note(name: &str, text: &str) {
    if let Some(notes) = directory() {
        note_in(&notes, name, text);
    }
}

/// Notes that the cause of the job's failure happens now.
pub fn note_fault() {
    note(FAULT, &now().as_micros().to_string());
}

/// The text of a note.
pub fn noted(name: &str) -> Option<String> {
    read(&directory()?, name)
}

fn directory() -> Option<PathBuf> {
    std::env::var_os(DIRECTORY).map(PathBuf::from)
}

/// Writes a note as a whole, so that no reader sees a part of it.
pub(crate) fn note_in(notes: &Path, name: &str, text: &str) {
    let part = notes.join(format!("{name}.part"));
    fs::write(&part, text).and_then(|()| fs::rename(&part, notes.join(name))).expect("notes can be written");
}

pub(crate) fn note_fault_in(notes: &Path) {
    note_in(notes, FAULT, &now().as_micros().to_string());
}

pub(crate) fn read(notes: &Path, name: &str) -> Option<String> {
    fs::read_to_string(notes.join(name)).ok()
}

/// The time since the fault, if it has happened.
pub(crate) fn since_fault(notes: &Path) -> Option<Duration> {
    let at = read(notes, FAULT)?.parse().ok()?;
    Some(now().saturating_sub(Duration::from_micros(at)))
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
