//! The addresses of a machine by which other ranks can reach it.

use crate::Error;
use if_addrs::{IfAddr, get_if_addrs};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr};

/// An address of this machine and the network that it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Candidate {
    pub address: Ipv4Addr,
    pub prefix: u8,
}

impl Candidate {
    fn network(self) -> (u32, u8) {
        let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0);
        (u32::from(self.address) & mask, self.prefix)
    }
}

/// The addresses of this machine, without the loopback address, or those of `interface`.
pub(crate) fn candidates(interface: Option<&str>) -> Result<Vec<Candidate>, Error> {
    let all = get_if_addrs().map_err(Error::system("list the network interfaces"))?;
    if let Some(name) = interface
        && !all.iter().any(|known| known.name == name)
    {
        let mut known: Vec<&str> = all.iter().map(|known| known.name.as_str()).collect();
        known.sort_unstable();
        known.dedup();
        if known.is_empty() {
            known.push("none that is up");
        }
        return Err(Error::NoInterface { name: name.to_owned(), known: known.join(", ") });
    }
    Ok(all
        .iter()
        .filter(|known| interface.map_or(!known.is_loopback(), |name| known.name == name))
        .filter_map(|known| match &known.addr {
            IfAddr::V4(v4) => Some(Candidate { address: v4.ip, prefix: v4.prefixlen }),
            IfAddr::V6(_) => None,
        })
        .collect())
}

/// The interface with an address of this machine, in words.
pub(crate) fn interface_of(address: IpAddr) -> String {
    let all = get_if_addrs().unwrap_or_default();
    match all.iter().find(|known| known.ip() == address) {
        Some(known) => format!("the interface {} ({address})", known.name),
        None => format!("the interface of {address}"),
    }
}

/// The address to bind if all ranks run on this machine: that of `interface`, or the loopback address.
pub(crate) fn on_one_machine(interface: Option<&str>) -> Result<IpAddr, Error> {
    match interface {
        None => Ok(Ipv4Addr::LOCALHOST.into()),
        Some(name) => Ok(choose(&candidates(Some(name))?, &[])),
    }
}

/// The address to bind, from this rank's candidates and those of all ranks: in the first network that all ranks share,
/// otherwise the first candidate, otherwise the loopback address.
pub(crate) fn choose(own: &[Candidate], all: &[Vec<Candidate>]) -> IpAddr {
    let shared = own.iter().find(|candidate| {
        let network = candidate.network();
        all.iter().all(|theirs| theirs.iter().any(|their| their.network() == network))
    });
    shared.or(own.first()).map_or(Ipv4Addr::LOCALHOST, |candidate| candidate.address).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(address: [u8; 4], prefix: u8) -> Candidate {
        let address = address.into();
        Candidate { address, prefix }
    }

    #[test]
    fn the_network_that_all_share_wins() {
        let one = vec![on([172, 17, 0, 1], 16), on([10, 1, 0, 1], 24), on([192, 168, 0, 1], 24)];
        let two = vec![on([172, 18, 0, 1], 16), on([192, 168, 0, 2], 24), on([10, 1, 0, 2], 24)];
        let all = [one.clone(), two.clone()];
        assert_eq!(choose(&one, &all), IpAddr::from([10, 1, 0, 1]));
        assert_eq!(choose(&two, &all), IpAddr::from([192, 168, 0, 2]));
        assert_eq!(choose(&one, &[one.clone(), vec![]]), IpAddr::from([172, 17, 0, 1]));
        assert_eq!(choose(&[], &[]), IpAddr::from([127, 0, 0, 1]));
    }

    #[test]
    fn an_unknown_interface_is_refused_with_the_known_ones() {
        let error = candidates(Some("no-such")).unwrap_err().to_string();
        assert!(error.contains("`no-such`") && error.contains("lo"), "{error}");
        assert_eq!(candidates(Some("lo")).unwrap()[0].address, Ipv4Addr::LOCALHOST);
    }
}
