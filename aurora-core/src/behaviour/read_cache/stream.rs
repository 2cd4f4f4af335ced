//! A load that a guard shows while it arrives.
//!
//! All ranks have announced long before all blocks are here (`load.rs`). From then on a block is *final* if it
//! contains all announced writes, and its arrived parts are shown in pieces. A block that awaits a correction, or
//! whose place is not known yet, is shown when the load is complete.
//!
//! The load continues without the calling thread, after each call on the vector, even if that thread computes or has
//! dropped its guard. Shared memory that it shows is safe before the load is complete: no rank writes there before
//! all ranks of the node have completed the load (`memory/gate.rs`).

use super::arrival::Announced;
use super::load::Loaded;
use super::protocol::Load;
use crate::ids::Epoch;
use crate::memory::Part;
use crate::object::Cx;
use crate::vector::core::VectorCore;
use crate::vector::protocol::Protocol;
use crate::window::Window;
use crate::{Error, Site};
use aurora_net::Rank;
use std::ops::{Range, RangeInclusive};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// A piece is at least this fraction of its block. If a rank computes faster than data arrives, one such piece is left
/// when the last byte arrives. A slower rank finds longer pieces anyway.
const PART: usize = 8;

/// Bounds of that minimum, in bytes: 8 KiB are worth the few microseconds of a piece, which 64 KiB make negligible.
const PIECE: RangeInclusive<usize> = 8 << 10..=64 << 10;

pub(crate) struct Stream {
    pub(crate) epoch: Epoch,
    site: Site,
    outcome: Arc<Outcome>,
    /// True if the guard was dropped.
    pub(super) unread: bool,
}

/// The result of a streamed load, for its guard.
pub(crate) type Outcome = OnceLock<(Loaded, Instant)>;

/// Elements of one rank's block that have arrived.
pub(crate) struct Piece {
    pub(crate) owner: Rank,
    pub(crate) range: Range<usize>,
    pub(crate) part: Part,
}

/// The memory in which a block can be read.
#[derive(Clone, Copy)]
enum Place {
    Home,
    Copy,
}

impl Load {
    pub(crate) fn stream(&mut self, core: &mut VectorCore, epoch: Epoch, site: &Site, cx: &mut Cx<'_>) -> Arc<Outcome> {
        let outcome = Arc::<Outcome>::default();
        self.stream = Some(Stream { epoch, site: site.clone(), outcome: outcome.clone(), unread: false });
        self.catch_up(core, cx);
        self.advance_stream(core, cx);
        outcome
    }

    /// Notes that the guard was dropped. The load itself continues.
    pub(crate) fn stop_reading(&mut self, epoch: Epoch) {
        if let Some(stream) = self.stream.as_mut().filter(|stream| stream.epoch == epoch) {
            stream.unread = true;
        }
    }

    /// Does the next steps of a streamed load, as far as possible.
    pub(crate) fn advance_stream(&mut self, core: &mut VectorCore, cx: &mut Cx<'_>) {
        let settled = self.stream.as_ref().filter(|stream| cx.is_sound() && core.ledger().is_settled(stream.epoch));
        let Some((epoch, site)) = settled.map(|stream| (stream.epoch, stream.site.clone())) else {
            return;
        };
        // Node peers may wait for blocks that this rank receives for them.
        let installed = self.install_all(core, epoch, &site, cx);
        // An error is kept with the vector: the guard gets it from there.
        if installed.is_ok()
            && let Some(Ok(loaded)) = self.poll_loaded(core, epoch, &site, cx)
        {
            if let Some(stream) = self.stream.take().filter(|stream| !stream.unread) {
                // No other code sets it.
                let _ = stream.outcome.set((loaded, Instant::now()));
            }
            cx.progress();
        }
    }

    /// Ready when the streamed load is complete or has failed.
    pub(crate) fn poll_streamed(&mut self, core: &mut VectorCore, cx: &mut Cx<'_>) -> Option<Result<(), Error>> {
        self.catch_up(core, cx);
        self.advance_stream(core, cx);
        cx.sound_if(self.stream.is_none())
    }

    /// The next piece of a streamed load, in whole `unit`s of elements: of this rank's own block first, then the
    /// longest piece that is here. `read`: elements already shown of each block. `None` within: the load is complete.
    pub(crate) fn next_piece(
        &mut self,
        core: &mut VectorCore,
        epoch: Epoch,
        (read, unit): (&[usize], usize),
        cx: &mut Cx<'_>,
    ) -> Option<Result<Option<Piece>, Error>> {
        match self.poll_streamed(core, cx) {
            None => {}
            Some(Ok(())) => return Some(Ok(None)),
            Some(Err(error)) => return Some(Err(error)),
        }
        let (me, size) = (cx.me(), cx.size());
        if !core.ledger().is_settled(epoch) {
            return None;
        }
        let element = core.block().element;
        let mut longest: Option<(Rank, Range<usize>, Place)> = None;
        for owner in std::iter::once(me).chain(me.others(size)) {
            let block = core.dist().range(owner);
            let from = block.start + read[owner.index()];
            let Some((end, place)) = (from < block.end).then(|| self.shown_up_to(core, owner, me, epoch)).flatten()
            else {
                continue;
            };
            let least = (block.len() * element / PART).clamp(*PIECE.start(), *PIECE.end());
            let len = match end.saturating_sub(from) {
                len if end == block.end => len,
                len if len * element >= least => len - len % unit,
                _ => 0,
            };
            if len > longest.as_ref().map_or(0, |(_, range, _)| range.len()) {
                longest = Some((owner, from..from + len, place));
            }
            if owner == me && len > 0 {
                break;
            }
        }
        let (owner, range, place) = longest?;
        let bytes = range.start * element..range.end * element;
        let part = match place {
            Place::Home => core.block().home()?.part(bytes),
            Place::Copy => self.cache.find_loading((epoch, Window::WHOLE))?.array.show(bytes),
        };
        Some(Ok(Some(Piece { owner, range, part })))
    }

    /// The end of the part of a rank's block that is here and final, once all ranks have announced the load.
    fn shown_up_to(&mut self, core: &mut VectorCore, owner: Rank, me: Rank, epoch: Epoch) -> Option<(usize, Place)> {
        let block = core.dist().range(owner);
        let (arrival, is_final) =
            (self.arrivals.find(epoch, owner)?, owner == me || self.arrivals.is_final(epoch, owner));
        let Announced { at_home, version, .. } = arrival.announced;
        let (coming, arrived) = (arrival.coming, arrival.arrived);
        if !is_final || !self.changes(core, owner, (epoch, Window::WHOLE)).is_empty() {
            return None;
        }
        let ours = core.nodes().same_node(owner, me);
        if core.block().home().is_some() {
            let is_here = if ours { at_home } else { self.is_installed(core, owner, (epoch, Window::WHOLE)) };
            if is_here {
                return Some((block.end, Place::Home));
            }
            if !ours {
                return None;
            }
        }
        let (bytes, element) = (core.within(owner, Window::WHOLE), core.block().element);
        let replica = self.cache.find_loading((epoch, Window::WHOLE)).filter(|replica| replica.short.is_none())?;
        let end = if owner == me {
            block.end
        } else if coming {
            replica.come.reach(bytes.start).min(bytes.end) / element
        } else if arrived && self.cache.ensure_block(epoch, owner, version, bytes) {
            block.end
        } else {
            return None;
        };
        Some((end, Place::Copy))
    }
}
