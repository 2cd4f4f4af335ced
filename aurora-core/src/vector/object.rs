//! One shared object as its rank's service knows it: the block, who has it open, and what waits for it.

use super::block::Block;
use super::check::Checker;
use super::writes::Writes;
use crate::behaviour::halo::edges::Edges;
use crate::behaviour::read_cache::cache::{Cache, Fresh};
use crate::behaviour::read_cache::stream::Stream;
use crate::distribution::Distribution;
use crate::element::{Access, ApplyFn, Element, OpId};
use crate::epoch::Ledger;
use crate::epoch::{Collective, Opening};
use crate::error::ObjectName;
use crate::ids::{CallId, Epoch};
use crate::kernel::message::Request;
use crate::kernel::nodes::Nodes;
use crate::memory::node::home::Home;
use crate::memory::{Direct, OWN, READ, Turn, WRITE};
use crate::operation::{Operations, SameNumber};
use crate::scalar::{ScalarScopes, Value};
use crate::window::Window;
use crate::{Error, Site};
use aurora_net::{Rank, Received};
use std::any::type_name;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// A guard that is open on this rank.
#[derive(Clone, Debug)]
pub(crate) struct OpenGuard {
    pub(crate) id: u64,
    pub(crate) behaviour: &'static str,
    pub(crate) site: Site,
    /// It borrows the object mutably.
    pub(crate) mutable: bool,
    /// Its end is awaited by all ranks.
    pub(crate) awaited: bool,
    /// What of the object.
    pub(crate) window: Window,
    /// Ends with it.
    pub(crate) _span: Option<Box<tracing::Span>>,
}

impl OpenGuard {
    /// Whether it forbids to use a part of the object, for writing if `mutable`.
    pub(crate) fn forbids(&self, mutable: bool, window: Window) -> bool {
        (mutable || self.mutable) && self.window.overlaps(window)
    }
}

/// Something that cannot be done yet.
pub(crate) struct Parked {
    pub(crate) from: Rank,
    pub(crate) work: Work,
    pub(crate) payload: Received,
}

/// Who has to do something before a piece of parked work can be done. If nobody, then a transfer is under way.
pub(crate) struct Obstacle {
    /// The rank where it is parked: it has to enter or end a scope.
    pub(crate) by_itself: bool,
    /// Other ranks, who have to end theirs.
    pub(crate) behind: Vec<Rank>,
}

/// What it is.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    Call {
        id: CallId,
        epoch: Epoch,
        request: Request,
    },
    Batch {
        epoch: Epoch,
        seq: u64,
        op: Option<OpId>,
        /// Its sender waits for room and has to hear that it is applied.
        acknowledge: bool,
    },
}

/// What became of a piece of work.
pub(crate) enum Outcome {
    /// Answer with these bytes.
    Reply(Vec<u8>),
    /// Answer with so many bytes of scattered elements, whose places have so many bytes each, by [`Object::gather`].
    Gather { width: usize, len: usize },
    /// Answer with these bytes of the block, from memory.
    ReplyFromBlock(Range<usize>),
    /// A batch is applied.
    Applied,
    /// Answer that it cannot be done.
    Refuse(Error),
    /// Not yet.
    Park,
}

/// A vector, or a scalar (which has a value at home and no block worth the name).
pub(crate) struct Object {
    pub(crate) name: ObjectName,
    pub(crate) dist: Distribution,
    pub(crate) block: Block,
    /// Checking mode: who has written what.
    pub(crate) check: Option<Box<Checker>>,
    /// Makes memory for a replica of so many elements.
    pub(crate) fresh: Arc<dyn Fn(usize) -> Fresh + Send + Sync>,
    /// The value of a scalar that lives here.
    pub(crate) scalar: Option<Value>,
    pub(crate) scalar_ops: Operations<ScalarFn>,
    /// `None` of a vector.
    pub(crate) scalar_scopes: Option<ScalarScopes>,
    pub(crate) ops: Operations<ApplyFn>,
    pub(crate) access: Access,
    pub(crate) ledger: Ledger,
    pub(crate) cache: Cache,
    /// The load that comes while its guard shows what is here, or has been dropped already.
    pub(crate) stream: Option<Stream>,
    /// By one-sided calls.
    pub(crate) writes: Writes,
    /// Local ranges that they touched since we pushed our block, while a ReadCache is being entered.
    pub(crate) touched: Option<Vec<Range<usize>>>,
    /// Who shares its memory with whom.
    pub(crate) nodes: Arc<Nodes>,
    /// Version of our block that our mates have in copies of their own.
    pub(crate) pushed: u64,
    /// Version of it that the other nodes have.
    pub(crate) sent_abroad: u64,
    /// ReadCaches for which this rank has met those it shares memory with.
    pub(crate) loads: u64,
    /// The one for which it does at this moment.
    pub(crate) meeting: Option<Turn>,
    /// What neighbours push for HaloCaches.
    pub(crate) edges: Edges,
    /// The scopes whose end the calling thread waits for, if it waits for that: of this part, up to this epoch.
    pub(crate) behind: (Window, Epoch),
    /// Batches that each owner has not yet applied.
    pub(crate) outstanding: Vec<usize>,
    pub(crate) open: Vec<OpenGuard>,
    pub(crate) parked: VecDeque<Parked>,
    pub(crate) fault: Option<Error>,
    pub(crate) dropped: Vec<bool>,
    /// How far the scopes of those who have dropped it got.
    pub(crate) ends: Vec<Option<ScopesEntered>>,
}

/// How many collective scopes a rank has entered, and the last.
pub(crate) type ScopesEntered = (Epoch, Option<Opening>);

/// Applies an operand to a scalar's encoded value.
pub(crate) type ScalarFn = fn(current: &[u8], operand: &[u8]) -> Option<Vec<u8>>;

impl Object {
    /// What has ended it, if anything has, as the error of a call.
    pub(crate) fn sound(&self) -> Result<(), Error> {
        self.fault.clone().map_or(Ok(()), Err)
    }

    /// The outcome of a wait that is over when `done`, or when something has ended it.
    pub(crate) fn sound_if(&self, done: bool) -> Option<Result<(), Error>> {
        (done || self.fault.is_some()).then(|| self.sound())
    }

    /// The fault of an object that an operation of the user's, in this piece of work, our `own` or not, has left half written.
    pub(crate) fn broken_off(&self, work: &Work, own: bool) -> Error {
        let rank = self.ledger.me();
        let mine = match work {
            Work::Batch { epoch, .. } => self.ledger.find(*epoch).and_then(|record| record.mine.as_ref()),
            Work::Call { .. } => None,
        };
        let (behaviour, opened) = match (mine, self.open.last()) {
            (Some(mine), _) => (mine.behaviour.action(), &mine.site),
            (None, Some(guard)) if own => (guard.behaviour, &guard.site),
            // That another rank has opened.
            _ => ("ReleaseC alone", &self.name.made_at),
        };
        Error::Poisoned { rank, behaviour: behaviour.into(), object: self.name.clone(), opened: opened.clone() }
    }

    /// The fault of a request that does not fit: another build of the program, or a bug of ours.
    pub(crate) fn nonsense(&self) -> Error {
        Error::Start(format!("a request does not fit {}: do all ranks run the same build of the program?", self.name))
    }

    pub(crate) fn unknown_op(&self) -> Error {
        Error::UnknownOp { op: "of that name".into(), object: self.name.clone(), site: self.name.made_at.clone() }
    }

    /// Two operations of the program have one number: the one with the function that is known, and `O`.
    pub(crate) fn same_number<O>(&self, SameNumber(first): SameNumber, site: &Site) -> Error {
        let object = Box::new(self.name.clone());
        Error::SameNumber { first: first.into(), second: type_name::<O>().into(), object, site: site.clone() }
    }

    /// Says anew what may be done to it without its service: by the calling thread, `usable` if nothing has ended the job,
    /// and by others.
    pub(crate) fn refresh(&mut self, usable: bool) {
        let Ledger { epoch, settled, .. } = self.ledger;
        let usable = usable && self.fault.is_none();
        if !usable {
            self.block.close();
            self.scalar_scopes.iter().for_each(ScalarScopes::close);
        }
        if self.block.front.take_written() {
            self.block.version += 1;
        }
        self.block.mend();
        self.block.reopen(settled);
        self.admit_to_value(usable);
        // In checking mode everything goes by the service.
        let direct = usable && self.check.is_none();
        let readable = direct && settled >= epoch && !self.open.iter().any(|guard| guard.mutable);
        let may = [
            (READ, readable),
            (OWN, readable && (self.block.find_home().is_none() || self.block.is_at_home())),
            // Each operation on a scalar is one moment of it, whatever guard shows what it was.
            (WRITE, readable && (self.open.is_empty() || self.scalar_scopes.is_some())),
        ];
        let may = may.into_iter().filter(|(_, may)| *may).map(|(flag, _)| flag).sum();
        let load = self.block.find_home().map_or(0, Home::load);
        self.block.front.set(epoch, load, may);
    }

    /// The calling thread's next accesses to it are to be watched.
    pub(crate) fn watch_looks(&self) {
        self.block.front.watch();
        self.scalar_scopes.iter().for_each(ScalarScopes::watch_looks);
    }

    /// Single elements of it, `own` ones only or also those of the ranks that share its memory.
    pub(crate) fn direct<T: Element>(&self, own: bool) -> Direct<T> {
        let me = self.ledger.me();
        let (front, range) = (self.block.front.clone(), self.dist.range(me));
        match self.block.find_home() {
            Some(home) => {
                let seat = |rank| match self.nodes.are_mates(rank, me) && (rank == me || !own) {
                    true => self.nodes.position(rank) as u32,
                    false => u32::MAX,
                };
                let seats = (0..self.nodes.size()).map(|rank| seat(Rank::new(rank))).collect();
                home.direct(front, range, self.dist.len(), seats)
            }
            None => {
                let block = self.block.storage().expect("nobody has borrowed it yet");
                Direct::to(front, block, range, self.nodes.size() == 1)
            }
        }
    }

    /// The error of a guard that should be closed.
    pub(crate) fn leak(&self, me: Rank, guard: &OpenGuard) -> Error {
        Error::Leaked {
            rank: me,
            behaviour: guard.behaviour.into(),
            object: self.name.clone(),
            opened: guard.site.clone(),
        }
    }

    /// Why a piece of parked work waits, for the watch.
    pub(crate) fn obstacle(&self, from: Rank, work: &Work) -> Obstacle {
        let (epoch, batch) = match work {
            Work::Call { epoch, .. } => (*epoch, false),
            Work::Batch { epoch, .. } => (*epoch, true),
        };
        let ledger = &self.ledger;
        let mine = |epoch| ledger.find(epoch).and_then(|record| record.mine.as_ref());
        // A batch belongs into the scope that its settling ends, a call behind it.
        let (window, upto) = match work {
            Work::Call { request, .. } => (request.window(), epoch),
            Work::Batch { .. } => {
                (ledger.opening(epoch).map_or(Window::WHOLE, |opening| opening.window), epoch.saturating_sub(1))
            }
        };
        if let Some(next) = ledger.pending(window, upto) {
            let behind = match mine(next).map(|opening| opening.behaviour) {
                // Not known yet, or over everywhere but here.
                None | Some(Collective::Fill) => Vec::new(),
                Some(_) => ledger.awaited(next).collect(),
            };
            let complete = ledger.find(next).is_some_and(|record| record.mine_complete);
            return Obstacle { by_itself: !complete, behind };
        }
        let before = if batch { ledger.awaited_before(epoch, from).collect() } else { Vec::new() };
        let by_itself = batch && ledger.epoch < epoch || self.block.is_lent() || before.contains(&ledger.me());
        Obstacle { by_itself, behind: before.into_iter().filter(|rank| *rank != ledger.me()).collect() }
    }

    /// Notes the opening of another rank; a disagreement is the object's fault.
    pub(crate) fn note_opening(&mut self, from: Rank, epoch: Epoch, opening: &Opening) -> Result<(), Error> {
        self.ledger.opened(from, epoch, opening).map_err(|(other, theirs)| {
            crate::collective::mismatch(opening.claim(from, &self.name), theirs.claim(other, &self.name))
        })
    }
}
