//! The environment variables of a program: this test program is started again with them.

use aurora_core::prelude::*;
use std::process::{Command, Output};

/// Runs this test program again, with the test that starts a job from the environment.
fn started_with(variables: &[(&str, &str)]) -> Output {
    started_by("true", variables)
}

/// Runs this test program again from a shell that first runs `first`.
pub(crate) fn started_by(first: &str, variables: &[(&str, &str)]) -> Output {
    started(first, "environment::as_the_environment_says", variables)
}

/// Runs one test of this program in another process.
pub(crate) fn started(first: &str, test: &str, variables: &[(&str, &str)]) -> Output {
    let myself = std::env::current_exe().expect("this program");
    // `timeout` kills a program that hangs. Its output then lacks the expected text.
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "60", "sh", "-c", &format!("{first} && exec \"$0\" \"$@\"")]).arg(myself);
    command.args(["--exact", test, "--ignored", "--nocapture"]);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if ["AURORA_", "OMPI_", "PMI", "SLURM_"].iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    // A backtrace needs memory that a limit may not leave: then the program hangs until it is killed.
    command.env("RUST_BACKTRACE", "0");
    command.envs(variables.iter().copied()).output().expect("starts")
}

/// The output of a program that was started.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[track_caller]
fn refused(variables: &[(&str, &str)], words: &[&str]) {
    let output = started_with(variables);
    let text = said(&output);
    assert!(!output.status.success(), "{variables:?} is accepted: {text}");
    for word in words {
        assert!(text.contains(word), "{variables:?} gives `{text}`, without `{word}`");
    }
}

#[test]
#[allow(clippy::print_stdout)]
#[ignore = "only for the others of this file to start"]
#[expect(clippy::print_stdout, reason = "its output is what the others read")]
pub(crate) fn as_the_environment_says() {
    let ranks = aurora_core::run(|world| {
        let size = world.size();
        let mut v = GVector::<u64>::new(world, size)?;
        // An access that can be denied, and a race that can be found.
        v.at((world.rank().index() + 1) % size)?;
        world.barrier()?;
        let mut scope = v.release_c()?;
        scope.put(0, 1)?;
        let outcome = scope.finish();
        world.barrier()?;
        outcome?;
        v.read_cache()?.finish()?;
        Ok(size)
    });
    println!("{}", ranks.map_or_else(|error| panic!("refused: {error}"), |ranks| format!("{ranks} ranks")));
}

#[test]
#[ignore = "only for the next one to start"]
fn some_ranks_are_checked() {
    let is_started = std::env::var_os("AURORA_JOB").is_some();
    let made = Config::processes(2).check(is_started).run(|world| GVector::<u64>::new(world, 2).map(drop));
    made.unwrap_or_else(|error| panic!("refused: {error}"));
}

#[test]
fn checking_mode_on_some_ranks() {
    let output = started("true", "environment::some_ranks_are_checked", &[]);
    let text = said(&output);
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("refused: ranks disagree: rank 0 is in the construction of a GVector<u64>"), "{text}");
    assert!(text.contains("elements, with AURORA_CHECK=1, at "), "{text}");
}

#[test]
fn a_variable_that_does_not_exist() {
    refused(
        &[("AURORA_RANK", "3")],
        &["unknown environment variable AURORA_RANK (did you mean AURORA_RANKS?)", "AURORA_TIMEOUT"],
    );
    refused(&[("AURORA_TIMEOUTS", "3")], &["did you mean AURORA_TIMEOUT?"]);
    // No known variable is meant by this name.
    refused(
        &[("AURORA_LOGLEVEL", "3")],
        &["unknown environment variable AURORA_LOGLEVEL; the known ones: AURORA_RANKS"],
    );
}

#[test]
fn a_value_that_cannot_be() {
    refused(&[("AURORA_RANKS", "0")], &["AURORA_RANKS=0 is not valid: expected a number from 1"]);
    refused(
        &[("AURORA_RANKS", "99999999999")],
        &["AURORA_RANKS=99999999999 is not valid: expected a number from 1 to 1024"],
    );
    refused(&[("AURORA_RANKS", "many")], &["AURORA_RANKS=many is not valid"]);
    refused(
        &[("AURORA_ROUTE", "pigeon")],
        &["AURORA_ROUTE=pigeon is not valid: expected one of auto, local, shm, udp"],
    );
    refused(&[("AURORA_TIMEOUT", "0")], &["AURORA_TIMEOUT=0 is not valid: expected a number of seconds above 0"]);
    refused(&[("AURORA_SILENCE", "a while")], &["AURORA_SILENCE=a while is not valid"]);
    refused(
        &[("AURORA_MTU", "576")],
        &["AURORA_MTU=576 is not valid: expected a number of bytes of an IP packet, from 1228 to 65535"],
    );
    refused(&[("AURORA_CHECK", "yes")], &["AURORA_CHECK=yes is not valid: expected one of 0, 1, strict"]);
    refused(&[("AURORA_SCALAR", "forbid")], &["AURORA_SCALAR=forbid is not valid: expected one of allow, deny"]);
    refused(&[("AURORA_CACHE_LIMIT", "half")], &["AURORA_CACHE_LIMIT=half is not valid: expected a number of bytes"]);
    refused(&[("AURORA_JOB", "yours")], &["AURORA_JOB does not belong to a running job"]);
}

#[test]
fn the_known_ones_are_taken() {
    for variables in [&[("AURORA_RANKS", "3")][..], &[("AURORA_RANKS", "3"), ("AURORA_ROUTE", "local")]] {
        let output = started_with(variables);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("3 ranks"), "{output:?}");
    }
}

#[test]
fn the_modes_are_those_that_it_says() {
    for route in ["local", "auto", "udp"] {
        let with = |mode| [("AURORA_RANKS", "3"), ("AURORA_ROUTE", route), mode];
        refused(
            &with(("AURORA_SCALAR", "deny")),
            &["`at` of element", "AURORA_SCALAR=deny forbids", "environment.rs:"],
        );
        for check in ["1", "strict"] {
            refused(&with(("AURORA_CHECK", check)), &["a race on element 0 of", "environment.rs:"]);
        }
        for off in [("AURORA_SCALAR", "allow"), ("AURORA_CHECK", "0")] {
            assert!(started_with(&with(off)).status.success(), "{off:?}");
        }
    }
}

/// Rank 0 holds a slice, whose reads Aurora does not see, and rank 1 writes one of its elements.
#[test]
#[ignore = "only for the next one to start"]
fn a_slice_beside_a_write() {
    let outcome = aurora_core::run(|world| {
        let mut v = GVector::<u64>::new(world, 12)?;
        let outcome = match world.rank().index() {
            0 => v.owner_computes().map(|own| assert_eq!(own.local().len(), 6)),
            _ => v.put(2, 1),
        };
        // After the barrier all ranks know the race.
        world.barrier()?;
        outcome?;
        v.at(0).map(drop)
    });
    outcome.unwrap_or_else(|error| panic!("refused: {error}"));
}

#[test]
fn a_possible_race_is_a_notice_or_an_error() {
    let run = |check| {
        let variables = [("AURORA_RANKS", "2"), ("AURORA_CHECK", check)];
        let output = started("true", "environment::a_slice_beside_a_write", &variables);
        (output.status.success(), said(&output))
    };
    let words = "a possible race (none if the program does not use this one of the elements or entries that it holds) \
                 on element 2 of";
    let cases = [("0", true, None), ("1", true, Some("aurora: ")), ("strict", false, Some("refused: "))];
    for (check, fine, says) in cases {
        let (is_fine, text) = run(check);
        assert_eq!(is_fine, fine, "{check}: {text}");
        match says {
            Some(says) => assert!(text.contains(&format!("{says}{words}")), "{check}: {text}"),
            None => assert!(!text.contains("possible race"), "{check}: {text}"),
        }
    }
}
