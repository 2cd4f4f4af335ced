//! Doing requests and batches: at once, in steps, or later if they must wait.

use super::Pending;
use super::code::{self, Fault};
use super::entries::{Entries, Pair, Place};
use super::key::{MapKey, MapValue, hash_of, owner_of};
use super::message::{Asked, Message, Request};
use super::operations::OpFn;
use super::part::Part;
use crate::error::A_CALL;
use crate::ids::{CallId, Epoch};
use crate::kernel::message::malformed;
use crate::object::{Call, Cx};
use crate::ops::OpId;
use crate::scalar::cannot_travel;
use crate::window::Window;
use crate::{Error, Site};
use aurora_net::bootstrap::capture;
use aurora_net::{Payload, Rank, Received};
use std::fmt::Display;
use std::sync::Arc;
use std::vec;

/// Entries between two looks at the clock.
const BETWEEN_LOOKS: usize = 32;

/// The approximate maximum bytes of an answer, unless it is the answer about a single entry.
pub(super) const ANSWER: usize = 256 << 10;

/// The bytes in front of the entries of a scan: the place behind the entries, and their number.
pub(super) const SCAN_HEAD: usize = 3 * size_of::<u32>();

/// A piece of work that cannot be done yet, or is done in part.
pub(super) struct Parked<K, V> {
    pub(super) from: Rank,
    pub(super) work: Work,
    pub(super) content: Content<K, V>,
}

#[derive(Clone, Debug)]
pub(super) enum Work {
    Call {
        id: CallId,
        asked: Asked,
    },
    Batch {
        epoch: Epoch,
        seq: u64,
        op: Option<OpId>,
        /// The sum of its keys' hashes at another rank, less the hashes here of the keys that are applied already.
        hashes: u64,
        /// Checking mode: true for a batch of notes.
        notes: bool,
        /// True if the sender waits for room and must get a message when the batch is applied.
        acknowledge: bool,
    },
}

/// The content of a piece of work.
pub(super) enum Content<K, V> {
    /// Bytes, and the number of bytes that have been read.
    Sent(Received, usize),
    /// A batch of this rank to itself.
    Own(vec::IntoIter<Pending<K, V>>),
}

enum Outcome {
    Done(Result<Payload, Error>),
    /// Other ranks, or this rank's program, have to act first.
    Park,
    /// The step has ended.
    Interrupted,
}

/// A write, and its length when encoded.
type Measured<K, V> = (Pending<K, V>, usize);

impl<K: MapKey, V: MapValue> Content<K, V> {
    /// The next write of a batch.
    fn next_write(&mut self) -> Result<Option<Measured<K, V>>, Fault> {
        match self {
            Content::Own(writes) => match writes.next() {
                None => Ok(None),
                Some(write) => Ok(write.encoded_len().map(|len| Some((write, len)))?),
            },
            Content::Sent(received, at) => {
                let mut rest = &received.bytes()[*at..];
                if rest.is_empty() {
                    return Ok(None);
                }
                let before = rest.len();
                let write = Pending::read(&mut rest)?;
                let len = before - rest.len();
                *at += len;
                Ok(Some((write, len)))
            }
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Content::Sent(received, _) => received.bytes(),
            Content::Own(_) => &[],
        }
    }
}

impl<K: MapKey, V: MapValue> Part<K, V> {
    /// Settles epochs and does parked work for as long as possible, or until the step has ended.
    pub(super) fn settle_and_retry(&mut self, cx: &mut Cx<'_>) {
        self.has_changed = false;
        loop {
            let mut worked = self.settle();
            // One by one: if a user's operation panics, the work behind it must be answered all the same.
            for _ in 0..self.parked.len() {
                if self.is_step_over(cx) {
                    self.interrupted = Some(cx.now());
                    return cx.progress();
                }
                let Some(parked) = self.parked.pop_front() else {
                    break;
                };
                worked |= self.work_or_park(parked, cx);
                if self.interrupted.is_some() {
                    return cx.progress();
                }
            }
            if !worked {
                break;
            }
            cx.progress();
        }
    }

    /// A faulty map only answers parked work, without a pause: its timers may be gone.
    fn is_step_over(&self, cx: &Cx<'_>) -> bool {
        cx.is_sound() && self.until.is_some_and(|until| cx.now() >= until)
    }

    /// Does a piece of work or parks it; true if it is done.
    pub(super) fn work_or_park(&mut self, mut parked: Parked<K, V>, cx: &mut Cx<'_>) -> bool {
        let (from, work) = (parked.from, parked.work.clone());
        // In this rank's own work a panic continues, because the program is in a call on the map. In work of other
        // ranks the panic is caught, because any call, or the daemon, may do that work.
        let attempted = match from == cx.me() {
            true => Ok(self.attempt(&mut parked, cx)),
            false => capture(cx.me(), || self.attempt(&mut parked, cx)),
        };
        let outcome = attempted.unwrap_or_else(|failure| {
            let mine = match work {
                Work::Batch { epoch, .. } => self.ledger.find(epoch).and_then(|record| record.mine.as_ref()),
                Work::Call { .. } => None,
            };
            let within = mine.map_or((A_CALL.into(), None), |mine| (mine.name.clone(), Some(mine.site.clone())));
            let error = cx.poison(&within.0, within.1);
            crate::notice::operation_panicked(&failure, &error);
            cx.defer(error.clone());
            Outcome::Done(Err(error))
        });
        let answer = match outcome {
            Outcome::Done(answer) => answer,
            Outcome::Park | Outcome::Interrupted => {
                if let Content::Sent(received, _) = &mut parked.content {
                    // The work may stay parked for long, and its sender needs the memory back.
                    received.detach();
                }
                self.parked.push_back(parked);
                if matches!(outcome, Outcome::Interrupted) {
                    self.interrupted = Some(cx.now());
                }
                return false;
            }
        };
        match work {
            Work::Call { id, .. } => cx.answer(Call { from, id }, answer),
            Work::Batch { acknowledge, .. } => match answer {
                Ok(_) if !acknowledge => {}
                Ok(_) if from == cx.me() => self.has_room(from),
                Ok(_) => Message::BatchDone.send(None, from, Payload::Empty, cx),
                Err(error) => cx.fail(error),
            },
        }
        if let Content::Sent(Received::Bytes(buffer), _) = parked.content {
            cx.out.recycle(buffer);
        }
        true
    }

    /// An owner has applied a batch of this rank.
    pub(super) fn has_room(&mut self, owner: Rank) {
        let outstanding = &mut self.outstanding[owner.index()];
        *outstanding = outstanding.saturating_sub(1);
    }

    fn attempt(&mut self, parked: &mut Parked<K, V>, cx: &mut Cx<'_>) -> Outcome {
        if let Err(fault) = cx.sound() {
            return Outcome::Done(Err(fault));
        }
        let Parked { from, work, content } = parked;
        match work {
            Work::Call { asked, .. } => {
                if self.ledger.pending(Window::WHOLE, asked.epoch).is_some() {
                    return Outcome::Park;
                }
                match self.serve(asked.request, content.bytes(), cx) {
                    Ok(None) => Outcome::Park,
                    Ok(Some((answer, keys))) => {
                        let noted = self.note_call(*from, asked, (content.bytes(), keys), cx);
                        Outcome::Done(noted.map(|()| Payload::Bytes(answer.into())))
                    }
                    Err(error) => Outcome::Done(Err(error)),
                }
            }
            Work::Batch { epoch, seq, op, hashes, notes, .. } => {
                let from = *from;
                if !self.ledger.may_apply(*epoch) || self.ledger.record(*epoch).from[from.index()].applied != *seq {
                    return Outcome::Park;
                }
                let outcome = match notes {
                    true => Outcome::Done(
                        self.apply_notes((from, *epoch), *op, content.bytes(), cx).map(|()| Payload::Empty),
                    ),
                    false => self.apply(from, *op, (content, hashes), cx),
                };
                if let Outcome::Done(Ok(_)) = outcome {
                    self.ledger.record(*epoch).from[from.index()].applied += 1;
                }
                outcome
            }
        }
    }

    /// Applies the rest of a batch, until the step has ended.
    fn apply(
        &mut self,
        from: Rank,
        op: Option<OpId>,
        (content, hashes): (&mut Content<K, V>, &mut u64),
        cx: &mut Cx<'_>,
    ) -> Outcome {
        let apply = op.and_then(|op| self.ops.find(op));
        if op.is_some() && apply.is_none() {
            return Outcome::Done(Err(cx.frame.unknown_op()));
        }
        loop {
            let Some(own) = self.own.as_mut().and_then(Arc::get_mut) else {
                return Outcome::Park;
            };
            for _ in 0..BETWEEN_LOOKS {
                let (write, bytes) = match content.next_write() {
                    Ok(Some(write)) => write,
                    Ok(None) if *hashes == 0 => return Outcome::Done(Ok(Payload::Empty)),
                    Ok(None) => return Outcome::Done(Err(another_key::<K>(&cx.frame.name.made_at))),
                    Err(Fault::Type(cause)) => return Outcome::Done(Err(undecodable::<(K, V)>(cause, cx))),
                    Err(Fault::Malformed) => {
                        cx.fail_job(malformed(from));
                        return Outcome::Done(Err(malformed(from)));
                    }
                };
                if from != cx.me() {
                    *hashes = hashes.wrapping_sub(write.pair.hash);
                }
                if owner_of(write.pair.hash, cx.size()) != cx.me() {
                    return Outcome::Done(Err(another_key::<K>(&cx.frame.name.made_at)));
                }
                if let Err(shortage) = self.allowance.take(bytes + Entries::<K, V>::ENTRY) {
                    return Outcome::Done(Err(cx.no_memory(shortage, ITS_PART, &cx.frame.name.made_at.clone())));
                }
                match apply.filter(|_| !write.is_put) {
                    Some(apply) => own.update(write.pair, apply),
                    None => drop(own.insert(write.pair)),
                }
            }
            if self.is_step_over(cx) {
                return Outcome::Interrupted;
            }
        }
    }

    /// Serves a request of this rank itself. `None`: not yet.
    pub(super) fn serve_own(
        &mut self,
        request: Request,
        payload: &[u8],
        line: &Site,
        cx: &mut Cx<'_>,
    ) -> Option<Result<Vec<u8>, Error>> {
        if let Err(error) = self.poll_usable(request.writes(), cx)? {
            return Some(Err(error));
        }
        self.begin_step(cx);
        let answer = self.serve(request, payload, cx).transpose()?;
        Some(answer.and_then(|(answer, keys)| {
            self.note_own_call(request, (payload, keys), line, cx)?;
            Ok(answer)
        }))
    }

    /// Serves a request. Returns the answer, and the number of answered keys. `None`: a guard has lent this rank's
    /// entries.
    fn serve(
        &mut self,
        request: Request,
        mut payload: &[u8],
        cx: &mut Cx<'_>,
    ) -> Result<Option<(Vec<u8>, usize)>, Error> {
        let payload = &mut payload;
        let mut answer = Vec::new();
        match request {
            Request::Get { keys } => return self.look_up(keys, payload, cx, code::write),
            Request::Contains { keys } => return self.look_up(keys, payload, cx, |_, _| Ok(())),
            Request::Scan { from } => return Ok(self.scan(from, cx)?.map(|answer| (answer, 0))),
            Request::Remove => {
                let (hash, key) = read_key::<K>(payload, cx)?;
                is_over::<K>(payload, cx)?;
                let Some(own) = self.own.as_mut().and_then(Arc::get_mut) else {
                    return Ok(None);
                };
                write_found(own.remove(hash, |there| *there == key).as_ref(), &mut answer, cx, code::write)?;
            }
            Request::Insert | Request::Update(_) => {
                let op = match request {
                    Request::Update(op) => Some(self.ops.find(op).ok_or_else(|| cx.frame.unknown_op())?),
                    _ => None,
                };
                let bytes = payload.len();
                let (hash, key) = read_key::<K>(payload, cx)?;
                let value = code::read(payload).map_err(|cause| undecodable::<V>(cause, cx))?;
                is_over::<K>(payload, cx)?;
                let Some(own) = self.own.as_mut().and_then(Arc::get_mut) else {
                    return Ok(None);
                };
                let kept = self.allowance.take(bytes + Entries::<K, V>::ENTRY);
                kept.map_err(|shortage| cx.no_memory(shortage, ITS_PART, &cx.frame.name.made_at.clone()))?;
                let pair = Pair { hash, key, value };
                match op {
                    Some(op) => own.update(pair, op as OpFn<V>),
                    None => write_found(own.insert(pair).as_ref(), &mut answer, cx, code::write)?,
                }
            }
        }
        Ok(Some((answer, 1)))
    }

    /// Looks up keys, until all are done, or the step has ended.
    fn look_up(
        &self,
        keys: u32,
        payload: &mut &[u8],
        cx: &Cx<'_>,
        write: impl Fn(&V, &mut Vec<u8>) -> postcard::Result<()>,
    ) -> Result<Option<(Vec<u8>, usize)>, Error> {
        let Some(own) = &self.own else {
            return Ok(None);
        };
        let (mut answer, mut done) = (Vec::new(), 0);
        for number in 1..=keys as usize {
            let (hash, key) = read_key::<K>(payload, cx)?;
            if number == keys as usize {
                is_over::<K>(payload, cx)?;
            }
            write_found(own.find(hash, |there| *there == key), &mut answer, cx, &write)?;
            done = number;
            if answer.len() >= ANSWER || number.is_multiple_of(BETWEEN_LOOKS) && self.is_step_over(cx) {
                break;
            }
        }
        Ok(Some((answer, done)))
    }

    fn scan(&self, from: Place, cx: &Cx<'_>) -> Result<Option<Vec<u8>>, Error> {
        let Some(own) = &self.own else {
            return Ok(None);
        };
        let mut answer = vec![0; SCAN_HEAD];
        let (mut behind, mut entries) = (from, 0u32);
        for (place, pair) in own.from(from) {
            code::write_key(&pair.key, &mut answer).map_err(|cause| undecodable::<K>(cause, cx))?;
            code::write(&pair.value, &mut answer).map_err(|cause| undecodable::<V>(cause, cx))?;
            (behind, entries) = (place, entries + 1);
            if answer.len() >= ANSWER || entries.is_multiple_of(BETWEEN_LOOKS as u32) && self.is_step_over(cx) {
                break;
            }
        }
        for (place, number) in answer.chunks_exact_mut(4).zip([behind.0, behind.1, entries]) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        Ok(Some(answer))
    }
}

/// The name of the memory of entries in errors.
pub(super) const ITS_PART: &str = "its part";

/// Takes a key that this rank owns, and that has the hash with which it was sent.
fn read_key<K: MapKey>(payload: &mut &[u8], cx: &Cx<'_>) -> Result<(u64, K), Error> {
    let (hash, key) = code::read_sought(payload).map_err(|cause| undecodable::<K>(cause, cx))?;
    match hash == hash_of(&key) && owner_of(hash, cx.size()) == cx.me() {
        true => Ok((hash, key)),
        false => Err(another_key::<K>(&cx.frame.name.made_at)),
    }
}

/// Checks that no bytes are left of a request: otherwise its key was not read completely.
fn is_over<K>(rest: &[u8], cx: &Cx<'_>) -> Result<(), Error> {
    if rest.is_empty() { Ok(()) } else { Err(another_key::<K>(&cx.frame.name.made_at)) }
}

/// The error of a key that its receiver reads as a different key.
pub(super) fn another_key<T>(site: &Site) -> Error {
    cannot_travel::<T>(code::ANOTHER_KEY, site)
}

fn write_found<V>(
    value: Option<&V>,
    answer: &mut Vec<u8>,
    cx: &Cx<'_>,
    write: impl Fn(&V, &mut Vec<u8>) -> postcard::Result<()>,
) -> Result<(), Error> {
    answer.push(u8::from(value.is_some()));
    value.map_or(Ok(()), |value| write(value, answer).map_err(|cause| undecodable::<V>(cause, cx)))
}

fn undecodable<T>(cause: impl Display, cx: &Cx<'_>) -> Error {
    cannot_travel::<T>(cause, &cx.frame.name.made_at)
}
