//! A loopback that loses packets: processes in a network of their own, where a firewall drops some of the datagrams.
//!
//! What the protocol does about losses is the business of the simulated network. Here it is what they uncover above it:
//! messages that overtake each other, and blocks that are overwritten while a part of them is still to be sent again.

use std::process::{Command, Stdio};

/// Of a hundred datagrams.
const LOST: usize = 5;

/// The command whose arguments are a program and its arguments.
///
/// # Errors
/// Why this machine cannot do it: the kernel, the rights, or the programs that it takes.
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
