//! Fuzzes a connection by a script of operations.

use super::io::{Io, PLACE};
use super::script::{Op, Script};
use super::{KEY, me, peer};
use crate::proto::{Config, Connection, Crowd, Event, Instant};
use crate::wire::{self, PacketNumber};
use crate::{Payload, Received};
use bytes::Bytes;
use std::time::Duration;

/// Small, so that few bytes reach every limit.
const WINDOW: u64 = 8 << 10;
const MTU: usize = 1200;
/// The maximum number of datagrams in flight; older ones are lost.
const ON_THE_WAY: usize = 8;
/// The number of a connection's timers, each of which may be due.
const TIMERS: usize = 5;
/// This many trains at one moment mean an endless loop.
const ENDLESS: usize = 2000;

/// Applies the operations in `data` (see [`Op`]) to a connection, whose peer keeps to the protocol. Panics if the
/// connection panics, exceeds its memory limits, spins, or reports an event twice that must happen once.
pub fn connection(data: &[u8]) {
    let mut rig = Rig::new();
    for op in Script(data) {
        rig.apply(&op);
        rig.drive();
        rig.check();
    }
}

struct End {
    connection: Connection,
    io: Io,
    sent: Vec<Vec<u8>>,
    /// Bytes of datagrams that have reached it.
    fed: u64,
}

struct Rig {
    now: Instant,
    me: End,
    peer: End,
    /// The number of the last forged packet.
    number: u64,
}

impl End {
    fn new(config: Config) -> Self {
        let config = Config { window: WINDOW, mtu: MTU, mtu_limit: 2 * MTU, silence: Duration::from_secs(2), ..config };
        let connection = Connection::new(config, Instant::default());
        End { connection, io: Io::default(), sent: Vec::new(), fed: 0 }
    }

    fn send(&mut self, header: &'static [u8], lent: bool, len: u16) {
        let payload = match (lent, len) {
            (true, _) => self.io.lend(usize::from(len)),
            (false, 0) => Payload::Empty,
            (false, _) => Payload::Bytes(vec![0; usize::from(len)].into()),
        };
        self.connection.send(Bytes::from_static(header), payload);
    }

    fn receive(&mut self, now: Instant, datagram: &[u8]) -> bool {
        self.fed += datagram.len() as u64;
        self.connection.handle_datagram(now, datagram, &mut self.io).is_ok()
    }

    fn take_events(&mut self) {
        while let Some(event) = self.connection.poll() {
            match event {
                Event::Released(token) => self.io.release(token),
                Event::Delivered { payload: Received::Placed(token), .. } => self.io.finish(token),
                Event::Delivered { payload, .. } => {
                    assert!(payload.bytes().len() as u64 <= self.fed, "more delivered than has arrived");
                }
                Event::Silent { .. } => {}
            }
        }
    }

    /// Does the work of a shell until no timer is due.
    fn drive(&mut self, now: Instant) {
        for calls in 0.. {
            self.transmit(now);
            let due = self.connection.poll_timeout();
            if due.is_none_or(|at| at > now) {
                break;
            }
            assert!(calls < TIMERS, "a timer that is not re-armed: {due:?} at {now:?}");
            self.connection.handle_timeout(now);
        }
    }

    fn transmit(&mut self, now: Instant) {
        self.take_events();
        let mut buf = Vec::new();
        for trains in 0.. {
            assert!(trains < ENDLESS, "it never stops sending");
            buf.clear();
            let Some(train) = self.connection.poll_transmit(now, &mut buf, 4, &mut self.io) else { break };
            assert!(train.segment_size <= 2 * MTU && buf.len().div_ceil(train.segment_size) == train.segments);
            self.sent.extend(buf.chunks(train.segment_size).map(<[u8]>::to_vec));
        }
        let old = self.sent.len().saturating_sub(ON_THE_WAY);
        self.sent.drain(..old);
        self.take_events();
    }
}

impl Rig {
    fn new() -> Self {
        Rig {
            now: Instant::default(),
            me: End::new(Config::new(KEY, me(), peer())),
            peer: End::new(Config::new(KEY, peer(), me())),
            number: 0,
        }
    }

    fn apply(&mut self, op: &Op<'_>) {
        match *op {
            Op::Raw(datagram) => {
                self.me.receive(self.now, datagram);
            }
            Op::Sealed { number, distance, frames } => self.receive(u64::from(number), u64::from(distance), frames),
            Op::Flawed { flaw, frames } => {
                let datagram = flawed(flaw, frames);
                assert!(!self.me.receive(self.now, &datagram), "flaw {flaw} was not noticed");
            }
            Op::Built { number, frames } => {
                self.number += u64::from(number);
                self.receive(self.number, 3, &built(frames));
            }
            Op::Pass(millis) => self.now += Duration::from_millis(u64::from(millis)),
            Op::Send { lent, len } => self.me.send(b"ours", lent, len),
            Op::PeerSends { placed, len } => self.peer.send(if placed { b"place" } else { b"buffer" }, true, len),
            Op::Exchange { here, there } => {
                let arriving = |sent: &mut Vec<Vec<u8>>, mask: u8| {
                    let all = std::mem::take(sent).into_iter().enumerate();
                    all.filter(move |(at, _)| mask >> at & 1 == 1).map(|(_, datagram)| datagram)
                };
                for datagram in arriving(&mut self.peer.sent, here) {
                    self.me.receive(self.now, &datagram);
                }
                for datagram in arriving(&mut self.me.sent, there) {
                    self.peer.receive(self.now, &datagram);
                }
            }
            Op::Withdraw(which) => self.me.io.withdraw(usize::from(which)),
            Op::Crowd(destinations, sources) => {
                let crowd = Crowd { destinations: u32::from(destinations), sources: u32::from(sources) };
                self.me.connection.set_crowd(crowd);
            }
        }
    }

    fn drive(&mut self) {
        self.me.drive(self.now);
        self.peer.drive(self.now);
    }

    fn receive(&mut self, number: u64, distance: u64, frames: &[u8]) {
        let mut datagram = Vec::new();
        let floor = PacketNumber(number.saturating_sub(distance));
        wire::begin(&mut datagram, KEY, peer(), PacketNumber(number), floor);
        datagram.extend_from_slice(frames);
        wire::seal(&mut datagram, 0, me());
        self.me.receive(self.now, &datagram);
    }

    /// The limits promised by `proto/README.md`. A growing buffer may be twice as long as its content and its gaps.
    fn check(&self) {
        let held = self.me.connection.held();
        assert!(held.early <= 2 * WINDOW, "pieces before their header: {held:?}");
        assert!(held.buffered <= (4 + 2 * 4) * WINDOW + 2 * self.me.fed, "of {} bytes: {held:?}", self.me.fed);
        assert!(held.transfers <= 256 + WINDOW as usize / 128, "{held:?}");
    }
}

/// A packet of another rank, for another rank, of another job, or damaged.
fn flawed(flaw: u8, frames: &[u8]) -> Vec<u8> {
    let mut datagram = Vec::new();
    let (key, from, to) = match flaw % 4 {
        0 => (KEY ^ 1 << (flaw % 64), peer(), me()),
        1 => (KEY, me(), me()),
        2 => (KEY, peer(), peer()),
        _ => (KEY, peer(), me()),
    };
    wire::begin(&mut datagram, key, from, PacketNumber(1 << 20), PacketNumber(1 << 20));
    datagram.extend_from_slice(frames);
    wire::seal(&mut datagram, 0, to);
    if flaw % 4 == 3 {
        let at = 8 + usize::from(flaw) % (datagram.len() - 8);
        datagram[at] ^= 1;
    }
    datagram
}

/// Well-formed frames with arbitrary numbers, from five bytes each.
fn built(choices: &[u8]) -> Vec<u8> {
    let mut frames = Vec::new();
    for choice in choices.chunks_exact(5) {
        let [kind, transfer, low, high, len] = [choice[0], choice[1], choice[2], choice[3], choice[4]];
        let size = u64::from(u16::from_le_bytes([low, high]));
        // Small numbers, and the largest one.
        let large = |number: u64, limit: u64| if number == limit { (1 << 48) - 1 } else { number };
        let (transfer, size) = (large(u64::from(transfer), 255), large(size, 0xffff));
        let len = usize::from(len);
        match kind % 6 {
            0 => wire::put_ping(&mut frames),
            1 => wire::put_reset(&mut frames, transfer),
            2 => {
                // A length that is too small is malformed; other operations test that.
                let header: &[u8] = if kind >= 128 { &[PLACE] } else { b"" };
                wire::put_open(&mut frames, transfer, header, size.max(len as u64), len);
                frames.extend(std::iter::repeat_n(kind, len));
            }
            3 => {
                wire::put_data(&mut frames, transfer, size, len.max(1));
                frames.extend(std::iter::repeat_n(kind, len.max(1)));
            }
            _ => {
                let (end, delay) = (transfer + 1, Duration::from_micros(size));
                let first = end.saturating_sub(u64::from(low).max(1))..end;
                let gap = u64::from(high).max(1);
                let second = first.start.checked_sub(gap + 1).map(|start| start..start + 1);
                wire::put_ack(&mut frames, delay, size, u32::from(len as u8), std::iter::once(first).chain(second));
            }
        }
    }
    frames
}
