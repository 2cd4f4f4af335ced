//! The end of a scope of buffered writes.

use crate::object::Cx;
use crate::scope::{self, Entered};
use crate::vector::machine::{Vector, VectorWork};
use crate::vector::message::Written;
use aurora_net::{Buffer, Payload, Received};

/// The batch left for an owner.
pub(crate) struct LastBatch {
    pub(crate) batch: Written,
    pub(crate) bytes: Buffer,
}

/// Ends a scope of writes. `last`: the batch left for each owner, which goes with the announcement of the end. Owners
/// of this node without such a batch get the batch `to_peers`, which has no bytes. No rank waits for room here: the
/// scopes that a rank may be ahead are bounded.
pub(crate) fn end_release(
    object: &mut Vector,
    scope: &mut Entered,
    to_peers: Option<Written>,
    mut last: Vec<Option<LastBatch>>,
    cx: &mut Cx<'_>,
) {
    let (me, nodes) = (cx.me(), object.core().nodes().clone());
    scope.time = cx.release();
    for rank in me.others(cx.size()) {
        let last = match last[rank.index()].take() {
            Some(LastBatch { batch, bytes }) => Some((batch, bytes.into())),
            None => to_peers.filter(|_| nodes.same_node(rank, me)).map(|batch| (batch, Payload::Empty)),
        };
        scope::end_to::<Vector>(scope, rank, last, cx);
    }
    let last = match last[me.index()].take() {
        Some(LastBatch { batch, bytes }) => Some((VectorWork::from(batch), Received::Bytes(bytes.into()))),
        None => to_peers.map(|batch| (VectorWork::from(batch), Received::Bytes(Vec::new()))),
    };
    scope::end_here(object, scope, last, cx);
}
