//! Messages that only another build sends: all ranks get an error, no kernel panics, and none takes memory for them.

use super::message::{Asked, Message, Request};
use super::part::Part;
use crate::epoch::{Opening, Rule};
use crate::error::ObjectName;
use crate::ids::{CallId, ObjectId};
use crate::kernel::Kernel;
use crate::kernel::message::{self, to_object};
use crate::stats::Kind;
use crate::window::Window;
use crate::{Error, Site};
use aurora_net::{Handler, Outbox, Rank, Received};

const OBJECT: ObjectId = ObjectId(1);

type Words = Part<String, u64>;

/// Rank 0 of two with a map, in which a scope is open.
fn rank() -> (Kernel, Outbox) {
    let (mut kernel, mut out) = (Kernel::new(Rank::new(0), 2, None), Outbox::default());
    let name = ObjectName { what: "GMap<String, u64>".into(), made_at: Site::here() };
    kernel.add(OBJECT, name, Words::new((Rank::new(0), 2), false));
    let entered = kernel.with(OBJECT, &mut out, |part: &mut Words, cx| part.enter(opening(), cx));
    entered.expect("it lives").expect("nothing else is open");
    (kernel, out)
}

fn opening() -> Opening {
    Opening::new("ReleaseC", Kind::Flush, Rule::Ended, &Site::here())
}

/// The fault of the job, and how many entries there are, after a message.
fn after(header: &[u8], payload: Vec<u8>) -> (Option<Error>, usize) {
    let (mut kernel, mut out) = rank();
    kernel.deliver(Rank::new(1), header, Received::Bytes(payload), &mut out);
    assert_eq!(kernel.core.fault.is_some(), out.drain().next().is_some(), "the other rank is told, of a fault alone");
    let len = kernel.with(OBJECT, &mut out, |part: &mut Words, _| part.own.as_ref().map_or(0, |own| own.len()));
    (kernel.core.fault.clone(), len.expect("it lives"))
}

fn batch() -> Vec<u8> {
    to_object(OBJECT, &Message::End { epoch: 1, opening: opening(), batches: 1, time: None }).expect("short")
}

/// A word that rank 0 owns, as a write.
fn write(is_put: u8) -> Vec<u8> {
    let words = (0..).map(|number| format!("word {number}"));
    let mut own = words.filter(|word| super::key::owner_of(super::key::hash_of(word), 2) == Rank::new(0));
    let word = postcard::to_allocvec(&own.next()).expect("plain data");
    // Without the byte of the `Option`.
    [&[is_put], &word[1..], &7u64.to_le_bytes()].concat()
}

#[test]
fn a_batch_that_is_none() {
    assert!(matches!(after(&batch(), write(1)), (None, 1)));
    assert!(matches!(after(&batch(), [write(1), write(0)].concat()), (None, 1)));
    let whole = write(1);
    let bad = [vec![2], vec![1], vec![1, 255, 255, 255, 255, 255, 255], vec![1, 2, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0]];
    for payload in (1..whole.len()).map(|len| whole[..len].to_vec()).chain(bad).chain([write(9)]) {
        let (fault, len) = after(&batch(), payload.clone());
        assert!(matches!(fault, Some(Error::Start(_))) && len == 0, "{payload:?}: {fault:?}");
    }
}

#[test]
fn a_header_that_is_none() {
    let part = opening().of(Window::of(&(0..3), 10));
    let headers = [
        to_object(OBJECT, &Message::Batch { epoch: 1, seq: 0, opening: part.clone(), notes: false }),
        to_object(OBJECT, &Message::End { epoch: 1, opening: part.clone(), batches: 0, time: None }),
        to_object(OBJECT, &77u8),
        message::request(OBJECT, CallId(1), false, &77u8),
    ];
    let dropped = message::Message::Dropped { object: OBJECT };
    let dropped = dropped.encode(&postcard::to_allocvec(&(1u64, Some(part))).expect("plain data"));
    for header in headers.into_iter().map(|header| header.expect("short")).chain([dropped]) {
        assert!(matches!(after(&header, Vec::new()), (Some(Error::Start(_)), 0)), "{header:?}");
    }
    // A batch that comes with an end is counted there.
    let none =
        to_object(OBJECT, &Message::End { epoch: 1, opening: opening(), batches: 0, time: None }).expect("short");
    assert!(matches!(after(&none, write(1)), (Some(Error::Start(_)), 0)));
}

/// A request with a bad payload is answered with an error: its sender may have a type that it encodes otherwise.
#[test]
fn a_request_that_is_none() {
    for request in [
        Request::Get { keys: u32::MAX },
        Request::Contains { keys: 2 },
        Request::Insert,
        Request::Remove,
        Request::Update(crate::element::OpId::of::<crate::Add>()),
    ] {
        for payload in [vec![], vec![255; 20], write(1)[1..4].to_vec()] {
            let (mut kernel, mut out) = rank();
            let asked = Asked { epoch: 0, request, origin: None };
            let header = message::request(OBJECT, CallId(1), false, &asked).expect("short");
            kernel.deliver(Rank::new(1), &header, Received::Bytes(payload), &mut out);
            assert!(kernel.core.fault.is_none() && kernel.objects[&OBJECT].frame.fault.is_none(), "{request:?}");
            assert!(out.drain().next().is_some(), "{request:?} is answered");
        }
    }
    let asked = Asked { epoch: 0, request: Request::Scan { from: (u32::MAX, u32::MAX) }, origin: None };
    let header = message::request(OBJECT, CallId(1), false, &asked).expect("short");
    let (mut kernel, mut out) = rank();
    kernel.deliver(Rank::new(1), &header, Received::Bytes(Vec::new()), &mut out);
    assert!(kernel.core.fault.is_none() && out.drain().next().is_some());
}
