//! The length of datagrams, by the interface and the user's setting.

use super::port::Reach;
use crate::charge::HEADERS;
use crate::{Error, Transport, limits};
use rustix::net::sockopt::ip_mtu;
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The assumed MTU of an unknown interface: Ethernet's.
const ETHERNET: usize = 1500;

/// The longest useful datagram: just below the longest that Linux stores in 32 KiB. Datagrams twice as long are slower.
const LARGEST: usize = 31 << 10;

/// Lengths of datagrams, in bytes of UDP payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mtu {
    /// The length assumed to arrive: on the loopback interface all that it carries, on a network Ethernet's.
    pub base: usize,
    /// The longest datagram of the interface. The path may carry less.
    pub limit: usize,
}

impl Mtu {
    /// The lengths for a socket bound to `ip`; `allowed`: the user's limit of IP packets in bytes.
    pub fn of(ip: IpAddr, allowed: Option<usize>) -> Result<Self, Error> {
        let (least, most) = Transport::MTU.into_inner();
        if let Some(asked) = allowed.filter(|asked| !Transport::MTU.contains(asked)) {
            return Err(Error::MtuAllowed { asked, least, most });
        }
        let carried = match carried(ip) {
            Ok(carried) => carried,
            // If the system does not know, assume that the path carries Ethernet's packets.
            Err(error) if limits::open_files(&error).is_none() => ETHERNET,
            Err(error) => return Err(Error::system("ask an interface for its MTU")(error)),
        };
        if carried < least {
            return Err(Error::MtuCarried { address: ip, carried, least });
        }
        Ok(Mtu::within(Reach::of(ip), carried, allowed))
    }

    fn within(reach: Reach, carried: usize, allowed: Option<usize>) -> Self {
        // A longer setting on the loopback interface is meant for measurements.
        let largest = match (reach, allowed) {
            (Reach::Host, Some(allowed)) => allowed,
            _ => LARGEST + HEADERS,
        };
        let limit = carried.min(largest).min(allowed.unwrap_or(usize::MAX)) - HEADERS;
        match reach {
            Reach::Host => Mtu { base: limit, limit },
            Reach::Network => Mtu { base: limit.min(ETHERNET - HEADERS), limit },
        }
    }
}

/// The MTU of the interface with the address `ip`, in bytes of an IP packet. A socket's route to a multicast address
/// uses the interface of its bound address, whatever the routing table says, and the socket reports its route's MTU.
/// Unlike files below /sys this is right in a network namespace too. Nothing is sent.
pub(super) fn carried(ip: IpAddr) -> io::Result<usize> {
    let everyone = SocketAddr::new(Ipv4Addr::new(224, 0, 0, 1).into(), 9);
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    socket.bind(&SocketAddr::new(ip, 0).into())?;
    socket.connect(&everyone.into())?;
    Ok(ip_mtu(&socket)? as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_starts_with_ethernets_length_and_may_go_on_to_the_interfaces() {
        let network = |carried, allowed| {
            let Mtu { base, limit } = Mtu::within(Reach::Network, carried, allowed);
            (base, limit)
        };
        assert_eq!(network(1500, None), (1472, 1472));
        assert_eq!(network(9000, None), (1472, 8972));
        assert_eq!(network(1400, None), (1372, 1372));
        assert_eq!(network(65_520, None), (1472, 31 << 10));
        assert_eq!(network(9000, Some(1500)), (1472, 1472));
        assert_eq!(network(9000, Some(1228)), (1200, 1200));
        assert_eq!(network(1500, Some(9000)), (1472, 1472));
    }

    #[test]
    fn the_loopback_interface_uses_what_is_allowed() {
        let host = |allowed| Mtu::within(Reach::Host, 65_535, allowed).base;
        assert_eq!([None, Some(1500), Some(65_535)].map(host), [31 << 10, 1472, 65_507]);
    }

    #[test]
    fn impossible_lengths_are_refused() {
        for asked in [0, 1227, 65_536] {
            let error = Mtu::of(Ipv4Addr::LOCALHOST.into(), Some(asked)).unwrap_err();
            assert!(error.to_string().contains("1228 to 65535"), "{error}");
        }
        assert!(Mtu::of(Ipv4Addr::LOCALHOST.into(), Some(1228)).is_ok());
    }

    #[test]
    fn the_loopback_interface_is_asked() {
        assert!(carried(Ipv4Addr::LOCALHOST.into()).unwrap() >= ETHERNET);
        assert!(carried(Ipv4Addr::new(192, 0, 2, 77).into()).is_err(), "not an address of this machine");
    }
}
