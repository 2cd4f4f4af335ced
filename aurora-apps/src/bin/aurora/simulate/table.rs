//! Simulations for people: policies in rows, numbers of nodes in columns.

use super::Point;
use crate::table::count;
use std::fmt::{self, Display, Formatter};

/// So many numbers of nodes stand beside each other.
const ACROSS: usize = 10;

/// Points of the same setting.
pub struct Table<'p>(pub &'p [Point]);

/// What is shown, with as many digits after the point.
const MEASURES: [(&str, usize, fn(&Point) -> f64); 5] = [
    ("imbalance", 4, |point| point.figures.imbalance),
    ("communication", 4, |point| point.figures.communication),
    ("efficiency", 4, |point| point.figures.efficiency),
    ("loads", 0, |point| point.figures.loads),
    ("management us", 2, |point| point.figures.management_us),
];

impl Display for Table<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(first) = self.0.first() else { return Ok(()) };
        let Point { blocks, mode, speeds, transfers, reps, seed, load, work, .. } = first;
        let each = count(first.figures.instructions as usize, "instruction");
        writeln!(
            f,
            "product of {blocks} x {blocks} blocks, {each} of 0 to {work} units, {load} units to send or receive a block"
        )?;
        writeln!(
            f,
            "{mode} mode, {speeds}, {transfers}, means of {} from seed {seed} on",
            count(*reps as usize, "repetition")
        )?;
        let mut nodes: Vec<u32> = self.0.iter().map(|point| point.nodes).collect();
        nodes.dedup();
        for nodes in nodes.chunks(ACROSS) {
            for (name, digits, of) in MEASURES {
                writeln!(f)?;
                self.measure(f, nodes, name, &|point| format!("{:.digits$}", of(point)))?;
            }
        }
        writeln!(
            f,
            "\nimbalance, communication, efficiency: shares of what the nodes could have computed; loads: blocks that nodes have"
        )?;
        writeln!(
            f,
            "asked others for; management: the simulator's time for an instruction, more than what a dispatcher needs"
        )
    }
}

impl Table<'_> {
    fn measure(
        &self,
        f: &mut Formatter<'_>,
        nodes: &[u32],
        name: &str,
        cell: &dyn Fn(&Point) -> String,
    ) -> fmt::Result {
        write!(f, "{:20}", format!("{name} by nodes"))?;
        nodes.iter().try_for_each(|nodes| write!(f, "{nodes:>10}"))?;
        writeln!(f)?;
        let mut policies: Vec<&str> = Vec::new();
        for point in self.0 {
            if !policies.contains(&point.policy) {
                policies.push(point.policy);
            }
        }
        for policy in policies {
            write!(f, "  {policy:18}")?;
            for nodes in nodes {
                let point = self.0.iter().find(|point| point.policy == policy && point.nodes == *nodes);
                write!(f, "{:>10}", point.map(cell).unwrap_or_default())?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
