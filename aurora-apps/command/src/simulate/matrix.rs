//! The options from which the bytes and the cost of a block follow: rows, density, bandwidth.

use super::arguments::SimulateArguments;
use super::plan::refused;
use super::table::short;
use crate::refusal::{Reason, Refusal};
use aurora_apps::values::{density, number};
use aurora_super::sim::Link;
use clap::Args;
use serde::Serialize;

#[derive(Args, Debug)]
pub struct MatrixArguments {
    /// Rows of the matrices, which are square: a block has N / `--blocks` rows
    #[arg(long, value_name = "N", requires = "density", conflicts_with = "case", allow_negative_numbers = true)]
    #[arg(value_parser = number::<u32>(1..=1 << 30))]
    pub rows: Option<u32>,
    /// Share of the elements of both matrices that are not zero, for the bytes of a block. Instructions on blocks of
    /// zeros are not left out
    #[arg(long, value_name = "SHARE", requires = "rows", value_parser = more_than_none, allow_negative_numbers = true)]
    pub density: Option<f64>,
    /// Bytes of a block, in place of `--rows` and `--density` [default: 40000 in own mode]
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["rows", "density", "case"], allow_negative_numbers = true)]
    #[arg(value_parser = number::<u32>(1..=1 << 31))]
    pub block_bytes: Option<u32>,
    /// Bandwidth of a link, in Mbit/s. In paper mode the time of a block on the wire is its `--load`, and in own mode
    /// blocks share the links [default: 155 in own mode]
    #[arg(long, value_name = "MBIT", value_parser = bandwidth, conflicts_with = "case", allow_negative_numbers = true)]
    pub bandwidth: Option<f64>,
}

/// The given facts about blocks and links.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Blocks {
    /// Rows of the matrices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u32>,
    /// The share of elements that are not zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub density: Option<f64>,
    /// Bytes of a block of the operands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u32>,
    /// Bytes of a block of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_bytes: Option<u32>,
    /// Mbit/s of a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<f64>,
}

impl Blocks {
    /// Computes the bytes of blocks.
    ///
    /// # Errors
    /// Rows that cannot be cut into equal blocks, or blocks that are too large.
    pub fn of(arguments: &SimulateArguments) -> Result<Blocks, Refusal> {
        let MatrixArguments { rows, density, block_bytes, bandwidth } = arguments.matrix;
        let given = Blocks { rows, density, bytes: block_bytes, result_bytes: block_bytes, bandwidth };
        let (Some(rows), Some(density)) = (rows, density) else { return Ok(given) };
        let blocks = arguments.blocks;
        let refusal = |reason| refused("--rows <N>", &rows, Reason::Simulation(reason));
        if !rows.is_multiple_of(blocks) {
            let (below, above) = (rows / blocks * blocks, rows.div_ceil(blocks) * blocks);
            let near = if below > 0 { format!("{below} or {above}") } else { above.to_string() };
            return Err(refusal(format!("{blocks} x {blocks} equal blocks cannot be cut of it: use {near}")));
        }
        let side = rows / blocks;
        let bytes = |density| {
            u32::try_from(bytes(side, density))
                .map_err(|_| refusal(format!("a block of {side} x {side} has more than 4 GiB: use more `--blocks`")))
        };
        Ok(Blocks { bytes: Some(bytes(density)?), result_bytes: Some(bytes(filled(rows, density))?), ..given })
    }

    /// Returns a sentence about the given facts; none if there are none.
    pub fn about(&self, blocks: u32) -> Option<String> {
        let sides = self.rows.zip(self.density).map(|(rows, density)| {
            let side = rows / blocks;
            format!(
                "matrices of {rows} x {rows}, blocks of {side} x {side} with {} % non-zeros: ",
                short(100.0 * density)
            )
        });
        let bandwidth = self.bandwidth.map(|bandwidth| format!("{bandwidth} Mbit/s"));
        let bytes = self.bytes.map(|bytes| format!("{bytes} bytes"));
        let wire = self.wire().map(|wire| format!("{:.3} ms on ", wire / 1e3));
        let link = bandwidth.map(|bandwidth| format!("{}a link of {bandwidth}", wire.unwrap_or_default()));
        let facts: Vec<String> = bytes.into_iter().chain(link).collect();
        (!facts.is_empty()).then(|| sides.unwrap_or_default() + &facts.join(", "))
    }

    /// Returns the link with the given bandwidth.
    pub fn link(&self) -> Option<Link> {
        self.bandwidth.map(Link::ethernet)
    }

    /// Returns the time of a block on the wire, in units, if bytes and bandwidth are given.
    pub fn wire(&self) -> Option<f64> {
        Some(self.link()?.occupancy(self.bytes?))
    }
}

/// Returns the share of the elements of the result that are not zero. An element is a sum of as many products as there
/// are rows.
fn filled(rows: u32, density: f64) -> f64 {
    -(f64::from(rows) * (-density * density).ln_1p()).exp_m1()
}

/// Returns the bytes of a square block: compressed rows of 8-byte numbers with 4-byte columns, or all numbers, if they
/// take less.
fn bytes(side: u32, density: f64) -> u64 {
    let elements = u64::from(side).pow(2);
    let sparse = 12 * (elements as f64 * density).round() as u64 + 4 * (u64::from(side) + 1);
    sparse.min(8 * elements)
}

fn more_than_none(text: &str) -> Result<f64, &'static str> {
    let share = density(text)?;
    if share > 0.0 { Ok(share) } else { Err("a density of more than 0, as a fraction (0.05) or per cent (5%)") }
}

fn bandwidth(text: &str) -> Result<f64, &'static str> {
    let bandwidth = text.parse().ok().filter(|mbit| (1e-3..=1e9).contains(mbit));
    bandwidth.ok_or("a number of Mbit/s from 0.001 to 1000000000")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_of_very_sparse_matrices_has_few_elements() {
        // An element of the result is not zero with a probability of 2^30 x (5e-9)^2.
        let filled = filled(1 << 30, 5e-9);
        assert!((filled / ((1_u64 << 30) as f64 * 25e-18) - 1.0).abs() < 1e-6, "{filled}");
        assert!((super::filled(4, 0.5) - (1.0 - 0.75_f64.powi(4))).abs() < 1e-15 && super::filled(9, 1.0) == 1.0);
    }

    #[test]
    fn bytes_of_the_papers_blocks() {
        assert_eq!((bytes(256, 0.05), bytes(512, 0.05), bytes(256, 0.125)), (40_352, 159_336, 99_332));
        assert_eq!((bytes(256, 1.0), bytes(1, 1.0)), (524_288, 8));
        let blocks = Blocks { bytes: Some(894_000), bandwidth: Some(155.0), ..Blocks::default() };
        // 100 packets of 8940 bytes with 98 bytes around each.
        assert_eq!(blocks.wire(), Some(903_800.0 * 8.0 / 155.0));
    }
}
