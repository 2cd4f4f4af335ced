//! A collective call of a rank's thread: ranks agree on the call and exchange bytes (`collective/README.md`).

use super::{BulkCall, Link};
use crate::collective::Words;
use crate::collective::barrier::Outcome;
use crate::collective::pieces::StepId;
use crate::collective::{In, Proposal};
use crate::ids::ObjectId;
use crate::kernel::Kernel;
use crate::kernel::watch::Blocked;
use crate::memory::Shortage;
use crate::{Error, Result, Site, digest};
use aurora_net::{BarrierState, NodeBarrier, Outbox, Rank};
use bytes::Bytes;
use std::cell::{Ref, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// All words of one call together have at most this many bytes, if they travel in the rounds of a barrier.
const ALL_WORDS: usize = 8 << 10;

/// Pieces of up to this many bytes are sent before all ranks have agreed: their receivers have to keep them.
const EARLY: usize = 64 << 10;

/// A rank gives at most this many bytes in one step, if they travel in messages: its receivers need memory for them.
const LONGEST: usize = 32 << 20;

#[derive(Clone, Copy)]
pub(crate) enum Give<'a> {
    Nothing,
    /// These bytes to all, in the first step: at most [`CollectiveCall::longest_word`], of equal length on all ranks.
    Word(&'a [u8]),
    /// As `Word`, with different lengths.
    Text(&'a [u8]),
    Pieces(Step<'a>),
    /// The words of objects: [`Given::named`]. They have at most [`ALL_WORDS`] bytes.
    Named(&'a Words),
}

/// A step in which each rank gives bytes to each rank. The given and the expected bytes have to match.
#[derive(Clone, Copy)]
pub(crate) struct Step<'a> {
    /// All bytes that this rank gives, at most [`CollectiveCall::longest`].
    pub(crate) bytes: &'a [u8],
    /// The part of `bytes` for a rank.
    pub(crate) to: &'a dyn Fn(usize) -> Range<usize>,
    /// The part of a rank's bytes that is for this rank.
    pub(crate) from: &'a dyn Fn(usize) -> Range<usize>,
}

pub(crate) struct Given<'a> {
    me: usize,
    give: Give<'a>,
    way: Way<'a>,
}

/// The way in which the data has arrived.
enum Way<'a> {
    Node(Ref<'a, NodeBarrier>),
    Words(BTreeMap<Rank, Bytes>),
    Pieces(BTreeMap<Rank, Vec<u8>>),
    Named(Words),
}

/// The length stands before a text in the node's memory.
const LENGTH: usize = 8;

fn write_text(contribution: &mut [u8], text: &[u8]) {
    let (len, place) = contribution.split_at_mut(LENGTH);
    len.copy_from_slice(&(text.len() as u64).to_ne_bytes());
    place[..text.len()].copy_from_slice(text);
}

fn text_of(contribution: &[u8]) -> &[u8] {
    let (len, text) = contribution.split_at(LENGTH);
    &text[..bytemuck::pod_read_unaligned::<u64>(len) as usize]
}

impl Given<'_> {
    pub(crate) fn of(&self, rank: usize) -> &[u8] {
        match (&self.way, self.give) {
            (_, Give::Nothing) => &[],
            (_, Give::Word(own) | Give::Text(own)) if rank == self.me => own,
            (_, Give::Pieces(step)) if rank == self.me => &step.bytes[(step.to)(rank)],
            (Way::Node(barrier), Give::Word(own)) if own.len() <= NodeBarrier::INLINE => {
                &barrier.inline(rank)[..own.len()]
            }
            (Way::Node(barrier), Give::Word(own)) => &barrier.contribution(rank)[..own.len()],
            (Way::Node(barrier), Give::Text(_)) => text_of(barrier.contribution(rank)),
            (Way::Node(barrier), Give::Pieces(step)) => &barrier.contribution(rank)[(step.from)(rank)],
            (Way::Words(words), _) => words.get(&Rank::new(rank)).map_or(&[], |word| word),
            (Way::Pieces(pieces), _) => pieces.get(&Rank::new(rank)).map_or(&[], |piece| piece),
            (Way::Named(_), _) | (_, Give::Named(_)) => unreachable!("the words of objects are merged"),
        }
    }

    /// The words of the ranks about objects, by rank or merged.
    pub(crate) fn named(&self, size: usize) -> Vec<Words> {
        match (&self.way, self.give) {
            (Way::Node(barrier), _) => {
                let of = |rank| postcard::from_bytes(text_of(barrier.contribution(rank)));
                (0..size).map(|rank| of(rank).expect("written by a rank of this program")).collect()
            }
            (Way::Named(words), _) => vec![words.clone()],
            _ => Vec::new(),
        }
    }
}

pub(crate) struct CollectiveCall<'a> {
    link: &'a Link,
    site: &'a Site,
    proposal: Proposal<'a>,
    /// The next step; barrier 0: ranks have not agreed yet.
    next: StepId,
    /// This call exchanges bytes by messages although the ranks share memory.
    apart: bool,
    _timed: BulkCall<'a>,
}

#[derive(Default)]
struct Agreed {
    words: BTreeMap<Rank, Bytes>,
    named: Words,
    shortage: Option<(Rank, Shortage)>,
    /// The pieces of the first step have been sent.
    sent: bool,
}

impl<'a> CollectiveCall<'a> {
    pub(crate) fn new(link: &'a Link, proposal: Proposal<'a>, site: &'a Site) -> Self {
        let _timed = link.in_bulk(link.in_collective(proposal.what));
        CollectiveCall { link, site, proposal, next: (0, 0), apart: false, _timed }
    }

    /// From now on this call uses messages, of any length, not shared memory. All ranks call it before the first
    /// step.
    pub(crate) fn by_messages(&mut self) {
        self.apart = true;
    }

    /// The longest word of a rank if `givers` ranks give a word that is not empty; the same on all ranks.
    pub(crate) fn longest_word(&self, givers: usize) -> usize {
        match self.node() {
            Some(barrier) => barrier.borrow().longest() - LENGTH,
            None if self.apart => 0,
            None => ALL_WORDS / givers,
        }
    }

    /// The maximum that a rank should give in one step; the same on all ranks. In shared memory it cannot give more.
    pub(crate) fn longest(&self) -> usize {
        self.node().map_or(LONGEST, |barrier| barrier.borrow().longest())
    }

    pub(crate) fn is_on_one_node(&self) -> bool {
        self.node().is_some()
    }

    pub(crate) fn size(&self) -> usize {
        self.link.size
    }

    pub(crate) fn me(&self) -> usize {
        self.link.me.index()
    }

    fn node(&self) -> Option<&'a RefCell<NodeBarrier>> {
        let link: &'a Link = self.link;
        link.barrier.as_deref().filter(|_| !self.apart)
    }

    /// Collective. First agrees with all ranks; then gives `give`, and calls `read` with the data of each rank for this
    /// rank. Panics if `read` runs an operation of the program that makes a collective call, or if ranks that share
    /// memory give too much.
    pub(crate) fn share<R>(&mut self, give: Give<'_>, read: impl FnOnce(&Given<'_>) -> R) -> Result<R> {
        let begins = self.next.0 == 0;
        let agreed = if begins { self.agree(give)? } else { Agreed::default() };
        let way = match (self.node(), give) {
            (Some(barrier), _) => {
                if !begins {
                    self.meet_again(barrier, give)?;
                }
                Way::Node(barrier.borrow())
            }
            (None, Give::Pieces(step)) => Way::Pieces(self.take(step, agreed.sent)?),
            (None, Give::Named(_)) => Way::Named(agreed.named),
            (None, _) => Way::Words(agreed.words),
        };
        self.next.1 += 1;
        Ok(read(&Given { me: self.link.me.index(), give, way }))
    }

    /// All ranks agree on the call, or all get the same error.
    fn agree(&mut self, give: Give<'_>) -> Result<Agreed> {
        let agreed = self.find_agreement(give)?;
        if self.link.modes.check {
            self.link.tidy_kernel(|kernel, _| kernel.core.order.met());
        }
        Ok(agreed)
    }

    fn find_agreement(&mut self, give: Give<'_>) -> Result<Agreed> {
        let (number, digest) = self.link.on_kernel(self.site, |kernel, _| {
            let number = kernel.core.barrier.arrive();
            kernel.core.pieces.begin(number);
            Ok((number, kernel.digest(&self.proposal)))
        })?;
        self.next = (number, 0);
        let Some(barrier) = &self.link.barrier else {
            return self.confer(Some(digest), give);
        };
        let brought = if self.apart { Give::Nothing } else { give };
        // The numbers of ranks that request a second pass all differ.
        let number = if digest.1 { digest::add(digest.0, 1 + self.me() as u64) } else { digest.0 };
        match self.arrive(barrier, number, brought)? {
            BarrierState::Agreed => Ok(Agreed::default()),
            _ => self.confer(None, give),
        }
    }

    /// Arrives at a later step. All ranks have agreed on the call, so all arrive, unless an operation of the program
    /// has panicked on one of them in the step before.
    fn meet_again(&mut self, barrier: &RefCell<NodeBarrier>, give: Give<'_>) -> Result<()> {
        self.proposal.key = digest::add(self.proposal.key, self.next.1.into());
        self.link.on_kernel(self.site, |kernel, _| Ok(kernel.core.barrier.arrive()))?;
        if self.arrive(barrier, self.proposal.key, give)? == BarrierState::Agreed {
            return Ok(());
        }
        self.confer(None, Give::Nothing)?;
        unreachable!("ranks whose keys differ have conferred")
    }

    /// Brings this rank's bytes to the node's barrier, and waits until all ranks have arrived.
    fn arrive(&self, barrier: &RefCell<NodeBarrier>, word: u64, give: Give<'_>) -> Result<BarrierState> {
        let Ok(mut at) = barrier.try_borrow_mut() else {
            panic!(
                "an operation (`Op`) that a reduction applies has made a collective call: it must not use shared objects"
            );
        };
        match give {
            Give::Nothing => {}
            Give::Word(word) if word.len() <= NodeBarrier::INLINE => {
                at.inline_mut()[..word.len()].copy_from_slice(word)
            }
            Give::Word(bytes) => at.contribution_mut()[..bytes.len()].copy_from_slice(bytes),
            Give::Pieces(Step { bytes, to, .. }) => {
                // This rank's own piece is not copied. A piece that is the same for all others is copied once.
                let place = at.contribution_mut();
                let mut brought = 0..0;
                for range in
                    (0..self.size()).filter(|rank| *rank != self.me()).map(to).filter(|range| !range.is_empty())
                {
                    if range != brought {
                        place[range.clone()].copy_from_slice(&bytes[range.clone()]);
                        brought = range;
                    }
                }
            }
            Give::Text(text) => write_text(at.contribution_mut(), text),
            Give::Named(words) => {
                write_text(at.contribution_mut(), &postcard::to_allocvec(words).expect("plain data"));
            }
        }
        let state = at.arrive(word);
        drop(at);
        if state != BarrierState::Waiting {
            return Ok(state);
        }
        let (what, linger) = (Blocked::Barrier(self.proposal.what), || barrier.borrow_mut().spin());
        self.link.await_node_peers(what, self.site, linger, |_| Ok(barrier.borrow_mut().poll()))
    }

    /// Agrees by the rounds of a barrier; without a `digest`, ranks know that they differ: only the second pass.
    fn confer(&self, digest: Option<(u64, bool)>, give: Give<'_>) -> Result<Agreed> {
        let (mut word, mut named, mut early) = (None, Words::new(), None);
        match give {
            _ if self.is_on_one_node() => {}
            Give::Word(bytes) | Give::Text(bytes) => word = Some(Bytes::copy_from_slice(bytes)),
            Give::Named(words) => named = words.clone(),
            Give::Pieces(step) => early = Some(step).filter(|step| is_early(*step, self.size())),
            Give::Nothing => {}
        }
        let (mut brings, sent) = (Some((word, named)), early.is_some());
        self.link.wait_kernel(Blocked::Barrier(self.proposal.what), self.site, |kernel, out| {
            if let Some(brings) = brings.take() {
                if let Some(step) = early {
                    self.send(kernel, out, step);
                }
                match digest {
                    Some(digest) => kernel.start_barrier(digest, brings, self.site, out),
                    None => kernel.start_second_pass(&self.proposal, self.site, out),
                }
            }
            if kernel.core.barrier.wants_second_pass() {
                kernel.start_second_pass(&self.proposal, self.site, out);
            }
            let outcome = kernel.core.barrier.poll()?;
            kernel.learn_faults(outcome.faults, out);
            let Outcome { verdict, words, named, shortage, .. } = outcome;
            Some(verdict.map(|()| Agreed { words, named, shortage, sent }))
        })
    }

    /// Sends the pieces of a step, unless they have been `sent`, and waits for the pieces of the other ranks.
    fn take(&self, step: Step<'_>, sent: bool) -> Result<BTreeMap<Rank, Vec<u8>>> {
        let others = self.link.me.others(self.size());
        let from: Vec<Rank> = others.filter(|from| !(step.from)(from.index()).is_empty()).collect();
        let mut begun = false;
        let pieces = self.link.wait_kernel(Blocked::Pieces(self.proposal.what), self.site, |kernel, out| {
            if !begun {
                begun = true;
                if !sent {
                    self.send(kernel, out, step);
                }
                kernel.core.pieces.want(self.next, from.clone());
            }
            kernel.core.pieces.poll().map(Ok)
        })?;
        let fits = |(from, piece): (&Rank, &Vec<u8>)| (step.from)(from.index()).len() == piece.len();
        match pieces.iter().find(|piece| !fits(*piece)) {
            Some((from, _)) => Err(crate::kernel::message::malformed(*from)),
            None => Ok(pieces),
        }
    }

    fn send(&self, kernel: &mut Kernel, out: &mut Outbox, step: Step<'_>) {
        // One copy; each piece is a part of it.
        let bytes = Bytes::copy_from_slice(step.bytes);
        let piece = |to: Rank| (to, bytes.slice((step.to)(to.index())));
        let others = self.link.me.others(self.size());
        let pieces = others.map(piece).filter(|(_, piece)| !piece.is_empty()).collect();
        kernel.give((self.proposal.what, self.next.1), pieces, self.site, out);
    }
}

/// True if all pieces of a step are short enough to be sent before all ranks have agreed.
fn is_early(step: Step<'_>, size: usize) -> bool {
    (0..size).all(|to| (step.to)(to).len() <= EARLY)
}

impl Link {
    /// Collective. A barrier of all ranks. `key` must be equal on all of them; `text` names the barrier in errors.
    pub(crate) fn synchronize(
        &self,
        what: &'static str,
        text: &dyn fmt::Display,
        key: u64,
        refusal: Option<Error>,
        site: &Site,
    ) -> Result<()> {
        let action = In(text);
        self.propose(Proposal { refusal, ..Proposal::new(what, &action, key) }, site).map(drop)
    }

    /// Collective. A barrier with all data of [`Proposal`]. A shortage of memory is returned, not an error.
    pub(crate) fn propose(&self, proposal: Proposal<'_>, site: &Site) -> Result<Option<(Rank, Shortage)>> {
        CollectiveCall::new(self, proposal, site).agree(Give::Nothing).map(|agreed| agreed.shortage)
    }

    /// Collective. A barrier that carries the words of these objects.
    ///
    /// # Panics
    /// If the words of one rank together have more than 8 KiB.
    pub(crate) fn meet_about(&self, ids: &[ObjectId], proposal: Proposal<'_>, site: &Site) -> Result<()> {
        let words = self.on_kernel(site, |kernel, out| Ok(kernel.arrive(ids, out)))?;
        assert!(words.values().map(Vec::len).sum::<usize>() <= ALL_WORDS, "words of a barrier have 8 KiB at most");
        let mut call = CollectiveCall::new(self, proposal, site);
        let named = call.share(Give::Named(&words), |given| given.named(self.size))?;
        self.on_kernel(site, |kernel, out| {
            kernel.depart(named, out);
            ids.iter().try_for_each(|id| kernel.sound(*id))
        })
    }
}
