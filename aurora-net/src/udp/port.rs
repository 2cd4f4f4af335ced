//! A rank's UDP socket.

use super::UdpInfo;
use super::address::interface_of;
use super::mtu::Mtu;
use crate::charge::charge;
use crate::proto::Trains;
use crate::{Error, Rank, Transport, UdpTrouble};
use quinn_udp::{RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::HashMap;
use std::fmt;
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

/// The maximum number of messages received by one call.
const BATCH: usize = 8;

/// The longest message, joined by GRO or not.
const LONGEST: usize = 64 << 10;

/// The longest train of datagrams in one send call, in bytes.
const LONGEST_TRAIN: usize = 65_000;

/// The longest train if trains of several senders may meet in a short switch queue: a quarter of 32 KiB.
const TRAIN_IN_TURNS: usize = 8 << 10;

/// The receive buffer to request. Linux doubles it and charges each datagram's overhead to it.
const RECEIVE_BUFFER: usize = 4 << 20;

/// The send buffer on a real interface. It is small, so that a full interface queue is noticed here and not in a
/// switch, and small transfers do not wait long behind bulk data. Linux doubles it and charges each packet's overhead:
/// room for 8 packets of 9000 bytes, which take 4 ms at 155 Mbit/s.
const SEND_BUFFER: usize = 64 << 10;

/// The largest useful number of bytes in flight to one peer.
const LARGEST_WINDOW: u64 = 1 << 20;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    Host,
    Network,
}

impl Reach {
    pub fn of(address: IpAddr) -> Self {
        if address.is_loopback() { Reach::Host } else { Reach::Network }
    }
}

/// The send buffer is full. The datagrams that did not fit are kept and go first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Full;

#[derive(Debug)]
struct Unsent {
    to: SocketAddr,
    segment_size: usize,
    bytes: Vec<u8>,
}

pub(crate) struct UdpPort {
    socket: Socket,
    offload: UdpSocketState,
    reach: Reach,
    mtu: Mtu,
    address: SocketAddr,
    receive_buffer_wanted: usize,
    arrived: Vec<u8>,
    unsent: Option<Unsent>,
    /// Destinations to which the last call has failed.
    unreached: HashMap<SocketAddr, Failing>,
    /// The failures to receive, if the last call has failed.
    deaf: Option<Failing>,
}

/// Calls that have failed in a row, the last one with this error.
#[derive(Clone, Copy, Debug, Default)]
struct Failing {
    calls: u64,
    errno: i32,
}

impl Failing {
    fn again(&mut self, error: &io::Error) {
        self.calls += 1;
        self.errno = error.raw_os_error().unwrap_or_default();
    }
}

impl fmt::Debug for UdpPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UdpPort").field("address", &self.address).finish_non_exhaustive()
    }
}

impl UdpPort {
    pub fn bind(ip: IpAddr, transport: &Transport) -> Result<Self, Error> {
        Self::bind_to(SocketAddr::new(ip, 0), transport)
    }

    fn bind_to(address: SocketAddr, transport: &Transport) -> Result<Self, Error> {
        let reach = Reach::of(address.ip());
        let doing = "make a UDP socket";
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))
            .map_err(Error::system(doing))?;
        socket.bind(&address.into()).map_err(|source| Error::Bind { address, source })?;
        let mtu = Mtu::of(address.ip(), transport.mtu)?;
        // A refused size is visible in `info`.
        let receive_buffer = transport.receive_buffer.unwrap_or(RECEIVE_BUFFER);
        let _ = socket.set_recv_buffer_size(receive_buffer);
        if reach == Reach::Network {
            let _ = socket.set_send_buffer_size(SEND_BUFFER);
        }
        let offload = UdpSocketState::new(UdpSockRef::from(&socket)).map_err(Error::system(doing))?;
        let address = socket.local_addr().map_err(Error::system(doing))?;
        Ok(UdpPort {
            address: address.as_socket().expect("a UDP socket has an address"),
            socket,
            offload,
            reach,
            mtu,
            // Linux doubles the requested value.
            receive_buffer_wanted: 2 * receive_buffer,
            arrived: vec![0; BATCH * LONGEST],
            unsent: None,
            unreached: HashMap::new(),
            deaf: None,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub fn mtu(&self) -> Mtu {
        self.mtu
    }

    pub fn window(&self, peers: usize) -> u64 {
        window(self.info().receive_buffer, peers, self.mtu)
    }

    pub fn trains(&self) -> Trains {
        let in_turns = if self.is_on_host() { LONGEST_TRAIN } else { TRAIN_IN_TURNS };
        Trains { segments: self.offload.max_gso_segments(), alone: LONGEST_TRAIN, in_turns }
    }

    pub fn is_on_host(&self) -> bool {
        self.reach == Reach::Host
    }

    pub fn info(&self) -> UdpInfo {
        UdpInfo {
            address: self.address,
            receive_buffer: self.socket.recv_buffer_size().unwrap_or(0),
            receive_buffer_wanted: self.receive_buffer_wanted,
            send_buffer: self.socket.send_buffer_size().unwrap_or(0),
            mtu: self.mtu.base,
            mtu_limit: self.mtu.limit,
            gso_segments: self.offload.max_gso_segments(),
            gro: self.offload.gro_segments() > 1,
        }
    }

    /// Receives at most one batch and calls `datagram` for each datagram and its source. True: more may be waiting.
    pub fn receive(&mut self, mut datagram: impl FnMut(SocketAddr, &[u8])) -> bool {
        let mut meta = [RecvMeta::default(); BATCH];
        let mut buffers = self.arrived.chunks_exact_mut(LONGEST).map(IoSliceMut::new);
        let mut buffers: [IoSliceMut<'_>; BATCH] =
            std::array::from_fn(|_| buffers.next().expect("one buffer for each message"));
        let socket = UdpSockRef::from(&self.socket);
        let count = match self.offload.recv(socket, &mut buffers, &mut meta) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => {
                let failing = self.deaf.get_or_insert_default();
                failing.again(&error);
                // An ICMP error for an earlier send comes once. If the system always refuses, stop asking.
                return failing.calls < BATCH as u64;
            }
        };
        self.deaf = None;
        for (meta, buffer) in meta[..count].iter().zip(&buffers) {
            match meta.len {
                0 => datagram(meta.addr, &[]),
                len => buffer[..len].chunks(meta.stride).for_each(|bytes| datagram(meta.addr, bytes)),
            }
        }
        // A short batch means that the socket is empty; later arrivals are new events.
        count == BATCH
    }

    /// Sends `bytes` as datagrams of `segment_size` bytes, of which the last may be shorter. [`Full`]: they are kept,
    /// and [`UdpPort::send_rest`] must succeed before anything else is sent.
    pub fn send(&mut self, to: SocketAddr, segment_size: usize, bytes: &[u8]) -> Result<(), Full> {
        debug_assert!(self.unsent.is_none(), "the rest goes first");
        self.try_send(to, segment_size, bytes)
            .inspect_err(|Full| self.unsent = Some(Unsent { to, segment_size, bytes: bytes.to_vec() }))
    }

    /// Sends the datagrams that an earlier [`UdpPort::send`] has kept. [`Full`]: they are still kept.
    pub fn send_rest(&mut self) -> Result<(), Full> {
        let Some(unsent) = self.unsent.take() else {
            return Ok(());
        };
        self.try_send(unsent.to, unsent.segment_size, &unsent.bytes).inspect_err(|Full| self.unsent = Some(unsent))
    }

    pub fn is_full(&self) -> bool {
        self.unsent.is_some()
    }

    /// The reason why this `rank` does not reach a silent peer, if the rank's socket knows.
    pub fn trouble(&self, rank: Rank, to: SocketAddr, was_heard: bool) -> Option<UdpTrouble> {
        let sends = self.unreached.get(&to).map(|failing| (Some(to), *failing));
        let interface = || interface_of(self.address.ip());
        match sends.or(self.deaf.map(|failing| (None, failing))) {
            Some((to, Failing { calls, errno })) => {
                Some(UdpTrouble::Refused { rank, interface: interface(), to, calls, errno })
            }
            None if was_heard => None,
            None => Some(UdpTrouble::NeverHeard { rank, interface: interface(), to }),
        }
    }

    fn try_send(&mut self, destination: SocketAddr, segment_size: usize, bytes: &[u8]) -> Result<(), Full> {
        let transmit =
            |contents| Transmit { destination, ecn: None, contents, segment_size: Some(segment_size), src_ip: None };
        let outcome = self.offload.try_send(UdpSockRef::from(&self.socket), &transmit(bytes));
        let outcome = match outcome {
            // The interface does not support it after all: `offload` now sends single datagrams.
            Err(_) if bytes.len() > segment_size && self.offload.max_gso_segments() == 1 => bytes
                .chunks(segment_size)
                .try_for_each(|one| self.offload.try_send(UdpSockRef::from(&self.socket), &transmit(one))),
            outcome => outcome,
        };
        match outcome {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(Full),
            // Too long for this path: a probe of its MTU.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::MSGSIZE) => Ok(()),
            // Any other error counts as loss.
            Err(error) => {
                self.unreached.entry(destination).or_default().again(&error);
                Ok(())
            }
            Ok(()) => {
                if !self.unreached.is_empty() {
                    self.unreached.remove(&destination);
                }
                Ok(())
            }
        }
    }
}

/// The bytes that each of `peers` may have in flight to a socket with `receive_buffer` bytes (in Linux's accounting):
/// together half of it, at least two datagrams each.
fn window(receive_buffer: usize, peers: usize, mtu: Mtu) -> u64 {
    let share = (receive_buffer / 2 / peers.max(1)) as u64;
    let two = 2 * charge(mtu.base) as u64;
    share.clamp(two, LARGEST_WINDOW)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn all_peers_together_fit_half_the_buffer() {
        let ethernet = Mtu { base: 1472, limit: 8972 };
        for peers in 1..200 {
            let window = window(8 << 20, peers, ethernet);
            assert!(window * peers as u64 <= 4 << 20 && window >= 4864, "{peers}: {window}");
        }
        assert_eq!(window(8 << 20, 1, ethernet), 1 << 20);
        assert_eq!(window(4096, 100, ethernet), 4864);
    }

    fn port() -> UdpPort {
        UdpPort::bind(Ipv4Addr::LOCALHOST.into(), &Transport::default()).unwrap()
    }

    fn receive_all(port: &mut UdpPort, count: usize) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while found.len() < count {
            assert!(std::time::Instant::now() < deadline, "{} of {count}", found.len());
            port.receive(|_, datagram| found.push(datagram.to_vec()));
        }
        found
    }

    #[test]
    fn a_train_arrives_as_the_datagrams_that_it_was_made_of() {
        let (mut from, mut to) = (port(), port());
        let bytes: Vec<u8> = (0..2500_u32).map(|at| (at / 1000) as u8).collect();
        from.send(to.address(), 1000, &bytes).unwrap();
        from.send(to.address(), 1000, &[9; 10]).unwrap();
        let found = receive_all(&mut to, 4);
        assert_eq!(found, [vec![0; 1000], vec![1; 1000], vec![2; 500], vec![9; 10]]);
        assert!(!to.receive(|_, _| panic!("nothing more")));
    }

    #[test]
    fn a_port_in_use_is_a_typed_error() {
        let taken = port();
        let error = UdpPort::bind_to(taken.address(), &Transport::default()).unwrap_err();
        assert!(matches!(error, Error::Bind { address, .. } if address == taken.address()));
        assert!(error.to_string().contains("a port in use"), "{error}");
    }

    #[test]
    fn a_send_that_cannot_work_is_a_loss_that_is_remembered_until_one_works() {
        let (mut from, to) = (port(), port());
        let nowhere = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
        let me = Rank::new(3);
        assert_eq!(from.trouble(me, nowhere, true), None);
        for calls in 1..3 {
            assert_eq!(from.send(nowhere, 100, &[0; 100]), Ok(()));
            from.send(to.address(), 100, &[0; 100]).unwrap();
            let errno = Errno::INVAL.raw_os_error();
            let interface = "the interface lo (127.0.0.1)".into();
            let refused = UdpTrouble::Refused { rank: me, interface, to: Some(nowhere), calls, errno };
            assert_eq!(from.trouble(me, nowhere, true), Some(refused));
        }
        assert_eq!(from.trouble(me, to.address(), true), None);
        let never = from.trouble(me, to.address(), false).unwrap().to_string();
        assert!(never.starts_with("no UDP datagram has ever come to rank 3 from 127.0.0.1:"), "{never}");
        assert!(never.contains(" by the interface lo (127.0.0.1)"), "{never}");
        // A destination that works again is not reported any more.
        from.unreached.insert(to.address(), Failing { calls: 7, errno: 1 });
        let error = from.trouble(me, to.address(), false).unwrap().to_string();
        assert!(error.contains("7 calls in a row have failed, with `Operation not permitted (os error 1)`"), "{error}");
        from.send(to.address(), 100, &[0; 100]).unwrap();
        assert_eq!(from.trouble(me, to.address(), true), None);
    }

    #[test]
    fn the_longest_train_is_taken() {
        let (mut from, mut to) = (port(), port());
        let (mtu, trains) = (from.mtu().base, from.trains());
        let segments = (trains.alone / mtu).min(trains.segments);
        from.send(to.address(), mtu, &vec![7; mtu * segments]).unwrap();
        assert_eq!(receive_all(&mut to, segments).concat(), vec![7; mtu * segments]);
    }

    #[test]
    fn refused_buffers_come_with_advice() {
        let mut info = port().info();
        info.receive_buffer = info.receive_buffer_wanted;
        assert_eq!(info.advice(), None);
        info.receive_buffer = 416 << 10;
        let advice = info.advice().unwrap();
        assert!(advice.contains("416 KiB") && advice.contains("net.core.rmem_max=4194304"), "{advice}");
    }
}
