//! The contract between a kernel and its objects.

use super::{Cx, Frame};
use crate::error::{Claim, ObjectName};
use crate::ids::CallId;
use crate::kernel::Loan;
use crate::kernel::watch::{Relay, Wait};
use aurora_net::{Placement, Rank, Received};
use std::any::Any;
use std::time::Instant;

/// A shared object as its rank's kernel knows it: a machine.
///
/// It is called under the endpoint's lock, on any thread, one call at a time. A call waits for no rank and runs nothing
/// of the program but its operations. After each call the kernel tells the object of a fault that the call has found
/// ([`failed`](Self::failed)), and asks when it wants to be called again ([`poll_timeout`](Self::poll_timeout)).
pub(crate) trait SharedObject: Any + Send {
    /// A header is here, and `len > 0` bytes follow: where they go. The transfer may never be delivered. Nothing can be
    /// sent at this moment.
    fn place(&mut self, _from: Rank, _header: &[u8], _len: usize, _cx: &mut Cx<'_>) -> Placement {
        Placement::Buffer
    }

    /// Headers were placed that could not be acted on.
    fn placed(&mut self, _cx: &mut Cx<'_>) {}

    /// Bytes of a payload that this object has placed.
    fn write(&mut self, _loan: &Loan, _offset: usize, _bytes: &[u8]) {}

    /// Bytes of a payload that it has lent. False: it is no longer there.
    fn read(&self, _loan: &Loan, _offset: usize, _into: &mut [u8]) -> bool {
        false
    }

    /// What it has lent is needed no more.
    fn released(&mut self, _loan: &Loan, _cx: &mut Cx<'_>) {}

    /// A transfer is whole. They come in any order.
    ///
    /// # Errors
    /// The header makes no sense: another build has sent it, and the job fails.
    fn deliver(&mut self, from: Rank, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Result<(), Malformed>;

    /// A request: [`Cx::answer`] answers it, now or later.
    ///
    /// # Errors
    /// As [`deliver`](Self::deliver).
    fn request(&mut self, call: Called, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Result<(), Malformed>;

    /// The answer to a request of this rank that changes something has come.
    ///
    /// # Errors
    /// It is none.
    fn replied(&mut self, _from: Rank, _answer: &[u8]) -> Result<(), Malformed> {
        Ok(())
    }

    /// The object is faulty from now on.
    fn failed(&mut self, cx: &mut Cx<'_>);

    /// Says anew what may be done to the object without its kernel, `usable` if the job goes on.
    fn refresh(&mut self, frame: &Frame, usable: bool);

    /// When [`handle_timeout`](Self::handle_timeout) is wanted.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// That time has come.
    fn handle_timeout(&mut self, _now: Instant, _cx: &mut Cx<'_>) {}

    /// How many collective scopes this rank has entered.
    fn entered(&self) -> u64;

    /// The last of them, as a number: equal on all ranks that agree.
    fn digest(&self) -> u64;

    /// The same in words.
    fn claim(&self, name: &ObjectName) -> Claim;

    /// This rank drops its handle: what the others are told, to compare it with what they have entered.
    fn drop_notice(&mut self, cx: &mut Cx<'_>) -> Vec<u8>;

    /// Another rank has dropped it, and says this; nothing if the object was faulty there.
    ///
    /// # Errors
    /// As [`deliver`](Self::deliver).
    fn peer_dropped(&mut self, from: Rank, notice: &[u8], cx: &mut Cx<'_>) -> Result<(), Malformed>;

    /// Whether nothing is sent from its memory.
    fn is_idle(&self, frame: &Frame) -> bool;

    /// The ranks that have to act before a wait at this object can end. None: a transfer is under way.
    fn awaits(&self, wait: Wait) -> Vec<Rank>;

    /// What a rank does in this wait, in words.
    fn doing(&self, wait: Wait, name: &str) -> String;

    /// Its work for other ranks that goes on without the program, and the ranks that this work waits for.
    fn relay(&self) -> Option<Relay>;

    /// The requests that it keeps, and why.
    fn parked(&self, held: &mut dyn FnMut(Rank, Obstacle));

    /// The kind that a wait at this object is counted under.
    fn wait_kind(&self, wait: Wait) -> crate::stats::Kind;

    /// From now on the looks of the calling thread are watched.
    fn watch_looks(&self);

    /// What a header says, in a word, for traces.
    fn describe(&self, header: &[u8], is_request: bool) -> &'static str;
}

/// A header that makes no sense to its object.
#[derive(Debug)]
pub(crate) struct Malformed;

/// A request of another rank, to be answered once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Called {
    pub(crate) from: Rank,
    pub(crate) id: CallId,
}

/// The ranks that have to act before parked work can be done. None: a transfer is under way.
pub(crate) struct Obstacle {
    /// The rank where the work is parked has to enter or end a scope.
    pub(crate) by_itself: bool,
    /// Other ranks that have to end theirs.
    pub(crate) behind: Vec<Rank>,
}
