//! Requests to a scalar at its home, each done in one round trip. Its scopes: `scopes.rs`.

use super::Scalar;
use super::message::{Asked, ScalarRequest};
use super::{Value, requested};
use crate::Error;
use crate::object::Cx;
use crate::ops::OpId;
use crate::window::Window;
use aurora_net::Rank;

impl Scalar {
    /// Serves a request: the answer is the old value. In a ReadMostly it is a [`NumberedReply`], once the `after`
    /// earlier offers of the asking rank are applied. `None`: they are not applied yet.
    pub(super) fn serve(
        &mut self,
        from: Rank,
        asked: &Asked,
        payload: &[u8],
        cx: &Cx<'_>,
    ) -> Result<Option<Vec<u8>>, Error> {
        let Some(after) = asked.after else {
            return self.change(asked.request, payload, cx).map(Some);
        };
        let next = self.scopes.ledger.settled + 1;
        let answered = self.scopes.ledger.record(next).from[from.index()].applied;
        if answered < after {
            return Ok(None);
        }
        let old = self.change(asked.request, payload, cx)?;
        let number = self.spreading.as_mut().map_or(0, |spreading| {
            spreading.answers(from, answered);
            spreading.number
        });
        let new = self.value.as_ref().map(Value::read).unwrap_or_default();
        Ok(Some(NumberedReply { number, old: &old, new: &new }.encode()))
    }

    fn change(&mut self, request: ScalarRequest, payload: &[u8], cx: &Cx<'_>) -> Result<Vec<u8>, Error> {
        let find = |op| self.ops.find(op);
        let served =
            self.value.as_mut().and_then(|value| value.change(|current| requested(request, payload, current, find)));
        let (old, changed) = served.ok_or_else(|| cx.nonsense())?;
        self.note_change(changed);
        Ok(old)
    }

    /// Applies an operation at home.
    pub(super) fn update(&mut self, op: Option<OpId>, operand: &[u8], cx: &Cx<'_>) -> Result<(), Error> {
        let apply = op.and_then(|op| self.ops.find(op));
        let (value, apply) = self.value.as_mut().zip(apply).ok_or_else(|| cx.nonsense())?;
        let updated = value.change(|current| apply(current, operand));
        let (_, changed) = updated.ok_or_else(|| (self.unfit)(cx.made_at()))?;
        self.note_change(changed);
        Ok(())
    }

    /// Serves a request of the home itself, once its earlier scopes are complete. `None`: not yet.
    pub(crate) fn serve_own(
        &mut self,
        (request, after): (ScalarRequest, Option<u64>),
        payload: &[u8],
        cx: &mut Cx<'_>,
    ) -> Option<Result<Vec<u8>, Error>> {
        if let Err(error) = cx.usable_in(false, Window::WHOLE) {
            return Some(Err(error));
        }
        let epoch = self.asking_epoch();
        if self.scopes.ledger.pending(Window::WHOLE, epoch).is_some() {
            self.scopes.awaited = (Window::WHOLE, epoch);
            return None;
        }
        let asked = Asked { epoch, request, after, time: self.release(request, cx) };
        self.join(asked.time.clone());
        let served = self.serve(cx.me(), &asked, payload, cx).transpose();
        self.acquire(cx);
        served
    }
}

/// The answer to a request in a ReadMostly: the old value, the new one, and the number of the new one.
pub(crate) struct NumberedReply<'a> {
    pub(crate) number: u64,
    pub(crate) old: &'a [u8],
    pub(crate) new: &'a [u8],
}

impl<'a> NumberedReply<'a> {
    fn encode(&self) -> Vec<u8> {
        let (number, len) = (self.number.to_le_bytes(), (self.old.len() as u32).to_le_bytes());
        [&number[..], &len, self.old, self.new].concat()
    }

    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (number, rest) = bytes.split_at_checked(8)?;
        let (len, rest) = rest.split_at_checked(4)?;
        let (old, new) = rest.split_at_checked(u32::from_le_bytes(len.try_into().ok()?) as usize)?;
        Some(NumberedReply { number: u64::from_le_bytes(number.try_into().ok()?), old, new })
    }
}
