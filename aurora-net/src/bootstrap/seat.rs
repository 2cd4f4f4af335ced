//! A rank's place in its job.

use super::control_client::OnFailure;
use super::{Failure, Launcher, panic, probe};
use crate::bulk::{self, Bulk, BulkInfo};
use crate::endpoint::carrier::{Carriage, Held};
use crate::endpoint::{Endpoint, Nodes, Setup};
use crate::key::JobKey;
use crate::route::Contact;
use crate::{Error, Handler, Node, Rank, Route, Transport};
use std::cell::Cell;
use std::fmt;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

pub(crate) trait ControlPlane {
    /// Collective. Sends this rank's contact and returns those of all ranks.
    fn exchange(&self, contact: Contact) -> Result<Vec<Contact>, Failure>;
    /// Collective. Returns when every rank has called it. Further calls change nothing.
    fn finish(&self) -> Result<(), Failure>;
    fn fail(&self, failure: &Failure);
    /// Registers the callback, or calls it at once if the job has already failed.
    fn on_failure(&self, callback: OnFailure);
    /// Drops the callback, which may keep an endpoint alive.
    fn leave(&self);
    /// Reports a failure of this rank from another thread, and runs this rank's own callback.
    fn alarm(&self) -> Arc<dyn Fn(Failure) + Send + Sync>;
    /// Collective. A carrier for bulk data, if there is one. It belongs to the calling thread.
    fn carrier(&self) -> Option<Held> {
        None
    }
    /// Collective. The element-wise maximum of all ranks' times, if there is a carrier.
    fn slowest(&self, times: [Duration; 2]) -> [Duration; 2] {
        times
    }
}

/// A job, as one of its ranks sees it.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub rank: Rank,
    pub size: usize,
    /// The first rank of each machine.
    pub machines: Vec<Rank>,
    pub launcher: Launcher,
    pub key: JobKey,
    pub address: IpAddr,
}

impl Job {
    pub fn nodes(&self) -> usize {
        self.machines.len()
    }
}

/// A rank's place in its job: its number, its connection to the others, and its end. It belongs to the thread that
/// runs the rank's body.
pub struct Seat {
    job: Job,
    control: Rc<dyn ControlPlane>,
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat").field("job", &self.job).finish_non_exhaustive()
    }
}

impl Seat {
    /// This rank.
    pub fn rank(&self) -> Rank {
        self.job.rank
    }

    /// The number of ranks of the job.
    pub fn size(&self) -> usize {
        self.job.size
    }

    /// The number of machines. [`Endpoint::nodes`](crate::Endpoint::nodes) counts groups of ranks that share memory.
    pub fn nodes(&self) -> usize {
        self.job.nodes()
    }

    /// The launcher that has started the ranks.
    pub fn launcher(&self) -> Launcher {
        self.job.launcher
    }

    /// Collective. Connects this rank to all others.
    ///
    /// # Errors
    /// The system refuses a socket, the route does not exist between these ranks, or the job fails meanwhile.
    pub fn connect<H: Handler>(&self, handler: H, transport: Transport) -> Result<Endpoint<H>, Error> {
        let launcher = self.job.launcher;
        if transport.route == Some(Route::Local) && launcher != Launcher::Threads && self.size() > 1 {
            return Err(Error::NoRoute { route: Route::Local, launcher });
        }
        let plan = bulk::plan(&self.job, &transport)?;
        let mut setup = Setup::new(&self.job, transport)?;
        let contacts = self.control.exchange(Contact { bulk: plan, ..setup.contact() })?;
        bulk::agree(&contacts)?;
        let carried = self.carriage(plan, transport)?;
        let met = setup.discover_node(&contacts, |contact| self.control.exchange(contact))?;
        let (node, nodes) = match met {
            Some((node, leaders)) => {
                let count = leaders.iter().enumerate().filter(|(rank, leader)| **leader == *rank).count();
                (node, Nodes { count, leaders })
            }
            None => {
                let leaders = (0..self.size()).map(Rank::new).collect();
                (Node::alone(self.rank()), Nodes { count: self.nodes(), leaders })
            }
        };
        let endpoint = setup.start(handler, &contacts, (node, nodes), carried, self.control.alarm())?;
        if let Some(advice) = endpoint.udp().and_then(|udp| udp.advice()).filter(|_| self.rank() == 0) {
            // Printed once per job, since its machines are usually alike.
            tracing::warn!("{advice}");
        }
        Ok(endpoint)
    }

    fn carriage(&self, plan: Bulk, transport: Transport) -> Result<(BulkInfo, Option<Carriage>), Error> {
        let info = match plan {
            Bulk::Udp => return Ok((BulkInfo::without_probe(transport.bulk, None), None)),
            Bulk::Mpi => {
                let from = transport.mpi_from.unwrap_or(BulkInfo::WORTH_ASKING);
                BulkInfo::without_probe(Bulk::Mpi, Some(from))
            }
            Bulk::Auto => probe::probe(&self.job, &*self.control, transport)?,
        };
        let carriage = info.mpi_from.and_then(|from| Some(Carriage { carrier: self.control.carrier()?, from }));
        Ok((info, carriage))
    }

    /// Registers a callback for the failure of another rank. The callback runs once: on another thread than the rank's
    /// own, or at once if the failure is already known. It does not run for a failure that this rank has reported.
    pub fn on_failure(&self, callback: Box<dyn Fn(Failure) + Send + Sync>) {
        self.control.on_failure(callback);
    }

    /// Reports that this rank has failed, or gives up because another rank has failed. [`run`](super::run) reports the
    /// errors that the body returns.
    pub fn fail(&self, failure: &Failure) {
        self.control.fail(failure);
    }

    /// Collective. Returns when every rank has called it: until then other ranks may need this rank's daemon. For a
    /// body that returns without this call, [`run`](super::run) makes it.
    ///
    /// # Errors
    /// The job's failure, if the job fails first.
    pub fn finish(&self) -> Result<(), Failure> {
        self.control.finish()
    }
}

thread_local! {
    /// The rank whose body this thread runs.
    static BODY_OF: Cell<Option<Rank>> = const { Cell::new(None) };
}

/// The failure of a rank that has called `exit`: the calling thread's rank, or `otherwise` if the thread has none.
pub(crate) fn exited(otherwise: Rank) -> Failure {
    let rank = BODY_OF.get().unwrap_or(otherwise);
    Failure::of(rank, "the program called `exit` inside `run`")
}

/// Runs a rank's body. Reports its panic or error; after a normal return waits until all ranks have finished.
pub(crate) fn run_body<R>(
    job: Job,
    control: Rc<dyn ControlPlane>,
    body: impl FnOnce(Seat) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let rank = job.rank;
    let seat = Seat { job, control: control.clone() };
    let outer = BODY_OF.replace(Some(rank));
    let outcome = panic::capture(rank, || body(seat)).flatten();
    BODY_OF.set(outer);
    let outcome = match outcome {
        Ok(value) => control.finish().map(|()| value),
        Err(mut failure) => {
            failure.rank.get_or_insert(rank);
            control.fail(&failure);
            Err(failure)
        }
    };
    control.leave();
    outcome
}
