//! Messages that only another build sends: all ranks get an error, no kernel panics, and none takes memory for them.

use super::Kernel;
use super::Reason;
use super::nodes::Nodes;
use crate::behaviour::accumulate::folds::Folds;
use crate::behaviour::halo::Halo;
use crate::behaviour::halo::edges::{Edges, Exchange};
use crate::behaviour::halo::message::HaloMessage;
use crate::behaviour::read_cache::arrival::Announced;
use crate::behaviour::read_cache::protocol::{Load, LoadMessage};
use crate::distribution::{Distribution, Shape};
use crate::ids::{CallId, ObjectId};
use crate::kernel::message::{self, to_object};
use crate::memory::Array;
use crate::registry::part;
use crate::scope::{Opening, Rule, ScopeMessage, Served};
use crate::vector::block::Block;
use crate::vector::machine::Vector;
use crate::vector::message::{Asked, Request, SCOPES, Written};
use crate::vector::protocol::Numbered;
use crate::window::Window;
use crate::{Error, Kind, ObjectName, Site};
use aurora_net::{Handler, Outbox, Placement, Rank, Received};
use serde::Serialize;
use std::ops::Range;
use std::sync::Arc;

const OBJECT: ObjectId = ObjectId(1);
const LEN: usize = 10;

/// Rank 0 of two.
fn rank() -> (Kernel, Outbox) {
    rank_of(2)
}

fn rank_of(size: usize) -> (Kernel, Outbox) {
    let mut kernel = Kernel::new(Rank::new(0), size, None);
    let name = ObjectName { what: "GVector<u64>".into(), made_at: Site::here() };
    let dist = Distribution::block(Shape::Vector(LEN), size);
    let block = Array::<u64>::zeroed(dist.range(Rank::new(0)).len()).expect("there is memory");
    let block = Block::new(Arc::new(block), size_of::<u64>(), None);
    let machine = part::<u64>(&kernel.core, dist, block, Nodes::apart(size));
    kernel.add(OBJECT, name, machine);
    (kernel, Outbox::default())
}

fn deliver(state: &mut (Kernel, Outbox), header: &[u8], payload: Vec<u8>) {
    let (kernel, out) = state;
    kernel.deliver(Rank::new(1), header, Received::Bytes(payload), out);
}

/// The header of a message to the vector.
fn header(message: &impl Serialize) -> Vec<u8> {
    to_object(OBJECT, message).expect("short")
}

fn of_load(message: LoadMessage) -> Vec<u8> {
    header(&Load::header(message))
}

fn of_scope(message: ScopeMessage<Written>) -> Vec<u8> {
    header(&(SCOPES, message))
}

fn vector<R>(kernel: &mut Kernel, look: impl FnOnce(&mut Vector) -> R) -> R {
    let looked = kernel.with(OBJECT, &mut Outbox::default(), |vector: &mut Vector, _| look(vector));
    looked.expect("it lives")
}

fn opening(rule: Rule, window: Window) -> Opening {
    Opening::new("Scope", Kind::Control, rule, &Site::here()).of(window)
}

fn enter(window: Window, marks: Vec<(u32, u64)>) -> Vec<u8> {
    let announced = Announced { marks, ..Announced::default() };
    of_load(LoadMessage::Enter { epoch: 1, opening: opening(Rule::Announced, window), announced })
}

#[test]
fn a_part_that_is_not_there() {
    for window in [Range { start: 5, end: 3 }, 0..LEN + 1, LEN + 1..LEN + 1, Range { start: usize::MAX, end: 0 }] {
        let window = Window::of(&window, LEN);
        let call = |request| {
            message::request(OBJECT, CallId(1), false, &Asked { epoch: 0, request, stamp: None }).expect("short")
        };
        let release = opening(Rule::Ended, window);
        let messages = [
            enter(window, Vec::new()),
            of_scope(ScopeMessage::Batch { epoch: 1, seq: 0, opening: release.clone(), batch: Written::Values }),
            of_scope(ScopeMessage::End { epoch: 1, opening: release.clone(), batches: 0, last: None, time: None }),
            message::Message::Dropped { object: OBJECT }
                .encode(&postcard::to_allocvec(&(1u64, Some(release))).expect("plain data")),
            call(Request::ReadMany { width: 4, window }),
            call(Request::Write { op: None, window }),
            call(Request::Ended { number: 1, window }),
        ];
        for message in messages {
            let mut state = rank();
            assert!(matches!(state.0.place(Rank::new(1), &message, 8), Placement::Buffer), "{message:?}");
            deliver(&mut state, &message, Vec::new());
            assert!(matches!(state.0.core.fault, Some(Error::Start(_))), "{message:?}: {:?}", state.0.core.fault);
            assert!(state.1.drain().next().is_some(), "the other rank is told");
        }
    }
}

#[test]
fn a_partial_copy_that_is_not_there() {
    let mut state = rank();
    let opening = opening(Rule::Ended, Window::WHOLE).with_op::<crate::ops::Sum>();
    let end = ScopeMessage::End { epoch: 1, opening, batches: 1, last: Some(Folds::BATCH), time: None };
    deliver(&mut state, &of_scope(end), Vec::new());
    assert!(matches!(state.0.core.fault, Some(Error::Start(_))), "{:?}", state.0.core.fault);
}

/// Headers, batches and requests of protocols that do not exist, or that have no such message.
#[test]
fn protocols_that_are_not_there() {
    let opening = opening(Rule::Ended, Window::WHOLE);
    let batch = |number| {
        of_scope(ScopeMessage::Batch { epoch: 1, seq: 0, opening: opening.clone(), batch: Written::Of(number) })
    };
    let folds = header(&Folds::header(0u8));
    for message in [header(&9u8), header(&(u8::MAX, 7u64)), folds, batch(0), batch(Load::NUMBER), batch(9)] {
        let mut state = rank();
        assert!(matches!(state.0.place(Rank::new(1), &message, 8), Placement::Buffer), "{message:?}");
        deliver(&mut state, &message, Vec::new());
        assert!(matches!(state.0.core.fault, Some(Error::Start(_))), "{message:?}: {:?}", state.0.core.fault);
    }
    for protocol in [0, Load::NUMBER, Edges::NUMBER, 9] {
        let mut state = rank();
        let asked = Asked { epoch: 0, request: Request::Of { protocol, number: 1 }, stamp: None };
        deliver(&mut state, &message::request(OBJECT, CallId(1), false, &asked).expect("short"), Vec::new());
        let answer = state.1.drain().next().expect("it is answered at once");
        let header = message::Header::decode(&answer.header);
        assert!(matches!(header, Some(message::Header::Reply { refused: true, .. })), "protocol {protocol}");
        assert!(vector(&mut state.0, |vector| vector.core().scopes().parked().len() == 0));
    }
}

/// The tag of a loan leads its bytes to the protocol that has made it.
#[test]
fn loans_of_two_protocols() {
    let (mut kernel, mut out) = rank();
    let load = enter(Window::WHOLE, Vec::new());
    let entry = Some((opening(Rule::Neighbours, Window::WHOLE).with(" (1)"), Halo::periodic(1)));
    let edge = header(&Edges::header(HaloMessage { epoch: 2, number: 0, entry, mailbox: false, at: None }));
    let mut place = |header: &[u8], len| match kernel.place(Rank::new(1), header, len) {
        Placement::At(token) => token,
        _ => panic!("a block or an edge goes where it belongs"),
    };
    let (block, around) = (place(&load, 5 * size_of::<u64>()), place(&edge, 2 * size_of::<u64>()));
    kernel.write(around, 0, &[2; 16]);
    kernel.write(block, 0, &[1; 40]);
    for (header, token) in [(&load, block), (&edge, around)] {
        kernel.deliver(Rank::new(1), header, Received::Placed(token), &mut out);
        assert!(kernel.core.fault.is_none() && kernel.objects[&OBJECT].frame.fault.is_none());
    }
    let entered = |kernel: &mut Kernel, out: &mut Outbox, opening: Opening| {
        let epoch = kernel.with(OBJECT, out, |vector: &mut Vector, cx| vector.enter(opening, cx));
        epoch.expect("it lives").expect("the same scope")
    };
    let site = Site::here();
    let of_load = opening(Rule::Announced, Window::WHOLE).by(Load::NUMBER);
    let epoch = entered(&mut kernel, &mut out, of_load);
    let loaded = kernel.with(OBJECT, &mut out, |vector: &mut Vector, cx| {
        let (load, core) = vector.with::<Load>();
        load.poll_loaded(core, epoch, &site, cx)
    });
    let loaded = loaded.expect("it lives").expect("both blocks are here").expect("there is memory");
    assert_eq!(loaded.part.bytes(), [[0; 40], [1; 40]].concat());
    entered(&mut kernel, &mut out, opening(Rule::Neighbours, Window::WHOLE).with(" (1)").by(Edges::NUMBER));
    let shown = kernel.with(OBJECT, &mut out, |vector: &mut Vector, cx| {
        let (edges, core) = vector.with::<Edges>();
        let reason = Reason { action: "HaloCache", site: None, kind: Kind::Halo };
        edges.push(core, Exchange { epoch: 2, number: 0 }, None, (&reason, &site), cx).expect("it is sound");
        edges.poll(core, cx)
    });
    let shown = shown.expect("it lives").expect("the edge is here").expect("it is sound");
    assert_eq!((shown.array.bytes(), shown.reach), (&[2; 16][..], (1, 1)));
}

#[test]
fn lists_of_loads_that_nobody_can_have_entered() {
    let mut state = rank();
    let list = postcard::to_allocvec(&vec![(0u32, 1u64)]).expect("pairs of numbers");
    let records = |state: &mut (Kernel, Outbox)| {
        vector(&mut state.0, |vector| (0..1000).filter(|of| vector.with::<Load>().0.has(*of)).count())
    };
    // A rank may be two loads ahead, and its first message may arrive last.
    for epoch in [7, 9] {
        deliver(&mut state, &of_load(LoadMessage::Made { epoch }), list.clone());
    }
    assert!(state.0.core.fault.is_none() && records(&mut state) == 2);
    for epoch in 10..1000 {
        deliver(&mut state, &of_load(LoadMessage::Made { epoch }), list.clone());
    }
    assert!(matches!(state.0.core.fault, Some(Error::Start(_))) && records(&mut state) == 2);
}

#[test]
fn a_list_that_comes_twice() {
    let mut state = rank();
    let list = postcard::to_allocvec(&vec![(0u32, 1u64)]).expect("pairs of numbers");
    deliver(&mut state, &of_load(LoadMessage::Made { epoch: 1 }), list.clone());
    assert!(state.0.core.fault.is_none());
    deliver(&mut state, &of_load(LoadMessage::Made { epoch: 1 }), list);
    assert!(matches!(state.0.core.fault, Some(Error::Start(_))));
}

#[test]
fn the_correction_of_a_load_that_we_have_not_entered() {
    let empty = crate::vector::batch::batch_of(&[], size_of::<u64>(), &[]);
    let correct = |epoch| of_load(LoadMessage::Correct { epoch, version: 2, writes: 1 });
    let mut state = rank();
    deliver(&mut state, &correct(1), empty.clone());
    assert!(
        matches!(state.0.core.fault, Some(Error::Start(_)))
            && vector(&mut state.0, |vector| vector.core().ledger().find(1).is_none())
    );
    // A message for a load that has ended is too late, and changes nothing.
    let mut state = rank();
    vector(&mut state.0, |vector| vector.core().ledger_mut().epoch = 1);
    deliver(&mut state, &correct(1), empty);
    assert!(state.0.core.fault.is_none() && vector(&mut state.0, |vector| vector.core().ledger().find(1).is_none()));
}

#[test]
fn a_write_that_nobody_has_applied() {
    let load = |marks| {
        let mut state = rank();
        let (kernel, out) = &mut state;
        let load = opening(Rule::Announced, Window::WHOLE).by(Load::NUMBER);
        let entered = kernel.with(OBJECT, out, |vector: &mut Vector, cx| vector.enter(load, cx));
        entered.expect("it lives").expect("no fault");
        deliver(&mut state, &enter(Window::WHOLE, marks), Vec::new());
        let fault = state.0.objects[&OBJECT].frame.fault.clone();
        (vector(&mut state.0, |vector| vector.core().ledger().is_settled(1)), fault)
    };
    assert!(matches!(load(Vec::new()), (true, None)));
    assert!(matches!(load(vec![(0, 1)]), (_, Some(Error::Start(_)))));
}

#[test]
fn pieces_of_calls_that_nobody_can_have_come_to() {
    for (seqs, fails) in
        [(vec![1], false), (vec![1, 1], true), (vec![2], true), (vec![u64::MAX], true), (vec![0], false)]
    {
        let mut state = rank();
        seqs.iter().for_each(|seq| {
            deliver(&mut state, &message::Message::Piece { seq: *seq, step: 0 }.encode(&[]), vec![1; 100])
        });
        assert_eq!(matches!(state.0.core.fault, Some(Error::Start(_))), fails, "{seqs:?}: {:?}", state.0.core.fault);
    }
}

/// These ranks have the same build but disagree: both edges are on their way before either has arrived completely.
#[test]
fn edges_of_different_halos_beside_each_other() {
    let (mut kernel, mut out) = rank_of(3);
    let edge = |width| {
        let entry = opening(Rule::Neighbours, Window::WHOLE).with(format!(" ({width})"));
        let entry = Some((entry, Halo::periodic(width)));
        header(&Edges::header(HaloMessage { epoch: 1, number: 0, entry, mailbox: false, at: None }))
    };
    let mut begin = |from, width: usize| match kernel.place(Rank::new(from), &edge(width), 8 * width) {
        Placement::At(token) => (Rank::new(from), edge(width), token),
        _ => panic!("an edge goes where it belongs, or nowhere"),
    };
    let (first, second) = (begin(1, 2), begin(2, 1));
    for (from, header, token) in [second, first] {
        kernel.deliver(from, &header, Received::Placed(token), &mut out);
        assert!(kernel.core.fault.is_none(), "{:?}", kernel.core.fault);
    }
    assert!(matches!(kernel.objects[&OBJECT].frame.fault, Some(Error::Mismatch { .. })));
}

/// Ranks load different parts as one scope: both blocks are on their way before either has arrived completely.
#[test]
fn blocks_of_different_loads_beside_each_other() {
    let (mut kernel, mut out) = rank_of(3);
    let headers = [Window::WHOLE, Window::of(&(5..LEN), LEN)].map(|window| enter(window, Vec::new()));
    let mut begin = |from: usize, header: &[u8]| match kernel.place(Rank::new(from), header, 3 * size_of::<u64>()) {
        Placement::At(token) => token,
        _ => panic!("a block goes where it belongs, or nowhere"),
    };
    let tokens = [begin(1, &headers[0]), begin(2, &headers[1])];
    for token in tokens {
        kernel.write(token, 0, &[1; 24]);
    }
    for (from, (header, token)) in (1..).zip(headers.iter().zip(tokens)) {
        kernel.deliver(Rank::new(from), header, Received::Placed(token), &mut out);
        assert!(kernel.core.fault.is_none(), "{:?}", kernel.core.fault);
    }
    assert!(matches!(kernel.objects[&OBJECT].frame.fault, Some(Error::Mismatch { .. })));
}
