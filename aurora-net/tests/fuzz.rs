//! Runs the fuzz targets of `fuzz/` without a fuzzer, on the seeds and on mutations of them.
#![allow(clippy::print_stdout)]

use aurora_net::fuzz::{KEY, ME, Op, PEER, connection, packet};
use aurora_net::proto::{Config, Connection, Instant, Payloads};
use aurora_net::{Payload, Rank, wire};
use bytes::Bytes;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, RngSeed, TestRunner};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

fn seeds_of(target: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/seeds")).join(target)
}

fn read(target: &str) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(seeds_of(target)).expect("there are seeds").map(Result::unwrap);
    files.map(|file| (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap())).collect()
}

/// The number in an environment variable.
fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A change of an input. Positions are fractions of its length.
#[derive(Clone, Debug)]
enum Edit {
    Flip(prop::sample::Index, u8),
    Set(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index, usize),
    Repeat(prop::sample::Index, usize),
    /// Inserts a part of another seed.
    Splice(prop::sample::Index, prop::sample::Index, prop::sample::Index, usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<prop::sample::Index>;
    // Boundary values are more likely.
    let byte = prop_oneof![any::<u8>(), Just(0), Just(1), Just(0x7f), Just(0x80), Just(0xff)];
    prop_oneof![
        (at(), 0..8_u8).prop_map(|(at, bit)| Edit::Flip(at, bit)),
        (at(), byte).prop_map(|(at, byte)| Edit::Set(at, byte)),
        (at(), prop::collection::vec(any::<u8>(), 1..20)).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        (at(), 1..20_usize).prop_map(|(at, len)| Edit::Remove(at, len)),
        (at(), 1..60_usize).prop_map(|(at, len)| Edit::Repeat(at, len)),
        (at(), at(), at(), 1..200_usize).prop_map(|(at, which, from, len)| Edit::Splice(at, which, from, len)),
    ]
}

impl Edit {
    fn apply(&self, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let place = |at: &prop::sample::Index, len: usize| at.index(len + 1);
        let len = input.len();
        match self {
            Edit::Flip(at, _) | Edit::Set(at, _) if len > 0 => {
                let byte = &mut input[at.index(len)];
                *byte = match *self {
                    Edit::Flip(_, bit) => *byte ^ 1 << bit,
                    Edit::Set(_, value) => value,
                    _ => unreachable!("one of these two"),
                };
            }
            Edit::Flip(..) | Edit::Set(..) => {}
            Edit::Insert(at, bytes) => {
                let at = place(at, len);
                input.splice(at..at, bytes.iter().copied());
            }
            Edit::Remove(at, count) => {
                let at = place(at, len);
                input.drain(at..(at + count).min(len));
            }
            Edit::Repeat(at, count) => {
                let at = place(at, len);
                let piece = input[at..(at + count).min(len)].to_vec();
                input.splice(at..at, piece);
            }
            Edit::Splice(at, which, from, count) => {
                let other = which.get(seeds);
                let from = place(from, other.len());
                let piece = &other[from..(from + count).min(other.len())];
                let at = place(at, len);
                input.splice(at..at, piece.iter().copied());
            }
        }
    }
}

/// Runs `body` on the seeds of `target`, and on `cases` mutations of them.
fn mutate(target: &str, cases: u64, body: fn(&[u8])) {
    let named = read(target);
    for (name, input) in &named {
        println!("seed {name}");
        body(input);
    }
    let seeds: Vec<Vec<u8>> = named.into_values().collect();
    let (cases, seed) = (number("CASES", cases), number("SEED", 0));
    println!("{cases} mutations from SEED={seed}");
    let config = ProptestConfig {
        cases: cases as u32,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let inputs = (any::<prop::sample::Index>(), prop::collection::vec(edit(), 1..12)).prop_map(|(which, edits)| {
        let mut input = which.get(&seeds).clone();
        edits.iter().for_each(|edit| edit.apply(&mut input, &seeds));
        input
    });
    let outcome = TestRunner::new(config).run(&inputs, |input| {
        body(&input);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("replay with SEED={seed}: {error}");
    }
}

#[test]
fn packets_of_any_bytes() {
    mutate("packet", 50_000, packet);
}

#[test]
fn connections_to_which_anything_happens() {
    mutate("connection", 50_000, connection);
}

/// A sender's memory.
struct Sevens;

impl Payloads for Sevens {
    fn place(&mut self, _: Rank, _: &[u8], _: usize) -> aurora_net::Placement {
        aurora_net::Placement::Buffer
    }
    fn write(&mut self, _: aurora_net::Token, _: usize, _: &[u8]) {}
    fn read(&mut self, _: aurora_net::Token, _: usize, into: &mut [u8]) -> bool {
        into.fill(7);
        true
    }
}

/// Datagrams of a real peer: a bulk transfer, small transfers, and a probe.
fn datagrams() -> Vec<Vec<u8>> {
    let config = Config { mtu: 1200, ..Config::new(KEY, Rank::new(PEER as usize), Rank::new(ME as usize)) };
    let mut sender = Connection::new(config, Instant::default());
    sender.send(Bytes::from_static(b"place"), Payload::Bytes(vec![7; 3000].into()));
    sender.send(Bytes::from_static(b"buffer"), Payload::Bytes(vec![8; 90].into()));
    sender.send(Bytes::from_static(b"empty"), Payload::Empty);
    let mut datagrams = Vec::new();
    let mut now = Instant::default();
    for _ in 0..3 {
        sender.handle_timeout(now);
        let mut buf = Vec::new();
        while let Some(train) = sender.poll_transmit(now, &mut buf, 4, &mut Sevens) {
            datagrams.extend(buf.chunks(train.segment_size).map(<[u8]>::to_vec));
            buf.clear();
        }
        now += Duration::from_millis(20);
    }
    datagrams
}

/// Frames of every kind, by name.
fn frames() -> Vec<(&'static str, Vec<u8>)> {
    let make = |name, put: &dyn Fn(&mut Vec<u8>)| {
        let mut frames = Vec::new();
        put(&mut frames);
        (name, frames)
    };
    let late = Duration::from_micros(70);
    let mut all = vec![
        make("ping", &wire::put_ping),
        make("padding", &|buf| wire::put_padding(buf, 30)),
        make("reset", &|buf| wire::put_reset(buf, 5)),
        make("ack", &|buf| wire::put_ack(buf, late, 1 << 16, 3, std::iter::once(0..9))),
        make("ack-gaps", &|buf| {
            wire::put_ack(buf, late, 1 << 16, 1, (0..40).rev().map(|range| 5 * range..5 * range + 2));
        }),
        make("open-empty", &|buf| wire::put_open(buf, 0, b"header", 0, 0)),
        make("open", &|buf| {
            wire::put_open(buf, 1, b"place", 100, 40);
            buf.extend([1; 40]);
        }),
        make("open-much", &|buf| {
            wire::put_open(buf, (1 << 48) - 1, b"", (1 << 48) - 1, 1);
            buf.push(1);
        }),
        make("data", &|buf| {
            wire::put_data(buf, 1, 40, 60);
            buf.extend([2; 60]);
        }),
        make("data-far", &|buf| {
            wire::put_data(buf, 2, (1 << 48) - 1, 1);
            buf.push(3);
        }),
    ];
    let together = all.iter().filter(|(name, _)| *name != "padding").flat_map(|(_, frames)| frames.clone()).collect();
    all.push(("together", together));
    all
}

fn packet_seeds() -> Vec<(String, Vec<u8>)> {
    let sealed = datagrams().into_iter().enumerate().map(|(at, datagram)| (format!("datagram-{at}"), datagram));
    frames().into_iter().map(|(name, frames)| (name.to_owned(), frames)).chain(sealed).collect()
}

fn connection_seeds() -> Vec<(String, Vec<u8>)> {
    let script = |name: &str, ops: &[Op<'_>]| {
        let mut script = Vec::new();
        ops.iter().for_each(|op| op.write(&mut script));
        (name.to_owned(), script)
    };
    let all = Op::Exchange { here: 0xff, there: 0xff };
    let mut seeds = vec![
        script(
            "both-ways",
            &[
                Op::Send { lent: true, len: 9000 },
                Op::PeerSends { placed: true, len: 9000 },
                Op::PeerSends { placed: false, len: 5000 },
                Op::Send { lent: false, len: 20 },
                all.clone(),
                all.clone(),
                all.clone(),
                Op::Pass(2),
                all.clone(),
            ],
        ),
        script(
            "loss",
            &[
                Op::Send { lent: true, len: 20_000 },
                Op::PeerSends { placed: true, len: 20_000 },
                Op::Exchange { here: 0x55, there: 0xaa },
                Op::Pass(5),
                Op::Exchange { here: 0x0f, there: 0xf0 },
                Op::Pass(50),
                all.clone(),
                Op::Pass(300),
                all.clone(),
            ],
        ),
        script(
            "withdrawn",
            &[
                Op::Send { lent: true, len: 20_000 },
                Op::Send { lent: true, len: 100 },
                Op::Withdraw(0),
                all.clone(),
                Op::Pass(5),
                all.clone(),
                all.clone(),
            ],
        ),
        script(
            "silence",
            &[
                Op::Send { lent: true, len: 5000 },
                Op::Pass(400),
                Op::Pass(400),
                Op::Pass(400),
                Op::Pass(400),
                Op::Pass(400),
                Op::Pass(400),
                Op::Send { lent: true, len: 1 },
                Op::PeerSends { placed: true, len: 1 },
                all.clone(),
            ],
        ),
        script(
            "crowd",
            &[
                Op::Send { lent: true, len: 20_000 },
                Op::Crowd(3, 200),
                all.clone(),
                Op::Pass(1),
                Op::Crowd(1, 1),
                all.clone(),
            ],
        ),
        script(
            "flaws",
            &[
                Op::Flawed { flaw: 0, frames: &[1] },
                Op::Flawed { flaw: 1, frames: &[1] },
                Op::Flawed { flaw: 2, frames: &[1] },
                Op::Flawed { flaw: 3, frames: &[1] },
            ],
        ),
        // Transfers that do not end, data of transfers that do not begin, acknowledgements of packets never sent.
        script(
            "mad",
            &[
                Op::Send { lent: true, len: 9000 },
                Op::Built { number: 1, frames: &[2, 0, 0, 16, 5, 130, 1, 0, 16, 5, 3, 9, 0, 1, 50] },
                Op::Built { number: 1, frames: &[3, 0, 100, 0, 50, 3, 1, 100, 0, 50, 1, 0, 0, 0, 0] },
                Op::Built { number: 9, frames: &[4, 2, 2, 0, 9, 0, 0, 0, 0, 0] },
                Op::Built { number: 200, frames: &[4, 255, 9, 1, 1] },
                Op::Pass(30),
                all.clone(),
            ],
        ),
    ];
    // Transfers that reserve as much memory as they can.
    let far: Vec<u8> = (0..40).flat_map(|transfer| [2, transfer, 0xfe, 0xff, 1, 3, transfer, 0, 60, 1]).collect();
    seeds.push(script("far", &[Op::Built { number: 1, frames: &far }]));
    // More data before its header than the limit permits.
    let early: Vec<u8> = (0..50).flat_map(|transfer| [3, transfer, 0, 1, 255]).collect();
    seeds.push(script("early", &[Op::Built { number: 1, frames: &early }, Op::Built { number: 1, frames: &early }]));
    for (name, frames) in frames() {
        let frames = &frames[..];
        seeds.push(script(
            &format!("sealed-{name}"),
            &[Op::Sealed { number: 1, distance: 0, frames }, Op::Sealed { number: 2, distance: 1, frames }],
        ));
    }
    let datagrams = datagrams();
    let raw: Vec<_> = datagrams.iter().map(|datagram| Op::Raw(datagram)).collect();
    seeds.push(script("replayed", &[raw.clone(), raw].concat()));
    seeds
}

/// These functions create all seeds, except those named `found-`.
#[test]
fn seeds_are_as_made() {
    for (target, made) in [("packet", packet_seeds()), ("connection", connection_seeds())] {
        let folder = seeds_of(target);
        if std::env::var("SNAPSHOT").is_ok_and(|what| what == "write") {
            std::fs::create_dir_all(&folder).unwrap();
            for name in read(target).keys().filter(|name| !name.starts_with("found-")) {
                std::fs::remove_file(folder.join(name)).unwrap();
            }
            for (name, input) in &made {
                std::fs::write(folder.join(name), input).unwrap();
            }
        }
        let mut there = read(target);
        there.retain(|name, _| !name.starts_with("found-"));
        let made: BTreeMap<String, Vec<u8>> = made.into_iter().collect();
        assert!(there == made, "the seeds of {target} are out of date: run with SNAPSHOT=write");
    }
}
