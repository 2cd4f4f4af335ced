//! The contract between a kernel and its objects.

use super::{Awaited, Cx, Holds, Loan, Wait};
use crate::Error;
use crate::error::{Claim, ObjectName};
use crate::ids::CallId;
use crate::stats::Kind;
use aurora_net::{Rank, Received, Source};
use std::any::Any;
use std::time::Instant;

/// A shared object as its rank's kernel knows it: a machine.
///
/// Each rank has a part of the object. The parts send each other messages; the program on each rank acts on its part.
/// A machine decides and never blocks:
///
/// ```text
///  the program's thread                          the rank's daemon, or the thread that waits
///  Shared<O>: act, ask, wait                     transfers, timeouts, faults
///       |                                              |
///       v                   one call at a time         v
///  +--- kernel, under the lock of the rank's endpoint -------------------+
///  |  act(|object, cx| ..)        place write deliver request reply ..   |
///  |                  +--> O: SharedObject --> advance                   |
///  +----------------------------------------------------------------------+
///                     | Cx: send, ask, answer, lent, fail ..
///                     v
///            other ranks' parts of the same object
/// ```
///
/// # What the kernel promises
/// - Calls come one at a time, on any thread, never from inside another call. What a call sends to its own rank is
///   delivered later.
/// - A transfer is delivered whole and once. Transfers come in any order.
/// - Nothing comes for an object before all ranks have agreed on it ([`World::share`](crate::World::share)), nor after
///   all ranks have dropped it.
/// - After each call with a [`&mut Cx`](Cx) the kernel calls [`advance`](Self::advance). Then it tells the object of a
///   fault that the call has found ([`shut`](Self::shut), [`failed`](Self::failed)), and asks when the object wants to
///   be called again ([`poll_timeout`](Self::poll_timeout)).
/// - A panic in a call of the program poisons the object and goes on in the program. A panic in a call for what other
///   ranks have sent poisons the object, and no other.
/// - Unasked: that ranks construct the same object; faults on all ranks, with their lines; a notice for a wait of 30 s;
///   counters ([`World::usage`](crate::World::usage)) and traces. An error for a wait that can never end, as far as
///   [`awaits`](Self::awaits) and [`holds`](Self::holds) say whom it is for.
///
/// # What an object needs
/// Most need [`deliver`](Self::deliver) or [`request`](Self::request), [`advance`](Self::advance), and, if they keep
/// requests, [`holds`](Self::holds). `entered`, `digest`, `claim` and `drop_notice` are for objects with collective
/// scopes; `arrive`, `merge` and `depart` for barriers that name it; `place`, `write`, `read` and `released` for
/// payloads in memory of its own. A header has 1000 bytes at most: what is long goes into the payload.
///
/// # What the object promises
/// - A call waits for no rank, runs nothing of the program but its operations, and lasts 200 us at most: longer work
///   goes in steps, by [`poll_timeout`](Self::poll_timeout).
/// - It answers each request once, or names it in [`holds`](Self::holds) for as long as it keeps it; it answers what it
///   keeps when it [fails](Self::failed).
/// - What it lends it can [read](Self::read) until it is [released](Self::released): a payload that cannot be read is
///   never delivered, and nobody is told.
/// - It calls [`Cx::progress`] when something has happened for which the program's thread may wait.
///
/// `examples/queue.rs` is a whole object: a FIFO queue with a home rank.
pub trait SharedObject: Any + Send {
    /// A header is here, and `len > 0` bytes follow: where they go. The transfer may never be delivered. Nothing can be
    /// sent at this moment; [`advance`](Self::advance) follows soon.
    fn place(&mut self, _from: Rank, _header: &[u8], _len: usize, _cx: &Cx<'_>) -> Place {
        Place::Buffer
    }

    /// Bytes of a payload that this object has placed, in any order. A loan that has ended is ignored.
    fn write(&mut self, _loan: Loan, _offset: usize, _bytes: &[u8]) {}

    /// Bytes of a payload that it has lent, again after a loss. False: they are no longer there, and the transfer is
    /// given up.
    fn read(&mut self, _loan: Loan, _offset: usize, _into: &mut [u8]) -> bool {
        false
    }

    /// What it has lent is needed no more.
    fn released(&mut self, _loan: Loan, _cx: &mut Cx<'_>) {}

    /// A transfer is whole. Transfers come once each, in any order.
    ///
    /// # Errors
    /// The header makes no sense: another build has sent it, and the job fails.
    fn deliver(&mut self, _from: Rank, _header: &[u8], _payload: Received, _cx: &mut Cx<'_>) -> Result<(), Malformed> {
        Err(Malformed)
    }

    /// A request: [`Cx::answer`] answers it once, now or later. What is kept of it is detached.
    ///
    /// # Errors
    /// As [`deliver`](Self::deliver).
    fn request(&mut self, _call: Call, _header: &[u8], _payload: Received, _cx: &mut Cx<'_>) -> Result<(), Malformed> {
        Err(Malformed)
    }

    /// The answer to a request of [`Cx::ask`].
    ///
    /// # Errors
    /// The answer makes no sense: another build has sent it, and the job fails.
    fn reply(
        &mut self,
        _id: CallId,
        _from: Rank,
        _answer: Result<&[u8], &Error>,
        _cx: &mut Cx<'_>,
    ) -> Result<(), Malformed> {
        Ok(())
    }

    /// A descriptor that it watches is readable or at its end ([`Cx::watch`]), or a doorbell has been rung
    /// ([`Cx::doorbell`]). A descriptor that is not read empty is reported again.
    fn ready(&mut self, source: Source, cx: &mut Cx<'_>) {
        cx.unwatch(source);
    }

    /// What follows by itself from what has been called: it settles, retries, sends, and says anew what may be done to
    /// the object without its kernel. Over at once where nothing has changed.
    fn advance(&mut self, _cx: &mut Cx<'_>) {}

    /// The object is faulty from now on: [`Cx::sound`] says why. Requests that it keeps are to be answered.
    fn failed(&mut self, _cx: &mut Cx<'_>) {}

    /// Nothing may be done to the object any more without its kernel: it is faulty, or the job is over.
    fn shut(&mut self) {}

    /// When [`handle_timeout`](Self::handle_timeout) is wanted.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// That time has come.
    fn handle_timeout(&mut self, _now: Instant, _cx: &mut Cx<'_>) {}

    /// How many collective scopes this rank has entered.
    fn entered(&self) -> u64 {
        0
    }

    /// Its state, as a number: equal on all ranks if they agree and none has anything to say.
    fn digest(&self) -> u64 {
        0
    }

    /// What this rank has done to it last, with a line of the program: for `Mismatch`, where digests differ.
    fn claim(&self, name: &ObjectName, me: Rank) -> Claim {
        Claim { rank: me, action: format!("has made {name}"), site: name.made_at.clone() }
    }

    /// A barrier that names this object begins on this rank (a release): what all ranks are to learn.
    fn arrive(&mut self, _cx: &mut Cx<'_>) -> Vec<u8> {
        Vec::new()
    }

    /// Joins what other ranks say in that barrier. Associative and commutative; the word of each rank comes in exactly
    /// once, so sums are right.
    fn merge(&self, _all: &mut Vec<u8>, _more: &[u8]) {}

    /// All ranks have arrived at that barrier (an acquire), and say this together.
    fn depart(&mut self, _all: &[u8], _cx: &mut Cx<'_>) {}

    /// This rank drops its handle: what the others are told, to compare it with what they have entered.
    fn drop_notice(&mut self, _cx: &mut Cx<'_>) -> Vec<u8> {
        Vec::new()
    }

    /// Another rank has dropped it, and says this; nothing if the object was faulty there.
    ///
    /// # Errors
    /// As [`deliver`](Self::deliver).
    fn peer_dropped(&mut self, _from: Rank, _notice: &[u8], _cx: &mut Cx<'_>) -> Result<(), Malformed> {
        Ok(())
    }

    /// Whether nothing is sent from its memory, so that it can be freed once all have dropped it.
    fn is_idle(&self, _faulty: bool) -> bool {
        true
    }

    /// The ranks that have to act before a wait at this object can end, and what the waiting rank does.
    fn awaits(&self, _wait: Wait, name: &ObjectName) -> Awaited {
        Awaited { ranks: Vec::new(), doing: format!("waits for {name}") }
    }

    /// Everything of other ranks that it keeps, and all that it does for them by itself.
    fn holds(&self, _held: &mut Holds<'_>) {}

    /// The kind that a wait at this object is counted under.
    fn wait_kind(&self, _wait: Wait) -> Kind {
        Kind::Control
    }

    /// From now on it is watched whether the calling thread polls: what it does without the kernel has to be seen.
    fn watch_looks(&self) {}

    /// What a header says, in a word, for traces.
    fn describe(&self, _header: &[u8], is_request: bool) -> &'static str {
        if is_request { "request" } else { "message" }
    }
}

/// Where the payload of a transfer goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Into a buffer, which is delivered with the header.
    Buffer,
    /// Into memory of the object: [`SharedObject::write`] gets the bytes as they arrive.
    At(Loan),
    /// Nobody has a use for it, and it may be long.
    Discard,
}

/// A header that makes no sense to its object.
#[derive(Debug)]
pub struct Malformed;

/// A request of another rank, to be answered once.
#[derive(Debug)]
pub struct Call {
    /// Who asks.
    pub from: Rank,
    pub(crate) id: CallId,
}
