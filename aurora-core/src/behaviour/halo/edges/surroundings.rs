//! The memory for two exchanges of one HaloCache, and the mailboxes of neighbours that share memory.

use super::{Shown, memory_for};
use crate::behaviour::halo::geometry::{Halo, Neighbour, Plan};
use crate::memory::{Metered, STEP, Shortage};
use crate::race::Moment;
use crate::vector::core::VectorCore;
use aurora_net::{Buffer, LetterCount, MailboxReceiver, MailboxSender, Outbox, Rank, SharedView};
use std::ops::Range;
use std::sync::Arc;

pub(super) struct Surroundings {
    pub(super) halo: Halo,
    pub(super) plan: Plan,
    /// The mailboxes, in the order of the plan's neighbours.
    posts: Vec<Post>,
    /// Letters of the neighbours that use mailboxes; filled when the entry is complete.
    letters: Arc<[LetterCount]>,
    /// One half for exchanges with even numbers, one for odd numbers.
    halves: [Half; 2],
    /// The exchange under way, or the last one.
    pub(super) number: u64,
    /// Checking mode: the moments of neighbours in exchanges that this rank has not completed.
    pub(super) moments: Vec<(u64, Rank, Moment)>,
}

/// The mailboxes to and from a neighbour that shares memory: made on entry, for the edges of the refreshes.
#[derive(Default)]
struct Post {
    out: Option<MailboxSender>,
    into: Option<MailboxReceiver>,
}

struct Half {
    memory: Metered,
    /// The neighbours whose edges are here, of the exchange under way or the next one.
    arrived: Vec<Rank>,
}

pub(super) struct ByMessage {
    pub(super) to: Rank,
    pub(super) edge: Buffer,
    /// True if a mailbox lies behind the edge.
    pub(super) mailbox: bool,
}

impl Surroundings {
    pub(super) fn new(core: &VectorCore, halo: Halo) -> Self {
        let (dist, me, element) = (core.dist(), core.me(), core.block().element);
        let room = Plan::room(dist, me, halo);
        let half =
            || Half { memory: Metered::new(room.saturating_mul(element), core.fresh(room)), arrived: Vec::new() };
        let halves = [half(), half()];
        let short = halves.iter().any(|half| half.memory.short().is_some());
        let plan = if short { Plan::default() } else { Plan::new(dist, me, halo) };
        let posts = plan.neighbours.iter().map(|_| Post::default()).collect();
        Surroundings { halo, plan, posts, letters: Arc::default(), halves, number: 0, moments: Vec::new() }
    }

    /// The elements that are sent to neighbours, as local indices.
    pub(super) fn sends(&self) -> Vec<Range<usize>> {
        self.plan.neighbours.iter().flat_map(|neighbour| neighbour.sends.clone()).collect()
    }

    /// The elements that a neighbour sends to this rank, which owns `own` of the vector's `len` elements.
    pub(super) fn fills(&self, rank: Rank, own: &Range<usize>, len: usize) -> Vec<Range<usize>> {
        let before = self.plan.before;
        let index = |place: usize| match place < before {
            true => (own.start + len - (before - place) % len) % len,
            false => (own.end + (place - before)) % len,
        };
        let fills = self.plan.neighbour(rank).map_or(&[][..], |neighbour| &neighbour.fills);
        fills.iter().filter(|fill| !fill.is_empty()).map(|fill| index(fill.start)..index(fill.end - 1) + 1).collect()
    }

    /// Begins an exchange: copies this block's elements into the halo, fills mailboxes, returns edges to be sent.
    pub(super) fn begin(
        &mut self,
        (number, mailboxes): (u64, bool),
        block: &[u8],
        element: usize,
        out: &Outbox,
    ) -> Result<Vec<ByMessage>, Shortage> {
        self.number = number;
        let in_bytes = |range: &Range<usize>| range.start * element..range.end * element;
        for (from, at) in &self.plan.around {
            half_of(&mut self.halves, number).memory.write(at * element, &block[in_bytes(from)]);
        }
        let mut messages = Vec::new();
        for (neighbour, post) in self.plan.neighbours.iter().zip(&mut self.posts) {
            let to = neighbour.rank;
            match &mut post.out {
                Some(mailbox) if number > 0 => {
                    let put = mailbox.put(|letter| neighbour.take_edge(block, element, letter));
                    assert!(put, "{to} has taken its last letter: each exchange waits for the edges of the one before");
                }
                _ => {
                    let len = neighbour.gets() * element;
                    let mailbox = if number == 0 && mailboxes { out.mailbox(to, len) } else { None };
                    let (mut edge, sender) = match mailbox {
                        Some((edge, sender)) => (edge, Some(sender)),
                        None => (memory_for(len, to, out)?, None),
                    };
                    neighbour.take_edge(block, element, &mut edge);
                    messages.push(ByMessage { to, edge, mailbox: sender.is_some() });
                    post.out = sender;
                }
            }
        }
        Ok(messages)
    }

    /// The neighbours whose edges are neither in the halo nor in a mailbox.
    pub(super) fn awaited(&self) -> impl Iterator<Item = Rank> + '_ {
        let arrived = &self.halves[(self.number % 2) as usize].arrived;
        let posted = |post: &Post| self.number > 0 && post.into.as_ref().is_some_and(MailboxReceiver::has_come);
        let neighbours = self.plan.neighbours.iter().zip(&self.posts);
        let missing = neighbours.filter(move |(neighbour, post)| !arrived.contains(&neighbour.rank) && !posted(post));
        missing.map(|(neighbour, _)| neighbour.rank)
    }

    /// True if an edge of exchange `number` may arrive now.
    pub(super) fn is_due(&self, number: u64) -> bool {
        number == self.number || number == self.number + 1
    }

    /// True if an edge of `len` bytes is missing.
    pub(super) fn wants(&mut self, from: Rank, number: u64, len: usize, element: usize) -> bool {
        let gives = self.plan.neighbour(from).map(|neighbour| neighbour.gives() * element);
        self.is_due(number) && gives == Some(len) && !half_of(&mut self.halves, number).arrived.contains(&from)
    }

    pub(super) fn write(&mut self, from: Rank, number: u64, element: usize, offset: usize, bytes: &[u8]) {
        let Surroundings { plan, halves, .. } = self;
        if let Some(neighbour) = plan.neighbour(from) {
            let memory = &mut half_of(halves, number).memory;
            neighbour.land(element, offset, bytes, |at, part| memory.write(at, part));
        }
    }

    pub(super) fn note_arrival(&mut self, from: Rank, number: u64) {
        half_of(&mut self.halves, number).arrived.push(from);
    }

    /// Keeps the mailbox behind a neighbour's first edge. False: there is none.
    pub(super) fn keep_mailbox(&mut self, from: Rank, edge: SharedView) -> bool {
        let place = self.plan.neighbours.iter().position(|neighbour| neighbour.rank == from);
        let post = place.map(|place| &mut self.posts[place]);
        post.is_some_and(|post| {
            post.into = edge.into_mailbox();
            post.into.is_some()
        })
    }

    /// Takes the letters of the exchange under way; a neighbour that is ahead may have put one for the next, too.
    /// Returns true if all edges are in the halo, and false if a letter is still missing.
    pub(super) fn take_letters(&mut self, element: usize) -> bool {
        let Surroundings { plan, posts, halves, number, .. } = self;
        let Half { memory, arrived } = half_of(halves, *number);
        for (neighbour, post) in plan.neighbours.iter().zip(posts) {
            if *number > 0
                && !arrived.contains(&neighbour.rank)
                && let Some(mailbox) = &mut post.into
                && let Some(()) =
                    mailbox.take(|letter| neighbour.land(element, 0, letter, |at, part| memory.write(at, part)))
            {
                arrived.push(neighbour.rank);
            }
        }
        arrived.len() == plan.neighbours.len()
    }

    /// Bytes of the memory, and the number of them that the system has not given yet.
    pub(super) fn size(&self) -> (usize, usize) {
        let [(bytes, untaken), (more, of_it)] = self.halves.each_ref().map(|half| half.memory.size());
        (bytes + more, untaken + of_it)
    }

    /// Takes the next step of the memory; false once all is taken.
    pub(super) fn take(&mut self) -> Result<bool, Shortage> {
        for half in &mut self.halves {
            if half.memory.take(STEP)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn short(&self) -> Option<&Shortage> {
        self.halves.iter().find_map(|half| half.memory.short())
    }

    /// Ends an exchange whose edges are all here.
    pub(super) fn complete(&mut self, element: usize) -> Shown {
        let number = self.number;
        if number == 0 {
            self.letters = self.posts.iter().filter_map(|post| Some(post.into.as_ref()?.count())).collect();
        }
        let half = half_of(&mut self.halves, number);
        half.arrived.clear();
        if let Some(halo) = half.memory.bytes_mut() {
            self.plan.repeat(halo, element);
        }
        let reach = (self.plan.before, self.plan.behind);
        Shown { array: half.memory.share(), reach, letters: self.letters.clone() }
    }

    /// Ends the scope: frees its mailboxes and keeps its memory.
    pub(super) fn close(&mut self) {
        self.posts.fill_with(Post::default);
        self.letters = Arc::default();
        self.halves.iter_mut().for_each(|half| half.arrived.clear());
        self.moments.clear();
        self.number = 0;
    }

    /// Ready for another scope, unless a guard still shows the memory.
    pub(super) fn anew(mut self) -> Option<Self> {
        let free = self.halves.iter_mut().all(|half| half.memory.bytes_mut().is_some());
        free.then_some(self)
    }
}

/// The half for exchanges of this number.
fn half_of(halves: &mut [Half; 2], number: u64) -> &mut Half {
    &mut halves[(number % 2) as usize]
}

impl Neighbour {
    /// Copies the edge for this neighbour out of a block.
    fn take_edge(&self, block: &[u8], element: usize, edge: &mut [u8]) {
        let mut at = 0;
        for range in &self.sends {
            let part = &block[range.start * element..range.end * element];
            edge[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
    }
}
