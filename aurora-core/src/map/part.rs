//! The state of a map in a rank's kernel: this rank's entries, and its scopes.

use super::allowance::Allowance;
use super::check::Checker;
use super::entries::Entries;
use super::key::{MapKey, MapValue};
use super::message::{Asked, MapBatch};
use super::operations::{self, OpFn};
use super::work::MapWork;
use crate::object::{Call, Cx, Malformed, SharedObject, Wait};
use crate::operation::Operations;
use crate::scope::{self, Due, ScopeMessage, Scopes, Then, Work, answered_by_scopes, worked_by_scopes};
use crate::stats::Kind;
use crate::window::Window;
use aurora_net::{Rank, Received};
use std::sync::Arc;

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

    answered_by_scopes!();
    worked_by_scopes!();

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
