//! Strangers that connect to a job's unix sockets.

use super::GATE;
use super::support::bodies::print_error;
use super::support::job::{Job, Outcome, check};
use libtest_mimic::Trial;
use rustix::fs::Uid;
use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, send, socket_with};
use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};
use rustix::thread::set_thread_uid;
use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A generous limit for quick operations on slow machines.
const TIMEOUT: Duration = Duration::from_secs(20);

const RANKS: usize = 3;

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![
        Trial::test("long_frames_of_strangers_are_not_kept", long_frames),
        Trial::test("a_stranger_that_says_little_is_closed", drip),
        Trial::test("a_stranger_that_says_nothing_is_closed", || closed_in_time(|_| true)),
        Trial::test("a_stranger_that_says_too_much_is_closed_at_once", || {
            closed_in_time(|line| line.write_all(&[0x10; 16]).is_ok())
        }),
        Trial::test("strangers_that_wait_do_not_keep_a_job_from_starting", waiting_strangers),
        Trial::test("strangers_that_fill_all_queues_do_not_keep_a_job_from_starting", full_queues),
        Trial::test("strangers_do_not_use_up_the_descriptors", few_descriptors),
    ];
    if geteuid().is_root() {
        trials.push(Trial::test("another_user_is_closed_at_accept", another_user));
    }
    trials
}

/// A job whose rank 0 listens at all its sockets while the others wait for a file. Dropping it ends the job.
struct Waiting {
    job: Option<Job>,
    pid: u32,
    gate: PathBuf,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(job) = &mut self.job {
            let _ = job.process.kill();
            let _ = job.process.wait();
        }
    }
}

impl Waiting {
    fn start(launcher: &[&str]) -> Waiting {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let gate = std::env::temp_dir().join(format!("aurora-hostile-{}-{number}", std::process::id()));
        let variable = format!("{GATE}={}", gate.display());
        let job = Job::start(&[&["env", &variable], launcher].concat(), RANKS, &["processes", "share"]);
        Waiting { pid: job.process.id(), job: Some(job), gate }
    }

    /// The name of rank 0's only listening socket with this prefix.
    fn socket(&self, prefix: &str) -> Result<String, String> {
        let until = Instant::now() + TIMEOUT;
        while Instant::now() < until {
            let found = listening(self.pid).into_iter().find(|name| {
                name.strip_prefix(prefix).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
            });
            if let Some(name) = found {
                return Ok(name);
            }
            thread::sleep(Duration::from_millis(5));
        }
        Err(format!("rank 0 has no socket {prefix}..."))
    }

    /// Lets the other ranks start, and expects success.
    fn goes_well(mut self) -> Outcome {
        fs::write(&self.gate, "")?;
        let ended = self.job.take().expect("it is still there").end();
        let _ = fs::remove_file(&self.gate);
        check(ended.status.success() && ended.stdout == "shared by 3 of 3\n", || format!("{ended:?}"))?;
        check(ended.leftover.is_empty(), || format!("{ended:?}"))
    }
}

/// The abstract sockets of a process.
fn listening(pid: u32) -> Vec<String> {
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return Vec::new();
    };
    let links = open.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let inodes: Vec<String> = links
        .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.trim_end_matches(']').to_owned()))
        .collect();
    let sockets = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let columns = sockets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    columns
        .filter(|columns| columns.len() == 8 && inodes.iter().any(|inode| inode == columns[6]))
        .filter_map(|columns| Some(columns[7].strip_prefix('@')?.to_owned()))
        .collect()
}

fn stranger(name: &str) -> std::io::Result<UnixStream> {
    UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?)
}

/// A stranger at the socket for node peers; `None` if its queue is full.
fn peer(name: &str) -> Option<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).ok()?;
    connect(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes()).ok()?).ok()?;
    let _ = send(&socket, b"let me in", SendFlags::NOSIGNAL);
    Some(socket)
}

/// Waits until the other side closes the connection.
fn is_closed(line: &mut UnixStream) -> bool {
    line.set_read_timeout(Some(TIMEOUT)).unwrap();
    // Reset if the other side has left something unread.
    match line.read(&mut [0; 64]) {
        Ok(length) => length == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

fn long_frames() -> Outcome {
    let waiting = Waiting::start(&[]);
    let name = waiting.socket("aurora-")?;
    let before = memory(waiting.pid);
    let mut bytes = vec![0x55; 14 << 20];
    bytes[..4].copy_from_slice(&(15_u32 << 20).to_le_bytes());
    let lines: Vec<_> = (0..60).filter_map(|_| stranger(&name).ok()).collect();
    thread::scope(|scope| {
        for mut line in &lines {
            line.set_write_timeout(Some(TIMEOUT)).unwrap();
            let bytes = &bytes;
            // Refused after a part of it.
            scope.spawn(move || line.write_all(bytes));
        }
    });
    let grown = memory(waiting.pid).saturating_sub(before);
    check(grown < 8 << 10, || format!("rank 0 has {grown} KiB more"))?;
    waiting.goes_well()
}

/// The resident memory of a process in KiB.
fn memory(pid: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
}

/// Sends something every 100 ms until the other side closes. False: the other side does not close in time.
fn closed_in_time(mut say: impl FnMut(&mut UnixStream) -> bool) -> Outcome {
    let waiting = Waiting::start(&[]);
    let mut line = stranger(&waiting.socket("aurora-")?)?;
    line.set_read_timeout(Some(Duration::from_millis(100)))?;
    let until = Instant::now() + TIMEOUT;
    loop {
        let said = say(&mut line);
        let heard = line.read(&mut [0; 64]);
        let goes_on = matches!(&heard, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock);
        if !said || !goes_on {
            break;
        }
        check(Instant::now() < until, || "it is still listened to".into())?;
    }
    waiting.goes_well()
}

/// A permitted message, sent so slowly that it takes 25 s.
fn drip() -> Outcome {
    let mut bytes = [250, 0, 0, 0].into_iter().chain(std::iter::repeat(0));
    closed_in_time(|line| line.write_all(&[bytes.next().unwrap()]).is_ok())
}

fn waiting_strangers() -> Outcome {
    let waiting = Waiting::start(&[]);
    let (control, peers) = (waiting.socket("aurora-")?, waiting.socket("aurora-node-")?);
    let held: Vec<_> = (0..200).map(|_| (stranger(&control), peer(&peers))).collect();
    waiting.goes_well()?;
    drop(held);
    Ok(())
}

/// More connections than a socket's queue holds.
fn full_queues() -> Outcome {
    let most = fs::read_to_string("/proc/sys/net/core/somaxconn")?.trim().parse::<usize>()?;
    let own = getrlimit(Resource::Nofile);
    let wanted = most as u64 + 100;
    let raised = Rlimit { current: Some(wanted), maximum: own.maximum.map(|most| most.max(wanted)) };
    if setrlimit(Resource::Nofile, raised).is_err() {
        print_error(&format!("SKIPPED: a test that fills the queue of a socket needs {wanted} descriptors"));
        return Ok(());
    }
    let waiting = Waiting::start(&["sh", "-c", "ulimit -n 1024; exec \"$0\" \"$@\""]);
    let peers = waiting.socket("aurora-node-")?;
    let held: Vec<_> = (0..most + 10).map_while(|_| peer(&peers)).collect();
    check(held.len() > most / 2, || format!("only {} of {most} connections", held.len()))?;
    waiting.goes_well()?;
    drop(held);
    Ok(setrlimit(Resource::Nofile, own)?)
}

fn few_descriptors() -> Outcome {
    let waiting = Waiting::start(&["sh", "-c", "ulimit -n 48; exec \"$0\" \"$@\""]);
    let control = waiting.socket("aurora-")?;
    waiting.socket("aurora-node-")?;
    let held: Vec<_> = (0..100).map(|_| stranger(&control)).collect();
    thread::sleep(Duration::from_millis(200));
    waiting.goes_well()?;
    drop(held);
    Ok(())
}

fn another_user() -> Outcome {
    let waiting = Waiting::start(&[]);
    let control = waiting.socket("aurora-")?;
    let connect = || -> Vec<std::io::Result<UnixStream>> {
        set_thread_uid(Uid::from_raw(65_534)).expect("root may become nobody");
        (0..100).map(|_| stranger(&control)).collect()
    };
    let lines = thread::scope(|scope| scope.spawn(connect).join().unwrap());
    for line in lines {
        check(is_closed(&mut line?), || "another user's connection is kept".into())?;
    }
    waiting.goes_well()
}
