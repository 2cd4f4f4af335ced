//! Entering a load, and announcing it to all ranks.

use super::message::LoadMessage;
use super::write_marks::merge_marks;
use crate::Error;
use crate::epoch::Opening;
use crate::ids::Epoch;
use crate::kernel::Loan;
use crate::memory::{Sharing, Turn};
use crate::object::Cx;
use crate::vector::machine::Vector;
use crate::vector::message::Message;
use aurora_net::Payload;
use std::sync::Arc;

/// More writes in an announcement would not fit a header.
pub(crate) const ANNOUNCED_WRITES: usize = 32;

/// Blocks up to this length, in bytes, are sent from a copy, so that no write waits for acknowledgements, which are in
/// no hurry for what fits a packet.
pub(crate) const COPIED_BLOCK: usize = 1024;

impl Vector {
    /// Enters a ReadCache. Where all ranks share the memory it arrives at a barrier of theirs, at which they find out
    /// whether all blocks are in their places and nobody has anything to tell; else this rank announces itself at once.
    pub(crate) fn enter_read_cache(&mut self, opening: Opening, cx: &mut Cx<'_>) -> Result<Epoch, Error> {
        let (me, size) = (cx.me(), cx.size());
        let (digest, window) = (opening.digest(), opening.window);
        let epoch = self.enter(opening, cx)?;
        if self.block.find_home().is_none() || self.nodes.with(me).len() < size {
            self.announce(epoch, cx);
            return Ok(epoch);
        }
        let own = self.own_part(window);
        let at_home = self.block.bring_home(&own);
        let to_tell = !at_home || window.is_whole() && self.load.cache.is_used() || self.load.write_marks.any();
        self.load.barriers += 1;
        // The same for all who have nothing to tell.
        let word = epoch << 24 | if to_tell { me.index() as u64 + 1 } else { 0 };
        self.load.node_barrier = Some(Turn { number: self.load.barriers, word: word ^ digest });
        Ok(epoch)
    }

    /// The node barrier at which this rank has arrived for a ReadCache.
    pub(crate) fn node_barrier(&self) -> Option<(&Arc<Sharing>, Turn)> {
        Some((self.block.find_home()?.sharing(), self.load.node_barrier?))
    }

    /// All have come to it. If nobody has anything to tell, everything that an announcement could say is known.
    pub(crate) fn pass_node_barrier(&mut self, epoch: Epoch, agreed: bool, cx: &mut Cx<'_>) {
        self.load.node_barrier = None;
        if !agreed {
            return self.announce(epoch, cx);
        }
        let record = self.ledger.record(epoch);
        record.mine_complete = true;
        for arrival in &mut record.from {
            (arrival.complete, arrival.arrived, arrival.at_home) = (true, true, true);
        }
        self.advance(cx);
    }

    /// Announces the ReadCache that it has entered to all, each announcement with our block if it has changed.
    fn announce(&mut self, epoch: Epoch, cx: &mut Cx<'_>) {
        let (me, size) = (cx.me(), cx.size());
        let opening = self.ledger.record(epoch).mine.clone().expect("just entered");
        if !opening.window.is_whole() {
            return self.announce_part(epoch, opening, cx);
        }
        let site = opening.site.clone();
        let element = self.block.element;
        let range = self.dist.range(me);
        let nodes = self.nodes.clone();
        if nodes.with(me).len() < size {
            // What goes to other nodes has to contain all that was written before.
            self.block.freeze();
        }
        let at_home = self.block.go_home();
        if let Some(home) = self.block.home() {
            home.cache.enter(epoch);
        }
        if !at_home || self.load.cache.is_used() {
            self.loading(epoch);
            let replica = self.load.cache.find_loading(epoch).expect("just begun");
            let version = self.block.version;
            if !at_home && replica.have[me.index()] != version {
                let written = self.block.read(|bytes| replica.write(range.start * element, bytes));
                written.expect("no write guard is open");
                replica.have[me.index()] = version;
            }
        }
        self.load.touched = Some(Vec::new());
        let mut marks = self.load.write_marks.take();
        let version = self.block.version;
        // What lies at home our node peers have before their eyes; of another node one rank receives it for all.
        let to_peers = !at_home && version != self.load.pushed && !range.is_empty();
        let abroad = version != self.load.sent_abroad && !range.is_empty() && nodes.with(me).len() < size;
        let sends_to = |rank| if nodes.same_node(me, rank) { to_peers } else { abroad && nodes.receives(me, rank) };
        let writes = self.load.write_marks.applied();
        let record = self.ledger.record(epoch);
        merge_marks(&mut record.marks, &marks);
        record.mine_complete = true;
        let mine = &mut record.from[me.index()];
        (mine.version, mine.at_home, mine.writes) = (version, at_home, writes);
        let reason = cx.reason("ReadCache", Some(site));
        let list_follows = marks.len() > ANNOUNCED_WRITES;
        let list = list_follows.then(|| std::mem::take(&mut marks));
        let message =
            Message::Load(LoadMessage::Enter { epoch, opening, version, at_home, writes, marks, list_follows });
        let own = range.start * element..range.end * element;
        let is_short = (to_peers || abroad) && own.len() <= COPIED_BLOCK;
        let copied = if is_short { self.block.read(bytes::Bytes::copy_from_slice) } else { None };
        for rank in me.others(size) {
            let payload = match &copied {
                _ if !sends_to(rank) => Payload::Empty,
                Some(copied) => Payload::Bytes(copied.clone()),
                None => {
                    let token = cx.lend(if at_home {
                        // Nobody writes there before it is acknowledged.
                        self.block.lend_to_transfer();
                        Loan::Block { object: cx.id(), base: 0 }
                    } else {
                        let serial = self.load.cache.begin_send(epoch);
                        Loan::CacheOut { object: cx.id(), serial, base: own.start }
                    });
                    Payload::Lent { token, len: own.len() }
                }
            };
            message.send(&reason, rank, payload, cx);
            if let Some(list) = &list {
                let list = postcard::to_allocvec(list).expect("pairs of numbers");
                let message = Message::Load(LoadMessage::Made { epoch });
                message.send(&reason, rank, Payload::Bytes(list.into()), cx);
            }
        }
        self.advance(cx);
    }
}
