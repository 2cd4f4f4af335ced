//! A process continues after errors of super-programs, and after long instructions.

use super::panic_quietly;
use crate::environment::started;
use aurora_core::prelude::*;
use aurora_super::{Super, SuperProgram};
use std::time::{Duration, Instant};

/// The names of this process's threads of super-programs.
fn workers() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux").flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.map(|name| name.trim().to_string()).filter(|name| name.starts_with("super-")).collect()
}

/// Runs in a process of its own, where no other test has such threads.
#[test]
#[ignore = "only for the next one to start"]
fn two_hundred_jobs_that_fail() {
    let mut seen = 0;
    for job in 0..200 {
        let ran = Config::threads(2).run(|world| {
            let sp = Super::default().workers(2).start(world)?;
            let a = sp.blocks(6, |i| i)?;
            match (job % 4, world.is_root()) {
                (0, _) => sp.each(
                    6,
                    |a: &mut u32| {
                        if *a == 4 {
                            panic_quietly("no four")
                        }
                    },
                    move |i| (a.at(i),),
                ),
                (1, _) => sp.each(6, |_: &mut u32| Err("nothing"), move |i| (a.at(i),)),
                (2, true) => sp.report().map(drop),
                (3, true) => Ok(()),
                _ => sp.value(a.at(3)).map(drop),
            }
        });
        assert!(ran.is_err(), "job {job}");
        seen = seen.max(workers().len());
    }
    let begun = Instant::now();
    while !workers().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(20), "threads are left: {:?}", workers());
        std::thread::sleep(Duration::from_millis(10));
    }
    // The threads of a failed job end soon.
    assert!(seen < 100, "{seen} threads at once");
    let sum = Config::threads(2).run(|world| {
        let sp = SuperProgram::new(world)?;
        let a = sp.blocks(6, |i| i)?;
        sp.fold(&a, |a| *a, |a, b| a + b)
    });
    assert_eq!(sum.expect("it succeeds"), 15);
}

#[test]
fn no_thread_is_left_behind_by_jobs_that_fail() {
    let output = started("true", "super_program::recovery::two_hundred_jobs_that_fail", &[]);
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "only for the next one to start"]
fn an_instruction_that_takes_long() {
    let ran = Config::threads(3).run(|world| {
        let sp = SuperProgram::new(world)?;
        let a = sp.blocks(3, |i| i)?;
        let sleep = |a: &mut u32| {
            if *a == 1 {
                std::thread::sleep(Duration::from_secs(32));
            }
            *a += 1;
        };
        sp.each(3, sleep, move |i| (a.at(i),))?;
        sp.fold(&a, |a| *a, |a, b| a + b)
    });
    assert_eq!(ran.expect("no rank gives up"), 6);
}

/// Each rank reports once that it waits. The rank of the instruction names the instruction.
#[test]
fn ranks_wait_for_an_instruction_that_takes_long() {
    let output = started("true", "super_program::recovery::an_instruction_that_takes_long", &[]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{output:?}");
    let notices: Vec<_> = text.lines().filter(|line| line.contains("still waits after 30 s")).collect();
    assert!((1..=3).contains(&notices.len()), "{text}");
    assert!(notices.iter().all(|line| line.contains("waits for the end of a launch of the SuperProgram")), "{text}");
    let names = |line: &&&str| line.contains("while it runs step 0 of group 1 of the launch of a closure over 3");
    assert_eq!(notices.iter().filter(names).count(), 1, "{text}");
}
