//! Writes of a scope that are not sent yet, for each owner: one for each key.

use super::code;
use super::entries::{Entries, Pair};
use super::key::{Lookup, MapKey, MapValue};
use hashbrown::HashTable;

/// A batch has about so many bytes, or is a single write.
pub(super) const BATCH: usize = 64 << 10;

/// A batch to this rank itself has at most so many writes: they are applied in one step.
pub(super) const OWN_BATCH: usize = 1024;

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

    pub(super) fn write(&self, batch: &mut Vec<u8>) -> postcard::Result<()> {
        batch.push(u8::from(self.is_put));
        code::write(&self.pair.key, batch)?;
        code::write(&self.pair.value, batch)
    }

    pub(super) fn read(batch: &mut &[u8]) -> postcard::Result<Self> {
        let is_put = code::read_flag(batch)?;
        let key = code::read(batch)?;
        Ok(Pending { pair: Pair::new(key, code::read(batch)?), is_put })
    }
}

/// The same in a buffer. The value is there except while an operation computes a new one.
struct Waiting<K, V> {
    hash: u64,
    key: K,
    value: Option<V>,
    is_put: bool,
}

impl<K: MapKey, V: MapValue> Waiting<K, V> {
    fn encoded_len(&self) -> postcard::Result<usize> {
        Ok(1 + code::len(&self.key)? + self.value.as_ref().map_or(Ok(0), code::len)?)
    }
}

impl<K, V> From<Waiting<K, V>> for Pending<K, V> {
    fn from(Waiting { hash, key, value, is_put }: Waiting<K, V>) -> Self {
        let value = value.expect("an operation has panicked before, on an operand of this scope");
        Pending { pair: Pair { hash, key, value }, is_put }
    }
}

/// The writes to one owner.
pub(super) struct Buffer<K, V> {
    writes: HashTable<Waiting<K, V>>,
    /// The size of the writes in bytes, or more: what operations make of operands is not counted at once.
    size: usize,
    /// From this size on the writes are sent.
    limit: usize,
    /// Operands that were combined with one that waits here, since the last were sent.
    combined: usize,
}

impl<K: MapKey, V: MapValue> Buffer<K, V> {
    /// With room for so many bytes at first.
    pub(super) fn new(limit: usize) -> Self {
        Buffer { writes: HashTable::new(), size: 0, limit, combined: 0 }
    }

    /// Combines an operand with what waits for its key; the operand comes back if nothing does.
    #[inline]
    pub(super) fn combine(
        &mut self,
        hash: u64,
        key: &(impl Lookup<K> + ?Sized),
        operand: V,
        (apply, combine): (impl Fn(V, V) -> V, impl Fn(V, V) -> V),
    ) -> Option<V> {
        let Some(there) = self.writes.find_mut(hash, |there| there.hash == hash && key.is(&there.key)) else {
            return Some(operand);
        };
        self.combined += 1;
        let join = |value| if there.is_put { apply(value, operand) } else { combine(value, operand) };
        // If the operation panics, nothing is left: the end of the scope notices it.
        there.value = there.value.take().map(join);
        None
    }

    /// Adds a write for a key for which nothing waits.
    pub(super) fn add(
        &mut self,
        Pending { pair: Pair { hash, key, value }, is_put }: Pending<K, V>,
    ) -> postcard::Result<()> {
        let write = Waiting { hash, key, value: Some(value), is_put };
        self.size += Entries::<K, V>::ENTRY + write.encoded_len()?;
        self.writes.insert_unique(hash, write, |there| there.hash);
        Ok(())
    }

    /// Puts a value in the place of what waits for its key, if anything does.
    pub(super) fn put(&mut self, pair: Pair<K, V>) -> postcard::Result<()> {
        let hash = pair.hash;
        match self.writes.find_mut(hash, |there| there.hash == hash && there.key == pair.key) {
            Some(there) => {
                self.size += code::len(&pair.value)?;
                (there.value, there.is_put) = (Some(pair.value), true);
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

    /// The buffer seems to be full: counts anew. If it has combined a fifth of the operands, it grows, as far as
    /// `may_grow` allows so many bytes. Returns whether there is room now.
    pub(super) fn make_room(&mut self, may_grow: impl FnOnce(usize) -> bool) -> postcard::Result<bool> {
        let sizes = self.writes.iter().map(Waiting::encoded_len);
        self.size = sizes.sum::<postcard::Result<usize>>()? + self.writes.len() * Entries::<K, V>::ENTRY;
        let is_full = |buffer: &Self| buffer.size >= buffer.limit / 4 * 3;
        if is_full(self) && 4 * self.combined >= self.writes.len() && may_grow(2 * self.limit) {
            self.limit *= 2;
        }
        Ok(!is_full(self))
    }

    /// Takes out all writes.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Pending<K, V>> {
        (self.size, self.combined) = (0, 0);
        self.writes.drain().map(Pending::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::key::hash_of;

    type Sum = fn(u64, u64) -> u64;

    const SUM: (Sum, Sum) = (|a, b| a + b, |a, b| a + b);

    fn update(buffer: &mut Buffer<String, u64>, key: &str, operand: u64) {
        let hash = hash_of(key);
        if let Some(value) = buffer.combine(hash, key, operand, SUM) {
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
