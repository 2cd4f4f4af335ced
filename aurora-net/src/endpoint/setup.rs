//! From a rank's place in its job to an endpoint that reaches all others.

use super::core::{Core, Peer};
use super::datagrams::{Common, Datagrams};
use super::lock::Lock;
use super::poller::Poller;
use super::{Endpoint, Owner, Shared, State};
use crate::bootstrap::{self, Failure, Job};
use crate::local::{self, Inbox, LocalAddress};
use crate::route::{Contact, UdpContact};
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
    way: Way,
}

/// How it can be reached.
enum Way {
    /// There is nobody to reach it.
    Nobody,
    Local(LocalAddress, Inbox),
    Udp(UdpPort, UdpContact),
}

impl Setup {
    pub fn new(job: &Job, route: Route, transport: Transport) -> Result<Self, Error> {
        let poller = Poller::new().map_err(Error::system("make an epoll instance and a timer"))?;
        let way = match route {
            _ if job.size == 1 => Way::Nobody,
            Route::Local => {
                let (address, inbox) = local::queue(poller.waker().clone());
                Way::Local(address, inbox)
            }
            Route::Udp => {
                let port = UdpPort::bind(job.address, &transport)?;
                poller.watch_socket(port.fd()).map_err(Error::system("watch a UDP socket"))?;
                let (address, window) = (port.address(), port.window(job.size - 1));
                let contact = UdpContact { address, window, mtu: port.mtu().limit };
                Way::Udp(port, contact)
            }
        };
        Ok(Setup { me: job.rank, route, key: job.key.0, transport, poller, way })
    }

    /// What the others have to know.
    pub fn contact(&self) -> Contact {
        match &self.way {
            Way::Nobody => Contact::default(),
            Way::Local(address, _) => Contact { local: Some(address.clone()), udp: None },
            Way::Udp(_, contact) => Contact { local: None, udp: Some(*contact) },
        }
    }

    /// Connects to the others. `alarm` is told if the daemon panics.
    pub fn start<H: Handler>(
        self,
        handler: H,
        contacts: &[Contact],
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
        let (inbox, datagrams) = match self.way {
            Way::Nobody => (None, None),
            Way::Local(_, inbox) => (Some(inbox), None),
            Way::Udp(port, own) => {
                if let Some(advice) = port.info().advice().filter(|_| me == 0) {
                    // Once for the job: its machines are alike.
                    tracing::warn!("{advice}");
                }
                let Transport { silence, network, .. } = self.transport;
                let common = Common { me, key: self.key, silence, window: own.window, network };
                let contacts: Vec<_> = contacts.iter().map(|contact| contact.udp).collect();
                (None, Some(Datagrams::new(port, common, &contacts)))
            }
        };
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
        let owner = Arc::new(Owner { shared, daemon });
        Ok(Endpoint { owner })
    }
}
