//! The work of a rank's part of a map: requests and batches.

use super::Pending;
use super::code::{self, Fault};
use super::entries::{Entries, Pair, Place};
use super::key::{MapKey, MapValue, hash_of, owner_of};
use super::message::{Asked, MapBatch, Request};
use super::operations::OpFn;
use super::part::Part;
use crate::encoding::cannot_travel;
use crate::kernel::message::malformed;
use crate::object::{Cx, Malformed};
use crate::ops::OpId;
use crate::scope::{Opening, Outcome, ScopeMessage, Scopes, Served, Work};
use crate::{Error, Site};
use aurora_net::{Payload, Rank};
use serde::Serialize;
use std::fmt::Display;
use std::sync::Arc;
use std::vec;

/// Entries between two looks at the clock.
const BETWEEN_LOOKS: usize = 32;

/// The approximate maximum bytes of an answer, unless it is the answer about a single entry.
pub(super) const ANSWER: usize = 256 << 10;

/// The bytes in front of the entries of a scan: the place behind the entries, and their number.
pub(super) const SCAN_HEAD: usize = 3 * size_of::<u32>();

/// A piece of work for a rank's part of a map. `op`: the operation of updates in a scope.
pub(super) enum MapWork<K, V> {
    Call(Asked),
    /// A batch of another rank. `hashes`: the sum of its keys' hashes at that rank, less the hashes here of the keys
    /// that are applied already, which are the first `done` bytes.
    Writes {
        op: Option<OpId>,
        hashes: u64,
        done: usize,
    },
    /// A batch of this rank to itself.
    Own(Option<OpId>, vec::IntoIter<Pending<K, V>>),
    /// Checking mode: notes of the writes in the next batches.
    Notes(Option<OpId>),
}

/// A write, and its length when encoded.
type Measured<K, V> = (Pending<K, V>, usize);

impl<K: MapKey, V: MapValue> MapWork<K, V> {
    /// The next write of a batch.
    fn next_write(&mut self, payload: &[u8]) -> Result<Option<Measured<K, V>>, Fault> {
        match self {
            MapWork::Own(_, writes) => match writes.next() {
                None => Ok(None),
                Some(write) => Ok(write.encoded_len().map(|len| Some((write, len)))?),
            },
            MapWork::Writes { hashes, done, .. } => {
                let mut rest = &payload[*done..];
                if rest.is_empty() {
                    return Ok(None);
                }
                let before = rest.len();
                let write = Pending::read(&mut rest)?;
                let len = before - rest.len();
                *done += len;
                *hashes = hashes.wrapping_sub(write.pair.hash);
                Ok(Some((write, len)))
            }
            MapWork::Call(_) | MapWork::Notes(_) => Ok(None),
        }
    }

    /// The sum of the hashes of a batch's keys, less those of the keys that are read.
    fn hashes_left(&self) -> u64 {
        if let MapWork::Writes { hashes, .. } = self { *hashes } else { 0 }
    }
}

impl<K: MapKey, V: MapValue> Served for Part<K, V> {
    type Work = MapWork<K, V>;
    type Batch = MapBatch;
    type Arrival = ();

    const IN_STEPS: bool = true;

    fn scopes(&self) -> &Scopes<Self> {
        &self.scopes
    }

    fn scopes_mut(&mut self) -> &mut Scopes<Self> {
        &mut self.scopes
    }

    fn attempt(&mut self, work: &mut Work<Self::Work>, payload: &[u8], cx: &mut Cx<'_>) -> Outcome {
        let from = work.from;
        match &mut work.what {
            MapWork::Call(asked) => match self.serve(asked.request, payload, cx) {
                Ok(None) => Outcome::Park,
                Ok(Some((answer, keys))) => {
                    let noted = self.note_call(from, asked, (payload, keys), cx);
                    Outcome::Done(noted.map(|()| Payload::Bytes(answer.into())))
                }
                Err(error) => Outcome::Done(Err(error)),
            },
            MapWork::Notes(op) => {
                let epoch = work.due.scope().unwrap_or_default();
                Outcome::applied(self.apply_notes((from, epoch), *op, payload, cx))
            }
            MapWork::Writes { op, .. } | MapWork::Own(op, _) => {
                let op = *op;
                self.apply(from, op, (&mut work.what, payload), cx)
            }
        }
    }

    fn batch(&self, _: Rank, opening: &Opening, batch: MapBatch) -> Result<Self::Work, Malformed> {
        Ok(match batch {
            MapBatch::Writes { hashes } => MapWork::Writes { op: opening.op, hashes, done: 0 },
            MapBatch::Notes => MapWork::Notes(opening.op),
        })
    }

    fn header(message: ScopeMessage<MapBatch>) -> impl Serialize {
        message
    }

    /// True if a guard shows this rank's entries.
    fn is_lent(&self) -> bool {
        self.own.as_ref().is_none_or(|own| Arc::strong_count(own) > 1)
    }
}

impl<K: MapKey, V: MapValue> Part<K, V> {
    /// Applies the rest of a batch, until the step has ended.
    fn apply(
        &mut self,
        from: Rank,
        op: Option<OpId>,
        (batch, payload): (&mut MapWork<K, V>, &[u8]),
        cx: &mut Cx<'_>,
    ) -> Outcome {
        let apply = op.and_then(|op| self.ops.find(op));
        if op.is_some() && apply.is_none() {
            return Outcome::Done(Err(cx.unknown_op()));
        }
        loop {
            let Some(own) = self.own.as_mut().and_then(Arc::get_mut) else {
                return Outcome::Park;
            };
            for _ in 0..BETWEEN_LOOKS {
                let (write, bytes) = match batch.next_write(payload) {
                    Ok(Some(write)) => write,
                    Ok(None) if batch.hashes_left() == 0 => return Outcome::Done(Ok(Payload::Empty)),
                    Ok(None) => return Outcome::Done(Err(another_key::<K>(cx.made_at()))),
                    Err(Fault::Type(cause)) => return Outcome::Done(Err(undecodable::<(K, V)>(cause, cx))),
                    Err(Fault::Malformed) => {
                        cx.fail_job(malformed(from));
                        return Outcome::Done(Err(malformed(from)));
                    }
                };
                if owner_of(write.pair.hash, cx.size()) != cx.me() {
                    return Outcome::Done(Err(another_key::<K>(cx.made_at())));
                }
                if let Err(shortage) = self.allowance.take(bytes + Entries::<K, V>::ENTRY) {
                    return Outcome::Done(Err(cx.no_memory(shortage, ITS_PART, &cx.made_at().clone())));
                }
                match apply.filter(|_| !write.is_put) {
                    Some(apply) => own.update(write.pair, apply),
                    None => drop(own.insert(write.pair)),
                }
            }
            if self.scopes.step.is_over(cx) {
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
        self.scopes.step.begin(cx);
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
                    Request::Update(op) => Some(self.ops.find(op).ok_or_else(|| cx.unknown_op())?),
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
                kept.map_err(|shortage| cx.no_memory(shortage, ITS_PART, &cx.made_at().clone()))?;
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
        &mut self,
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
            if answer.len() >= ANSWER || number.is_multiple_of(BETWEEN_LOOKS) && self.scopes.step.is_over(cx) {
                break;
            }
        }
        Ok(Some((answer, done)))
    }

    fn scan(&mut self, from: Place, cx: &Cx<'_>) -> Result<Option<Vec<u8>>, Error> {
        let Some(own) = &self.own else {
            return Ok(None);
        };
        let mut answer = vec![0; SCAN_HEAD];
        let (mut behind, mut entries) = (from, 0u32);
        for (place, pair) in own.from(from) {
            code::write_key(&pair.key, &mut answer).map_err(|cause| undecodable::<K>(cause, cx))?;
            code::write(&pair.value, &mut answer).map_err(|cause| undecodable::<V>(cause, cx))?;
            (behind, entries) = (place, entries + 1);
            if answer.len() >= ANSWER || entries.is_multiple_of(BETWEEN_LOOKS as u32) && self.scopes.step.is_over(cx) {
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
        false => Err(another_key::<K>(cx.made_at())),
    }
}

/// Checks that no bytes are left of a request: otherwise its key was not read completely.
fn is_over<K>(rest: &[u8], cx: &Cx<'_>) -> Result<(), Error> {
    if rest.is_empty() { Ok(()) } else { Err(another_key::<K>(cx.made_at())) }
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
    cannot_travel::<T>(cause, cx.made_at())
}
