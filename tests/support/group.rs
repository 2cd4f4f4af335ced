//! Control groups with a limit of memory, of either version.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A control group of this test, removed on drop.
#[derive(Debug)]
pub struct ControlGroup {
    dir: PathBuf,
}

impl ControlGroup {
    /// A group whose processes may use `limit` bytes of memory together. It is below the group of this process, so the
    /// limits of that group hold too.
    ///
    /// # Errors
    /// The reason why this machine allows no such group.
    pub fn with_memory(limit: usize) -> Result<Self, String> {
        let own = fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
        let path = |wanted: fn(&str) -> bool| {
            own.lines().find_map(|line| {
                let (_, rest) = line.split_once(':')?;
                let (controllers, path) = rest.split_once(':')?;
                wanted(controllers).then(|| path.trim_start_matches('/').to_string())
            })
        };
        let one = path(|controllers| controllers.split(',').any(|name| name == "memory"));
        let two = path(str::is_empty);
        let made = match (one, two) {
            (Some(path), _) => Self::version_1(&Path::new("/sys/fs/cgroup/memory").join(path), limit),
            (None, Some(path)) => {
                let own = Path::new("/sys/fs/cgroup").join(path);
                // A group that contains processes has no child groups that limit memory. Then use the parent's group.
                Self::version_2(&own, limit).or_else(|error| match own.parent() {
                    Some(parent) if parent.starts_with("/sys/fs/cgroup") => Self::version_2(parent, limit),
                    _ => Err(error),
                })
            }
            (None, None) => return Err("this kernel has no control groups that limit memory".into()),
        };
        made.map_err(|error| format!("no control group with a limit of memory can be made: {error}"))
    }

    fn version_1(parent: &Path, limit: usize) -> std::io::Result<Self> {
        let group = Self::below(parent)?;
        fs::write(group.dir.join("memory.limit_in_bytes"), limit.to_string())?;
        // The limit of memory and swap, where the kernel counts swap.
        let _ = fs::write(group.dir.join("memory.memsw.limit_in_bytes"), limit.to_string());
        Ok(group)
    }

    fn version_2(parent: &Path, limit: usize) -> std::io::Result<Self> {
        let enabled = fs::read_to_string(parent.join("cgroup.subtree_control"))?;
        if !enabled.split_whitespace().any(|name| name == "memory") {
            fs::write(parent.join("cgroup.subtree_control"), "+memory")?;
        }
        let group = Self::below(parent)?;
        fs::write(group.dir.join("memory.max"), limit.to_string())?;
        let _ = fs::write(group.dir.join("memory.swap.max"), "0");
        Ok(group)
    }

    fn below(parent: &Path) -> std::io::Result<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let dir = parent.join(format!("aurora-suite-{}-{number}", std::process::id()));
        fs::create_dir(&dir)?;
        Ok(ControlGroup { dir })
    }

    /// A command that runs `program` in the group; arguments may follow.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", r#"echo $$ > "$0" && exec "$@""#]);
        command.arg(self.dir.join("cgroup.procs")).arg(program);
        command
    }

    /// The number of processes that the kernel has killed because the group used more memory.
    pub fn killed(&self) -> Option<usize> {
        let read = |name: &str| fs::read_to_string(self.dir.join(name)).ok();
        let text = read("memory.events").or_else(|| read("memory.oom_control"))?;
        text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
    }

    /// The peak of the group's memory in bytes.
    pub fn peak(&self) -> Option<usize> {
        let read = |name: &str| fs::read_to_string(self.dir.join(name)).ok();
        read("memory.peak").or_else(|| read("memory.max_usage_in_bytes"))?.trim().parse().ok()
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // Processes that have just ended may still be counted as members.
        for _ in 0..200 {
            if fs::remove_dir(&self.dir).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}
