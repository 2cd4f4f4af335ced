//! Scalars at their home: an encoded value and what is done to it in one round trip.

use super::object::{Object, Outcome};
use crate::message::ScalarRequest;

/// Serves a request on a scalar. The old value is always the answer.
pub(crate) fn serve(object: &mut Object, request: ScalarRequest, payload: &[u8]) -> Outcome {
    let Some(current) = &mut object.scalar else {
        return Outcome::Refuse(not_home(object));
    };
    let old = current.clone();
    match request {
        ScalarRequest::Load => {}
        ScalarRequest::Swap => *current = payload.to_vec(),
        ScalarRequest::Fetch(op) => match object.scalar_ops.get(&op).and_then(|apply| apply(current, payload)) {
            Some(new) => *current = new,
            None => return Outcome::Refuse(not_home(object)),
        },
        ScalarRequest::CompareExchange => {
            let parts = payload
                .split_at_checked(4)
                .and_then(|(len, rest)| rest.split_at_checked(u32::from_le_bytes(len.try_into().ok()?) as usize));
            match parts {
                Some((expected, new)) if expected == current.as_slice() => *current = new.to_vec(),
                Some(_) => {}
                None => return Outcome::Refuse(not_home(object)),
            }
        }
    }
    Outcome::Reply(old)
}

fn not_home(object: &Object) -> crate::Error {
    crate::Error::Start(format!(
        "a request does not fit {}: do all ranks run the same build of the program?",
        object.name
    ))
}
