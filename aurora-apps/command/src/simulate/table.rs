//! Simulations for people: policies in rows, numbers of nodes in columns.

use super::Point;
use super::figures::Statistics;
use super::legend::policy;
use super::statements::Statements;
use crate::table::count;
use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

/// The maximum number of columns, one for each number of nodes.
const ACROSS: usize = 10;

/// The results of one command.
pub struct Table<'p> {
    /// All points, by cluster.
    pub points: &'p [Point],
    /// Whether standard deviations, minima and maxima are shown.
    pub spread: bool,
}

/// A displayed quantity.
struct Measure {
    title: &'static str,
    /// The name in the figures.
    name: &'static str,
    /// The minimum number of digits after the point.
    digits: usize,
    /// The number of its units in one unit of the table.
    units: f64,
    meaning: &'static str,
}

const fn measure(title: &'static str, name: &'static str, digits: usize, units: f64, meaning: &'static str) -> Measure {
    Measure { title, name, digits, units, meaning }
}

const MEASURES: [Measure; 13] = [
    measure(
        "imbalance",
        "imbalance",
        4,
        1.0,
        "share of what the nodes could have computed until the end, in which they do nothing",
    ),
    measure(
        "waiting",
        "waiting",
        4,
        1.0,
        "the part of the imbalance in which a node has an instruction, but not yet its operands",
    ),
    measure("communication", "communication", 4, 1.0, "share in which nodes send and receive blocks"),
    measure("efficiency", "efficiency", 4, 1.0, "share in which nodes compute"),
    measure("speed-up", "speedup", 2, 1.0, "time of all instructions on one node of speed 1 / seconds"),
    measure("seconds", "makespan", 3, 1e6, "the makespan: until all is complete"),
    measure("loads", "loads", 0, 1.0, "blocks that nodes have asked others for"),
    measure("parallelism", "parallelism", 3, 1.0, "instructions delivered and not committed, on a node"),
    measure("miss ratio", "miss_ratio", 4, 1.0, "blocks asked for / operands read"),
    measure("p_c", "p_c", 3, 1.0, "parallelism from which on the latency of blocks is hidden"),
    measure("sync ms", "synchronisation", 3, 1e3, "from the last commit of a result in several parts until it is one"),
    measure("dispatcher", "dispatcher_busy", 4, 1.0, "share of the time in which the dispatcher handles messages"),
    measure(
        "management us",
        "management_us",
        2,
        1.0,
        "the simulator's time for an instruction, more than a dispatcher needs",
    ),
];

/// A name, and the statistic that its row shows.
type Row = (&'static str, fn(Statistics) -> f64);

/// The rows of a policy, and the statistic that each shows.
const STATISTICS: [Row; 4] =
    [("", |of| of.mean), ("  deviation", |of| of.deviation), ("  min", |of| of.min), ("  max", |of| of.max)];

impl Display for Table<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (number, cluster) in self.clusters().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            head(f, cluster)?;
            for nodes in counts(cluster).chunks(ACROSS) {
                for measure in MEASURES.iter().filter(|measure| value(&cluster[0], measure).is_some()) {
                    writeln!(f)?;
                    self.measure(f, cluster, nodes, measure)?;
                }
            }
            self.gain(f, cluster)?;
            over_s(f, cluster)?;
            deviations(f, cluster, self.spread)?;
            write!(f, "{}", Statements(cluster))?;
        }
        self.legend(f)
    }
}

impl Table<'_> {
    /// Writes other results than the measures, with the head and the legend of these points.
    pub fn around(&self, results: &dyn Display) -> String {
        struct Around<'a>(&'a Table<'a>, &'a dyn Display);
        impl Display for Around<'_> {
            fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                head(f, self.0.points)?;
                writeln!(f, "\n{}", self.1)?;
                self.0.policies(f)
            }
        }
        Around(self, results).to_string()
    }

    /// Returns the points of each cluster.
    fn clusters(&self) -> impl Iterator<Item = &[Point]> {
        self.points.chunk_by(|one, other| one.speeds == other.speeds)
    }

    fn measure(&self, f: &mut Formatter<'_>, cluster: &[Point], nodes: &[u32], measure: &Measure) -> fmt::Result {
        let Measure { title, name, units, .. } = *measure;
        let digits = digits(cluster, measure);
        let shown = |point: &Point, of: fn(Statistics) -> f64| {
            value(point, measure).map(|value| format!("{:.digits$}", of(value) / units)).unwrap_or_default()
        };
        let has_spread = self.spread && name != "management_us";
        rows(f, &format!("{title} by nodes"), cluster, nodes, |point| {
            let statistics = STATISTICS.iter().take(if has_spread && point.reps > 1 { 4 } else { 1 });
            statistics.map(|(name, of)| (*name, shown(point, *of))).collect()
        })
    }

    /// Compares a cluster with the first one.
    fn gain(&self, f: &mut Formatter<'_>, cluster: &[Point]) -> fmt::Result {
        let first = self.clusters().next().unwrap_or_default();
        if first[0].speeds == cluster[0].speeds {
            return Ok(());
        }
        let gain = |point: &Point| {
            let same = first.iter().find(|other| row(other) == row(point) && other.nodes == point.nodes);
            same.filter(|_| point.seconds() > 0.0).map(|same| format!("{:.3}", same.seconds() / point.seconds()))
        };
        let power = |points: &[Point], nodes: u32| {
            points.iter().find(|point| point.nodes == nodes).map_or(f64::NAN, |point| point.figures.power)
        };
        for nodes in counts(cluster).chunks(ACROSS) {
            writeln!(f)?;
            rows(f, "gain by nodes", cluster, nodes, |point| vec![("", gain(point).unwrap_or_default())])?;
            write!(f, "  {:18}", "(sums of speeds)")?;
            for nodes in nodes {
                write!(f, " {:>9.3}", power(cluster, *nodes) / power(first, *nodes))?;
            }
            writeln!(f)?;
        }
        writeln!(f, "gain: seconds on {} / seconds on {}", first[0].speeds, cluster[0].speeds)
    }

    fn legend(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(first) = self.points.first() else { return Ok(()) };
        writeln!(f)?;
        for measure in MEASURES.iter().filter(|measure| value(first, measure).is_some()) {
            writeln!(f, "{:15}{}", measure.title, measure.meaning)?;
        }
        if has_versions(self.points) {
            writeln!(f, "{:15}how many times as fast as S", "S / time")?;
        }
        writeln!(f)?;
        self.policies(f)
    }

    /// Explains each policy.
    fn policies(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut names: Vec<&str> = Vec::new();
        for point in self.points {
            if !names.contains(&point.policy) {
                names.push(point.policy);
                writeln!(f, "{:15}{}", point.policy, policy(point.policy, point.versions))?;
            }
        }
        Ok(())
    }
}

/// Returns the numbers of nodes of points, in their order.
fn counts(points: &[Point]) -> Vec<u32> {
    let mut nodes: Vec<u32> = points.iter().map(|point| point.nodes).collect();
    nodes.dedup();
    nodes
}

/// Returns true for the versions of a case, S among them.
fn has_versions(points: &[Point]) -> bool {
    points[0].product.is_none() && points[0].versions && points.iter().any(|point| point.policy == "S")
}

/// Compares the versions of a case with S.
fn over_s(f: &mut Formatter<'_>, points: &[Point]) -> fmt::Result {
    if !has_versions(points) {
        return Ok(());
    }
    counts(points).chunks(ACROSS).try_for_each(|nodes| {
        writeln!(f)?;
        rows(f, "S / time by nodes", points, nodes, |point| {
            let is_base = |base: &&Point| row(base) == ("S", row(point).1) && base.nodes == point.nodes;
            let base = points.iter().find(is_base);
            vec![("", base.map(|base| format!("{:.2}", base.seconds() / point.seconds())).unwrap_or_default())]
        })
    })
}

/// Returns the statistics of a quantity, if the mode has it.
fn value(point: &Point, Measure { name, .. }: &Measure) -> Option<Statistics> {
    let management = || {
        let mean = point.figures.management_us;
        Statistics { mean, deviation: 0.0, min: mean, max: mean }
    };
    if *name == "management_us" { Some(management()) } else { point.figures.get(name) }
}

/// Returns as many digits after the point as the smallest efficiency, speed-up or time needs to be shown with three.
fn digits(cluster: &[Point], measure: &Measure) -> usize {
    let values = cluster.iter().filter_map(|point| value(point, measure)).map(|of| of.mean / measure.units);
    let smallest = values.filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
    let may_be_tiny = ["efficiency", "speedup", "makespan"].contains(&measure.name);
    if may_be_tiny && smallest.is_finite() { places(smallest, measure.digits) } else { measure.digits }
}

/// Returns the places after the point that show three digits of a number, at least `least` and at most 9.
fn places(number: f64, least: usize) -> usize {
    least.max((2.0 - number.log10().floor()).clamp(0.0, 9.0) as usize)
}

/// Writes a number with at least three digits, and with at least `least` places after the point.
pub fn significant(number: f64, least: usize) -> String {
    let places = if number > 0.0 { places(number, least) } else { least };
    format!("{number:.places$}")
}

/// Writes the cells of all points with these numbers of nodes: a row for each policy and each number of instructions in
/// flight, and for each of the point's cells.
fn rows(
    f: &mut Formatter<'_>,
    title: &str,
    points: &[Point],
    nodes: &[u32],
    cells: impl Fn(&Point) -> Vec<(&'static str, String)>,
) -> fmt::Result {
    let mut all: Vec<(&str, Option<u32>)> = Vec::new();
    for point in points.iter().map(row) {
        if !all.contains(&point) {
            all.push(point);
        }
    }
    let limits: BTreeSet<Option<u32>> = all.iter().map(|(_, limit)| *limit).collect();
    write!(f, "{title:20}")?;
    nodes.iter().try_for_each(|nodes| write!(f, " {nodes:>9}"))?;
    writeln!(f)?;
    for (policy, limit) in all {
        let of_row = |nodes: &u32| points.iter().find(|point| row(point) == (policy, limit) && point.nodes == *nodes);
        let columns: Vec<_> = nodes.iter().map(|nodes| of_row(nodes).map(&cells).unwrap_or_default()).collect();
        for line in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
            let shown = limit.filter(|_| limits.len() > 1).map(|limit| format!(", {limit} in flight"));
            let name = columns.iter().find_map(|column| column.get(line)).map_or("", |(name, _)| *name);
            let name = if line == 0 { format!("{policy}{}", shown.unwrap_or_default()) } else { name.into() };
            write!(f, "  {name:18}")?;
            for column in &columns {
                write!(f, " {:>9}", column.get(line).map_or("", |(_, cell)| cell))?;
            }
            writeln!(f)?;
        }
    }
    Ok(())
}

fn row(point: &Point) -> (&'static str, Option<u32>) {
    (point.policy, point.own.map(|own| own.in_flight))
}

fn head(f: &mut Formatter<'_>, points: &[Point]) -> fmt::Result {
    let first = &points[0];
    let Point { mode, transfers, seed, .. } = first;
    let mut speeds: Vec<&str> = points.iter().map(|point| &*point.speeds).collect();
    speeds.dedup();
    let speeds = speeds.join(" and ");
    let each = count(first.figures.instructions as usize, "instruction");
    match (first.product, &first.about) {
        (Some(of), _) => {
            let cost = if first.costs == "equal" {
                (f64::from(of.work) / 2.0).to_string()
            } else {
                format!("0 to {}", of.work)
            };
            write!(f, "product of {0} x {0} blocks, {each} of {cost} units, ", of.count)?;
            writeln!(f, "{} units to send or receive a block", short(of.load))?;
            if let Some(about) = of.blocks.about(of.count) {
                writeln!(f, "{about}")?;
            }
            if let Some(own) = first.own {
                let links = format!("{} bytes on links of {} Mbit/s", own.block, short(8.0 * own.link.rate));
                let waits = format!("{} units of latency, {} of the dispatcher", own.link.latency, own.message);
                writeln!(f, "blocks of {links}, {waits} for a message, {} instructions in flight", own.in_flight)?;
            }
        }
        (None, about) => writeln!(f, "case {}, {each}\n{about}", first.own.map_or("", |own| own.case))?,
    }
    write!(f, "{mode} mode, {speeds}, {transfers}, ")?;
    let (drawn, fixed): (Vec<&Point>, Vec<&Point>) = points.iter().partition(|point| point.figures.is_drawn);
    let Some(most) = drawn.iter().map(|point| point.reps).max() else {
        return writeln!(f, "one run: nothing is drawn, so all repetitions would be equal");
    };
    writeln!(f, "means of {} from seed {seed} on", count(most as usize, "repetition"))?;
    let once: BTreeSet<&str> = fixed.iter().map(|point| point.policy).collect();
    if once.is_empty() {
        return Ok(());
    }
    writeln!(f, "{}: one run, because nothing is drawn", Vec::from_iter(once).join(", "))
}

/// Names the largest standard deviations.
fn deviations(f: &mut Formatter<'_>, points: &[Point], all: bool) -> fmt::Result {
    let several = || points.iter().filter(|point| point.reps > 1);
    if several().next().is_none() {
        return Ok(());
    }
    let limits: BTreeSet<Option<u32>> = points.iter().map(|point| row(point).1).collect();
    let largest = |name: &str, of: &dyn Fn(Statistics) -> f64| {
        let values = several().filter_map(|point| Some((of(point.figures.get(name)?), point)));
        let values = values.filter(|(value, _)| *value > 0.0);
        let (value, point) = values.max_by(|one, other| one.0.total_cmp(&other.0))?;
        let limit = point.own.filter(|_| limits.len() > 1).map(|own| format!(", {} in flight", own.in_flight));
        let nodes = count(point.nodes as usize, "node");
        Some((value, format!("({}, {nodes}{})", point.policy, limit.unwrap_or_default())))
    };
    let more = if all { "" } else { " (`--spread` shows all, with minima and maxima)" };
    writeln!(f, "\nlargest standard deviations{more}:")?;
    for name in ["imbalance", "communication", "efficiency"] {
        if let Some((value, at)) = largest(name, &|of| of.deviation) {
            writeln!(f, "  {name:15}{value:.4} {at}")?;
        }
    }
    let relative = |of: Statistics| if of.mean > 0.0 { 100.0 * of.deviation / of.mean } else { 0.0 };
    match largest("makespan", &relative) {
        Some((value, at)) => writeln!(f, "  {:15}{value:.2} % {at}", "seconds"),
        None => Ok(()),
    }
}

/// Writes a number with up to 3 digits after the point, or more if it is small.
pub fn short(number: f64) -> String {
    let text = significant(number, 3);
    text.trim_end_matches('0').trim_end_matches('.').into()
}
