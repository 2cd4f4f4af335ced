//! Every transfer arrives once and intact on a faulty network.

use super::*;
use crate::Payload;
use crate::sim::Host;
use bytes::Bytes;
use std::fmt::Write;

/// A transfer of a test case: in either direction, lent or in bytes, placed or buffered.
struct Sent {
    from: usize,
    header: Vec<u8>,
    payload: Vec<u8>,
}

fn send_all(cluster: &mut Cluster, seed: u64, lengths: &[usize]) -> Vec<Sent> {
    let mut random = Random::new(seed ^ 0x5eed);
    let mut sent = Vec::new();
    for (i, &len) in lengths.iter().enumerate() {
        let mut header = if random.chance(0.5) { b"place ".to_vec() } else { b"buffer ".to_vec() };
        header.extend(format!("{i}").bytes());
        let from = random.below(2) as usize;
        let payload = bytes(seed + i as u64, len);
        if random.chance(0.5) {
            cluster.lend(from, 1 - from, &header, payload.clone());
        } else {
            let payload = Payload::Bytes(Bytes::from(payload.clone()));
            cluster.send(from, 1 - from, &header, payload);
        }
        sent.push(Sent { from, header, payload });
    }
    sent
}

fn check(cluster: &mut Cluster, sent: &[Sent]) -> Result<(), String> {
    let mut wrong = String::new();
    for (at, host) in cluster.hosts.iter().enumerate() {
        let mut expected: Vec<_> = sent
            .iter()
            .filter(|sent| sent.from != at)
            .map(|sent| (sent.header.as_slice(), sent.payload.as_slice()))
            .collect();
        let mut got: Vec<_> =
            host.delivered.iter().map(|delivery| (&delivery.header[..], delivery.payload.as_slice())).collect();
        expected.sort();
        got.sort();
        if expected != got {
            let _ = write!(
                wrong,
                "rank {at} got {} of {} transfers right; ",
                got.iter().filter(|got| expected.contains(got)).count(),
                expected.len()
            );
        }
        if host.memory.lent() > 0 {
            let _ = write!(wrong, "rank {at} never got {} payloads back; ", host.memory.lent());
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

fn run(seed: u64, link: &Link, lengths: &[usize]) -> Result<Cluster, String> {
    let mut cluster = pair(seed, link);
    let sent = send_all(&mut cluster, seed, lengths);
    let finished = cluster.run(600 * SECOND, Cluster::is_idle);
    if !finished {
        return Err(format!("not finished at {:?}", cluster.now));
    }
    check(&mut cluster, &sent)?;
    Ok(cluster)
}

fn lengths(seed: u64) -> Vec<usize> {
    let packet = one_packet(8);
    let mut lengths = vec![0, 1, packet - 1, packet, packet + 1, 30_000, 1, 200];
    if seed.is_multiple_of(4) {
        lengths.push(1 << 20);
    }
    lengths
}

#[test]
fn the_matrix_of_faults() {
    for loss in [0.0, 0.01, 0.05, 0.2] {
        for faults in 0..8 {
            let chance = |bit: u32| if faults & bit != 0 { 0.05 } else { 0.0 };
            let link = Link {
                loss,
                duplication: chance(1),
                reorder: chance(2),
                corruption: chance(4),
                jitter: Duration::from_micros(20),
                ..Link::default()
            };
            for seed in seeds(40) {
                if let Err(wrong) = run(seed, &link, &lengths(seed)) {
                    panic!("{wrong}replay with SEED={seed} and {link:?}");
                }
            }
        }
    }
}

#[test]
fn large_datagrams_and_long_headers() {
    for seed in seeds(30) {
        let mtu = [1200, 8972, 32_000][seed as usize % 3];
        let link = Link { loss: 0.05, reorder: 0.05, corruption: 0.02, ..Link::default() };
        let mut cluster = Cluster::new(2, seed, &link, |config| config.mtu = mtu);
        let mut sent = send_all(&mut cluster, seed, &[1 << 20, mtu, 0, mtu - 1000]);
        for len in [0, 1, mtu - 100, 3 * mtu] {
            let header = bytes(seed + 90, crate::MAX_HEADER);
            let payload = bytes(seed + 91, len);
            cluster.lend(0, 1, &header, payload.clone());
            sent.push(Sent { from: 0, header, payload });
        }
        assert!(cluster.run(600 * SECOND, Cluster::is_idle), "replay with SEED={seed}");
        if let Err(wrong) = check(&mut cluster, &sent) {
            panic!("{wrong}replay with SEED={seed}");
        }
    }
}

#[test]
fn all_to_all_through_shallow_queues() {
    for seed in seeds(3) {
        let link = Link { rate: Some(125_000_000), queue: 32 * 1024, loss: 0.001, ..Link::default() };
        let mut cluster = Cluster::new(5, seed, &link, |_| ());
        for from in 0..5 {
            for to in (0..5).filter(|&to| to != from) {
                cluster.lend(from, to, b"place", bytes(seed + from as u64, 200_000));
            }
        }
        assert!(cluster.run(60 * SECOND, Cluster::is_idle), "replay with SEED={seed}");
        for host in &cluster.hosts {
            assert_eq!(host.delivered.len(), 4);
            for delivery in &host.delivered {
                let expected = bytes(seed + delivery.from.index() as u64, 200_000);
                assert!(delivery.payload == expected, "replay with SEED={seed}");
            }
        }
    }
}

#[test]
fn one_flipped_element_is_seen() {
    let mut cluster = pair(1, &Link::default());
    let mut sent = send_all(&mut cluster, 1, &[1000]);
    assert!(cluster.run(SECOND, Cluster::is_idle));
    assert_eq!(check(&mut cluster, &sent), Ok(()));
    sent[0].payload[500] ^= 1;
    assert!(check(&mut cluster, &sent).is_err(), "the check itself can fail");
}

#[test]
fn many_transfers_at_once_in_both_directions() {
    let link = Link { loss: 0.02, reorder: 0.02, duplication: 0.02, ..Link::default() };
    for seed in seeds(4) {
        let mut random = Random::new(seed);
        let lengths: Vec<_> = (0..600)
            .map(|_| if random.chance(0.8) { random.below(2000) } else { random.below(60_000) } as usize)
            .collect();
        if let Err(wrong) = run(seed, &link, &lengths) {
            panic!("{wrong}replay with SEED={seed}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let link = Link { loss: 0.1, reorder: 0.1, duplication: 0.1, corruption: 0.1, ..Link::default() };
    let outcome = |seed| {
        let cluster = run(seed, &link, &lengths(0)).unwrap();
        let counters = cluster.hosts[0].connection(1.into()).counters();
        let arrivals: Vec<_> = cluster.hosts.iter().map(|host: &Host| host.delivered.clone()).collect();
        (cluster.now, counters, arrivals)
    };
    assert_eq!(outcome(7), outcome(7));
}
