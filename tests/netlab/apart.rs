//! The ranks that share memory are those that can reach each other's sockets, whatever route they request and whatever
//! names their hosts have.

use crate::bulk;
use crate::place::{self, SLOW};
use aurora_core::{JobInfo, Result, Route, World};
use aurora_suite::driver::{Ended, Job};
use aurora_suite::job;
use aurora_suite::mpi::Flavour;
use aurora_suite::netlab::Lab;
use aurora_suite::{Body, check};
use libtest_mimic::{Failed, Trial};

/// The name of all hosts.
const NAME: &str = "twin";

pub fn bodies() -> Vec<Body> {
    vec![Body::of(twins).hidden()]
}

pub fn trials(flavour: Flavour) -> Vec<Trial> {
    vec![
        Trial::test(format!("{flavour}-lab/shared-memory-between-nodes-is-refused"), move || is_refused(flavour)),
        Trial::test(format!("{flavour}-lab/hosts-of-one-name-are-several-nodes"), move || are_several(flavour)),
    ]
}

/// Two ranks on each of two nodes. The requested route does not exist, and every rank reports that.
fn is_refused(flavour: Flavour) -> std::result::Result<(), Failed> {
    let ended = run(flavour, &Body::of(twins), |_| Ok(()), Some(Route::Shm))?;
    let said = ended.messages();
    let words = "the route `shm` does not lead to rank ";
    match ended.code() != 0 && !said.is_empty() && said.iter().all(|line| line.contains(words)) {
        true => Ok(()),
        false => Err(format!("it does not end with `{words}` alone: {}", ended.all()).into()),
    }
}

fn are_several(flavour: Flavour) -> std::result::Result<(), Failed> {
    let ended = run(flavour, &Body::of(twins), |lab| (1..=2).try_for_each(|node| lab.rename(node, NAME)), None)?;
    match ended.code() {
        0 => Ok(()),
        _ => Err(ended.all().into()),
    }
}

fn run(
    flavour: Flavour,
    body: &Body,
    prepare: impl FnOnce(&Lab) -> std::result::Result<(), aurora_suite::netlab::Refusal>,
    route: Option<Route>,
) -> std::result::Result<Ended, String> {
    let place = place::mixed(flavour, SLOW);
    let lab = Lab::up(SLOW, 2).map_err(|refusal| refusal.to_string())?;
    prepare(&lab).map_err(|refusal| refusal.to_string())?;
    let mut command = lab.mpirun(flavour, 2);
    command.arg(std::env::current_exe().map_err(|error| error.to_string())?);
    command.args([job::ARGUMENT, "mpi", &place.size.to_string(), body.name()]);
    for variable in aurora_core::VARIABLES {
        command.env_remove(variable);
    }
    command.envs(route.map(|route| ("AURORA_ROUTE", route.to_string())));
    Job::start(command)?.wait()
}

/// All hosts have the same name, but they are two nodes.
fn twins(world: &World) -> Result<()> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname")?;
    check::equal("host name", name.trim(), NAME)?;
    let JobInfo { nodes, routes, .. } = world.about();
    check::equal("nodes", *nodes, 2)?;
    check::equal("routes", &routes[..], &[Route::Shm, Route::Udp])?;
    bulk::load(&mut bulk::matrix(world)?, 0, bulk::Data::Right)
}
