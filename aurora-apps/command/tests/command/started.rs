//! `aurora run`: programs on ranks.

use crate::support::{stderr, stdout};
use std::process::{Command, Output};

fn run(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aurora"));
    command.arg("run").args(words).env_remove("AURORA_RANKS").output().expect("the command starts")
}

#[test]
fn a_program_starts_on_ranks() {
    let program = [env!("CARGO_BIN_EXE_aurora"), "info"];
    let launchers: &[(&str, &str)] =
        if cfg!(feature = "mpi") { &[("own", "self-started"), ("mpirun", "mpi")] } else { &[("own", "self-started")] };
    for (launcher, shown) in launchers {
        let output = run(&[&["-n", "3", "--launcher", launcher, "--route", "udp"], &program[..]].concat());
        assert!(output.status.success(), "{launcher}: {}", stderr(&output));
        let text = stdout(&output);
        let property = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{text}"));
            line.trim().to_lowercase()
        };
        assert_eq!((property("ranks").as_str(), property("route").as_str()), ("3", "udp"), "{launcher}");
        assert!(property("launcher").contains(shown) || *launcher == "own", "{text}");
    }
}

#[test]
fn the_program_gets_its_arguments_and_its_exit_code_is_passed_on() {
    let output = run(&["-n", "2", "sh", "-c", "echo $AURORA_RANKS $0 $1; exit 7", "-n", "--help"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(7), "2 -n --help\n"), "{}", stderr(&output));
}

#[test]
fn a_program_that_cannot_be_started_says_why() {
    for (program, code, words) in [
        ("./no-such-program", 127, "./no-such-program cannot be started: No such file"),
        ("Cargo.toml", 127, "the one in this folder is ./Cargo.toml"),
        ("./Cargo.toml", 126, "./Cargo.toml cannot be started: Permission denied"),
    ] {
        let output = run(&[program]);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
    assert_eq!(run(&[]).status.code(), Some(2));
}

#[test]
fn a_launcher_is_not_asked_for_what_it_cannot() {
    for (arguments, words) in [
        (&["--hostfile", "hosts", "true"][..], "'hosts' for '--hostfile <FILE>': it is for mpirun"),
        (&["--launcher", "srun", "--hostfile", "hosts", "true"], "'hosts' for '--hostfile <FILE>': it is for mpirun"),
        (&["--launcher", "mpirun", "true", ":", "true"], "':' for '<PROGRAM>': mpirun takes it for the beginning"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
}
