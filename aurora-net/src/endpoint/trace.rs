//! A tracing span for each transfer, from sending until the receiver has all of it.

use crate::{Handler, Rank};
use bytes::Bytes;
use tracing::{Dispatch, Level, Span, dispatcher, enabled, trace_span};

/// A header that ends its span when dropped. A sender keeps the header until the receiver has the whole transfer.
struct Traced {
    header: Bytes,
    _span: Span,
}

impl AsRef<[u8]> for Traced {
    fn as_ref(&self) -> &[u8] {
        &self.header
    }
}

/// Wraps the header of a transfer in a span, if tracing is enabled.
pub(super) fn transfer(handler: &impl Handler, to: Rank, header: Bytes, payload: usize) -> Bytes {
    if !enabled!(target: "aurora::transfer", Level::TRACE) {
        return header;
    }
    let (name, bytes) = (format!("{} to {to}", handler.describe(&header)), header.len() + payload);
    let span = trace_span!(target: "aurora::transfer", "transfer", name, to = to.index(), bytes);
    Bytes::from_owner(Traced { header, _span: span })
}

/// Runs `thread` with the calling thread's tracing subscriber.
pub(super) fn listening_as_here<R>(thread: impl FnOnce() -> R) -> impl FnOnce() -> R {
    let here = dispatcher::get_default(Dispatch::clone);
    move || match here.is::<tracing::subscriber::NoSubscriber>() {
        // Threads see a global subscriber without this, even one that is set later.
        true => thread(),
        false => dispatcher::with_default(&here, thread),
    }
}
