//! Two ends in one test: one transmits, the other receives.

use super::*;
use crate::poller::Waker;
use crate::shm::buffer_pool::{BUFFER, SharedView};
use crate::shm::control::Control;
use crate::shm::segment::Segment;
use std::collections::HashMap;

/// Lends the memory that a test gives it, and keeps all arriving transfers.
#[derive(Default)]
struct Library {
    lent: HashMap<u64, Vec<u8>>,
    placed: HashMap<u64, Vec<u8>>,
    arrived: Vec<(Vec<u8>, Vec<u8>)>,
    /// Views that are kept instead of copied.
    views: Vec<SharedView>,
    keeps_views: bool,
    reads: usize,
}

impl Handler for Library {
    fn place(&mut self, _: Rank, header: &[u8], len: usize) -> Placement {
        match header.first() {
            Some(b'@') => {
                let token = self.placed.len() as u64;
                self.placed.insert(token, vec![0; len]);
                Placement::At(Token(token))
            }
            _ => Placement::Buffer,
        }
    }

    fn write(&mut self, token: Token, offset: usize, bytes: &[u8]) {
        let place = self.placed.get_mut(&token.0).expect("placed");
        place[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn read(&mut self, token: Token, offset: usize, into: &mut [u8]) -> bool {
        self.reads += 1;
        let lent = self.lent.get(&token.0);
        lent.inspect(|lent| into.copy_from_slice(&lent[offset..offset + into.len()])).is_some()
    }

    fn deliver(&mut self, _: Rank, header: &[u8], payload: Received, _: &mut Outbox) {
        let bytes = match payload {
            Received::Shared(view) if self.keeps_views => return self.views.push(view),
            Received::Placed(token) => self.placed[&token.0].clone(),
            buffered => buffered.into_vec(),
        };
        self.arrived.push((header.to_vec(), bytes));
    }
}

fn duplexes() -> (Duplex, Duplex) {
    let segment = Segment::create(Control::len(2)).unwrap();
    let link = |me| {
        let wakers = vec![Waker::new().unwrap(), Waker::new().unwrap()];
        let control = Control::new(segment.clone(), me, wakers);
        let ends = control.take_rings().pop().unwrap();
        Duplex::new(ends, BufferPool::new(Arc::new(control)))
    };
    (link(0), link(1))
}

fn content(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at / 7) as u8 ^ (at >> 11) as u8).collect()
}

fn outgoing(header: &str, payload: Payload) -> Outgoing {
    Outgoing { to: Rank::new(1), header: Bytes::copy_from_slice(header.as_bytes()), payload, lazy: false }
}

fn receive(to: &mut Duplex, library: &mut Library) -> Result<TakenIn, Corrupt> {
    to.receive(Rank::new(0), library, &mut Outbox::default(), &mut Traffic::default())
}

fn exchange(from: &mut Duplex, to: &mut Duplex, near: &mut Library, far: &mut Library) {
    while (from.transmit(near).unwrap() != Sent::Nothing) | receive(to, far).unwrap().handled {}
}

#[test]
fn transfers_of_all_lengths_arrive_whole() {
    let (mut near, mut far) = duplexes();
    let (mut sending, mut receiving) = (Library::default(), Library::default());
    let fragment_len = near.fragment_len();
    let lens = [
        0,
        1,
        15,
        16,
        17,
        1000,
        fragment_len - 1,
        fragment_len,
        fragment_len + 1,
        4 * fragment_len,
        9 * fragment_len + 5,
    ];
    let mut wanted = Vec::new();
    for (turn, len) in lens.iter().cycle().take(5 * lens.len()).enumerate() {
        let header = format!("{}{turn}", if turn % 2 == 0 { '@' } else { ' ' });
        let payload = match turn % 3 {
            _ if *len == 0 => Payload::Empty,
            0 => Payload::Bytes(content(*len).into()),
            _ => {
                sending.lent.insert(turn as u64, content(*len));
                Payload::Lent { token: Token(turn as u64), len: *len }
            }
        };
        near.send(outgoing(&header, payload));
        wanted.push((header.into_bytes(), content(*len)));
        if turn % 4 == 3 {
            exchange(&mut near, &mut far, &mut sending, &mut receiving);
        }
    }
    exchange(&mut near, &mut far, &mut sending, &mut receiving);
    receiving.arrived.sort();
    wanted.sort();
    assert!(receiving.arrived == wanted);
    let mut released: Vec<u64> = near.released().map(|token| token.0).collect();
    released.sort_unstable();
    let mut lent: Vec<u64> = sending.lent.into_keys().collect();
    lent.sort_unstable();
    assert_eq!((released, near.unread(), near.is_waiting()), (lent, None, false));
}

#[test]
fn short_transfers_pass_a_long_one_by() {
    let (mut near, mut far) = duplexes();
    let (mut sending, mut receiving) = (Library::default(), Library::default());
    let long = content(20 * near.fragment_len());
    near.send(outgoing("long", Payload::Bytes(long.into())));
    near.transmit(&mut sending).unwrap();
    near.send(outgoing("short", Payload::Empty));
    exchange(&mut near, &mut far, &mut sending, &mut receiving);
    let headers: Vec<&[u8]> = receiving.arrived.iter().map(|(header, _)| &header[..]).collect();
    assert_eq!(headers, [&b"short"[..], b"long"]);
}

#[test]
fn what_is_withdrawn_does_not_arrive_and_disturbs_nothing() {
    let (mut near, mut far) = duplexes();
    let (mut sending, mut receiving) = (Library::default(), Library::default());
    let len = 20 * near.fragment_len();
    for (token, len) in [(1, len), (2, 100), (3, len)] {
        near.send(outgoing("@gone", Payload::Lent { token: Token(token), len }));
    }
    near.send(outgoing("here", Payload::Bytes(content(50).into())));
    near.send(outgoing("@here", Payload::Bytes(content(len).into())));
    // The first is withdrawn while being sent, the others before.
    sending.lent.insert(1, content(len));
    near.transmit(&mut sending).unwrap();
    assert!(sending.reads > 2);
    sending.lent.clear();
    exchange(&mut near, &mut far, &mut sending, &mut receiving);
    let arrived: Vec<(&[u8], usize)> =
        receiving.arrived.iter().map(|(header, bytes)| (&header[..], bytes.len())).collect();
    assert_eq!(arrived, [(&b"here"[..], 50), (b"@here", len)]);
    assert!(receiving.arrived[1].1 == content(len));
    assert_eq!(near.released().count(), 3);
}

#[test]
fn records_that_make_no_sense_are_an_error() {
    let record = |kind, header, part, total| Record { kind, header, part, total }.encode();
    let bad = [
        [0xff; UNIT],
        [0; UNIT],
        // More bytes than there are, or than announced.
        record(Kind::Whole, 0, 64, 64),
        record(Kind::Whole, 64, 0, 0),
        record(Kind::Whole, MAX_HEADER + 1, 0, 0),
        record(Kind::Whole, 0, 0, 5),
        record(Kind::Begin, 0, 0, usize::MAX),
        // No transfer has begun.
        record(Kind::More, 0, 0, 5),
        record(Kind::Withdrawn, 0, 0, 5),
    ];
    let handed =
        |number: u64, total| [&record(Kind::Handed, 0, NUMBER, total)[..], &number.to_ne_bytes(), &[0; 8]].concat();
    let bad = bad.iter().map(|bytes| bytes.to_vec()).chain([
        // A buffer that does not exist, that is too small, or that was not handed over.
        handed(u64::MAX, 10),
        handed(1 << 20, 10),
        handed(0, BUFFER + 1),
        handed(0, 10),
        record(Kind::Handed, 0, 0, 10).to_vec(),
    ]);
    for bytes in bad {
        let (mut near, mut far) = duplexes();
        assert!(near.writer.room(bytes.len()).unwrap() >= bytes.len());
        near.writer.write(&bytes);
        near.writer.show();
        assert_eq!(receive(&mut far, &mut Library::default()).unwrap_err(), Corrupt, "{bytes:?}");
    }
}

#[test]
fn giving_up_gives_everything_back() {
    let (mut near, _far) = duplexes();
    let mut sending = Library::default();
    let len = 20 * near.fragment_len();
    for (token, len) in [(1, len), (2, len), (3, 10)] {
        sending.lent.insert(token, content(len));
        near.send(outgoing("x", Payload::Lent { token: Token(token), len }));
    }
    near.transmit(&mut sending).unwrap();
    near.give_up();
    assert_eq!((near.released().count(), near.is_waiting()), (3, false));
}

fn shared(pool: &Arc<BufferPool>, byte: u8, len: usize) -> Option<Payload> {
    let mut buffer = pool.take()?;
    buffer.truncate(len);
    buffer.fill(byte);
    Some(Payload::Shared(buffer))
}

#[test]
fn buffers_are_handed_over_and_come_back() {
    let (mut near, mut far) = duplexes();
    let mut receiving = Library { keeps_views: true, ..Library::default() };
    let pool = near.pool.clone();
    let mut sent = Vec::new();
    while let Some(payload) = shared(&pool, sent.len() as u8, BUFFER - sent.len()) {
        near.send(outgoing(if sent.len() % 2 == 0 { " " } else { "@" }, payload));
        sent.push((sent.len() as u8, BUFFER - sent.len()));
    }
    assert!(sent.len() > 10);
    while (near.transmit(&mut Library::default()).unwrap() != Sent::Nothing)
        | receive(&mut far, &mut receiving).unwrap().handled
    {}
    assert_eq!((near.is_waiting(), near.unread()), (false, None));
    let odd = sent.len() / 2;
    assert_eq!((receiving.arrived.len(), receiving.views.len()), (odd, sent.len() - odd));
    assert!(receiving.arrived.iter().all(|(_, bytes)| bytes.iter().all(|byte| byte % 2 == 1)));
    for (view, (byte, len)) in receiving.views.iter().zip(sent.iter().step_by(2)) {
        assert!(view.len() == *len && view.iter().all(|found| found == byte));
    }
    // Copied buffers are free again; the others become free when their views are dropped.
    let take_all = || std::iter::from_fn(|| pool.take()).collect::<Vec<_>>().len();
    assert_eq!(take_all(), odd);
    receiving.views.truncate(1);
    assert_eq!(take_all(), sent.len() - 1);
}

#[test]
fn buffers_that_were_never_read_come_back() {
    let (mut near, far) = duplexes();
    let (all, pool) = (near.pool.clone(), near.pool.clone());
    let count = || std::iter::from_fn(|| all.take()).collect::<Vec<_>>().len();
    let whole = count();
    // Queued without and with a record in the ring; then handed to a node peer that dies.
    near.send(outgoing(" ", shared(&pool, 1, 9).unwrap()));
    drop(pool.take());
    assert_eq!(count(), whole - 1);
    near.give_up();
    assert_eq!(count(), whole);
    for _ in 0..3 {
        near.send(outgoing(" ", shared(&pool, 1, 9).unwrap()));
    }
    near.transmit(&mut Library::default()).unwrap();
    drop(far);
    pool.reclaim(0);
    assert_eq!(count(), whole - 3, "of another node peer");
    pool.reclaim(1);
    assert_eq!(count(), whole);
}

#[test]
fn what_is_in_no_hurry_is_sent_so() {
    let (mut near, mut far) = duplexes();
    let mut library = Library::default();
    let lazy = |len: usize| Outgoing { lazy: true, ..outgoing(" ", Payload::Bytes(content(len).into())) };
    near.send(lazy(10));
    assert_eq!(near.transmit(&mut library), Ok(Sent::Lazily));
    near.send(lazy(10));
    near.send(outgoing(" ", Payload::Empty));
    assert_eq!(near.transmit(&mut library), Ok(Sent::Waking));
    // A full ring wakes the node peer even for lazy transfers.
    let fragment_len = near.fragment_len();
    (0..10).for_each(|_| near.send(lazy(fragment_len)));
    assert_eq!(near.transmit(&mut library), Ok(Sent::Waking));
    exchange(&mut near, &mut far, &mut Library::default(), &mut library);
    assert_eq!((library.arrived.len(), near.transmit(&mut library)), (13, Ok(Sent::Nothing)));
}

#[test]
fn a_mailbox_comes_with_a_buffer_and_goes_when_both_sides_let_go() {
    let (mut near, mut far) = duplexes();
    let mut receiving = Library { keeps_views: true, ..Library::default() };
    let pool = near.pool.clone();
    let count = || std::iter::from_fn(|| pool.take()).collect::<Vec<_>>().len();
    let whole = count();
    for (len, sender_first) in [(1, true), (1000, false), (BUFFER / 3 - 128, true)] {
        let mut first = pool.take().unwrap();
        // Earlier content of the buffer is not taken for a letter.
        first.fill(0xff);
        first.truncate(len);
        let mut sender = first.mailbox(1).unwrap();
        near.send(outgoing(" ", Payload::Shared(first)));
        // Letters can be put before the buffer is handed over.
        assert!(sender.put(|letter| letter.fill(1)) && sender.put(|letter| letter.fill(2)));
        assert!(!sender.put(|_| panic!("there is no room")));
        exchange(&mut near, &mut far, &mut Library::default(), &mut receiving);
        let view = receiving.views.pop().unwrap();
        assert!(view.len() == len && view.iter().all(|byte| *byte == 0xff));
        let mut receiver = view.into_mailbox().unwrap();
        let letters = receiver.count();
        for byte in 1..50 {
            assert!(receiver.has_come() && letters.get() == u64::from(byte) + 1);
            let taken = receiver.take(|letter| letter.len() == len && letter.iter().all(|found| *found == byte));
            assert_eq!(taken, Some(true));
            assert!(sender.put(|letter| letter.fill(byte + 2)));
        }
        drop(letters);
        assert_eq!(count(), whole - 1);
        match sender_first {
            true => drop(sender),
            false => drop(receiver),
        }
        // The other end still has it.
        assert_eq!(count(), whole - 1);
    }
}

#[test]
fn a_letter_that_does_not_fit_has_no_mailbox() {
    let (near, _) = duplexes();
    for len in [0, BUFFER / 3, BUFFER] {
        let mut buffer = near.pool.take().unwrap();
        buffer.truncate(len);
        assert!(buffer.mailbox(1).is_none(), "{len}");
    }
}
