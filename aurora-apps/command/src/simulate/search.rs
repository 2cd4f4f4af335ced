//! The search for a number of nodes that reaches a wanted time or efficiency.

use super::Point;
use super::arguments::{CostsName, SimulateArguments};
use super::nodes::MOST;
use super::plan::{Plan, Planned, case, costs, work};
use super::table::{short, significant};
use crate::refusal::Refusal;
use crate::table::count;
use aurora_super::Product;
use clap::Args;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

/// The number of repetitions that show whether the goal is far.
pub const FIRST: u32 = 4;
/// The maximum number of nodes, as a multiple of the number that could reach the goal if nodes computed all the time.
const FAR: u32 = 4;
/// The most that a step may be, as a part of the number of nodes.
const FINE: u32 = 64;

#[derive(Args, Debug)]
pub struct GoalArguments {
    /// Search for the smallest number of nodes that finishes within this time in the mean, for each policy: among
    /// `--nodes`, those of a case, or all from the least number that could finish in time to 4 times as many. From 128
    /// nodes on steps are 1/64, until one finishes in time. If the first 4 repetitions miss the goal by far (a tenth
    /// and 5 standard deviations), there are no others
    #[arg(long, value_name = "SECONDS", value_parser = within, allow_negative_numbers = true)]
    pub within: Option<f64>,
    /// Search for the largest number of nodes that has at least this efficiency in the mean, as a fraction or per cent:
    /// among `--nodes`, those of a case, or from 1 on in the same steps, until twice as many nodes do not have it
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with = "within", allow_negative_numbers = true)]
    pub efficient: Option<f64>,
}

/// A wanted time or efficiency.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// Seconds.
    Within(f64),
    /// A share of 1.
    Efficient(f64),
}

/// The results of a search: for each policy the points that were tried.
pub struct Found {
    goal: Goal,
    /// The tried points of each policy, by nodes.
    tried: Vec<Vec<Point>>,
}

impl Goal {
    pub fn of(arguments: &SimulateArguments) -> Option<Goal> {
        let GoalArguments { within, efficient } = arguments.goal;
        within.map(Goal::Within).or(efficient.map(Goal::Efficient))
    }

    pub fn is_reached(self, point: &Point) -> bool {
        match self {
            Goal::Within(seconds) => point.seconds() <= seconds,
            Goal::Efficient(share) => point.figures.mean("efficiency") >= share,
        }
    }

    /// Returns true if the first repetitions miss the goal by more than a tenth, and by more than 5 of their standard
    /// deviations.
    pub fn is_far(self, point: &Point) -> bool {
        let (name, goal) = match self {
            Goal::Within(seconds) => ("makespan", 1e6 * seconds),
            Goal::Efficient(share) => ("efficiency", share),
        };
        let deviation = point.figures.get(name).map_or(0.0, |of| of.deviation);
        !self.is_reached(point) && (point.figures.mean(name) - goal).abs() > (0.1 * goal).max(5.0 * deviation)
    }

    /// Tries numbers of nodes for each policy. `run` simulates one, or returns `None` to end the search.
    ///
    /// # Errors
    /// That of `run`.
    pub fn search(
        self,
        arguments: &SimulateArguments,
        plan: &Plan,
        mut run: impl FnMut(&Planned) -> Result<Option<Point>, Refusal>,
    ) -> Result<Option<Found>, Refusal> {
        let mut tried = Vec::new();
        for (first, listed) in plan.by_policy() {
            let is_given = arguments.nodes.is_some() || case(arguments).is_some();
            let speeds = plan.first_speeds(&first, MOST);
            let least = || Some(self.least(arguments, &speeds));
            let mut points: Vec<Point> = Vec::new();
            let mut next = if is_given { listed.first().copied() } else { least() };
            while let Some(nodes) = next {
                let Some(point) = run(&Planned { nodes, ..first })? else { return Ok(None) };
                points.push(point);
                next = match self {
                    Goal::Within(_) if self.is_reached(&points[points.len() - 1]) => None,
                    _ if is_given => listed.get(points.len()).copied(),
                    _ => self.after(&points).filter(|nodes| *nodes as usize <= speeds.len()),
                };
            }
            // A number that was skipped may be the first that finishes in time.
            if let (false, [.., before, last]) = (is_given, &points[..])
                && self.is_reached(last)
            {
                for nodes in before.nodes + 1..last.nodes {
                    let Some(point) = run(&Planned { nodes, ..first })? else { return Ok(None) };
                    points.push(point);
                }
                points.sort_by_key(|point| point.nodes);
            }
            tried.push(points);
        }
        Ok(Some(Found { goal: self, tried }))
    }

    /// Returns the first number of nodes to try: fewer cannot finish in time, though they compute all the time. Drawn
    /// work is less than its mean by 6 standard deviations at most.
    fn least(self, arguments: &SimulateArguments, speeds: &[f64]) -> u32 {
        let Goal::Within(seconds) = self else { return 1 };
        let program = Product::square(arguments.blocks).expect("so many blocks have numbers");
        let (count, most) = (program.instructions() as f64, f64::from(work(arguments)));
        let less = if costs(arguments) == CostsName::Drawn { 6.0 * most * (count / 12.0).sqrt() } else { 0.0 };
        let all = count * most / 2.0 - less;
        let mut done = 0.0;
        let too_few = speeds.iter().take_while(|speed| {
            done += **speed * seconds * 1e6;
            done < all
        });
        (too_few.count() + 1).min(speeds.len()) as u32
    }

    /// Returns the next number of nodes to try, or `None` if it is far from the first one or from a success.
    fn after(self, points: &[Point]) -> Option<u32> {
        let last = points.last()?.nodes;
        let far = match self {
            Goal::Within(_) => points[0].nodes.saturating_mul(FAR),
            Goal::Efficient(_) => {
                2 * points.iter().rfind(|point| self.is_reached(point)).map_or(1, |point| point.nodes)
            }
        };
        let next = last + (last / FINE).max(1);
        (next <= far.min(MOST)).then_some(next)
    }

    /// Returns the point that is the answer: the first or the last that reaches the goal.
    fn answer(self, points: &[Point]) -> Option<&Point> {
        match self {
            Goal::Within(_) => points.iter().find(|point| self.is_reached(point)),
            Goal::Efficient(_) => points.iter().rfind(|point| self.is_reached(point)),
        }
    }

    /// Returns true if a larger number of nodes is better.
    fn is_larger(self) -> bool {
        matches!(self, Goal::Efficient(_))
    }

    /// Returns a sentence about the point that comes closest to the goal.
    fn best(self, points: &[Point]) -> String {
        let efficiency = |point: &Point| point.figures.mean("efficiency");
        let value = |point: &Point| if self.is_larger() { -efficiency(point) } else { point.seconds() };
        let best = points.iter().min_by(|one, other| value(one).total_cmp(&value(other)));
        best.map_or_else(String::new, |point| {
            let nodes = count(point.nodes as usize, "node");
            match self {
                Goal::Within(_) => format!("the least time is {} s on {nodes}", significant(point.seconds(), 3)),
                Goal::Efficient(_) => format!("the highest efficiency is {:.4} on {nodes}", efficiency(point)),
            }
        })
    }
}

impl Found {
    /// Returns the answer for each policy, or the first point that was tried.
    pub fn answers(&self) -> Vec<Point> {
        self.tried.iter().filter_map(|points| self.goal.answer(points).or(points.first()).cloned()).collect()
    }
}

impl Display for Goal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Goal::Within(seconds) => write!(f, "smallest number of nodes that finishes within {seconds} s"),
            Goal::Efficient(share) => {
                write!(f, "largest number of nodes with an efficiency of at least {} %", short(100.0 * share))
            }
        }
    }
}

impl Display for Found {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, in the mean", self.goal)?;
        let head = ["nodes", "seconds", "deviation", "efficiency"];
        write!(f, "{:24}", "")?;
        head.iter().try_for_each(|title| write!(f, "{title:>12}"))?;
        writeln!(f, "  tried")?;
        let firsts = || self.tried.iter().filter_map(|points| points.first());
        let several = |of: &dyn Fn(&Point) -> String| firsts().map(of).collect::<BTreeSet<_>>().len() > 1;
        let limit = |point: &Point| point.own.map_or(0, |own| own.in_flight).to_string();
        let (clusters, limits) = (several(&|point| point.speeds.clone()), several(&limit));
        for (points, first) in self.tried.iter().zip(firsts()) {
            let cluster = if clusters { format!(", {}", first.speeds) } else { String::new() };
            let limit = if limits { format!(", {} in flight", limit(first)) } else { String::new() };
            write!(f, "  {:22}", format!("{}{cluster}{limit}", first.policy))?;
            let last = points.last().map_or(0, |point| point.nodes);
            let tried = format!("{} to {last}", first.nodes);
            let Some(point) = self.goal.answer(points) else {
                writeln!(f, "{:>12}  {} (tried {tried})", "none", self.goal.best(points))?;
                continue;
            };
            let deviation = point.figures.get("makespan").map_or(0.0, |of| of.deviation / 1e6);
            let [seconds, deviation] = [point.seconds(), deviation].map(|seconds| significant(seconds, 3));
            write!(f, "{:>12}{seconds:>12}{deviation:>12}", point.nodes)?;
            write!(f, "{:>12.4}  {tried}", point.figures.mean("efficiency"))?;
            let misses = points.iter().take_while(|other| other.nodes < point.nodes);
            let misses = misses.filter(|other| self.goal.is_larger() && !self.goal.is_reached(other));
            let misses: Vec<String> = misses.map(|other| other.nodes.to_string()).collect();
            match misses.len() {
                0 => writeln!(f)?,
                few @ 1..=5 => writeln!(f, "; less with {}", misses[..few].join(", "))?,
                many => writeln!(f, "; less with {}, .. ({many} numbers)", misses[..5].join(", "))?,
            }
        }
        writeln!(
            f,
            "\nA larger number of nodes may be slower: parts of the result are rectangles of whole blocks, and a prime \
             number of\nnodes stands in one row."
        )
    }
}

fn within(text: &str) -> Result<f64, &'static str> {
    let seconds = text.parse().ok().filter(|seconds| (1e-6..=1e12).contains(seconds));
    seconds.ok_or("a number of seconds from 0.000001 to 1e12")
}

fn share(text: &str) -> Result<f64, &'static str> {
    let number = text.strip_suffix('%').map_or_else(|| text.parse(), |share| share.parse().map(|it: f64| it / 100.0));
    let share = number.ok().filter(|share: &f64| *share > 0.0 && *share <= 1.0);
    share.ok_or("an efficiency is more than 0 and at most 1, as a fraction (0.9) or per cent (90%)")
}
