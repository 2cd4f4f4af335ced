//! The endpoint: a rank's I/O loop, with one lock and one epoll instance. Waiting threads drive it themselves.
#![doc = include_str!("README.md")]

mod admission;
mod backoff;
mod core;
mod datagrams;
mod driving;
mod later;
mod lock;
mod rendezvous;
mod rings;
mod setup;
mod trace;

pub(crate) use rendezvous::carrier;
pub(crate) use setup::Setup;

use self::core::Core;
use self::driving::Shared;
use self::rendezvous::Rendezvous;
use crate::udp::{UdpInfo, UdpPort};
use crate::{BulkInfo, Handler, Node, Outbox, Rank, Route, Traffic};
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// A rank's end of the transport. Clones are handles to the same endpoint; dropping the last one closes it.
///
/// Any thread may call any method. From inside a closure or a [`Handler`] method of the same endpoint, only
/// [`Endpoint::act_soon`] is permitted: the others panic instead of deadlocking.
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
    /// Runs `action` on the handler and sends the transfers that it queues, as far as flow control permits; the rest
    /// follows automatically. Never waits for a peer.
    pub fn act<R>(&self, action: impl FnOnce(&mut H, &mut Outbox) -> R) -> R {
        let (mut action, mut outcome) = (Some(action), None);
        self.owner.shared.act(&mut |handler, out| outcome = action.take().map(|action| action(handler, out)));
        outcome.expect("an action runs once")
    }

    /// Runs `action` like [`Endpoint::act`]. Wakes waiting threads only if the second result of `action` is true (it
    /// may have met the condition of a [wait](Endpoint::wait)), or if sending has called the handler.
    pub fn act_quietly<R>(&self, action: impl FnOnce(&mut H, &mut Outbox) -> (R, bool)) -> R {
        let (mut action, mut outcome) = (Some(action), None);
        self.owner.shared.act_quietly(&mut |handler, out| {
            let acted = action.take().map(|action| action(handler, out));
            let wakes = acted.as_ref().is_some_and(|(_, wakes)| *wakes);
            outcome = acted.map(|(acted, _)| acted);
            wakes
        });
        outcome.expect("an action runs once")
    }

    /// Runs `action` like [`Endpoint::act`]. If this thread is inside a call of this endpoint, the action runs after
    /// that call. For destructors, which may run anywhere.
    pub fn act_soon(&self, action: impl FnOnce(&mut H, &mut Outbox) + Send + 'static) {
        let shared = &*self.owner.shared;
        if !shared.lock.is_mine() {
            return self.act(action);
        }
        shared.act_later(Box::new(action));
    }

    /// Evaluates `condition` on the handler after every change until it returns `Some`. The calling thread drives the
    /// transport meanwhile. A `condition` that returns `None` may queue transfers, but must not change the result of
    /// another waiter's condition.
    ///
    /// # Panics
    /// If the endpoint is closed, or its daemon has panicked, while the condition is not met.
    pub fn wait<R>(&self, mut condition: impl FnMut(&mut H, &mut Outbox) -> Option<R>) -> R {
        let mut outcome = None;
        self.owner.shared.wait(&mut |handler, out| {
            outcome = condition(handler, out);
            outcome.is_some()
        });
        outcome.expect("a wait ends when its condition is met")
    }

    /// Makes the calling thread attend to the carrier, which moves long transfers between nodes, until the returned
    /// guard is dropped. Long transfers that this rank sends meanwhile to other attending ranks go by the carrier.
    /// `None` if there is no carrier, or it belongs to another thread.
    ///
    /// Hold the guard for one operation and do not compute meanwhile: other ranks may wait for this thread to poll the
    /// carrier. Dropping the guard waits until all accepted transfers are complete; their other ends attend too.
    pub fn attend(&self) -> Option<Attending<'_, H>> {
        let shared = &*self.owner.shared;
        shared.carrier()?;
        shared.lock.lock().core.rendezvous.iter_mut().for_each(Rendezvous::open);
        Some(Attending { shared, not_send: PhantomData })
    }

    /// Receives arrived transfers, so that the daemon need not be woken. Does nothing while another thread waits.
    pub fn look(&self) {
        self.owner.shared.look();
    }

    /// Runs `read` on the handler. Returns its result and the counters of the same moment.
    pub fn read<R>(&self, read: impl FnOnce(&H) -> R) -> (R, Traffic) {
        let state = self.owner.shared.lock.lock();
        (read(&state.core.handler), state.core.traffic())
    }

    /// The counters so far.
    pub fn traffic(&self) -> Traffic {
        self.owner.shared.lock.lock().core.traffic()
    }

    /// Properties of the UDP socket, if there is one.
    pub fn udp(&self) -> Option<UdpInfo> {
        self.owner.shared.lock.lock().core.port().map(UdpPort::info)
    }

    /// The ranks that share memory, including this one: this rank alone with [`Route::Local`] or [`Route::Udp`].
    pub fn node(&self) -> &Arc<Node> {
        &self.owner.node
    }

    /// The number of nodes of the job.
    pub fn nodes(&self) -> usize {
        self.owner.nodes.count
    }

    /// The leader of each rank's node, by rank. Ranks with the same leader share memory.
    pub fn leaders(&self) -> &[Rank] {
        &self.owner.nodes.leaders
    }

    /// The routes from this rank to the others, best first.
    pub fn routes(&self) -> &[Route] {
        &self.owner.routes
    }

    /// The carrier of bulk data between the nodes, and the reason for it.
    pub fn bulk(&self) -> &BulkInfo {
        &self.owner.bulk
    }

    /// Ends the daemon and closes queues and sockets. Closing again does nothing. Call this after
    /// [`Seat::finish`](crate::bootstrap::Seat::finish): until then other ranks may need the daemon.
    pub fn close(&self) {
        self.owner.close();
    }
}

/// A guard during which the calling thread attends to the carrier, from [`Endpoint::attend`].
#[must_use = "the thread attends for as long as this lives"]
pub struct Attending<'a, H: Handler> {
    shared: &'a Shared<H>,
    /// Not `Send`, since the carrier belongs to this thread.
    not_send: PhantomData<*const ()>,
}

impl<H: Handler> Drop for Attending<'_, H> {
    fn drop(&mut self) {
        self.shared.lock.lock().core.rendezvous.iter_mut().for_each(Rendezvous::shut);
        let may_leave = |core: &mut Core<H>| core.rendezvous.as_ref().is_none_or(Rendezvous::may_leave);
        let moved = || self.shared.wait_until(|core| (may_leave(core), false));
        if !thread::panicking() {
            return moved();
        }
        // Accepted transfers complete even during a panic. Handling them may panic again; each time less is left.
        while catch_unwind(AssertUnwindSafe(moved)).is_err() {}
    }
}

impl<H: Handler> fmt::Debug for Attending<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attending").field("rank", &self.shared.me).finish_non_exhaustive()
    }
}

/// The state shared by the handles. The daemon holds only `shared`, so dropping the last handle ends it.
struct Owner<H: Handler> {
    shared: Arc<Shared<H>>,
    daemon: Mutex<Option<JoinHandle<()>>>,
    node: Arc<Node>,
    nodes: Nodes,
    routes: Vec<Route>,
    bulk: BulkInfo,
}

pub(crate) struct Nodes {
    pub count: usize,
    /// By rank: the leader of its node; the rank itself if it shares memory with no other rank.
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
            // The daemon catches its panics.
            let _ = daemon.join();
        }
    }
}

impl<H: Handler> Drop for Owner<H> {
    fn drop(&mut self) {
        self.close();
    }
}
