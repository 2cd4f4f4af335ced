//! A handler that sends and checks random transfers, and a body for every launcher and route.
#![allow(dead_code, missing_docs)]

pub mod bodies;
pub mod job;

pub use aurora_net::Random;
use aurora_net::bootstrap::{Failure, Seat};
use aurora_net::{Bulk, Endpoint, Handler, Loss, Outbox, Payload, Placement, Rank, Received, Route, Token, Transport};
use std::collections::HashMap;
use std::time::{Duration, Instant};

pub const SILENCE: Duration = Duration::from_secs(2);

/// The bytes that `from` sends with the number `id`.
pub fn content(from: Rank, id: u64, len: usize) -> Vec<u8> {
    let mut random = Random::new((id << 8) | from.index() as u64);
    let mut bytes: Vec<u8> = (0..len.div_ceil(8)).flat_map(|_| random.bits().to_le_bytes()).collect();
    bytes.truncate(len);
    bytes
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A transfer that is counted and checked.
    Data = 0,
    Ask = 1,
    Answer = 2,
    /// The number of Data transfers that the sender has sent to this rank.
    Total = 3,
}

pub fn header(kind: Kind, id: u64) -> Vec<u8> {
    let mut header = vec![kind as u8];
    header.extend(id.to_le_bytes());
    header
}

fn parse(header: &[u8]) -> (u8, u64) {
    (header[0], u64::from_le_bytes(header[1..9].try_into().unwrap()))
}

pub struct Checker {
    me: Rank,
    lent: HashMap<u64, Vec<u8>>,
    placed: HashMap<u64, Vec<u8>>,
    next_token: u64,
    pub received: Vec<u64>,
    pub totals: Vec<Option<u64>>,
    pub answers: Vec<u64>,
    pub faults: Vec<String>,
    pub lost: Vec<Rank>,
    pub died: Option<Rank>,
    pub failure: Option<Failure>,
    pub alarm: Option<Instant>,
    pub alarms: usize,
    /// The number of this rank's threads that have sent everything.
    pub done: usize,
}

impl Checker {
    pub fn new(me: Rank, size: usize) -> Self {
        Checker {
            me,
            lent: HashMap::new(),
            placed: HashMap::new(),
            next_token: 0,
            received: vec![0; size],
            totals: vec![None; size],
            answers: Vec::new(),
            faults: Vec::new(),
            lost: Vec::new(),
            died: None,
            failure: None,
            alarm: None,
            alarms: 0,
            done: 0,
        }
    }

    fn token(&mut self) -> Token {
        self.next_token += 1;
        Token(self.next_token)
    }

    pub fn send(&mut self, to: Rank, kind: Kind, id: u64, len: usize, out: &mut Outbox) {
        let bytes = content(self.me, id, len);
        let payload = match id % 2 {
            _ if len == 0 => Payload::Empty,
            0 => Payload::Bytes(bytes.into()),
            _ => {
                let token = self.token();
                self.lent.insert(token.0, bytes);
                Payload::Lent { token, len }
            }
        };
        out.send(to, header(kind, id), payload);
    }

    pub fn lent(&self) -> usize {
        self.lent.len()
    }
}

impl Handler for Checker {
    fn place(&mut self, _: Rank, header: &[u8], len: usize) -> Placement {
        assert!(len > 0, "placed nothing");
        if parse(header).1.is_multiple_of(3) {
            return Placement::Buffer;
        }
        let token = self.token();
        self.placed.insert(token.0, vec![0; len]);
        Placement::At(token)
    }

    fn write(&mut self, token: Token, offset: usize, bytes: &[u8]) {
        let place = self.placed.get_mut(&token.0).expect("written where it was placed");
        place[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn read(&mut self, token: Token, offset: usize, into: &mut [u8]) -> bool {
        let lent = self.lent.get(&token.0).expect("read before it is given back");
        into.copy_from_slice(&lent[offset..offset + into.len()]);
        true
    }

    fn deliver(&mut self, from: Rank, header: &[u8], payload: Received, out: &mut Outbox) {
        let (kind, id) = parse(header);
        let bytes = match payload {
            Received::Placed(token) => self.placed.remove(&token.0).expect("delivered once"),
            buffered => buffered.into_vec(),
        };
        if kind != Kind::Total as u8 && bytes != content(from, id, bytes.len()) {
            self.faults.push(format!("transfer {id} of {from}: {} wrong bytes", bytes.len()));
        }
        match kind {
            0 => self.received[from.index()] += 1,
            1 => self.send(from, Kind::Answer, id, bytes.len(), out),
            2 => self.answers.push(id),
            _ => self.totals[from.index()] = Some(id),
        }
    }

    fn released(&mut self, token: Token, _: &mut Outbox) {
        self.lent.remove(&token.0).expect("given back once");
    }

    fn peer_lost(&mut self, rank: Rank, Loss { silent_for, .. }: Loss, _: &mut Outbox) {
        self.lost.push(rank);
        if silent_for.is_zero() {
            self.died = Some(rank);
        }
    }

    fn has_failed(&self) -> bool {
        self.failure.is_some() || !self.lost.is_empty()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.alarm
    }

    fn handle_timeout(&mut self, _: Instant, _: &mut Outbox) {
        self.alarm = None;
        self.alarms += 1;
    }
}

/// Waits as a library would: ends on a failure of the job or a lost peer.
pub fn wait<R>(
    endpoint: &Endpoint<Checker>,
    me: Rank,
    mut condition: impl FnMut(&mut Checker, &mut Outbox) -> Option<R>,
) -> Result<R, Failure> {
    endpoint.wait(|checker, out| {
        if let Some(failure) = &checker.failure {
            return Some(Err(failure.clone()));
        }
        if let Some(rank) = checker.died {
            // The launcher of that rank knows the cause.
            return Some(Err(Failure::of(rank, "it is gone").heard()));
        }
        if let Some(rank) = checker.lost.first() {
            return Some(Err(Failure::of(me, format_args!("{rank} is silent"))));
        }
        condition(checker, out).map(Ok)
    })
}

pub fn connect(seat: &Seat, route: Option<Route>) -> Result<Endpoint<Checker>, Failure> {
    connect_by(seat, Transport { route, ..Transport::default() })
}

/// MPI moves every payload.
pub fn by_mpi() -> Transport {
    Transport { route: Some(Route::Udp), bulk: Bulk::Mpi, mpi_from: Some(1), ..Transport::default() }
}

pub fn connect_by(seat: &Seat, transport: Transport) -> Result<Endpoint<Checker>, Failure> {
    let checker = Checker::new(seat.rank(), seat.size());
    let endpoint = seat
        .connect(checker, Transport { silence: SILENCE, ..transport })
        .map_err(|error| error.into_failure(seat.rank()))?;
    let handle = endpoint.clone();
    seat.on_failure(Box::new(move |failure| {
        handle.act(|checker, _| checker.failure = Some(failure.clone()));
    }));
    Ok(endpoint)
}

/// Several threads of each rank send random transfers to all others, while others wait for replies.
pub fn exchange(seat: &Seat, route: Option<Route>, seed: u64, count: u64) -> Result<u64, Failure> {
    exchange_by(seat, Transport { route, ..Transport::default() }, seed, count)
}

pub fn exchange_by(seat: &Seat, transport: Transport, seed: u64, count: u64) -> Result<u64, Failure> {
    let (me, size) = (seat.rank(), seat.size());
    let endpoint = connect_by(seat, transport)?;
    let others: Vec<Rank> = me.others(size).collect();
    if !others.is_empty() {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|thread| {
                    let (endpoint, others) = (&endpoint, &others);
                    let mut random = Random::new(((seed + me.index() as u64) << 8) | thread);
                    scope.spawn(move || {
                        let outcome = if thread < 2 {
                            send_many(endpoint, others, &mut random, count);
                            Ok(())
                        } else {
                            ask_many(endpoint, me, others, &mut random, thread, count / 4)
                        };
                        endpoint.act(|checker, _| checker.done += 1);
                        outcome
                    })
                })
                .collect();
            come_and_go(&endpoint, me, threads.len())?;
            threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
        })?;
    }
    endpoint.act(|_, out| {
        for &to in &others {
            out.send(to, header(Kind::Total, sent_to(&others, to, seed, me, count)), Payload::Empty);
        }
    });
    let attending = endpoint.attend();
    let received = wait(&endpoint, me, |checker, _| {
        let complete = others
            .iter()
            .all(|from| checker.totals[from.index()].is_some_and(|total| total == checker.received[from.index()]));
        complete.then(|| checker.received.iter().sum())
    })?;
    // Other ranks may still send requests.
    drop(attending);
    // Lent payloads are released when the other ranks have them, even without waiting.
    wait(&endpoint, me, |checker, _| (checker.lent() == 0).then_some(()))?;
    let faults = endpoint.act(|checker, _| std::mem::take(&mut checker.faults));
    assert!(faults.is_empty(), "seed {seed}: {faults:?}");
    if endpoint.bulk().mpi_from.is_some() {
        assert!(endpoint.traffic().carried_in > 0 && endpoint.traffic().carried_out > 0, "nothing by MPI");
    }
    seat.finish()?;
    endpoint.close();
    Ok(received)
}

/// With MPI: attends again and again until `threads` threads are done, so that some transfers find this rank attending.
fn come_and_go(endpoint: &Endpoint<Checker>, me: Rank, threads: usize) -> Result<(), Failure> {
    while let Some(attending) = endpoint.attend() {
        let until = endpoint.read(|checker| checker.received.iter().sum::<u64>()).0 + 5;
        let done = wait(endpoint, me, |checker, _| {
            let done = checker.done == threads;
            (done || checker.received.iter().sum::<u64>() >= until).then_some(done)
        })?;
        drop(attending);
        if done {
            break;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}

fn send_many(endpoint: &Endpoint<Checker>, others: &[Rank], random: &mut Random, count: u64) {
    for _ in 0..count {
        let (to, id, len) = choose(others, random);
        endpoint.act(|checker, out| checker.send(to, Kind::Data, id, len, out));
    }
}

fn choose(others: &[Rank], random: &mut Random) -> (Rank, u64, usize) {
    let to = others[random.below(others.len())];
    let id = random.bits() >> 8;
    let len = match random.below(16) {
        0 => 0,
        1 => 100_000 + random.below(200_000) as usize,
        2..6 => 1 + random.below(5_000) as usize,
        _ => 1 + random.below(100) as usize,
    };
    (to, id, len)
}

/// The number of transfers that `send_many` has sent to `to`, by repeating its choices.
fn sent_to(others: &[Rank], to: Rank, seed: u64, me: Rank, count: u64) -> u64 {
    (0..2)
        .map(|thread| {
            let mut random = Random::new(((seed + me.index() as u64) << 8) | thread);
            (0..count).filter(|_| choose(others, &mut random).0 == to).count() as u64
        })
        .sum()
}

fn ask_many(
    endpoint: &Endpoint<Checker>,
    me: Rank,
    others: &[Rank],
    random: &mut Random,
    thread: u64,
    count: u64,
) -> Result<(), Failure> {
    for turn in 0..count {
        let (to, _, len) = choose(others, random);
        let id = (turn << 8) | thread;
        endpoint.act(|checker, out| checker.send(to, Kind::Ask, id, len, out));
        wait(endpoint, me, |checker, _| {
            let found = checker.answers.iter().position(|answer| *answer == id)?;
            checker.answers.swap_remove(found);
            Some(())
        })?;
    }
    Ok(())
}
