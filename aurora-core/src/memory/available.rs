//! The memory that this process may still take: of its machine, and of each control group that contains it.

use super::group::{Group, Room, groups_of, room};
use crate::error::MemoryLimit;
use rustix::param::page_size;
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;

/// A limited amount of memory that processes share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Pool {
    /// The number of this pool: the same on every rank that draws from it, and on no other rank.
    pub(crate) id: u64,
    pub(crate) limit: MemoryLimit,
    pub(crate) available: usize,
}

/// Returns the bytes that this process may still take, by its machine and control groups, less a reserve; `None` if
/// unknown.
pub fn available() -> Option<usize> {
    Limits::find().tightest().map(|pool| pool.available)
}

pub(crate) struct Limits {
    /// Each with the number that identifies it on its machine.
    groups: Vec<(Group, u64)>,
    machine: u64,
    process: u64,
}

impl Limits {
    pub(crate) fn find() -> Self {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let cgroup = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let groups = groups_of(&cgroup, &mountinfo).into_iter().filter_map(|group| {
            // Containers see one group under different names, so its device and inode identify it.
            let meta = fs::metadata(&group.dir).ok()?;
            Some((group, id_of(&(&boot, meta.dev(), meta.ino()))))
        });
        // Processes of different containers may have one number.
        let namespace = fs::metadata("/proc/self/ns/pid").map_or(0, |meta| meta.ino());
        let process = id_of(&(&boot, "process", namespace, std::process::id()));
        Limits { groups: groups.collect(), machine: id_of(&boot), process }
    }

    pub(crate) fn pools(&self) -> Vec<Pool> {
        let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| machine(&text));
        let machine =
            machine.map(|room| Pool { id: self.machine, limit: MemoryLimit::Machine, available: spare(room) });
        let groups = self.groups.iter().filter_map(|(group, id)| {
            let room = room(group.version, |name| fs::read_to_string(group.dir.join(name)).ok())?;
            let limit = MemoryLimit::ControlGroup(group.dir.display().to_string());
            Some(Pool { id: *id, limit, available: spare(room) })
        });
        let process = address_space(getrlimit(Resource::As).current, || fs::read_to_string("/proc/self/statm").ok());
        let process =
            process.map(|room| Pool { id: self.process, limit: MemoryLimit::AddressSpace, available: spare(room) });
        machine.into_iter().chain(groups).chain(process).collect()
    }

    pub(crate) fn tightest(&self) -> Option<Pool> {
        self.pools().into_iter().min_by_key(|pool| pool.available)
    }
}

/// A part of the room, never all: a process needs some memory for stacks, page tables and socket buffers.
fn spare(room: Room) -> usize {
    let kept = (room.limit / 32).clamp(4 << 20, 256 << 20);
    room.left.saturating_sub(kept)
}

fn id_of(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

fn machine(meminfo: &str) -> Option<Room> {
    let bytes = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
    };
    Some(Room { limit: bytes("MemTotal:")?, left: bytes("MemAvailable:")? })
}

/// The room in a limited address space. `statm` begins with the pages that it has.
fn address_space(limit: Option<u64>, statm: impl Fn() -> Option<String>) -> Option<Room> {
    let limit = usize::try_from(limit?).ok()?;
    let pages: usize = statm()?.split_whitespace().next()?.parse().ok()?;
    Some(Room { limit, left: limit.saturating_sub(pages.saturating_mul(page_size())) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_how_much_is_left() {
        let text = "MemTotal:       50 kB\nMemFree: 7 kB\nMemAvailable:    24 kB\n";
        assert_eq!(machine(text), Some(Room { limit: 50 * 1024, left: 24 * 1024 }));
        assert_eq!(machine("nothing"), None);
        assert!(available().is_some_and(|bytes| bytes > 1 << 20));
    }

    #[test]
    fn an_address_space_without_a_limit_is_no_pool() {
        let statm = || Some("10 5 3 1 0 2 0".to_string());
        let room = |limit| address_space(limit, statm).map(|room| room.left);
        assert_eq!(room(None), None);
        assert_eq!(room(Some(1 << 30)), Some((1 << 30) - 10 * page_size()));
        assert_eq!(room(Some(1)), Some(0));
    }

    #[test]
    fn all_ranks_of_a_machine_call_its_pools_by_the_same_numbers() {
        let ids = |limits: Limits| limits.pools().into_iter().map(|pool| pool.id).collect::<Vec<_>>();
        assert_eq!(ids(Limits::find()), ids(Limits::find()));
    }

    #[test]
    fn the_last_of_it_is_never_given() {
        let gib = 1 << 30;
        assert_eq!(spare(Room { limit: 24 * gib, left: gib }), gib - (256 << 20));
        assert_eq!(spare(Room { limit: 64 << 20, left: 3 << 20 }), 0);
    }
}
