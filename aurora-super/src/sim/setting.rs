//! What is simulated, and what comes of it.

use crate::program::is_speed;
use crate::spelling::number;
use crate::{Instruction, Node, Policy, Product, Program, mix};
use thiserror::Error;

/// Work that every instruction has at most by default, in units (S2 section 4: uniform from 0 to 20000; 1000 units are
/// 1 ms at speed 1).
pub(super) const MOST_WORK: u32 = 20_000;
/// Units that the loading of a block costs its receiver, and as many its sender (S2 section 4).
pub(super) const LOAD: f64 = 250.0;

/// A run of a simulation: the inputs of S2 section 4.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// The program.
    pub program: Product,
    /// Units of work that each node does in a unit of time.
    pub speeds: Vec<f64>,
    /// Who works on what.
    pub policy: Policy,
    /// Who receives a block that one node asks for.
    pub transfers: Transfers,
    /// What instructions cost.
    pub work: Work,
    /// Units that the loading of a block costs its receiver, and as many its sender.
    pub load: f64,
}

/// Who receives a block that one node asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Transfers {
    /// That node.
    Unicast,
    /// All nodes of its grid row, of a block that rows share; all of its grid column, of one that columns share.
    Multicast,
}

/// How fast the nodes of a cluster are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Speeds {
    /// All 1.
    Homogeneous,
    /// 3 for odd numbers, 1 for even ones.
    Mixed,
}

impl Speeds {
    /// Of so many nodes.
    pub fn of(self, nodes: u32) -> Vec<f64> {
        let speed = |node: u32| if self == Speeds::Mixed && node % 2 == 1 { 3.0 } else { 1.0 };
        (0..nodes).map(speed).collect()
    }
}

/// What instructions cost, in units: drawn evenly from 0 to a bound for each instruction, the same for every policy.
///
/// With seed 0 instruction 0 of group 0 costs nothing, because [`mix`](crate::mix) makes 0 of 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Work {
    /// All are below it.
    pub below: u32,
    /// Equal seeds give equal work.
    pub seed: u64,
}

impl Work {
    /// That of an instruction of a program.
    #[inline]
    pub fn of(&self, program: &Product, Instruction { group, k }: Instruction) -> f64 {
        let number = u64::from(group) * u64::from(program.len(group)) + u64::from(k);
        let drawn = mix(mix(self.seed) ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        (drawn >> 11) as f64 / (1_u64 << 53) as f64 * f64::from(self.below)
    }
}

/// A setting that cannot be simulated.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum SettingError {
    /// There is no node.
    #[error("`speeds` is empty: a cluster has at least one node")]
    NoNodes,
    /// More than are numbered.
    #[error("{0} nodes are more than can be simulated: 65536 are the most")]
    TooManyNodes(u64),
    /// A speed that is none.
    #[error("node {node} has speed {}: a speed is a number above 0 and up to 1e290", number(*.speed))]
    Speed {
        /// Whose.
        node: Node,
        /// What was given.
        speed: f64,
    },
    /// A cost that is none.
    #[error("a load of {} units: it is a number of 0 or more", number(*.0))]
    Load(f64),
    /// A time or a cost that is none.
    #[error("{what} takes {} units: it is a number of 0 or more", number(*.units))]
    Cost {
        /// Of what.
        what: &'static str,
        /// What was given.
        units: f64,
    },
    /// A rate at which nothing arrives.
    #[error("a rate of {} bytes a unit: it is a number above 0, and 0.125 is 1 Mbit/s", number(*.0))]
    Rate(f64),
    /// Something of which there has to be one.
    #[error("`{0}` is 0: at least 1 is needed")]
    None(&'static str),
    /// More run than are in flight.
    #[error(
        "{running} instructions run and {in_flight} are in flight: those that run are among them, so set \
         `in_flight` to {running} or more"
    )]
    InFlight {
        /// Instructions that run at the same time.
        running: u32,
        /// Those in flight.
        in_flight: u32,
    },
    /// Less memory than an instruction needs.
    #[error("a budget of {0} blocks: an instruction reads 2, and both have to be there")]
    Budget(u32),
    /// An event of a node that is not there.
    #[error("node {node} of {nodes} is to be {what}: the last one is {last}", last = nodes - 1)]
    NoSuchNode {
        /// What is to happen to it.
        what: &'static str,
        /// Which.
        node: Node,
        /// How many there are.
        nodes: Node,
    },
    /// A change of speed that leaves none.
    #[error(
        "node {node} is slowed down by {}: a factor is a number above 0, and 0.5 is half as fast",
        number(*.factor)
    )]
    Factor {
        /// Whose.
        node: Node,
        /// What was given.
        factor: f64,
    },
    /// The dispatcher's node is lost.
    #[error("node 0 is to be lost: it has the dispatcher, without which no job goes on; lose another node")]
    DispatcherLost,
    /// A node is lost again.
    #[error("node {0} is to be lost twice: name it once in `losses`, with the earlier time")]
    LostTwice(Node),
    /// A case of a paper for which the paper has no latency.
    #[error(
        "case {case} on {nodes} nodes: the paper measured the latency at 2, 4, 6 and 8; give the latency on {nodes}"
    )]
    NoLatency {
        /// Which.
        case: &'static str,
        /// How many nodes were asked for.
        nodes: u32,
    },
}

impl SettingError {
    pub(super) fn check_cost(what: &'static str, units: f64) -> Result<(), SettingError> {
        let is_cost = units.is_finite() && units >= 0.0;
        if is_cost { Ok(()) } else { Err(SettingError::Cost { what, units }) }
    }

    pub(super) fn check_count(what: &'static str, count: u32) -> Result<(), SettingError> {
        if count > 0 { Ok(()) } else { Err(SettingError::None(what)) }
    }

    /// Of a cluster.
    pub(super) fn check_speeds(speeds: &[f64]) -> Result<(), SettingError> {
        let count = speeds.len() as u64;
        if count == 0 {
            return Err(SettingError::NoNodes);
        }
        if count > 1 << 16 {
            return Err(SettingError::TooManyNodes(count));
        }
        match (0..).zip(speeds).find(|(_, speed)| !is_speed(**speed)) {
            Some((node, speed)) => Err(SettingError::Speed { node, speed: *speed }),
            None => Ok(()),
        }
    }
}

impl Setting {
    /// S2's simulation with a policy on a cluster: 32 x 32 blocks, unicast, and its costs.
    pub fn new(policy: Policy, speeds: Vec<f64>, seed: u64) -> Self {
        let program = Product::square(32).expect("it has blocks");
        let work = Work { below: MOST_WORK, seed };
        Setting { program, speeds, policy, transfers: Transfers::Unicast, work, load: LOAD }
    }

    /// Whether it can be simulated.
    ///
    /// # Errors
    /// [`SettingError`], with what to do.
    pub fn check(&self) -> Result<(), SettingError> {
        SettingError::check_speeds(&self.speeds)?;
        let is_cost = self.load.is_finite() && self.load >= 0.0;
        if is_cost { Ok(()) } else { Err(SettingError::Load(self.load)) }
    }
}

/// What a simulation comes to. Shares are of all that the nodes could have computed until the last instruction has run:
/// `sum(speed) * makespan`. Of a run that takes no time nothing is lost: its efficiency is 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Outcome {
    /// When the last instruction has run and all blocks are paid for, in units of time, 1000 a millisecond.
    pub makespan: f64,
    /// The share in which nodes had nothing to do.
    pub imbalance: f64,
    /// The share in which nodes sent and received blocks.
    pub communication: f64,
    /// The share in which they computed. With lost nodes that counts what was computed again: see
    /// [`OwnOutcome`](super::OwnOutcome).
    pub efficiency: f64,
    /// Blocks that nodes have asked others for.
    pub loads: u64,
    /// Instructions that have run.
    pub instructions: u64,
}

/// Imbalance, communication and efficiency, of all work that nodes could have done.
pub(super) fn shares(all: f64, communicated: f64, computed: f64) -> [f64; 3] {
    if all > 0.0 {
        let (communication, efficiency) = (communicated / all, computed / all);
        [1.0 - efficiency - communication, communication, efficiency]
    } else {
        [0.0, 0.0, 1.0]
    }
}
