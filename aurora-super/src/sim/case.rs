//! The cases of S0 (Tables 1 to 3), as data.

use super::link::Link;
use super::own::OwnSetting;
use super::setting::{Cost, SettingError, Work};
use crate::dispatch::Config;
use crate::execute::Limits;
use crate::policy::{Policy, Version};
use crate::{Product, Program};
use std::str::FromStr;
use thiserror::Error;

/// A case of S0: nodes of two cores multiply two sparse matrices, of which 12.5 % are not zero, in blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// The paper's name of the case.
    pub name: &'static str,
    /// Blocks: rows of the first matrix, columns of it and rows of the second, columns of the second.
    pub blocks: [u32; 3],
    /// Rows and columns of a block.
    pub side: u32,
    /// The numbers of threads that the paper has tried: the maximum number of instructions that are delivered to a node
    /// and not committed.
    pub threads: &'static [u32],
    /// The versions of the program that the paper has tried.
    pub versions: &'static [&'static str],
}

/// The paper's nodes have two processors.
const CORES: u32 = 2;

/// r * n0 * t_r / t_e at 2, 4, 6 and 8 nodes, which the paper prints (section 4): by the side of a block.
const CRITICAL: [(u32, [f64; 4]); 2] = [(128, [1.41, 5.46, 9.86, 12.97]), (256, [0.57, 1.58, 2.18, 2.60])];

impl Case {
    /// All cases, in the order of the paper.
    pub const ALL: [Case; 5] = [
        Case {
            name: "256r1",
            blocks: [8, 128, 8],
            side: 256,
            threads: &[1, 4, 6, 8],
            versions: &["S", "D", "M", "G", "N"],
        },
        Case { name: "256r2", blocks: [4, 64, 4], side: 256, threads: &[6], versions: &["S", "R", "D"] },
        Case { name: "128r", blocks: [8, 128, 8], side: 128, threads: &[6], versions: &["S", "R", "D"] },
        Case { name: "256s", blocks: [16, 16, 16], side: 256, threads: &[6], versions: &["S", "R", "D"] },
        Case { name: "128s", blocks: [32, 32, 32], side: 128, threads: &[6], versions: &["S", "R", "D"] },
    ];

    /// Returns the program. Its groups are the blocks of the result (eP of the paper), and each group has aP
    /// instructions.
    pub fn program(&self) -> Product {
        let [rows, inner, columns] = self.blocks;
        Product::new(rows, inner, columns).expect("it has blocks")
    }

    /// Returns the net time of an instruction on a core, in units: 1.0 ms or 18.5 ms.
    pub fn instruction(&self) -> f64 {
        if self.side == 128 { 1_000.0 } else { 18_500.0 }
    }

    /// Returns the bytes of a block that is read: compressed rows of 8-byte numbers with 4-byte columns, an eighth of
    /// the block.
    pub fn bytes(&self) -> u32 {
        self.side * self.side / 8 * 12 + (self.side + 1) * 4
    }

    /// Returns the bytes of a block of the result, which is not sparse.
    pub fn result_bytes(&self) -> u32 {
        self.side * self.side * 8
    }

    /// Returns the time from the request for a block to its arrival (t_r), in units. It follows from the paper's
    /// figures for 2, 4, 6 and 8 nodes: on n nodes, (n - 1) / n of an instruction's two operands are on other nodes. 0
    /// for 1 node; `None` for any other number of nodes.
    pub fn latency(&self, nodes: u32) -> Option<f64> {
        if nodes == 1 {
            return Some(0.0);
        }
        let at = [2, 4, 6, 8].iter().position(|printed| *printed == nodes)?;
        let (_, critical) = CRITICAL.iter().find(|(side, _)| *side == self.side)?;
        let elsewhere = 1.0 - 1.0 / f64::from(nodes);
        Some(critical[at] * self.instruction() / (2.0 * elsewhere))
    }

    /// Returns the setting of the case as the paper ran it: a version on `nodes` nodes with `threads` threads each.
    /// Operands are fetched when an instruction has been assigned, and arrive after [`latency`](Self::latency). Apart
    /// from that, only instructions take time.
    ///
    /// # Errors
    /// [`SettingError::NoLatency`] for a number of nodes that the paper does not have: give
    /// [`with_latency`](Self::with_latency) one.
    pub fn setting(&self, version: SuperProgram, nodes: u32, threads: u32) -> Result<OwnSetting, SettingError> {
        let no_latency = SettingError::NoLatency { case: self.name, nodes };
        Ok(self.with_latency(version, nodes, threads, self.latency(nodes).ok_or(no_latency)?))
    }

    /// Returns the setting of the case with another latency, in units.
    pub fn with_latency(&self, version: SuperProgram, nodes: u32, threads: u32, latency: f64) -> OwnSetting {
        OwnSetting {
            program: self.program(),
            dispatch: Config::new(version.policy()),
            limits: Limits { running: threads, in_flight: threads, budget: None },
            cores: CORES,
            cost: Cost::Fixed(self.instruction()),
            link: Link::delay(latency),
            bytes: self.bytes(),
            result_bytes: self.result_bytes(),
            dispatcher: 0.0,
            ..OwnSetting::new(version.policy(), vec![1.0; nodes as usize], 0)
        }
    }

    /// Returns the number of instructions for each block of the result, and the number of all instructions.
    pub fn instructions(&self) -> (u32, u64) {
        let program = self.program();
        (program.len(0), program.instructions())
    }
}

/// Returns a model of the experiment of S2 (section 4, Figures 3 to 6), which the paper ran on real nodes: the product
/// of 32 x 32 blocks by policy R, instructions of 4 ms in the mean (drawn evenly from 0 to 8 ms), 20 ms until a block
/// arrives, nodes of two processors.
pub fn experiment(nodes: u32, threads: u32, seed: u64) -> OwnSetting {
    OwnSetting {
        dispatch: Config { seed, ..Config::new(Policy::R) },
        limits: Limits { running: threads, in_flight: threads, budget: None },
        cores: CORES,
        cost: Cost::Drawn(Work { below: 8_000, seed }),
        link: Link::delay(20_000.0),
        dispatcher: 0.0,
        ..OwnSetting::new(Policy::R, vec![1.0; nodes as usize], seed)
    }
}

/// A name that no case has.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("there is no case `{0}`: use one of 256r1, 256r2, 128r, 256s, 128s")]
pub struct UnknownCase(String);

impl FromStr for Case {
    type Err = UnknownCase;

    fn from_str(name: &str) -> Result<Self, UnknownCase> {
        let known = Case::ALL.into_iter().find(|case| case.name.eq_ignore_ascii_case(name));
        known.ok_or_else(|| UnknownCase(name.into()))
    }
}

/// A version of the simulated super-program of S0, with its schedule (section 3.1).
/// [`SuperProgram`](crate::SuperProgram) in the crate's root is the super-program that runs on ranks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SuperProgram {
    /// The letter that the paper gives it.
    pub name: &'static str,
    /// The state of results.
    pub version: Version,
    /// True for the smart schedule, SSP; false for BSS.
    pub smart: bool,
}

impl SuperProgram {
    /// All versions, in the order of the paper.
    pub const ALL: [SuperProgram; 6] = [
        SuperProgram { name: "S", version: Version::Simple, smart: false },
        SuperProgram { name: "R", version: Version::Remote, smart: false },
        SuperProgram { name: "D", version: Version::Distributed, smart: false },
        SuperProgram { name: "M", version: Version::Mixture, smart: false },
        SuperProgram { name: "G", version: Version::Simple, smart: true },
        SuperProgram { name: "N", version: Version::Mixture, smart: true },
    ];

    /// Returns the policy by which its instructions are handed out.
    pub fn policy(&self) -> Policy {
        Policy::schedule(self.smart, self.version)
    }
}

/// A letter that no version has.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("there is no version `{0}`: use one of S, R, D, M, G, N")]
pub struct UnknownVersion(String);

impl FromStr for SuperProgram {
    type Err = UnknownVersion;

    fn from_str(name: &str) -> Result<Self, UnknownVersion> {
        let known = SuperProgram::ALL.into_iter().find(|version| version.name.eq_ignore_ascii_case(name));
        known.ok_or_else(|| UnknownVersion(name.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_the_paper() {
        let figures = |case: &Case| {
            let ((each, all), (rows, columns)) = (case.instructions(), case.program().grid());
            let seconds = all as f64 * case.instruction() / 1e6;
            format!("{} {} {each} {all} {seconds:.1} {}", case.name, rows * columns, case.bytes() / 1000)
        };
        assert_eq!(
            Case::ALL.each_ref().map(figures),
            [
                "256r1 64 128 8192 151.6 99",
                "256r2 16 64 1024 18.9 99",
                "128r 64 128 8192 8.2 25",
                "256s 256 16 4096 75.8 99",
                "128s 1024 32 32768 32.8 25"
            ]
        );
    }

    #[test]
    fn latencies_follow_from_what_the_paper_prints() {
        let figures = |name: &str| {
            let case: Case = name.parse().unwrap();
            [2, 4, 6, 8].map(|nodes| format!("{:.1}", case.latency(nodes).unwrap() / 1e3))
        };
        assert_eq!(figures("256s"), ["10.5", "19.5", "24.2", "27.5"]);
        assert_eq!(figures("128R"), ["1.4", "3.6", "5.9", "7.4"]);
        assert_eq!(Case::ALL[0].latency(1), Some(0.0));
        let refused = Case::ALL[0].setting(SuperProgram::ALL[0], 5, 6).unwrap_err();
        assert!(refused.to_string().starts_with("case 256r1 on 5 nodes"), "{refused}");
    }

    #[test]
    fn unknown_names_are_refused_with_the_known_ones() {
        assert_eq!(
            "512s".parse::<Case>().unwrap_err().to_string(),
            "there is no case `512s`: use one of 256r1, 256r2, 128r, 256s, 128s"
        );
        assert_eq!(
            "X".parse::<SuperProgram>().unwrap_err().to_string(),
            "there is no version `X`: use one of S, R, D, M, G, N"
        );
        assert_eq!("n".parse::<SuperProgram>().unwrap().policy(), Policy::schedule(true, Version::Mixture));
    }
}
