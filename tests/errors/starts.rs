//! The start of a job: next to a launcher's variables, from a program that is itself a rank, and with ranks that die
//! early.

use crate::environment::{said, started, started_by};
use aurora_core::prelude::*;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::parent_id;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

#[test]
fn a_launcher_that_says_one_rank_gives_one_unless_ranks_are_asked_for() {
    for launcher in [
        &[("OMPI_COMM_WORLD_SIZE", "1")][..],
        &[("PMI_SIZE", "1")],
        &[("PMIX_SIZE", "1")],
        &[("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "1")],
    ] {
        for (ranks, expected) in [("", "1 ranks"), ("3", "3 ranks")] {
            let variables: Vec<_> = launcher.iter().copied().chain([("AURORA_RANKS", ranks)]).collect();
            let output = started_by("true", &variables);
            assert!(output.status.success() && said(&output).contains(expected), "{variables:?}: {}", said(&output));
        }
    }
}

/// For example a shell in an allocation.
#[test]
fn variables_of_a_launcher_that_has_not_started_this_program_are_named() {
    for (variables, names) in [
        (&[("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "8")][..], "SLURM_PROCID SLURM_STEP_NUM_TASKS"),
        (&[("PMIX_RANK", "0")], "PMIX_RANK"),
        (&[("OMPI_COMM_WORLD_SIZE", "4"), ("AURORA_RANKS", "3")], "OMPI_COMM_WORLD_SIZE"),
        (&[("PMI_RANK", "0"), ("PMI_SIZE", "2")], "PMI_RANK PMI_SIZE"),
    ] {
        let output = started_by("true", variables);
        let text = said(&output);
        assert!(!output.status.success(), "{variables:?}: {text}");
        assert!(text.contains(&format!("run `unset {names}`")), "{variables:?}: {text}");
        let output = started_by(&format!("unset {names}"), &[variables, &[("AURORA_RANKS", "2")]].concat());
        assert!(output.status.success() && said(&output).contains("2 ranks"), "{variables:?}: {}", said(&output));
    }
}

#[test]
#[ignore = "only for the next one to start"]
fn each_rank_starts_programs() {
    let outcome = Config::processes(2).run(|world| {
        let myself = std::env::current_exe()?;
        for shell in [r#"exec "$0" "$@""#, r#""$0" "$@"; true"#, r#""$0" "$@" & wait"#] {
            let mut command = Command::new("sh");
            command.args(["-c", shell]).arg(&myself).env("AURORA_RANKS", "3");
            command.args(["--exact", "environment::as_the_environment_says", "--ignored", "--nocapture"]);
            let text = said(&command.output()?);
            assert!(text.contains("3 ranks"), "rank {}, by {shell}: {text}", world.rank().index());
        }
        let mut direct = Command::new(&myself);
        direct.args(["--exact", "environment::as_the_environment_says", "--ignored", "--nocapture"]);
        let text = said(&direct.env("AURORA_RANKS", "1").output()?);
        assert!(text.contains("1 ranks"), "rank {}: {text}", world.rank().index());
        world.barrier()
    });
    outcome.unwrap_or_else(|error| panic!("refused: {error}"));
}

#[test]
fn programs_that_a_rank_starts_are_jobs_of_their_own() {
    let output = started("true", "starts::each_rank_starts_programs", &[]);
    assert!(output.status.success(), "{}", said(&output));
}

/// The file for the result of rank 1, whose output is not read.
const OUTCOME: &str = "OUTCOME_OF_RANK_1";

#[test]
#[ignore = "only for the next one to start"]
fn rank_1_comes_when_rank_0_has_been_killed() {
    let file = std::env::var(OUTCOME).expect("a file");
    if std::env::var_os("AURORA_JOB").is_some() {
        let parent = parent_id();
        fs::write(&file, "waits").expect("a file");
        let deadline = Instant::now() + Duration::from_secs(60);
        while parent_id() == parent && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let outcome = aurora_core::run(|world| Ok(world.size()));
    fs::write(&file, format!("{outcome:?}")).expect("a file");
}

#[test]
fn a_rank_without_its_rank_0_is_no_job_of_its_own() {
    let file = std::env::temp_dir().join(format!("aurora-orphan-{}", std::process::id()));
    let mut rank_0 = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "starts::rank_1_comes_when_rank_0_has_been_killed", "--ignored", "--nocapture"])
        .envs([(OUTCOME, file.as_os_str()), ("AURORA_RANKS", "2".as_ref())])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let reads = |wanted: fn(&str) -> bool| {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let text = fs::read_to_string(&file).unwrap_or_default();
            if wanted(&text) || Instant::now() > deadline {
                return text;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    assert_eq!(reads(|text| text == "waits"), "waits");
    rank_0.kill().expect("it runs");
    // Until it is waited for, rank 0 is a zombie: it keeps its process number, but runs no more.
    let outcome = reads(|text| !text.is_empty() && text != "waits");
    rank_0.wait().expect("it has ended");
    let _ = fs::remove_file(&file);
    assert!(outcome.contains("AURORA_JOB does not belong to a running job"), "{outcome}");
}

/// System calls that are refused to a job, as by a container's profile: `ERRNO CALL ..`, in numbers. Only internet
/// sockets are refused if the call is `socket`.
const REFUSED: &str = "REFUSED_SYSTEM_CALLS";

#[test]
#[ignore = "only for the next ones to start"]
fn a_job_to_which_the_system_refuses_calls() {
    let words = std::env::var(REFUSED).expect("numbers");
    let numbers: Vec<i64> = words.split(' ').map(|word| word.parse().expect("a number")).collect();
    let internet = || {
        let family = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, libc::AF_INET as u64);
        SeccompRule::new(vec![family.expect("a condition")]).expect("a rule")
    };
    let rules = |call| if call == libc::SYS_socket { vec![internet()] } else { Vec::new() };
    let calls: BTreeMap<i64, Vec<_>> = numbers[1..].iter().map(|call| (*call, rules(*call))).collect();
    let refuses = SeccompAction::Errno(numbers[0] as u32);
    let processor = std::env::consts::ARCH.try_into().expect("a processor that seccomp knows");
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, refuses, processor).expect("a filter");
    // The filter is valid for this thread, and for the threads and processes that it starts.
    let filter: BpfProgram = filter.try_into().expect("a program");
    apply_filter(&filter).expect("the system takes filters");
    if std::env::var_os(ABORTS).is_some() && std::env::var_os("AURORA_JOB").is_some() {
        std::process::abort();
    }
    crate::environment::as_the_environment_says();
}

/// Runs a job to which `calls` are refused. With the error 0 the calls do nothing and report success.
fn without(errno: i32, calls: &[i64], variables: &[(&str, &str)]) -> Output {
    let numbers: Vec<_> = [i64::from(errno)].iter().chain(calls).map(i64::to_string).collect();
    let refused = numbers.join(" ");
    let variables = [variables, &[(REFUSED, &refused), ("AURORA_RANKS", "2")]].concat();
    started("true", "starts::a_job_to_which_the_system_refuses_calls", &variables)
}

#[test]
fn datagrams_that_the_system_refuses_or_drops_are_named_with_the_error_and_the_interface() {
    let refused = "calls in a row have failed, with `Operation not permitted (os error 1)`";
    for (errno, call, words) in [
        (libc::EPERM, libc::SYS_sendmsg, &[" cannot send UDP datagrams to 127.0.0.1:", refused][..]),
        (libc::EPERM, libc::SYS_recvmmsg, &[" cannot receive UDP datagrams by the interface", refused]),
        (
            0,
            libc::SYS_sendmsg,
            &["no UDP datagram has ever come to rank ", " from 127.0.0.1:", "the firewalls of both machines"],
        ),
    ] {
        let output = without(errno, &[call], &[("AURORA_ROUTE", "udp"), ("AURORA_SILENCE", "1")]);
        let text = said(&output);
        assert!(!output.status.success(), "{text}");
        for word in words.iter().chain(&["has been silent for ", "the interface lo (127.0.0.1)"]) {
            assert!(text.contains(word), "`{word}` is not in `{text}`");
        }
    }
}

#[test]
fn a_system_without_calls_that_aurora_can_do_without_runs_the_job() {
    for errno in [libc::EPERM, libc::ENOSYS] {
        for call in [libc::SYS_pidfd_open, libc::SYS_memfd_create, libc::SYS_socket] {
            let output = without(errno, &[call], &[]);
            assert!(output.status.success() && said(&output).contains("2 ranks"), "{call}: {}", said(&output));
        }
    }
}

/// Calls that newer processors do not have.
#[cfg(target_arch = "x86_64")]
const OLD_WAITS: &[i64] = &[libc::SYS_epoll_wait];
#[cfg(target_arch = "x86_64")]
const OLD_STARTS: &[i64] = &[libc::SYS_fork, libc::SYS_vfork];
#[cfg(not(target_arch = "x86_64"))]
const OLD_WAITS: &[i64] = &[];
#[cfg(not(target_arch = "x86_64"))]
const OLD_STARTS: &[i64] = &[];

#[test]
fn a_system_without_calls_that_aurora_needs_is_an_error() {
    for errno in [libc::EPERM, libc::ENOSYS] {
        let error = std::io::Error::from_raw_os_error(errno).to_string();
        let refused = |calls: &[i64], variables: &[(&str, &str)], words: &str| {
            let text = said(&without(errno, calls, variables));
            assert!(text.contains(words) && text.contains(&error), "`{words}` or `{error}` is not in `{text}`");
            assert!(text.contains("refused: ") && !text.contains("unreachable"), "{text}");
        };
        let waiting = [&[libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2], OLD_WAITS].concat();
        refused(&waiting, &[], "cannot make an epoll instance and a timer: ");
        refused(&[libc::SYS_timerfd_settime], &[], "cannot make an epoll instance and a timer: ");
        refused(&[libc::SYS_ppoll], &[], "cannot accept a connection of a rank of this machine: ");
        // Both ranks are refused, and either may report it.
        refused(&[libc::SYS_recvmsg], &[], "; the profile of a container (seccomp) may refuse this call");
        refused(&[libc::SYS_sendmsg], &[], "cannot send a descriptor to a rank of this node: ");
        refused(&[libc::SYS_connect], &[], "cannot connect to rank 0: ");
        let memory = "refuses the call `memfd_create`: allow it, or set AURORA_ROUTE=udp";
        refused(&[libc::SYS_memfd_create], &[("AURORA_ROUTE", "shm")], memory);
        refused(&[libc::SYS_socket], &[("AURORA_ROUTE", "udp")], "cannot make a UDP socket: ");
        // Ranks that cannot share memory either.
        refused(&[libc::SYS_socket, libc::SYS_memfd_create], &[], "cannot make a UDP socket: ");
    }
}

#[test]
fn a_rank_that_dies_without_a_pidfd_is_reported() {
    let begun = Instant::now();
    let output = without(libc::ENOSYS, &[libc::SYS_pidfd_open], &[(ABORTS, "1")]);
    let text = said(&output);
    assert!(text.contains("rank 1 failed: its process was killed by signal 6 (SIGABRT)"), "{text}");
    assert!(begun.elapsed() < Duration::from_secs(50), "{text}");
}

/// The system then discards the exit status of child processes.
#[test]
fn a_program_that_ignores_the_ends_of_its_processes_runs() {
    let ignoring = r#"exec env --ignore-signal=CHLD "$0" "$@""#;
    let begun = Instant::now();
    let output = started_by(ignoring, &[("AURORA_RANKS", "3")]);
    assert!(output.status.success() && said(&output).contains("3 ranks"), "{}", said(&output));
    let no_pidfd = format!("{} {}", libc::EPERM, libc::SYS_pidfd_open);
    let variables = [("AURORA_RANKS", "2"), (ABORTS, "1"), (REFUSED, &no_pidfd)];
    let text = said(&started(ignoring, "starts::a_job_to_which_the_system_refuses_calls", &variables));
    assert!(text.contains("rank 1 failed: its process ended before it had joined the job in `run`"), "{text}");
    assert!(text.contains("this program ignores SIGCHLD"), "{text}");
    assert!(begun.elapsed() < Duration::from_secs(50), "{text}");
}

/// Makes a started rank abort before it joins its job.
const ABORTS: &str = "A_RANK_ABORTS";

/// The dynamic loader of this program: the first mapped file with such a name.
fn loader() -> String {
    let maps = fs::read_to_string("/proc/self/maps").expect("maps");
    let mut files = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    let is_loader = |file: &&str| file.rsplit('/').next().is_some_and(|name| name.starts_with("ld-"));
    files.find(is_loader).expect("a dynamic loader").to_string()
}

#[test]
fn a_program_that_its_loader_has_started_starts_its_ranks_so_too() {
    for options in ["", "--library-path /nowhere", "--argv0 another"] {
        let by_loader = format!(r#"exec {} {options} "$0" "$@""#, loader());
        let output = started_by(&by_loader, &[("AURORA_RANKS", "3")]);
        assert!(output.status.success() && said(&output).contains("3 ranks"), "{options}: {}", said(&output));
    }
}

#[test]
#[ignore = "only for the next one to start"]
fn a_vector_of_512_mib() {
    let outcome = aurora_core::run(|world| GVector::<u8>::new(world, 512 << 20).map(drop));
    outcome.unwrap_or_else(|error| panic!("refused: {error}"));
}

/// Limits in steps of 2 MiB, from one too small to load this program to one with which it runs.
#[test]
fn a_limit_of_the_address_space_is_named_by_each_error() {
    let mut named = 0;
    for mib in (20..80).step_by(2) {
        let output = started_by(&format!("ulimit -v {}", mib << 10), &[("AURORA_RANKS", "2")]);
        let text = said(&output);
        if text.contains("refused: ") {
            assert!(text.contains("(`ulimit -v`)"), "{mib} MiB: {text}");
            named += 1;
        }
    }
    assert!(named > 0, "no limit was too low");
    for route in ["shm", "udp"] {
        let variables = [("AURORA_RANKS", "2"), ("AURORA_ROUTE", route)];
        let output = started("ulimit -v 262144", "starts::a_vector_of_512_mib", &variables);
        let text = said(&output);
        assert!(text.contains("refused: ") && text.contains("(`ulimit -v`)"), "{route}: {text}");
        assert!(text.contains("before the program starts"), "{route}: {text}");
    }
}

#[test]
fn a_system_without_more_processes_names_their_limits() {
    let starting = [&[libc::SYS_clone, libc::SYS_clone3], OLD_STARTS].concat();
    for (route, words) in [("auto", "rank 1: cannot start a process: "), ("local", "cannot start its thread: ")] {
        let text = said(&without(libc::EAGAIN, &starting, &[("AURORA_ROUTE", route)]));
        assert!(text.contains("refused: ") && text.contains(words), "{route}: {text}");
        assert!(text.contains("processes and threads (") && text.contains("start fewer ranks"), "{route}: {text}");
    }
}
