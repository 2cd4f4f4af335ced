//! The emulated cluster of `tests/netlab/netlab`. Each test that needs a lab gets its own.

use crate::mpi::{self, Flavour};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The properties of a lab's links and its switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// The rate of every link in each direction, in the syntax of `tc`.
    pub rate: &'static str,
    /// The capacity of a port of the switch, in KB.
    pub queue_kb: usize,
    /// The size of an IP packet in bytes.
    pub mtu: usize,
    /// The number of packets of a thousand that the switch drops.
    pub lost_of_thousand: usize,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lab-{}-mtu-{}-loss-{}%", self.rate, self.mtu, self.percent())
    }
}

impl Shape {
    /// The percentage of packets that the switch drops.
    pub fn percent(&self) -> f64 {
        self.lost_of_thousand as f64 / 10.0
    }

    /// The rate of a link in bits a second; infinite if the rate is not limited.
    pub fn bits_per_second(&self) -> f64 {
        let units = [("gbit", 1e9), ("mbit", 1e6), ("kbit", 1e3)];
        let of = |(unit, factor): (&str, f64)| Some(self.rate.strip_suffix(unit)?.parse::<f64>().ok()? * factor);
        units.into_iter().find_map(of).unwrap_or(f64::INFINITY)
    }
}

/// The reason why there is no lab.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// This machine cannot have a lab: its kernel, our rights, or missing programs.
    #[error("{0}")]
    Unable(String),
    /// `netlab` was called wrongly, or failed for another reason.
    #[error("netlab {call} failed: {said}")]
    Failed {
        /// The arguments of `netlab`.
        call: String,
        /// Its error output.
        said: String,
    },
}

/// The exit code of `netlab` for a machine that cannot have a lab.
const UNABLE: i32 = 3;

/// The MPI of this binary, if it can start `nodes` nodes of a lab here.
///
/// # Errors
/// The reason why it cannot.
pub fn flavour(nodes: usize) -> Result<Flavour, String> {
    let flavour = mpi::built_for()?;
    flavour.launcher(nodes)?;
    let shape = Shape { rate: "none", queue_kb: 128, mtu: 9000, lost_of_thousand: 0 };
    Lab::up(shape, 2).map_err(|refusal| refusal.to_string())?;
    Ok(flavour)
}

/// A running lab; dropping it ends everything in it.
#[derive(Debug)]
pub struct Lab {
    id: String,
    nodes: usize,
}

impl Lab {
    /// Builds a lab with nodes 1 to `nodes`.
    ///
    /// # Errors
    /// The reason why there is no lab.
    pub fn up(shape: Shape, nodes: usize) -> Result<Lab, Refusal> {
        Lab::up_with(shape, nodes, &[])
    }

    /// Builds a lab with further options of `netlab`.
    ///
    /// # Errors
    /// The reason why there is no lab.
    pub fn up_with(shape: Shape, nodes: usize, options: &[&str]) -> Result<Lab, Refusal> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        sweep()?;
        let id = format!("t{}x{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let (mtu, loss) = (format!("mtu={}", shape.mtu), format!("loss={}", shape.percent()));
        let (count, queue) = (nodes.to_string(), shape.queue_kb.to_string());
        call(&[&["up", &id, &count, shape.rate, &queue, &mtu, &loss][..], options].concat())?;
        Ok(Lab { id, nodes })
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The command that starts `per_node` ranks of a program on each node; its path and arguments follow.
    pub fn mpirun(&self, flavour: Flavour, per_node: usize) -> Command {
        let mut command = Command::new(script());
        let ranks = format!("{}x{per_node}", self.nodes);
        command.args(["mpirun", &self.id, &flavour.to_string(), &ranks]);
        command
    }

    /// Takes the port of the switch that leads to a node (from 1) up or down.
    ///
    /// # Errors
    /// The error of `netlab`.
    pub fn link(&self, node: usize, up: bool) -> Result<(), Refusal> {
        call(&["link", &self.id, &node.to_string(), if up { "up" } else { "down" }]).map(|_| ())
    }

    /// Changes the host name of a node (from 1).
    ///
    /// # Errors
    /// The error of `netlab`.
    pub fn rename(&self, node: usize, name: &str) -> Result<(), Refusal> {
        call(&["exec", &self.id, &node.to_string(), "hostname", name]).map(|_| ())
    }

    /// Changes the loss.
    ///
    /// # Errors
    /// The error of `netlab`.
    pub fn loss(&self, percent: f64) -> Result<(), Refusal> {
        call(&["loss", &self.id, &percent.to_string()]).map(|_| ())
    }

    /// Resets the counters to 0.
    ///
    /// # Errors
    /// The error of `netlab`.
    pub fn reset_counters(&self) -> Result<(), Refusal> {
        call(&["stats", &self.id, "reset"]).map(|_| ())
    }

    /// The counters of ports and hosts since the last reset, by name, such as `n1.port_drops` or `switch.lost`.
    ///
    /// # Errors
    /// The error of `netlab`.
    pub fn counters(&self) -> Result<BTreeMap<String, u64>, Refusal> {
        let text = call(&["stats", &self.id])?;
        let mut counters = BTreeMap::new();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let of = words.next().unwrap_or_default();
            for (name, value) in words.filter_map(|word| word.split_once('=')) {
                counters.insert(format!("{of}.{name}"), value.parse().unwrap_or_default());
            }
        }
        Ok(counters)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = call(&["down", &self.id]);
    }
}

/// Removes the labs of test programs that were killed.
fn sweep() -> Result<(), Refusal> {
    for id in call(&["list"])?.split_whitespace() {
        let owner = id.strip_prefix('t').and_then(|rest| rest.split_once('x')).map(|(pid, _)| pid);
        if owner.is_some_and(|pid| pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists()) {
            call(&["down", id])?;
        }
    }
    Ok(())
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/netlab/netlab")
}

fn call(arguments: &[&str]) -> Result<String, Refusal> {
    let failed = |said: String| Refusal::Failed { call: arguments.join(" "), said };
    let output = Command::new(script()).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_string();
    match output.status.code() {
        Some(0) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Some(UNABLE) => Err(Refusal::Unable(said)),
        _ => Err(failed(said)),
    }
}
