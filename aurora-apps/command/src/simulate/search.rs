//! The search for a number of nodes that reaches a wanted time or efficiency.

use super::Point;
use super::arguments::{SimulateArguments, repeated};
use super::plan::{Plan, Planned, case, work};
use crate::refusal::Refusal;
use crate::table::count;
use aurora_super::Product;
use clap::Args;
use std::fmt::{self, Display, Formatter};

/// The maximum number of nodes, as a multiple of the number that could reach the goal if nodes computed all the time.
const FAR: u32 = 4;
/// The most that a step may be, as a part of the number of nodes.
const FINE: u32 = 64;
/// The maximum number of nodes.
const MOST: u32 = 1 << 16;

#[derive(Args, Debug)]
pub struct GoalArguments {
    /// Search for the smallest number of nodes that finishes within this time in the mean, for each policy: among
    /// `--nodes`, or from the least number that could finish in time to 4 times as many, in steps of 1, and from 128
    /// nodes on of 1/64. If the first repetition misses the goal by more than a tenth, there are no others
    #[arg(long, value_name = "SECONDS", value_parser = within, allow_negative_numbers = true)]
    pub within: Option<f64>,
    /// Search for the largest number of nodes that has at least this efficiency in the mean, as a fraction or per cent:
    /// among `--nodes`, or from 1 on, in the same steps, until twice as many nodes do not have it
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with = "within", allow_negative_numbers = true)]
    pub efficient: Option<f64>,
}

/// A wanted time or efficiency.
#[derive(Clone, Copy, PartialEq, Debug)]
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

    fn is_reached(self, point: &Point) -> bool {
        match self {
            Goal::Within(seconds) => point.seconds() <= seconds,
            Goal::Efficient(share) => point.figures.mean("efficiency") >= share,
        }
    }

    /// Returns true if the point misses the goal by more than a tenth.
    pub fn is_far(self, point: &Point) -> bool {
        match self {
            Goal::Within(seconds) => point.seconds() > 1.1 * seconds,
            Goal::Efficient(share) => point.figures.mean("efficiency") < 0.9 * share,
        }
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
            let is_given = arguments.nodes.is_some() || case(arguments).is_some() || plan.is_listed(&first);
            let mut points: Vec<Point> = Vec::new();
            let mut next = if is_given { listed.first().copied() } else { Some(self.least(arguments, plan, &first)) };
            while let Some(nodes) = next {
                let Some(point) = run(&Planned { nodes, ..first })? else { return Ok(None) };
                points.push(point);
                next = match self {
                    Goal::Within(_) if self.is_reached(&points[points.len() - 1]) => None,
                    _ if is_given => listed.get(points.len()).copied(),
                    _ => self.after(&points),
                };
            }
            tried.push(points);
        }
        Ok(Some(Found { goal: self, tried }))
    }

    /// Returns the first number of nodes to try: fewer cannot finish in time.
    fn least(self, arguments: &SimulateArguments, plan: &Plan, planned: &Planned) -> u32 {
        let Goal::Within(seconds) = self else { return 1 };
        let program = Product::square(arguments.blocks).expect("so many blocks have numbers");
        // The drawn costs of a run may be less than their mean, but hardly by 3 %.
        let all = 0.97 * program.instructions() as f64 * f64::from(work(arguments)) / 2.0;
        let mut done = 0.0;
        let speeds = (1..MOST).zip(plan.first_speeds(planned, MOST));
        let found = speeds.map(|(nodes, speed)| {
            done += speed * seconds * 1e6;
            (nodes, done)
        });
        found.take_while(|(_, done)| *done < all).last().map_or(1, |(nodes, _)| nodes + 1)
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
            Goal::Efficient(share) => write!(f, "largest number of nodes with an efficiency of at least {share}"),
        }
    }
}

impl Display for Found {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, in the mean", self.goal)?;
        writeln!(f, "{:20}{:>10}{:>12}{:>12}{:>12}{:>14}", "", "nodes", "seconds", "deviation", "efficiency", "tried")?;
        let policies = self.tried.iter().filter_map(|points| points.first());
        let clusters = repeated(policies.clone().map(|point| point.policy)).is_some();
        for points in &self.tried {
            let Some(first) = points.first() else { continue };
            let limit = first.own.filter(|_| clusters).map(|own| format!(", {} in flight", own.in_flight));
            let cluster = if clusters { format!(", {}", first.speeds) } else { String::new() };
            write!(f, "  {:18}", format!("{}{cluster}{}", first.policy, limit.unwrap_or_default()))?;
            let last = points.last().map_or(0, |point| point.nodes);
            let tried = format!("{} to {last}", first.nodes);
            match self.goal.answer(points) {
                Some(point) => {
                    let seconds = point.figures.get("makespan").map_or(0.0, |of| of.deviation / 1e6);
                    let efficiency = point.figures.mean("efficiency");
                    write!(f, "{:>10}{:>12.3}{seconds:>12.3}{efficiency:>12.4}", point.nodes, point.seconds())?;
                    writeln!(f, "{tried:>14}")?;
                }
                None => {
                    let best = points.iter().min_by(|one, other| one.seconds().total_cmp(&other.seconds()));
                    let best = best.map(|point| {
                        format!("the least time is {:.3} s on {}", point.seconds(), count(point.nodes as usize, "node"))
                    });
                    writeln!(f, "{:>10}  {} (tried {tried})", "none", best.unwrap_or_default())?;
                }
            }
        }
        Ok(())
    }
}

fn within(text: &str) -> Result<f64, &'static str> {
    let seconds = text.parse().ok().filter(|seconds| (1e-6..=1e12).contains(seconds));
    seconds.ok_or("a number of seconds from 0.000001 on")
}

fn share(text: &str) -> Result<f64, &'static str> {
    let number = text.strip_suffix('%').map_or_else(|| text.parse(), |share| share.parse().map(|it: f64| it / 100.0));
    let share = number.ok().filter(|share: &f64| *share > 0.0 && *share <= 1.0);
    share.ok_or("an efficiency is more than 0 and at most 1, as a fraction (0.9) or per cent (90%)")
}
