//! Starting a job and ending it.

use crate::config::{Config, Settings};
use crate::kernel::Kernel;
use crate::kernel::message::encode_error;
use crate::kernel::nodes::Nodes;
use crate::memory::{Budget, HolderTimeout};
use crate::trace::Tracer;
use crate::world::{JobInfo, World};
use crate::{Error, Result, Site, UdpTrouble};
use aurora_net::bootstrap::{self, Failure, Launch, Launcher, Seat};
use std::sync::{Arc, Mutex, PoisonError};

/// Collective. Runs `program` on every rank of a job and returns this rank's value (SPMD, paper section 2.2).
///
/// The environment decides the number of ranks and their launcher. Under `mpirun` or `srun` MPI starts the ranks.
/// Otherwise this process becomes rank 0 and starts the other ranks, `AURORA_RANKS` in all (default: the number of
/// cores, at most 4). The other ranks run the program again from the start of `main` and end inside `run`. [`Config`]
/// overrides the environment. `run` returns when every rank has left the closure. A shell in an allocation has the
/// variables of a launcher, too: if they announce one rank, `AURORA_RANKS` asks for more; if they announce ranks that
/// MPI does not see, the error names the variables to unset.
///
/// **Code after `run`** runs on rank 0 alone if this process has started the other ranks. Under `mpirun` or `srun` it
/// runs on every rank, because a program may call `run` or MPI there. Put work for one rank into the closure, under
/// [`if world.is_root()`](World::is_root): it then runs once under every launcher.
///
/// **`program` is `Fn`, not `FnOnce` or `FnMut`**: ranks may be threads that call it at the same time. So it cannot
/// move or change a captured variable. Return a result as the value of the closure, which `run` returns. Ranks of this
/// process may also use a [`Mutex`] or an atomic outside. [`World::all_reduce`] combines the results of all ranks.
/// A [`Cell`](std::cell::Cell) is not [`Sync`] and does not compile.
///
/// # Errors
/// The first failure of any rank: an error that the closure returned, a panic in it, the death of its process. Under
/// MPI `run` does not return after a failure: the job is aborted once the failure has been reported.
///
/// ```
/// use aurora_core::prelude::*;
///
/// let sum = Config::threads(3).run(|world| {
///     let mut v = GVector::<u64>::from_fn(world, 10, |i| i as u64)?;
///     world.barrier()?;
///     let sum = v.at_many(&(0..10).collect::<Vec<_>>())?.iter().sum::<u64>();
///     Ok(sum)
/// })?;
/// assert_eq!(sum, 45);
/// # Ok::<(), Error>(())
/// ```
#[doc(alias("MPI_Init", "MPI_Finalize", "mpirun"))]
#[track_caller]
pub fn run<R: Send>(program: impl Fn(&World) -> Result<R> + Sync) -> Result<R> {
    start(Config::default(), program, Site::here())
}

impl Config {
    /// Collective. Runs `program` as [`run`] does, with the same errors, under this configuration.
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// use aurora_core::prelude::*;
    ///
    /// let sum = Config::threads(3).run(|world| world.all_reduce(Sum, world.rank().index() as u64))?;
    /// assert_eq!(sum, 0 + 1 + 2);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn run<R: Send>(self, program: impl Fn(&World) -> Result<R> + Sync) -> Result<R> {
        start(self, program, Site::here())
    }
}

fn start<R: Send>(config: Config, program: impl Fn(&World) -> Result<R> + Sync, site: Site) -> Result<R> {
    let returned = Mutex::new(None);
    carry_out(config, site, &|world| {
        let value = program(world)?;
        // If the ranks are threads of this process, the value of rank 0 is returned.
        if world.is_root() || world.about().launcher != Launcher::Threads {
            *returned.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        }
        Ok(())
    })?;
    let returned = returned.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(returned.expect("the program has returned on this rank"))
}

/// Takes a `dyn`, so that starting a job is compiled once, with this crate, and not again for each program.
fn carry_out(config: Config, site: Site, program: &(dyn Fn(&World) -> Result<()> + Sync)) -> Result<()> {
    let Settings { launch, transport, timeout, modes, cache_limit, stats, trace, options } = config.settle()?;
    // The program may change its working directory before its ranks add their parts.
    let trace = trace.map(|path| std::path::absolute(&path).unwrap_or(path));
    let begins = matches!(launch, Launch::Threads(_) | Launch::Processes(_));
    if let Some(path) = trace.as_deref().filter(|_| begins) {
        crate::trace::create(path)?;
    }
    // The errors of this process themselves: a `Failure` only quotes them.
    let typed: Mutex<Vec<Error>> = Mutex::default();
    let outcome = bootstrap::run(launch, options, |seat: Seat| {
        let (me, size) = (seat.rank(), seat.size());
        let typed = |error: Error| {
            let failure = failure_of(&seat, &error);
            if !matches!(error, Error::JobFailed { .. }) {
                typed.lock().unwrap_or_else(PoisonError::into_inner).push(error);
            }
            failure
        };
        if let Some(path) = trace.as_deref().filter(|_| seat.launcher() == Launcher::Mpi) {
            let ready = if me == 0 { crate::trace::create(path) } else { crate::trace::check(path) };
            ready.map_err(typed)?;
        }
        // Before the daemon starts, which records into the same trace. The file is written after everything else.
        let tracer = trace.clone().map(|path| Tracer::begin(path, me));
        let endpoint = seat.connect(Kernel::new(me, size, timeout), transport);
        let endpoint = endpoint.map_err(|error| error.into_failure(me))?;
        let nodes = endpoint.nodes();
        endpoint.act(|kernel, _| {
            kernel.core.modes = modes;
            kernel.core.between_nodes = nodes > 1;
            let node = endpoint.node();
            kernel.core.node = (size > 1 && node.ranks().len() == size).then(|| node.clone());
            kernel.core.nodes = Arc::new(Nodes::new(endpoint.leaders()));
            kernel.core.budget = Budget(cache_limit);
            kernel.core.holder_timeout = Arc::new(HolderTimeout::new(transport.silence));
        });
        let watched = endpoint.clone();
        seat.on_failure(Box::new(move |failure| {
            watched.act(|kernel, _| kernel.note_job_fault(&Error::heard(failure)));
            // Ends waits for memory of a rank that will not come any more.
            watched.node().close();
        }));
        let shared = endpoint.act(|kernel, _| kernel.core.node.is_some());
        let (node_ranks, routes) = (endpoint.node().ranks().to_vec(), endpoint.routes().to_vec());
        let bulk = endpoint.bulk().clone();
        let about = JobInfo { launcher: seat.launcher(), nodes, node_ranks, routes, bulk, shared };
        let world = World::new(endpoint.clone(), me, size, about, stats);
        let aligned = match &tracer {
            Some(tracer) => world.clock_ahead(&site).map(|ahead| tracer.align(ahead)),
            None => Ok(()),
        };
        let outcome = aligned.and_then(|()| program(&world));
        let outcome = outcome.and_then(|value| world.leave(stats, &site).map(|()| value));
        match outcome {
            Ok(value) => {
                if modes.check && me == 0 && crate::environment::asks_for_checks() {
                    crate::notice::checked(size);
                }
                seat.finish()?;
                endpoint.close();
                Ok(value)
            }
            Err(error) => {
                if me == 0 && matches!(error, Error::Race { .. }) && crate::environment::asks_for_checks() {
                    crate::notice::race(&error);
                }
                // If all counters are printed already, the error was found after that.
                if stats && me == 0 && !world.link().read(|kernel| kernel.core.reports.printed).0 {
                    // The other ranks cannot report their counters any more.
                    crate::notice::stats(&world.stats().to_string(), size - 1);
                }
                world.abandon();
                Err(typed(error))
            }
        }
    });
    outcome.map_err(|failure| {
        let typed = typed.into_inner().unwrap_or_else(PoisonError::into_inner);
        let same = |error: &Error| error.to_string() == failure.cause;
        match typed.into_iter().find(same) {
            Some(error) => error,
            None if failure.rank.is_none() => Error::Start(failure.to_string()),
            None => Error::heard(failure),
        }
    })
}

/// The report to the control plane about an error that ended this rank.
fn failure_of(seat: &Seat, error: &Error) -> Failure {
    let me = seat.rank();
    // The rank at fault, and true if that rank or its watcher reports the failure: that report says more and comes
    // first.
    let (culprit, by_other) = match error {
        Error::JobFailed { failure } => return failure.heard(),
        Error::Leaked { rank, .. } | Error::Poisoned { rank, .. } => (*rank, *rank != me),
        Error::PeerLost { trouble: Some(trouble), .. } if matches!(**trouble, UdpTrouble::Refused { .. }) => {
            (me, false)
        }
        // A rank that has died is reported by its launcher, which knows the cause.
        Error::PeerLost { rank, silent_for, .. } => {
            (*rank, seat.launcher() == Launcher::Processes || silent_for.is_zero())
        }
        _ => (me, false),
    };
    let cause = error.to_string();
    let at = error.site().map(Site::to_string).filter(|at| !cause.contains(at));
    let error = if error.is_told_to_all() { encode_error(error) } else { Vec::new() };
    Failure { at, origin: !by_other, error, ..Failure::of(culprit, cause) }
}
