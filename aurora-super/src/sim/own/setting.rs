//! The inputs of own mode.

use super::super::link::Link;
use super::super::profile::Profile;
use super::super::setting::{Cost, LOAD, MOST_WORK, SettingError, Work};
use crate::dispatch::Config;
use crate::execute::Limits;
use crate::{Node, Policy, Product};

/// The inputs of a simulation in own mode. Times are in units: 1000 are 1 ms. Work is in units, too: a core of a node
/// of speed 1 does one unit of work in a unit of time.
#[derive(Clone, PartialEq, Debug)]
pub struct OwnSetting {
    /// The program.
    pub program: Product,
    /// The speed of each node: the units of work that a core of the node does in a unit of time.
    pub speeds: Vec<f64>,
    /// The configuration of the dispatcher: the policy, the instructions of one grant, the seed.
    pub dispatch: Config,
    /// The limits of each node. If more instructions run than a node has cores, some wait for a core: these are the
    /// threads of S0.
    pub limits: Limits,
    /// The number of cores of each node.
    pub cores: u32,
    /// The work of the instructions.
    pub cost: Cost,
    /// The network between the nodes.
    pub link: Link,
    /// The bytes of a block that is read.
    pub bytes: u32,
    /// The bytes of a result, or of the contribution of an instruction to a result on another node.
    pub result_bytes: u32,
    /// The time that the dispatcher takes for each report and each order. It handles one after the other, and takes no
    /// time of node 0's cores.
    pub dispatcher: f64,
    /// True if, in the version `RemoteUpdate`, results stay with their owners by the nodes' [parts](crate::Parts).
    /// Otherwise each result is on the node that runs the first instruction of its group. If the owner is lost, nothing
    /// more is sent to it.
    pub results_stay: bool,
    /// The work of merging an incarnation into another, or the contribution of an instruction on another node into a
    /// result.
    pub merging: f64,
    /// The changes of speed.
    pub slow_downs: Vec<SlowDown>,
    /// The losses of nodes.
    pub losses: Vec<Loss>,
}

/// A change of a node's speed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SlowDown {
    /// The node.
    pub node: Node,
    /// The time of the change.
    pub at: f64,
    /// The new speed, as a multiple of the node's speed in [`OwnSetting::speeds`].
    pub factor: f64,
}

/// The loss of a node.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Loss {
    /// The node; not node 0, which has the dispatcher.
    pub node: Node,
    /// The time of the loss.
    pub at: f64,
    /// The time from the loss until the dispatcher learns of it.
    pub noticed_after: f64,
}

impl OwnSetting {
    /// Creates the setting of S2's program (section 4) on nodes of one core at 155 Mbit/s: 32 x 32 blocks of 40 KB (256
    /// x 256, 5 % non-zero). Grants have 8 instructions, and operands are fetched for 3 instructions ahead. Blocks cost
    /// as much as in the paper; a message costs the dispatcher 5 us.
    pub fn new(policy: Policy, speeds: Vec<f64>, seed: u64) -> Self {
        OwnSetting {
            program: Product::square(32).expect("it has blocks"),
            speeds,
            dispatch: Config { policy, grain: 8, extends: true, guided: false, seed },
            limits: Limits { running: 1, in_flight: 4, budget: None },
            cores: 1,
            cost: Cost::Drawn(Work { below: MOST_WORK, seed }),
            link: Link { sending: LOAD, receiving: LOAD, ..Link::ethernet(155.0) },
            bytes: 40_000,
            result_bytes: 40_000,
            dispatcher: 5.0,
            results_stay: false,
            merging: 0.0,
            slow_downs: Vec::new(),
            losses: Vec::new(),
        }
    }

    /// Checks that the setting can be simulated.
    ///
    /// # Errors
    /// [`SettingError`], with the remedy in its text.
    pub fn check(&self) -> Result<(), SettingError> {
        SettingError::check_speeds(&self.speeds)?;
        SettingError::check_count("cores", self.cores)?;
        SettingError::check_count("running", self.limits.running)?;
        SettingError::check_count("in_flight", self.limits.in_flight)?;
        SettingError::check_count("grain", self.dispatch.grain)?;
        let Limits { running, in_flight, budget } = self.limits;
        if in_flight < running {
            return Err(SettingError::InFlight { running, in_flight });
        }
        if let Some(budget) = budget.filter(|budget| *budget < 2) {
            return Err(SettingError::Budget(budget));
        }
        self.cost.check()?;
        SettingError::check_cost("a message at the dispatcher", self.dispatcher)?;
        SettingError::check_cost("a merge", self.merging)?;
        self.link.check()?;
        self.check_slow_downs()?;
        self.check_losses()
    }

    fn check_slow_downs(&self) -> Result<(), SettingError> {
        for SlowDown { node, at, factor } in &self.slow_downs {
            self.check_node("slowed down", *node)?;
            SettingError::check_cost("the time until a slow-down", *at)?;
            if !(factor.is_finite() && *factor > 0.0) {
                return Err(SettingError::Factor { node: *node, factor: *factor });
            }
        }
        Ok(())
    }

    fn check_losses(&self) -> Result<(), SettingError> {
        for (number, Loss { node, at, noticed_after }) in self.losses.iter().enumerate() {
            self.check_node("lost", *node)?;
            SettingError::check_cost("the time until a loss", *at)?;
            SettingError::check_cost("the time until a loss is noticed", *noticed_after)?;
            if *node == 0 {
                return Err(SettingError::DispatcherLost);
            }
            if self.losses[..number].iter().any(|other| other.node == *node) {
                return Err(SettingError::LostTwice(*node));
            }
        }
        Ok(())
    }

    fn check_node(&self, what: &'static str, node: Node) -> Result<(), SettingError> {
        let nodes = self.speeds.len() as Node;
        if node < nodes { Ok(()) } else { Err(SettingError::NoSuchNode { what, node, nodes }) }
    }

    /// Returns the speed of a node over time.
    pub(super) fn profile(&self, node: Node) -> Profile {
        let speed = self.speeds[node as usize];
        let mut profile = Profile::steady(speed);
        for change in self.slow_downs.iter().filter(|change| change.node == node) {
            profile.change(change.at, speed * change.factor);
        }
        profile
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut OwnSetting)) -> String {
        let mut setting = OwnSetting::new(Policy::S, vec![1.0; 3], 0);
        assert_eq!(setting.check(), Ok(()));
        change(&mut setting);
        setting.check().expect_err("it is bad").to_string()
    }

    #[test]
    fn bad_settings_are_refused_with_what_to_do() {
        let loss = |node| Loss { node, at: 1.0, noticed_after: 0.0 };
        let slow_down = |node, factor| SlowDown { node, at: 0.0, factor };
        for (error, wanted) in [
            (refused(|s| s.speeds.clear()), "`speeds` is empty"),
            (refused(|s| s.speeds[2] = 0.0), "node 2 has speed 0"),
            (refused(|s| s.speeds[1] = f64::NAN), "node 1 has speed NaN"),
            (refused(|s| s.speeds[1] = 1e308), "node 1 has speed 1e308: a speed is a number above 0 and up to 1e290"),
            (refused(|s| s.limits.in_flight = 0), "`in_flight` is 0"),
            (refused(|s| s.limits.running = 0), "`running` is 0"),
            (refused(|s| s.limits.running = 5), "set `in_flight` to 5 or more"),
            (refused(|s| s.limits.budget = Some(1)), "a budget of 1 blocks"),
            (refused(|s| s.cores = 0), "`cores` is 0"),
            (refused(|s| s.dispatch.grain = 0), "`grain` is 0"),
            (refused(|s| s.cost = Cost::Fixed(f64::INFINITY)), "an instruction takes inf units"),
            (refused(|s| s.link.latency = -1.0), "the latency of a block takes -1 units"),
            (refused(|s| s.link.message = f64::NAN), "the latency of a message takes NaN units"),
            (refused(|s| s.link.rate = 0.0), "a rate of 0 bytes"),
            (refused(|s| s.link.rate = f64::NAN), "a rate of NaN bytes"),
            (refused(|s| s.link.packet = 0), "`packet` is 0"),
            (refused(|s| s.dispatcher = -0.5), "a message at the dispatcher takes -0.5 units"),
            (refused(|s| s.merging = -1.0), "a merge takes -1 units"),
            (refused(|s| s.merging = -1e300), "a merge takes -1e300 units"),
            (
                refused(|s| s.slow_downs.push(slow_down(3, 0.5))),
                "node 3 is to be slowed down, but the last node of 3 is node 2",
            ),
            (refused(|s| s.slow_downs.push(slow_down(1, 0.0))), "node 1 is slowed down by 0"),
            (refused(|s| s.losses.push(loss(7))), "node 7 is to be lost, but the last node of 3 is node 2"),
            (refused(|s| s.losses.push(loss(0))), "it has the dispatcher"),
            (refused(|s| s.losses.extend([loss(1), loss(1)])), "node 1 is to be lost twice: name it once in `losses`"),
            (refused(|s| s.losses.push(Loss { at: -1.0, ..loss(1) })), "the time until a loss takes -1 units"),
        ] {
            assert!(error.contains(wanted), "{error}");
        }
    }
}
