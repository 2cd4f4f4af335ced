//! A block's place in memory that the ranks of its node share, and when it has to be elsewhere.
//!
//! A block that lies *at home* is part of everyone's cache without having been sent. While a mate still shows the last load, its
//! owner must not write there; instead of waiting for the mate, which may take long or be waiting for us, it moves
//! the block to memory of its own and writes there. The next load brings it home again, if all have finished reading by then, or
//! else sends it like a block of another node.

use super::guests::{Guests, Room};
use crate::element::Element;
use crate::memory::{Array, Direct, Door, Front, Part, Reading, Sharing, Storage};
use crate::message::Epoch;
use aurora_net::Rank;
use std::ops::Range;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How long a writer hopes that the readers are about to leave, before it copies its block. Nothing else is served
/// meanwhile.
const PATIENCE: Duration = Duration::from_micros(50);

/// Our block's place, and the whole that it is part of.
pub(crate) struct Home {
    sharing: Arc<Sharing>,
    whole: Arc<dyn Storage>,
    /// Where it begins, to be compared.
    address: usize,
    /// The array over our place, while our block is elsewhere.
    vacant: Option<Arc<dyn Storage>>,
    /// The last load that is settled here: everyone has begun it.
    load: Epoch,
    /// How the ranks that share the memory may use our block, and what of it they know to be settled.
    door: (Door, Epoch),
    /// A rank that does not leave the door: it must have been stopped there.
    stuck: Option<Rank>,
    /// The blocks of other nodes.
    pub(super) guests: Guests,
}

/// Memory shared by all ranks of a node, before anything lies there.
pub(crate) struct Place<T> {
    /// For our block.
    pub(crate) own: Array<T>,
    whole: Array<T>,
    guests: Guests,
    sharing: Sharing,
}

impl<T: Element> Place<T> {
    /// For a vector of `len` elements, of which we own `range`, and receive the blocks of other nodes that are given with their
    /// owners, of so many `ranks`.
    pub(crate) fn new(
        sharing: Sharing,
        range: Range<usize>,
        len: usize,
        (ranks, guests): (usize, impl Iterator<Item = (Rank, Range<usize>)>),
    ) -> Self {
        let (own, whole) = sharing.arrays(range, len);
        let room = |(owner, range)| -> (Rank, Box<dyn Storage>) { (owner, Box::new(sharing.room::<T>(range))) };
        let guests = Guests::new(ranks, guests.map(room));
        Place { own, whole, guests, sharing }
    }

    /// With our block in it.
    pub(crate) fn occupied(self) -> (Array<T>, Home) {
        let (address, whole) = (self.own.bytes().as_ptr().addr(), Arc::new(self.whole));
        let (sharing, guests, door) = (Arc::new(self.sharing), self.guests, (Door::Shut, 0));
        (self.own, Home { sharing, whole, address, vacant: None, load: 0, door, stuck: None, guests })
    }
}

impl Home {
    /// Whether a block lies here. An empty one is at home everywhere.
    pub(crate) fn holds(&self, block: &dyn Storage) -> bool {
        let bytes = block.bytes();
        bytes.is_empty() || bytes.as_ptr().addr() == self.address
    }

    /// Before a write to `block`: leaves the place to those who read it.
    pub(crate) fn yield_to_readers(&mut self, block: &mut Arc<dyn Storage>) {
        if self.holds(&**block) && !block.bytes().is_empty() && !self.becomes_clear() {
            let copy = block.duplicate();
            self.vacant = Some(std::mem::replace(block, copy));
        }
    }

    /// Before a load, of a block that nobody holds: brings it home if nobody reads there any more. Whether it is there now.
    pub(crate) fn take_in(&mut self, block: &mut Arc<dyn Storage>) -> bool {
        if self.holds(&**block) {
            return true;
        }
        // A guard that was forgotten may still hold the array.
        let Some(place) = self.vacant.as_mut().and_then(Arc::get_mut) else {
            return false;
        };
        if !self.sharing.is_clear(self.load) {
            return false;
        }
        place.bytes_mut().copy_from_slice(block.bytes());
        *block = self.vacant.take().expect("just written to");
        true
    }

    /// A load is settled: everyone has announced it.
    pub(crate) fn settled(&mut self, load: Epoch) {
        self.load = load;
    }

    /// The last one.
    pub(crate) fn load(&self) -> Epoch {
        self.load
    }

    /// Sets the block's door. Returns once nobody is inside whom it does not admit.
    pub(crate) fn set_door(&mut self, door: Door, settled: Epoch) {
        if self.door != (door, settled) {
            self.door = (door, settled);
            let stuck = self.sharing.set_door(door, settled);
            self.stuck = self.stuck.or(stuck);
        }
    }

    /// How it was set, and what was settled then.
    pub(crate) fn door(&self) -> (Door, Epoch) {
        self.door
    }

    /// A rank that did not leave the door.
    pub(crate) fn take_stuck(&mut self) -> Option<Rank> {
        self.stuck.take()
    }

    /// Whether others have written to our block by themselves since this was asked last.
    pub(crate) fn take_written(&self) -> bool {
        self.sharing.take_written()
    }

    /// The memory itself.
    pub(crate) fn sharing(&self) -> &Arc<Sharing> {
        &self.sharing
    }

    /// Single elements of a vector of `len`, of which `range` is our block, where ranks sit in these `seats`.
    pub(crate) fn direct<T: Element>(
        &self,
        front: Arc<Front>,
        range: Range<usize>,
        len: usize,
        seats: Box<[u32]>,
    ) -> Direct<T> {
        self.sharing.direct(front, range, len, seats)
    }

    /// Whether the block of another node can be written to its room, for a load: nobody shows the one before, and this one nobody can
    /// complete without it.
    pub(crate) fn is_free_for(&self, load: Epoch) -> bool {
        self.sharing.is_clear(self.guests.before(load))
    }

    /// The room of a block of another node that comes for a load, if it can be written to.
    pub(crate) fn open_room(&mut self, owner: Rank, load: Epoch) -> Option<&mut Room> {
        let free = self.is_free_for(load);
        self.guests.room(owner).filter(|_| free)
    }

    /// This rank has completed a load by which every block is in its place: shows the whole.
    pub(crate) fn show(&self, load: Epoch) -> (Arc<dyn Storage>, Option<Reading>) {
        (self.whole.clone(), self.sharing.enter(load, true))
    }

    /// Before this rank completes a load in memory of its own: the blocks that are in their places.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.whole.bytes()
    }

    /// It has completed it. If it has shown parts of these, it does so as long as what comes back lives.
    pub(crate) fn pass(&self, load: Epoch, shown: bool) -> Option<Reading> {
        self.sharing.enter(load, shown)
    }

    /// A part of the whole that is final for a load which this rank has announced and not completed: until then nobody writes there.
    pub(crate) fn part(&self, bytes: Range<usize>) -> Part {
        Part::of_shared(&self.whole, bytes)
    }

    fn becomes_clear(&self) -> bool {
        if self.sharing.is_clear(self.load) {
            return true;
        }
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            thread::yield_now();
            if self.sharing.is_clear(self.load) {
                return true;
            }
        }
        false
    }
}
