//! The race detector finds nothing in the applications and in the examples. The slow-down is printed.

use crate::support::{aurora, stderr, stdout};
use std::path::Path;
use std::process::Command;

#[test]
#[allow(clippy::print_stdout)]
fn applications() {
    for route in ["auto", "udp"] {
        let output = aurora(&format!("check --ranks 3 --route {route}"));
        assert!(output.status.success(), "{route}: {}{}", stdout(&output), stderr(&output));
        // A head, and a line for each application.
        assert_eq!(stdout(&output).lines().count(), 9);
        println!("{route}:\n{}", stdout(&output));
    }
}

/// Those that are built: `cargo test` builds the examples of the packages that it tests.
#[test]
fn examples() {
    let programs = [("figure1", ""), ("figure2", ""), ("threads", ""), ("csr", ""), ("queue", ""), ("word_count", "")];
    let built = Path::new(env!("CARGO_BIN_EXE_aurora")).with_file_name("examples");
    let there = programs.iter().filter(|(name, _)| built.join(name).exists());
    let mut checked = 0;
    for (name, arguments) in there {
        let mut command = Command::new(built.join(name));
        command.args(arguments.split_whitespace()).env("AURORA_CHECK", "1").env("AURORA_RANKS", "3");
        let output = command.output().expect("it starts");
        assert!(output.status.success(), "{name}: {}", stderr(&output));
        assert!(!stderr(&output).contains("aurora: "), "{name}: {}", stderr(&output));
        checked += 1;
    }
    assert!(checked >= 3, "the examples of aurora-apps are built");
}
