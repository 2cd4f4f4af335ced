//! Ranks started by an MPI launcher. Only this folder uses the crate `mpi`.
//!
//! MPI is the control plane: it numbers the ranks, exchanges contacts, and ends the job. It may also be a carrier of
//! bulk data (`carrier.rs`). All MPI calls are made on the thread that calls [`run`](super::run) (`Funneled`). The wait
//! for the other ranks' end tests a nonblocking barrier and sleeps in between, since a blocking MPI call would take a
//! core from ranks that still compute.
//!
//! MPI stays initialised after a job, so that a program can run several. It is finalised when that thread ends, unless
//! the program has initialised MPI itself.
//!
//! After a failure the rank that has failed announces the failure and aborts the job; mpirun kills the other ranks, and
//! may print messages of its own. If several ranks detect a failure at the same time, one rank of each machine
//! announces it ([`Announcer`]); each rank waits a little longer than the one before it, so that mpirun kills ranks
//! of other machines first. A rank that was only notified of a failure waits to be killed. `run` returns an error only
//! if the job cannot start.

mod carrier;

use self::carrier::MpiCarrier;
use super::announcer::{Announcer, WAIT_TO_BE_ENDED};
use super::control_client::OnFailure;
use super::seat::{ControlPlane, Job, Seat, exited, run_body};
use super::{Announced, Failure, Launcher, Options, exit, new_key};
use crate::endpoint::carrier::Held;
use crate::key::JobKey;
use crate::route::Contact;
use crate::udp::address::{Candidate, candidates, choose, on_one_machine};
use crate::{Error, Rank, limits};
use mpi::Threading;
use mpi::collective::SystemOperation;
use mpi::datatype::PartitionMut;
use mpi::environment::{Universe, is_finalized, is_initialized, library_version};
use mpi::request::{Request, Scope, scope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Root};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The additional wait of each rank after the one before it, and the longest wait.
const STAGGER: Duration = Duration::from_millis(300);
const LONGEST_STAGGER: Duration = Duration::from_millis(1500);

/// The first and the longest pause of a wait for all ranks.
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(5);

/// The number of polls without a pause at first, in waits whose microseconds are measured.
const EAGER: u32 = 2000;

thread_local! {
    /// MPI between two jobs. Not kept here during a job: `exit` would finalise MPI, which waits for the other ranks.
    static IDLE: RefCell<Option<Universe>> = const { RefCell::new(None) };
}

pub(super) fn run<R>(
    announced: &Announced,
    options: &Options,
    body: impl Fn(Seat) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let universe = initialise()?;
    let world = SimpleCommunicator::world();
    let size = world.size() as usize;
    // The announcement has no size: each of several processes may see itself alone.
    let is_doubtful = announced.size.is_none() && !announced.variables.is_empty() && size == 1;
    if is_doubtful || announced.size.is_some_and(|announced| announced != size) {
        return Err(Failure::start(announced.other_size(size, &library())));
    }
    let rank = Rank::new(world.rank() as usize);
    let key = share_key(&world, rank)?;
    let started = join(&world, rank, key, options);
    let announcer = Arc::new(Announcer::of_job(key, rank, size));
    let control = Rc::new(MpiControl {
        rank,
        world,
        announcer: announcer.clone(),
        finished: Cell::new(false),
        carriers: RefCell::default(),
    });
    let job = started.unwrap_or_else(|failure| control.end(&failure));
    let guard = exit::guard(Arc::new(move || {
        // No MPI call: this may be any thread. mpirun ends a job if a process ends without finalising MPI.
        announcer.announce(&exited(rank));
    }));
    let outcome = run_body(job, control.clone(), body);
    drop(guard);
    match outcome {
        Ok(value) => {
            IDLE.set(universe);
            Ok(value)
        }
        Err(failure) => control.end(&failure),
    }
}

/// `None` if the program has initialised MPI itself.
fn initialise() -> Result<Option<Universe>, Failure> {
    if let Some(universe) = IDLE.take() {
        return Ok(Some(universe));
    }
    if is_finalized() {
        return Err(Failure::start("MPI has been finalised in this process"));
    }
    if is_initialized() {
        return Ok(None);
    }
    let (universe, _) = mpi::initialize_with_threading(Threading::Funneled)
        .ok_or_else(|| Failure::start("MPI cannot be initialised"))?;
    Ok(Some(universe))
}

/// The name and version of the MPI that this program was built for.
fn library() -> String {
    let library = library_version().unwrap_or_default();
    let library = library.split([',', '\n']).next().unwrap_or_default().trim();
    library.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn share_key(world: &SimpleCommunicator, rank: Rank) -> Result<JobKey, Failure> {
    let mut key = match rank.index() {
        0 => new_key()?.to_bytes(),
        _ => Default::default(),
    };
    world.process_at_rank(0).broadcast_into(&mut key[..]);
    Ok(JobKey::from_bytes(key))
}

/// Finds the machine of each rank.
fn join(world: &SimpleCommunicator, rank: Rank, key: JobKey, options: &Options) -> Result<Job, Failure> {
    // MPI identifies a node by its host name, which may repeat.
    let refused = |error: Error| Failure::of(rank, error);
    let own = Network::own().map_err(refused)?;
    let networks: Vec<Network> = gather(world, &own).map_err(|error| garbled(rank, &error))?;
    let is_first = |rank: &usize| !networks[..*rank].contains(&networks[*rank]);
    let machines: Vec<Rank> = (0..networks.len()).filter(is_first).map(Rank::new).collect();
    let interface = options.interface.as_deref();
    let address = if machines.len() == 1 {
        on_one_machine(interface).map_err(refused)?
    } else {
        let own = candidates(interface).map_err(refused)?;
        let all: Vec<Vec<Candidate>> = gather(world, &own).map_err(|error| garbled(rank, &error))?;
        choose(&own, &all)
    };
    Ok(Job { rank, size: world.size() as usize, machines, launcher: Launcher::Mpi, key, address })
}

/// A running system and a network namespace: processes with equal ones reach each other by the loopback interface.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
struct Network {
    boot: String,
    namespace: u64,
}

impl Network {
    fn own() -> Result<Network, Error> {
        let path = "/proc/self/ns/net";
        let namespace = fs::metadata(path).map_err(limits::proc_file(path))?.ino();
        Ok(Network { boot: limits::boot_id()?, namespace })
    }
}

/// Collective. The values of all ranks, by rank.
fn gather<T: Serialize + DeserializeOwned>(world: &SimpleCommunicator, own: &T) -> Result<Vec<T>, postcard::Error> {
    let own = postcard::to_stdvec(own)?;
    let mut counts = vec![0_i32; world.size() as usize];
    world.all_gather_into(&(own.len() as i32), &mut counts[..]);
    let mut end = 0;
    let starts: Vec<i32> = counts
        .iter()
        .map(|count| {
            end += count;
            end - count
        })
        .collect();
    let mut all = vec![0_u8; end as usize];
    let mut parts = PartitionMut::new(&mut all[..], &counts[..], &starts[..]);
    world.all_gather_varcount_into(&own[..], &mut parts);
    starts.iter().map(|start| postcard::from_bytes(&all[*start as usize..])).collect()
}

fn garbled(rank: Rank, error: &postcard::Error) -> Failure {
    Failure::of(rank, format_args!("MPI has delivered something else than was sent: {error}"))
}

struct MpiControl {
    rank: Rank,
    world: SimpleCommunicator,
    announcer: Arc<Announcer>,
    finished: Cell<bool>,
    carriers: RefCell<Vec<Rc<RefCell<MpiCarrier>>>>,
}

/// Polls a request with pauses, so that other ranks get the core. `eagerly`: without pauses at first.
fn complete<'a, D: ?Sized, S: Scope<'a>>(mut request: Request<'a, D, S>, eagerly: bool) {
    let mut looks = if eagerly { EAGER } else { 0 };
    let mut pause = FIRST_PAUSE;
    while let Err(unfinished) = request.test() {
        request = unfinished;
        if looks > 0 {
            looks -= 1;
            thread::yield_now();
        } else {
            thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

impl MpiControl {
    /// Announces the failure if it happened here, and ends the job.
    fn end(&self, failure: &Failure) -> ! {
        if !failure.origin {
            // Meanwhile the rank that has failed should announce the failure and end the job.
            thread::sleep(WAIT_TO_BE_ENDED);
        }
        thread::sleep((STAGGER * self.rank.index() as u32).min(LONGEST_STAGGER));
        self.announcer.announce(failure);
        self.world.abort(1)
    }
}

impl ControlPlane for MpiControl {
    fn exchange(&self, contact: Contact) -> Result<Vec<Contact>, Failure> {
        gather(&self.world, &contact).map_err(|error| garbled(self.rank, &error))
    }

    fn finish(&self) -> Result<(), Failure> {
        if self.finished.replace(true) {
            return Ok(());
        }
        // All sends have been received, but MPI may not have reported it: other ranks poll until the barrier below.
        let mut pause = FIRST_PAUSE;
        while self.carriers.borrow().iter().any(|carrier| carrier.borrow_mut().is_busy()) {
            thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        complete(self.world.immediate_barrier(), false);
        Ok(())
    }

    fn fail(&self, failure: &Failure) {
        self.end(failure);
    }

    fn carrier(&self) -> Option<Held> {
        let carrier = Rc::new(RefCell::new(MpiCarrier::new(&self.world)));
        self.carriers.borrow_mut().push(carrier.clone());
        Some(carrier)
    }

    fn slowest(&self, times: [Duration; 2]) -> [Duration; 2] {
        let mine = times.map(|time| time.as_nanos() as u64);
        let mut all = mine;
        scope(|scope| {
            let max = SystemOperation::max();
            complete(self.world.immediate_all_reduce_into(scope, &mine[..], &mut all[..], max), true);
        });
        all.map(Duration::from_nanos)
    }

    /// Never called: mpirun kills a rank when another one fails.
    fn on_failure(&self, _: OnFailure) {}

    fn leave(&self) {}

    fn alarm(&self) -> Arc<dyn Fn(Failure) + Send + Sync> {
        // No MPI call: this is another thread. mpirun ends a job if a process ends without finalising MPI.
        let announcer = self.announcer.clone();
        Arc::new(move |failure| {
            announcer.announce(&failure);
            exit::immediately(1)
        })
    }
}
