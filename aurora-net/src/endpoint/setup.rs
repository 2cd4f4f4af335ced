//! From a rank's place in its job to an endpoint that reaches all others.

use super::core::{Core, Peer};
use super::datagrams::{Common, Datagrams};
use super::lock::Lock;
use super::poller::Poller;
use super::{Endpoint, Owner, Shared, State};
use crate::bootstrap::{self, Failure, Job};
use crate::local::{self, Inbox, LocalAddress};
use crate::route::{Contact, UdpContact};
use crate::shm::{Found, Node, Offer, ShmContact};
use crate::udp::UdpPort;
use crate::{Error, Handler, Rank, Route, Transport};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// An endpoint in the making: can be reached, but does not know the others yet.
pub(crate) struct Setup {
    me: Rank,
    route: Route,
    key: u64,
    transport: Transport,
    poller: Poller,
    local: Option<(LocalAddress, Inbox)>,
    udp: Option<(UdpPort, UdpContact)>,
    /// How the ranks of its node find it, where it shares memory with them.
    offer: Option<Offer>,
}

impl Setup {
    pub fn new(job: &Job, route: Route, transport: Transport) -> Result<Self, Error> {
        let poller = Poller::new().map_err(Error::system("make an epoll instance and a timer"))?;
        let (me, key) = (job.rank, job.key.0);
        let mut setup = Setup { me, route, key, transport, poller, local: None, udp: None, offer: None };
        if job.size == 1 {
            // There is nobody to reach it.
            return Ok(setup);
        }
        match route {
            Route::Local => setup.local = Some(local::queue(setup.poller.waker().clone())),
            Route::Udp => {
                let port = UdpPort::bind(job.address, &transport)?;
                setup.poller.watch_socket(port.fd()).map_err(Error::system("watch a UDP socket"))?;
                let (address, window) = (port.address(), port.window(job.size - 1));
                let contact = UdpContact { address, window, mtu: port.mtu().limit };
                setup.udp = Some((port, contact));
            }
        }
        if transport.route.is_none() {
            // Where the system does not let us, this rank shares its memory with nobody.
            setup.offer = Offer::new().ok();
        }
        Ok(setup)
    }

    /// What the others have to know.
    pub fn contact(&self) -> Contact {
        Contact {
            local: self.local.as_ref().map(|(address, _)| address.clone()),
            udp: self.udp.as_ref().map(|(_, contact)| *contact),
            shm: self.offer.as_ref().map(Offer::contact),
            leader: None,
        }
    }

    /// Collective. Finds the ranks of this node: `exchange` gives everyone's contact for this rank's.
    pub fn meet_mates(
        &mut self,
        contacts: &[Contact],
        exchange: impl FnOnce(Contact) -> Result<Vec<Contact>, Failure>,
    ) -> Result<Node, Error> {
        if contacts.iter().all(|contact| contact.shm.is_none()) {
            return Ok(Node::alone(self.me));
        }
        let offers: Vec<Option<ShmContact>> = contacts.iter().map(|contact| contact.shm).collect();
        let found = self.offer.take().map(|offer| offer.seek(self.me, self.key, &offers)).transpose()?;
        let leader = found.as_ref().map(Found::leader);
        let contacts = exchange(Contact { leader, ..Contact::default() })?;
        let leaders: Vec<Option<Rank>> = contacts.iter().map(|contact| contact.leader).collect();
        found.map_or_else(|| Ok(Node::alone(self.me)), |found| found.gather(&leaders))
    }

    /// Connects to the others. `alarm` is told if the daemon panics.
    pub fn start<H: Handler>(
        self,
        handler: H,
        contacts: &[Contact],
        node: Node,
        alarm: Arc<dyn Fn(Failure) + Send + Sync>,
    ) -> Result<Endpoint<H>, Error> {
        let me = self.me;
        let peers = contacts
            .iter()
            .enumerate()
            .map(|(index, contact)| match (self.route, contact) {
                _ if me == index => Ok(Peer::Nobody),
                (Route::Local, Contact { local: Some(address), .. }) => Ok(Peer::Local(address.clone())),
                (Route::Udp, Contact { udp: Some(_), .. }) => Ok(Peer::Udp),
                (route, _) => Err(Error::NoAddress { rank: Rank::new(index), route }),
            })
            .collect::<Result<Vec<_>, _>>()?;
        let inbox = self.local.map(|(_, inbox)| inbox);
        let datagrams = self.udp.map(|(port, own)| {
            if let Some(advice) = port.info().advice().filter(|_| me == 0) {
                // Once for the job: its machines are alike.
                tracing::warn!("{advice}");
            }
            let Transport { silence, network, .. } = self.transport;
            let common = Common { me, key: self.key, silence, window: own.window, network };
            let contacts: Vec<_> = contacts.iter().map(|contact| contact.udp).collect();
            Datagrams::new(port, common, &contacts)
        });
        let shared = Arc::new(Shared {
            me,
            poller: self.poller,
            lock: Lock::new(State {
                core: Core::new(me, handler, inbox, datagrams, peers),
                waiter: false,
                parked: 0,
                wants_room: false,
                timer: None,
                ended: false,
            }),
            notify: Condvar::new(),
        });
        // The handler may want to be called before anything arrives.
        shared.arrange(&mut shared.lock.lock());
        let daemon = thread::Builder::new()
            .name(format!("aurora-daemon-{}", me.index()))
            .spawn({
                let shared = shared.clone();
                move || {
                    if let Err(failure) = bootstrap::capture(me, || shared.daemon()) {
                        shared.end();
                        alarm(failure);
                    }
                }
            })
            .map_err(Error::system("start the daemon's thread"))?;
        let daemon = Mutex::new(Some(daemon));
        let owner = Arc::new(Owner { shared, daemon, node: Arc::new(node) });
        Ok(Endpoint { owner })
    }
}
