//! Seeing to the blocks of other nodes: the one rank that receives a block puts it into its room, or forwards it to its mates.

use super::cache::Replica;
use crate::epoch::Arrival;
use crate::ids::{Epoch, ObjectId};
use crate::kernel::message::{Message, malformed};
use crate::kernel::{Loan, Reason, Service};
use crate::memory::Shortage;
use crate::vector::batch::Batch;
use crate::vector::object::Object;
use aurora_net::{Outbox, Payload, Placement, Rank, Received};
use std::ops::Range;

/// What has become of a block that we receive.
enum Lodged {
    /// It stands in its room, in this version.
    Stands(u64),
    /// It has come, in this version, and its room is not free.
    Homeless(u64),
    /// All have what they need.
    Settled,
}

impl Service {
    /// Once all have announced a load: sees to the blocks that this rank receives and that are complete. Whether, if all are, those
    /// of other nodes can be had here now.
    pub(crate) fn lodge(&mut self, id: ObjectId, epoch: Epoch, out: &mut Outbox) -> Result<bool, Shortage> {
        let me = self.me;
        let Some(object) = self.objects.get_mut(&id) else {
            return Ok(false);
        };
        if object.block.home().is_none() || object.ledger.find(epoch).is_none() {
            return Ok(true);
        }
        let (mut standing, mut homeless) = (Vec::new(), Vec::new());
        let incomplete: Vec<Rank> = object.ledger.incomplete_blocks(epoch).collect();
        for owner in object.abroad(me).into_iter().filter(|owner| !incomplete.contains(owner)) {
            match object.lodge(owner, epoch)? {
                Lodged::Stands(version) => standing.push((owner.index() as u32, version)),
                Lodged::Homeless(version) => homeless.push((owner, version)),
                Lodged::Settled => {}
            }
        }
        if !standing.is_empty() || !homeless.is_empty() {
            self.tell_mates(id, epoch, &standing, &homeless, out);
        }
        let object = self.objects.get_mut(&id).expect("as above");
        let missing = object.abroad(me).into_iter().any(|owner| !object.has_from_abroad(owner, epoch));
        Ok(!missing)
    }

    fn tell_mates(
        &mut self,
        id: ObjectId,
        epoch: Epoch,
        standing: &[(u32, u64)],
        homeless: &[(Rank, u64)],
        out: &mut Outbox,
    ) {
        let object = self.objects.get_mut(&id).expect("just looked at");
        let nodes = object.nodes.clone();
        let site = object.ledger.find(epoch).and_then(|record| record.mine.as_ref()).map(|mine| mine.site.clone());
        let reason = Reason { object: Some(id), action: "ReadCache", site };
        let mates = nodes.mates(self.me).iter().copied().filter(|mate| *mate != self.me);
        for mate in mates {
            if !standing.is_empty() {
                let list = postcard::to_allocvec(standing).expect("pairs of numbers");
                let message = Message::Stand { object: id, epoch };
                self.mail.post_for(out, &reason, mate, &message, Payload::Bytes(list.into()));
            }
            for (owner, version) in homeless {
                let object = self.objects.get_mut(&id).expect("just looked at");
                let (bytes, serial) = (object.bytes_of(*owner), object.cache.begin_send(epoch));
                let token = self.loans.add(Loan::CacheOut { object: id, serial, base: bytes.start });
                let message = Message::Forward { object: id, epoch, owner: *owner, version: *version };
                let payload = Payload::Lent { token, len: bytes.len() };
                self.mail.post_for(out, &reason, mate, &message, payload);
            }
        }
    }

    /// The mates who have not said yet what has become of a block that they receive.
    pub(crate) fn receivers_awaited(&self, id: ObjectId, epoch: Epoch) -> Vec<Rank> {
        let object = self.objects.get(&id).filter(|object| object.block.find_home().is_some());
        let Some(object) = object.filter(|object| object.ledger.find(epoch).is_some()) else {
            return Vec::new();
        };
        let window = object.ledger.scope_of(epoch).0;
        if !window.is_whole() {
            return self.part_awaited(id, (epoch, window));
        }
        let missing = object.abroad(self.me).into_iter().filter(|owner| !object.has_from_abroad(*owner, epoch));
        missing.map(|owner| object.nodes.receiver(owner, self.me)).collect()
    }

    /// A mate has put blocks of other nodes into their rooms.
    pub(crate) fn stand(&mut self, from: Rank, id: ObjectId, epoch: Epoch, list: &[u8], out: &mut Outbox) {
        let (me, size) = (self.me, self.size);
        let Ok(list) = postcard::from_bytes::<Vec<(u32, u64)>>(list) else {
            return self.fail(None, malformed(from), out);
        };
        let Some(object) = self.objects.get_mut(&id) else {
            return;
        };
        let nodes = object.nodes.clone();
        for (owner, version) in list {
            let owner = Rank::new(owner as usize);
            if owner.index() >= size || !nodes.receives(owner, from) || !nodes.are_mates(from, me) {
                return self.fail(None, malformed(from), out);
            }
            if let Some(home) = object.block.home() {
                home.guests.stands(owner, version, epoch);
            }
        }
    }

    pub(crate) fn place_forward(
        &mut self,
        from: Rank,
        (id, epoch, owner): (ObjectId, Epoch, Rank),
        len: usize,
    ) -> Placement {
        let (me, size) = (self.me, self.size);
        let Some(object) = self.objects.get_mut(&id).filter(|object| object.fault.is_none()) else {
            // It may be faulty because there is no memory for this.
            return Placement::At(self.loans.add(Loan::Nowhere));
        };
        if owner.index() >= size || !object.nodes.receives(owner, from) || !object.nodes.are_mates(from, me) {
            return Placement::Buffer;
        }
        if let Some(place) = self.place_forwarded_part((id, epoch, owner), len) {
            return place;
        }
        let object = self.objects.get_mut(&id).expect("just looked at");
        let bytes = object.bytes_of(owner);
        let expected = object.ledger.find(epoch).is_some() && object.cache.may_load(epoch);
        if len != bytes.len() || !expected {
            return Placement::Buffer;
        }
        object.loading(epoch);
        Placement::At(self.loans.add(Loan::CacheIn { object: id, epoch, base: bytes.start, len }))
    }

    /// A mate has forwarded a block of another node.
    pub(crate) fn forwarded(
        &mut self,
        from: Rank,
        (id, epoch, owner): (ObjectId, Epoch, Rank),
        version: u64,
        payload: Received,
        out: &mut Outbox,
    ) {
        let loan = match payload {
            Received::Placed(token) => self.loans.end(token),
            _ => None,
        };
        match loan {
            Some(Loan::CacheIn { .. }) => {}
            Some(Loan::PartIn { .. }) => return self.forwarded_part((id, epoch, owner), out),
            Some(_) => return,
            None => return self.fail(None, malformed(from), out),
        }
        let Some(object) = self.objects.get_mut(&id) else {
            return;
        };
        let site = object.ledger.find(epoch).and_then(|record| record.mine.as_ref()).map(|mine| mine.site.clone());
        let Some((replica, site)) = object.cache.find_loading(epoch).zip(site) else {
            return;
        };
        replica.have[owner.index()] = version;
        if let Some(shortage) = replica.short().cloned() {
            self.no_cache(id, shortage, &site, out);
        }
    }
}

impl Object {
    /// The copy that is loaded for `epoch`.
    pub(crate) fn loading(&mut self, epoch: Epoch) -> &mut Replica {
        let (size, bytes) = (self.nodes.size(), self.dist.len() * self.block.element);
        let len = self.dist.len();
        self.cache.loading(epoch, size, bytes, || (self.fresh)(len))
    }

    /// A rank's block within the whole, in bytes.
    pub(crate) fn bytes_of(&self, owner: Rank) -> Range<usize> {
        let (range, element) = (self.dist.range(owner), self.block.element);
        range.start * element..range.end * element
    }

    /// The owners on other nodes that have a block.
    fn abroad(&self, me: Rank) -> Vec<Rank> {
        let others = me.others(self.nodes.size());
        others.filter(|owner| !self.nodes.are_mates(*owner, me) && !self.dist.range(*owner).is_empty()).collect()
    }

    /// What has arrived of a rank's block for a load that this rank has entered.
    fn arrival(&self, owner: Rank, epoch: Epoch) -> &Arrival {
        &self.ledger.find(epoch).expect("a load is remembered until it is complete").from[owner.index()]
    }

    /// Whether the block of a rank on another node stands in its place, as it is when the load is complete.
    pub(crate) fn stands(&self, owner: Rank, epoch: Epoch) -> bool {
        let version = self.arrival(owner, epoch).final_version();
        self.block.find_home().is_some_and(|home| home.guests.standing(owner) == version)
    }

    /// Whether it can be had: there, or in a copy of ours.
    fn has_from_abroad(&self, owner: Rank, epoch: Epoch) -> bool {
        self.stands(owner, epoch) || self.cache.has(epoch, owner, self.arrival(owner, epoch).final_version())
    }

    /// Sees to a block of another node, if we receive it and have not yet: puts it into its room if that is free, else makes it
    /// complete in our copy.
    fn lodge(&mut self, owner: Rank, epoch: Epoch) -> Result<Lodged, Shortage> {
        if self.stands(owner, epoch) {
            return Ok(Lodged::Settled);
        }
        let Some(home) = self.block.home() else {
            return Ok(Lodged::Settled);
        };
        let free = home.is_free_for(epoch);
        let Some(room) = home.guests.room(owner) else {
            return Ok(Lodged::Settled);
        };
        let (done, landed) = (room.see_to(epoch), room.has_let_in(epoch));
        match done {
            true => Ok(Lodged::Settled),
            false if free || landed => self.accommodate(owner, epoch),
            false => self.put_up(owner, epoch),
        }
    }

    /// Puts it into its room, where nobody reads.
    fn accommodate(&mut self, owner: Rank, epoch: Epoch) -> Result<Lodged, Shortage> {
        let Arrival { version: base, .. } = *self.arrival(owner, epoch);
        let (version, bytes) = (self.arrival(owner, epoch).final_version(), self.bytes_of(owner));
        let changes = self.changes(owner, epoch);
        let home = self.block.home().expect("it has a room there");
        let stands = home.guests.standing(owner) == base;
        let room = home.guests.room(owner).expect("just looked at");
        if !stands && !room.has_let_in(epoch) {
            let copy = self.cache.find_block(epoch, owner, base);
            room.write(0, &copy.expect("what has not come is kept since it came")[bytes]);
        }
        for (at, bytes) in changes {
            room.write(at, &bytes);
        }
        if let Some(shortage) = room.short() {
            return Err(shortage.clone());
        }
        home.guests.stands(owner, version, epoch);
        Ok(Lodged::Stands(version))
    }

    /// Makes it complete in our copy. What has come for an earlier load and is not in its room was forwarded then, and all have kept it.
    fn put_up(&mut self, owner: Rank, epoch: Epoch) -> Result<Lodged, Shortage> {
        let Arrival { version: base, came, .. } = *self.arrival(owner, epoch);
        let (version, bytes) = (self.arrival(owner, epoch).final_version(), self.bytes_of(owner));
        if !came && version == base {
            return Ok(Lodged::Settled);
        }
        let changes = self.changes(owner, epoch);
        self.loading(epoch);
        let kept = self.cache.carry_over(epoch, owner, base, bytes.clone());
        let replica = self.cache.find_loading(epoch).expect("just begun");
        if !kept {
            let home = self.block.find_home().filter(|home| home.guests.standing(owner) == base);
            let place = home.expect("what has not come is kept since it came").part(bytes.clone());
            replica.write(bytes.start, place.bytes());
        }
        for (at, change) in changes {
            replica.write(bytes.start + at, &change);
        }
        replica.have[owner.index()] = version;
        replica.short().map_or(Ok(Lodged::Homeless(version)), |shortage| Err(shortage.clone()))
    }

    /// What late writes changed in a rank's block: byte offsets in it, and what stands there now.
    pub(crate) fn changes(&self, owner: Rank, epoch: Epoch) -> Vec<(usize, Vec<u8>)> {
        let (element, len) = (self.block.element, self.dist.range(owner).len());
        let correction = self.arrival(owner, epoch).correction.as_ref();
        let changes = correction.map_or(Vec::new(), |(_, changes)| {
            Batch::parse(changes, element, len).expect("checked when it came").runs(element)
        });
        changes.into_iter().map(|(run, bytes)| (run.start * element, bytes.to_vec())).collect()
    }
}
