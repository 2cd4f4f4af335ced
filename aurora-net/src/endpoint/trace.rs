//! Transfers as spans, for those who trace: from when they are sent until the other rank has them.

use crate::{Handler, Rank};
use bytes::Bytes;
use tracing::{Dispatch, Level, Span, dispatcher, enabled, trace_span};

/// A header that ends a span when it is dropped: whoever sends a transfer keeps its header until the other rank has the
/// whole of it.
struct Traced {
    header: Bytes,
    _span: Span,
}

impl AsRef<[u8]> for Traced {
    fn as_ref(&self) -> &[u8] {
        &self.header
    }
}

/// The header of a transfer, whose span begins if anybody listens.
pub(super) fn transfer(handler: &impl Handler, to: Rank, header: Bytes, payload: usize) -> Bytes {
    if !enabled!(target: "aurora::transfer", Level::TRACE) {
        return header;
    }
    let (name, bytes) = (format!("{} to {to}", handler.describe(&header)), header.len() + payload);
    let span = trace_span!(target: "aurora::transfer", "transfer", name, to = to.index(), bytes);
    Bytes::from_owner(Traced { header, _span: span })
}

/// `thread` with whoever listens on this thread.
pub(super) fn listening_as_here<R>(thread: impl FnOnce() -> R) -> impl FnOnce() -> R {
    let here = dispatcher::get_default(Dispatch::clone);
    move || match here.is::<tracing::subscriber::NoSubscriber>() {
        // Who begins to listen later to all threads hears this one too.
        true => thread(),
        false => dispatcher::with_default(&here, thread),
    }
}
