//! Kill points: a rank is killed at random moments of a job, many times. Each time all processes of the job end in
//! time, and nothing of Aurora remains: no process, file, socket or shared memory.

use crate::cell::Starter;
use crate::walk::{Moment, Point};
use crate::{MACHINE, start};
use aurora_suite::Random;
use aurora_suite::driver::Job;
use aurora_suite::traces::Traces;
use aurora_suite::{harness, mpi};
use libtest_mimic::{Failed, Trial};
use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// The number of ranks of each job.
const RANKS: usize = 4;

/// The limit from the kill to the end of the last process.
const IN_TIME: Duration = Duration::from_secs(15);

/// The time for mpirun to notice that a process has died, and to end.
const MPIRUN_MAY_TAKE: Duration = Duration::from_secs(5);

/// The variable with the seed of the points. The seed is printed, so that a run can be repeated.
const SEED: &str = "SUITE_SEED";

/// The number of points of each rank while the job starts, works and ends.
type Counts = [(Moment, usize); 3];

/// A job of self-started processes ends within 50 ms; Open MPI alone takes a second to end a job.
const OF_PROCESSES: Counts = [(Moment::Start, 4), (Moment::Work, 16), (Moment::End, 4)];
const OF_MPI: Counts = [(Moment::Start, 1), (Moment::Work, 2), (Moment::End, 1)];

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![Trial::test("processes/what-is-left-behind-is-seen", what_is_left_behind_is_seen)];
    let mut starters = vec![(Starter::Processes, OF_PROCESSES)];
    match mpi::built_for().and_then(|flavour| flavour.launcher(RANKS).map(|_| flavour)) {
        Ok(flavour) => starters.push((Starter::Mpi(flavour), OF_MPI)),
        Err(reason) => trials.push(harness::missing("mpirun/kill-points", reason)),
    }
    for (starter, counts) in starters {
        for rank in 0..RANKS {
            let name = format!("{starter}/kill-points/rank-{rank}");
            trials.push(Trial::test(name, move || all(starter, counts, rank)));
        }
    }
    trials
}

#[allow(clippy::print_stdout)]
fn all(starter: Starter, counts: Counts, rank: usize) -> Result<(), Failed> {
    let _alone = MACHINE.write();
    let seed = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(fresh_seed);
    println!("{starter}, rank {rank}: {SEED}={seed}");
    let mut random = Random::new(seed + rank as u64);
    let mut failures = Vec::new();
    for (moment, count) in counts {
        for _ in 0..count {
            let micros = random.below(longest(moment, starter).as_micros() as usize);
            let point = Point { rank, moment, after: Duration::from_micros(micros as u64) };
            if let Err(problem) = kill(starter, point) {
                failures.push(format!("{point:?}: {problem}"));
            }
        }
    }
    match failures.is_empty() {
        true => Ok(()),
        false => Err(format!("{SEED}={seed}: {}", failures.join("\n")).into()),
    }
}

/// The time after which the moment's phase is over, or its points bring nothing new.
fn longest(moment: Moment, starter: Starter) -> Duration {
    match (moment, starter) {
        (Moment::Start, Starter::Mpi(_)) => Duration::from_millis(400),
        (Moment::Start, _) => Duration::from_millis(30),
        (Moment::Work, _) => Duration::from_millis(40),
        (Moment::End, _) => Duration::from_millis(3),
    }
}

fn fresh_seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos().into()
}

fn kill(starter: Starter, point: Point) -> Result<(), String> {
    // Only for the temporary files of the job.
    let temporary = TempDir::with_prefix("aurora-points-").map_err(|error| error.to_string())?;
    let before = Traces::in_directory(temporary.path());
    let mut command = start::launcher(starter, RANKS)?;
    command.args(point.arguments(starter == Starter::Processes, RANKS));
    // A job that ends only because a rank is silent ends too late.
    command.env("AURORA_ROUTE", "shm").env("AURORA_SILENCE", "30").env("TMPDIR", temporary.path());
    // Files that a killed Open MPI leaves disappear with the directory.
    command.env("OMPI_MCA_btl_vader_backing_directory", temporary.path());
    let mut job = Job::start(command)?;
    if point.moment == Moment::Start && starter != Starter::Processes {
        // Open MPI's own launcher may hang if a process dies while MPI starts. Aurora's processes must be gone all the
        // same, and this is checked.
        job.wait_for_the_struck()?;
        if !job.is_over_within(MPIRUN_MAY_TAKE) {
            drop(job);
            return before.nothing_stays();
        }
    }
    let ended = job.wait()?;
    before.nothing_stays().map_err(|left| format!("{left}; {}", ended.all()))?;
    if ended.took > IN_TIME {
        return Err(format!("it took too long to end: {}", ended.all()));
    }
    let messages = ended.messages();
    if messages.len() > 1 {
        return Err(format!("more than one message: {}", ended.all()));
    }
    // A rank that ends by itself may be gone before the kill, or have no more work in its job.
    match point.moment {
        Moment::End => Ok(()),
        _ if ended.code() != 0 && ended.was_struck() => Ok(()),
        _ => Err(format!("nobody was killed, or it ended well all the same: {}", ended.all())),
    }
}

/// A test of the tests.
fn what_is_left_behind_is_seen() -> Result<(), Failed> {
    let _alone = MACHINE.write();
    let temporary = TempDir::with_prefix("aurora-points-")?;
    let before = Traces::in_directory(temporary.path());
    // A job of another program that starts or ends at this moment may be seen too.
    let left = |what: &str| {
        let until = Instant::now() + IN_TIME;
        loop {
            match &before.new_ones()[..] {
                [one] if one.contains(what) => return Ok(()),
                other if Instant::now() > until => {
                    return Err(Failed::from(format!("{what} is not what is seen: {other:?}")));
                }
                _ => thread::sleep(Duration::from_millis(5)),
            }
        }
    };
    assert_eq!(before.nothing_stays(), Ok(()));
    for directory in [Path::new("/dev/shm"), temporary.path()] {
        let file = directory.join(format!("aurora-left-{}", std::process::id()));
        fs::write(&file, "")?;
        let seen = left("aurora-left");
        fs::remove_file(&file)?;
        seen?;
    }
    let name = format!("aurora-left-{}", std::process::id());
    let socket = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    left(&format!("@{name}"))?;
    drop(socket);
    let segment = rustix::fs::memfd_create("aurora", rustix::fs::MemfdFlags::CLOEXEC)?;
    left(&std::process::id().to_string())?;
    drop(segment);
    assert_eq!(before.nothing_stays(), Ok(()));
    Ok(())
}
