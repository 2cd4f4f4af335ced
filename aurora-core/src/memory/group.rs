//! Control groups as Linux describes them: the groups that contain this process, and the memory that each still gives.
//! This file only parses; `available.rs` reads the files.

use std::path::{Component, Path, PathBuf};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Version {
    One,
    Two,
}

/// A directory of the control-group file system that stands for a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Group {
    pub(super) version: Version,
    pub(super) dir: PathBuf,
}

/// Every group that bounds the memory of a process: its own and all visible groups that contain it, from its
/// `/proc/self/cgroup` and `/proc/self/mountinfo`. Both versions may be in use at the same time.
pub(super) fn groups_of(cgroup: &str, mountinfo: &str) -> Vec<Group> {
    let mounts: Vec<Mount> = mountinfo.lines().filter_map(Mount::parse).collect();
    let mut groups = Vec::new();
    for (version, path) in cgroup.lines().filter_map(membership) {
        let mut candidates = mounts.iter().filter(|mount| mount.version == version);
        // A mount that shows our group. Else, in a container, one that shows nothing but the container's own.
        let shown = candidates.clone().find_map(|mount| Some((mount, beneath(path, &mount.root)?)));
        let Some((mount, below)) = shown.or_else(|| Some((candidates.next()?, PathBuf::new()))) else {
            continue;
        };
        for up in below.ancestors() {
            groups.push(Group { version, dir: mount.point.join(up) });
        }
    }
    groups
}

/// The version and path of a line of `/proc/self/cgroup`, if that group may bound memory.
fn membership(line: &str) -> Option<(Version, &Path)> {
    let mut fields = line.splitn(3, ':');
    let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    match controllers {
        "" if number == "0" => Some((Version::Two, Path::new(path))),
        _ if controllers.split(',').any(|name| name == "memory") => Some((Version::One, Path::new(path))),
        _ => None,
    }
}

/// The path from the group `root` down to the group `path`, if `root` contains it.
fn beneath(path: &Path, root: &Path) -> Option<PathBuf> {
    let below = path.strip_prefix(root).ok()?;
    // A `..` leads out of the name space: `/../other`.
    below.components().all(|part| matches!(part, Component::Normal(_))).then(|| below.to_path_buf())
}

/// A mounted hierarchy of groups that bounds memory.
struct Mount {
    version: Version,
    /// The group at the mount point.
    root: PathBuf,
    point: PathBuf,
}

impl Mount {
    fn parse(line: &str) -> Option<Self> {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, point) = (unescape(place.next()?), unescape(place.next()?));
        let mut kind = kind.split(' ');
        let (file_system, options) = (kind.next()?, kind.nth(1)?);
        let version = match file_system {
            "cgroup2" => Version::Two,
            "cgroup" if options.split(',').any(|option| option == "memory") => Version::One,
            _ => return None,
        };
        Some(Mount { version, root, point })
    }
}

/// A path of `mountinfo`, in which spaces and some other characters are octal.
fn unescape(text: &str) -> PathBuf {
    let mut parts = text.split('\\');
    let mut path = parts.next().unwrap_or_default().to_string();
    for part in parts {
        match part.get(..3).and_then(|octal| u8::from_str_radix(octal, 8).ok()) {
            Some(byte) => path.extend([char::from(byte)].into_iter().chain(part[3..].chars())),
            None => path.extend(['\\'].into_iter().chain(part.chars())),
        }
    }
    path.into()
}

/// A bounded amount of memory, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Room {
    pub(super) limit: usize,
    /// The memory that is unused, or used only for copies of files.
    pub(super) left: usize,
}

/// The memory that a group still gives; `None` if it sets no limit. `file` reads a file of its directory.
pub(super) fn room(version: Version, file: impl Fn(&str) -> Option<String>) -> Option<Room> {
    /// Version 1 expresses "no limit" by the largest number of pages.
    const UNLIMITED: usize = 1 << 60;
    let number = |name: &str| file(name)?.trim().parse::<usize>().ok();
    let stat = file("memory.stat").unwrap_or_default();
    let counted = |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<usize>().ok());
    let (limit, used, cached) = match version {
        Version::Two => (number("memory.max"), number("memory.current"), counted("inactive_file ")),
        Version::One => {
            // Includes the limits of the groups above, even if those are not visible.
            let inherited = counted("hierarchical_memory_limit ");
            let limit = number("memory.limit_in_bytes").into_iter().chain(inherited).min();
            let cached = counted("total_inactive_file ").or_else(|| counted("inactive_file "));
            (limit, number("memory.usage_in_bytes"), cached)
        }
    };
    let limit = limit.filter(|limit| *limit < UNLIMITED)?;
    let used = used.unwrap_or(0).saturating_sub(cached.unwrap_or(0));
    Some(Room { limit, left: limit.saturating_sub(used) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dirs(cgroup: &str, mountinfo: &str) -> Vec<String> {
        groups_of(cgroup, mountinfo).into_iter().map(|group| group.dir.display().to_string()).collect()
    }

    const UNIFIED: &str = "\
24 29 0:22 / /sys rw,nosuid,nodev,noexec,relatime shared:7 - sysfs sysfs rw
35 24 0:30 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot
";

    #[test]
    fn a_session_of_systemd() {
        let own = "0::/user.slice/user-1000.slice/session-3.scope\n";
        let expected = [
            "/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope",
            "/sys/fs/cgroup/user.slice/user-1000.slice",
            "/sys/fs/cgroup/user.slice",
            "/sys/fs/cgroup/",
        ];
        assert_eq!(dirs(own, UNIFIED), expected);
    }

    #[test]
    fn a_task_of_slurm() {
        let dirs = dirs("0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_2\n", UNIFIED);
        assert_eq!(dirs.len(), 7);
        assert!(dirs.contains(&"/sys/fs/cgroup/system.slice/slurmstepd.scope/job_7".into()));
    }

    #[test]
    fn a_container_with_a_name_space_of_its_own() {
        assert_eq!(dirs("0::/\n", UNIFIED), ["/sys/fs/cgroup/"]);
    }

    /// Docker without a name space for groups: the mount shows the container's group as its root.
    #[test]
    fn a_container_of_version_1() {
        let own =
            "12:pids:/docker/4f5c\n11:memory:/docker/4f5c\n3:cpu,cpuacct:/docker/4f5c\n1:name=systemd:/docker/4f5c\n";
        let mounts = "\
721 711 0:33 /docker/4f5c /sys/fs/cgroup/cpu,cpuacct ro,nosuid - cgroup cgroup rw,cpu,cpuacct
725 711 0:37 /docker/4f5c /sys/fs/cgroup/memory ro,nosuid,nodev,noexec,relatime master:16 - cgroup cgroup rw,memory
";
        let expected = Group { version: Version::One, dir: "/sys/fs/cgroup/memory/".into() };
        assert_eq!(groups_of(own, mounts), [expected]);
        // The path is that of the host, which the mount does not lead to.
        let own = "11:memory:/kubepods/burstable/pod1/4f5c\n";
        assert_eq!(dirs(own, mounts), ["/sys/fs/cgroup/memory/"]);
    }

    #[test]
    fn both_versions_beside_each_other() {
        let own = "4:memory:/jobs/7\n2:cpu,cpuacct:/\n1:name=systemd:/\n0::/other\n";
        let mounts = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";
        let expected = [
            "/sys/fs/cgroup/memory/jobs/7",
            "/sys/fs/cgroup/memory/jobs",
            "/sys/fs/cgroup/memory/",
            "/sys/fs/cgroup/unified/other",
            "/sys/fs/cgroup/unified/",
        ];
        assert_eq!(dirs(own, mounts), expected);
    }

    #[test]
    fn the_mount_that_shows_our_group_is_taken() {
        let mounts = "\
50 24 0:30 /elsewhere /mnt/part rw - cgroup2 cgroup2 rw
51 24 0:30 /a\\040b /mnt/of\\040ours rw - cgroup2 cgroup2 rw
";
        assert_eq!(dirs("0::/a b/c\n", mounts), ["/mnt/of ours/c", "/mnt/of ours/"]);
        assert_eq!(dirs("0::/../sibling\n", UNIFIED), ["/sys/fs/cgroup/"], "a process of another name space");
    }

    #[test]
    fn without_groups() {
        assert!(groups_of("", "").is_empty());
        assert!(groups_of("0::/\n", "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n").is_empty());
        assert!(groups_of("nonsense\n1:memory\n", UNIFIED).is_empty());
    }

    fn room_of(version: Version, files: &[(&str, &str)]) -> Option<Room> {
        room(version, |name| files.iter().find(|(file, _)| *file == name).map(|(_, text)| text.to_string()))
    }

    #[test]
    fn what_version_2_still_gives() {
        let stat = "anon 700\nfile 250\nkernel 50\ninactive_anon 0\nactive_file 50\ninactive_file 200\nslab 3\n";
        let files = [("memory.max", "1500\n"), ("memory.current", "1000\n"), ("memory.stat", stat)];
        assert_eq!(room_of(Version::Two, &files), Some(Room { limit: 1500, left: 700 }));
        assert_eq!(room_of(Version::Two, &[("memory.max", "max\n"), ("memory.current", "1000\n")]), None);
        assert_eq!(room_of(Version::Two, &[]), None, "the root sets no limit");
        let over = [("memory.max", "10\n"), ("memory.current", "12\n")];
        assert_eq!(room_of(Version::Two, &over), Some(Room { limit: 10, left: 0 }));
    }

    #[test]
    fn what_version_1_still_gives() {
        let stat = "cache 300\ninactive_file 1\nhierarchical_memory_limit 2000\ntotal_inactive_file 100\n";
        let files =
            |limit| [("memory.limit_in_bytes", limit), ("memory.usage_in_bytes", "900\n"), ("memory.stat", stat)];
        assert_eq!(room_of(Version::One, &files("1500\n")), Some(Room { limit: 1500, left: 700 }));
        let inherited = Some(Room { limit: 2000, left: 1200 });
        assert_eq!(room_of(Version::One, &files("9223372036854771712\n")), inherited);
        let unlimited = "hierarchical_memory_limit 9223372036854771712\ntotal_inactive_file 100\n";
        let files = [("memory.limit_in_bytes", "9223372036854771712\n"), ("memory.stat", unlimited)];
        assert_eq!(room_of(Version::One, &files), None);
    }
}
