//! Simulations for people: policies in rows, numbers of nodes in columns.

use super::Point;
use super::figures::Statistics;
use super::legend::{MEASURES as EXPLAINED, policy};
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

/// A displayed quantity: its title, its name in the figures, its digits after the point, and the number of its units in
/// one unit of the table.
type Measure = (&'static str, &'static str, usize, f64);

const MEASURES: [Measure; 12] = [
    ("imbalance", "imbalance", 4, 1.0),
    ("waiting", "waiting", 4, 1.0),
    ("communication", "communication", 4, 1.0),
    ("efficiency", "efficiency", 4, 1.0),
    ("speed-up", "speedup", 2, 1.0),
    ("seconds", "makespan", 3, 1e6),
    ("loads", "loads", 0, 1.0),
    ("parallelism", "parallelism", 3, 1.0),
    ("miss ratio", "miss_ratio", 4, 1.0),
    ("p_c", "p_c", 3, 1.0),
    ("sync ms", "synchronisation", 3, 1e3),
    ("management us", "management_us", 2, 1.0),
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
            let mut nodes: Vec<u32> = cluster.iter().map(|point| point.nodes).collect();
            nodes.dedup();
            for nodes in nodes.chunks(ACROSS) {
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
        let (title, name, least, units) = *measure;
        let digits = if name == "makespan" { digits(cluster, least, measure) } else { least };
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
        let mut nodes: Vec<u32> = cluster.iter().map(|point| point.nodes).collect();
        nodes.dedup();
        let gain = |point: &Point| {
            let same = first.iter().find(|other| row(other) == row(point) && other.nodes == point.nodes);
            let seconds = |point: &Point| point.figures.mean("makespan");
            same.filter(|_| seconds(point) > 0.0).map(|same| format!("{:.3}", seconds(same) / seconds(point)))
        };
        for nodes in nodes.chunks(ACROSS) {
            writeln!(f)?;
            rows(f, "gain by nodes", cluster, nodes, |point| vec![("", gain(point).unwrap_or_default())])?;
        }
        writeln!(f, "gain: seconds on {} / seconds on {}", first[0].speeds, cluster[0].speeds)
    }

    fn legend(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(first) = self.points.first() else { return Ok(()) };
        writeln!(f)?;
        for (title, meaning) in EXPLAINED {
            let is_shown = |measure: &&Measure| measure.0 == title && value(first, measure).is_some();
            if MEASURES.iter().any(|measure| is_shown(&measure)) || title == "S / time" && has_versions(self.points) {
                writeln!(f, "{title:15}{meaning}")?;
            }
        }
        writeln!(f)?;
        self.policies(f)
    }
}

impl Table<'_> {
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

/// Returns true for the versions of a case, S among them.
fn has_versions(points: &[Point]) -> bool {
    points[0].product.is_none() && points[0].versions && points.iter().any(|point| point.policy == "S")
}

/// Compares the versions of a case with S.
fn over_s(f: &mut Formatter<'_>, points: &[Point]) -> fmt::Result {
    if !has_versions(points) {
        return Ok(());
    }
    let mut nodes: Vec<u32> = points.iter().map(|point| point.nodes).collect();
    nodes.dedup();
    writeln!(f)?;
    rows(f, "S / time by nodes", points, &nodes, |point| {
        let in_flight = |point: &Point| point.own.map(|own| own.in_flight);
        let is_base = |other: &&Point| (other.policy, other.nodes) == ("S", point.nodes);
        let base = points.iter().filter(is_base).find(|base| in_flight(base) == in_flight(point));
        vec![("", base.map(|base| format!("{:.2}", base.seconds() / point.seconds())).unwrap_or_default())]
    })
}

/// Returns the statistics of a quantity, if the mode has it.
fn value(point: &Point, (_, name, ..): &Measure) -> Option<Statistics> {
    let management = || {
        let mean = point.figures.management_us;
        Statistics { mean, deviation: 0.0, min: mean, max: mean }
    };
    if *name == "management_us" { Some(management()) } else { point.figures.get(name) }
}

/// Returns as many digits as the smallest value needs to be shown with three.
fn digits(cluster: &[Point], least: usize, measure: &Measure) -> usize {
    let values = cluster.iter().filter_map(|point| value(point, measure)).map(|of| of.mean / measure.3);
    let smallest = values.filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
    if smallest.is_finite() { least.max((2.0 - smallest.log10().floor()).clamp(0.0, 9.0) as usize) } else { least }
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
    nodes.iter().try_for_each(|nodes| write!(f, "{nodes:>10}"))?;
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
                write!(f, "{:>10}", column.get(line).map_or("", |(_, cell)| cell))?;
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
    let Point { mode, speeds, transfers, seed, .. } = first;
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
    let largest = |name: &str, of: &dyn Fn(Statistics) -> f64| {
        let values = several().filter_map(|point| Some((of(point.figures.get(name)?), point)));
        let values = values.filter(|(value, _)| *value > 0.0);
        let (value, point) = values.max_by(|one, other| one.0.total_cmp(&other.0))?;
        Some((value, format!("({}, {})", point.policy, count(point.nodes as usize, "node"))))
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

/// Writes a number with up to 3 digits after the point.
fn short(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}
