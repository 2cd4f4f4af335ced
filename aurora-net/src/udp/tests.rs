//! Tests how Linux treats our datagrams, with real sockets: on the loopback interface and between two network
//! namespaces.

use super::mtu::carried;
use crate::charge::charge;
use quinn_udp::{Transmit, UdpSockRef, UdpSocketState};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::process::Command;
use std::time::Duration;

/// Two network namespaces, joined by a pair of interfaces with jumbo frames.
struct Wire {
    names: [String; 2],
}

const ENDS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 99, 0, 1), Ipv4Addr::new(10, 99, 0, 2)];

impl Wire {
    /// `None`: not permitted here, which has been printed.
    fn new(test: &str) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            // Not printed by a macro, whose output the test harness captures.
            let _ = writeln!(io::stderr(), "SKIPPED: a test of packets on a wire needs root, for network namespaces");
            return None;
        }
        let id = std::process::id();
        let wire = Wire { names: ["a", "b"].map(|end| format!("aurora-{test}-{id}-{end}")) };
        let [a, b] = &wire.names;
        ip(&format!("netns add {a}"));
        ip(&format!("netns add {b}"));
        ip(&format!("link add eth0 netns {a} type veth peer name eth0 netns {b}"));
        for (name, address) in wire.names.iter().zip(ENDS) {
            ip(&format!("-n {name} link set eth0 mtu 9000 up"));
            ip(&format!("-n {name} address add {address}/24 dev eth0"));
        }
        Some(wire)
    }

    fn at<R: Send>(&self, end: usize, body: impl FnOnce() -> R + Send) -> R {
        let namespace = File::open(format!("/run/netns/{}", self.names[end])).unwrap();
        let body = || {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            body()
        };
        std::thread::scope(|scope| scope.spawn(body).join().unwrap())
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
    }
}

fn ip(arguments: &str) {
    let done = Command::new("ip").args(arguments.split(' ')).output().expect("iproute2 is installed");
    assert!(done.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Linux's charge for the datagrams waiting at `address` in this thread's namespace.
fn charged(address: SocketAddr) -> usize {
    let table = std::fs::read_to_string("/proc/thread-self/net/udp").unwrap();
    let port = format!(":{:04X}", address.port());
    let ours = table.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let queues = ours.filter(|fields| fields[1].ends_with(&port)).map(|fields| fields[4].to_owned()).next().unwrap();
    usize::from_str_radix(queues.split_once(':').unwrap().1, 16).unwrap()
}

/// Linux's charge per datagram, for `count` datagrams of `len` bytes; several form one train.
fn measure(from: &UdpSocket, to: &UdpSocket, look: impl Fn() -> usize, len: usize, count: usize) -> usize {
    let offload = UdpSocketState::new(UdpSockRef::from(from)).unwrap();
    let train = vec![7; len * count];
    let transmit = Transmit {
        destination: to.local_addr().unwrap(),
        ecn: None,
        contents: &train,
        segment_size: (count > 1).then_some(len),
        src_ip: None,
    };
    offload.try_send(UdpSockRef::from(from), &transmit).unwrap();
    let mut before = 0;
    let charge = loop {
        std::thread::sleep(Duration::from_millis(5));
        let now = look();
        if now > 0 && now == before {
            break now / count;
        }
        before = now;
    };
    let mut buffer = vec![0; 1 << 16];
    for _ in 0..count {
        assert_eq!(to.recv(&mut buffer).unwrap(), len);
    }
    charge
}

fn check(from: &UdpSocket, to: &UdpSocket, look: impl Fn() -> usize + Copy, lengths: &[usize]) {
    for &len in lengths {
        let real = measure(from, to, look, len, 1);
        let ours = charge(len);
        assert!((real..=real + real / 3).contains(&ours), "{len} bytes: {real} charged, {ours} expected");
        if len > 0 && 4 * len < 65_000 {
            let real = measure(from, to, look, len, 4);
            assert!(real <= ours, "{len} bytes in a train: {real} charged, {ours} expected");
        }
    }
}

const LENGTHS: [usize; 11] = [0, 100, 300, 700, 1472, 1700, 2016, 3656, 4000, 7752, 8972];

#[test]
fn the_kernel_charges_what_we_expect_on_the_loopback_interface() {
    let [from, to] = [(); 2].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    let address = to.local_addr().unwrap();
    check(&from, &to, || charged(address), &LENGTHS);
    check(&from, &to, || charged(address), &[31 << 10, 65_507]);
}

#[test]
fn the_kernel_charges_what_we_expect_on_a_wire() {
    let Some(wire) = Wire::new("charge") else { return };
    let from = wire.at(0, || UdpSocket::bind((ENDS[0], 0)).unwrap());
    let to = wire.at(1, || UdpSocket::bind((ENDS[1], 0)).unwrap());
    let address = to.local_addr().unwrap();
    let look = || wire.at(1, || charged(address));
    check(&from, &to, look, &LENGTHS);
    // If the interface does not split a train, Linux splits it before.
    ip(&format!("netns exec {} ethtool -K eth0 tx-udp-segmentation off", wire.names[0]));
    check(&from, &to, look, &LENGTHS);
}

#[test]
fn an_interface_is_asked_for_its_mtu_in_its_own_namespace() {
    let Some(wire) = Wire::new("mtu") else { return };
    let ask = |end: usize| wire.at(end, || carried(IpAddr::from(ENDS[end])).unwrap());
    assert_eq!([ask(0), ask(1)], [9000, 9000]);
    // The routing table does not matter.
    ip(&format!("-n {} link set lo up", wire.names[0]));
    ip(&format!("-n {} route add default dev lo", wire.names[0]));
    assert_eq!(ask(0), 9000);
    ip(&format!("-n {} link set eth0 mtu 1400", wire.names[0]));
    assert_eq!([ask(0), ask(1)], [1400, 9000]);
}
