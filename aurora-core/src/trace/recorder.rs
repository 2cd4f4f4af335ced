//! A `tracing` subscriber that keeps the activity of this rank in memory, as events of the trace-event format.

use super::time::nanos;
use aurora_net::Rank;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

/// Events that are kept; later ones are only counted.
const MOST: usize = if cfg!(test) { 1000 } else { 100_000 };

pub(super) struct Recorder {
    me: Rank,
    run: ThreadId,
    /// Nanoseconds by which rank 0's clock is ahead of this rank's.
    ahead: AtomicI64,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    done: Vec<Done>,
    dropped: u64,
    /// Spans that have begun and not ended.
    open: HashMap<u64, Open>,
    /// The number of all spans so far.
    spans: u64,
    /// The number of those that lie on no thread.
    asides: u64,
}

struct Open {
    name: String,
    target: &'static str,
    fields: Map<String, Value>,
    begun: u64,
    /// The time at which its thread has entered the span, if threads enter it.
    entered: Option<u64>,
    /// The span ends when its last handle is dropped.
    handles: usize,
}

struct Done {
    name: String,
    target: &'static str,
    fields: Map<String, Value>,
    begun: u64,
    place: Place,
}

enum Place {
    /// On a thread, for a time.
    Thread { tid: u32, lasted: u64 },
    /// On a row of its own, for a time.
    Aside { number: u64, lasted: u64 },
    /// On a thread, at one moment.
    Moment { tid: u32 },
}

/// Thread numbers of a rank in the file.
const RUN: u32 = 1;
const DAEMON: u32 = 2;

/// From now on a recorder receives the spans and events of this thread, and of threads that take over its subscriber.
/// The earlier subscriber still receives events.
pub(super) fn listen(recorder: &Arc<Recorder>) -> DefaultGuard {
    let before = tracing::dispatcher::get_default(Dispatch::clone);
    tracing::subscriber::set_default(Listener { recorder: recorder.clone(), before })
}

/// Receives spans and events. It is not a registry of `tracing-subscriber`, because a registry closes a span at the
/// subscriber that the thread has at that moment, and panics if that one does not know the span. But a transfer's
/// span may end on another rank's thread, and the program may enter, inside `run`, spans that it has made before.
struct Listener {
    recorder: Arc<Recorder>,
    before: Dispatch,
}

/// The numbers of our spans begin here, so that they are not mistaken for those of another subscriber. A registry of
/// `tracing-subscriber` puts a generation into the topmost bits, so its numbers may be in this range. Its lower bits
/// number the spans of a thread, of which there are never 2^36 at a time.
const FIRST: u64 = (1 << 63) | MOST_SPANS;
const MOST_SPANS: u64 = 1 << 36;

fn is_ours(number: u64) -> bool {
    (FIRST..FIRST + MOST_SPANS).contains(&number)
}

/// True if spans of this kind overlap freely, so that they lie on no thread.
fn is_aside(target: &str) -> bool {
    matches!(target, "aurora::scope" | "aurora::transfer")
}

impl Subscriber for Listener {
    /// Aurora's own spans, and the program's at the levels that it would show itself.
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("aurora::") || *metadata.level() <= Level::INFO || self.before.enabled(metadata)
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let (metadata, begun) = (attributes.metadata(), nanos());
        let name = fields.take_name(metadata.name());
        let open = Open { name, target: metadata.target(), fields: fields.0, begun, entered: None, handles: 1 };
        let mut kept = self.recorder.kept();
        kept.spans += 1;
        let number = FIRST + kept.spans;
        kept.open.insert(number, open);
        Id::from_u64(number)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        // Before the lock: formatting a value may cause an event itself.
        let mut fields = Fields::default();
        values.record(&mut fields);
        if let Some(open) = self.recorder.kept().open.get_mut(&id.into_u64()) {
            open.fields.append(&mut fields.0);
        }
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, id: &Id) {
        if let Some(open) = self.recorder.kept().open.get_mut(&id.into_u64()) {
            open.entered = Some(nanos());
        }
    }

    fn exit(&self, id: &Id) {
        let (now, tid) = (nanos(), self.recorder.tid());
        let mut kept = self.recorder.kept();
        let Some(open) = kept.open.get_mut(&id.into_u64()) else {
            return;
        };
        if let Some(begun) = open.entered.take() {
            let place = Place::Thread { tid, lasted: now.saturating_sub(begun) };
            let done = Done { name: open.name.clone(), target: open.target, fields: open.fields.clone(), begun, place };
            kept.keep(done);
        }
    }

    fn clone_span(&self, id: &Id) -> Id {
        if let Some(open) = self.recorder.kept().open.get_mut(&id.into_u64()) {
            open.handles += 1;
        }
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let (now, number) = (nanos(), id.into_u64());
        if !is_ours(number) {
            return self.before.try_close(id);
        }
        let mut kept = self.recorder.kept();
        let Some(open) = kept.open.get_mut(&number) else {
            return false;
        };
        open.handles -= 1;
        if open.handles > 0 {
            return false;
        }
        if let Some(open) = kept.open.remove(&number).filter(|open| is_aside(open.target)) {
            kept.keep_aside(open, now);
        }
        true
    }

    fn event(&self, event: &Event<'_>) {
        if self.before.enabled(event.metadata()) {
            self.before.event(event);
        }
        let (mut fields, begun) = (Fields::default(), nanos());
        event.record(&mut fields);
        let name = fields.take_name(event.metadata().name());
        let place = Place::Moment { tid: self.recorder.tid() };
        let done = Done { name, target: event.metadata().target(), fields: fields.0, begun, place };
        self.recorder.kept().keep(done);
    }
}

impl Kept {
    fn keep(&mut self, done: Done) {
        if self.done.len() < MOST {
            self.done.push(done);
        } else {
            self.dropped += 1;
        }
    }

    /// A span that lies on no thread has ended.
    fn keep_aside(&mut self, Open { name, target, fields, begun, .. }: Open, now: u64) {
        self.asides += 1;
        let place = Place::Aside { number: self.asides, lasted: now.saturating_sub(begun) };
        self.keep(Done { name, target, fields, begun, place });
    }
}

impl Recorder {
    pub(super) fn new(me: Rank) -> Self {
        Recorder { me, run: thread::current().id(), ahead: AtomicI64::new(0), kept: Mutex::default() }
    }

    pub(super) fn align(&self, ahead: i64) {
        self.ahead.store(ahead, Ordering::Relaxed);
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tid(&self) -> u32 {
        if thread::current().id() == self.run { RUN } else { DAEMON }
    }

    /// The events of this rank for the file. Scopes and transfers that have not ended end here.
    pub(super) fn events(&self) -> Vec<String> {
        let now = nanos();
        let mut kept = self.kept();
        let open: Vec<_> = kept.open.drain().filter(|(_, open)| is_aside(open.target)).collect();
        for (_, mut open) in open {
            open.fields.insert("ended".into(), json!(false));
            kept.keep_aside(open, now);
        }
        let dropped = kept.dropped;
        let mut events = self.names(dropped);
        for done in &kept.done {
            self.write(done, &mut events);
        }
        events
    }

    /// The names of the rank and its threads, and the number of dropped events.
    fn names(&self, dropped: u64) -> Vec<String> {
        let pid = self.me.index();
        let named = |what: &str, tid: u32, args: Value| {
            json!({"ph": "M", "name": what, "pid": pid, "tid": tid, "args": args}).to_string()
        };
        vec![
            named("process_name", 0, json!({"name": self.me.to_string()})),
            named("process_sort_index", 0, json!({"sort_index": pid})),
            named("thread_name", RUN, json!({"name": "program"})),
            named("thread_name", DAEMON, json!({"name": "daemon"})),
            named("aurora_dropped", 0, json!({"events": dropped})),
        ]
    }

    fn write(&self, done: &Done, events: &mut Vec<String>) {
        let Done { name, target, fields, begun, place } = done;
        let category = target.strip_prefix("aurora::").unwrap_or(target);
        let begun = begun.saturating_add_signed(self.ahead.load(Ordering::Relaxed));
        let mut add = |ph: &str, at: u64, tid: u32, more: &[(&str, Value)]| {
            let event =
                TraceEvent { ph, name, cat: category, pid: self.me.index(), tid, ts: at as f64 / 1e3, args: fields };
            let mut event = serde_json::to_value(event).unwrap_or_default();
            more.iter().for_each(|(key, value)| event[*key] = value.clone());
            events.push(event.to_string());
        };
        match *place {
            Place::Thread { tid, lasted } => add("X", begun, tid, &[("dur", json!(lasted as f64 / 1e3))]),
            Place::Moment { tid } => add("i", begun, tid, &[("s", json!("t"))]),
            Place::Aside { number, lasted } => {
                let number = json!({"local": format!("{number:#x}")});
                add("b", begun, RUN, &[("id2", number.clone())]);
                add("e", begun + lasted, RUN, &[("id2", number)]);
            }
        }
    }
}

/// The fields that all events of the format have; times in microseconds.
#[derive(Serialize)]
struct TraceEvent<'a> {
    ph: &'a str,
    name: &'a str,
    cat: &'a str,
    pid: usize,
    tid: u32,
    ts: f64,
    args: &'a Map<String, Value>,
}

#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    /// The name that the span gives itself, or else the name in its source.
    fn take_name(&mut self, otherwise: &str) -> String {
        match self.0.remove("name").or_else(|| self.0.remove("message")) {
            Some(Value::String(name)) => name,
            _ => otherwise.into(),
        }
    }
}

/// Methods of [`Visit`] for values that JSON has too.
macro_rules! record {
    ($($method:ident: $value:ty),*) => {$(
        fn $method(&mut self, field: &Field, value: $value) {
            self.0.insert(field.name().into(), json!(value));
        }
    )*};
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().into(), json!(format!("{value:?}")));
    }

    record! { record_str: &str, record_u64: u64, record_i64: i64, record_f64: f64, record_bool: bool }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(recorder: &Recorder) -> Vec<Value> {
        recorder.events().iter().map(|event| serde_json::from_str(event).expect("JSON")).collect()
    }

    #[test]
    fn spans_and_events_become_what_the_format_has_for_them() {
        let recorder = Arc::new(Recorder::new(Rank::new(3)));
        let listening = listen(&recorder);
        let scope = tracing::trace_span!(target: "aurora::scope", "scope", name = "ReadCache \"x\"");
        tracing::info_span!("mine", step = 7).in_scope(|| tracing::info!("here"));
        drop(scope);
        let left_open = tracing::trace_span!(target: "aurora::transfer", "transfer", bytes = 5);
        tracing::trace!("of no interest");
        drop(listening);
        recorder.align(1_000_000_000_000_000);
        let events = parsed(&recorder);
        drop(left_open);
        let find = |ph: &str, name: &str| {
            let found = events.iter().find(|event| event["ph"] == ph && event["name"] == name);
            found.unwrap_or_else(|| panic!("no {ph} {name} in {events:?}"))
        };
        assert_eq!(find("X", "mine")["args"]["step"], 7);
        assert!(find("i", "here")["ts"].as_f64() >= find("X", "mine")["ts"].as_f64());
        let (begin, end) = (find("b", "ReadCache \"x\""), find("e", "ReadCache \"x\""));
        assert!(begin["id2"] == end["id2"] && begin["cat"] == "scope" && begin["ts"].as_f64() <= end["ts"].as_f64());
        assert!(begin["ts"].as_f64() > Some(1e12));
        assert_eq!(find("b", "transfer")["args"]["ended"], false);
        assert!(events.iter().all(|event| event["pid"] == 3 && event["name"] != "of no interest"));
        assert_eq!(find("M", "aurora_dropped")["args"]["events"], 0);
    }

    #[test]
    fn spans_may_end_where_another_or_nobody_listens() {
        let [one, other] = [0, 1].map(|rank| Arc::new(Recorder::new(Rank::new(rank))));
        let listening = listen(&one);
        let transfer = tracing::trace_span!(target: "aurora::call", "call")
            .in_scope(|| tracing::trace_span!(target: "aurora::transfer", "transfer"));
        let (again, left) = (transfer.clone(), tracing::info_span!("made before"));
        drop(listening);
        let listening = listen(&other);
        drop(transfer);
        left.in_scope(|| ());
        drop(listening);
        assert!(!parsed(&one).iter().any(|event| event["ph"] == "e" && event["args"]["ended"] != false));
        drop((again, left));
        assert_eq!(parsed(&other).iter().filter(|event| event["ph"] != "M").count(), 0);
    }

    #[test]
    fn what_there_is_no_room_for_is_counted() {
        let recorder = Arc::new(Recorder::new(Rank::new(0)));
        let listening = listen(&recorder);
        for _ in 0..MOST + 11 {
            tracing::info!("again");
        }
        drop(listening);
        let events = recorder.events();
        assert!(events.iter().any(|event| event.contains("\"aurora_dropped\"") && event.contains("{\"events\":11}")));
        assert_eq!(events.len(), 5 + MOST);
    }
}
