//! The network between nodes: a switch, and for each node a port out of the node and a port into it.

use super::SettingError;
use crate::Node;

/// The network, the same between any two nodes. Times are in units: 1000 are 1 ms, so 1 is 1 us.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Link {
    /// The time that a block is on the way, in addition to its time on the wire.
    pub latency: f64,
    /// The time that a small message is on the way: a report, an order, a request. It takes no time on the wire.
    pub message: f64,
    /// The bytes in a unit of time (1 Mbit/s is 0.125). If it is infinite, a block takes no time on the wire.
    pub rate: f64,
    /// The maximum number of bytes of a block in one packet. The switch forwards a packet when it has received all of
    /// it.
    pub packet: u32,
    /// The bytes on the wire that frame each packet.
    pub framing: u32,
    /// Units of work that a block costs the node that sends it.
    pub sending: f64,
    /// Units of work that a block costs the node that receives it.
    pub receiving: f64,
}

impl Link {
    /// A network that costs nothing.
    pub const FREE: Link = Link {
        latency: 0.0,
        message: 0.0,
        rate: f64::INFINITY,
        packet: u32::MAX,
        framing: 0,
        sending: 0.0,
        receiving: 0.0,
    };

    /// Returns the network of `aurora-net` on Ethernet with jumbo frames at `mbit` Mbit/s: packets of 8972 bytes, 25 us
    /// from one node to another. Transfers cost no work of a processor.
    pub fn ethernet(mbit: f64) -> Self {
        Link { latency: 25.0, message: 25.0, rate: mbit / 8.0, packet: PACKET, framing: FRAMING, ..Link::FREE }
    }

    /// Returns a network in which a block takes `units` from one node to another, however many blocks are on the way.
    pub fn delay(units: f64) -> Self {
        Link { latency: units, ..Link::FREE }
    }

    /// Returns the time that a block of `bytes` bytes keeps a port busy.
    pub fn occupancy(&self, bytes: u32) -> f64 {
        let framing = u64::from(bytes.div_ceil(self.packet)) * u64::from(self.framing);
        (u64::from(bytes) + framing) as f64 / self.rate
    }

    /// Returns the time that a block of `bytes` bytes takes from one node to another while nothing else is on the way.
    pub fn alone(&self, bytes: u32) -> f64 {
        self.to_switch(bytes) + self.occupancy(bytes)
    }

    /// Returns the arrival time of each transfer (from, to, bytes), if all are sent at time 0, those of one node in
    /// their order.
    pub fn arrivals(&self, nodes: Node, transfers: &[(Node, Node, u32)]) -> Vec<f64> {
        let mut ports = Ports::new(*self, nodes);
        let heads = transfers.iter().map(|(from, _, bytes)| ports.leave(0.0, *from, *bytes).head);
        let mut heads: Vec<(f64, usize)> = heads.zip(0..).collect();
        heads.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut arrivals = vec![0.0; transfers.len()];
        for (head, at) in heads {
            let (_, to, bytes) = transfers[at];
            arrivals[at] = ports.enter(head, to, bytes);
        }
        arrivals
    }

    /// Checks that the link can be simulated.
    pub(super) fn check(&self) -> Result<(), SettingError> {
        SettingError::check_cost("the latency of a block", self.latency)?;
        SettingError::check_cost("the latency of a message", self.message)?;
        SettingError::check_cost("the sending of a block", self.sending)?;
        SettingError::check_cost("the receiving of a block", self.receiving)?;
        SettingError::check_count("packet", self.packet)?;
        if self.rate > 0.0 { Ok(()) } else { Err(SettingError::Rate(self.rate)) }
    }

    /// Returns the time until the first packet is in the switch's port to the receiver.
    fn to_switch(self, bytes: u32) -> f64 {
        self.latency + self.occupancy(bytes.min(self.packet))
    }
}

/// The bytes of a transfer in a packet of `aurora-net`, and the bytes that frame them: the headers of Ethernet, IP, UDP
/// and `aurora-net`.
const PACKET: u32 = 8940;
const FRAMING: u32 = 98;

/// The ports of all nodes. A node sends one block after the other and receives one block after the other, and does both
/// at the same time.
///
/// A block is forwarded while it still comes in (*cut-through*), one packet behind. A receiver's port takes blocks in
/// the order in which they begin to arrive. A block that has to wait for the port waits in the switch, which has room
/// for all blocks, and does not keep its sender's port busy.
#[derive(Clone, Debug)]
pub struct Ports {
    link: Link,
    /// The time from which each port is free.
    out_of: Vec<f64>,
    into: Vec<f64>,
}

/// A block that leaves a node.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Leaving {
    /// The time at which all of it has left.
    pub left: f64,
    /// The time at which it begins to arrive: [`Ports::enter`] takes this.
    pub head: f64,
}

impl Ports {
    /// Creates ports that are all free.
    pub fn new(link: Link, nodes: Node) -> Self {
        Ports { link, out_of: vec![0.0; nodes as usize], into: vec![0.0; nodes as usize] }
    }

    /// Sends a block of `bytes` bytes from a node.
    pub fn leave(&mut self, now: f64, from: Node, bytes: u32) -> Leaving {
        let free = &mut self.out_of[from as usize];
        let start = free.max(now);
        *free = start + self.link.occupancy(bytes);
        Leaving { left: *free, head: start + self.link.to_switch(bytes) }
    }

    /// Receives a block that begins to arrive at `head`, and returns the time at which all of it has arrived. Call it
    /// in the order of `head`.
    pub fn enter(&mut self, head: f64, to: Node, bytes: u32) -> f64 {
        let free = &mut self.into[to as usize];
        *free = free.max(head) + self.link.occupancy(bytes);
        *free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of 100 bytes takes 11 units.
    const LINK: Link = Link { latency: 5.0, rate: 10.0, packet: 100, framing: 10, ..Link::FREE };

    #[test]
    fn a_block_alone_comes_one_packet_and_a_latency_after_it_has_left() {
        assert_eq!(LINK.occupancy(250), 28.0);
        assert_eq!(LINK.alone(250), 5.0 + 11.0 + 28.0);
        assert_eq!(LINK.alone(50), 5.0 + 6.0 + 6.0);
        assert_eq!((Link::FREE.alone(1 << 30), Link::delay(3.0).alone(7)), (0.0, 3.0));
        // 40 KB at 155 Mbit/s: 2.1 ms.
        assert_eq!(Link::ethernet(155.0).occupancy(40_000).round(), 2090.0);
    }

    #[test]
    fn ports_take_one_after_the_other() {
        let alone = LINK.alone(200);
        assert_eq!(LINK.arrivals(3, &[(1, 0, 200), (2, 0, 200)]), [alone, alone + 22.0]);
        assert_eq!(LINK.arrivals(3, &[(0, 1, 200), (0, 2, 200)]), [alone, alone + 22.0]);
        assert_eq!(LINK.arrivals(4, &[(0, 1, 200), (2, 3, 200), (1, 0, 200)]), [alone; 3]);
    }

    #[test]
    fn a_sender_goes_on_while_its_block_waits_for_a_receiver() {
        // 1 and 2 send to 0; the second block of 2 goes to 3, which is free.
        let arrivals = LINK.arrivals(4, &[(1, 0, 200), (2, 0, 200), (2, 3, 200)]);
        assert_eq!(arrivals[2], LINK.alone(200) + 22.0);
    }

    #[test]
    fn all_to_all_is_as_long_as_one_sender_to_all() {
        let all = (0..8).flat_map(|from| (1..8).map(move |step| (from, (from + step) % 8, 200))).collect::<Vec<_>>();
        let last = LINK.arrivals(8, &all).into_iter().fold(0.0, f64::max);
        assert_eq!(last, LINK.alone(200) + 6.0 * 22.0);
    }
}
