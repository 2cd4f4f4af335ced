//! Accesses to a vector through the kernel: to this rank's own block, and to an element of another rank.

use super::GVector;
use super::asking::GATE;
use super::message::Request;
use crate::kernel::Reason;
use crate::kernel::asking::When;
use crate::race::AccessKind;
use crate::scope::ScopeWait;
use crate::window::Window;
use crate::{Element, Kind, Result, Site};
use aurora_net::Rank;
use std::ops::Range;

impl<T: Element> GVector<T> {
    /// Waits until all earlier scopes of a part are completed.
    pub(crate) fn await_usable(&self, mutable: bool, window: Window, site: &Site) -> Result<()> {
        self.shared.wait_on(ScopeWait::Settle, site, |object, cx| object.core.scopes.poll_usable(mutable, window, cx))
    }

    /// Checking mode: waits for earlier scopes of a part, as the owners of the elements do. The next accesses of this
    /// rank are ordered after these scopes.
    pub(crate) fn order_after_scopes(&self, window: Window, site: &Site) -> Result<()> {
        if self.shared.modes.check { self.await_usable(false, window, site) } else { Ok(()) }
    }

    /// Checking mode: notes an access of this rank to elements of its own block, by local indices.
    pub(crate) fn check_own(
        &self,
        kind: AccessKind,
        ranges: impl IntoIterator<Item = Range<usize>>,
        window: Window,
        site: &Site,
    ) -> Result<()> {
        if !self.shared.modes.check {
            return Ok(());
        }
        self.order_after_scopes(window, site)?;
        self.shared.on(site, |object, cx| object.core.note_own(kind, window, site, ranges, cx))
    }

    /// Reads our own block once all earlier scopes are completed.
    pub(crate) fn read_own<R>(&self, site: &Site, read: impl FnOnce(&[T]) -> R) -> Result<R> {
        let mut read = Some(read);
        self.shared.wait_on(ScopeWait::Settle, site, |object, cx| {
            let core = &mut object.core;
            if let Err(error) = core.scopes.poll_usable(false, Window::WHOLE, cx)? {
                return Some(Err(error));
            }
            let read = &mut read;
            core.block.read(|bytes| read.take().map(|read| Ok(read(bytemuck::cast_slice(bytes)))))?
        })
    }

    /// The bytes of single elements of our own block, given by their places, once all earlier scopes of `window`, which
    /// contains the elements, are completed. Scopes of other parts may be open.
    pub(crate) fn read_own_in(&self, window: Window, places: &[usize], site: &Site) -> Result<Vec<u8>> {
        self.shared.wait_on(ScopeWait::Settle, site, |object, cx| {
            match object.core.scopes.poll_usable(false, window, cx)? {
                Ok(()) => object.core.block.read_elements(places).map(Ok),
                Err(error) => Some(Err(error)),
            }
        })
    }

    /// Writes our own block, once all earlier scopes are completed and no transfer reads the block.
    pub(crate) fn write_own(&self, site: &Site, write: impl FnOnce(&mut [T])) -> Result<()> {
        self.await_usable(true, Window::WHOLE, site)?;
        let mut write = Some(write);
        self.shared.wait_on(GATE, site, |object, cx| {
            let core = &mut object.core;
            if let Err(error) = core.poll_writable(Window::WHOLE, cx)? {
                return Some(Err(error));
            }
            let write = &mut write;
            let done = core.block.write(|bytes| write.take().map(|write| write(bytemuck::cast_slice_mut(bytes))))?;
            core.refresh_permit(cx);
            done.map(Ok)
        })
    }

    pub(crate) fn ask(
        &self,
        to: Rank,
        request: Request,
        payload: Vec<u8>,
        action: &'static str,
        site: &Site,
    ) -> Result<Vec<u8>> {
        self.order_after_scopes(Window::WHOLE, site)?;
        let _call = self.shared.call(action);
        let reason = Reason::new(action, Kind::Access, site);
        let call = self.shared.on(site, |object, cx| {
            cx.usable(matches!(request, Request::WriteAt { .. }))?;
            Ok(object.core.ask((to, &reason, When::Now), request, payload, cx))
        })?;
        self.shared.answer(call, (action, Kind::Access), site)
    }
}
