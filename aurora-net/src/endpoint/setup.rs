//! Creates a rank's endpoint and connects it to all others.

use super::core::{Core, Peer, Ways};
use super::datagrams::{Common, Datagrams};
use super::driving::{Shared, State};
use super::later::Later;
use super::lock::Lock;
use super::rendezvous::Rendezvous;
use super::rendezvous::carrier::{Carriage, register};
use super::rings::Rings;
use super::{Endpoint, Nodes, Owner, trace};
use crate::bootstrap::{self, Failure, Job, Launcher};
use crate::key::JobKey;
use crate::local::{self, Inbox, LocalAddress};
use crate::poller::Poller;
use crate::route::{Contact, UdpContact};
use crate::shm::{Found, Node, Offer, ShmContact};
use crate::udp::UdpPort;
use crate::{Bulk, BulkInfo, Error, Handler, Rank, Route, Transport};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// After a rank's death or abort, mpirun ends the remaining ranks and reports the cause within this time.
const MPIRUN_ENDS_ALL: Duration = Duration::from_secs(2);

/// The time that a rank waits for rank 0's notice of a failure before it reports an ended node peer as the cause: a
/// rank that ends because of a failure may be gone before that notice arrives.
const CAUSE_IS_HEARD: Duration = Duration::from_millis(100);

/// An endpoint whose sockets exist, but which does not know the other ranks yet.
pub(crate) struct Setup {
    me: Rank,
    key: JobKey,
    transport: Transport,
    poller: Arc<Poller>,
    local: Option<(LocalAddress, Inbox)>,
    udp: Option<(UdpPort, UdpContact)>,
    /// The reason why there is no socket; `None` if there is one, or none is requested.
    no_udp: Option<Error>,
    offer: Option<Offer>,
    grace: Duration,
}

impl Setup {
    pub fn new(job: &Job, transport: Transport) -> Result<Self, Error> {
        let poller = Poller::new().map(Arc::new).map_err(Error::system("make an epoll instance and a timer"))?;
        let grace = match job.launcher {
            Launcher::Mpi => MPIRUN_ENDS_ALL,
            Launcher::Processes => CAUSE_IS_HEARD,
            Launcher::Threads => Duration::ZERO,
        };
        let (me, key) = (job.rank, job.key);
        let mut setup = Setup { me, key, transport, poller, local: None, udp: None, no_udp: None, offer: None, grace };
        if job.size == 1 {
            return Ok(setup);
        }
        // Threads that simulate several machines have no queues to each other.
        let threads = job.launcher == Launcher::Threads && transport.ranks_per_node.is_none();
        if transport.route == Some(Route::Local) || (transport.route.is_none() && threads) {
            setup.local = Some(local::queue(setup.poller.waker().clone()));
        }
        if transport.route == Some(Route::Udp) || (transport.route.is_none() && !threads) {
            match UdpPort::bind(job.address, &transport) {
                Ok(port) => {
                    let (address, window) = (port.address(), port.window(job.size - 1));
                    let contact = UdpContact { address, window, mtu: port.mtu().limit };
                    setup.udp = Some((port, contact));
                }
                Err(error @ (Error::OpenFiles { .. } | Error::MtuAllowed { .. })) => return Err(error),
                // Ranks that share memory need no socket.
                Err(error) if transport.route.is_none() => setup.no_udp = Some(error),
                Err(error) => return Err(error),
            }
        }
        let offer = match transport.route {
            None => match Offer::new() {
                Ok(offer) => Some(offer),
                Err(error @ Error::OpenFiles { .. }) => return Err(error),
                // If the system refuses a socket or shared memory, there is UDP.
                Err(error) => {
                    if job.rank == 0 {
                        tracing::warn!("{error}; ranks of one machine use UDP, which is slower");
                    }
                    None
                }
            },
            Some(Route::Shm) => Some(Offer::new()?),
            Some(Route::Local | Route::Udp) => None,
        };
        let machine = transport.ranks_per_node.map_or(0, |ranks| job.rank.index() / ranks.max(1));
        setup.offer = offer.map(|offer| offer.on_machine(machine));
        Ok(setup)
    }

    pub fn contact(&self) -> Contact {
        Contact {
            local: self.local.as_ref().map(|(address, _)| address.clone()),
            udp: self.udp.as_ref().map(|(_, contact)| *contact),
            shm: self.offer.as_ref().map(Offer::contact),
            leader: None,
            bulk: Bulk::default(),
        }
    }

    /// Collective. Discovers this node's ranks and each rank's leader. `None`: no rank can share memory.
    pub fn discover_node(
        &mut self,
        contacts: &[Contact],
        exchange: impl FnOnce(Contact) -> Result<Vec<Contact>, Failure>,
    ) -> Result<Option<(Node, Vec<Rank>)>, Error> {
        if contacts.iter().all(|contact| contact.shm.is_none()) {
            return Ok(None);
        }
        let offers: Vec<Option<ShmContact>> = contacts.iter().map(|contact| contact.shm).collect();
        let waker = self.poller.waker();
        let found = self.offer.take().map(|offer| offer.seek(self.me, self.key, &offers, waker.clone())).transpose()?;
        let leader = found.as_ref().map(Found::leader);
        let contacts = exchange(Contact { leader, ..Contact::default() })?;
        let leaders: Vec<Option<Rank>> = contacts.iter().map(|contact| contact.leader).collect();
        let node = match found {
            Some(found) => found.gather(&leaders, self.grace)?,
            None => Node::alone(self.me),
        };
        let leaders = leaders.into_iter().enumerate().map(|(index, leader)| leader.unwrap_or(Rank::new(index)));
        Ok(Some((node, leaders.collect())))
    }

    /// Connects to the other ranks. A carrier belongs to the calling thread. `alarm` is called if the daemon panics.
    pub fn start<H: Handler>(
        mut self,
        handler: H,
        contacts: &[Contact],
        (node, nodes): (Node, Nodes),
        (bulk, carriage): (BulkInfo, Option<Carriage>),
        alarm: Arc<dyn Fn(Failure) + Send + Sync>,
    ) -> Result<Endpoint<H>, Error> {
        let me = self.me;
        let node = Arc::new(node);
        let mut rings = Rings::new(&node, self.transport.silence, self.grace);
        let peers = (0..contacts.len())
            .map(|index| self.peer(Rank::new(index), &contacts[index], rings.as_ref()))
            .collect::<Result<Vec<_>, _>>()?;
        let by = |route: fn(&Peer) -> bool| peers.iter().any(route);
        if !by(|peer| matches!(peer, Peer::Shm(_))) {
            rings = None;
        }
        if rings.is_some() {
            for end in node.ends() {
                self.poller.watch_end(end).map_err(Error::system("watch a connection to a node peer"))?;
            }
        }
        let datagrams = self.udp.filter(|_| by(|peer| matches!(peer, Peer::Udp))).map(|(port, own)| {
            let Transport { silence, network, .. } = self.transport;
            let common = Common { me, key: self.key.mark(), silence, window: own.window, network };
            let by_udp = |(contact, peer): (&Contact, &Peer)| contact.udp.filter(|_| matches!(peer, Peer::Udp));
            let contacts: Vec<_> = contacts.iter().zip(&peers).map(by_udp).collect();
            Datagrams::new(port, common, &contacts)
        });
        if let Some(datagrams) = &datagrams {
            self.poller.watch(datagrams.port().fd()).map_err(Error::system("watch a UDP socket"))?;
        }
        let used = [
            (Route::Local, by(|peer| matches!(peer, Peer::Local(_)))),
            (Route::Shm, rings.is_some()),
            (Route::Udp, datagrams.is_some()),
        ];
        let routes = used.into_iter().filter(|(_, used)| *used).map(|(route, _)| route).collect();
        let ways = Ways { inbox: self.local.map(|(_, inbox)| inbox), rings, datagrams };
        let carriage = carriage.filter(|_| ways.datagrams.is_some());
        let rendezvous = carriage.as_ref().map(|carriage| Rendezvous::new(carriage.from, self.transport.silence));
        let shared = Arc::new(Shared {
            me,
            poller: self.poller.clone(),
            control: node.control().cloned(),
            spin: ways.rings.as_ref().map(|_| match ways.datagrams {
                None => node.budget(),
                Some(_) => node.budget().beside_a_network(),
            }),
            lock: Lock::new(State {
                core: Core::new(me, handler, ways, peers, rendezvous, self.poller),
                waiter: false,
                turns: 0,
                parked: 0,
                wants_room: false,
                timer: None,
                ended: false,
            }),
            later: Later::default(),
            notify: Condvar::new(),
            is_carried: carriage.is_some(),
        });
        if let Some(carriage) = &carriage {
            register(shared.address(), &carriage.carrier);
        }
        // The handler may already have a timeout.
        shared.arrange(&mut shared.lock.lock());
        let daemon = thread::Builder::new()
            .name(format!("aurora-daemon-{}", me.index()))
            .spawn({
                let shared = shared.clone();
                trace::listening_as_here(move || {
                    if let Err(failure) = bootstrap::capture(me, || shared.daemon()) {
                        shared.end();
                        alarm(failure);
                    }
                })
            })
            .map_err(Error::starting("start the daemon's thread"))?;
        let daemon = Mutex::new(Some(daemon));
        let owner = Arc::new(Owner { shared, daemon, node, nodes, routes, bulk });
        Ok(Endpoint { owner })
    }

    fn peer(&mut self, rank: Rank, contact: &Contact, rings: Option<&Rings>) -> Result<Peer, Error> {
        if rank == self.me {
            return Ok(Peer::Unreachable);
        }
        let asked = self.transport.route;
        let may = |route| asked.is_none_or(|asked| asked == route);
        let peer = rings.and_then(|rings| rings.find(rank));
        match (&contact.local, peer, contact.udp) {
            (Some(address), ..) if may(Route::Local) => Ok(Peer::Local(address.clone())),
            (_, Some(peer), _) if may(Route::Shm) => Ok(Peer::Shm(peer)),
            (.., Some(_)) if may(Route::Udp) && self.udp.is_some() => Ok(Peer::Udp),
            _ if asked == Some(Route::Shm) && contact.shm.is_some() => Err(Error::OtherNode { rank }),
            _ => {
                let there = || Error::NoAddress { rank, route: asked.unwrap_or(Route::Udp) };
                Err(self.no_udp.take().unwrap_or_else(there))
            }
        }
    }
}
