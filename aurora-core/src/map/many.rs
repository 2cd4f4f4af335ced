//! Many keys in one call: requests to all owners under way at the same time.

use super::code;
use super::key::{Lookup, MapKey, MapValue, hash_of};
use super::message::Request;
use super::{GMap, buffer};
use crate::Site;
use crate::encoding::cannot_travel;
use crate::error::Result;
use crate::kernel::message::malformed;
use crate::link::Asked;
use aurora_net::Rank;

/// The maximum number of keys of a request.
const KEYS: usize = 1024;

const ACTION: &str = "get_many";

/// The keys that are looked up at one owner, one piece after the other.
struct Wanted<'k, Q: ?Sized> {
    /// The keys, and their positions in the result.
    keys: Vec<(usize, &'k Q)>,
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
        self.shared.no_look();
        let mut wanted: Vec<_> = (0..self.shared.size).map(|_| Wanted { keys: Vec::new(), done: 0 }).collect();
        let mut len = 0;
        for key in keys {
            wanted[self.owner(key).index()].keys.push((len, key));
            len += 1;
        }
        let mut values: Vec<_> = (0..len).map(|_| None).collect();
        let me = self.shared.me;
        let others = || me.others(self.shared.size);
        let mut under_way: Vec<_> = wanted.iter().map(|_| None).collect();
        for owner in others() {
            under_way[owner.index()] = self.ask_more(owner, &wanted[owner.index()], site)?;
        }
        let own = &mut wanted[me.index()];
        while own.done < own.keys.len() {
            let (keys, payload) = own.next(site)?;
            let answer = self.ask(me, Request::Get { keys }, payload, ACTION, site)?;
            self.take(me, own, (keys, &answer), &mut values, site)?;
        }
        while under_way.iter().any(Option::is_some) {
            for owner in others() {
                let Some((keys, asked)) = under_way[owner.index()].take() else {
                    continue;
                };
                let _call = self.shared.bulk_call(ACTION);
                let answer = self.answer(asked.hand_over(), ACTION, site)?;
                let wanted = &mut wanted[owner.index()];
                self.take(owner, wanted, (keys, &answer), &mut values, site)?;
                under_way[owner.index()] = self.ask_more(owner, wanted, site)?;
            }
        }
        Ok(values)
    }

    /// Requests the next keys of an owner, if there are any. Returns their number.
    fn ask_more<Q: Lookup<K> + ?Sized>(
        &self,
        owner: Rank,
        wanted: &Wanted<'_, Q>,
        site: &Site,
    ) -> Result<Option<(u32, Asked<'_>)>> {
        if wanted.done == wanted.keys.len() {
            return Ok(None);
        }
        let _call = self.shared.bulk_call(ACTION);
        let (keys, payload) = wanted.next(site)?;
        let call = self.send_request(owner, Request::Get { keys }, payload, ACTION, site)?;
        Ok(Some((keys, Asked::new(&self.shared, call))))
    }

    /// Puts an answer, about the first of the `asked` keys, into the result.
    fn take<Q: ?Sized>(
        &self,
        owner: Rank,
        wanted: &mut Wanted<'_, Q>,
        (asked, mut answer): (u32, &[u8]),
        values: &mut [Option<V>],
        site: &Site,
    ) -> Result<()> {
        let before = wanted.done;
        while !answer.is_empty() {
            if wanted.done - before == asked as usize {
                return Err(malformed(owner));
            }
            values[wanted.keys[wanted.done].0] = self.read_found(&mut answer, owner, site)?;
            wanted.done += 1;
        }
        if wanted.done > before { Ok(()) } else { Err(malformed(owner)) }
    }
}

impl<Q: ?Sized> Wanted<'_, Q> {
    /// The number of the next keys, and their encoding.
    fn next<K: MapKey>(&self, site: &Site) -> Result<(u32, Vec<u8>)>
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
        Ok((keys, payload))
    }
}
