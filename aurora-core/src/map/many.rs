//! Many keys in one call: requests to all owners under way at the same time.

use super::code;
use super::key::{Lookup, MapKey, MapValue, hash_of};
use super::message::Request;
use super::{GMap, buffer};
use crate::encoding::cannot_travel;
use crate::kernel::message::malformed;
use crate::{Result, Site};
use aurora_net::Rank;

/// The maximum number of keys of a request.
const KEYS: usize = 1024;

const ACTION: &str = "get_many";

/// The keys that are looked up at one owner, one piece after the other.
struct Wanted<'k, Q: ?Sized> {
    /// The keys, and their positions in the result.
    keys: Vec<(usize, &'k Q)>,
    /// The number of keys in the last request.
    asked: usize,
    /// The number of answered keys.
    done: usize,
}

impl<K: MapKey, V: MapValue> GMap<K, V> {
    /// Returns the values of many keys, in their order. All owners get requests at once, each in as few messages as
    /// hold its keys and their values.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let mut squares = GMap::<u64, u64>::new(world)?;
    ///     let mut scope = squares.release_c()?;
    ///     let mut mine = (world.rank().index() as u64..100).step_by(world.size());
    ///     mine.try_for_each(|n| scope.insert(n, n * n))?;
    ///     scope.finish()?;
    ///     assert_eq!(squares.get_many(&[7, 500, 2])?, [Some(49), None, Some(4)]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`get`](GMap::get).
    #[track_caller]
    pub fn get_many<'k, Q>(&self, keys: impl IntoIterator<Item = &'k Q>) -> Result<Vec<Option<V>>>
    where
        Q: Lookup<K> + ?Sized + 'k,
    {
        let site = Site::here();
        self.call(|| self.get_all(keys.into_iter(), &site))
    }

    fn get_all<'k, Q>(&self, keys: impl Iterator<Item = &'k Q>, site: &Site) -> Result<Vec<Option<V>>>
    where
        Q: Lookup<K> + ?Sized + 'k,
    {
        let mut wanted: Vec<_> =
            (0..self.shared.size).map(|_| Wanted { keys: Vec::new(), asked: 0, done: 0 }).collect();
        let mut len = 0;
        for key in keys {
            wanted[self.owner(key).index()].keys.push((len, key));
            len += 1;
        }
        let mut values: Vec<_> = (0..len).map(|_| None).collect();
        let next = |owner: Rank, answer: Option<Vec<u8>>| {
            let wanted = &mut wanted[owner.index()];
            if let Some(answer) = answer {
                self.take(owner, wanted, &answer, &mut values, site)?;
            }
            wanted.next(site)
        };
        self.shared.request_each_at(ACTION, next, site)?;
        Ok(values)
    }

    /// Puts an answer, about the first of the keys of the last request, into the result.
    fn take<Q: ?Sized>(
        &self,
        owner: Rank,
        wanted: &mut Wanted<'_, Q>,
        mut answer: &[u8],
        values: &mut [Option<V>],
        site: &Site,
    ) -> Result<()> {
        let before = wanted.done;
        while !answer.is_empty() {
            if wanted.done - before == wanted.asked {
                return Err(malformed(owner));
            }
            values[wanted.keys[wanted.done].0] = self.read_found(&mut answer, owner, site)?;
            wanted.done += 1;
        }
        if wanted.done > before { Ok(()) } else { Err(malformed(owner)) }
    }
}

impl<Q: ?Sized> Wanted<'_, Q> {
    /// The request for the next keys, if there are any.
    fn next<K: MapKey>(&mut self, site: &Site) -> Result<Option<(Request, Vec<u8>)>>
    where
        Q: Lookup<K>,
    {
        let (mut keys, mut payload) = (0, Vec::new());
        for (_, key) in self.keys[self.done..].iter().take(KEYS) {
            code::write_sought::<K>(hash_of(*key), *key, &mut payload)
                .map_err(|cause| cannot_travel::<K>(cause, site))?;
            keys += 1;
            if payload.len() >= buffer::BATCH {
                break;
            }
        }
        self.asked = keys as usize;
        Ok((keys > 0).then_some((Request::Get { keys }, payload)))
    }
}
