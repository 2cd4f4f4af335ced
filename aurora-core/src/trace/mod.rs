//! The activity of ranks as spans of the `tracing` crate; with `AURORA_TRACE` as a file for Perfetto and Chrome.
//!
//! | target | span | lasts |
//! |---|---|---|
//! | `aurora::scope` | a scoped behaviour | from its opening to its end |
//! | `aurora::call` | a call that needs other ranks | while the program is in it |
//! | `aurora::wait` | a wait, with its purpose | while the thread is blocked |
//! | `aurora::transfer` | a message to another rank | until that rank has it: its acknowledgement over UDP, its place in the ring in shared memory |
//! | `aurora::deliver` | a message from another rank | while the thread that drives the transport acts on it |
//!
//! Without a subscriber, a span costs one read of a number that does not change. Local accesses have no spans.
//!
//! A traced rank has a [`Tracer`]: a [subscriber](recorder) on the thread that runs the program and on its daemon. It
//! keeps events in memory, up to a limit. When `run` ends, also by a panic, it appends its part to the [file](file).

mod file;
mod recorder;
mod time;

pub(crate) use file::{check, create};
pub(crate) use time::Time;

use crate::Site;
use aurora_net::Rank;
use recorder::Recorder;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;
use tracing::span::EnteredSpan;
use tracing::subscriber::DefaultGuard;
use tracing::{Level, Span, enabled, trace_span};

pub(crate) fn scope(behaviour: &'static str, object: &dyn Display, site: &Site) -> Option<Box<Span>> {
    enabled!(target: "aurora::scope", Level::TRACE)
        .then(|| Box::new(trace_span!(target: "aurora::scope", "scope", name = behaviour, %object, %site)))
}

pub(crate) fn call(name: &'static str) -> Option<EnteredSpan> {
    enabled!(target: "aurora::call", Level::TRACE).then(|| trace_span!(target: "aurora::call", "call", name).entered())
}

/// The span of a wait, which is `about` a kind of operation and perhaps an object.
pub(crate) fn wait<'a>(
    about: impl FnOnce() -> (&'static str, Option<&'a dyn Display>),
    site: &Site,
) -> Option<EnteredSpan> {
    if !enabled!(target: "aurora::wait", Level::TRACE) {
        return None;
    }
    let (kind, object) = about();
    let (name, object) = (format!("wait: {kind}"), object.map(tracing::field::display));
    Some(trace_span!(target: "aurora::wait", "wait", name, object, %site).entered())
}

/// The span of handling a message.
pub(crate) fn deliver(from: Rank, word: impl FnOnce() -> &'static str, bytes: usize) -> Option<EnteredSpan> {
    if !enabled!(target: "aurora::deliver", Level::TRACE) {
        return None;
    }
    let name = format!("{} from {from}", word());
    Some(trace_span!(target: "aurora::deliver", "deliver", name, from = from.index(), bytes).entered())
}

/// Records the activity of this rank. When it is dropped, it appends the record to the file.
pub(crate) struct Tracer {
    path: PathBuf,
    recorder: Arc<Recorder>,
    /// Dropped first: nothing is recorded while the file is written.
    listening: Option<DefaultGuard>,
}

impl Tracer {
    /// Begins, on this thread and on threads that are started with its subscriber. The file exists.
    pub(crate) fn begin(path: PathBuf, me: Rank) -> Self {
        let recorder = Arc::new(Recorder::new(me));
        let listening = Some(recorder::listen(&recorder));
        Tracer { path, recorder, listening }
    }

    /// Rank 0's clock is this many nanoseconds ahead of this rank's.
    pub(crate) fn align(&self, ahead: i64) {
        self.recorder.align(ahead);
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.listening = None;
        if let Err(error) = file::append(&self.path, &self.recorder.events()) {
            crate::notice::trace_lost(&self.path, &error);
        }
    }
}
