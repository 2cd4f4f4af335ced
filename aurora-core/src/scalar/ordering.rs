//! Checking mode: the order that operations on a scalar make. An operation that changes the scalar comes after all
//! earlier operations, and an operation that reads it comes after the changes. The accesses of ranks before they enter
//! or end a scope come before the accesses of a rank that has waited for that entry or end.

use super::Scalar;
use super::message::ScalarRequest;
use crate::object::Cx;
use crate::race::Time;

/// Behind an answer: the time that it releases, and its length.
const LENGTH: usize = size_of::<u32>();

impl Scalar {
    /// At home: a rank's accesses before its request, entry or end come before later answers of the home.
    pub(super) fn join(&mut self, time: Option<Time>) {
        if let Some(time) = time {
            self.order.join(&time);
        }
    }

    /// The time that the home releases to all ranks.
    pub(super) fn released(&self) -> Option<Time> {
        self.check.then(|| self.order.short())
    }

    /// This rank's program has learnt something from the home.
    pub(crate) fn acquire(&self, cx: &mut Cx<'_>) {
        if self.check {
            cx.order_mut().acquire(&self.order);
        }
    }

    /// The time that a request releases: none, if it is a load.
    pub(super) fn release(&self, request: ScalarRequest, cx: &mut Cx<'_>) -> Option<Time> {
        if request == ScalarRequest::Load { None } else { cx.release() }
    }

    pub(super) fn with_time(&self, mut answer: Vec<u8>) -> Vec<u8> {
        if let Some(time) = self.released() {
            let time = postcard::to_allocvec(&time).expect("plain data");
            answer.extend_from_slice(&time);
            answer.extend_from_slice(&(time.len() as u32).to_le_bytes());
        }
        answer
    }

    /// Takes the time off an answer. `None`: malformed.
    pub(crate) fn learn_time(&mut self, mut answer: Vec<u8>, cx: &mut Cx<'_>) -> Option<Vec<u8>> {
        let (rest, len) = answer.split_last_chunk::<LENGTH>()?;
        let (value, time) = rest.split_at_checked(rest.len().checked_sub(u32::from_le_bytes(*len) as usize)?)?;
        let (len, time) = (value.len(), postcard::from_bytes(time).ok()?);
        answer.truncate(len);
        self.join(Some(time));
        self.acquire(cx);
        Some(answer)
    }
}
