//! Packets grow to the length that the path carries, which may be less than the interfaces' length.

use super::*;
use crate::Payload;
use bytes::Bytes;

const JUMBO: usize = 8972;
const MIB: usize = 1 << 20;

/// Two ranks whose interfaces carry jumbo frames, over a link that may not.
fn pair(seed: u64, link: &Link) -> Cluster {
    Cluster::new(2, seed, link, |config| config.mtu_limit = JUMBO)
}

fn gigabit(mtu: usize) -> Link {
    Link { mtu, rate: Some(125_000_000), queue: 256 * 1024, ..Link::default() }
}

fn carry(cluster: &mut Cluster, mtu: usize) {
    for (from, to) in [(0, 1), (1, 0)] {
        cluster.network.link_mut(from.into(), to.into()).mtu = mtu;
    }
}

fn mtu(cluster: &Cluster) -> usize {
    cluster.hosts[0].connection(1.into()).mtu()
}

/// Sends `len` bytes from rank 0 to rank 1, checks them, and returns the number of packets.
fn transfer(cluster: &mut Cluster, len: usize) -> u64 {
    let before = cluster.hosts[0].counters().packets_out;
    let payload = bytes(len as u64, len);
    cluster.lend(0, 1, b"place", payload.clone());
    assert!(cluster.run(100 * SECOND, Cluster::is_idle), "{cluster:#?}");
    let delivery = cluster.hosts[1].delivered.pop().unwrap();
    assert!(delivery.payload == payload);
    cluster.hosts[0].counters().packets_out - before
}

/// The packets of `mtu` bytes for `len` bytes of payload, the first with a header of 5, and the final ping.
fn packets(len: usize, mtu: usize) -> u64 {
    let room = mtu - crate::wire::OVERHEAD;
    let opens = room - crate::wire::OPEN_LEN - 5;
    (2 + (len - opens).div_ceil(room - crate::wire::DATA_LEN)) as u64
}

#[test]
fn a_path_of_jumbo_frames_is_used_after_one_round_trip_of_bulk_data() {
    let link = Link { mtu: JUMBO, ..Link::default() };
    let mut cluster = pair(0, &link);
    cluster.send(0, 1, b"small", Payload::Bytes(Bytes::from(vec![1; 100])));
    cluster.run(SECOND, |_| false);
    assert_eq!((cluster.network.tally().sent, mtu(&cluster)), (2, 1472), "nothing is probed for small transfers");

    let start = cluster.now;
    cluster.lend(0, 1, b"place", bytes(1, MIB));
    while mtu(&cluster) < JUMBO {
        assert!(cluster.step());
    }
    assert_eq!(cluster.now - start, 2 * link.latency);
    assert!(cluster.run(SECOND, Cluster::is_idle));
    assert_eq!(transfer(&mut cluster, MIB), packets(MIB, JUMBO));
    let counters = cluster.hosts[0].counters();
    assert_eq!((counters.mtu_probes, counters.packets_lost, counters.packets_resent), (1, 0, 0));
    // The other direction has its own path.
    assert_eq!(cluster.hosts[1].connection(0.into()).mtu(), 1472);
}

#[test]
fn a_path_that_carries_less_than_the_interfaces_is_left_as_it_is() {
    let mut cluster = pair(0, &gigabit(1472));
    let first = transfer(&mut cluster, 64 * MIB);
    let counters = cluster.hosts[0].counters();
    assert_eq!((counters.mtu_probes, mtu(&cluster)), (12, 1472));
    assert_eq!(first, packets(64 * MIB, 1472) + 12);
    assert_eq!((counters.packets_lost, counters.packets_resent, counters.probes), (0, 0, 0));
    assert_eq!(transfer(&mut cluster, MIB), packets(MIB, 1472), "and it has given up");
    cluster.run(600 * SECOND, |_| false);
    assert_eq!(transfer(&mut cluster, MIB), packets(MIB, 1472) + 1, "one probe of the next search");
}

#[test]
fn a_path_in_between_gets_a_size_in_between() {
    for (carries, found) in [(8870, 7752), (4070, 3656), (2016, 2016)] {
        let mut cluster = pair(0, &gigabit(carries));
        transfer(&mut cluster, 64 * MIB);
        assert_eq!(mtu(&cluster), found);
        assert_eq!(transfer(&mut cluster, MIB), packets(MIB, found));
    }
}

#[test]
fn a_path_that_shrinks_in_mid_transfer_stops_nothing_for_long() {
    for seed in seeds(20) {
        let mut cluster = pair(seed, &gigabit(JUMBO));
        cluster.lend(0, 1, b"place", bytes(seed, 8 * MIB));
        cluster.run(MS * (5 + seed as u32), |_| false);
        assert_eq!(mtu(&cluster), JUMBO);
        carry(&mut cluster, 1472);
        // The length falls back after a few probe time-outs; the rest takes little longer than usual.
        assert!(cluster.run(150 * MS, Cluster::is_idle), "replay with SEED={seed} {cluster:#?}");
        assert!(cluster.hosts[1].delivered[0].payload == bytes(seed, 8 * MIB));
        assert_eq!(mtu(&cluster), 1472);

        // After a long time it searches again.
        carry(&mut cluster, JUMBO);
        cluster.run(SECOND, |_| false);
        cluster.hosts[1].delivered.clear();
        transfer(&mut cluster, MIB);
        assert_eq!(mtu(&cluster), JUMBO);
    }
}

#[test]
fn a_path_that_shrinks_is_noticed_while_small_transfers_get_through() {
    let mut cluster = pair(0, &gigabit(JUMBO));
    transfer(&mut cluster, MIB);
    carry(&mut cluster, 1472);
    cluster.lend(0, 1, b"place", bytes(9, MIB));
    let start = cluster.now;
    let mut sent = 0;
    while mtu(&cluster) > 1472 {
        // Each of these is acknowledged, so the peer is never silent.
        cluster.send(1, 0, b"ask", Payload::Empty);
        cluster.send(0, 1, b"small", Payload::Empty);
        sent += 1;
        cluster.run(MS / 2, |_| false);
        assert!(cluster.now - start < 100 * MS, "{cluster:#?}");
    }
    assert!(cluster.run(100 * MS, Cluster::is_idle));
    assert_eq!(cluster.hosts[1].delivered.len(), sent + 1);
}

#[test]
fn loss_of_a_probe_is_not_the_last_word() {
    for (loss, least) in [(0.01, 50), (0.05, 48)] {
        let mut grown = 0;
        for seed in seeds(50) {
            let mut cluster = pair(seed, &Link { loss, ..gigabit(JUMBO) });
            transfer(&mut cluster, 8 * MIB);
            transfer(&mut cluster, 8 * MIB);
            grown += u32::from(mtu(&cluster) == JUMBO);
        }
        assert!(grown >= least, "{grown} of 50 at {loss}");
    }
}

#[test]
fn a_link_that_was_down_is_used_to_the_full_again() {
    let mut cluster = pair(0, &gigabit(JUMBO));
    transfer(&mut cluster, MIB);
    cluster.lend(0, 1, b"place", bytes(1, MIB));
    cluster.network.link_mut(0.into(), 1.into()).up = false;
    cluster.run(3 * SECOND, |_| false);
    cluster.network.link_mut(0.into(), 1.into()).up = true;
    assert!(cluster.run(SECOND, Cluster::is_idle));
    transfer(&mut cluster, MIB);
    assert_eq!(mtu(&cluster), JUMBO);
}

#[test]
fn packets_stay_so_short_that_two_fit_the_window() {
    for (window, size) in [(40_000, JUMBO), (20_000, 7752), (10_000, 3656), (5000, 1472)] {
        let mut cluster = Cluster::new(2, 0, &gigabit(JUMBO), |config| {
            config.mtu_limit = JUMBO;
            config.window = window;
        });
        transfer(&mut cluster, 2 * MIB);
        assert_eq!(mtu(&cluster), size);
    }
}

#[test]
fn long_packets_never_meet_a_limit_of_their_receiver() {
    let mut grown = 0;
    for seed in seeds(30) {
        let longest = [JUMBO, 31 << 10][seed as usize % 2];
        let link = Link { loss: 0.05, reorder: 0.1, duplication: 0.05, ..Link::default() };
        let mut cluster = Cluster::new(2, seed, &link, |config| {
            config.mtu_limit = longest;
            config.window = 70_000;
        });
        for len in [MIB, 100, 3 * longest, 200_000, 1, longest, 50_000] {
            let header: &[u8] = if len % 3 == 0 { b"place" } else { b"buffer" };
            cluster.lend(0, 1, header, bytes(seed, len));
        }
        assert!(cluster.run(100 * SECOND, Cluster::is_idle), "replay with SEED={seed}");
        assert_eq!((cluster.hosts[1].delivered.len(), &cluster.hosts[1].dropped[..]), (7, &[][..]), "SEED={seed}");
        grown += u64::from(mtu(&cluster) == longest);
    }
    // Ranks whose probe was lost may have no more data when it could be tried again.
    assert!(grown >= 20 || seeds(30).count() == 1, "{grown}");
}
