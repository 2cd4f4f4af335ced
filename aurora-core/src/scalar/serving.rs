//! Scalars at their home: an encoded value and what is done to it in one round trip. Their scopes: `scopes.rs`.

use crate::Error;
use crate::element::OpId;
use crate::ids::{CallId, ObjectId};
use crate::kernel::Service;
use crate::kernel::message::{Request, ScalarRequest};
use crate::scalar::{ScalarScopes, Value, requested};
use crate::vector::object::{Object, Outcome, Work};
use aurora_net::{Outbox, Rank};

/// Serves a request on a scalar. The old value is always the answer.
pub(crate) fn serve(object: &mut Object, request: ScalarRequest, payload: &[u8]) -> Outcome {
    let ops = &object.scalar_ops;
    let find = |op| ops.find(op);
    let served =
        object.scalar.as_mut().and_then(|value| value.change(|current| requested(request, payload, current, find)));
    let Some((old, changed)) = served else {
        return Outcome::Refuse(not_home(object));
    };
    object.note_change(changed);
    Outcome::Reply(old)
}

/// The same inside a ReadMostly, once `after` offers of the rank that asks are applied: it has made them before. The answer is a
/// [`NumberedReply`].
pub(crate) fn serve_numbered(
    object: &mut Object,
    from: Rank,
    request: ScalarRequest,
    after: u64,
    payload: &[u8],
) -> Outcome {
    let next = object.ledger.settled + 1;
    let answered = object.ledger.record(next).from[from.index()].applied;
    if answered < after {
        return Outcome::Park;
    }
    match serve(object, request, payload) {
        Outcome::Reply(old) => {
            let number = object.scalar_scopes.as_mut().map_or(0, |scopes| scopes.number_for(from, answered));
            let new = object.scalar.as_ref().map(Value::read).unwrap_or_default();
            Outcome::Reply(NumberedReply { number, old: &old, new: &new }.encode())
        }
        other => other,
    }
}

/// Applies an operation at home.
pub(crate) fn update(object: &mut Object, op: Option<OpId>, operand: &[u8]) -> Result<bool, Error> {
    let apply = op.and_then(|op| object.scalar_ops.find(op));
    let updated = object.scalar.as_mut().zip(apply);
    let updated = updated.and_then(|(value, apply)| value.change(|current| apply(current, operand)));
    let Some((_, changed)) = updated else {
        return Err(not_home(object));
    };
    object.note_change(changed);
    Ok(true)
}

pub(crate) fn not_home(object: &Object) -> Error {
    Error::Start(format!("a request does not fit {}: do all ranks run the same build of the program?", object.name))
}

/// The answer to a request inside a ReadMostly: what the value was, what it is now, and the number that this has.
pub(crate) struct NumberedReply<'a> {
    pub(crate) number: u64,
    pub(crate) old: &'a [u8],
    pub(crate) new: &'a [u8],
}

impl<'a> NumberedReply<'a> {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(12 + self.old.len() + self.new.len());
        bytes.extend_from_slice(&self.number.to_le_bytes());
        bytes.extend_from_slice(&(self.old.len() as u32).to_le_bytes());
        bytes.extend_from_slice(self.old);
        bytes.extend_from_slice(self.new);
        bytes
    }

    /// From what [`serve_numbered`] has answered.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (number, rest) = bytes.split_at_checked(8)?;
        let (len, rest) = rest.split_at_checked(4)?;
        let (old, new) = rest.split_at_checked(u32::from_le_bytes(len.try_into().ok()?) as usize)?;
        Some(NumberedReply { number: u64::from_le_bytes(number.try_into().ok()?), old, new })
    }
}

impl Service {
    /// A request of this rank's own on a scalar that lives here, once what it has done before is settled.
    pub(crate) fn serve_own(
        &mut self,
        id: ObjectId,
        request: &Request,
        payload: &[u8],
        out: &mut Outbox,
    ) -> Option<Result<Vec<u8>, Error>> {
        let me = self.me;
        let object = match self.usable(id, false, out) {
            Ok(object) => object,
            Err(error) => return Some(Err(error)),
        };
        let work = Work::Call { id: CallId(0), epoch: object.asking_epoch(), request: request.clone() };
        let reply = match self.by_itself(id, &work, out, |object| object.attempt(me, &work, payload))? {
            Outcome::Reply(reply) => Ok(reply),
            Outcome::Refuse(error) => Err(error),
            _ => return None,
        };
        let scopes = self.objects.get(&id).and_then(|object| object.scalar_scopes.as_ref());
        if scopes.is_some_and(ScalarScopes::is_spreading) {
            self.advance(id, out);
        }
        Some(reply)
    }
}
