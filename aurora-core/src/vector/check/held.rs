//! Slices of a rank's own part that its program holds, in checking mode.

use super::Stamp;
use crate::ids::Epoch;
use crate::object::Cx;
use crate::race::{AccessKind, Scope};
use crate::vector::core::VectorCore;
use crate::window::Window;
use crate::{Element, GVector, Site, memory};
use aurora_net::Rank;
use std::ops::Range;

/// A slice that the program holds since the moment of `stamp`. Its reads are unknown. When the slice is given back, its
/// writes are the elements that differ from `copy`.
pub(crate) struct Held {
    epoch: Epoch,
    stamp: Stamp,
    copy: Option<Vec<u8>>,
}

impl Held {
    /// `None` unless accesses are checked. `line`: the line of the guard.
    pub(crate) fn begin<T: Element>(
        vector: &GVector<T>,
        window: Window,
        line: &Site,
        written: Option<&[T]>,
    ) -> Option<Self> {
        let (epoch, stamp) = vector.shared.tidy(|object, cx| {
            let stamp = object.core.stamp(cx.me(), line, cx)?;
            Some((object.core.comes_after(window), stamp))
        })?;
        // Without memory for a copy the written elements are unknown: any element may be one.
        let copy = written.and_then(|slice| {
            let mut copy = memory::zeros(size_of_val(slice)).ok()?;
            copy.copy_from_slice(bytemuck::cast_slice(slice));
            Some(copy)
        });
        Some(Held { epoch, stamp, copy })
    }

    /// The elements that differ from the copy.
    pub(crate) fn changed<T: Element>(&self, slice: &[T]) -> Vec<Range<usize>> {
        let mut changed: Vec<Range<usize>> = Vec::new();
        let before = self.copy.as_deref().unwrap_or_default().chunks_exact(size_of::<T>());
        let now = bytemuck::cast_slice::<T, u8>(slice).chunks_exact(size_of::<T>());
        for (at, _) in before.zip(now).enumerate().filter(|(_, (before, now))| before != now) {
            match changed.last_mut() {
                Some(last) if last.end == at => last.end += 1,
                _ => changed.push(at..at + 1),
            }
        }
        changed
    }

    /// The program gives back the elements `local` of its block. It has written the elements `changed` among them,
    /// counted from the first. A race is the object's fault from now on.
    pub(crate) fn end(self, local: &Range<usize>, changed: Vec<Range<usize>>, core: &mut VectorCore, cx: &mut Cx<'_>) {
        let me: Rank = cx.me();
        let Held { epoch, mut stamp, .. } = self;
        stamp.since = Some(std::mem::replace(&mut stamp.at, cx.order().now()));
        let _ = core.note((me, epoch), &stamp, (AccessKind::Lent, Scope::None), [local.clone()], cx).and_then(|()| {
            let written = changed.into_iter().map(|run| local.start + run.start..local.start + run.end);
            core.note((me, epoch), &stamp, (AccessKind::Write, Scope::None), written, cx)
        });
    }
}
