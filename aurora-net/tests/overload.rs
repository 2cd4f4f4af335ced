//! Many senders and one slow receiver with the small buffer that most systems grant. Linux must not drop any datagram.
//! On the loopback interface nothing else is lost, so every loss means that a window counts wrongly.

use aurora_net::bootstrap::{Failure, Launch, Options, run};
use aurora_net::{Endpoint, Handler, Loss, Outbox, Payload, Placement, Rank, Received, Route, Token, Transport};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// `net.core.rmem_max` of most systems.
const SMALL: usize = 212_992;
const LIMIT: Duration = Duration::from_secs(60);

/// Sends one block to rank 0, or receives all of them slowly.
struct Slow {
    len: usize,
    /// The delay for each piece of a payload.
    delay: Duration,
    arrived: usize,
    released: usize,
}

impl Handler for Slow {
    fn place(&mut self, from: Rank, _: &[u8], _: usize) -> Placement {
        Placement::At(Token(from.index() as u64))
    }

    fn write(&mut self, _: Token, _: usize, bytes: &[u8]) {
        assert!(bytes.iter().all(|byte| *byte == 7));
        let start = Instant::now();
        while start.elapsed() < self.delay {
            std::thread::yield_now();
        }
    }

    fn read(&mut self, _: Token, _: usize, into: &mut [u8]) -> bool {
        into.fill(7);
        true
    }

    fn deliver(&mut self, _: Rank, _: &[u8], _: Received, _: &mut Outbox) {
        self.arrived += 1;
    }

    fn released(&mut self, _: Token, _: &mut Outbox) {
        self.released += 1;
    }

    fn peer_lost(&mut self, rank: Rank, Loss { silent_for, .. }: Loss, _: &mut Outbox) {
        panic!("{rank} was silent for {silent_for:?}");
    }
}

/// The number of datagrams that Linux has dropped for lack of room in the socket at this port.
fn dropped(port: u16) -> u64 {
    let table = std::fs::read_to_string("/proc/thread-self/net/udp").unwrap();
    let ours = format!(":{port:04X}");
    let line = table.lines().find(|line| line.split_ascii_whitespace().nth(1).is_some_and(|at| at.ends_with(&ours)));
    line.and_then(|line| line.split_ascii_whitespace().last()).expect("our socket").parse().unwrap()
}

struct Case {
    senders: usize,
    len: usize,
    mtu: usize,
    delay: Duration,
    /// The number and length of the receiver's pauses.
    pauses: u32,
    pause: Duration,
}

/// The numbers of datagrams dropped by Linux, of packets sent again, and of all packets.
fn overload(case: &Case) -> (u64, u64, u64) {
    let counts = [const { AtomicU64::new(0) }; 3];
    run(Launch::Threads(case.senders + 1), Options::default(), |seat| {
        let me = seat.rank();
        let slow = Slow { len: case.len, delay: case.delay, arrived: 0, released: 0 };
        let transport = Transport {
            route: Some(Route::Udp),
            silence: LIMIT,
            mtu: Some(case.mtu),
            receive_buffer: Some(SMALL),
            ..Transport::default()
        };
        let endpoint = seat.connect(slow, transport).map_err(|error| Failure::of(me, error))?;
        let socket = endpoint.udp().unwrap();
        assert_eq!(socket.receive_buffer, 2 * SMALL, "as the kernel counts");
        if me == 0 {
            for _ in 0..case.pauses {
                std::thread::sleep(Duration::from_millis(2));
                // Other threads that want to drive have to wait.
                endpoint.act(|_, _| std::thread::sleep(case.pause));
            }
            wait(&endpoint, |slow| slow.arrived == case.senders);
            counts[0].store(dropped(socket.address.port()), Ordering::Relaxed);
        } else {
            endpoint.act(|slow, out| {
                out.send(Rank::new(0), &b"block"[..], Payload::Lent { token: Token(0), len: slow.len });
            });
            wait(&endpoint, |slow| slow.released == 1);
        }
        let traffic = endpoint.traffic();
        counts[1].fetch_add(traffic.packets_resent, Ordering::Relaxed);
        counts[2].fetch_add(traffic.packets_out, Ordering::Relaxed);
        seat.finish()
    })
    .unwrap();
    counts.map(AtomicU64::into_inner).into()
}

fn wait(endpoint: &Endpoint<Slow>, done: impl Fn(&Slow) -> bool) {
    endpoint.wait(|slow, _| done(slow).then_some(()));
}

fn none_lost(case: &Case) {
    let (dropped, resent, sent) = overload(case);
    assert_eq!((dropped, resent), (0, 0), "of {sent} packets");
    let least = case.senders * case.len / case.mtu;
    assert!(sent >= least as u64, "{sent} packets");
}

#[test]
fn a_receiver_slower_than_its_senders_loses_nothing() {
    for senders in [1, 3, 15, 40] {
        let len = (8 << 20) / senders;
        let delay = Duration::from_micros(30);
        none_lost(&Case { senders, len, mtu: 1500, delay, pauses: 0, pause: Duration::ZERO });
    }
}

#[test]
fn a_receiver_that_pauses_loses_nothing() {
    for (senders, mtu) in [(3, 1500), (15, 1500), (3, 9000)] {
        let pause = Duration::from_millis(30);
        none_lost(&Case { senders, len: 1 << 20, mtu, delay: Duration::ZERO, pauses: 10, pause });
    }
}
