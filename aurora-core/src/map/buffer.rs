//! Writes of a scope that are not sent yet: one for each key.

use super::code::{self, Fault};
use super::entries::{Entries, Pair};
use super::key::{self, Lookup, MapKey, MapValue};
use super::slots::Slots;
use crate::memory::Prefetch;

/// The approximate bytes of a batch, unless it is a single write.
pub(super) const BATCH: usize = 64 << 10;

/// The maximum number of writes in a batch to this rank itself: they are applied in one step.
pub(super) const OWN_BATCH: usize = 1024;

/// Not the position of any write: [`Buffer::combine`].
pub(super) const NOWHERE: usize = usize::MAX;

/// A buffered write.
#[derive(Debug)]
pub(super) struct Pending<K, V> {
    /// The value, or the operand.
    pub(super) pair: Pair<K, V>,
    pub(super) is_put: bool,
}

impl<K: MapKey, V: MapValue> Pending<K, V> {
    pub(super) fn encoded_len(&self) -> postcard::Result<usize> {
        Ok(1 + code::len(&self.pair.key)? + code::len(&self.pair.value)?)
    }

    pub(super) fn write(&self, batch: &mut Vec<u8>) -> Result<(), Fault> {
        batch.push(u8::from(self.is_put));
        code::write_key(&self.pair.key, batch)?;
        Ok(code::write(&self.pair.value, batch)?)
    }

    pub(super) fn read(batch: &mut &[u8]) -> Result<Self, Fault> {
        let is_put = code::read_flag(batch)?;
        let key = code::read(batch)?;
        Ok(Pending { pair: Pair::new(key, code::read(batch)?), is_put })
    }
}

/// A write in a buffer.
struct Waiting<K, V> {
    hash: u64,
    key: K,
    write: Write<V>,
}

enum Write<V> {
    Insert(V),
    Update(V),
    /// No value: an operation computes a new one, or has panicked. The end of the scope notices a panic.
    Lost,
}

impl<V> Write<V> {
    fn value(&self) -> Option<&V> {
        match self {
            Write::Insert(value) | Write::Update(value) => Some(value),
            Write::Lost => None,
        }
    }
}

impl<K: MapKey, V: MapValue> Waiting<K, V> {
    #[inline]
    fn is(&self, hash: u64, key: &(impl Lookup<K> + ?Sized)) -> bool {
        self.hash == hash && key.is(&self.key)
    }

    fn encoded_len(&self) -> postcard::Result<usize> {
        Ok(1 + code::len(&self.key)? + self.write.value().map_or(Ok(0), code::len)?)
    }
}

impl<K, V> From<Waiting<K, V>> for Pending<K, V> {
    fn from(Waiting { hash, key, write }: Waiting<K, V>) -> Self {
        let (value, is_put) = match write {
            Write::Insert(value) => (value, true),
            Write::Update(value) => (value, false),
            Write::Lost => panic!("an operation has panicked before, on an operand of this scope"),
        };
        Pending { pair: Pair { hash, key, value }, is_put }
    }
}

/// The writes of this rank, to all owners.
pub(super) struct Buffer<K, V> {
    /// In the order of their first write: frequent keys are among the first, and close to each other.
    writes: Vec<Waiting<K, V>>,
    slots: Slots,
    /// The size of the writes in bytes, or more: results of operations are not counted at once.
    size: usize,
    /// The size from which on the writes are sent.
    limit: usize,
    /// The number of operands that were combined with a buffered write since writes were last sent.
    combined: usize,
}

impl<K: MapKey, V: MapValue> Buffer<K, V> {
    /// A buffer with room for `limit` bytes at first.
    pub(super) fn new(limit: usize) -> Self {
        Buffer { writes: Vec::new(), slots: Slots::new(), size: 0, limit, combined: 0 }
    }

    /// Combines an operand with the buffered write to its key, or returns the operand if there is none. `guess`: a
    /// possible position of the write, or any number.
    #[inline]
    pub(super) fn combine(
        &mut self,
        (hash, key, guess): (u64, &(impl Lookup<K> + ?Sized), usize),
        operand: V,
        (apply, combine): (impl Fn(V, V) -> V, impl Fn(V, V) -> V),
    ) -> Option<V> {
        let at = match self.writes.get(guess) {
            Some(there) if there.is(hash, key) => guess,
            _ => match self.slots.find(hash, |at| self.writes[at].is(hash, key)) {
                Some(at) => at,
                None => return Some(operand),
            },
        };
        self.combined += 1;
        let write = &mut self.writes[at].write;
        *write = match std::mem::replace(write, Write::Lost) {
            Write::Insert(value) => Write::Insert(apply(value, operand)),
            Write::Update(value) => Write::Update(combine(value, operand)),
            Write::Lost => Write::Lost,
        };
        None
    }

    /// The first of three steps to update a key in a buffer that no cache holds. Each step prefetches the memory that
    /// the next step reads. Do each step for many keys before the next: the processor then waits for all keys at once.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        self.slots.prefetch(hash);
    }

    /// The second step: the possible position of the write to a key of this hash.
    #[inline]
    pub(super) fn guess(&self, hash: u64) -> usize {
        let guess = self.slots.find(hash, |_| true).unwrap_or(NOWHERE);
        Prefetch::of(&self.writes).fetch(guess);
        guess
    }

    /// The third step. Then comes [`combine`](Buffer::combine).
    #[inline]
    pub(super) fn prefetch_key(&self, hash: u64, guess: usize) {
        if let Some(there) = self.writes.get(guess).filter(|there| there.hash == hash) {
            key::prefetch(&there.key);
        }
    }

    /// Adds a write for a key that has none in the buffer.
    pub(super) fn add(
        &mut self,
        Pending { pair: Pair { hash, key, value }, is_put }: Pending<K, V>,
    ) -> postcard::Result<()> {
        let write = if is_put { Write::Insert(value) } else { Write::Update(value) };
        let waiting = Waiting { hash, key, write };
        self.size += Entries::<K, V>::ENTRY + waiting.encoded_len()?;
        self.writes.push(waiting);
        self.slots.push(self.writes.iter().map(|there| there.hash));
        Ok(())
    }

    /// Replaces the buffered write to a key by this value, or adds it if there is none.
    pub(super) fn put(&mut self, pair: Pair<K, V>) -> postcard::Result<()> {
        match self.slots.find(pair.hash, |at| self.writes[at].is(pair.hash, &pair.key)) {
            Some(at) => {
                self.size += code::len(&pair.value)?;
                self.writes[at].write = Write::Insert(pair.value);
                Ok(())
            }
            None => self.add(Pending { pair, is_put: true }),
        }
    }

    /// Counts bytes that an operation may have added to an operand.
    #[inline]
    pub(super) fn grows(&mut self, bytes: usize) {
        self.size += bytes;
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.size >= self.limit
    }

    /// The buffer seems to be full: counts anew. If it has combined a fifth of the operands, it grows, if `may_grow`
    /// allows the new bytes. Returns true if there is room now.
    pub(super) fn make_room(&mut self, may_grow: impl FnOnce(usize) -> bool) -> postcard::Result<bool> {
        let sizes = self.writes.iter().map(Waiting::encoded_len);
        self.size = sizes.sum::<postcard::Result<usize>>()? + self.writes.len() * Entries::<K, V>::ENTRY;
        let is_full = |buffer: &Self| buffer.size >= buffer.limit / 4 * 3;
        if is_full(self) && 4 * self.combined >= self.writes.len() && may_grow(2 * self.limit) {
            self.limit *= 2;
        }
        Ok(!is_full(self))
    }

    /// Takes out all writes, in the order of the first write to each key.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Pending<K, V>> {
        (self.size, self.combined) = (0, 0);
        self.slots.clear();
        self.writes.drain(..).map(Pending::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::key::hash_of;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    type Sum = fn(u64, u64) -> u64;

    const SUM: (Sum, Sum) = (|a, b| a + b, |a, b| a + b);

    fn update(buffer: &mut Buffer<String, u64>, key: &str, operand: u64) {
        let hash = hash_of(key);
        if let Some(value) = buffer.combine((hash, key, NOWHERE), operand, SUM) {
            let pair = Pair { hash, key: key.to_owned(), value };
            buffer.add(Pending { pair, is_put: false }).expect("it can be encoded");
        }
    }

    #[test]
    fn writes_to_one_key_are_one() {
        let mut buffer = Buffer::new(BATCH);
        update(&mut buffer, "a", 1);
        update(&mut buffer, "a", 2);
        update(&mut buffer, "b", 5);
        buffer.put(Pair::new("b".into(), 7)).expect("it can be encoded");
        update(&mut buffer, "b", 1);
        let mut writes: Vec<_> = buffer.take().map(|write| (write.pair.key, write.pair.value, write.is_put)).collect();
        writes.sort();
        assert_eq!(writes, [("a".into(), 3, false), ("b".into(), 8, true)]);
        assert!(buffer.writes.is_empty() && buffer.size == 0);
    }

    #[test]
    fn a_guess_may_be_wrong() {
        let mut buffer = Buffer::new(BATCH);
        ["a", "b"].into_iter().for_each(|key| update(&mut buffer, key, 1));
        let [a, b, none] = ["a", "b", "c"].map(hash_of);
        assert_eq!([a, b, none].map(|hash| buffer.guess(hash)), [0, 1, NOWHERE]);
        for guess in [0, 1, 2, NOWHERE] {
            assert_eq!(buffer.combine((b, "b", guess), 5, SUM), None);
            assert_eq!(buffer.combine((none, "c", guess), 7, SUM), Some(7));
        }
        let writes: Vec<_> = buffer.take().map(|write| (write.pair.key, write.pair.value)).collect();
        assert_eq!(writes, [("a".into(), 1), ("b".into(), 21)]);
        assert_eq!((buffer.guess(b), buffer.combine((b, "b", 1), 5, SUM)), (NOWHERE, Some(5)));
    }

    #[test]
    fn what_a_panic_has_lost_is_noticed() {
        let mut buffer = Buffer::new(BATCH);
        ["a", "b"].into_iter().for_each(|key| update(&mut buffer, key, 1));
        let fails: Sum = |_, _| panic!("cannot compute");
        let failing = AssertUnwindSafe(|| buffer.combine((hash_of("b"), "b", NOWHERE), 1, (fails, fails)));
        assert!(catch_unwind(failing).is_err());
        update(&mut buffer, "b", 1);
        assert_eq!(buffer.make_room(|_| unreachable!("it is not full")), Ok(true));
        assert!(catch_unwind(AssertUnwindSafe(|| buffer.take().count())).is_err());
    }

    #[test]
    fn a_buffer_that_combines_grows() {
        let fill = |distinct: usize| {
            let mut buffer = Buffer::new(BATCH);
            let mut step = 0;
            while !buffer.is_full() {
                update(&mut buffer, &format!("key {}", step % distinct), 1);
                buffer.grows(100);
                step += 1;
            }
            buffer
        };
        assert_eq!(fill(1_000_000).make_room(|_| true), Ok(true), "the operands were smaller than counted");
        assert_eq!(fill(10).make_room(|_| unreachable!("it is not full")), Ok(true));
        let full = |combined| {
            let mut buffer = Buffer::new(BATCH);
            (0..700).for_each(|key| update(&mut buffer, &format!("key {key}"), 1));
            (0..combined).for_each(|key| update(&mut buffer, &format!("key {key}"), 1));
            buffer
        };
        assert_eq!(
            [10, 600].map(|combined| full(combined).make_room(|bytes| bytes == 2 * BATCH)),
            [Ok(false), Ok(true)]
        );
        assert_eq!(full(600).make_room(|_| false), Ok(false));
    }

    #[test]
    fn writes_come_back() {
        let write = Pending { pair: Pair::new(String::from("key"), vec![1u8, 2]), is_put: true };
        let mut batch = Vec::new();
        write.write(&mut batch).expect("it can be encoded");
        assert_eq!(write.encoded_len(), Ok(batch.len()));
        let back = Pending::<String, Vec<u8>>::read(&mut &batch[..]).expect("it is whole");
        assert!(back.pair.key == "key" && back.pair.value == [1, 2] && back.is_put);
        assert!((0..batch.len()).all(|len| Pending::<String, Vec<u8>>::read(&mut &batch[..len]).is_err()));
    }
}
