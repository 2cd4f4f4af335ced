//! Measures the transport on this machine: bulk rate, round trips, and the cost of an idle rank.
//!
//! `cargo run --release -p aurora-net --example measure -- threads|processes local|shm|udp [MiB]`
#![allow(clippy::print_stdout)]

use aurora_net::bootstrap::{Failure, Launch, Options, Seat, VARIABLE, run};
use aurora_net::{Endpoint, Handler, Loss, Outbox, Payload, Placement, Rank, Received, Route, Token, Transport};
use std::time::{Duration, Instant};

const ROUND_TRIPS: u32 = 20_000;
const IDLE: Duration = Duration::from_secs(3);
const REPEATS: usize = 5;

/// A block to send from and one to receive into.
struct Blocks {
    source: Vec<u8>,
    target: Vec<u8>,
    /// Blocks received since the last measurement.
    blocks: u32,
    pongs: u32,
    /// The number of barriers at which the other side has arrived, and that both have passed.
    barriers: u32,
    met: u32,
    failure: Option<Failure>,
}

impl Handler for Blocks {
    fn place(&mut self, _: Rank, _: &[u8], _: usize) -> Placement {
        Placement::At(Token(0))
    }

    fn write(&mut self, _: Token, offset: usize, bytes: &[u8]) {
        self.target[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn read(&mut self, _: Token, offset: usize, into: &mut [u8]) -> bool {
        into.copy_from_slice(&self.source[offset..offset + into.len()]);
        true
    }

    fn deliver(&mut self, from: Rank, header: &[u8], _: Received, out: &mut Outbox) {
        match header[0] {
            b'?' => out.send(from, &b"!"[..], Payload::Empty),
            b'!' => self.pongs += 1,
            b'm' => self.barriers += 1,
            _ => self.blocks += 1,
        }
    }

    fn peer_lost(&mut self, rank: Rank, Loss { silent_for, .. }: Loss, _: &mut Outbox) {
        self.failure = Some(Failure::of(rank, format_args!("silent for {silent_for:?}")));
    }
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    let word = |at: usize| arguments.get(at).map(String::as_str);
    let route = match word(2) {
        Some("local") => Route::Local,
        Some("shm") => Route::Shm,
        _ => Route::Udp,
    };
    let mib: usize = word(3).and_then(|text| text.parse().ok()).unwrap_or(256);
    let launch = match (word(1), std::env::var(VARIABLE)) {
        (_, Ok(ticket)) => Launch::Child(ticket),
        (Some("processes"), _) => Launch::Processes(2),
        _ => Launch::Threads(2),
    };
    run(launch, Options::default(), |seat| measure(&seat, route, mib << 20))
}

fn wait(endpoint: &Endpoint<Blocks>, done: impl Fn(&Blocks) -> bool) -> Result<(), Failure> {
    endpoint.wait(|blocks, _| match &blocks.failure {
        Some(failure) => Some(Err(failure.clone())),
        None => done(blocks).then_some(Ok(())),
    })
}

fn measure(seat: &Seat, route: Route, len: usize) -> Result<(), Failure> {
    let me = seat.rank();
    let other = Rank::new(1 - me.index());
    let blocks =
        Blocks { source: vec![1; len], target: vec![2; len], blocks: 0, pongs: 0, barriers: 0, met: 0, failure: None };
    let endpoint = seat
        .connect(blocks, Transport { route: Some(route), ..Transport::default() })
        .map_err(|error| error.into_failure(me))?;
    let handle = endpoint.clone();
    seat.on_failure(Box::new(move |failure| handle.act(|blocks, _| blocks.failure = Some(failure.clone()))));
    let say = |text: String| {
        if me == 0 {
            println!("{text}");
        }
    };
    if let Some(info) = endpoint.udp() {
        say(format!("socket {info}"));
    }
    let bench = Bench { endpoint: &endpoint, me, other, len };
    let (one, both) = (bench.bulk(1)?, bench.bulk(2)?);
    let gigabytes = |seconds: f64| len as f64 / 1e9 / seconds;
    say(format!("{} MiB one way    {:.2} GB/s", len >> 20, gigabytes(one)));
    say(format!("{} MiB both ways  {:.2} GB/s each", len >> 20, gigabytes(both)));
    say(format!("round trip       {:.1} us", bench.round_trips()? * 1e6));
    bench.barrier()?;
    let before = processor_time();
    std::thread::sleep(IDLE);
    say(format!("idle             {} ticks of 10 ms in {IDLE:?}", processor_time() - before));
    bench.barrier()?;
    say(format!("{:?}", endpoint.traffic()));
    seat.finish()?;
    endpoint.close();
    Ok(())
}

struct Bench<'a> {
    endpoint: &'a Endpoint<Blocks>,
    me: Rank,
    other: Rank,
    len: usize,
}

impl Bench<'_> {
    fn barrier(&self) -> Result<(), Failure> {
        let before = self.endpoint.act(|blocks, out| {
            out.send(self.other, &b"m"[..], Payload::Empty);
            blocks.met
        });
        wait(self.endpoint, |blocks| blocks.barriers > before)?;
        self.endpoint.act(|blocks, _| blocks.met += 1);
        Ok(())
    }

    /// The best rate of transferring the block from `senders` of the two sides.
    fn bulk(&self, senders: usize) -> Result<f64, Failure> {
        let mut best = f64::INFINITY;
        for _ in 0..REPEATS {
            self.barrier()?;
            let start = Instant::now();
            let before = self.endpoint.act(|blocks, out| {
                if self.me.index() < senders {
                    let payload = Payload::Lent { token: Token(0), len: self.len };
                    out.send(self.other, &b"b"[..], payload);
                }
                blocks.blocks
            });
            let receives = self.other.index() < senders;
            wait(self.endpoint, |blocks| !receives || blocks.blocks > before)?;
            self.endpoint.act(|blocks, _| blocks.blocks = 0);
            self.barrier()?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        Ok(best)
    }

    /// The mean time of a request and its reply. The other side sleeps in between.
    fn round_trips(&self) -> Result<f64, Failure> {
        self.barrier()?;
        let start = Instant::now();
        if self.me == 0 {
            for turn in 0..ROUND_TRIPS {
                self.endpoint.act(|_, out| out.send(self.other, &b"?"[..], Payload::Empty));
                wait(self.endpoint, |blocks| blocks.pongs > turn)?;
            }
        }
        let seconds = start.elapsed().as_secs_f64() / f64::from(ROUND_TRIPS);
        self.barrier()?;
        Ok(seconds)
    }
}

/// The CPU time of this process in clock ticks.
fn processor_time() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}
