//! The UDP side of an endpoint: the socket and a connection to each peer reached through it.

use super::admission::Admission;
use crate::proto::{self, Config, Connection, Connections, Event, Network, Payloads};
use crate::route::UdpContact;
use crate::spare::Spare;
use crate::udp::{Full, UdpPort};
use crate::wire::DatagramError;
use crate::{Handler, Loss, Outbox, Payload, Placement, Rank, Token, Traffic};
use bytes::Bytes;
use std::time::{Duration, Instant};

/// Batches received before the lock is released and acknowledgements are sent.
const BATCHES: usize = 2;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Common {
    pub me: Rank,
    pub key: u64,
    pub silence: Duration,
    /// The bytes that each peer may have in flight to this rank, as announced to the peers.
    pub window: u64,
    pub network: Network,
}

pub(crate) struct Datagrams {
    me: Rank,
    port: UdpPort,
    origin: Instant,
    connections: Connections,
    admission: Admission,
    train: Vec<u8>,
    spare: Spare,
    /// Messages between endpoints, which do not go to the handler.
    messages: Vec<(Rank, Vec<u8>)>,
    message_bytes: u64,
    lost: Vec<Rank>,
    foreign: u64,
    corrupt: u64,
}

/// The handler's memory and this endpoint's spare buffers, as a connection sees them.
struct Memory<'a, H>(&'a mut H, &'a mut Spare);

impl<H: Handler> Payloads for Memory<'_, H> {
    fn place(&mut self, from: Rank, header: &[u8], len: usize) -> Placement {
        match header {
            // A message between endpoints.
            [] => Placement::Buffer,
            header => self.0.place(from, header, len),
        }
    }

    fn buffer(&mut self, capacity: usize) -> Vec<u8> {
        self.1.take(capacity)
    }

    fn write(&mut self, token: Token, offset: usize, bytes: &[u8]) {
        self.0.write(token, offset, bytes);
    }

    fn read(&mut self, token: Token, offset: usize, into: &mut [u8]) -> bool {
        self.0.read(token, offset, into)
    }
}

impl Datagrams {
    pub fn new(port: UdpPort, common: Common, contacts: &[Option<UdpContact>]) -> Self {
        let others = |index: usize| contacts[index].filter(|_| common.me != index);
        let mut connections = Connections::new(common.key, common.me, contacts.len());
        for (index, contact) in (0..contacts.len()).filter_map(|index| Some((index, others(index)?))) {
            let peer = Rank::new(index);
            let config = Config {
                mtu: port.mtu().base.min(contact.mtu),
                mtu_limit: port.mtu().limit.min(contact.mtu),
                // Until the first acknowledgement both sides use the smaller window.
                window: common.window.min(contact.window),
                network: (!port.is_on_host()).then_some(common.network),
                peers: contacts.len() - 1,
                silence: common.silence,
                ..Config::new(common.key, common.me, peer)
            };
            connections.connect(peer, Connection::new(config, proto::Instant::from_nanos(0)));
        }
        let addresses = (0..contacts.len()).map(|index| others(index).map(|contact| contact.address));
        Datagrams {
            me: common.me,
            connections,
            admission: Admission::new(common.key, addresses.collect()),
            port,
            origin: Instant::now(),
            train: Vec::new(),
            spare: Spare::default(),
            messages: Vec::new(),
            message_bytes: 0,
            lost: Vec::new(),
            foreign: 0,
            corrupt: 0,
        }
    }

    pub fn port(&self) -> &UdpPort {
        &self.port
    }

    pub fn send(&mut self, to: Rank, header: Bytes, payload: Payload) {
        self.connections.send(to, header, payload);
    }

    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.spare.keep(buffer);
    }

    /// Receives datagrams from the socket. True: more may be waiting.
    pub fn receive(&mut self, now: Instant, handler: &mut impl Handler) -> bool {
        let now = self.moment(now);
        let mut more = true;
        for _ in 0..BATCHES {
            let (connections, admission, spare) = (&mut self.connections, &mut self.admission, &mut self.spare);
            let (foreign, corrupt) = (&mut self.foreign, &mut self.corrupt);
            more = self.port.receive(|source, datagram| {
                let admitted = admission.admit(source, datagram);
                match admitted.and_then(|()| connections.handle_datagram(now, datagram, &mut Memory(handler, spare))) {
                    // A late datagram of a lost peer is not damaged.
                    Ok(()) | Err(DatagramError::Lost) => {}
                    Err(DatagramError::ForeignKey | DatagramError::ForeignAddress { .. }) => *foreign += 1,
                    Err(_) => *corrupt += 1,
                }
            });
            if !more {
                break;
            }
        }
        more
    }

    pub fn handle_timeouts(&mut self, now: Instant) {
        let now = self.moment(now);
        self.connections.handle_timeouts(now);
    }

    pub fn poll_timeout(&mut self) -> Option<Instant> {
        let due = self.connections.poll_timeout()?;
        Some(self.origin + Duration::from_nanos(due.as_nanos()))
    }

    pub fn lull(&self) -> Option<Duration> {
        self.connections.lull()
    }

    /// Passes the connections' events to the handler. True: there were some.
    pub fn deliver_events(&mut self, handler: &mut impl Handler, out: &mut Outbox, traffic: &mut Traffic) -> bool {
        let mut called = false;
        while let Some((from, event)) = self.connections.poll() {
            called = true;
            match event {
                Event::Delivered { header, payload } if header.is_empty() => {
                    let message = payload.into_vec();
                    self.message_bytes += message.len() as u64;
                    self.messages.push((from, message));
                }
                Event::Delivered { header, payload } => {
                    traffic.transfers_in += 1;
                    handler.deliver(from, &header, payload, out);
                }
                Event::Released(token) => handler.released(token, out),
                Event::Silent { silent_for } => {
                    let heard = self.connections.connection(from).is_some_and(|peer| peer.counters().packets_in > 0);
                    let address = self.admission.address(from).expect("every connected peer has an address");
                    let loss = Loss { silent_for, trouble: self.port.trouble(self.me, address, heard) };
                    handler.peer_lost(from, loss, out);
                    self.lost.push(from);
                }
            }
        }
        called
    }

    pub fn send_message(&mut self, to: Rank, message: Bytes) {
        self.connections.send(to, Bytes::new(), Payload::Bytes(message));
    }

    /// Takes the messages that were received, and the peers that were lost, since the last call.
    pub fn messages(&mut self) -> (Vec<(Rank, Vec<u8>)>, Vec<Rank>) {
        (std::mem::take(&mut self.messages), std::mem::take(&mut self.lost))
    }

    pub fn transmit(&mut self, now: Instant, handler: &mut impl Handler) {
        // `Full`: the poller reports when there is room again. This wait paces bulk data at the interface's rate.
        let _ = self.try_transmit(now, handler);
    }

    fn try_transmit(&mut self, now: Instant, handler: &mut impl Handler) -> Result<(), Full> {
        self.port.send_rest()?;
        let now = self.moment(now);
        let trains = self.port.trains();
        loop {
            self.train.clear();
            let transmit =
                self.connections.poll_transmit(now, &mut self.train, trains, &mut Memory(handler, &mut self.spare));
            let Some((to, transmit)) = transmit else {
                return Ok(());
            };
            let address = self.admission.address(to).expect("every connected peer has an address");
            self.port.send(address, transmit.segment_size, &self.train)?;
        }
    }

    pub fn count(&self, traffic: &mut Traffic) {
        traffic.datagrams_foreign += self.foreign;
        traffic.datagrams_corrupt += self.corrupt;
        for connection in self.connections.connections() {
            let counters = connection.counters();
            traffic.packets_out += counters.packets_out;
            traffic.packets_resent += counters.packets_resent;
            traffic.bytes_in += counters.bytes_in;
        }
        traffic.bytes_in = traffic.bytes_in.saturating_sub(self.message_bytes);
    }

    fn moment(&self, now: Instant) -> proto::Instant {
        let since = now.saturating_duration_since(self.origin);
        proto::Instant::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }
}
