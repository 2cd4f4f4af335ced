//! Payloads that are withdrawn during their transfer.

use super::*;
use crate::Payload;

#[test]
fn a_withdrawn_transfer_is_abandoned_on_both_sides() {
    for seed in seeds(60) {
        let link = Link { loss: 0.1, rate: Some(12_500_000), queue: 128 * 1024, ..Link::default() };
        let mut cluster = pair(seed, &link);
        let gone = cluster.lend(0, 1, b"place gone", bytes(seed, 1 << 20));
        let stays = cluster.lend(0, 1, b"place stays", bytes(seed, 100_000));
        cluster.run(MS * (5 + seed as u32 % 50), |_| false);
        assert!(cluster.hosts[0].memory.withdraw(gone));
        assert!(cluster.run(100 * SECOND, Cluster::is_idle), "replay with SEED={seed}");
        let mut released = cluster.hosts[0].released.clone();
        released.sort_by_key(|token| token.0);
        assert_eq!(released, [gone, stays], "each once");
        let delivered: Vec<_> = cluster.hosts[1].delivered.iter().map(|delivery| &delivery.header[..]).collect();
        assert_eq!(delivered, [b"place stays"]);
        assert_eq!(cluster.hosts[0].connection(1.into()).counters().withdrawn, 1);
        assert_eq!(cluster.hosts[1].connection(0.into()).held().transfers, 0, "the receiver has forgotten it");
    }
}

#[test]
fn withdrawn_before_anything_was_sent() {
    for len in [10, 10_000] {
        let mut cluster = pair(0, &Link::default());
        // Fills the window, so that the next transfer must wait.
        cluster.send(0, 1, b"first", Payload::Bytes(vec![0; 1 << 20].into()));
        let payload = cluster.hosts[0].memory.lend(vec![0; len]);
        let Payload::Lent { token, .. } = payload else { unreachable!() };
        cluster.hosts[0].memory.withdraw(token);
        cluster.send(0, 1, b"gone", payload);
        cluster.send(0, 1, b"last", Payload::Empty);
        assert!(cluster.run(SECOND, Cluster::is_idle));
        assert_eq!(cluster.hosts[0].released, [token]);
        assert_eq!(cluster.hosts[1].delivered.len(), 2);
    }
}
