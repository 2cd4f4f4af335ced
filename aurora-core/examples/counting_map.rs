//! A distributed map that counts keys, as a shared object of a program's own with a collective `ReleaseC`:
//! `cargo run -p aurora-spmd --example counting_map`.
//!
//! The hash of a key chooses the rank whose part has its count. Every rank counts the words of a text, and rank 0
//! prints the most frequent ones.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use aurora_core::object::{Payload, Plan, Shared};
use aurora_core::ops::{OpId, Sum};
use aurora_core::prelude::*;
use aurora_core::scope::{Access, OpenScope, Opening, Outcome, Part, Scoped, SendBatch, Turn, Writes};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem;

/// A key is any type that serde can encode.
pub trait Key: Hash + Eq + Clone + Serialize + DeserializeOwned + Send + 'static {}

impl<K: Hash + Eq + Clone + Serialize + DeserializeOwned + Send + 'static> Key for K {}

/// A rank's part of the map: the counts of its keys.
struct Counts<K>(HashMap<K, u64>);

/// The payload is the key; none for `All`, whose answer is all counts of the part.
#[derive(Serialize, Deserialize)]
enum Request {
    Get,
    Add(u64),
    All,
}

impl<K: Key> Part for Counts<K> {
    type Request = Request;
    type Batch = ();

    fn is_write(request: &Request) -> bool {
        matches!(request, Request::Add(_))
    }

    fn serve(&mut self, request: &mut Request, payload: &[u8], turn: &mut Turn<'_, '_>) -> Outcome {
        Outcome::Done(self.answer(request, payload, turn).map(Payload::from))
    }

    fn apply(&mut self, _: &mut (), payload: &[u8], turn: &mut Turn<'_, '_>) -> Outcome {
        let add = |counts: Vec<_>| counts.into_iter().try_for_each(|(key, more)| self.add(key, more, turn));
        Outcome::applied(decode(payload).and_then(add))
    }
}

impl<K: Key> Counts<K> {
    fn answer(&mut self, request: &Request, payload: &[u8], turn: &mut Turn<'_, '_>) -> Result<Vec<u8>> {
        if let Request::All = request {
            return encode(&self.0);
        }
        let key = decode::<K>(payload)?;
        if let Request::Add(more) = request {
            turn.accessed(Access::Update(OpId::of::<Sum>()), &key)?;
            self.add(key, *more, turn)?;
            return Ok(Vec::new());
        }
        turn.accessed(Access::Read, &key)?;
        encode(&self.0.get(&key).copied().unwrap_or(0))
    }

    fn add(&mut self, key: K, more: u64, turn: &mut Turn<'_, '_>) -> Result<()> {
        if !self.0.contains_key(&key) {
            turn.take_memory(2 * size_of::<(K, u64)>())?;
        }
        *self.0.entry(key).or_insert(0) += more;
        Ok(())
    }
}

fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    postcard::to_allocvec(value).map_err(|error| Error::user(error))
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    postcard::from_bytes(bytes).map_err(|error| Error::user(error))
}

/// A map from keys to counts. Each access is one round trip to the key's owner; [`release_c`](GCounts::release_c)
/// makes loops fast.
pub struct GCounts<K: Key>(Shared<Scoped<Counts<K>>>);

impl<K: Key> GCounts<K> {
    /// Collective.
    #[track_caller]
    pub fn new(world: &World) -> Result<Self> {
        let name = format!("GCounts<{}>", std::any::type_name::<K>());
        world.share_part(Plan::new(name, &()), |_| Ok(Counts(HashMap::new()))).map(GCounts)
    }

    /// The count of a key.
    #[track_caller]
    pub fn get(&self, key: &K) -> Result<u64> {
        decode(&self.0.request(owner(key, self.0.size()), "get", Request::Get, encode(key)?)?)
    }

    /// Adds to the count of a key.
    #[track_caller]
    pub fn add(&mut self, key: &K, more: u64) -> Result<()> {
        self.0.request(owner(key, self.0.size()), "add", Request::Add(more), encode(key)?).map(drop)
    }

    /// All counts, from all ranks. They are accurate if no rank adds meanwhile.
    #[track_caller]
    pub fn all(&self) -> Result<Vec<(K, u64)>> {
        let mut all = Vec::new();
        self.0.request_each("all", |_, answer| {
            let Some(counts) = answer else { return Ok(Some((Request::All, Vec::new()))) };
            all.extend(decode::<HashMap<K, u64>>(&counts)?);
            Ok(None)
        })?;
        Ok(all)
    }

    /// Collective. Sets all counts to 0.
    #[track_caller]
    pub fn clear(&mut self) -> Result<()> {
        self.0.meet("a clear", true, |counts| {
            counts.freed();
            counts.part_mut().0.clear();
            Ok(())
        })
    }

    /// Collective. Opens a scope in which every rank adds to any key. The counts are seen after the scope.
    #[track_caller]
    pub fn release_c(&mut self) -> Result<Counting<'_, K>> {
        let unsent = Unsent { counts: HashMap::new(), size: self.0.size() };
        self.0.open_scope(Opening::writes("ReleaseC").with_op::<Sum>(), unsent).map(Counting)
    }
}

/// The rank whose part has the count of a key.
fn owner<K: Hash>(key: &K, ranks: usize) -> Rank {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    Rank::new(hasher.finish() as usize % ranks)
}

/// The scope of [`GCounts::release_c`]. Dropping it ends the scope.
#[must_use]
pub struct Counting<'m, K: Key>(OpenScope<'m, Counts<K>, Unsent<K>>);

impl<K: Key> Counting<'_, K> {
    /// Adds to the count of a key.
    #[track_caller]
    pub fn add(&mut self, key: K, more: u64) -> Result<()> {
        /// A rank sends its buffer when it has this number of keys.
        const MOST: usize = 100_000;
        self.0.updated(owner(&key, self.0.writes.size), &key);
        *self.0.writes.counts.entry(key).or_insert(0) += more;
        if self.0.writes.counts.len() < MOST { Ok(()) } else { self.0.flush() }
    }

    /// Ends the scope on all ranks, with its errors.
    pub fn finish(self) -> Result<()> {
        self.0.finish()
    }
}

/// The counts of a rank that are not sent yet.
struct Unsent<K> {
    counts: HashMap<K, u64>,
    size: usize,
}

impl<K: Key> Writes<Counts<K>> for Unsent<K> {
    fn flush(&mut self, send: SendBatch<'_, Counts<K>>) -> Result<()> {
        let mut batches = vec![Vec::new(); self.size];
        for (key, more) in mem::take(&mut self.counts) {
            batches[owner(&key, self.size).index()].push((key, more));
        }
        for (owner, batch) in batches.iter().enumerate() {
            batch.chunks(4096).try_for_each(|some| send(Rank::new(owner), (), encode(&some)?.into()))?;
        }
        Ok(())
    }
}

fn main() -> Result<()> {
    aurora_core::run(|world| {
        let mut counts = GCounts::<String>::new(world)?;
        let mut scope = counts.release_c()?;
        "to be or not to be that is the question".split(' ').try_for_each(|word| scope.add(word.into(), 1))?;
        scope.finish()?;
        assert_eq!(counts.get(&"be".into())?, 2 * world.size() as u64);
        let frequent = counts.all()?.into_iter().filter(|(_, count)| *count > world.size() as u64);
        if world.is_root() {
            println!("more than once on each rank: {:?}", frequent.collect::<Vec<_>>());
        }
        Ok(())
    })
}
