//! The emulated cluster of `tests/netlab/netlab`, one per test that asks.

use crate::mpi::{self, Flavour};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a lab's links and switch are like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Of every link, both ways, as `tc` says it.
    pub rate: &'static str,
    /// What a port of the switch holds, in KB.
    pub queue_kb: usize,
    /// Bytes of an IP packet.
    pub mtu: usize,
    /// Packets that the switch drops, of a thousand.
    pub lost_of_thousand: usize,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lab-{}-mtu-{}-loss-{}%", self.rate, self.mtu, self.percent())
    }
}

impl Shape {
    /// What the switch drops, in percent.
    pub fn percent(&self) -> f64 {
        self.lost_of_thousand as f64 / 10.0
    }

    /// What a link carries, in bits a second; infinitely much where nothing limits it.
    pub fn bits_per_second(&self) -> f64 {
        let units = [("gbit", 1e9), ("mbit", 1e6), ("kbit", 1e3)];
        let of = |(unit, factor): (&str, f64)| Some(self.rate.strip_suffix(unit)?.parse::<f64>().ok()? * factor);
        units.into_iter().find_map(of).unwrap_or(f64::INFINITY)
    }
}

/// Why there is no lab.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// This machine cannot have one: its kernel, our rights, or missing programs.
    #[error("{0}")]
    Unable(String),
    /// It was asked wrongly, or fails where it should not.
    #[error("netlab {call} failed: {said}")]
    Failed {
        /// Its arguments.
        call: String,
        /// Its words.
        said: String,
    },
}

/// The exit code of `netlab` for a machine that cannot have a lab.
const UNABLE: i32 = 3;

/// The MPI that this binary can start on a lab of so many nodes here.
///
/// # Errors
/// Why there is none.
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
    /// Builds one with nodes 1 to `nodes`.
    ///
    /// # Errors
    /// Why there is none.
    pub fn up(shape: Shape, nodes: usize) -> Result<Lab, Refusal> {
        Lab::up_with(shape, nodes, &[])
    }

    /// The same with more of `netlab`'s options.
    ///
    /// # Errors
    /// Why there is none.
    pub fn up_with(shape: Shape, nodes: usize, options: &[&str]) -> Result<Lab, Refusal> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        sweep()?;
        let id = format!("t{}x{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let (mtu, loss) = (format!("mtu={}", shape.mtu), format!("loss={}", shape.percent()));
        let (count, queue) = (nodes.to_string(), shape.queue_kb.to_string());
        call(&[&["up", &id, &count, shape.rate, &queue, &mtu, &loss][..], options].concat())?;
        Ok(Lab { id, nodes })
    }

    /// How many nodes it has.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The command that starts so many ranks per node of a program, whose path and arguments follow.
    pub fn mpirun(&self, flavour: Flavour, per_node: usize) -> Command {
        let mut command = Command::new(script());
        let ranks = format!("{}x{per_node}", self.nodes);
        command.args(["mpirun", &self.id, &flavour.to_string(), &ranks]);
        command
    }

    /// Takes the port of the switch that leads to a node (from 1) up or down.
    ///
    /// # Errors
    /// What `netlab` says.
    pub fn link(&self, node: usize, up: bool) -> Result<(), Refusal> {
        call(&["link", &self.id, &node.to_string(), if up { "up" } else { "down" }]).map(|_| ())
    }

    /// Another host name for a node (from 1).
    ///
    /// # Errors
    /// What `netlab` says.
    pub fn rename(&self, node: usize, name: &str) -> Result<(), Refusal> {
        call(&["exec", &self.id, &node.to_string(), "hostname", name]).map(|_| ())
    }

    /// Another loss from now on.
    ///
    /// # Errors
    /// What `netlab` says.
    pub fn loss(&self, percent: f64) -> Result<(), Refusal> {
        call(&["loss", &self.id, &percent.to_string()]).map(|_| ())
    }

    /// Lets the counters begin at 0.
    ///
    /// # Errors
    /// What `netlab` says.
    pub fn reset_counters(&self) -> Result<(), Refusal> {
        call(&["stats", &self.id, "reset"]).map(|_| ())
    }

    /// What ports and hosts have counted since the last reset, by name, such as `n1.port_drops` or `switch.lost`.
    ///
    /// # Errors
    /// What `netlab` says.
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

/// Removes what test programs have left that were killed.
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
