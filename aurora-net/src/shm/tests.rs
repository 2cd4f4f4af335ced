//! Nodes whose ranks all run in one test thread: discovery never waits.

use super::SpinBudget;
use super::descriptor_passing::{Channel, Listener};
use super::discovery::{Found, Offer, ShmContact};
use super::node::Node;
use crate::key::JobKey;
use crate::poller::Waker;
use crate::strangers::accept;
use crate::{Error, Rank};
use rustix::fs::Uid;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space, set_thread_uid};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

fn key() -> JobKey {
    JobKey::from_bytes([0x5e; 32])
}

fn offers(size: usize) -> Vec<Offer> {
    (0..size).map(|_| Offer::new().unwrap()).collect()
}

fn contacts(offers: &[Offer]) -> Vec<Option<ShmContact>> {
    offers.iter().map(|offer| Some(offer.contact())).collect()
}

fn seek(offer: Offer, me: usize, key: JobKey, contacts: &[Option<ShmContact>]) -> Found {
    let waker = Waker::new().unwrap();
    offer.seek(Rank::new(me), key, contacts, waker).unwrap()
}

fn nodes_of(offers: Vec<Offer>, contacts: &[Option<ShmContact>]) -> Vec<Result<Node, Error>> {
    let seek = |(index, offer): (usize, Offer)| self::seek(offer, index, key(), contacts);
    let found: Vec<_> = offers.into_iter().enumerate().map(seek).collect();
    let leaders: Vec<_> = found.iter().map(|found| Some(found.leader())).collect();
    found.into_iter().map(|found| found.gather(&leaders, Duration::ZERO)).collect()
}

fn node(size: usize) -> Vec<Node> {
    let offers = offers(size);
    let contacts = contacts(&offers);
    nodes_of(offers, &contacts).into_iter().map(Result::unwrap).collect()
}

#[test]
#[allow(clippy::print_stderr)]
fn ranks_that_are_bound_to_one_core_each_poll_as_if_they_were_not() {
    let all = rustix::thread::sched_getaffinity(None).unwrap();
    let cores: Vec<usize> = (0..rustix::thread::CpuSet::MAX_CPU).filter(|core| all.is_set(*core)).take(2).collect();
    let bound_to = |core: usize| {
        let offer = std::thread::spawn(move || {
            let mut set = rustix::thread::CpuSet::new();
            set.set(core);
            rustix::thread::sched_setaffinity(None, &set).unwrap();
            Offer::new().unwrap()
        });
        offer.join().unwrap()
    };
    let budgets = |cores: [usize; 2]| {
        let offers: Vec<_> = cores.into_iter().map(bound_to).collect();
        let contacts = contacts(&offers);
        nodes_of(offers, &contacts).into_iter().map(|node| node.unwrap().budget()).collect::<Vec<_>>()
    };
    assert_eq!(budgets([cores[0]; 2]), [SpinBudget::SMALL; 2]);
    match cores[..] {
        [one, other] => assert_eq!(budgets([one, other]), [SpinBudget::new(2, 2); 2]),
        _ => eprintln!("skipped: ranks bound to two cores, because there is one core"),
    }
}

fn ranks(node: &Node) -> Vec<usize> {
    node.ranks().iter().map(|rank| rank.index()).collect()
}

fn number(segment: &super::Segment, at: usize) -> &std::sync::atomic::AtomicU64 {
    assert!(at < segment.len() / 8);
    let start = segment.as_ptr().cast::<u64>();
    #[allow(unsafe_code)]
    // SAFETY: inside the segment and aligned; the reference does not outlive the handle; all ranks use it as an atomic.
    unsafe {
        std::sync::atomic::AtomicU64::from_ptr(start.wrapping_add(at))
    }
}

#[test]
fn all_ranks_of_a_node_map_the_same_memory() {
    use std::sync::atomic::Ordering::SeqCst;
    for size in 1..=5 {
        let nodes = node(size);
        for (id, len) in [(3, 8 * size), (4, 0), (9, 1 << 20)] {
            let segments: Vec<_> = nodes.iter().map(|node| node.share(id, len).unwrap()).collect();
            assert!(segments.iter().all(|segment| segment.len() == len));
            if len > 0 {
                for (index, segment) in segments.iter().enumerate() {
                    number(segment, index).fetch_add(index as u64 + 1, SeqCst);
                }
                for segment in &segments {
                    assert!((0..size).all(|index| number(segment, index).load(SeqCst) == index as u64 + 1));
                }
            }
        }
        assert!(nodes.iter().all(|node| node.leader() == 0 && ranks(node) == Vec::from_iter(0..size)));
    }
}

#[test]
fn another_kernel_is_another_node() {
    let offers = offers(4);
    let mut contacts = contacts(&offers);
    let others: Vec<_> = contacts.iter().map(|contact| contact.map(ShmContact::elsewhere)).collect();
    // Ranks 1 and 3 appear to run elsewhere; their own leaders do not matter here.
    for index in [1, 3] {
        contacts[index] = contacts[index].map(ShmContact::elsewhere);
    }
    let seek = |(index, offer): (usize, Offer)| self::seek(offer, index, key(), &contacts);
    let found: Vec<_> = offers.into_iter().enumerate().map(seek).collect();
    assert_eq!((found[0].leader(), found[2].leader()), (Rank::new(0), Rank::new(0)));
    // A rank that takes all others for ranks of other machines, although it could connect.
    for contacts in [others, vec![None; 4]] {
        assert_eq!(self::seek(Offer::new().unwrap(), 3, key(), &contacts).leader(), 3);
    }
}

/// A network namespace of this machine, with the same host name, boot id and files.
struct OtherNetwork {
    keeper: Child,
}

impl OtherNetwork {
    /// `None`: not permitted here, which has been printed.
    fn new() -> Option<Self> {
        let spawned = Command::new("unshare")
            .args(["-n", "sh", "-c", "echo here; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut channel = String::new();
        if let Ok(mut keeper) = spawned {
            let read = BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut channel);
            if read.is_ok() && channel == "here\n" {
                return Some(OtherNetwork { keeper });
            }
            let _ = keeper.wait();
        }
        // Not printed by a macro, whose output the test harness captures.
        let _ =
            writeln!(io::stderr(), "SKIPPED: a test of two networks on one host needs root, for network namespaces");
        None
    }

    fn inside<R: Send>(&self, body: impl FnOnce() -> R + Send) -> R {
        let namespace = File::open(format!("/proc/{}/ns/net", self.keeper.id())).unwrap();
        let body = || {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            body()
        };
        thread::scope(|scope| scope.spawn(body).join().unwrap())
    }
}

impl Drop for OtherNetwork {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

#[test]
fn another_network_of_the_same_host_is_another_node() {
    let Some(other) = OtherNetwork::new() else {
        return;
    };
    // Ranks 1, 3 and 4 run in the other namespace.
    let there = [false, true, false, true, true];
    let offer = |there: bool| if there { other.inside(Offer::new) } else { Offer::new() };
    let offers: Vec<Offer> = there.iter().map(|there| offer(*there).unwrap()).collect();
    let contacts = contacts(&offers);
    let seek = |(index, offer): (usize, Offer)| {
        let seek = || self::seek(offer, index, key(), &contacts);
        if there[index] { other.inside(seek) } else { seek() }
    };
    let found: Vec<_> = offers.into_iter().enumerate().map(seek).collect();
    let leaders: Vec<_> = found.iter().map(|found| Some(found.leader())).collect();
    let nodes: Vec<Node> = found.into_iter().map(|found| found.gather(&leaders, Duration::ZERO).unwrap()).collect();
    for (index, node) in nodes.iter().enumerate() {
        assert_eq!(ranks(node), if there[index] { vec![1, 3, 4] } else { vec![0, 2] });
        node.share(1, 100).unwrap();
    }
}

#[test]
fn a_process_without_the_key_is_not_accepted() {
    let offers = offers(2);
    let contacts = contacts(&offers);
    let socket = contacts[0].unwrap().socket();
    let [first, second] = <[Offer; 2]>::try_from(offers).unwrap();
    let silent: Vec<_> = (0..200).map(|_| Channel::connect(&socket).unwrap()).collect();
    let talker = Channel::connect(&socket).unwrap();
    talker.send(b"let me in", &[]).unwrap();
    let liar = seek(Offer::new().unwrap(), 1, JobKey::random().unwrap(), &contacts);
    let found = [seek(first, 0, key(), &contacts), seek(second, 1, key(), &contacts)];
    let leaders = [Some(Rank::new(0)); 2];
    let nodes = found.map(|found| found.gather(&leaders, Duration::ZERO).unwrap());
    nodes.iter().for_each(|node| drop(node.share(1, 10).unwrap()));
    for stranger in silent.iter().chain([&talker]) {
        assert!(stranger.receive().unwrap().is_none());
    }
    assert!(matches!(liar.gather(&leaders, Duration::ZERO), Err(Error::NodePeerGone { .. })));
}

/// The leader has ended, and another process has taken its socket's name before the node peer connects.
fn with_an_impostor(listen: impl FnOnce(&[u8]) -> Listener) -> Error {
    let offers = offers(2);
    let contacts = contacts(&offers);
    let [first, second] = <[Offer; 2]>::try_from(offers).unwrap();
    drop(first);
    let listener = listen(&contacts[0].unwrap().socket());
    let found = match second.seek(Rank::new(1), key(), &contacts, Waker::new().unwrap()) {
        Ok(found) => found,
        Err(error) => return error,
    };
    let channel = Channel::from(accept(&listener).unwrap().expect("the node peer has connected"));
    let hello = channel.try_receive().unwrap().expect("and has given its rank").bytes;
    // The node peer's own hello, and then memory.
    channel.send(&hello[8..], &[]).unwrap();
    let (_, memory) = super::segment::create(super::Control::len(2)).unwrap();
    channel.send(&[0; 16], &[memory.as_fd()]).unwrap();
    drop(channel);
    found.gather(&[Some(Rank::new(0)); 2], Duration::ZERO).unwrap_err()
}

#[test]
fn a_leader_that_does_not_know_the_key_is_not_believed() {
    let error = with_an_impostor(|name| Listener::bind(name).unwrap());
    assert!(matches!(error, Error::Impostor { rank } if rank == 0), "{error}");
}

#[test]
fn another_user_gets_no_message() {
    let somebody_else = |name: &[u8]| {
        thread::scope(|scope| {
            let listen = || {
                set_thread_uid(Uid::from_raw(65_534)).unwrap();
                Listener::bind(name).unwrap()
            };
            scope.spawn(listen).join().unwrap()
        })
    };
    if rustix::process::geteuid().is_root() {
        let error = with_an_impostor(somebody_else);
        assert!(matches!(error, Error::Impostor { rank } if rank == 0), "{error}");
    }
}

#[test]
fn a_missing_node_peer_is_an_error_and_no_hang() {
    let offers = offers(2);
    let contacts = contacts(&offers);
    let first = seek(offers.into_iter().next().unwrap(), 0, key(), &contacts);
    let error = first.gather(&[Some(Rank::new(0)); 2], Duration::ZERO).unwrap_err();
    assert!(matches!(error, Error::NodePeerGone { rank } if rank == 1), "{error}");
}

#[test]
fn a_lost_leader_is_an_error_for_present_and_later_waits() {
    for close in [false, true] {
        let mut nodes = node(3).into_iter();
        let (leader, peers) = (nodes.next().unwrap(), nodes.collect::<Vec<_>>());
        thread::scope(|scope| {
            let waiter = scope.spawn(|| peers[0].share(1, 10));
            thread::sleep(Duration::from_millis(20));
            // The leader dies, or closes while something still holds its node.
            let kept = close.then(|| leader.close()).map(|()| leader);
            let error = waiter.join().unwrap().unwrap_err();
            assert_eq!(error.to_string(), "rank 0 no longer shares memory: it has ended or failed");
            assert!(matches!(peers[1].share(1, 10), Err(Error::NodePeerGone { rank }) if rank == 0));
            drop(kept);
        });
    }
}

#[test]
fn a_lost_node_peer_does_not_delay_others() {
    let mut nodes = node(3);
    nodes.remove(1);
    for id in 1..1000 {
        nodes.iter().for_each(|node| drop(node.share(id, 10).unwrap()));
    }
}

#[test]
fn closing_its_own_end_wakes_a_node_peer() {
    let nodes = node(2);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| nodes[1].share(1, 10));
        thread::sleep(Duration::from_millis(20));
        nodes[1].close();
        assert!(matches!(waiter.join().unwrap(), Err(Error::NodePeerGone { .. })));
    });
}

#[test]
fn a_closed_end_is_not_taken_for_the_end_of_others() {
    for closed in 0..3 {
        let nodes = node(3);
        nodes[closed].close();
        for node in &nodes {
            (0..3).for_each(|peer| assert!(!node.has_ended(peer), "{peer}, when {closed} has closed"));
            assert_eq!(node.notes_ends(), closed != 0, "the leader alone sees the ends of all");
        }
    }
}

#[test]
fn a_skipped_id_is_not_taken_for_the_next() {
    let nodes = node(2);
    let [leader, peer] = &nodes[..] else { unreachable!() };
    leader.share(1, 10).unwrap();
    leader.share(2, 20).unwrap();
    assert_eq!(peer.share(2, 20).unwrap().len(), 20);
    leader.share(5, 50).unwrap();
    let error = peer.share(3, 30).unwrap_err().to_string();
    assert!(error.contains("id 5, but skipped id 3"), "{error}");
    assert_eq!(peer.share(5, 50).unwrap().len(), 50);
}

#[test]
fn what_the_leader_cannot_create_is_the_same_error_on_all() {
    let nodes = node(3);
    let errors: Vec<_> = nodes.iter().map(|node| node.share(1, usize::MAX).unwrap_err().to_string()).collect();
    assert!(errors[0].contains("Invalid argument") && errors.iter().all(|error| *error == errors[0]), "{errors:?}");
    // A length that differs from the leader's is refused.
    let lens = [10, 20, 10];
    let outcomes: Vec<_> = nodes.iter().zip(lens).map(|(node, len)| node.share(2, len).is_ok()).collect();
    assert_eq!(outcomes, [true, false, true]);
}
