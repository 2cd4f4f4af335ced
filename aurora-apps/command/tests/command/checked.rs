//! The race detector finds nothing in the applications. The slow-down is printed.

use crate::support::{aurora, stderr, stdout};

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
