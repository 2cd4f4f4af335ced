use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;

/// A moment by the monotonic clock, which all processes of a machine share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Time {
    /// Nanoseconds since a moment that the machine chooses.
    pub(crate) nanos: u64,
    /// Equal for processes that share the clock.
    pub(crate) machine: u64,
}

impl Time {
    pub(crate) fn now() -> Self {
        static MACHINE: OnceLock<u64> = OnceLock::new();
        Time { nanos: nanos(), machine: *MACHINE.get_or_init(machine) }
    }
}

pub(super) fn nanos() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Identifies one boot of one Linux, and a time namespace of it. If unknown, the process has a clock of its own.
fn machine() -> u64 {
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id");
    let namespace = std::fs::read_link("/proc/self/ns/time");
    let mut hasher = DefaultHasher::new();
    match (boot, namespace) {
        (Ok(boot), Ok(namespace)) => (boot, namespace).hash(&mut hasher),
        _ => (std::process::id(), nanos()).hash(&mut hasher),
    }
    hasher.finish()
}
