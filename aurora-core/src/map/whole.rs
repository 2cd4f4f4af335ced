//! Collective calls on the whole map.

use super::GMap;
use super::entries::Place;
use super::handle::read;
use super::key::{MapKey, MapValue};
use super::message::Request;
use super::work::SCAN_HEAD;
use crate::collective::{In, Proposal};
use crate::kernel::message::malformed;
use crate::link::{CollectiveCall, Give};
use crate::memory::Allowance;
use crate::{Error, Result, Site, digest};
use aurora_net::Rank;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

const GATHER: &str = "gather_to";

impl<K: MapKey, V: MapValue> GMap<K, V> {
    /// Collective. Returns the number of entries on all ranks together. Orders all ranks: earlier writes of any rank
    /// are counted. The number of this rank's own entries is `owner_computes()?.len()`.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut ranks = GMap::<usize, ()>::new(world)?;
    /// ranks.insert(world.rank().index(), ())?;
    /// assert_eq!(ranks.global_len()?, world.size()); // no barrier is needed before
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Mismatch`, `Leaked` or `Poisoned`; the error that ended the job.
    #[doc(alias = "len")]
    #[track_caller]
    pub fn global_len(&self) -> Result<usize> {
        self.count(&Site::here())
    }

    /// Collective. Returns true if no rank has entries. Order and errors as for [`global_len`](GMap::global_len).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut ranks = GMap::<usize, ()>::new(world)?;
    /// assert!(ranks.is_globally_empty()?);
    /// if world.is_root() {
    ///     ranks.insert(0, ())?;
    /// }
    /// assert!(!ranks.is_globally_empty()?); // on every rank
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias = "is_empty")]
    #[track_caller]
    pub fn is_globally_empty(&self) -> Result<bool> {
        self.count(&Site::here()).map(|len| len == 0)
    }

    fn count(&self, site: &Site) -> Result<usize> {
        let text = format!("the count of {}", self.name());
        let key = digest::add(self.shared.id().0, 1);
        self.shared.synchronize("a count", &text, key, self.unusable(false, site), site)?;
        let own = self.shared.on(site, |map, _| Ok(map.part.entries.as_ref().map_or(0, |own| own.len() as u64)))?;
        let size = self.shared.size;
        let action = In(&text);
        let mut call = CollectiveCall::new(&self.shared, Proposal::new("the sum of a count", &action, key), site);
        let sum = call.share(Give::Word(&own.to_ne_bytes()), |given| {
            let counts = (0..size).map(|rank| given.of(rank).try_into().map(u64::from_ne_bytes));
            counts.sum::<std::result::Result<u64, _>>()
        })?;
        sum.map(|sum| sum as usize).map_err(|_| malformed(self.shared.me))
    }

    /// Collective. Returns all entries on rank `root`, in any order, and `None` on other ranks. Orders all ranks before
    /// and after.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    /// use std::collections::HashMap;
    ///
    /// Config::threads(3).run(|world| {
    ///     let mut squares = GMap::<u64, u64>::new(world)?;
    ///     let mut scope = squares.release_c()?;
    ///     let mut mine = (world.rank().index() as u64..100).step_by(world.size());
    ///     mine.try_for_each(|n| scope.insert(n, n * n))?;
    ///     scope.finish()?;
    ///     if let Some(all) = squares.gather_to(0)? {
    ///         let all: HashMap<_, _> = all.into_iter().collect(); // on rank 0
    ///         assert_eq!((all.len(), all[&9]), (100, 81));
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`global_len`](GMap::global_len); [`Error::NoSuchRank`]; [`Error::OutOfMemory`] if `root` has no memory
    /// for all entries; [`Error::Value`] if an entry cannot be sent or read.
    #[doc(alias("collect", "gather"))]
    #[track_caller]
    pub fn gather_to(&self, root: impl Into<Rank>) -> Result<Option<Vec<(K, V)>>> {
        let (site, root) = (Site::here(), root.into());
        let size = self.shared.size;
        let refusal = match root.index() < size {
            true => self.unusable(false, &site),
            false => Some(Error::NoSuchRank { rank: root, size, site: site.clone() }),
        };
        let text = format!("the gathering of {} on {root}", self.name());
        let key = digest::add(self.shared.id().0, 2 + root.index() as u64);
        self.shared.synchronize("a gather", &text, key, refusal, &site)?;
        // The other ranks wait for this rank at the end, also if a type panics here.
        let collected = catch_unwind(AssertUnwindSafe(|| {
            (root == self.shared.me).then(|| self.call(|| self.fetch_all(&site))).transpose()
        }));
        let failed = match &collected {
            Ok(all) => all.as_ref().err().cloned(),
            Err(_) => self.unusable(false, &site),
        };
        let ended = self.shared.synchronize("the end of a gather", &text, key, failed, &site);
        let all = collected.unwrap_or_else(|panic| resume_unwind(panic))?;
        ended.map(|()| all)
    }

    /// Fetches all entries, from all owners at the same time, each in pieces.
    fn fetch_all(&self, site: &Site) -> Result<Vec<(K, V)>> {
        let mut fetched = Fetched { all: Vec::new(), allowance: Allowance::default() };
        let next = |owner, answer: Option<Vec<u8>>| {
            let from = answer.map_or(Ok(Some((0, 0))), |answer| fetched.add(self, owner, &answer, site))?;
            Ok(from.map(|from| (Request::Scan { from }, Vec::new())))
        };
        self.shared.request_each_at(GATHER, next, site)?;
        Ok(fetched.all)
    }

    /// Collective. Removes all entries. Orders all ranks: it removes all earlier writes of any rank, and later accesses
    /// of any rank find the map empty.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut ranks = GMap::<usize, ()>::new(world)?;
    /// ranks.insert(world.rank().index(), ())?;
    /// ranks.clear()?; // no barrier is needed before
    /// assert!(!ranks.contains(&0)?);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`global_len`](GMap::global_len).
    #[track_caller]
    pub fn clear(&mut self) -> Result<()> {
        let site = Site::here();
        let text = format!("the clearing of {}", self.name());
        self.shared.synchronize("a clear", &text, self.shared.id().0, self.unusable(true, &site), &site)?;
        let cleared = self.shared.act_met("cleared", &site, |map| {
            map.freed();
            Ok(map.part.entries.replace(Arc::default()))
        })?;
        // Not under the lock: that may take long.
        drop(cleared);
        Ok(())
    }

    /// The error that forbids a use, once earlier scopes are completed.
    fn unusable(&self, mutable: bool, site: &Site) -> Option<Error> {
        self.shared.await_usable_at(mutable, site).err()
    }
}

/// The entries that have been fetched so far.
struct Fetched<K, V> {
    all: Vec<(K, V)>,
    allowance: Allowance,
}

impl<K: MapKey, V: MapValue> Fetched<K, V> {
    /// Adds a piece of an owner's entries. Returns the place where the next piece begins; `None`: there are no more.
    fn add(&mut self, map: &GMap<K, V>, owner: Rank, answer: &[u8], site: &Site) -> Result<Option<Place>> {
        let (head, mut rest) = answer.split_first_chunk::<SCAN_HEAD>().ok_or_else(|| malformed(owner))?;
        let [shard, bucket, entries] = bytemuck::cast::<_, [[u8; 4]; 3]>(*head).map(u32::from_le_bytes);
        for _ in 0..entries {
            let before = rest.len();
            let entry = (read(&mut rest, owner, site)?, read(&mut rest, owner, site)?);
            let taken = self.allowance.take(2 * size_of::<(K, V)>() + before - rest.len());
            taken.map_err(|shortage| shortage.error(map.shared.me, "a gather", map.name().clone(), site))?;
            self.all.push(entry);
        }
        if !rest.is_empty() {
            return Err(malformed(owner));
        }
        Ok((entries > 0).then_some((shard, bucket)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    /// An owner of another build answers.
    #[test]
    fn a_piece_that_lies() {
        let piece = |entries: u32, entry: &[u8]| [&[0; 8][..], &entries.to_le_bytes(), entry].concat();
        let entry = [&[2, 1, b'a'][..], &[0; 8]].concat();
        let endless = [&[0xff; 9][..], &[1]].concat();
        let lies = [vec![], vec![0; SCAN_HEAD - 1], piece(u32::MAX, &[]), piece(2, &entry), piece(1, &endless)];
        let cut = (0..entry.len()).map(|len| piece(1, &entry[..len]));
        Config::threads(1)
            .run(|world| {
                let map = GMap::<String, u64>::new(world)?;
                let add = |piece: &[u8]| {
                    let mut fetched = Fetched { all: Vec::new(), allowance: Allowance::default() };
                    fetched.add(&map, Rank::new(0), piece, &Site::here()).map(|next| (next, fetched.all))
                };
                assert_eq!(add(&piece(1, &entry))?, (Some((0, 0)), vec![("a".into(), 0)]));
                for lie in lies.iter().cloned().chain(cut.clone()) {
                    assert!(matches!(add(&lie), Err(Error::Start(_))), "{lie:?}");
                }
                for found in [&[][..], &[2], &[1], &[1, 0, 0, 0]] {
                    let read = map.read_found(&mut &found[..], Rank::new(0), &Site::here());
                    assert!(matches!(read, Err(Error::Start(_))), "{found:?}");
                }
                Ok(())
            })
            .expect("all errors are returned");
    }
}
