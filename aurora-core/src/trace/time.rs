//! What time it is, so that other ranks can make something of it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;

/// A moment by this machine's clock, which all its processes share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Time {
    /// Nanoseconds since some moment of the machine's own.
    pub(crate) nanos: u64,
    /// A number that processes have in common if they have the clock in common.
    pub(crate) machine: u64,
}

impl Time {
    pub(crate) fn now() -> Self {
        static MACHINE: OnceLock<u64> = OnceLock::new();
        Time { nanos: nanos(), machine: *MACHINE.get_or_init(machine) }
    }
}

/// Now, in nanoseconds.
pub(super) fn nanos() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// One boot of one Linux, and a time namespace of it. Where either cannot be found out, the process has a clock of its
/// own.
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
