//! Messages and requests about pages that no rank of this build sends: each is refused, and takes no memory.

use super::message::PagesMessage;
use super::protocol::Paging;
use super::tests::{Node, OBJECT, node};
use crate::Error;
use crate::distribution::{Distribution, Shape};
use crate::ids::CallId;
use crate::kernel::message::{Header, request, to_object};
use crate::object::SharedObject;
use crate::vector::batch::batch_of_runs;
use crate::vector::message::{Asked, Request};
use crate::vector::protocol::Numbered;
use aurora_net::{Handler, Rank, Received};

/// Rank 0 of two in a scope of pages. Each has a block of two pages and a bit.
fn of_two() -> Node {
    node(0, 2, &Distribution::block(Shape::Vector(6000), 2))
}

fn deliver(node: &mut Node, message: PagesMessage, payload: &[u8]) {
    let header = to_object(OBJECT, &Paging::header(message)).expect("short");
    node.kernel.deliver(Rank::new(1), &header, Received::Bytes(payload.to_vec()), &mut node.out);
}

/// A batch that sets an element of the first block.
fn batch(place: usize) -> Vec<u8> {
    batch_of_runs(3000, 3, [(place..place + 1, &[7; 3][..])].into_iter())
}

#[test]
fn messages_that_no_rank_of_this_build_sends() {
    use PagesMessage::{Flush, Push};
    let (good, no_batch) = (batch(2999), vec![1, 2, 3]);
    let mut outside = batch(2999);
    let last = outside.len() - 8;
    outside[last] = 0xff;
    let messages = [
        (Flush { epoch: 2, sync: 1 }, &good),
        (Flush { epoch: 1, sync: 0 }, &good),
        (Flush { epoch: 1, sync: 3 }, &good),
        (Flush { epoch: 1, sync: u64::MAX }, &good),
        (Flush { epoch: 1, sync: 1 }, &no_batch),
        (Flush { epoch: 1, sync: 1 }, &outside),
        // This rank is in no sync.
        (Push { epoch: 1, sync: 1, parts: 1 }, &good),
        (Push { epoch: 1, sync: 0, parts: 0 }, &good),
        (Push { epoch: 1, sync: 0, parts: 1 }, &good),
    ];
    for (message, payload) in messages {
        let mut node = of_two();
        let words = format!("{message:?}");
        deliver(&mut node, message, payload);
        let object = node.on(|_, cx| cx.sound().err());
        let fault = node.kernel.core.fault.clone().or(object);
        assert!(matches!(fault, Some(Error::Start(_))), "{words}: {fault:?}");
        assert!(node.out.drain().next().is_some(), "{words}: the other rank is told");
    }
    // A batch that fits is applied.
    let mut node = of_two();
    deliver(&mut node, Flush { epoch: 1, sync: 1 }, &good);
    assert_eq!(
        node.on(|object, cx| (cx.is_sound(), object.core().block_mut().read(|block| block[8997]))),
        (true, Some(7))
    );
}

#[test]
fn pushes_that_are_too_many_or_fit_no_block() {
    let mut node = of_two();
    node.on(|object, cx| object.arrive(cx));
    for (parts, sound) in [(0, true), (3, true), (0, true), (0, false)] {
        deliver(&mut node, PagesMessage::Push { epoch: 1, sync: 1, parts }, &[]);
        assert_eq!(node.kernel.core.fault.is_none(), sound);
    }
    let Node { mut view, .. } = of_two();
    assert!(view.update(Rank::new(1), &[1, 2, 3]).is_none());
    assert!(view.update(Rank::new(1), &batch(5)).is_none(), "a page that is not here");
    assert!(view.update(Rank::new(1), &[]).is_some());
}

#[test]
fn lists_of_pages_that_the_block_does_not_have() {
    let lists: [&[u32]; 6] = [&[3], &[u32::MAX], &[1, 0], &[0, 0], &[0, 1, 2, 3], &[]];
    for (list, after, len) in
        lists.into_iter().map(|list| (list, 0, 0)).chain([(&[0, 2][..], 0, 4905), (&[0], 2, 0), (&[0], u64::MAX, 0)])
    {
        let mut node = of_two();
        let asked = Asked { epoch: 0, request: Request::Of { protocol: Paging::NUMBER, number: after }, stamp: None };
        let header = request(OBJECT, CallId(1), false, &asked).expect("short");
        let list: Vec<u8> = list.iter().flat_map(|page| page.to_le_bytes()).collect();
        for odd in [&[][..], &[9]] {
            let payload = Received::Bytes([&list[..], odd].concat());
            node.kernel.deliver(Rank::new(1), &header, payload, &mut node.out);
            let answer = node.out.drain().next().expect("it is answered at once");
            let Some(Header::Reply { refused, .. }) = Header::decode(&answer.header) else {
                panic!("no answer");
            };
            let empty = list.is_empty() && after == 0;
            assert_eq!(refused, !(odd.is_empty() && (len > 0 || empty)), "{list:?} after {after}");
            assert!(refused || answer.payload.len() == len);
        }
        assert_eq!(node.on(|object, cx| (object.core().scopes().parked().len(), cx.is_sound())), (0, true));
    }
    // A rank that has left a sync with which this one is not done waits.
    let mut node = of_two();
    let asked = Asked { epoch: 0, request: Request::Of { protocol: Paging::NUMBER, number: 1 }, stamp: None };
    let header = request(OBJECT, CallId(1), false, &asked).expect("short");
    node.kernel.deliver(Rank::new(1), &header, Received::Bytes(vec![0; 4]), &mut node.out);
    assert_eq!(node.on(|object, _| object.core().scopes().parked().len()), 1);
}
