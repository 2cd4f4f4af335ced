//! Jobs with few descriptors, without files of any length, or without `/proc`. Each job either works or quickly reports
//! the missing resource; no job hangs.

use super::support::job::{Ended, Job, Outcome, check};
use libtest_mimic::Trial;
use rustix::process::geteuid;
use std::time::Duration;

/// Ten times the duration of a failed start.
const LATEST: Duration = Duration::from_secs(10);

/// Limits of descriptors, from hardly enough to start a program to enough for everything.
const ALLOWED: std::ops::RangeInclusive<usize> = 8..=42;

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (launcher, size) in [("processes", 2), ("processes", 3), ("threads", 3)] {
        for body in [&["share"][..], &["exchange", "17", "udp"], &["exchange", "17", "shm"]] {
            let name = format!("few_descriptors_{launcher}_{size}_{}", body.join("_"));
            trials.push(Trial::test(name, move || few(&[], launcher, size, body)));
        }
    }
    if cfg!(feature = "mpi") {
        trials.push(Trial::test("few_descriptors_mpi_2_share", || few(&mpirun(), "mpi", 2, &["share"])));
    }
    for (launcher, size) in [("processes", 3), ("threads", 2)] {
        let name = format!("no_files_{launcher}");
        trials.push(Trial::test(name, move || no_files(launcher, size)));
    }
    if geteuid().is_root() {
        trials.push(Trial::test("no_proc_processes", || no_proc(&[], "processes")));
        if cfg!(feature = "mpi") {
            trials.push(Trial::test("no_proc_mpi", || no_proc(&mpirun(), "mpi")));
        }
    }
    trials
}

fn mpirun() -> Vec<String> {
    let mpirun = std::env::var("MPIRUN").unwrap_or_else(|_| "mpirun".into());
    let version = std::process::Command::new(&mpirun).arg("--version").output();
    let mut words = vec![mpirun, "-n".into(), "2".into()];
    if String::from_utf8_lossy(&version.expect("an mpirun").stdout).contains("Open") {
        words.extend(["--allow-run-as-root".into(), "--oversubscribe".into()]);
    }
    words
}

/// Runs a job in a shell that first executes `first`.
fn run(launcher: &[String], first: &str, size: usize, body: &[&str]) -> Ended {
    let script = format!("{first}; exec \"$0\" \"$@\"");
    let words = launcher.iter().map(String::as_str).chain(["sh", "-c", &script]);
    Job::start(&words.collect::<Vec<_>>(), size, body).end()
}

fn few(before: &[String], launcher: &str, size: usize, body: &[&str]) -> Outcome {
    let (mut worked, mut refused) = (0, 0);
    for allowed in ALLOWED {
        let ended = run(before, &format!("ulimit -n {allowed}"), size, &[&[launcher], body].concat());
        let all = || format!("ulimit -n {allowed}: {ended:?}");
        check(ended.took < LATEST && ended.leftover.is_empty(), all)?;
        let done = ["shared by", "received true"].iter().any(|done| ended.stdout.contains(done));
        if ended.status.success() {
            check(done, all)?;
            worked += 1;
            continue;
        }
        let said = format!("{}{}", ended.stdout, ended.stderr);
        let of_mpi = launcher == "mpi" && said.contains("oo many open files");
        let ours = of_mpi || said.contains(&format!("may have {allowed} open files")) && said.contains("`ulimit -n`");
        check(ours, all)?;
        refused += 1;
    }
    check(worked > 0 && refused > 0, || format!("{worked} worked, {refused} were refused: this has tested nothing"))
}

fn no_files(launcher: &str, size: usize) -> Outcome {
    let ended = run(&[], "ulimit -f 0", size, &[launcher, "share"]);
    let told = "files of this process may have 0 bytes";
    let said = ended.stderr.contains(told) && ended.stderr.contains("`ulimit -f`");
    check(said && ended.status.code() == Some(1), || format!("{ended:?}"))?;
    check(ended.took < LATEST && ended.leftover.is_empty(), || format!("{ended:?}"))
}

fn no_proc(before: &[String], launcher: &str) -> Outcome {
    let before = [&["unshare".into(), "-m".into()][..], before].concat();
    let ended = run(&before, "mount -t tmpfs none /proc", 2, &[launcher, "share"]);
    let said = format!("{}{}", ended.stdout, ended.stderr);
    check(said.contains("is /proc mounted?") && !ended.status.success(), || format!("{ended:?}"))?;
    check(ended.took < LATEST && ended.leftover.is_empty(), || format!("{ended:?}"))
}
