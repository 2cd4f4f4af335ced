//! Worlds of processes: this binary, started again.

use crate::body::{Body, End};
use crate::netlab::Lab;
use crate::place::{Launcher, Place, WAIT_LIMIT};
use crate::process;
use crate::report::Line;
use aurora_core::{Bulk, Config, Result, World};
use std::collections::BTreeMap;
use std::process::{Command, ExitCode};
use std::time::Duration;

/// First argument of a binary that is started as a job; then launcher and bodies.
pub const ARGUMENT: &str = "--as-job-of-the-suite";

/// A job whose stdout is silent for so long is ended.
const SILENCE: Duration = WAIT_LIMIT.saturating_add(Duration::from_secs(15));

/// The maximum number of bodies that may end their job before the remaining bodies are given up.
const RESTARTS: usize = 5;

/// The result of each body of a job.
pub type Outcomes = BTreeMap<String, Result<(), String>>;

/// The job under test: runs bodies one after the other in one world.
pub fn main(bodies: &[Body], arguments: &[String]) -> ExitCode {
    let outcome = match arguments {
        [launcher, size, names @ ..] => run(bodies, launcher, size, names),
        _ => Err(aurora_core::Error::user("launcher, size and bodies are missing")),
    };
    exit_code(outcome)
}

/// The exit code for the result of a job. Prints an error.
#[allow(clippy::print_stderr)]
pub fn exit_code(outcome: Result<()>) -> ExitCode {
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    // In one write, because a launcher may put other processes' output between two writes.
    let text = format!("error: {error}\n");
    eprint!("{text}");
    ExitCode::FAILURE
}

fn run(bodies: &[Body], launcher: &str, size: &str, names: &[String]) -> Result<()> {
    let size: usize = size.parse().map_err(aurora_core::Error::user)?;
    // The environment contains the route, if the job needs a certain one.
    let config = match launcher {
        "processes" => Config::processes(size),
        "processes-two-per-node" => Config::processes(size).ranks_per_node(2),
        "mpi-carries" => Config::mpi().bulk(Bulk::Mpi).mpi_from(1),
        _ => Config::mpi(),
    };
    let chosen: Vec<&Body> = names.iter().filter_map(|name| bodies.iter().find(|body| body.name() == name)).collect();
    config.timeout(WAIT_LIMIT).silence(WAIT_LIMIT).run(|world| {
        if world.size() != size {
            let text = format!("a world of {} instead of {size}", world.size());
            return Err(aurora_core::Error::user(text));
        }
        chosen.iter().try_for_each(|body| one(body, world))
    })?;
    // `run` has returned, so the body has ended on every rank.
    if let Some(last) = chosen.last().filter(|body| body.end() == End::Last) {
        Line::Passed(last.name().into()).say();
    }
    Ok(())
}

fn one(body: &Body, world: &World) -> Result<()> {
    if world.is_root() {
        Line::Begins(body.name().into()).say();
    }
    body.run(world)?;
    if body.end() != End::Last {
        // A body has passed when it has ended on all ranks. No body leaves an open scope for the next body.
        world.barrier()?;
        if world.is_root() {
            Line::Passed(body.name().into()).say();
        }
    }
    Ok(())
}

/// Runs bodies in jobs: the bodies that end cleanly in one job, each other body in a job of its own. After a failure
/// another job runs the remaining bodies.
///
/// # Errors
/// If no job can be started.
pub fn outcomes(place: Place, bodies: &[&Body]) -> Result<Outcomes, String> {
    let mut outcomes = Outcomes::new();
    let (mut clean, alone): (Vec<&Body>, Vec<&Body>) = bodies.iter().partition(|body| body.end() == End::Clean);
    for _ in 0..=RESTARTS {
        if clean.is_empty() {
            break;
        }
        several(place, &clean, &mut outcomes)?;
        clean.retain(|body| !outcomes.contains_key(body.name()));
    }
    for body in clean {
        let given_up = "not run: too many bodies before it have ended their job".to_string();
        outcomes.insert(body.name().into(), Err(given_up));
    }
    for body in alone {
        let outcome = single(place, body)?;
        outcomes.insert(body.name().into(), outcome);
    }
    Ok(outcomes)
}

/// Runs one job with many bodies, until one of them ends the job.
fn several(place: Place, bodies: &[&Body], outcomes: &mut Outcomes) -> Result<(), String> {
    let ended = start(place, bodies)?;
    let mut under_way = None;
    for line in ended.lines.iter().filter_map(|line| Line::hear(line)) {
        match line {
            Line::Begins(name) => under_way = Some(name),
            Line::Passed(name) => {
                under_way = None;
                outcomes.insert(name, Ok(()));
            }
        }
    }
    if ended.success && under_way.is_none() {
        return Ok(());
    }
    let left = bodies.iter().find(|b| !outcomes.contains_key(b.name()));
    let blamed = under_way
        .or_else(|| left.map(|body| body.name().into()))
        // All bodies have passed, but the job failed at its end.
        .or_else(|| bodies.last().map(|body| body.name().into()));
    if let Some(name) = blamed {
        let text = format!("{name} failed in {place}:\n{}", ended.errors);
        outcomes.insert(name, Err(text));
    }
    Ok(())
}

/// Runs one job with one body that may end the job.
fn single(place: Place, body: &Body) -> Result<Result<(), String>, String> {
    let ended = start(place, &[body])?;
    let name = body.name();
    let passed = ended.lines.iter().filter_map(|line| Line::hear(line));
    let passed = passed.into_iter().any(|l| l == Line::Passed(name.into()));
    Ok(match body.end() {
        End::Fails(text) if ended.success => {
            Err(format!("{name} in {place}: the job succeeded, instead of failing with {text:?}"))
        }
        End::Fails(text) if ended.errors.contains(text) => Ok(()),
        End::Fails(text) => Err(format!("{name} in {place}: the job failed, but not with {text:?}:\n{}", ended.errors)),
        _ if ended.success && passed => Ok(()),
        _ => Err(format!("{name} failed in {place}:\n{}", ended.errors)),
    })
}

fn start(place: Place, bodies: &[&Body]) -> Result<process::Ended, String> {
    let lab = match place.launcher {
        Launcher::Lab(_, shape, per_node) | Launcher::LabBulk(_, shape, per_node) => {
            Some(Lab::up(shape, place.size / per_node).map_err(|error| error.to_string())?)
        }
        _ => None,
    };
    let (mut command, launcher) = program(place, lab.as_ref())?;
    command.args([ARGUMENT, launcher, &place.size.to_string()]);
    command.args(bodies.iter().map(|body| body.name()));
    for variable in aurora_core::VARIABLES {
        command.env_remove(variable);
    }
    if let Some(route) = place.route() {
        command.env("AURORA_ROUTE", route.to_string());
    }
    let ended = process::run(command, SILENCE).map_err(|error| format!("{place}: {error}"))?;
    match (place.launcher, lab) {
        (Launcher::Lab(_, shape, _), Some(lab)) if shape.lost_of_thousand > 0 && ended.success => {
            let counters = lab.counters().map_err(|error| error.to_string())?;
            match counters.get("switch.lost") {
                None | Some(0) => Err(format!("{place}: the switch has dropped nothing, so this has tested nothing")),
                Some(_) => Ok(ended),
            }
        }
        _ => Ok(ended),
    }
}

/// The command that starts this binary in a place, and the launcher's word among its arguments.
fn program(place: Place, lab: Option<&Lab>) -> Result<(Command, &'static str), String> {
    let binary = std::env::current_exe().map_err(|error| error.to_string())?;
    let (mut command, word) = match (place.launcher, lab) {
        (Launcher::Processes(_), _) => return Ok((Command::new(binary), "processes")),
        (Launcher::MixedProcesses, _) => return Ok((Command::new(binary), "processes-two-per-node")),
        (Launcher::Lossy, _) => (crate::lossy::launcher()?, "processes"),
        (Launcher::Mpi(flavour, _), _) => (flavour.launcher(place.size)?, "mpi"),
        (Launcher::Bulk(flavour), _) => (flavour.launcher(place.size)?, "mpi-carries"),
        (Launcher::Lab(flavour, _, per_node), Some(lab)) => (lab.mpirun(flavour, per_node), "mpi"),
        (Launcher::LabBulk(flavour, _, per_node), Some(lab)) => (lab.mpirun(flavour, per_node), "mpi-carries"),
        (Launcher::Threads(_) | Launcher::Mixed(_) | Launcher::Lab(..) | Launcher::LabBulk(..), _) => {
            return Err("this place needs no job".into());
        }
    };
    command.arg(binary);
    Ok((command, word))
}
