//! All courses of a transfer, and all ways to end it early.

use super::fake::Cluster;
use super::message::Message;
use super::{Limits, Rendezvous};
use crate::Rank;
use crate::random::Random;
use bytes::Bytes;
use std::time::{Duration, Instant};

/// The tightest limits: one piece at a time.
const TIGHT: Limits = Limits { piece: 8, ahead: 1, in_flight: 1, posted: 1, incoming: 64 };
const ROOMY: Limits = Limits { piece: 8, ahead: 3, in_flight: 5, posted: 6, incoming: 64 };

/// Lengths around multiples of the piece length.
const LENGTHS: [usize; 8] = [4, 5, 7, 8, 9, 16, 17, 83];

fn two(limits: Limits) -> Cluster {
    Cluster::new(2, limits, 1)
}

fn attend(cluster: &mut Cluster, ranks: impl IntoIterator<Item = usize>) {
    ranks.into_iter().for_each(|rank| cluster.ends[rank].rendezvous.open());
}

/// Checks that all transfers have arrived once, and that no memory is still lent.
#[track_caller]
fn assert_arrived(cluster: &Cluster, to: usize, sent: &[(usize, u8, usize)]) {
    let mut expected: Vec<_> = sent
        .iter()
        .map(|(from, header, len)| {
            (Rank::new(*from), Bytes::copy_from_slice(&[*header]), Cluster::content(*from, *header, *len))
        })
        .collect();
    let mut delivered = cluster.ends[to].library.delivered.clone();
    expected.sort();
    delivered.sort();
    assert_eq!(delivered, expected, "at rank {to}");
    assert!(cluster.ends.iter().all(|end| end.library.has_all_back()), "something is still lent");
}

#[test]
fn between_two_that_attend_all_lengths_go_by_the_carrier_both_ways_at_once() {
    for limits in [TIGHT, ROOMY] {
        let mut cluster = two(limits);
        attend(&mut cluster, [0, 1]);
        let mut sent = [Vec::new(), Vec::new()];
        for (header, len) in LENGTHS.into_iter().chain(LENGTHS).enumerate() {
            for from in [0, 1] {
                cluster.send(from, 1 - from, header as u8, len);
                sent[from].push((from, header as u8, len));
            }
        }
        cluster.run();
        assert!(cluster.is_idle());
        for from in [0, 1] {
            assert_arrived(&cluster, 1 - from, &sent[from]);
            assert_eq!(cluster.ends[from].by_udp, 0);
            let (carried, bytes) = (cluster.ends[from].rendezvous.carried, sent[from].iter().map(|s| s.2 as u64).sum());
            assert_eq!((carried.carried_out, carried.carried_in), (16, 16));
            assert_eq!((carried.carried_bytes_out, carried.carried_bytes_in), (bytes, bytes));
        }
    }
}

#[test]
fn short_and_empty_transfers_send_no_rts() {
    let mut cluster = two(ROOMY);
    attend(&mut cluster, [0, 1]);
    for len in 0..Cluster::FROM {
        cluster.send(0, 1, 2, len);
    }
    assert_eq!((cluster.ends[0].by_udp, cluster.messages.len()), (Cluster::FROM, 0));
    let nothing = Rendezvous::limited(0, Duration::from_secs(1), ROOMY);
    assert!(!nothing.takes(Rank::new(1), &crate::Payload::Empty), "nobody attends");
    let mut attending = nothing;
    attending.open();
    assert!(!attending.takes(Rank::new(1), &crate::Payload::Empty), "there is nothing to move");
}

#[test]
fn a_computing_rank_declines_and_delays_no_other() {
    let mut cluster = two(ROOMY);
    attend(&mut cluster, [0]);
    cluster.send(0, 1, 1, 50);
    cluster.send(0, 1, 2, 60);
    cluster.ends[0].rendezvous.shut();
    assert!(!cluster.ends[0].rendezvous.may_leave(), "two questions are open");
    cluster.deliver_messages();
    assert!(cluster.ends[0].rendezvous.may_leave() && cluster.ends[1].rendezvous.is_idle());
    assert_eq!(cluster.ends[0].by_udp, 2);
    assert_arrived(&cluster, 1, &[(0, 1, 50), (0, 2, 60)]);
}

#[test]
fn a_computing_rank_sends_no_rts() {
    let mut cluster = two(ROOMY);
    attend(&mut cluster, [1]);
    cluster.send(0, 1, 1, 50);
    assert_eq!((cluster.ends[0].by_udp, cluster.messages.len()), (1, 0));
}

#[test]
fn after_the_guard_accepted_transfers_go_on_and_none_starts() {
    let mut cluster = two(TIGHT);
    attend(&mut cluster, [0, 1]);
    cluster.send(0, 1, 1, 50);
    cluster.send(1, 0, 2, 60);
    cluster.ends[0].rendezvous.shut();
    // Rank 0 gets the request too late, but its own request was accepted in time.
    cluster.deliver_messages();
    assert_eq!((cluster.ends[0].by_udp, cluster.ends[1].by_udp), (0, 1));
    cluster.send(0, 1, 4, 70);
    assert_eq!(cluster.ends[0].by_udp, 1);
    assert!(!cluster.ends[0].rendezvous.may_leave() && cluster.ends[0].rendezvous.is_moving());
    cluster.run();
    assert!(cluster.ends[0].rendezvous.may_leave());
    assert_arrived(&cluster, 1, &[(0, 1, 50), (0, 4, 70)]);
}

#[test]
fn two_guards_attend_until_both_are_dropped() {
    let mut cluster = two(ROOMY);
    attend(&mut cluster, [0, 0, 1]);
    cluster.ends[0].rendezvous.shut();
    cluster.send(0, 1, 1, 50);
    cluster.run();
    assert_eq!(cluster.ends[0].rendezvous.carried.carried_out, 1);
}

/// The carrier has reported the send, but moves the bytes only while it is polled.
#[test]
fn a_sender_stays_until_the_receiver_has_all() {
    let mut cluster = two(ROOMY);
    cluster.wire.borrow_mut().is_eager = true;
    attend(&mut cluster, [0, 1]);
    cluster.send(0, 1, 1, 8);
    cluster.ends[0].rendezvous.shut();
    cluster.deliver_messages();
    while cluster.ends[1].library.delivered.is_empty() {
        assert!(!cluster.ends[0].rendezvous.may_leave());
        assert!(cluster.pump(0) | cluster.pump(1));
    }
    assert!(!cluster.ends[0].rendezvous.may_leave(), "it has not heard of it");
    cluster.deliver_messages();
    assert!(cluster.ends[0].rendezvous.may_leave());
}

#[test]
fn transfers_go_round_robin_piece_by_piece() {
    let mut cluster = Cluster::new(3, Limits { in_flight: 6, ..ROOMY }, 1);
    attend(&mut cluster, 0..3);
    cluster.send(0, 1, 1, 80);
    cluster.send(0, 2, 1, 80);
    cluster.deliver_messages();
    cluster.pump(0);
    let destinations = cluster.wire.borrow().destinations();
    assert!(
        [[1, 2, 1, 2, 1, 2], [2, 1, 2, 1, 2, 1]].iter().any(|turns| *turns == destinations[..]),
        "{destinations:?}"
    );
}

/// All ranks send to all others, and start and stop attending at random.
#[test]
fn no_deadlock_among_ranks_that_attend_at_random() {
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let size = 2 + seed as usize % 4;
        let limits = if seed % 2 == 0 { TIGHT } else { ROOMY };
        let mut cluster = Cluster::new(size, limits, seed);
        let mut sent: Vec<Vec<_>> = vec![Vec::new(); size];
        for header in 0..40 {
            let from = random.below(size);
            match random.below(4) {
                0 if cluster.ends[from].rendezvous.sessions > 0 => cluster.ends[from].rendezvous.shut(),
                0 | 1 => cluster.ends[from].rendezvous.open(),
                _ => {}
            }
            for to in Rank::new(from).others(size) {
                let len = random.below(90) as usize;
                cluster.send(from, to.index(), header, len);
                sent[to.index()].push((from, header, len));
            }
            for _ in 0..random.below(30) {
                if !cluster.messages.is_empty() && random.chance(0.5) {
                    cluster.deliver_message();
                }
                cluster.pump(random.below(size));
            }
        }
        cluster.run();
        assert!(cluster.is_idle(), "seed {seed}: somebody waits");
        for (to, sent) in sent.iter().enumerate() {
            assert_arrived(&cluster, to, sent);
        }
    }
}

#[test]
fn transfers_beyond_the_limit_are_declined() {
    let mut cluster = two(Limits { incoming: 2, ..ROOMY });
    attend(&mut cluster, [0, 1]);
    let sent: Vec<_> = (0..5).map(|header| (0, header, 50)).collect();
    sent.iter().for_each(|(from, header, len)| cluster.send(*from, 1, *header, *len));
    cluster.deliver_messages();
    assert_eq!((cluster.ends[0].by_udp, cluster.ends[1].rendezvous.incoming.len()), (3, 2));
    cluster.run();
    assert_arrived(&cluster, 1, &sent);
    cluster.send(0, 1, 9, 50);
    cluster.run();
    assert_eq!(cluster.ends[0].rendezvous.carried.carried_out, 3, "there is room again");
}

#[test]
fn withdrawn_memory_ends_its_transfer_and_delivers_nothing() {
    // Eleven pieces.
    for (reads, header) in (0..=11).flat_map(|reads| [(reads, 1), (reads, 3)]) {
        for limits in [TIGHT, ROOMY] {
            let mut cluster = two(limits);
            attend(&mut cluster, [0, 1]);
            cluster.send(0, 1, header, 83);
            cluster.send(0, 1, 2, 20);
            cluster.deliver_messages();
            cluster.ends[0].library.withdraw_after(reads);
            (0..2).for_each(|rank| cluster.ends[rank].rendezvous.shut());
            cluster.run();
            assert!(cluster.is_idle(), "after {reads}");
            let whole: &[_] = if reads == 11 { &[(0, header, 83), (0, 2, 20)] } else { &[(0, 2, 20)] };
            assert_arrived(&cluster, 1, whole);
        }
    }
}

#[test]
fn no_rank_waits_for_a_lost_one() {
    for pumps in 0..12 {
        let mut cluster = Cluster::new(3, TIGHT, pumps);
        attend(&mut cluster, 0..3);
        for (from, to) in [(0, 1), (1, 0), (0, 2), (2, 0)] {
            cluster.send(from, to, 1, 40);
        }
        if pumps > 0 {
            cluster.deliver_messages();
        }
        for pump in 0..pumps {
            cluster.pump(pump as usize % 3);
        }
        // Rank 1 stops.
        cluster.messages.retain(|(from, to, _)| *from != 1 && *to != 1);
        for rank in [0, 2] {
            cluster.ends[rank].rendezvous.lose(Rank::new(1));
            cluster.settle(rank);
            cluster.ends[rank].rendezvous.shut();
        }
        cluster.send(0, 1, 3, 40);
        for _ in 0..100 {
            cluster.messages.retain(|(_, to, _)| *to != 1);
            cluster.deliver_messages();
            cluster.pump(0);
            cluster.pump(2);
        }
        assert!([0, 2].iter().all(|rank| cluster.ends[*rank].rendezvous.may_leave()), "after {pumps}");
        assert!(cluster.ends[0].library.has_all_back() && cluster.ends[2].library.has_all_back());
        assert!(cluster.ends[0].library.delivered.iter().any(|(from, ..)| *from == 2));
    }
}

#[test]
fn a_failed_job_ends_all_transfers() {
    for seed in 0..60 {
        let mut cluster = Cluster::new(3, TIGHT, seed);
        attend(&mut cluster, 0..3);
        for from in 0..3 {
            Rank::new(from).others(3).for_each(|to| cluster.send(from, to.index(), 1, 40));
        }
        // The job also fails before any request has arrived.
        for step in 0..seed {
            cluster.pump(step as usize % 3);
            if step % 2 == 0 && !cluster.messages.is_empty() {
                cluster.deliver_message();
            }
        }
        (0..3).for_each(|rank| cluster.ends[rank].rendezvous.shut());
        cluster.ends[0].library.failed = true;
        cluster.pump(0);
        assert!(cluster.ends[0].rendezvous.may_leave(), "seed {seed}: at once");
        cluster.run();
        assert!(cluster.is_idle(), "seed {seed}: the others have been told");
        assert!(cluster.ends.iter().all(|end| end.library.has_all_back()));
    }
}

#[test]
fn an_abort_before_its_rts_prevents_acceptance() {
    let mut cluster = two(TIGHT);
    attend(&mut cluster, [0, 1]);
    cluster.send(0, 1, 1, 40);
    cluster.ends[0].library.failed = true;
    cluster.pump(0);
    // ABORT arrives first.
    cluster.deliver(1);
    cluster.deliver_messages();
    assert!(cluster.ends[1].rendezvous.is_idle());
}

#[test]
fn a_damaged_piece_is_not_taken() {
    let mut cluster = two(ROOMY);
    attend(&mut cluster, [0, 1]);
    cluster.send(0, 1, 1, 40);
    cluster.deliver_messages();
    cluster.wire.borrow_mut().damages = Some(0);
    cluster.run();
    let library = &cluster.ends[1].library;
    assert_eq!((&library.lost[..], library.delivered.len()), (&[Rank::new(0)][..], 0));
    assert!(cluster.ends[1].rendezvous.may_leave());
}

#[test]
fn what_comes_with_a_damaged_piece_completes_nothing() {
    for which in 0..3 {
        let mut cluster = two(ROOMY);
        attend(&mut cluster, [0, 1]);
        // All three pieces arrive before one is handled.
        cluster.send(0, 1, 1, 3 * ROOMY.piece);
        cluster.deliver_messages();
        cluster.wire.borrow_mut().damages = Some(which);
        cluster.pump(1);
        for _ in 0..6 {
            cluster.pump(0);
        }
        cluster.pump(1);
        let library = &cluster.ends[1].library;
        assert_eq!((&library.lost[..], library.delivered.len()), (&[Rank::new(0)][..], 0), "piece {which}");
    }
}

#[test]
fn ranks_that_transfers_depend_on_are_pinged() {
    let mut cluster = two(ROOMY);
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    let pings = |cluster: &mut Cluster, rank: usize, now| {
        cluster.ends[rank].rendezvous.handle_timeout(now);
        cluster.settle(rank);
        let before = cluster.messages.len();
        cluster.messages.retain(|(.., message)| *message != Message::Ping.encode());
        before - cluster.messages.len()
    };
    attend(&mut cluster, [0, 1]);
    assert_eq!((pings(&mut cluster, 0, at(0)), cluster.ends[0].rendezvous.poll_timeout()), (0, None));
    cluster.send(0, 1, 1, 40);
    // One ping per second: a rank may be silent for four.
    let seen: Vec<_> = (1..6).map(|second| pings(&mut cluster, 0, at(second))).collect();
    assert_eq!(seen, [0, 1, 1, 1, 1]);
    cluster.deliver_messages();
    let seen: Vec<_> = (7..10).map(|second| pings(&mut cluster, 1, at(second))).collect();
    assert_eq!(seen, [0, 1, 1], "the receiver asks too");
    cluster.run();
    assert_eq!(pings(&mut cluster, 0, at(20)), 0);
    assert_eq!(cluster.ends[0].rendezvous.poll_timeout(), None);
}

#[test]
fn nonsense_changes_nothing() {
    let mut cluster = two(ROOMY);
    attend(&mut cluster, [0, 1]);
    cluster.send(0, 1, 1, 40);
    let nonsense = [
        Message::Cts { id: 7, tag: 0 },
        Message::Nack { id: 7 },
        Message::Fin { id: 7 },
        Message::Abort { id: 7, by_sender: false },
        Message::Rts { id: 3, len: 0, header: Bytes::from_static(b"h") },
        Message::Rts { id: 4, len: u64::MAX, header: Bytes::from_static(b"hh") },
    ];
    for message in nonsense {
        cluster.messages.push((Rank::new(1), Rank::new(0), message.encode()));
    }
    cluster.messages.push((Rank::new(1), Rank::new(0), Bytes::from_static(&[99])));
    // A FIN from a rank that the transfer does not go to.
    let mut third = Cluster::new(3, ROOMY, 1);
    attend(&mut third, 0..3);
    third.send(0, 1, 1, 40);
    third.messages.push((Rank::new(2), Rank::new(0), Message::Fin { id: 0 }.encode()));
    third.run();
    assert_arrived(&third, 1, &[(0, 1, 40)]);
    cluster.deliver_messages();
    for _ in 0..100 {
        cluster.pump(0);
        cluster.pump(1);
        cluster.deliver_messages();
    }
    assert_arrived(&cluster, 1, &[(0, 1, 40)]);
}
