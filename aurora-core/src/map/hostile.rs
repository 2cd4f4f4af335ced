//! Messages that only another build sends: all ranks get an error, no kernel panics, and none takes memory for them.

use super::key::{hash_of, owner_of};
use super::message::{MapBatch, Request};
use super::part::{Map, Own};
use crate::ids::{CallId, ObjectId};
use crate::kernel::Kernel;
use crate::kernel::message::{self, to_object};
use crate::race::{Clock, Origin};
use crate::scope::{Opening, PartBatch, ScopeMessage, Scoped, Served, Stamped};
use crate::window::Window;
use crate::{Error, ObjectName, Site};
use aurora_net::{Handler, Outbox, Rank, Received};
use proptest::prelude::*;

const OBJECT: ObjectId = ObjectId(1);

type Words = Map<String, u64>;
type Batch = PartBatch<MapBatch<String, u64>>;

/// Rank 0 of two with a map, in which a scope is open.
fn rank() -> (Kernel, Outbox) {
    rank_that(false)
}

/// As [`rank`], in checking mode if `checks`.
fn rank_that(checks: bool) -> (Kernel, Outbox) {
    let (mut kernel, mut out) = (Kernel::new(Rank::new(0), 2, None), Outbox::default());
    let name = ObjectName { what: "GMap<String, u64>".into(), made_at: Site::here() };
    kernel.add(OBJECT, name, Scoped::new(Own::<String, u64>::new(), (Rank::new(0), 2), checks));
    let entered = kernel.with(OBJECT, &mut out, |words: &mut Words, cx| words.enter(opening(), cx));
    entered.expect("it lives").expect("nothing else is open");
    (kernel, out)
}

fn opening() -> Opening {
    Opening::writes("ReleaseC")
}

/// The fault of the job, and the number of entries, after a message.
fn after(header: &[u8], payload: Vec<u8>) -> (Option<Error>, usize) {
    let (mut kernel, mut out) = rank();
    kernel.deliver(Rank::new(1), header, Received::Bytes(payload), &mut out);
    assert_eq!(kernel.core.fault.is_some(), out.drain().next().is_some(), "the other rank is told, of a fault alone");
    let len =
        kernel.with(OBJECT, &mut out, |words: &mut Words, _| words.part.entries.as_ref().map_or(0, |own| own.len()));
    (kernel.core.fault.clone(), len.expect("it lives"))
}

/// The end of a scope with `writes` writes of the word.
fn batch(writes: u64) -> Vec<u8> {
    let last = Some(writes_of(hash_of(&word()).wrapping_mul(writes)));
    to_object(OBJECT, &ScopeMessage::End { epoch: 1, opening: opening(), batches: 1, last, time: None }).expect("short")
}

/// A batch of keys with this sum of hashes.
fn writes_of(hashes: u64) -> Batch {
    PartBatch::Writes(MapBatch { hashes, done: 0, own: None })
}

/// A word that rank 0 owns.
fn word() -> String {
    let mut words = (0..).map(|number| format!("word {number}"));
    words.find(|word| owner_of(hash_of(word), 2) == Rank::new(0)).expect("every rank owns words")
}

/// A write of the word.
fn write(is_put: u8) -> Vec<u8> {
    let mut write = vec![is_put];
    super::code::write_key(&word(), &mut write).expect("plain data");
    [&write[..], &7u64.to_le_bytes()].concat()
}

/// The word as a key that is looked up, with more bytes behind it.
fn sought(behind: &[u8]) -> Vec<u8> {
    let (mut sought, word) = (Vec::new(), word());
    super::code::write_sought::<String>(hash_of(&word), &word, &mut sought).expect("plain data");
    [&sought, behind].concat()
}

#[test]
fn a_batch_that_is_none() {
    assert!(matches!(after(&batch(1), write(1)), (None, 1)));
    assert!(matches!(after(&batch(2), [write(1), write(0)].concat()), (None, 1)));
    let whole = write(1);
    let bad = [vec![2], vec![1], vec![1, 255, 255, 255, 255, 255, 255], [&[1, 255][..], &[255; 20]].concat()];
    for payload in (1..whole.len()).map(|len| whole[..len].to_vec()).chain(bad).chain([write(9)]) {
        let (fault, len) = after(&batch(1), payload.clone());
        assert!(matches!(fault, Some(Error::Start(_))) && len == 0, "{payload:?}: {fault:?}");
    }
}

/// A key that had another hash at its sender, or that its type does not read: the map is at fault, not the job.
#[test]
fn a_batch_of_other_keys() {
    let unread = [&[1, 2, 0xff, 0xff][..], &[0; 8]].concat();
    for (header, payload) in [(batch(2), write(1)), (batch(1), unread)] {
        let fault = fault_after(false, &header, payload);
        assert!(matches!(fault, Some(Error::Value { .. })), "{fault:?}");
    }
}

#[test]
fn a_header_that_is_none() {
    let part = opening().of(Window::of(&(0..3), 10));
    let headers = [
        to_object(OBJECT, &ScopeMessage::Batch { epoch: 1, seq: 0, opening: part.clone(), batch: writes_of(0) }),
        to_object(
            OBJECT,
            &ScopeMessage::<Batch>::End { epoch: 1, opening: part.clone(), batches: 0, last: None, time: None },
        ),
        to_object(OBJECT, &77u8),
        message::request(OBJECT, CallId(1), false, &77u8),
    ];
    let dropped = message::Message::Dropped { object: OBJECT };
    let dropped = dropped.encode(&postcard::to_allocvec(&(1u64, Some(part))).expect("plain data"));
    for header in headers.into_iter().map(|header| header.expect("short")).chain([dropped]) {
        assert!(matches!(after(&header, Vec::new()), (Some(Error::Start(_)), 0)), "{header:?}");
    }
    // A batch that comes with an end is counted there.
    let none = to_object(
        OBJECT,
        &ScopeMessage::End { epoch: 1, opening: opening(), batches: 0, last: Some(writes_of(0)), time: None },
    )
    .expect("short");
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
        Request::Update(crate::ops::OpId::of::<crate::ops::Sum>()),
    ] {
        // The last has bytes behind the key.
        for payload in [vec![], vec![255; 20], sought(&[])[..10].to_vec(), sought(&[7; 20])] {
            let (mut kernel, mut out) = rank();
            let asked = Stamped { epoch: 0, request, origin: None };
            let header = message::request(OBJECT, CallId(1), false, &asked).expect("short");
            kernel.deliver(Rank::new(1), &header, Received::Bytes(payload), &mut out);
            assert!(kernel.core.fault.is_none() && kernel.objects[&OBJECT].frame.fault.is_none(), "{request:?}");
            assert!(out.drain().next().is_some(), "{request:?} is answered");
        }
    }
    let asked = Stamped { epoch: 0, request: Request::Scan { from: (u32::MAX, u32::MAX) }, origin: None };
    let header = message::request(OBJECT, CallId(1), false, &asked).expect("short");
    let (mut kernel, mut out) = rank();
    kernel.deliver(Rank::new(1), &header, Received::Bytes(Vec::new()), &mut out);
    assert!(kernel.core.fault.is_none() && out.drain().next().is_some());
}

/// The length of a list, a string or a batch that no memory has.
const ENDLESS: [u8; 10] = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];

/// The origin of an access of rank 1. Its time says that it comes after all ranks and moments.
fn origin(last: u32) -> impl serde::Serialize {
    (Site::here(), (last, last), (last, vec![(0u32, u32::MAX, (last, last))]))
}

/// A batch of one note: the number of its origin, and whether the key is inserted.
fn notes(number: u32, is_put: bool, last: u32) -> Vec<u8> {
    let notes = (vec![origin(last)], vec![(number, is_put, (u64::MAX, "a key"))]);
    postcard::to_allocvec(&notes).expect("plain data")
}

/// A rank decodes notes of checking mode also if it does not check.
#[test]
fn notes_that_are_none() {
    let header = to_object(OBJECT, &ScopeMessage::Batch { epoch: 1, seq: 0, opening: opening(), batch: Batch::Notes });
    let header = header.expect("short");
    let whole = notes(0, true, 0);
    let fine = [whole.clone(), notes(0, true, u32::MAX), vec![0, 0]];
    // Notes of an origin that is missing, or of an update in a scope without an operation; a false length.
    let bad = [notes(1, true, 0), notes(u32::MAX, true, 0), notes(0, false, 0), vec![255; 20], ENDLESS.to_vec()];
    let endless = [&[1], &ENDLESS[..]].concat();
    let bad = bad.into_iter().chain([endless]).chain((0..whole.len()).map(|len| whole[..len].to_vec()));
    for (payload, is_fine) in fine.into_iter().map(|fine| (fine, true)).chain(bad.map(|bad| (bad, false))) {
        for checks in [true, false] {
            match fault_after(checks, &header, payload.clone()) {
                None => assert!(is_fine, "{payload:?}"),
                Some(Error::Start(_)) => assert!(!is_fine, "{payload:?}"),
                Some(other) => panic!("{payload:?}: {other}"),
            }
        }
    }
}

/// Messages that a rank of this build sends: headers, each with its payload.
fn messages() -> Vec<(Vec<u8>, Vec<u8>)> {
    let (hashes, time) = (hash_of(&word()), Some(Clock::new(Rank::new(1)).release()));
    let origin = || Some(Box::new(Origin::here(&Site::here(), &Clock::new(Rank::new(1)))));
    let (key, entry) = (|| sought(&[]), || sought(&7u64.to_le_bytes()));
    let request = |request| {
        let header = message::request(OBJECT, CallId(1), false, &Stamped { epoch: 0, request, origin: origin() });
        header.expect("short")
    };
    let of_scope = |message| to_object(OBJECT, &message).expect("short");
    vec![
        (of_scope(ScopeMessage::Batch { epoch: 1, seq: 0, opening: opening(), batch: writes_of(hashes) }), write(1)),
        (
            of_scope(ScopeMessage::Batch { epoch: 1, seq: 0, opening: opening(), batch: Batch::Notes }),
            notes(0, true, 3),
        ),
        (of_scope(ScopeMessage::<Batch>::BatchDone), Vec::new()),
        (
            of_scope(ScopeMessage::End {
                epoch: 1,
                opening: opening(),
                batches: 1,
                last: Some(writes_of(hashes)),
                time,
            }),
            write(1),
        ),
        (request(Request::Get { keys: 2 }), [key(), key()].concat()),
        (request(Request::Contains { keys: 1 }), key()),
        (request(Request::Insert), entry()),
        (request(Request::Remove), key()),
        (request(Request::Update(crate::ops::OpId::of::<crate::ops::Sum>())), entry()),
        (request(Request::Scan { from: (0, 0) }), Vec::new()),
    ]
}

#[derive(Clone, Debug)]
enum Damage {
    Flip(usize, u8),
    Cut(usize),
    /// A number or a length that lies is put in front of this byte, or in its place.
    Lie(usize, bool),
    Remove(usize),
}

impl Damage {
    fn to(&self, bytes: &mut Vec<u8>) {
        let len = bytes.len();
        let of = |at: &usize| at % (len + 1);
        match self {
            Damage::Flip(at, with) => bytes.iter_mut().skip(of(at)).take(1).for_each(|byte| *byte ^= with),
            Damage::Cut(at) => bytes.truncate(of(at)),
            Damage::Lie(at, instead) => {
                let at = of(at);
                drop(bytes.splice(at..(at + usize::from(*instead)).min(len), ENDLESS));
            }
            Damage::Remove(at) => drop(bytes.drain(of(at)..(of(at) + 1).min(len))),
        }
    }
}

fn damage() -> impl Strategy<Value = (bool, Damage)> {
    let kind = prop_oneof![
        (any::<usize>(), 1u8..).prop_map(|(at, with)| Damage::Flip(at, with)),
        any::<usize>().prop_map(Damage::Cut),
        (any::<usize>(), any::<bool>()).prop_map(|(at, instead)| Damage::Lie(at, instead)),
        any::<usize>().prop_map(Damage::Remove),
    ];
    (any::<bool>(), kind)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// The receiver of a message whose header or payload is damaged does not panic, which would poison the map, and
    /// takes no memory for it.
    #[test]
    fn messages_that_are_damaged(
        which in 0..10usize,
        damages in prop::collection::vec(damage(), 1..4),
        checks in any::<bool>(),
    ) {
        let (mut header, mut payload) = messages().swap_remove(which);
        for (in_header, damage) in &damages {
            damage.to(if *in_header { &mut header } else { &mut payload });
        }
        let fault = fault_after(checks, &header, payload);
        prop_assert!(!matches!(fault, Some(Error::Poisoned { .. })), "{:?}", fault);
    }
}

/// The fault of the job or of the map, if there is one.
fn fault_after(checks: bool, header: &[u8], payload: Vec<u8>) -> Option<Error> {
    let (mut kernel, mut out) = rank_that(checks);
    kernel.deliver(Rank::new(1), header, Received::Bytes(payload), &mut out);
    let of_map = kernel.with(OBJECT, &mut out, |words: &mut Words, cx| {
        let _ = words.scopes.poll_settled((Window::WHOLE, 1), cx);
        cx.sound().err()
    });
    kernel.core.fault.clone().or(of_map.expect("it lives"))
}

/// Messages that are not damaged are accepted.
#[test]
fn messages_that_are_whole() {
    for (header, payload) in messages() {
        let faults = [true, false].map(|checks| fault_after(checks, &header, payload.clone()));
        assert!(faults.iter().all(Option::is_none), "{header:?}: {faults:?}");
    }
}
