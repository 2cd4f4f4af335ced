//! The UDP side of an endpoint: a socket, and a connection to each peer that is reached through it.

use crate::proto::{self, Config, Connection, Event, Payloads, sender_of};
use crate::route::UdpContact;
use crate::udp::{Full, UdpPort};
use crate::wire::DatagramError;
use crate::{Handler, Outbox, Payload, Placement, Rank, Token, Traffic};
use bytes::Bytes;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Batches taken from the socket before others get a chance at the lock, and the peers their acknowledgements.
const BATCHES: usize = 2;

/// What all connections of a rank have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Common {
    pub me: Rank,
    pub key: u64,
    pub silence: Duration,
    /// What we have told the others that each may have in flight to us.
    pub window: u64,
}

pub(crate) struct Datagrams {
    port: UdpPort,
    me: Rank,
    key: u64,
    /// The time that the connections count from.
    origin: Instant,
    /// By rank; none to ourselves and to those that are reached otherwise.
    links: Vec<Option<Link>>,
    /// Where a train is put together.
    train: Vec<u8>,
    foreign: u64,
    corrupt: u64,
}

struct Link {
    connection: Connection,
    address: SocketAddr,
    /// It may have something to send.
    sends: bool,
    /// It may have something to say.
    tells: bool,
}

impl Link {
    fn touch(&mut self) {
        self.sends = true;
        self.tells = true;
    }
}

/// The handler's memory, as a connection sees it.
struct Memory<'a, H>(&'a mut H);

impl<H: Handler> Payloads for Memory<'_, H> {
    fn place(&mut self, from: Rank, header: &[u8], len: usize) -> Placement {
        self.0.place(from, header, len)
    }

    fn write(&mut self, token: Token, offset: usize, bytes: &[u8]) {
        self.0.write(token, offset, bytes);
    }

    fn read(&mut self, token: Token, offset: usize, into: &mut [u8]) -> bool {
        self.0.read(token, offset, into)
    }
}

impl Datagrams {
    /// Connections over `port` to everyone who has given a contact.
    pub fn new(port: UdpPort, common: Common, contacts: &[Option<UdpContact>]) -> Self {
        let origin = Instant::now();
        let links = contacts.iter().enumerate().map(|(index, contact)| {
            let contact = contact.filter(|_| common.me != index)?;
            let config = Config {
                mtu: port.mtu(),
                // Until the first acknowledgement both sides use the same number.
                window: common.window.min(contact.window),
                silence: common.silence,
                ..Config::new(common.key, common.me, Rank::new(index))
            };
            Some(Link {
                connection: Connection::new(config, proto::Instant::from_nanos(0)),
                address: contact.address,
                sends: false,
                tells: false,
            })
        });
        Datagrams {
            links: links.collect(),
            port,
            me: common.me,
            key: common.key,
            origin,
            train: Vec::new(),
            foreign: 0,
            corrupt: 0,
        }
    }

    pub fn port(&self) -> &UdpPort {
        &self.port
    }

    /// Queues a transfer.
    pub fn send(&mut self, to: Rank, header: Bytes, payload: Payload) {
        let link = self.links[to.index()].as_mut().expect("a peer that is reached by UDP");
        link.connection.send(header, payload);
        link.touch();
    }

    /// Takes datagrams from the socket. True: there may be more.
    pub fn receive(&mut self, now: Instant, handler: &mut impl Handler) -> bool {
        let now = self.moment(now);
        let mut more = true;
        for _ in 0..BATCHES {
            let (links, key) = (&mut self.links, self.key);
            let (foreign, corrupt) = (&mut self.foreign, &mut self.corrupt);
            more = self.port.receive(|datagram| {
                let outcome = sender_of(key, datagram).and_then(|from| {
                    let link = links.get_mut(from.index()).and_then(Option::as_mut);
                    // A rank that does not exist or is not reached this way: damaged, most likely.
                    let link = link.ok_or(DatagramError::Corrupt)?;
                    link.touch();
                    (link.connection).handle_datagram(now, datagram, &mut Memory(handler))
                });
                match outcome {
                    // One of a peer that has been given up is late, not damaged.
                    Ok(()) | Err(DatagramError::Lost) => {}
                    Err(DatagramError::ForeignKey) => *foreign += 1,
                    Err(_) => *corrupt += 1,
                }
            });
            if !more {
                break;
            }
        }
        more
    }

    /// Tells the connections the time whose time has come.
    pub fn handle_timeouts(&mut self, now: Instant) {
        let now = self.moment(now);
        for link in self.links.iter_mut().flatten() {
            if link.connection.poll_timeout().is_some_and(|due| due <= now) {
                link.connection.handle_timeout(now);
                link.touch();
            }
        }
    }

    /// When [`Datagrams::handle_timeouts`] is to be called, if at all.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let due = self.links.iter().flatten().filter_map(|link| link.connection.poll_timeout()).min()?;
        Some(self.origin + Duration::from_nanos(due.as_nanos()))
    }

    /// Tells the handler what the connections have to say. True: there was something.
    pub fn tell(&mut self, handler: &mut impl Handler, out: &mut Outbox, traffic: &mut Traffic) -> bool {
        let mut told = false;
        for (index, link) in self.links.iter_mut().enumerate() {
            let Some(link) = link.as_mut().filter(|link| link.tells) else {
                continue;
            };
            let from = Rank::new(index);
            while let Some(event) = link.connection.poll() {
                told = true;
                match event {
                    Event::Delivered { header, payload } => {
                        traffic.transfers_in += 1;
                        handler.deliver(from, &header, payload, out);
                    }
                    Event::Released(token) => handler.released(token, out),
                    Event::Silent { silent_for } => handler.peer_lost(from, silent_for, out),
                }
            }
            link.tells = false;
        }
        told
    }

    /// Sends what flow control and the socket permit: a train to each peer in turn, beginning after ourselves, so that no
    /// receiver is everyone's first.
    pub fn transmit(&mut self, now: Instant, handler: &mut impl Handler) {
        // Full: the poller says when to try again.
        let _ = self.try_transmit(now, handler);
    }

    fn try_transmit(&mut self, now: Instant, handler: &mut impl Handler) -> Result<(), Full> {
        self.port.send_rest()?;
        let now = self.moment(now);
        let size = self.links.len();
        let mut waiting = true;
        while std::mem::take(&mut waiting) {
            for rank in self.me.others(size) {
                let Some(link) = self.links[rank.index()].as_mut().filter(|link| link.sends) else {
                    continue;
                };
                self.train.clear();
                let segments = self.port.max_segments();
                let train = &mut self.train;
                let transmit = link.connection.poll_transmit(now, train, segments, &mut Memory(handler));
                // Building it may have found a payload withdrawn.
                link.tells = true;
                match transmit {
                    Some(transmit) => {
                        waiting = true;
                        self.port.send(link.address, transmit.segment_size, train)?;
                    }
                    None => link.sends = false,
                }
            }
        }
        Ok(())
    }

    /// Adds what is counted here.
    pub fn count(&self, traffic: &mut Traffic) {
        traffic.datagrams_foreign += self.foreign;
        traffic.datagrams_corrupt += self.corrupt;
        for link in self.links.iter().flatten() {
            let counters = link.connection.counters();
            traffic.packets_out += counters.packets_out;
            traffic.packets_resent += counters.packets_resent;
            traffic.bytes_in += counters.bytes_in;
        }
    }

    fn moment(&self, now: Instant) -> proto::Instant {
        let since = now.saturating_duration_since(self.origin);
        proto::Instant::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }
}
