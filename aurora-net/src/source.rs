//! Sources: descriptors and doorbells that a handler watches besides its transfers and its timer.

use crate::Error;
use crate::poller::{Poller, Waker};
use rustix::event::epoll::{Event, EventFlags};
use rustix::io::ioctl_fionread;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// A descriptor or a doorbell that a handler watches; see [`Handler::ready`](crate::Handler::ready). Unique within an
/// endpoint, and never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Source(u64);

/// Makes a source ready, from any thread of the process. Made by [`Outbox::doorbell`](crate::Outbox::doorbell).
#[derive(Clone, Debug)]
pub struct Doorbell(Waker);

impl Doorbell {
    /// Requests a call of [`Handler::ready`](crate::Handler::ready), which follows soon. Several rings may share one.
    /// The call sees all that the ringing thread has written before. Never blocks. Without effect after
    /// [`Outbox::unwatch`](crate::Outbox::unwatch) and after the end of the endpoint.
    pub fn ring(&self) {
        self.0.kick();
    }
}

#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// `None`: there is no endpoint, or it is closed.
    poller: Option<Arc<Poller>>,
    watched: BTreeMap<Source, Arc<OwnedFd>>,
    last: u64,
}

impl Sources {
    pub fn of(poller: Arc<Poller>) -> Self {
        Sources { poller: Some(poller), ..Sources::default() }
    }

    /// Watches a descriptor. `once`: reports each write to it once, read or not.
    pub fn watch(&mut self, descriptor: Arc<OwnedFd>, once: bool) -> Result<Source, Error> {
        let source = Source(self.last + 1);
        if let Some(poller) = &self.poller {
            let watched = poller.watch_source(&descriptor, source.0, once);
            watched.map_err(Error::system("watch a descriptor"))?;
        }
        self.last = source.0;
        self.watched.insert(source, descriptor);
        Ok(source)
    }

    pub fn doorbell(&mut self) -> Result<(Source, Doorbell), Error> {
        let waker = Waker::new().map_err(Error::system("make an eventfd"))?;
        Ok((self.watch(waker.descriptor().clone(), true)?, Doorbell(waker)))
    }

    pub fn unwatch(&mut self, source: Source) {
        if let (Some(descriptor), Some(poller)) = (self.watched.remove(&source), &self.poller) {
            poller.forget_source(descriptor);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.watched.is_empty()
    }

    /// Some of the sources that are ready. For each, [`Sources::admit`] is called just before the handler.
    pub fn ready(&self) -> impl Iterator<Item = Event> + use<> {
        self.poller.as_ref().map(|poller| poller.ready_sources()).into_iter().flatten()
    }

    /// The source, if it is still watched, and whether this is its last report: its descriptor is at its end, and
    /// nothing is left to read. The caller then unwatches it: Linux would report it for ever.
    pub fn admit(&self, ready: Event) -> Option<(Source, bool)> {
        let (source, flags) = (Source(ready.data.u64()), ready.flags);
        let descriptor = self.watched.get(&source)?;
        let is_at_end = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        let has_more = || flags.contains(EventFlags::IN) && ioctl_fionread(descriptor).is_ok_and(|bytes| bytes > 0);
        Some((source, is_at_end && !has_more()))
    }

    pub fn close(&mut self) {
        self.poller = None;
        self.watched.clear();
    }
}
