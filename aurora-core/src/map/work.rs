//! The work of a rank's part of a map: requests and batches.

use super::Pending;
use super::code::{self, Fault};
use super::entries::{Entries, Pair, Place};
use super::key::{MapKey, MapValue, hash_of, owner_of};
use super::message::{MapBatch, Request};
use super::operations::OpFn;
use super::part::Own;
use crate::encoding::cannot_travel;
use crate::kernel::message::malformed;
use crate::object::Cx;
use crate::ops::OpId;
use crate::scope::{Access, Outcome, Part, Turn};
use crate::{Error, Site};
use aurora_net::{Payload, Rank};
use std::fmt::Display;
use std::sync::Arc;

/// Entries between two looks at the clock.
const BETWEEN_LOOKS: usize = 32;

/// The approximate maximum bytes of an answer, unless it is the answer about a single entry.
pub(super) const ANSWER: usize = 256 << 10;

/// The bytes in front of the entries of a scan: the place behind the entries, and their number.
pub(super) const SCAN_HEAD: usize = 3 * size_of::<u32>();

/// A write, and its length when encoded.
type Measured<K, V> = (Pending<K, V>, usize);

impl<K: MapKey, V: MapValue> MapBatch<K, V> {
    /// The next write of a batch.
    fn next_write(&mut self, payload: &[u8]) -> Result<Option<Measured<K, V>>, Fault> {
        if let Some(writes) = &mut self.own {
            return match writes.next() {
                None => Ok(None),
                Some(write) => Ok(write.encoded_len().map(|len| Some((write, len)))?),
            };
        }
        let mut rest = &payload[self.done..];
        if rest.is_empty() {
            return Ok(None);
        }
        let before = rest.len();
        let write = Pending::read(&mut rest)?;
        let len = before - rest.len();
        self.done += len;
        self.hashes = self.hashes.wrapping_sub(write.pair.hash);
        Ok(Some((write, len)))
    }

    /// Applies the next writes. Returns the bytes of memory that they take, and true if there are no more. `None`: a
    /// key is not one that its sender has written.
    fn apply_few(
        &mut self,
        own: &mut Entries<K, V>,
        payload: &[u8],
        apply: Option<OpFn<V>>,
        (me, ranks): (Rank, usize),
    ) -> Result<(usize, bool), Option<Fault>> {
        let mut taken = 0;
        for _ in 0..BETWEEN_LOOKS {
            let Some((write, bytes)) = self.next_write(payload).map_err(Some)? else {
                return if self.hashes == 0 { Ok((taken, true)) } else { Err(None) };
            };
            if owner_of(write.pair.hash, ranks) != me {
                return Err(None);
            }
            taken += bytes + Entries::<K, V>::ENTRY;
            match apply.filter(|_| !write.is_put) {
                Some(apply) => own.update(write.pair, apply),
                None => drop(own.insert(write.pair)),
            }
        }
        Ok((taken, false))
    }
}

impl<K: MapKey, V: MapValue> Part for Own<K, V> {
    type Request = Request;
    type Batch = MapBatch<K, V>;

    const IN_STEPS: bool = true;

    fn is_write(request: &Request) -> bool {
        matches!(request, Request::Insert | Request::Remove | Request::Update(_))
    }

    fn serve(&mut self, request: &mut Request, payload: &[u8], turn: &mut Turn<'_, '_>) -> Outcome {
        match self.answer(*request, payload, turn) {
            Ok(None) => Outcome::Park,
            Ok(Some(answer)) => Outcome::Done(Ok(Payload::Bytes(answer.into()))),
            Err(error) => Outcome::Done(Err(error)),
        }
    }

    fn apply(&mut self, batch: &mut MapBatch<K, V>, payload: &[u8], turn: &mut Turn<'_, '_>) -> Outcome {
        self.apply_some(batch, payload, turn).unwrap_or_else(|error| Outcome::Done(Err(error)))
    }

    /// True if a guard shows this rank's entries.
    fn is_lent(&self) -> bool {
        self.entries.as_ref().is_none_or(|own| Arc::strong_count(own) > 1)
    }
}

impl<K: MapKey, V: MapValue> Own<K, V> {
    /// Applies the rest of a batch, until the step has ended.
    fn apply_some(
        &mut self,
        batch: &mut MapBatch<K, V>,
        payload: &[u8],
        turn: &mut Turn<'_, '_>,
    ) -> Result<Outcome, Error> {
        let apply = turn.op().map(|op| self.op(op, turn)).transpose()?;
        let here = (turn.me(), turn.size());
        loop {
            let Some(own) = self.entries_mut() else {
                return Ok(Outcome::Park);
            };
            let (bytes, is_done) = match batch.apply_few(own, payload, apply, here) {
                Ok(applied) => applied,
                Err(None) => return Err(another_key::<K>(turn.made_at())),
                Err(Some(Fault::Type(cause))) => return Err(undecodable::<(K, V)>(cause, turn)),
                Err(Some(Fault::Malformed)) => {
                    let error = malformed(turn.from());
                    turn.fail_job(error.clone());
                    return Err(error);
                }
            };
            turn.take_memory(bytes)?;
            if is_done {
                return Ok(Outcome::applied(Ok(())));
            }
            if turn.is_over() {
                return Ok(Outcome::Interrupted);
            }
        }
    }

    /// The answer to a request. `None`: a guard has lent this rank's entries.
    fn answer(
        &mut self,
        request: Request,
        mut payload: &[u8],
        turn: &mut Turn<'_, '_>,
    ) -> Result<Option<Vec<u8>>, Error> {
        let payload = &mut payload;
        let mut answer = Vec::new();
        match request {
            Request::Get { keys } => return self.look_up(keys, payload, turn, code::write),
            Request::Contains { keys } => return self.look_up(keys, payload, turn, |_, _| Ok(())),
            Request::Scan { from } => return self.scan(from, turn),
            Request::Remove => {
                let (hash, key) = read_key::<K>(payload, turn)?;
                is_over::<K>(payload, turn)?;
                let Some(own) = self.entries_mut() else {
                    return Ok(None);
                };
                write_found(own.remove(hash, |there| *there == key).as_ref(), &mut answer, turn, code::write)?;
                turn.accessed(Access::Write, &key)?;
            }
            Request::Insert | Request::Update(_) => {
                let (op, access) = match request {
                    Request::Update(op) => (Some(self.op(op, turn)?), Access::Update(op)),
                    _ => (None, Access::Write),
                };
                let bytes = payload.len();
                let (hash, key) = read_key::<K>(payload, turn)?;
                let value = code::read(payload).map_err(|cause| undecodable::<V>(cause, turn))?;
                is_over::<K>(payload, turn)?;
                let Some(own) = self.entries_mut() else {
                    return Ok(None);
                };
                turn.take_memory(bytes + Entries::<K, V>::ENTRY)?;
                turn.accessed(access, &key)?;
                let pair = Pair { hash, key, value };
                match op {
                    Some(op) => own.update(pair, op),
                    None => write_found(own.insert(pair).as_ref(), &mut answer, turn, code::write)?,
                }
            }
        }
        Ok(Some(answer))
    }

    fn op(&self, op: OpId, cx: &Cx<'_>) -> Result<OpFn<V>, Error> {
        self.ops.find(op).ok_or_else(|| cx.unknown_op())
    }

    /// Looks up keys, until all are done, or the step has ended.
    fn look_up(
        &mut self,
        keys: u32,
        payload: &mut &[u8],
        turn: &mut Turn<'_, '_>,
        write: impl Fn(&V, &mut Vec<u8>) -> postcard::Result<()>,
    ) -> Result<Option<Vec<u8>>, Error> {
        let Some(own) = &self.entries else {
            return Ok(None);
        };
        let mut answer = Vec::new();
        for number in 1..=keys as usize {
            let (hash, key) = read_key::<K>(payload, turn)?;
            if number == keys as usize {
                is_over::<K>(payload, turn)?;
            }
            write_found(own.find(hash, |there| *there == key), &mut answer, turn, &write)?;
            turn.accessed(Access::Read, &key)?;
            if answer.len() >= ANSWER || number.is_multiple_of(BETWEEN_LOOKS) && turn.is_over() {
                break;
            }
        }
        Ok(Some(answer))
    }

    /// Entries from a place on. They are no accesses: a scan runs between two calls of all ranks.
    fn scan(&mut self, from: Place, turn: &Turn<'_, '_>) -> Result<Option<Vec<u8>>, Error> {
        let Some(own) = &self.entries else {
            return Ok(None);
        };
        let mut answer = vec![0; SCAN_HEAD];
        let (mut behind, mut entries) = (from, 0u32);
        for (place, pair) in own.from(from) {
            code::write_key(&pair.key, &mut answer).map_err(|cause| undecodable::<K>(cause, turn))?;
            code::write(&pair.value, &mut answer).map_err(|cause| undecodable::<V>(cause, turn))?;
            (behind, entries) = (place, entries + 1);
            if answer.len() >= ANSWER || entries.is_multiple_of(BETWEEN_LOOKS as u32) && turn.is_over() {
                break;
            }
        }
        for (place, number) in answer.chunks_exact_mut(4).zip([behind.0, behind.1, entries]) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        Ok(Some(answer))
    }
}

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
