//! Simulations for people: policies in rows, numbers of nodes in columns.

use super::Point;
use super::figures::OwnFigures;
use crate::table::count;
use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

/// The maximum number of columns, one for each number of nodes.
const ACROSS: usize = 10;

/// Points of the same setting.
pub struct Table<'p>(pub &'p [Point]);

/// A displayed figure: its name, its digits after the point, and its value if the mode has it.
type Measure = (&'static str, usize, fn(&Point) -> Option<f64>);

const MEASURES: [Measure; 10] = [
    ("imbalance", 4, |point| Some(point.figures.imbalance)),
    ("communication", 4, |point| Some(point.figures.communication)),
    ("efficiency", 4, |point| Some(point.figures.efficiency)),
    ("loads", 0, |point| Some(point.figures.loads)),
    ("seconds", 3, |point| point.figures.own.as_ref().map(|_| point.figures.makespan / 1e6)),
    ("parallelism", 3, |point| own(point, |own| own.parallelism)),
    ("miss ratio", 4, |point| own(point, |own| own.miss_ratio)),
    ("p_c", 3, |point| own(point, |own| own.p_c)),
    ("sync ms", 3, |point| own(point, |own| own.synchronisation / 1e3)),
    ("management us", 2, |point| Some(point.figures.management_us)),
];

fn own(point: &Point, of: fn(&OwnFigures) -> f64) -> Option<f64> {
    point.figures.own.as_ref().map(of)
}

impl Display for Table<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(first) = self.0.first() else { return Ok(()) };
        self.head(f, first)?;
        let mut nodes: Vec<u32> = self.0.iter().map(|point| point.nodes).collect();
        nodes.dedup();
        for nodes in nodes.chunks(ACROSS) {
            for (name, digits, of) in MEASURES {
                if of(first).is_some() {
                    writeln!(f)?;
                    let cell = |point: &Point| of(point).map(|value| format!("{value:.digits$}")).unwrap_or_default();
                    self.measure(f, nodes, name, &cell)?;
                }
            }
        }
        writeln!(
            f,
            "\nimbalance, communication, efficiency: shares of what the nodes could have computed; loads: blocks that nodes have"
        )?;
        if first.own.is_some() {
            writeln!(
                f,
                "asked others for; seconds: until all is complete; parallelism: instructions delivered and not \
                 committed, on a node;"
            )?;
            writeln!(
                f,
                "miss ratio: blocks asked for / operands read; p_c: parallelism needed to hide the latency; \
                 sync ms: from the last"
            )?;
            return writeln!(
                f,
                "commit of a result in several parts until it is one; management: the simulator's time for an \
                 instruction, more than\nwhat a dispatcher needs"
            );
        }
        writeln!(
            f,
            "asked others for; management: the simulator's time for an instruction, more than what a dispatcher needs"
        )
    }
}

impl Table<'_> {
    fn head(&self, f: &mut Formatter<'_>, first: &Point) -> fmt::Result {
        let Point { mode, speeds, transfers, reps, seed, .. } = first;
        let each = count(first.figures.instructions as usize, "instruction");
        match (first.product, first.own) {
            (Some(of), _) => {
                write!(f, "product of {0} x {0} blocks, {each} of 0 to {1} units, ", of.blocks, of.work)?;
                writeln!(f, "{} units to send or receive a block", of.load)?;
            }
            (None, own) => writeln!(f, "case {}, {each}", own.map_or("", |own| own.case))?,
        }
        let means = count(*reps as usize, "repetition");
        writeln!(f, "{mode} mode, {speeds}, {transfers}, means of {means} from seed {seed} on")
    }

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
        let mut rows: Vec<(&str, Option<u32>)> = Vec::new();
        for point in self.0.iter().map(row) {
            if !rows.contains(&point) {
                rows.push(point);
            }
        }
        let limits: BTreeSet<Option<u32>> = rows.iter().map(|(_, limit)| *limit).collect();
        for (policy, limit) in rows {
            let shown = limit.filter(|_| limits.len() > 1).map(|limit| format!(", {limit} in flight"));
            write!(f, "  {:18}", format!("{policy}{}", shown.unwrap_or_default()))?;
            for nodes in nodes {
                let point = self.0.iter().find(|point| row(point) == (policy, limit) && point.nodes == *nodes);
                write!(f, "{:>10}", point.map(cell).unwrap_or_default())?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

fn row(point: &Point) -> (&'static str, Option<u32>) {
    (point.policy, point.own.map(|own| own.in_flight))
}
