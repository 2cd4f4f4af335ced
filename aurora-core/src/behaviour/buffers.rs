//! Writes that wait in buffers, one for each owner, until there are enough of them to travel.

use super::{Behaviour, Scope};
use crate::distribution::Distribution;
use crate::element::{Element, Op, OpId};
use crate::error::Result;
use crate::global::{GVector, GlobalWrite};
use crate::service::batch::BatchBuilder;
use crate::service::entering::LastBatch;
use crate::{Error, Site};
use aurora_net::Rank;
use std::ops::Range;

/// Bytes of a batch: a full buffer leaves at once.
const BATCH: usize = 64 * 1024;

/// A behaviour that buffers writes. Not for users to implement.
pub trait Buffered: Behaviour {
    /// The operation of [`Scope::update`], or [`PutOnly`].
    type Operation;

    /// The buffers, and how they leave.
    #[doc(hidden)]
    fn parts(&mut self) -> (&mut Buffers<Self::Element>, &mut dyn Sender<Self::Element>);

    /// The operation's name.
    #[doc(hidden)]
    fn op(&self) -> Option<OpId>;
}

/// How full buffers leave: what distinguishes the collective scope from the lone one.
pub trait Sender<T: Element> {
    /// Sends a batch to its owner, when there is room there.
    fn send(&mut self, vector: &GVector<T>, owner: Rank, op: Option<OpId>, batch: Vec<u8>, site: &Site) -> Result<()>;
}

/// Writes that have not left yet, for each owner.
pub struct Buffers<T> {
    dist: Distribution,
    owners: Vec<Buffer<T>>,
}

/// Those for one owner.
struct Buffer<T> {
    /// What is done with all of them.
    op: Option<OpId>,
    batch: BatchBuilder<T>,
    /// The first element of the owner's block.
    start: usize,
    /// So many elements may be added before it has to be looked whether it is full.
    unasked: usize,
}

impl<T: Element> Buffer<T> {
    /// Whether what is in it has to leave before a write of a kind can be added.
    fn must_leave(&self, op: Option<OpId>) -> bool {
        self.batch.wire_len() >= BATCH || (self.op != op && !self.batch.is_empty())
    }

    /// There is room for writes of a kind.
    fn open_for(&mut self, op: Option<OpId>) {
        self.op = op;
        let left = BATCH.saturating_sub(self.batch.wire_len());
        // The last one may reach beyond.
        self.unasked = left.div_ceil(self.batch.most_of_one());
    }
}

impl<T: Element> Buffers<T> {
    pub(super) fn new(vector: &GVector<T>) -> Self {
        let ranges = (0..vector.link.size).map(|owner| vector.dist.range(Rank::new(owner)));
        let buffer = |block: Range<usize>| Buffer {
            op: None,
            batch: BatchBuilder::new(block.len()),
            start: block.start,
            unasked: 0,
        };
        Buffers { dist: vector.dist, owners: ranges.map(buffer).collect() }
    }

    /// Adds one element, or says for whose buffer room has to be made first.
    #[inline(always)]
    pub(super) fn push(&mut self, op: Option<OpId>, index: usize, value: T) -> Option<Rank> {
        let owner = self.dist.owner_index(index);
        let buffer = &mut self.owners[owner];
        if buffer.unasked == 0 || buffer.op != op {
            return Some(Rank::new(owner));
        }
        buffer.unasked -= 1;
        buffer.batch.push(index - buffer.start, value);
        None
    }

    pub(super) fn take(&mut self, owner: Rank) -> (Option<OpId>, Vec<u8>) {
        let Buffer { op, batch, unasked, .. } = &mut self.owners[owner.index()];
        *unasked = 0;
        (*op, batch.take())
    }

    /// What is left for each owner.
    pub(super) fn take_all(&mut self) -> Vec<Option<LastBatch>> {
        let last = |Buffer { op, batch, .. }: &mut Buffer<T>| {
            (!batch.is_empty()).then(|| LastBatch { op: *op, bytes: batch.take() })
        };
        self.owners.iter_mut().map(last).collect()
    }

    pub(super) fn filled(&self, owner: Rank) -> bool {
        !self.owners[owner.index()].batch.is_empty()
    }
}

impl<B: Buffered> Scope<'_, B> {
    /// Sets element `index`, seen after the scope.
    ///
    /// # Errors
    /// [`Error::IndexOutside`]; from a buffer that has to leave also what keeps it from being applied.
    #[inline]
    #[track_caller]
    pub fn put(&mut self, index: usize, value: B::Element) -> Result<()> {
        self.write(None, index, value)
    }

    /// Sets the elements from `start` on.
    ///
    /// # Errors
    /// [`Error::RangeOutside`], before anything is written; else as [`put`](Self::put).
    #[track_caller]
    pub fn put_slice(&mut self, start: usize, values: &[B::Element]) -> Result<()> {
        let len = self.vector.len();
        let end = start.saturating_add(values.len());
        if end > len {
            return Err(Error::RangeOutside { start, end, len, object: self.vector.name(), site: Site::here() });
        }
        let (buffers, sender) = self.state.parts();
        put_run(buffers, sender, self.vector, start, values, &self.site)
    }

    /// Applies the scope's operation to element `index` at its owner, after the writes made before.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    #[inline]
    #[track_caller]
    pub fn update(&mut self, index: usize, operand: B::Element) -> Result<()>
    where
        B::Operation: Op<B::Element>,
    {
        let op = self.state.op();
        self.write(op, index, operand)
    }

    #[inline]
    #[track_caller]
    fn write(&mut self, op: Option<OpId>, index: usize, value: B::Element) -> Result<()> {
        if index >= self.vector.dist.len() {
            return self.vector.check_index(index, &Site::here());
        }
        match self.state.parts().0.push(op, index, value) {
            None => Ok(()),
            Some(full) => self.write_with_room(full, op, index, value),
        }
    }

    #[cold]
    #[inline(never)]
    fn write_with_room(&mut self, owner: Rank, op: Option<OpId>, index: usize, value: B::Element) -> Result<()> {
        self.room(owner, op)?;
        self.state.parts().0.push(op, index, value);
        Ok(())
    }

    /// Makes room in an owner's buffer for writes of a kind.
    fn room(&mut self, owner: Rank, op: Option<OpId>) -> Result<()> {
        let (buffers, sender) = self.state.parts();
        room(buffers, sender, self.vector, owner, op, &self.site)
    }
}

/// Makes room in an owner's buffer for writes of a kind.
fn room<T: Element>(
    buffers: &mut Buffers<T>,
    sender: &mut dyn Sender<T>,
    vector: &GVector<T>,
    owner: Rank,
    op: Option<OpId>,
    site: &Site,
) -> Result<()> {
    if buffers.owners[owner.index()].must_leave(op) {
        let (op, batch) = buffers.take(owner);
        sender.send(vector, owner, op, batch, site)?;
    }
    buffers.owners[owner.index()].open_for(op);
    Ok(())
}

/// Sets consecutive elements, which are there.
pub(super) fn put_run<T: Element>(
    buffers: &mut Buffers<T>,
    sender: &mut dyn Sender<T>,
    vector: &GVector<T>,
    start: usize,
    values: &[T],
    site: &Site,
) -> Result<()> {
    let dist = vector.dist;
    let step = (BATCH / size_of::<T>()).max(1);
    for (owner, piece) in dist.pieces(start..start + values.len()) {
        let first = dist.range(owner).start;
        for at in piece.clone().step_by(step) {
            let upto = piece.end.min(at + step);
            room(buffers, sender, vector, owner, None, site)?;
            let buffer = &mut buffers.owners[owner.index()];
            buffer.batch.extend(at - first, &values[at - start..upto - start]);
            buffer.unasked = 0;
        }
    }
    Ok(())
}

impl<B: Buffered> GlobalWrite<B::Element> for Scope<'_, B> {
    #[inline]
    #[track_caller]
    fn put(&mut self, index: usize, value: B::Element) -> Result<()> {
        self.write(None, index, value)
    }
}

pub(super) fn flush<T: Element>(
    buffers: &mut Buffers<T>,
    sender: &mut impl Sender<T>,
    vector: &GVector<T>,
    site: &Site,
) -> Result<()> {
    let me = vector.link.me;
    let owners: Vec<_> = me.others(vector.link.size).chain([me]).filter(|owner| buffers.filled(*owner)).collect();
    for owner in owners {
        let (op, batch) = buffers.take(owner);
        sender.send(vector, owner, op, batch, site)?;
    }
    Ok(())
}
