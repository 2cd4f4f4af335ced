//! The peak of the memory of this process.

use std::fs;

/// Peak of resident memory in bytes, counted from the last [`reset`].
pub fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    kib.map_or(0, |kib| kib * 1024)
}

/// Resets the peak to the memory in use. If the system refuses this, an earlier peak may hide growth.
pub fn reset() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}
