//! The contract between a kernel and its objects.

use super::{Awaited, Cx, Holds, Loan, Wait};
use crate::ids::CallId;
use crate::{Claim, Error, Kind, ObjectName};
use aurora_net::{Rank, Received, Source};
use std::any::Any;
use std::time::Instant;

/// A rank's part of a shared object, as a state machine that the rank's kernel calls.
///
/// The parts send messages to each other. The program on each rank acts on its own part. A part never blocks:
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
/// # Guarantees of the kernel
/// - The kernel makes one call at a time, on any thread, never from inside another call. A message of a call to its
///   own rank is delivered later.
/// - A transfer is delivered whole and once. Transfers arrive in any order.
/// - Messages for an object arrive only after all ranks have agreed on it ([`World::share`](crate::World::share)), and
///   before all ranks have dropped it.
/// - After each call with a [`&mut Cx`](Cx) the kernel calls [`advance`](Self::advance) and
///   [`poll_timeout`](Self::poll_timeout). If the call has found a fault, the kernel then calls [`shut`](Self::shut)
///   and [`failed`](Self::failed), and `advance` and `poll_timeout` again.
/// - A panic in a call of the program, or in the `advance` or `poll_timeout` after it, poisons the object and continues
///   in the program. A panic in a call for data of other ranks poisons the object, does not reach the program, and is
///   a notice on stderr.
/// - The kernel checks that ranks construct the same object. It reports faults on all ranks with their lines, and
///   prints a notice for a wait of 30 s. It keeps counters ([`World::usage`](crate::World::usage)) and traces. A wait
///   that can never end is an error, if [`awaits`](Self::awaits) and [`holds`](Self::holds) name the awaited ranks.
///
/// # Methods to implement
/// Most objects need [`deliver`](Self::deliver) or [`request`](Self::request), and [`advance`](Self::advance); an
/// object that parks requests also needs [`holds`](Self::holds). `entered`, `digest`, `claim` and `drop_notice` are
/// for objects with collective scopes; `arrive`, `merge` and `depart` for barriers that name the object; `place`,
/// `write`, `read` and `released` for payloads in the object's own memory. A header has at most 1000 bytes: longer
/// data goes into the payload.
///
/// # Duties of the object
/// - A call waits for no rank, runs no code of the program except its operations, and takes at most 200 us. Longer work
///   is done in steps, by [`poll_timeout`](Self::poll_timeout).
/// - The object answers each request once. While it parks a request, it names the request in [`holds`](Self::holds).
///   It answers parked requests when it [fails](Self::failed).
/// - The object can [read](Self::read) a loan until the loan is [released](Self::released). A payload that cannot be
///   read is never delivered, and no rank gets an error.
/// - The object calls [`Cx::progress`] after each event for which the program's thread may wait.
///
/// `examples/queue.rs` is a whole object: a FIFO queue with a home rank.
pub trait SharedObject: Any + Send {
    /// A header has arrived, and `len > 0` bytes follow. Returns the place for these bytes. The transfer may never be
    /// delivered. Nothing can be sent at this moment; [`advance`](Self::advance) follows soon.
    fn place(&mut self, _from: Rank, _header: &[u8], _len: usize, _cx: &Cx<'_>) -> Place {
        Place::Buffer
    }

    /// Writes bytes of a payload that this object has placed, in any order. Ignores them if the loan has ended.
    fn write(&mut self, _loan: Loan, _offset: usize, _bytes: &[u8]) {}

    /// Reads bytes of a payload that this object has lent, and reads them again after a loss. False: the transfer is
    /// given up.
    fn read(&mut self, _loan: Loan, _offset: usize, _into: &mut [u8]) -> bool {
        false
    }

    /// The transport does not need this loan any more.
    fn released(&mut self, _loan: Loan, _cx: &mut Cx<'_>) {}

    /// A transfer has arrived completely. Each transfer arrives once, in any order.
    ///
    /// # Errors
    /// The header makes no sense: another build has sent it, and the job fails.
    fn deliver(&mut self, _from: Rank, _header: &[u8], _payload: Received, _cx: &mut Cx<'_>) -> Result<(), Malformed> {
        Err(Malformed)
    }

    /// A request. [`Cx::answer`] answers it once, now or later. An object that keeps the payload
    /// [detaches](Received::detach) it.
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

    /// A descriptor that the object watches is readable or at its end ([`Cx::watch`]), or a doorbell has been rung
    /// ([`Cx::doorbell`]). A descriptor that is still readable is reported again.
    fn ready(&mut self, source: Source, cx: &mut Cx<'_>) {
        cx.unwatch(source);
    }

    /// Does the work that follows from a call: completes epochs, retries, sends, and updates the accesses that need no
    /// kernel. Returns at once if nothing has changed.
    fn advance(&mut self, _cx: &mut Cx<'_>) {}

    /// The object has become faulty: [`Cx::sound`] returns the error. It now answers the requests that it parks.
    fn failed(&mut self, _cx: &mut Cx<'_>) {}

    /// Ends all accesses that need no kernel: the object is faulty, or the job has ended.
    fn shut(&mut self) {}

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout). A time that has passed means soon, after
    /// other work.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// The time of [`poll_timeout`](Self::poll_timeout) has come.
    fn handle_timeout(&mut self, _now: Instant, _cx: &mut Cx<'_>) {}

    /// A [`Guard`](super::Guard) of this rank's program has ended.
    fn guard_ended(&mut self) {}

    /// Returns the number of collective scopes that this rank has entered.
    fn entered(&self) -> u64 {
        0
    }

    /// Returns the state as a number: equal on all ranks if they agree and none has anything to report.
    fn digest(&self) -> u64 {
        0
    }

    /// Returns this rank's last action on the object, with its line: for `Mismatch`, if digests differ.
    fn claim(&self, name: &ObjectName, me: Rank) -> Claim {
        Claim { rank: me, action: format!("has made {name}"), site: name.made_at.clone() }
    }

    /// A barrier that names this object begins on this rank (a release). Returns this rank's word.
    fn arrive(&mut self, _cx: &mut Cx<'_>) -> Vec<u8> {
        Vec::new()
    }

    /// Merges the words of other ranks in that barrier. Must be associative and commutative. Each rank's word is merged
    /// exactly once, so a sum is correct.
    fn merge(&self, _all: &mut Vec<u8>, _more: &[u8]) {}

    /// All ranks have arrived at that barrier (an acquire); `all` is their merged word.
    fn depart(&mut self, _all: &[u8], _cx: &mut Cx<'_>) {}

    /// This rank drops its handle. Returns a notice, which other ranks compare with the scopes that they have entered.
    fn drop_notice(&mut self, _cx: &mut Cx<'_>) -> Vec<u8> {
        Vec::new()
    }

    /// Another rank has dropped its handle, with this notice; it is empty if the object was faulty there.
    ///
    /// # Errors
    /// As [`deliver`](Self::deliver).
    fn peer_dropped(&mut self, _from: Rank, _notice: &[u8], _cx: &mut Cx<'_>) -> Result<(), Malformed> {
        Ok(())
    }

    /// True if nothing is sent from the object's memory and its work is done, so that it can be freed once all ranks
    /// have dropped it. Asked again after each [`released`](Self::released) and
    /// [`handle_timeout`](Self::handle_timeout).
    fn is_idle(&self, _faulty: bool) -> bool {
        true
    }

    /// Returns the ranks that have to act before a wait at this object can end, and the waiting rank's activity.
    fn awaits(&self, _wait: Wait, name: &ObjectName) -> Awaited {
        Awaited { ranks: Vec::new(), doing: format!("waits for {name}") }
    }

    /// Reports all requests of other ranks that this part holds back, and all work that it does without its program.
    fn holds(&self, _held: &mut Holds<'_>) {}

    /// The kind under which a wait at this object is counted.
    fn wait_kind(&self, _wait: Wait) -> Kind {
        Kind::Control
    }

    /// Returns true if threads of the object work while the program waits at it. The waiting thread then leaves them
    /// its core at once; otherwise it polls for a short time before it sleeps.
    fn has_workers(&self) -> bool {
        false
    }

    /// The watch for polling begins: from now on the kernel has to see the reads of the calling thread.
    fn watch_looks(&self) {}

    /// Returns the meaning of a header, in a word, for traces.
    fn describe(&self, _header: &[u8], is_request: bool) -> &'static str {
        if is_request { "request" } else { "message" }
    }
}

impl dyn SharedObject + '_ {
    pub(crate) fn of_kind<O: SharedObject>(&mut self) -> &mut O {
        let object: &mut dyn Any = self;
        object.downcast_mut().expect("a handle is of its object's kind")
    }
}

/// The place for the payload of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Into a buffer, which is delivered with the header.
    Buffer,
    /// Into memory of the object: [`SharedObject::write`] gets the bytes as they arrive.
    At(Loan),
    /// Nowhere: the payload is not needed, and may be long.
    Discard,
}

/// A header that makes no sense to its object.
#[derive(Debug)]
pub struct Malformed;

/// A request of another rank, to be answered once.
#[derive(Debug)]
pub struct Call {
    /// The rank that asks.
    pub from: Rank,
    pub(crate) id: CallId,
}
