//! Blocks of other nodes in the memory that the ranks of this one share: each is received once, by one rank, in its
//! place.
//!
//! The rank that receives a block (`nodes.rs`) alone writes to its *room*, and only while the gate is clear: everyone
//! here has completed the load before and nobody reads. That may be so when the block's first bytes come; then they go
//! where they belong. If a node peer still shows the last load they go into the receiver's own copy, and the receiver
//! looks again once everybody has announced the new load. Who reads then will go on, whatever comes: it has opened one
//! load inside of another, or forgotten a guard. If nobody does, the block is copied into its room, else it is
//! forwarded to the node peers, who load into copies of their own.
//!
//! Once the gate is clear for a load it stays so until somebody completes that load, which needs the block. So nobody
//! can read a room while it is written to. That a block *stands* in its room, in which version, the receiver tells its
//! node peers by a message: whoever has it sees the block.

use crate::ids::Epoch;
use crate::memory::{Meter, Shortage, Storage};
use aurora_net::Rank;
use std::collections::BTreeMap;

/// The places of all blocks of other nodes.
pub(crate) struct Guests {
    /// Of those that this rank receives.
    rooms: BTreeMap<Rank, Room>,
    /// By owners: what stands in the place.
    standing: Vec<Standing>,
    /// The last two loads that this rank has entered.
    entered: [Epoch; 2],
}

/// The place of a block that this rank receives.
pub(crate) struct Room {
    array: Box<dyn Storage>,
    meter: Meter,
    /// There is no memory for it.
    short: Option<Shortage>,
    /// The last load whose block came straight here.
    landed: Epoch,
    /// The last load for which it has been seen to.
    done: Epoch,
}

/// As far as a rank knows.
#[derive(Clone, Copy, Default)]
struct Standing {
    version: u64,
    /// Of the load that brought it there; what is said of earlier ones is out of date.
    since: Epoch,
}

impl Guests {
    /// Over the places of the blocks that this rank receives.
    pub(crate) fn new(ranks: usize, rooms: impl Iterator<Item = (Rank, Box<dyn Storage>)>) -> Self {
        let room = |(owner, array): (Rank, Box<dyn Storage>)| {
            let meter = Meter::new(array.bytes().len());
            (owner, Room { array, meter, short: None, landed: 0, done: 0 })
        };
        Guests { rooms: rooms.map(room).collect(), standing: vec![Standing::default(); ranks], entered: [0; 2] }
    }

    /// This rank has entered a load.
    pub(crate) fn enter(&mut self, load: Epoch) {
        self.entered = [self.entered[1], load];
    }

    /// The load before this one, which may itself have been entered or not. No rank announces a load before this one
    /// has entered the one before it.
    pub(crate) fn before(&self, load: Epoch) -> Epoch {
        self.entered.into_iter().filter(|entered| *entered < load).max().unwrap_or(0)
    }

    /// The version of a block that stands in its place; 0 is none.
    pub(crate) fn standing(&self, owner: Rank) -> u64 {
        self.standing[owner.index()].version
    }

    /// The receiver of a block has it in its place since this load.
    pub(crate) fn stands(&mut self, owner: Rank, version: u64, since: Epoch) {
        let standing = &mut self.standing[owner.index()];
        if since > standing.since {
            *standing = Standing { version, since };
        }
    }

    /// Nothing that stood at this load does so any more, and its memory is given back. Nobody reads any of it, until
    /// what comes for a later load.
    pub(crate) fn release(&mut self, load: Epoch) {
        self.standing.fill(Standing { version: 0, since: load });
        // An owner may be a load ahead already.
        for room in self.rooms.values_mut().filter(|room| room.landed <= load) {
            room.array.give_back();
            room.meter = Meter::new(room.array.bytes().len());
        }
    }

    /// The place of a block, if this rank receives it.
    pub(crate) fn room(&mut self, owner: Rank) -> Option<&mut Room> {
        self.rooms.get_mut(&owner)
    }

    /// Bytes of this rank's rooms, and how many of them the system has not given yet.
    pub(crate) fn size(&self) -> (usize, usize) {
        let rooms = self.rooms.values().map(|room| (room.array.byte_len(), room.meter.untouched()));
        rooms.fold((0, 0), |(bytes, untaken), (more, of_it)| (bytes + more, untaken + of_it))
    }

    /// Takes some of the memory of this rank's rooms, before they are written to; false once all is taken.
    pub(crate) fn take(&mut self, step: usize) -> Result<bool, Shortage> {
        for room in self.rooms.values_mut() {
            if let Some(bytes) = room.meter.next(step)? {
                room.array.take(bytes)?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Room {
    /// The block of this load comes here, where nobody reads.
    pub(crate) fn let_in(&mut self, load: Epoch) {
        self.landed = load;
    }

    /// Whether that of this load does.
    pub(crate) fn has_let_in(&self, load: Epoch) -> bool {
        self.landed == load
    }

    /// Whether this load's block has been put here or forwarded; from now on it has.
    pub(crate) fn see_to(&mut self, load: Epoch) -> bool {
        std::mem::replace(&mut self.done, load) == load
    }

    /// Writes bytes from `at` on, while nobody reads; nothing once it is [`short`](Room::short).
    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) {
        let end = at + bytes.len();
        if self.short.is_none() {
            self.short = self.meter.touch(at..end).err();
        }
        if self.short.is_none() {
            self.array.bytes_mut()[at..end].copy_from_slice(bytes);
        }
    }

    /// Why there is nothing in it.
    pub(crate) fn short(&self) -> Option<&Shortage> {
        self.short.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Array;

    fn guests() -> Guests {
        let room: Box<dyn Storage> = Box::new(Array::from(vec![0u8; 10]));
        Guests::new(3, std::iter::once((Rank::new(2), room)))
    }

    #[test]
    fn the_load_before_is_the_last_one_entered() {
        let mut guests = guests();
        assert_eq!(guests.before(4), 0);
        guests.enter(4);
        assert_eq!((guests.before(4), guests.before(7)), (0, 4));
        guests.enter(7);
        assert_eq!((guests.before(7), guests.before(8)), (4, 7));
    }

    #[test]
    fn old_news_of_what_stands_is_no_news() {
        let (mut guests, owner) = (guests(), Rank::new(2));
        guests.stands(owner, 5, 3);
        guests.stands(owner, 4, 2);
        assert_eq!(guests.standing(owner), 5);
        // A cache that was given back comes again in the same version.
        guests.release(6);
        guests.stands(owner, 5, 3);
        assert_eq!(guests.standing(owner), 0);
        guests.stands(owner, 5, 7);
        assert_eq!(guests.standing(owner), 5);
    }

    #[test]
    fn each_load_is_seen_to_once() {
        let mut guests = guests();
        assert!(guests.room(Rank::new(1)).is_none());
        let room = guests.room(Rank::new(2)).expect("received here");
        room.let_in(3);
        room.write(2, &[7; 3]);
        assert!(room.has_let_in(3) && !room.has_let_in(4) && room.short().is_none());
        assert!(!room.see_to(3) && room.see_to(3) && !room.see_to(5));
        assert_eq!(room.array.bytes(), [0, 0, 7, 7, 7, 0, 0, 0, 0, 0]);
    }
}
