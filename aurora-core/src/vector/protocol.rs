//! The seam between a vector and its behaviours.

use super::core::VectorCore;
use super::machine::VectorWork;
use crate::ids::Epoch;
use crate::object::{Cx, Holds, How, Loan, Malformed, Place, Until, Wait};
use crate::scope::{Due, Opening, Outcome, ScopeWait, Work};
use crate::{Error, Kind, ObjectName};
use aurora_net::{Payload, Rank, Received};
use serde::Serialize;
use std::any::Any;
use std::time::Instant;

/// The part of a behaviour in a rank's part of a vector: its state, its messages, its memory.
///
/// The vector calls its protocols as the kernel calls a [`SharedObject`](crate::object::SharedObject): the methods of
/// the same names have the same contract. `core` is the vector without its protocols. A protocol sees only messages,
/// loans, waits and work of its own number. A behaviour that only shows elements, or only buffers writes, needs no
/// protocol.
pub(crate) trait Protocol: Any + Send {
    /// The kind under which its messages and waits are counted.
    fn kind(&self) -> Kind;

    fn place(&mut self, _core: &mut VectorCore, _from: Rank, _header: &[u8], _len: usize, _cx: &Cx<'_>) -> Place {
        Place::Buffer
    }

    fn write(&mut self, _core: &mut VectorCore, _loan: Loan, _offset: usize, _bytes: &[u8]) {}

    fn read(&self, _loan: Loan, _offset: usize, _into: &mut [u8]) -> bool {
        false
    }

    fn released(&mut self, _loan: Loan) {}

    /// As in the contract. The message may belong to a scope that this rank has not entered.
    fn deliver(
        &mut self,
        _core: &mut VectorCore,
        _from: Rank,
        _header: &[u8],
        _payload: Received,
        _cx: &mut Cx<'_>,
    ) -> Delivered {
        Err(Malformed)
    }

    /// True if a rank can send a batch of this protocol in the scope of this opening.
    fn admits(&self, _core: &VectorCore, _from: Rank, _opening: &Opening) -> bool {
        false
    }

    /// Does a piece of work: a request, a batch, or work of [`deliver`](Self::deliver).
    ///
    /// # Errors
    /// The object is faulty from now on; the sender of a request gets the error.
    fn work(
        &mut self,
        _core: &mut VectorCore,
        _piece: Piece<'_>,
        _payload: &[u8],
        cx: &mut Cx<'_>,
    ) -> Result<Outcome, Error> {
        Err(cx.nonsense())
    }

    /// Records the headers that [`place`](Self::place) has seen, now that messages can be sent: before this rank enters
    /// a scope.
    fn catch_up(&mut self, _core: &mut VectorCore, _cx: &mut Cx<'_>) {}

    /// This rank has entered a scope of this protocol: the opening [names](Opening::by) it.
    fn entered(&mut self, _core: &mut VectorCore, _epoch: Epoch, _opening: &Opening, _cx: &mut Cx<'_>) {}

    /// A scope of this protocol is `settled`. Under [`Rule::Announced`](crate::scope::Rule::Announced) the ledger keeps
    /// its record until the protocol forgets it.
    fn settled(&mut self, _core: &mut VectorCore, _epoch: Epoch, _cx: &mut Cx<'_>) {}

    fn advance(&mut self, _core: &mut VectorCore, _cx: &mut Cx<'_>) {}

    /// The time of the next [`advance`](Self::advance), asked after each.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// As in the contract: the word of the only protocol that has one is the vector's.
    fn arrive(&mut self) -> Vec<u8> {
        Vec::new()
    }

    fn merge(&self, _all: &mut Vec<u8>, _more: &[u8]) {}

    fn depart(&mut self, _core: &mut VectorCore, _all: &[u8], _cx: &mut Cx<'_>) {}

    /// True if nothing is sent from its memory.
    fn is_idle(&self) -> bool {
        true
    }

    /// The ranks that have to act before a [wait](Numbered::wait) with this detail can end.
    fn awaits(&self, _core: &VectorCore, _detail: u64) -> Vec<Rank> {
        Vec::new()
    }

    /// The activity of the rank that waits, in words.
    fn doing(&self, _core: &VectorCore, _detail: u64, name: &ObjectName) -> String {
        format!("waits for {name}")
    }

    fn holds(&self, _core: &VectorCore, _held: &mut Holds<'_>) {}

    /// Frees memory that is kept for the next scope, in a call that all ranks make.
    fn release_memory(&mut self, _core: &mut VectorCore) {}
}

/// The result of [`Protocol::deliver`]: the work that the message asks for, with its payload.
pub(crate) type Delivered = Result<Option<(Work<VectorWork>, Received)>, Malformed>;

/// A protocol and its number: the first byte of its headers, the class of its waits, the tag of its loans.
pub(crate) trait Numbered: Protocol + Sized {
    /// Its place in the registry, counted from 1. Headers that begin with 0 are messages about scopes.
    const NUMBER: u8;

    /// The header of a message of this protocol.
    fn header(message: impl Serialize) -> impl Serialize {
        (Self::NUMBER, message)
    }

    fn send(to: Rank, message: impl Serialize, payload: Payload, how: How<'_>, cx: &mut Cx<'_>) {
        cx.send(to, &Self::header(message), payload, how);
    }

    /// A wait of this protocol: an epoch or a rank is its detail.
    fn wait(detail: u64) -> Wait {
        Wait { number: ScopeWait::own(Self::NUMBER.into(), detail), until: Until::Acted }
    }
}

/// A piece of work for a protocol.
pub(crate) struct Piece<'a> {
    pub(crate) from: Rank,
    /// A request is due after scopes, and a batch within one.
    pub(crate) due: Due,
    /// The number that the message has given to the work; 0 for a batch. Work in several parts counts its progress
    /// here.
    pub(crate) number: &'a mut u64,
}

/// The protocols of a vector, in the order of their numbers.
pub(crate) struct Protocols(Box<[Box<dyn Protocol>]>);

impl Protocols {
    pub(crate) fn new<const N: usize>(protocols: [Box<dyn Protocol>; N]) -> Self {
        Protocols(Box::new(protocols))
    }

    pub(super) fn get(&self, number: u8) -> Option<&dyn Protocol> {
        self.0.get(usize::from(number).checked_sub(1)?).map(|protocol| &**protocol)
    }

    pub(super) fn get_mut(&mut self, number: u8) -> Option<&mut dyn Protocol> {
        self.0.get_mut(usize::from(number).checked_sub(1)?).map(|protocol| &mut **protocol)
    }

    pub(crate) fn of<P: Numbered>(&mut self) -> &mut P {
        let protocol: &mut dyn Any = self.get_mut(P::NUMBER).expect("the registry numbers its protocols");
        protocol.downcast_mut().expect("the registry has each protocol in its place")
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &dyn Protocol> {
        self.0.iter().map(|protocol| &**protocol)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut dyn Protocol> {
        self.0.iter_mut().map(|protocol| &mut **protocol)
    }
}
