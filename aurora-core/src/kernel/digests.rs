//! The digest of the state of all objects on which ranks must agree, as one number. It is kept up to date: the cost of
//! a barrier grows with the objects that were called since the last barrier, not with all objects.

use super::Entry;
use crate::digest;
use crate::ids::ObjectId;
use aurora_net::Rank;
use std::collections::BTreeMap;

/// The digest of all objects: the sum of theirs.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    sum: u64,
    /// Objects with a fault, which other ranks learn at the next barrier.
    faulty: usize,
    /// Objects that have been called since their share was added.
    stale: Vec<ObjectId>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Share {
    digest: u64,
    is_faulty: bool,
    is_stale: bool,
}

impl Digests {
    /// An object is called.
    pub(super) fn touch(&mut self, id: ObjectId, share: &mut Share) {
        if !std::mem::replace(&mut share.is_stale, true) {
            self.stale.push(id);
        }
    }

    /// Adds the shares of the objects that were called. An object that this rank has dropped has none. Returns the sum,
    /// and true if there are objects with a fault.
    pub(super) fn update(&mut self, objects: &mut BTreeMap<ObjectId, Entry>, me: Rank) -> (u64, bool) {
        for id in self.stale.drain(..) {
            let Some(Entry { frame, machine, share }) = objects.get_mut(&id) else {
                continue;
            };
            let mut now = Share::default();
            if !frame.dropped[me.index()] {
                let is_open = frame.open.iter().any(|guard| guard.awaited);
                let scopes = machine.entered() << 1 | u64::from(is_open);
                now.digest = [scopes, machine.digest()].into_iter().fold(id.0, digest::add);
                now.is_faulty = frame.fault.is_some();
            }
            self.sum = self.sum.wrapping_sub(share.digest).wrapping_add(now.digest);
            self.faulty = self.faulty - usize::from(share.is_faulty) + usize::from(now.is_faulty);
            *share = now;
        }
        (self.sum, self.faulty > 0)
    }

    pub(super) fn remove(&mut self, share: Share) {
        self.sum = self.sum.wrapping_sub(share.digest);
        self.faulty -= usize::from(share.is_faulty);
    }
}
