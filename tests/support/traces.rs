//! The traces of a job of Aurora on its machine, which must disappear when the job has ended.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The time for the system to close all files: a process leaves `/proc` a little before its last file is closed.
const LINGERING: Duration = Duration::from_secs(20);

/// Files that belong to an MPI, which has to clear them away itself.
const OF_MPI: [&str; 5] = ["vader_segment.", "ompi.", "openmpi-sessions", "mpich_", "ucx_"];

/// All visible traces of the jobs of one test at a time, each in words. Jobs of other tests may run at the same time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Traces {
    temporary: PathBuf,
    seen: BTreeSet<String>,
}

impl Traces {
    /// The traces that exist now. Its files are those in `/dev/shm` and in `temporary`, the temporary directory of this
    /// test's jobs only.
    pub fn in_directory(temporary: &Path) -> Self {
        let mut seen = BTreeSet::new();
        seen.extend(["/dev/shm".as_ref(), temporary].into_iter().flat_map(files));
        let others: Vec<PathBuf> = processes().filter(|process| !is_ours(process, temporary)).collect();
        let elsewhere: BTreeSet<String> = others.iter().flat_map(|process| targets(process)).collect();
        seen.extend(sockets().filter(|(inode, _)| !elsewhere.contains(inode)).map(|(_, name)| name));
        seen.extend(mappings_and_descriptors().filter(|(process, _)| !others.contains(process)).map(|(_, what)| what));
        Traces { temporary: temporary.into(), seen }
    }

    /// The traces that exist now and did not exist then.
    pub fn new_ones(&self) -> Vec<String> {
        Traces::in_directory(&self.temporary).seen.difference(&self.seen).cloned().collect()
    }

    /// Checks that no trace remains after the end of the last process.
    ///
    /// # Errors
    /// The list of all remaining traces.
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

/// Abstract sockets, which have no file: the link in the descriptors of a process that has it open, and its words.
fn sockets() -> impl Iterator<Item = (String, String)> {
    let all = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let socket = |line: &str| {
        let mut words = line.split_whitespace().rev();
        let (name, inode) = (words.next()?, words.next()?);
        name.starts_with("@aurora").then(|| (format!("socket:[{inode}]"), format!("socket {name}")))
    };
    all.lines().filter_map(socket).collect::<Vec<_>>().into_iter()
}

fn processes() -> impl Iterator<Item = PathBuf> {
    let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    processes.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().parse::<u32>().is_ok()))
}

/// True for this process and for processes that have the directory in their environment.
fn is_ours(process: &Path, temporary: &Path) -> bool {
    let environment = fs::read(process.join("environ")).unwrap_or_default();
    let mark = format!("TMPDIR={}", temporary.display());
    process.ends_with(std::process::id().to_string())
        || environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
}

/// The targets of the descriptors of a process.
fn targets(process: &Path) -> impl Iterator<Item = String> + use<> {
    let open = fs::read_dir(process.join("fd")).into_iter().flatten();
    open.filter_map(|entry| Some(fs::read_link(entry.ok()?.path()).ok()?.to_string_lossy().into_owned()))
}

/// The processes that hold Aurora's shared memory, which lives as long as some process has it open or mapped.
fn mappings_and_descriptors() -> impl Iterator<Item = (PathBuf, String)> {
    const SEGMENT: &str = "/memfd:aurora";
    let holds = |process: &PathBuf| {
        let mapped = fs::read_to_string(process.join("maps")).is_ok_and(|maps| maps.contains(SEGMENT));
        mapped || targets(process).any(|target| target.starts_with(SEGMENT))
    };
    processes().filter(holds).map(|process| {
        let what = format!("shared memory of process {}", process.display());
        (process, what)
    })
}
