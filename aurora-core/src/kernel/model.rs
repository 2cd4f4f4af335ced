//! The state machine behind guards, in every order of calls and messages: the gate, lending, parking, the split end.
//!
//! All of it runs under one lock, so only the order in which threads take the lock can differ. Loom tries every order
//! of two threads that drive the real [`Kernel`]. The first makes the calls of a guard, and holds the memory between
//! the calls. The second is the endpoint, which delivers the messages of rank 1 and sends lent memory. Only waiting
//! differs from the real program: a waiting thread retries in a loop. Accesses to shared memory without the lock have
//! models of their own (`memory/gate.rs`, `memory/latch.rs`, `memory/word.rs`).

use super::nodes::Nodes;
use super::watch::Blocked;
use super::{Kernel, Reason};
use crate::behaviour::release::end::{LastBatch, end_release};
use crate::distribution::{Distribution, Shape};
use crate::ids::{CallId, ObjectId};
use crate::kernel::message::{Header, request, to_object};
use crate::memory::{Array, typed};
use crate::object::{Cx, GuardId};
use crate::registry::part;
use crate::scope::{Entered, Opening, Rule, ScopeMessage, Served};
use crate::vector::asking::GATE;
use crate::vector::batch::BatchBuilder;
use crate::vector::block::Block;
use crate::vector::machine::Vector;
use crate::vector::message::{Asked, Request, SCOPES, Written};
use crate::window::Window;
use crate::{Kind, ObjectName, Site};
use aurora_net::{Buffer, Handler, Outbox, Payload, Rank, Received, Token};
use loom::sync::{Arc, Mutex, MutexGuard};
use loom::thread;
use std::collections::BTreeMap;

const OBJECT: ObjectId = ObjectId(1);
const ME: usize = 0;
const OTHER: usize = 1;
/// A number of elements of our block that is answered from a copy.
const FEW: usize = 2;
/// A number of elements that is sent from the block itself.
const MANY: usize = 2100;

/// A rank under its lock.
struct Node {
    state: Mutex<(Kernel, Outbox)>,
    len: usize,
    site: Site,
}

/// The answers to rank 1's requests, by request number, and the lent memory that is to be sent.
#[derive(Default)]
struct Answers {
    read: BTreeMap<u64, Vec<u8>>,
    sending: Vec<(u64, Token, usize)>,
}

impl Node {
    /// A block of ones, of a vector of twice its length.
    fn new(len: usize) -> Arc<Self> {
        let (mut kernel, site) = (Kernel::new(Rank::new(ME), 2, None), Site::here());
        let mut block = Array::<u64>::zeroed(len).expect("there is memory");
        block.fill(1);
        let name = ObjectName { what: "GVector<u64>".into(), made_at: site.clone() };
        let dist = Distribution::block(Shape::Vector(2 * len), 2);
        let block = Block::new(std::sync::Arc::new(block), size_of::<u64>(), None);
        let machine = part::<u64>(&kernel.core, dist, block, Nodes::apart(2));
        kernel.add(OBJECT, name, machine);
        Arc::new(Node { state: Mutex::new((kernel, Outbox::default())), len, site })
    }

    fn lock(&self) -> MutexGuard<'_, (Kernel, Outbox)> {
        self.state.lock().expect("nobody has panicked under it")
    }

    fn act<R>(&self, action: impl FnOnce(&mut Kernel, &mut Outbox) -> R) -> R {
        let (kernel, out) = &mut *self.lock();
        action(kernel, out)
    }

    fn on<R>(&self, action: impl FnOnce(&mut Vector, &mut Cx<'_>) -> R) -> R {
        self.act(|kernel, out| kernel.with(OBJECT, out, action)).expect("it lives")
    }

    fn wait<R>(&self, mut condition: impl FnMut(&mut Vector, &mut Cx<'_>) -> Option<R>) -> R {
        loop {
            if let Some(outcome) = self.on(&mut condition) {
                return outcome;
            }
            thread::yield_now();
        }
    }

    fn open(&self, behaviour: &'static str, how: (bool, bool)) -> GuardId {
        self.on(|object, cx| {
            let guard = cx.open_guard((behaviour, &self.site), how, Window::WHOLE);
            object.core().refresh_permit(cx);
            guard
        })
    }

    fn close(&self, guard: GuardId) {
        self.on(|object, cx| {
            cx.close_guard(guard, false);
            object.core().retry();
        });
    }

    fn deliver(&self, header: &[u8], payload: Vec<u8>) {
        self.act(|kernel, out| kernel.deliver(Rank::new(OTHER), header, Received::Bytes(payload), out));
    }

    /// Rank 1, which has entered `epoch` scopes, asks for the whole block.
    fn ask(&self, id: u64, epoch: u64) {
        self.request(id, epoch, Request::Read { start: 0, len: self.len as u64, owners: 1 }, Vec::new());
    }

    /// Rank 1 sets the whole block.
    fn set(&self, id: u64, value: u64) {
        let values = vec![value; self.len];
        self.request(id, 0, Request::WriteAt { start: 0 }, bytemuck::cast_slice(&values).to_vec());
    }

    fn request(&self, id: u64, epoch: u64, asked: Request, payload: Vec<u8>) {
        let asked = Asked { epoch, request: asked, stamp: None };
        self.deliver(&request(OBJECT, CallId(id), false, &asked).expect("short"), payload);
    }

    fn take_answers(&self, answers: &mut Answers) {
        let sent: Vec<_> = self.act(|_, out| out.drain().collect());
        for transfer in sent {
            let Some(Header::Reply { id, refused: false }) = Header::decode(&transfer.header) else {
                continue;
            };
            match transfer.payload {
                Payload::Lent { token, len } => answers.sending.push((id.0, token, len)),
                Payload::Bytes(bytes) => drop(answers.read.insert(id.0, bytes.to_vec())),
                _ => drop(answers.read.insert(id.0, Vec::new())),
            }
        }
    }

    /// Sends lent memory, in two packets, and acknowledges it.
    fn send(&self, answers: &mut Answers) {
        for (id, token, len) in std::mem::take(&mut answers.sending) {
            let mut bytes = vec![0; len];
            let (first, second) = bytes.split_at_mut(len / 2);
            let read = |at, into: &mut [u8]| {
                assert!(self.act(|kernel, _| kernel.read(token, at, into)), "a loan stays until it is acknowledged");
            };
            read(0, first);
            read(len / 2, second);
            self.act(|kernel, out| kernel.released(token, out));
            answers.read.insert(id, bytes);
        }
    }
}

/// Runs the endpoint in a thread of its own.
fn beside<R: 'static>(node: &Arc<Node>, endpoint: impl FnOnce(&Node) -> R + 'static) -> thread::JoinHandle<R> {
    let node = node.clone();
    thread::spawn(move || endpoint(&node))
}

/// The value that all elements have: a half-written block has two.
fn uniform(bytes: &[u8]) -> u64 {
    let values: Vec<u64> = bytes.chunks_exact(8).map(bytemuck::pod_read_unaligned).collect();
    assert!(
        values.iter().all(|value| *value == values[0]),
        "half of a phase is seen: {} and {}",
        values[0],
        values[values.len() - 1]
    );
    values[0]
}

/// The steps of [`OwnerComputesMut`](crate::OwnerComputesMut): opens, passes the gate, takes the block, gives it back.
fn write_by_a_guard(node: &Node) {
    node.wait(|object, cx| object.core().scopes_mut().poll_usable(true, Window::WHOLE, cx)).expect("no fault");
    node.wait(|object, cx| object.core().poll_exclusive(Window::WHOLE, cx)).expect("no fault");
    let guard = node.open("OwnerComputes", (true, false));
    let block = node.on(|object, _| object.core().take_part(&(0..node.len))).expect("one write guard at a time");
    let mut block = std::sync::Arc::try_unwrap(typed::<u64>(block)).unwrap_or_else(|shared| Array::clone(&shared));
    let half = block.len() / 2;
    block[..half].fill(2);
    thread::yield_now();
    block[half..].fill(2);
    node.on(|object, _| object.core().block_mut().give_back(std::sync::Arc::new(block)));
    node.close(guard);
}

/// A wrong guard: it writes in two steps without taking the block.
fn write_without_lending(node: &Node) {
    for half in [0..node.len / 2, node.len / 2..node.len] {
        node.wait(|object, cx| object.core().poll_writable(Window::WHOLE, cx)).expect("no fault");
        node.on(|object, _| {
            object.core().block_mut().write(|bytes| bytemuck::cast_slice_mut::<_, u64>(bytes)[half].fill(2));
        });
    }
}

/// A wrong guard: it takes the block while transfers read it.
fn write_under_transfers(node: &Node) {
    let guard = node.open("OwnerComputes", (true, false));
    let block = node.on(|object, _| object.core().block_mut().take());
    if let Some(block) = block {
        thread::yield_now();
        node.on(|object, _| object.core().block_mut().give_back(block));
    }
    node.close(guard);
}

/// The steps of [`OwnerComputes`](crate::OwnerComputes): shows the block, which does not change meanwhile.
fn read_by_a_guard(node: &Node) {
    node.wait(|object, cx| object.core().scopes_mut().poll_usable(false, Window::WHOLE, cx)).expect("no fault");
    let guard = node.open("OwnerComputes", (false, false));
    let shown = node.on(|object, _| object.core().block_mut().share());
    let shown = typed::<u64>(shown.expect("no write guard together with a shared one"));
    let before = uniform(bytemuck::cast_slice(&shown));
    thread::yield_now();
    assert_eq!(uniform(bytemuck::cast_slice(&shown)), before, "it has changed under a guard");
    drop(shown);
    node.close(guard);
}

/// Runs `program` while a rank reads and writes. Every request is answered, and no answer is of half a phase.
fn beside_requests(len: usize, program: fn(&Node)) {
    loom::model(move || {
        let node = Node::new(len);
        let endpoint = beside(&node, |node| {
            let mut answers = Answers::default();
            node.ask(1, 0);
            node.take_answers(&mut answers);
            node.send(&mut answers);
            node.set(2, 3);
            answers
        });
        program(&node);
        let mut answers = endpoint.join().expect("it has not panicked");
        node.take_answers(&mut answers);
        node.send(&mut answers);
        // The answers that have waited for that.
        node.take_answers(&mut answers);
        assert_eq!(answers.read.keys().copied().collect::<Vec<_>>(), [1, 2], "parked requests are answered");
        assert!([1, 2, 3].contains(&uniform(&answers.read[&1])));
        node.on(|object, cx| {
            assert!(
                object.core().scopes_mut().parked().len() == 0
                    && cx.open_guards().is_empty()
                    && !object.core().block_mut().is_lent()
            );
            assert!(!object.core().block_mut().is_in_flight());
            assert!([1, 2, 3].contains(&uniform(object.core().block_mut().bytes().expect("it is back"))));
        });
    });
}

#[test]
fn a_guard_that_writes_is_never_seen_halfway() {
    beside_requests(FEW, write_by_a_guard);
    beside_requests(MANY, write_by_a_guard);
}

#[test]
fn what_a_guard_shows_stays_as_it_is() {
    beside_requests(FEW, read_by_a_guard);
    beside_requests(MANY, read_by_a_guard);
}

#[test]
#[should_panic]
fn a_guard_that_lends_nothing_is_found_out() {
    beside_requests(FEW, write_without_lending);
}

#[test]
#[should_panic]
fn a_guard_that_takes_the_block_from_transfers_is_found_out() {
    beside_requests(MANY, write_under_transfers);
}

/// A batch with one element of our block.
fn batch(place: usize, value: u64) -> Buffer {
    let mut batch = BatchBuilder::new(FEW);
    batch.open(Buffer::own(vec![0; batch.wanted()]));
    batch.push(place, value);
    batch.take()
}

/// Both ranks write to our block in a ReleaseC. Rank 1 has `entered` this many scopes, and asks for the block. The
/// program ends its scope without waiting, and its next use of the vector waits.
fn split_end(entered: u64) {
    loom::model(move || {
        let node = Node::new(FEW);
        let opening = Opening::new("ReleaseC", Kind::Flush, Rule::Ended, &node.site);
        let end = ScopeMessage::End {
            epoch: 1,
            opening: opening.clone(),
            batches: 1,
            last: Some(Written::Values),
            time: None,
        };
        let endpoint = beside(&node, move |node| {
            node.ask(1, entered);
            node.deliver(&to_object(OBJECT, &(SCOPES, end)).expect("short"), batch(1, 5).into());
        });
        let epoch = node.on(|object, cx| object.enter(opening.clone(), cx)).expect("the same scope");
        let guard = node.open("ReleaseC", (true, true));
        node.on(|object, _| object.core().retry());
        let reason = Reason { action: "ReleaseC", site: None, kind: Kind::Flush };
        let mut scope = Entered::new(epoch, opening, reason, 2);
        let last = vec![Some(LastBatch { batch: Written::Values, bytes: batch(0, 5) }), None];
        node.on(|object, cx| end_release(object, &mut scope, None, last, cx));
        node.close(guard);
        let own = node.wait(|object, cx| {
            object.core().scopes_mut().poll_usable(false, Window::WHOLE, cx)?.expect("no fault");
            object.core().block_mut().read(uniform)
        });
        assert_eq!(own, 5, "all writes are seen after the scope");
        endpoint.join().expect("it has not panicked");
        let mut answers = Answers::default();
        node.take_answers(&mut answers);
        assert_eq!(uniform(&answers.read[&1]), 5, "also by the others");
    });
}

#[test]
fn an_end_that_is_split_is_whole_for_all() {
    split_end(1);
}

#[test]
#[should_panic]
fn who_has_not_entered_the_scope_may_see_half_of_it() {
    split_end(0);
}

/// Long reads that overlap, so that one is always under way, keep no write waiting.
#[test]
fn a_write_does_not_wait_for_reads_that_come_after_it() {
    loom::model(|| {
        let (node, mut answers) = (Node::new(MANY), Answers::default());
        let under_way = |answers: &mut Answers| {
            node.take_answers(answers);
            answers.sending.iter().map(|(id, ..)| *id).collect::<Vec<_>>()
        };
        // A write of another rank.
        node.ask(1, 0);
        node.set(2, 3);
        node.ask(3, 0);
        assert_eq!(under_way(&mut answers), [1], "the later read has a copy");
        assert_eq!(uniform(&answers.read[&3]), 1);
        node.send(&mut answers);
        node.ask(4, 0);
        assert_eq!(under_way(&mut answers), [4], "nothing waits any more");
        assert!(answers.read[&2].len() == size_of::<u64>(), "it is written");
        // A write of the owner.
        let gate = Blocked::Object(OBJECT, GATE);
        node.act(|kernel, _| kernel.core.watch.begin(kernel.core.clock.now(), gate, &node.site));
        for id in [5, 6] {
            node.ask(id, 0);
            assert_eq!(under_way(&mut answers), [4]);
            assert_eq!(uniform(&answers.read[&id]), 3);
        }
        node.send(&mut answers);
        assert!(node.on(|object, cx| object.core().poll_writable(Window::WHOLE, cx)).is_some_and(|gate| gate.is_ok()));
    });
}
