mod clock;
mod reduce;
mod spread;
mod stats;

use crate::kernel::watch::Blocked;
use crate::kernel::{Kernel, Reason, Usage};
use crate::link::Link;
use crate::{Result, Site};
use aurora_net::bootstrap::Launcher;
use aurora_net::{BulkInfo, Endpoint, Rank, Route, Traffic, UdpInfo};
use std::cmp::Reverse;
use std::fmt;

/// A rank's handle of its job: the argument of the closure of [`run`](crate::run).
///
/// Neither `Clone`, `Send` nor `Sync`: a `World` and its shared objects belong to the thread that runs the closure.
/// Slices of their contents are ordinary data, which other threads may use inside a scope.
pub struct World {
    link: Link,
    about: JobInfo,
}

/// The launcher of a job, the routes between its ranks, and its nodes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JobInfo {
    /// The launcher of the ranks.
    pub launcher: Launcher,
    /// The number of nodes on which the ranks run: machines, or parts of a machine that cannot share memory.
    pub nodes: usize,
    /// This rank and the ranks that share memory with it, in ascending order.
    pub node_ranks: Vec<Rank>,
    /// The carriers of messages from this rank to other ranks: one route, or shared memory to the ranks of its node and
    /// UDP to all other ranks. Empty if there are no other ranks.
    pub routes: Vec<Route>,
    /// The carrier of long transfers between nodes, and the reason for its choice.
    pub bulk: BulkInfo,
    /// True if vectors lie in memory that all ranks share, so that a ReadCache copies nothing.
    pub shared: bool,
}

/// The messages that one line of the program cost.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LineUsage {
    /// The object; `None` for messages that belong to no object.
    pub object: Option<String>,
    /// The action: a behaviour, or a default access such as `at`.
    pub action: &'static str,
    /// The line of the program.
    pub site: Option<Site>,
    /// The messages and bytes of the line.
    pub usage: Usage,
}

impl std::fmt::Display for LineUsage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Usage { messages, bytes } = self.usage;
        let plural = if messages == 1 { "" } else { "s" };
        write!(f, "{messages} message{plural}, {bytes} bytes: {}", self.action)?;
        if let Some(object) = &self.object {
            write!(f, " of {object}")?;
        }
        match &self.site {
            Some(site) => write!(f, " at {site}"),
            None => Ok(()),
        }
    }
}

impl World {
    /// `timed`: calls are timed from the start, because the counters of all ranks will be printed.
    pub(crate) fn new(endpoint: Endpoint<Kernel>, me: Rank, size: usize, about: JobInfo, timed: bool) -> Self {
        World { link: Link::new(endpoint, me, size, timed), about }
    }

    /// Returns this rank.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// assert_eq!(world.all_gather(world.rank())?, [0, 1]); // of 2 ranks
    /// let mine = [5, 7][world.rank().index()]; // as a number
    /// assert_eq!(world.all_gather(mine)?, [5, 7]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("MPI_Comm_rank", "shmem_my_pe"))]
    pub fn rank(&self) -> Rank {
        self.link.me
    }

    /// Returns the number of ranks.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let all = world.all_gather(world.rank())?;
    /// assert_eq!(all.len(), world.size());
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("MPI_Comm_size", "shmem_n_pes"))]
    pub fn size(&self) -> usize {
        self.link.size
    }

    /// True on rank 0.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// if world.is_root() {
    ///     println!("printed once");
    /// }
    /// assert_eq!(world.is_root(), world.rank() == 0);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn is_root(&self) -> bool {
        self.link.me == 0
    }

    /// Returns the launcher of the job, the routes between its ranks, and its nodes.
    ///
    /// ```
    /// use aurora_core::Launcher;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let about = world.about();
    /// assert_eq!(about.launcher, Launcher::Threads); // by `Config::threads`
    /// assert!(about.node_ranks.contains(&world.rank()));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn about(&self) -> &JobInfo {
        &self.about
    }

    /// Returns true if the job is checked: [`Config::check`](crate::Config::check), `AURORA_CHECK`.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// Config::threads(2).check(true).run(|world| {
    ///     assert!(world.is_checked());
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn is_checked(&self) -> bool {
        self.link.modes.check
    }

    /// Collective. Returns when all ranks have called it. Writes before the barrier are visible after it. Scopes may be
    /// open at a barrier, if all ranks have them open.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 2)?;
    /// v.put(world.rank().index(), 7)?;
    /// world.barrier()?;
    /// assert_eq!((v.at(0)?, v.at(1)?), (7, 7)); // of 2 ranks
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Mismatch` if a rank is in another collective call, or has entered other scopes than this rank; `Leaked` if a
    /// rank holds a scope open that other ranks have ended; the error that ended the job.
    #[doc(alias("MPI_Barrier", "MPI_Win_fence", "GA_Sync", "shmem_barrier_all", "fence"))]
    #[track_caller]
    pub fn barrier(&self) -> Result<()> {
        self.link.synchronize("a barrier", &"a barrier", 0, None, &Site::here())
    }

    /// Returns the traffic of this rank's endpoint since the start: transfers, bytes, packets.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).route(aurora_core::Route::Udp).run(|world| {
    /// let before = world.traffic();
    /// world.barrier()?;
    /// let barrier = world.traffic() - before;
    /// assert!(barrier.transfers_out >= 1 && barrier.bytes_out < 10_000);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn traffic(&self) -> Traffic {
        self.link.endpoint.traffic()
    }

    /// Describes this rank's UDP socket, if it has one: buffers, longest datagram, offload.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).route(aurora_core::Route::Udp).run(|world| {
    /// let socket = world.udp().expect("these ranks use UDP");
    /// assert!(socket.address.ip().is_loopback()); // both ranks are on this machine
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn udp(&self) -> Option<UdpInfo> {
        self.link.endpoint.udp()
    }

    /// Returns the messages of this rank by line of the program, the largest number first. It shows where a behaviour
    /// would help. Dropped objects are included. Objects of one name that one line has made are counted together.
    ///
    /// Messages that this rank has sent because of the line are counted, not those that it has received: `at` sends
    /// only a request. `barrier` stands for any collective call: a barrier, a construction, a `fill`, a `gather_to` or
    /// a reduction. A reduction whose data is too long to travel with the barrier also has a line of its own.
    /// **Accesses without a message are not counted**: elements of ranks that share memory with this rank are read and
    /// written in place. So on one machine a loop of `at` and `put` looks free, and would send a message for each
    /// remote element on a cluster. Two settings show such accesses on one machine. With `AURORA_ROUTE=udp` (or
    /// [`Config::route`](crate::Config::route)) no memory is shared and each access is counted here. With
    /// `AURORA_SCALAR=deny` (or [`Config::deny_scalar`](crate::Config::deny_scalar)) the first access ends the job with
    /// its line.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(2).route(aurora_core::Route::Udp).run(|world| {
    ///     let v = GVector::<u64>::from_fn(world, 100, |i| i as u64)?;
    ///     for i in 0..v.len() {
    ///         v.at(i)?;
    ///     }
    ///     let usage = world.usage();
    ///     let most = &usage[0];
    ///     assert_eq!((most.action, most.usage.messages), ("at", 50)); // `println!("{most}")` says where
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn usage(&self) -> Vec<LineUsage> {
        let (usage, _) = self.link.read(|kernel| kernel.core.mail.counters.usage(|id| kernel.name_of(id)));
        let line = |((object, Reason { action, site, .. }), usage)| LineUsage { object, action, site, usage };
        let mut lines: Vec<_> = usage.into_iter().map(line).collect();
        lines.sort_by_key(|line| Reverse((line.usage.messages, line.usage.bytes)));
        lines
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// The end of the closure: waits until all ranks have ended it. `stats`: rank 0 prints the counters of all ranks.
    pub(crate) fn leave(&self, stats: bool, site: &Site) -> Result<()> {
        let call = self.link.bulk_call("end");
        self.link.on_kernel(site, |kernel, out| kernel.leave(out))?;
        let all_left = |kernel: &Kernel| kernel.core.others().all(|rank| kernel.has_left(rank));
        let is_over = |kernel: &Kernel| all_left(kernel) && !kernel.is_working();
        self.link.wait_kernel(Blocked::Leave, site, |kernel, _| is_over(kernel).then_some(Ok(())))?;
        drop(call);
        if stats {
            self.report_counters(site)?;
        }
        let deferred = self.link.endpoint.act(|kernel, _| {
            kernel.end();
            kernel.core.take_deferred()
        });
        deferred.map_or(Ok(()), Err)
    }

    /// The closure has failed: this rank serves and sends nothing any more.
    pub(crate) fn abandon(&self) {
        self.link.endpoint.act(|kernel, _| kernel.end());
    }
}

impl Drop for World {
    /// During a panic the other ranks know nothing of it yet, and an object that outlives `self` must wait for no rank.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.abandon();
        }
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "World({} of {})", self.link.me, self.link.size)
    }
}
