//! `aurora simulate`: super-programs in virtual time, by each policy on clusters of several sizes.

pub mod arguments;
mod figures;
mod legend;
mod lists;
mod matrix;
mod memory;
mod nodes;
mod own;
mod plan;
pub mod policies;
mod search;
pub mod speeds;
mod statements;
mod table;

use crate::launch::speaks;
use crate::progress::Progress;
use crate::refusal::Refusal;
use crate::{circumstances, is_heard, labelled, line, say};
use arguments::SimulateArguments;
use aurora_core::LaunchInfo;
use aurora_super::sim::Link;
use figures::Figures;
use matrix::Blocks;
use own::CaseName;
use plan::{Machine, Plan, Planned, case, costs, plan, refusal_of, work};
use search::{FIRST, Goal};
use serde::Serialize;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use table::Table;

/// One policy on a number of nodes: the setting and its results.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    policy: &'static str,
    nodes: u32,
    mode: &'static str,
    speeds: String,
    transfers: &'static str,
    /// The number of repetitions: 1 if nothing is drawn.
    reps: u32,
    /// A sentence about the case.
    #[serde(skip)]
    about: String,
    /// Whether the policies are versions of a super-program.
    #[serde(skip)]
    versions: bool,
    seed: u64,
    costs: &'static str,
    #[serde(flatten)]
    product: Option<ProductOf>,
    #[serde(flatten)]
    own: Option<OwnMachine>,
    #[serde(flatten)]
    goal: Option<Reached>,
    #[serde(flatten)]
    figures: Figures,
}

/// The goal of a search.
#[derive(Clone, Copy, Debug, Serialize)]
struct Reached {
    #[serde(flatten)]
    goal: Goal,
    /// Whether this number of nodes reaches it.
    reached: bool,
}

/// A program that is not a paper's case.
#[derive(Clone, Copy, Debug, Serialize)]
struct ProductOf {
    /// The number of blocks in a row.
    #[serde(rename = "blocks")]
    count: u32,
    /// The cost of a block for both sides, in units.
    load: f64,
    /// Twice the mean cost of an instruction, in units.
    work: u32,
    #[serde(flatten)]
    blocks: Blocks,
}

impl ProductOf {
    /// Returns true for the simulation of S2.
    fn is_of_the_paper(&self) -> bool {
        (self.count, self.load, self.work) == (32, 250.0, 20_000) && self.blocks == Blocks::default()
    }
}

/// The additional setting of own mode.
#[derive(Clone, Copy, Debug, Serialize)]
struct OwnMachine {
    case: &'static str,
    in_flight: u32,
    latency: f64,
    #[serde(skip)]
    link: Link,
    #[serde(skip)]
    message: f64,
    #[serde(skip)]
    block: u32,
    /// The latency, if it is not the latency of the machine or of the case.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked_latency: Option<f64>,
    /// The time of the dispatcher for a message, if it is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    dispatcher: Option<f64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    results_stay: bool,
}

/// Simulates and prints the results. No ranks are started. If a launcher has started ranks, one rank does this.
///
/// # Errors
/// A wrong argument.
pub fn start(arguments: &SimulateArguments, starter: LaunchInfo) -> Result<ExitCode, Refusal> {
    if !speaks(starter) {
        return Ok(ExitCode::SUCCESS);
    }
    let circumstances = circumstances(labelled(&arguments.labels)?, false);
    let plan = plan(arguments)?;
    let goal = Goal::of(arguments);
    let runs = if goal.is_some() { 0 } else { arguments.reps as usize * plan.all.len() };
    let progress = Mutex::new((Progress::beside(runs, arguments.json), 0));
    let done = || {
        let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.1 += 1;
        let done = progress.1;
        progress.0.done(done);
    };
    let mut ended = None;
    let mut run = |planned: &Planned| -> Result<Option<Point>, Refusal> {
        if goal.is_some() {
            memory::check(arguments, planned.nodes)?;
        }
        let machine = plan.machine(arguments, planned)?;
        let simulate = |reps| {
            let figures = Figures::of(&machine, reps, done);
            let figures = figures.map_err(|error| refusal_of(arguments, planned.nodes, error))?;
            Ok(Point::of(arguments, &plan, planned, &machine, figures))
        };
        let first = if goal.is_some() { arguments.reps.min(FIRST) } else { arguments.reps };
        let mut point = simulate(first)?;
        if goal.is_some_and(|goal| !goal.is_far(&point)) && point.figures.is_drawn && first < arguments.reps {
            point = simulate(arguments.reps)?;
        }
        point.goal = goal.map(|goal| Reached { goal, reached: goal.is_reached(&point) });
        if arguments.json {
            // Printed as soon as it is known, because the next point may take a while.
            ended = match is_heard(&line(&circumstances, &point)) {
                Ok(true) => None,
                // The output has no reader any more.
                Ok(false) => Some(ExitCode::SUCCESS),
                Err(code) => Some(code),
            };
        }
        Ok(Some(point).filter(|_| ended.is_none()))
    };
    let mut text = String::new();
    match goal {
        Some(goal) => {
            if let Some(found) = goal.search(arguments, &plan, run)? {
                text = Table { points: &found.answers(), spread: false }.around(&found);
            }
        }
        None => {
            let points =
                plan.all.iter().map_while(|planned| run(planned).transpose()).collect::<Result<Vec<_>, _>>()?;
            text = Table { points: &points, spread: arguments.spread }.to_string();
        }
    }
    drop(progress);
    let printed = if arguments.json { Ok(()) } else { say(&text) };
    Ok(ended.or(printed.err()).unwrap_or(ExitCode::SUCCESS))
}

impl Point {
    /// Returns the mean makespan in seconds.
    fn seconds(&self) -> f64 {
        self.figures.mean("makespan") / 1e6
    }

    fn of(arguments: &SimulateArguments, plan: &Plan, planned: &Planned, machine: &Machine, figures: Figures) -> Self {
        let case = case(arguments);
        let product = || ProductOf {
            count: arguments.blocks,
            load: match machine {
                Machine::Paper(setting) => setting.load,
                Machine::Own(setting) => setting.link.sending,
            },
            work: work(arguments),
            blocks: plan.blocks,
        };
        let own = match machine {
            Machine::Paper(_) => None,
            Machine::Own(setting) => Some(OwnMachine {
                case: case.map_or("none", |case| case.name()),
                in_flight: setting.limits.in_flight,
                latency: setting.link.latency,
                link: setting.link,
                message: setting.dispatcher,
                block: setting.bytes,
                asked_latency: arguments.own.latency,
                dispatcher: arguments.own.dispatcher,
                results_stay: arguments.own.results_stay,
            }),
        };
        Point {
            policy: planned.policy,
            nodes: planned.nodes,
            mode: arguments.mode.name(),
            speeds: plan.speeds(planned),
            transfers: arguments.transfers.name(),
            reps: figures.reps,
            about: case.map(CaseName::about).unwrap_or_default(),
            versions: arguments.own.variant.is_some()
                || matches!(case, Some(CaseName::Data(_))) && arguments.policy.is_none(),
            seed: arguments.seed,
            costs: costs(arguments).name(),
            product: case.is_none().then(product),
            own,
            goal: None,
            figures,
        }
    }
}
