//! Views and kernels of several ranks in one thread: transfers are delivered in any order, and each read
//! of a random program is compared with a reference memory.

use super::map::PageMap;
use super::protocol::{Paging, flush_at_end, merge_sums};
use super::view::{View, Wanted, differ};
use crate::behaviour::release::end::end_release;
use crate::distribution::{Distribution, Shape};
use crate::ids::{CallId, ObjectId};
use crate::kernel::asking::When;
use crate::kernel::nodes::Nodes;
use crate::kernel::{Kernel, Reason};
use crate::memory::{Array, fresh};
use crate::object::{Cx, SharedObject};
use crate::registry::part;
use crate::scope::{self, Entered, Opening, Rule, Served};
use crate::vector::block::Block;
use crate::vector::machine::Vector;
use crate::vector::protocol::Numbered;
use crate::{Kind, ObjectName, Result, Site};
use aurora_net::{Handler, Outbox, Payload, Rank, Received};
use fastrand::Rng;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

pub(super) const OBJECT: ObjectId = ObjectId(1);

/// An element. A page has 1365 of them and a rest.
type Word = [u8; 3];

fn word(number: u32) -> Word {
    let [a, b, c, _] = number.to_le_bytes();
    [a, b, c]
}

/// The state of a rank's program.
enum Doing {
    Computes,
    /// The rank waits for pages.
    Fetches(Vec<(Wanted, CallId)>),
    /// The rank has arrived at a sync.
    Arrived,
    /// The rank has departed, and waits for changes.
    Departed,
    Ended,
}

pub(super) struct Node {
    pub(super) kernel: Kernel,
    pub(super) out: Outbox,
    pub(super) view: View,
    scope: Entered,
    doing: Doing,
    /// The access that waits for its pages.
    access: Option<Access>,
    /// Accesses left before the next sync.
    left: usize,
    syncs: usize,
}

#[derive(Clone)]
enum Access {
    Read(Range<usize>),
    Write(usize, u32),
}

impl Node {
    pub(super) fn on<R>(&mut self, action: impl FnOnce(&mut Vector, &mut Cx<'_>) -> R) -> R {
        self.kernel.with(OBJECT, &mut self.out, action).expect("it lives")
    }
}

/// A transfer under way.
struct Transfer {
    from: usize,
    to: usize,
    header: Vec<u8>,
    payload: Vec<u8>,
}

struct Simulation {
    rng: Rng,
    nodes: Vec<Node>,
    under_way: Vec<Transfer>,
    /// The word of each rank that has arrived at the sync.
    words: Vec<Option<Vec<u8>>>,
    /// The merged word, for the ranks that have not departed.
    merged: Vec<Option<Vec<u8>>>,
    /// By elements: the values that the element may have after the last sync. One, in a program without races.
    reference: Vec<BTreeSet<u32>>,
    /// By elements: the writes of ranks since then, with the sync that each rank comes to next.
    written: Vec<Vec<(usize, usize, u32)>>,
    /// The only rank that may write an element before the next sync; none in programs with races.
    writers: Option<Vec<usize>>,
    next: u32,
    syncs: usize,
    /// One access in this number is a write. With few writes a sync often changes nothing of a block.
    one_write_in: usize,
}

impl Simulation {
    fn new(seed: u64, races: bool) -> Self {
        let mut rng = Rng::with_seed(seed);
        let size = rng.usize(1..6);
        let lengths: Vec<usize> = (0..size).map(|_| if rng.u8(..5) == 0 { 0 } else { rng.usize(1..5000) }).collect();
        let len: usize = lengths.iter().sum();
        let dist = Distribution::listed(Shape::Vector(len), &lengths);
        let nodes = (0..size).map(|rank| node(rank, size, &dist)).collect();
        Simulation {
            nodes,
            under_way: Vec::new(),
            words: vec![None; size],
            merged: vec![None; size],
            reference: (0..len as u32).map(|value| BTreeSet::from([value])).collect(),
            written: vec![Vec::new(); len],
            writers: (!races).then(|| vec![0; len]),
            next: len as u32,
            syncs: rng.usize(0..5),
            one_write_in: [2, 2, 5, 20][rng.usize(..4)],
            rng,
        }
    }

    fn run(&mut self) {
        if self.reference.is_empty() {
            return;
        }
        self.choose_writers();
        for rank in 0..self.nodes.len() {
            self.begin_interval(rank);
        }
        for _ in 0..1_000_000 {
            let busy: Vec<usize> = (0..self.nodes.len()).filter(|rank| self.may_act(*rank)).collect();
            let choices = busy.len() + self.under_way.len();
            if choices == 0 {
                break;
            }
            match self.rng.usize(0..choices) {
                choice if choice < busy.len() => self.act(busy[choice]),
                choice => {
                    let transfer = self.under_way.swap_remove(choice - busy.len());
                    let Node { kernel, out, .. } = &mut self.nodes[transfer.to];
                    let payload = Received::Bytes(transfer.payload);
                    kernel.deliver(Rank::new(transfer.from), &transfer.header, payload, out);
                }
            }
            self.collect();
        }
        self.check_end();
    }

    /// Takes the messages that kernels have sent.
    fn collect(&mut self) {
        for from in 0..self.nodes.len() {
            let node = &mut self.nodes[from];
            assert!(node.kernel.core.fault.is_none(), "{:?}", node.kernel.core.fault);
            let again = node.kernel.poll_timeout();
            if let Some(at) = again {
                node.kernel.handle_timeout(at, &mut node.out);
            }
            let sent: Vec<_> = node.out.drain().collect();
            for transfer in sent {
                let payload = match transfer.payload {
                    Payload::Bytes(bytes) => bytes.to_vec(),
                    Payload::Shared(_) => unreachable!("these ranks share no memory"),
                    Payload::Empty => Vec::new(),
                    Payload::Lent { .. } => unreachable!("pages are copied"),
                };
                let to = transfer.to.index();
                self.under_way.push(Transfer { from, to, header: transfer.header.to_vec(), payload });
            }
        }
    }

    fn may_act(&mut self, rank: usize) -> bool {
        let node = &mut self.nodes[rank];
        match &node.doing {
            Doing::Computes => true,
            Doing::Fetches(asked) => {
                let calls = &node.kernel.core.calls;
                asked.iter().all(|(_, call)| calls.get(call).is_some_and(|call| call.reply.is_some()))
            }
            Doing::Arrived => self.merged[rank].is_some(),
            Doing::Departed => true,
            Doing::Ended => false,
        }
    }

    fn act(&mut self, rank: usize) {
        match std::mem::replace(&mut self.nodes[rank].doing, Doing::Computes) {
            Doing::Computes => self.compute(rank),
            Doing::Fetches(asked) => {
                let node = &mut self.nodes[rank];
                for ((owner, pages), call) in asked {
                    let answer = node.kernel.core.take_reply(call).expect("it is here").expect("it is served");
                    let mut rest = &answer[..];
                    for page in pages {
                        let (bytes, behind) = rest.split_at(node.view.len_of(owner, page));
                        node.view.fill(owner, page, bytes).expect("there is memory");
                        rest = behind;
                    }
                    assert!(rest.is_empty());
                }
                self.compute(rank);
            }
            Doing::Arrived => {
                let all = self.merged[rank].take().expect("it may act");
                self.nodes[rank].on(|object, cx| object.depart(&all, cx));
                self.nodes[rank].doing = Doing::Departed;
            }
            Doing::Departed => {
                let node = &mut self.nodes[rank];
                match node.on(|object, cx| object.with::<Paging>().0.poll(cx)) {
                    None => node.doing = Doing::Departed,
                    Some(pushed) => {
                        for (owner, changes) in pushed.expect("it is sound") {
                            node.view.update(owner, changes.bytes()).expect("it fits");
                        }
                        self.begin_interval(rank);
                    }
                }
            }
            Doing::Ended => unreachable!("it does not act"),
        }
    }

    fn begin_interval(&mut self, rank: usize) {
        self.nodes[rank].left = self.rng.usize(0..12);
    }

    /// Does the next access, or fetches for it.
    fn compute(&mut self, rank: usize) {
        if self.nodes[rank].access.is_none() {
            if self.nodes[rank].left == 0 {
                return self.end_interval(rank);
            }
            self.nodes[rank].left -= 1;
            let (len, index) = (self.reference.len(), self.rng.usize(0..self.reference.len()));
            let may_write = self.writers.as_ref().is_none_or(|writers| writers[index] == rank);
            self.nodes[rank].access = Some(match self.rng.usize(..self.one_write_in) == 0 && may_write {
                true => {
                    self.next += 1;
                    Access::Write(index, self.next)
                }
                false => Access::Read(index..len.min(index + self.rng.usize(1..2000))),
            });
        }
        let node = &mut self.nodes[rank];
        let access = node.access.clone().expect("there is one");
        let range = match &access {
            Access::Read(range) => range.clone(),
            Access::Write(index, _) => *index..index + 1,
        };
        if !node.view.has(&range) {
            return self.fetch(rank, range);
        }
        match access {
            Access::Write(index, value) => {
                node.view.twin(&range, &node.scope.opening.site).expect("there is memory");
                node.view.memory_mut().bytes_mut()[index * 3..index * 3 + 3].copy_from_slice(&word(value));
                let syncs = node.syncs;
                self.written[index].push((syncs, rank, value));
            }
            Access::Read(range) => range.for_each(|index| self.check_read(rank, index)),
        }
        self.nodes[rank].access = None;
    }

    fn fetch(&mut self, rank: usize, range: Range<usize>) {
        let Node { kernel, out, view, doing, .. } = &mut self.nodes[rank];
        let mut asked = Vec::new();
        for (owner, pages) in view.absent([range]) {
            kernel
                .with(OBJECT, out, |object: &mut Vector, cx| {
                    if owner == rank {
                        let fill = |page, bytes: &[u8]| view.fill(owner, page, bytes).expect("there is memory");
                        let (paging, core) = object.with::<Paging>();
                        return paging.show_own(core, &pages, fill, cx);
                    }
                    let (paging, core) = object.with::<Paging>();
                    let call = paging.ask(core, (owner, &pages), When::Now, cx)?;
                    asked.push(((owner, pages.clone()), call));
                    Ok(())
                })
                .expect("it lives")
                .expect("it is sound");
        }
        *doing = Doing::Fetches(asked);
    }

    /// A rank reads the value that the last sync has left, its own last write, or a write of another rank meanwhile.
    fn check_read(&self, rank: usize, index: usize) {
        let node = &self.nodes[rank];
        let (found, reference, written) = (
            &node.view.here(index).expect("it was fetched")[index * 3..index * 3 + 3],
            &self.reference[index],
            &self.written[index],
        );
        let is = |value: &u32| word(*value) == found;
        let own = written.iter().rev().find(|(syncs, writer, _)| *writer == rank && *syncs == node.syncs);
        let is_allowed = match (own, &self.writers) {
            (Some((.., value)), _) => is(value),
            (None, Some(_)) if written.is_empty() => reference.iter().any(is),
            _ => reference.iter().chain(written.iter().map(|(.., value)| value)).any(is),
        };
        assert!(is_allowed, "rank {rank} finds {found:?} at {index}, not {reference:?} or {written:?}");
    }

    fn end_interval(&mut self, rank: usize) {
        let Node { kernel, out, view, scope, syncs, doing, .. } = &mut self.nodes[rank];
        let mut on = |action: &mut dyn FnMut(&mut Vector, &mut Cx<'_>) -> Result<()>| {
            kernel.with(OBJECT, out, |object: &mut Vector, cx| action(object, cx)).expect("it lives")
        };
        if *syncs == self.syncs {
            let mut last: Vec<_> = (0..self.words.len()).map(|_| None).collect();
            let flushed = view.take_changes(|changes| {
                let mut changes = Some(changes);
                on(&mut |object, cx| flush_at_end(object, (scope, &mut last), changes.take().expect("once"), cx))
            });
            flushed.expect("it is sound");
            on(&mut |object, cx| {
                end_release(object, scope, None, std::mem::take(&mut last), cx);
                Ok(())
            })
            .expect("it is sound");
            *doing = Doing::Ended;
            return;
        }
        on(&mut |object, cx| {
            let (paging, core) = object.with::<Paging>();
            paging.begin_sync(core, scope.opening.clone(), cx)
        })
        .expect("it is sound");
        let flushed = view.take_changes(|changes| {
            let mut changes = Some(changes);
            on(&mut |object, cx| {
                let (paging, core) = object.with::<Paging>();
                if let Some((work, payload)) = paging.flush(core, changes.take().expect("once"), cx)? {
                    scope::work(object, work, payload, cx);
                }
                Ok(())
            })
        });
        flushed.expect("it is sound");
        let node = &mut self.nodes[rank];
        self.words[rank] = Some(node.on(|object, cx| object.arrive(cx)));
        node.syncs += 1;
        node.doing = Doing::Arrived;
        if self.words.iter().all(Option::is_some) {
            self.close_interval();
        }
    }

    /// All ranks have arrived: from now on they read the values that were written.
    fn close_interval(&mut self) {
        let mut all = Vec::new();
        let mut words: Vec<_> = self.words.iter_mut().filter_map(Option::take).collect();
        while !words.is_empty() {
            let next = self.rng.usize(0..words.len());
            merge_sums(&mut all, &words.swap_remove(next));
        }
        self.merged.fill(Some(all));
        self.settle();
        self.choose_writers();
    }

    fn settle(&mut self) {
        for (reference, written) in self.reference.iter_mut().zip(&mut self.written) {
            let ranks: BTreeSet<usize> = written.iter().map(|(_, rank, _)| *rank).collect();
            let last = |rank| written.iter().rev().find(|(_, writer, _)| *writer == rank).map(|(.., value)| *value);
            if !ranks.is_empty() {
                *reference = ranks.into_iter().filter_map(last).collect();
            }
            written.clear();
        }
    }

    fn choose_writers(&mut self) {
        let (rng, size) = (&mut self.rng, self.nodes.len());
        if let Some(writers) = &mut self.writers {
            writers.iter_mut().for_each(|writer| *writer = rng.usize(0..size));
        }
    }

    /// Checks that the scope is completed on all ranks, and the blocks have the values that were written last.
    fn check_end(&mut self) {
        self.settle();
        let mut at = 0;
        for node in &mut self.nodes {
            assert!(matches!(node.doing, Doing::Ended), "a rank waits for ever");
            let epoch = node.scope.epoch;
            let block = node.on(|object, cx| {
                assert!(
                    cx.is_sound() && object.core().ledger().is_settled(epoch) && object.with::<Paging>().0.is_over()
                );
                assert!(object.core().scopes().parked().len() == 0);
                object.core().block_mut().read(<[u8]>::to_vec).expect("it is here")
            });
            for found in block.as_chunks::<3>().0 {
                assert!(self.reference[at].iter().any(|value| word(*value) == *found), "{found:?} at {at}");
                at += 1;
            }
        }
    }
}

pub(super) fn node(rank: usize, size: usize, dist: &Distribution) -> Node {
    let (mut kernel, mut out, site) = (Kernel::new(Rank::new(rank), size, None), Outbox::default(), Site::here());
    let name = ObjectName { what: "GVector<[u8; 3]>".into(), made_at: site.clone() };
    let own: Vec<Word> = dist.range(Rank::new(rank)).map(|index| word(index as u32)).collect();
    let block = Block::new(Arc::new(Array::from(own)), size_of::<Word>(), None);
    let vector = part::<Word>(&kernel.core, dist.clone(), block, Nodes::apart(size));
    kernel.add(OBJECT, name, vector);
    let opening = Opening::new("Paged", Kind::Page, Rule::EndedInSteps, &site).by(Paging::NUMBER);
    let reason = Reason { action: "Paged", site: None, kind: Kind::Page };
    let entered = kernel.with(OBJECT, &mut out, |object: &mut Vector, cx| object.enter(opening.clone(), cx));
    let epoch = entered.expect("it lives").expect("the same scope");
    let map = PageMap::new(dist, size_of::<Word>(), size);
    let view = View::new(map, (size_of::<Word>(), differ::<Word>), fresh::<Word>, false).expect("there is memory");
    let scope = Entered::new(epoch, opening, reason, size);
    Node { kernel, out, view, scope, doing: Doing::Computes, access: None, left: 0, syncs: 0 }
}

fn programs(count: u64, races: bool) {
    let first =
        std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..1 << 48));
    for seed in first..first + count {
        let run = std::panic::AssertUnwindSafe(|| Simulation::new(seed, races).run());
        std::panic::catch_unwind(run).unwrap_or_else(|_| panic!("replay with SEED={seed}"));
    }
}

#[test]
fn programs_without_races_find_what_was_written() {
    programs(2000, false);
}

#[test]
fn programs_with_races_find_old_or_new_values() {
    programs(500, true);
}
