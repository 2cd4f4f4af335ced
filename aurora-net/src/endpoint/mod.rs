//! The I/O loop of a rank: one lock, one place to sleep, and whoever waits drives.
//!
//! Who drives when, and why no wake-up is lost: `driving.rs`. What MPI carries, where it does: `rendezvous/`.
//!
//! # After [`Endpoint::close`]
//!
//! The daemon is gone, nothing arrives, nothing is sent: [`Endpoint::act`] still runs its closure, and what it queues
//! is dropped, lent payloads given back. What was still under way is forgotten: its memory is not read any more, and
//! not given back either. Transfers that others send to a closed endpoint vanish.

mod admission;
mod backoff;
mod core;
mod datagrams;
mod doorbell;
mod driving;
mod later;
mod lock;
mod poller;
mod rendezvous;
mod rings;
mod setup;
mod trace;

pub(crate) use poller::Waker;
pub(crate) use rendezvous::carrier;
pub(crate) use setup::Setup;

use self::driving::Shared;
use crate::udp::{UdpInfo, UdpPort};
use crate::{BulkInfo, Handler, Node, Outbox, Rank, Route, Traffic};
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// A rank's end of the transport. Clones are handles to the same one; dropping the last closes it.
///
/// Any thread may call any method, but only [`Endpoint::act_soon`] from inside a closure or a [`Handler`] method of the
/// same endpoint: the others panic there, they do not deadlock.
pub struct Endpoint<H: Handler> {
    owner: Arc<Owner<H>>,
}

impl<H: Handler> Clone for Endpoint<H> {
    fn clone(&self) -> Self {
        Endpoint { owner: self.owner.clone() }
    }
}

impl<H: Handler> fmt::Debug for Endpoint<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let me = self.owner.shared.me;
        f.debug_struct("Endpoint").field("rank", &me).finish_non_exhaustive()
    }
}

impl<H: Handler> Endpoint<H> {
    /// Runs `action` on the handler and sends what it queues, as far as flow control lets it; the rest follows by
    /// itself. Never waits for a peer.
    pub fn act<R>(&self, action: impl FnOnce(&mut H, &mut Outbox) -> R) -> R {
        let shared = &*self.owner.shared;
        let mut state = shared.enter();
        let (outcome, _) = state.core.run(action);
        shared.changed(&mut state);
        outcome
    }

    /// As [`Endpoint::act`], for what goes out of scope, wherever that may be: inside of a call of this endpoint by the
    /// same thread it is done when that call is over.
    pub fn act_soon(&self, action: impl FnOnce(&mut H, &mut Outbox) + Send + 'static) {
        let shared = &*self.owner.shared;
        if !shared.lock.is_mine() {
            return self.act(action);
        }
        shared.later.add(Box::new(action));
        // Whoever takes the lock next does it: the daemon, if nobody else comes.
        shared.poller.waker().kick();
    }

    /// Runs `condition` on the handler again and again, after everything that may have changed its answer, until it
    /// says `Some`. The calling thread drives the transport meanwhile.
    ///
    /// While it says `None`, `condition` may queue transfers but must not change what another waiter waits for.
    ///
    /// # Panics
    /// If the endpoint is closed, or its daemon has panicked, while the condition is not met: nothing could ever change
    /// it.
    pub fn wait<R>(&self, mut condition: impl FnMut(&mut H, &mut Outbox) -> Option<R>) -> R {
        self.owner.shared.wait_until(|core| core.run(&mut condition))
    }

    /// Until what this gives is dropped, the calling thread attends to the carrier that moves long transfers between
    /// nodes: those that it, or the daemon meanwhile, sends to ranks that attend too go by it. None where there is no
    /// carrier, or it is another thread's.
    ///
    /// For the time of one operation: the thread must not compute meanwhile, for others may wait for what it has to
    /// move. Dropping it waits until that has been moved, which needs nothing of the others but that they attend, as
    /// they do.
    pub fn attend(&self) -> Option<Attending<'_, H>> {
        let shared = &*self.owner.shared;
        shared.carrier()?;
        shared.lock.lock().core.attend();
        Some(Attending { shared, not_send: PhantomData })
    }

    /// Takes in what has arrived by now, for a thread that has no reason to wait: the daemon need not be woken for it.
    /// Does nothing where another thread waits, and does it.
    pub fn look(&self) {
        self.owner.shared.look();
    }

    /// Reads the handler, and what has passed by the same moment.
    pub fn read<R>(&self, read: impl FnOnce(&H) -> R) -> (R, Traffic) {
        let state = self.owner.shared.lock.lock();
        (read(state.core.handler()), state.core.traffic())
    }

    /// What has passed so far.
    pub fn traffic(&self) -> Traffic {
        self.owner.shared.lock.lock().core.traffic()
    }

    /// What the system has given us as a UDP socket, if there is one.
    pub fn udp(&self) -> Option<UdpInfo> {
        self.owner.shared.lock.lock().core.port().map(UdpPort::info)
    }

    /// The ranks that share this one's memory. This one alone where [`Route::Local`] or [`Route::Udp`] was asked for.
    pub fn node(&self) -> &Arc<Node> {
        &self.owner.node
    }

    /// On how many nodes the ranks of the job are.
    pub fn nodes(&self) -> usize {
        self.owner.nodes.count
    }

    /// The leader of each rank's node, by ranks: those with the same one share memory.
    pub fn leaders(&self) -> &[Rank] {
        &self.owner.nodes.leaders
    }

    /// The routes that lead from this rank to the others, best first.
    pub fn routes(&self) -> &[Route] {
        &self.owner.routes
    }

    /// What moves bulk data between the nodes, and why.
    pub fn bulk(&self) -> &BulkInfo {
        &self.owner.bulk
    }

    /// Ends the daemon and gives up queues and sockets. Closing again does nothing.
    ///
    /// To call when every rank has finished ([`Seat::finish`](crate::bootstrap::Seat::finish)): others may need the
    /// daemon until then.
    pub fn close(&self) {
        self.owner.close();
    }
}

/// A thread that attends to the carrier of long transfers, from [`Endpoint::attend`].
#[must_use = "the thread attends for as long as this lives"]
pub struct Attending<'a, H: Handler> {
    shared: &'a Shared<H>,
    /// The carrier is this thread's.
    not_send: PhantomData<*const ()>,
}

impl<H: Handler> Drop for Attending<'_, H> {
    fn drop(&mut self) {
        self.shared.lock.lock().core.attend_no_more();
        let moved = || self.shared.wait_until(|core| (core.may_leave().then_some(()), false));
        if !thread::panicking() {
            return moved();
        }
        // What others have been promised has nothing to do with the panic. What is taken in meanwhile may panic too:
        // that must not leave here, and there is less of it each time.
        while catch_unwind(AssertUnwindSafe(moved)).is_err() {}
    }
}

impl<H: Handler> fmt::Debug for Attending<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attending").field("rank", &self.shared.me).finish_non_exhaustive()
    }
}

/// What the handles share. The daemon shares only the inner part, so that dropping the last handle ends it.
struct Owner<H: Handler> {
    shared: Arc<Shared<H>>,
    daemon: Mutex<Option<JoinHandle<()>>>,
    node: Arc<Node>,
    nodes: Nodes,
    routes: Vec<Route>,
    bulk: BulkInfo,
}

/// Who is where.
pub(crate) struct Nodes {
    pub count: usize,
    /// Of each rank's node; itself where it shares its memory with nobody.
    pub leaders: Vec<Rank>,
}

impl<H: Handler> Owner<H> {
    fn close(&self) {
        self.shared.end();
        self.node.close();
        let daemon = self.daemon.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(daemon) = daemon
            && daemon.thread().id() != thread::current().id()
        {
            // It catches its panics.
            let _ = daemon.join();
        }
    }
}

impl<H: Handler> Drop for Owner<H> {
    fn drop(&mut self) {
        self.close();
    }
}
