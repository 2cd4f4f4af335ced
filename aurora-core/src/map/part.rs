//! The state of a map in a rank's kernel: this rank's entries, and its scopes.

use super::allowance::Allowance;
use super::check::Checker;
use super::entries::Entries;
use super::key::{MapKey, MapValue};
use super::message::{Asked, MapBatch};
use super::operations::{self, OpFn};
use super::work::MapWork;
use crate::error::ObjectName;
use crate::object::{Awaited, Call, Cx, Holds, Malformed, SharedObject, Wait};
use crate::operation::Operations;
use crate::scope::{
    self, Due, Opening, Outcome, ScopeMessage, ScopeWait, Scopes, Served, Then, Work, answered_by_scopes,
};
use crate::stats::Kind;
use crate::window::Window;
use aurora_net::{Rank, Received};
use serde::Serialize;
use std::sync::Arc;
use std::time::Instant;

pub(super) struct Part<K: MapKey, V: MapValue> {
    pub(super) scopes: Scopes<Self>,
    /// This rank's entries. A guard that shows them holds a clone; `None`: a guard that writes has taken them.
    pub(super) own: Option<Arc<Entries<K, V>>>,
    pub(super) ops: Operations<OpFn<V>>,
    pub(super) allowance: Allowance,
    /// Checking mode: the accesses to keys.
    pub(super) check: Option<Box<Checker>>,
}

impl<K: MapKey, V: MapValue> Part<K, V> {
    pub(super) fn new((me, size): (Rank, usize), check: bool) -> Self {
        Part {
            scopes: Scopes::new(me, size, check),
            own: Some(Arc::default()),
            ops: operations::built_in(),
            allowance: Allowance::default(),
            check: check.then(Box::default),
        }
    }

    /// Ready when all earlier scopes are `settled`, so that the map may be used (written, if `mutable`).
    pub(super) fn poll_usable(&mut self, mutable: bool, cx: &mut Cx<'_>) -> Option<crate::Result<()>> {
        self.scopes.poll_usable(mutable, Window::WHOLE, cx)
    }
}

impl<K: MapKey, V: MapValue> Served for Part<K, V> {
    type Work = MapWork<K, V>;
    type Batch = MapBatch;
    type Arrival = ();

    const IN_STEPS: bool = true;

    fn scopes(&self) -> &Scopes<Self> {
        &self.scopes
    }

    fn scopes_mut(&mut self) -> &mut Scopes<Self> {
        &mut self.scopes
    }

    fn attempt(&mut self, work: &mut Work<Self::Work>, payload: &[u8], cx: &mut Cx<'_>) -> Outcome {
        self.do_work(work, payload, cx)
    }

    fn batch(&self, _: Rank, opening: &Opening, batch: MapBatch) -> Result<Self::Work, Malformed> {
        Ok(match batch {
            MapBatch::Writes { hashes } => MapWork::Writes { op: opening.op, hashes, done: 0 },
            MapBatch::Notes => MapWork::Notes(opening.op),
        })
    }

    fn header(message: ScopeMessage<MapBatch>) -> impl Serialize {
        message
    }

    /// True if a guard shows this rank's entries.
    fn is_lent(&self) -> bool {
        self.own.as_ref().is_none_or(|own| Arc::strong_count(own) > 1)
    }
}

impl<K: MapKey, V: MapValue> SharedObject for Part<K, V> {
    fn deliver(&mut self, from: Rank, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Result<(), Malformed> {
        let message = postcard::from_bytes(header).map_err(|_| Malformed)?;
        scope::deliver(self, from, message, payload, cx)
    }

    fn request(&mut self, call: Call, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Result<(), Malformed> {
        let asked: Asked = postcard::from_bytes(header).map_err(|_| Malformed)?;
        let (due, then) = (Due::After(Window::WHOLE, asked.epoch), Then::Answer(call.id));
        scope::work(self, Work { from: call.from, due, then, what: MapWork::Call(asked) }, payload, cx);
        Ok(())
    }

    fn advance(&mut self, cx: &mut Cx<'_>) {
        scope::advance(self, cx);
    }

    fn failed(&mut self, cx: &mut Cx<'_>) {
        self.scopes.failed(cx);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.scopes.poll_timeout()
    }

    fn handle_timeout(&mut self, _: Instant, _: &mut Cx<'_>) {
        self.scopes.handle_timeout();
    }

    fn is_idle(&self, faulty: bool) -> bool {
        faulty || self.scopes.is_idle()
    }

    fn awaits(&self, wait: Wait, name: &ObjectName) -> Awaited {
        let wait = ScopeWait::of(wait).unwrap_or(ScopeWait::Settle);
        Awaited { ranks: self.scopes.awaited(wait), doing: self.scopes.doing(wait, name) }
    }

    answered_by_scopes!();

    fn holds(&self, held: &mut Holds<'_>) {
        scope::holds(self, held);
    }

    fn wait_kind(&self, _: Wait) -> Kind {
        Kind::Flush
    }

    fn describe(&self, header: &[u8], is_request: bool) -> &'static str {
        match is_request {
            true => Kind::Access.name(),
            false => {
                let message = postcard::from_bytes::<ScopeMessage<MapBatch>>(header);
                message.map_or("message", |message| message.kind().name())
            }
        }
    }
}
