//! What a job of Aurora's leaves on its machine while it lives, and must not when it is over.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The kernel takes a process out of `/proc` a little before it has closed the last of its files.
const LINGERING: Duration = Duration::from_secs(2);

/// Files that belong to an MPI, which has to clear them away itself.
const OF_MPI: [&str; 5] = ["vader_segment.", "ompi.", "openmpi-sessions", "mpich_", "ucx_"];

/// All that can be seen of Aurora's jobs at a time, each in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Traces {
    temporary: PathBuf,
    seen: BTreeSet<String>,
}

impl Traces {
    /// Those there are now; of files, those in `/dev/shm` and in `temporary`.
    pub fn in_directory(temporary: &Path) -> Self {
        let mut seen = BTreeSet::new();
        seen.extend(["/dev/shm".as_ref(), temporary].into_iter().flat_map(files));
        seen.extend(sockets());
        seen.extend(mappings_and_descriptors());
        Traces { temporary: temporary.into(), seen }
    }

    /// What is there now, and was not then.
    pub fn new_ones(&self) -> Vec<String> {
        Traces::in_directory(&self.temporary).seen.difference(&self.seen).cloned().collect()
    }

    /// What stays, now that the last process is gone.
    ///
    /// # Errors
    /// All of it.
    pub fn nothing_stays(&self) -> Result<(), String> {
        let until = Instant::now() + LINGERING;
        loop {
            let left = self.new_ones();
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() > until {
                return Err(format!("left behind: {}", left.join(", ")));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn files(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let of_mpi = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        OF_MPI.iter().any(|start| name.starts_with(start))
    };
    names.filter(|path| !of_mpi(path)).map(|path| format!("file {}", path.display())).collect()
}

/// Abstract sockets, which have no file.
fn sockets() -> Vec<String> {
    let all = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let names = all.lines().filter_map(|line| line.split_whitespace().last());
    names.filter(|name| name.starts_with("@aurora")).map(|name| format!("socket {name}")).collect()
}

/// Shared memory lives as long as some process has it open or mapped.
fn mappings_and_descriptors() -> Vec<String> {
    const SEGMENT: &str = "/memfd:aurora";
    let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let is_number = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().parse::<u32>().is_ok());
    let processes = processes.filter(is_number);
    let holds = |process: &PathBuf| {
        let mapped = fs::read_to_string(process.join("maps")).is_ok_and(|maps| maps.contains(SEGMENT));
        let mut descriptors = fs::read_dir(process.join("fd")).into_iter().flatten();
        mapped
            || descriptors.any(|entry| {
                let target = entry.and_then(|entry| fs::read_link(entry.path()));
                target.is_ok_and(|target| target.to_string_lossy().starts_with(SEGMENT))
            })
    };
    processes.filter(holds).map(|process| format!("shared memory of process {}", process.display())).collect()
}
