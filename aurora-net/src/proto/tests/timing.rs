//! Latency, silence and failing links, in virtual time.

use super::*;
use crate::Payload;
use crate::proto::rtt::MAX_ACK_DELAY;
use crate::sim::LostPeer;
use bytes::Bytes;

/// Rank 1 replies to each transfer with `len` bytes at once.
fn answering(cluster: &mut Cluster, len: usize) {
    cluster.hosts[1].responder = Some(Box::new(move |delivery, _| {
        let payload = Payload::Bytes(Bytes::from(vec![7; len]));
        Some((delivery.header.clone(), payload))
    }));
}

#[test]
fn a_request_is_answered_after_one_round_trip() {
    let link = Link { latency: 25 * MS / 1000, ..Link::default() };
    for len in [0, 8, one_packet(1), 3 * one_packet(1), 8 * one_packet(1)] {
        let mut cluster = pair(0, &link);
        answering(&mut cluster, len);
        for request in 1..=100 {
            let start = cluster.now;
            cluster.send(0, 1, b"?", Payload::Empty);
            assert!(cluster.run(SECOND, |cluster| cluster.hosts[0].delivered.len() == request));
            assert_eq!(cluster.now - start, 2 * link.latency, "request {request} for {len} bytes");
        }
    }
}

#[test]
fn answers_carry_the_acknowledgements() {
    let mut cluster = pair(0, &Link::default());
    answering(&mut cluster, 8);
    for request in 1..=100 {
        cluster.send(0, 1, b"?", Payload::Empty);
        assert!(cluster.run(SECOND, |cluster| cluster.hosts[0].delivered.len() == request));
    }
    for (rank, what) in [(1, "one packet an answer"), (0, "one packet a request")] {
        assert_eq!(cluster.hosts[rank].connection((1 - rank).into()).counters().packets_out, 100, "{what}");
    }
}

#[test]
fn a_lent_payload_comes_back_after_one_round_trip() {
    let link = Link { latency: MS, ..Link::default() };
    let mut cluster = pair(0, &link);
    for len in [1, 5000, 20_000] {
        let start = cluster.now;
        cluster.lend(0, 1, b"place", vec![1; len]);
        assert!(cluster.run(SECOND, |cluster| cluster.hosts[0].memory.lent() == 0));
        // A transfer in one packet is acknowledged with delay.
        let limit = match len {
            1 => 2 * link.latency + MAX_ACK_DELAY,
            5000 => 2 * link.latency,
            _ => 4 * link.latency,
        };
        assert!(cluster.now - start <= limit, "{len}");
    }
}

#[test]
fn small_transfers_overtake_bulk_ones() {
    // 12.5 MB/s: 1 MiB takes 84 ms.
    let link = Link { rate: Some(12_500_000), queue: 256 * 1024, ..Link::default() };
    let mut cluster = pair(0, &link);
    cluster.lend(0, 1, b"place bulk", vec![1; 1 << 20]);
    cluster.run(20 * MS, |_| false);
    let start = cluster.now;
    for _ in 0..20 {
        cluster.send(0, 1, b"small", Payload::Bytes(Bytes::from_static(b"payload")));
    }
    assert!(cluster.run(SECOND, |cluster| cluster.hosts[1].delivered.len() == 20));
    // A window of data precedes them in the port's queue.
    assert!(cluster.now - start < 25 * MS, "{:?}", cluster.now - start);
    assert!(cluster.run(SECOND, |cluster| cluster.hosts[1].delivered.len() == 21));
    assert_eq!(&cluster.hosts[1].delivered[20].header[..], b"place bulk");
}

#[test]
fn bulk_transfers_are_not_starved_by_small_ones() {
    let link = Link { rate: Some(12_500_000), queue: 256 * 1024, ..Link::default() };
    let mut cluster = pair(0, &link);
    cluster.lend(0, 1, b"place bulk", vec![1; 100_000]);
    for _ in 0..5000 {
        cluster.send(0, 1, b"small", Payload::Bytes(Bytes::from(vec![2; 1000])));
    }
    assert!(cluster.run(10 * SECOND, Cluster::is_idle));
    let delivered = &cluster.hosts[1].delivered;
    let bulk = delivered.iter().position(|delivery| delivery.payload.len() == 100_000).unwrap();
    assert!(bulk < 4000, "after {bulk} small ones");
}

#[test]
fn bulk_transfers_go_round_robin() {
    let link = Link { rate: Some(12_500_000), queue: 256 * 1024, ..Link::default() };
    let mut cluster = pair(0, &link);
    cluster.lend(0, 1, b"place long", vec![1; 1 << 20]);
    cluster.lend(0, 1, b"place short", vec![1; 1 << 16]);
    assert!(cluster.run(SECOND, |cluster| cluster.hosts[1].delivered.len() == 1));
    assert_eq!(&cluster.hosts[1].delivered[0].header[..], b"place short");
}

#[test]
fn silence_is_reported_at_the_limit_and_no_earlier() {
    let limit = 3 * SECOND;
    let mut cluster = Cluster::new(2, 0, &Link::default(), |config| config.silence = limit);
    cluster.network.link_mut(0.into(), 1.into()).up = false;
    cluster.run(10 * SECOND, |_| false);
    assert!(cluster.hosts[0].silent.is_empty(), "nobody asked anything");

    let start = cluster.now;
    let token = cluster.lend(0, 1, b"place", vec![1; 1 << 20]);
    cluster.run(limit - MS / 1000, |_| false);
    assert!(cluster.hosts[0].silent.is_empty(), "{cluster:#?}");
    assert!(cluster.run(2 * SECOND, |cluster| !cluster.hosts[0].silent.is_empty()));
    assert_eq!(cluster.now - start, limit);
    let lost = LostPeer { peer: 1.into(), at: cluster.now, silent_for: limit };
    assert_eq!(cluster.hosts[0].silent[0], lost);
    assert_eq!(cluster.hosts[0].released, [token]);
    assert!(cluster.is_idle());
    // Later transfers are released at once, and the loss is reported once.
    let token = cluster.lend(0, 1, b"place", vec![1; 10]);
    cluster.run(10 * SECOND, |_| false);
    assert_eq!(cluster.hosts[0].released[1..], [token]);
    assert_eq!(cluster.hosts[0].silent.len(), 1);
    assert!(cluster.hosts[1].silent.is_empty());
}

#[test]
fn a_link_that_comes_back_within_the_limit_is_forgiven() {
    for seed in seeds(10) {
        let link = Link { rate: Some(125_000_000), queue: 128 * 1024, loss: 0.01, ..Link::default() };
        let mut cluster = pair(seed, &link);
        cluster.lend(0, 1, b"place", vec![1; 4 << 20]);
        cluster.run(8 * MS + MS * seed as u32 / 3, |_| false);
        for up in [false, true] {
            cluster.network.link_mut(0.into(), 1.into()).up = up;
            cluster.network.link_mut(1.into(), 0.into()).up = up;
            if !up {
                cluster.run(9 * SECOND, |_| false);
            }
        }
        let start = cluster.now;
        assert!(cluster.run(20 * SECOND, Cluster::is_idle), "replay with SEED={seed}");
        assert_eq!(cluster.hosts[1].delivered.len(), 1);
        // The next probe detects the repaired link, and the transfer continues at full rate.
        assert!(cluster.now - start < SECOND, "{:?}", cluster.now - start);
        assert!(cluster.hosts[0].silent.is_empty());
    }
}

#[test]
fn a_stopped_host_does_not_report_its_peers() {
    let mut cluster = Cluster::new(2, 0, &Link::default(), |config| config.silence = SECOND);
    cluster.lend(0, 1, b"place", vec![1; 1 << 20]);
    cluster.stop(0, 60 * SECOND);
    assert!(cluster.run(120 * SECOND, Cluster::is_idle));
    assert!(cluster.hosts.iter().all(|host| host.silent.is_empty()));
    assert_eq!(cluster.hosts[1].delivered.len(), 1);
}

#[test]
fn a_peer_that_is_stopped_for_long_is_lost() {
    let mut cluster = Cluster::new(2, 0, &Link::default(), |config| config.silence = SECOND);
    cluster.stop(1, 60 * SECOND);
    cluster.lend(0, 1, b"place", vec![1; 100]);
    assert!(cluster.run(5 * SECOND, |cluster| cluster.hosts[0].silent.len() == 1));
    // A lost peer's packets are dropped, and so are packets to it.
    cluster.send(1, 0, b"late", Payload::Empty);
    cluster.run(100 * SECOND, |_| false);
    assert!(cluster.hosts[0].delivered.is_empty());
    assert!(cluster.hosts[0].dropped.contains(&crate::proto::DatagramError::Lost));
}

#[test]
fn an_idle_pair_sends_nothing() {
    let mut cluster = pair(0, &Link::default());
    cluster.lend(0, 1, b"place", vec![1; 100_000]);
    assert!(cluster.run(SECOND, Cluster::is_idle));
    while cluster.step() {}
    assert!(cluster.is_idle(), "and no timer runs");
    let sent = cluster.network.tally().sent;
    cluster.run(100 * SECOND, |_| false);
    assert_eq!(cluster.network.tally().sent, sent);
}
