//! A loopback that loses packets: processes in a network namespace, where a firewall drops some of the datagrams.
//!
//! The simulated network tests the protocol itself. Here the losses test the layers above: messages that overtake each
//! other, and blocks that are overwritten while a part of them must still be sent again.

use std::process::{Command, Stdio};

/// The number of datagrams of a hundred that are lost.
const LOST: usize = 5;

/// The command that runs a program and its arguments, which follow.
///
/// # Errors
/// The reason why this machine cannot do this: the kernel, the rights, or a missing program.
pub fn launcher() -> Result<Command, String> {
    let refusal = |why: String| format!("no network that loses packets: {why}");
    let output = shell("true").stdin(Stdio::null()).output().map_err(|error| refusal(format!("unshare: {error}")))?;
    if output.status.success() {
        return Ok(shell("exec \"$@\""));
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(refusal(text.lines().next().unwrap_or("no reason given").into()))
}

fn shell(then: &str) -> Command {
    let script = format!(
        "ip link set lo up && nft add table inet t && \
         nft 'add chain inet t i {{ type filter hook input priority 0; }}' && \
         nft 'add rule inet t i meta l4proto udp numgen random mod 100 < {LOST} drop' && {then}"
    );
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net", "sh", "-c", &script, "sh"]);
    command
}
