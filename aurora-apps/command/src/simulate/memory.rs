//! Refuses simulations that do not fit into memory, before they begin.

use super::arguments::SimulateArguments;
use super::plan::refused;
use crate::refusal::{Reason, Refusal};

/// Checks that all repetitions that run at the same time fit this machine.
pub fn check(arguments: &SimulateArguments, nodes: u32) -> Result<(), Refusal> {
    let at_once = (rayon::current_num_threads() as u128).min(arguments.reps.into());
    let needed = at_once * bytes(nodes, arguments.blocks);
    match aurora_core::available_memory() {
        Some(available) if needed > available as u128 => {
            let reason = Reason::Nodes { blocks: arguments.blocks, needed, available: available as u64 };
            Err(refused("--nodes <LIST>", &nodes, reason))
        }
        _ => Ok(()),
    }
}

/// Returns the bytes of a repetition: a node has a bit for each block, and the dispatcher some words.
fn bytes(nodes: u32, blocks: u32) -> u128 {
    let blocks = 3 * u128::from(blocks).pow(2);
    u128::from(nodes) * (blocks / 8 + 1000) + 100 * blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_says_what_would() {
        assert!(bytes(4096, 128) < 64 << 20 && bytes(1 << 16, 1024) > 24 << 30);
        let reason = Reason::Nodes { blocks: 1024, needed: bytes(1 << 16, 1024), available: 23 << 30 };
        let text = reason.to_string();
        assert!(text.contains("24 GiB of memory and 23 GiB are available: ask for fewer nodes"), "{text}");
    }
}
