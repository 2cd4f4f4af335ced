//! What the ranks of a job note for its driver, in files: these get through when their output does not.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The variable that says where; also how the driver finds the job's processes.
pub const DIRECTORY: &str = "SUITE_NOTES";

/// The note of when it happened.
const FAULT: &str = "fault";

/// Notes something, where a driver wants notes.
///
/// # Panics
/// If it cannot be written.
pub fn note(name: &str, text: &str) {
    if let Some(notes) = directory() {
        note_in(&notes, name, text);
    }
}

/// Notes that what makes the job fail happens now.
pub fn note_fault() {
    note(FAULT, &now().as_micros().to_string());
}

/// What has been noted.
pub fn noted(name: &str) -> Option<String> {
    read(&directory()?, name)
}

fn directory() -> Option<PathBuf> {
    std::env::var_os(DIRECTORY).map(PathBuf::from)
}

/// Whole or not at all, so that no reader sees half of it.
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

/// How long ago it happened, if it did.
pub(crate) fn since_fault(notes: &Path) -> Option<Duration> {
    let at = read(notes, FAULT)?.parse().ok()?;
    Some(now().saturating_sub(Duration::from_micros(at)))
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
