//! A network with other users.

use super::*;
use crate::proto::Network;
use crate::sim::Nic;

/// Gigabit Ethernet.
const RATE: u64 = 125_000_000;
const LEN: usize = 8 << 20;

/// Ranks 1 and 2 send to rank 0 through its port on this kind of network. Returns the seconds until each has arrived.
fn arrivals(network: Network, link: &Link) -> [f64; 2] {
    let link = Link { rate: Some(RATE), queue: 128 * 1024, ..link.clone() };
    let mut cluster = Cluster::new(3, 1, &link, |config| config.network = Some(network));
    cluster.network.set_nics(&Nic::new(RATE, 256 * 1024));
    let start = cluster.now;
    for from in [1, 2] {
        cluster.lend(from, 0, b"place", vec![from as u8; LEN]);
    }
    assert!(cluster.run(1000 * SECOND, Cluster::is_idle));
    let at = |from: usize| {
        let delivery = cluster.hosts[0].delivered.iter().find(|delivery| delivery.from == from);
        (delivery.expect("delivered").at - start).as_secs_f64()
    };
    [at(1), at(2)]
}

#[test]
fn two_ranks_on_a_shared_network_share_evenly() {
    let [one, other] = arrivals(Network::Shared, &Link::default());
    let bound = 2.0 * LEN as f64 / RATE as f64;
    assert!(one.max(other) < 1.3 * bound && one.min(other) > 0.6 * bound, "{one} {other} {bound}");
}

#[test]
fn loss_is_taken_for_congestion_only_where_others_are() {
    let link = Link { latency: MS, loss: 0.01, ..Link::default() };
    let [dedicated, shared] = [Network::Dedicated, Network::Shared].map(|network| arrivals(network, &link)[0]);
    assert!(shared > 2.0 * dedicated, "{shared} {dedicated}");
}
