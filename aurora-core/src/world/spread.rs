//! One rank's data for all ranks (`broadcast`), and each rank's data for all (`all_gather`).

use super::World;
use crate::collective::{In, Proposal, fold};
use crate::encoding::{ScalarValue, decode, encode};
use crate::link::{CollectiveCall, Give, Step};
use crate::operation::{TypeKey, short};
use crate::{Element, Error, ObjectName, Result, Site, digest, memory};
use aurora_net::Rank;
use std::any::type_name;
use std::ops::Range;

/// Keys of the calls.
const BROADCAST: u64 = 11;
const BROADCAST_SLICE: u64 = 12;
const ALL_GATHER: u64 = 13;
const ALL_GATHER_SLICE: u64 = 14;

/// The first message of a rank: its bytes, if they are short, else their number.
enum Announced {
    Here(Vec<u8>),
    Follows(usize),
}

impl Announced {
    /// Bytes in front.
    const HEAD: usize = 1;

    fn encode(bytes: &[u8], limit: usize) -> Vec<u8> {
        match bytes.len() + Announced::HEAD <= limit {
            true => [&[0], bytes].concat(),
            false => [&[1][..], &(bytes.len() as u64).to_le_bytes()].concat(),
        }
    }

    fn decode(text: &[u8]) -> Option<Self> {
        match text.split_first()? {
            (0, bytes) => Some(Announced::Here(bytes.to_vec())),
            (_, len) => Some(Announced::Follows(u64::from_le_bytes(len.try_into().ok()?) as usize)),
        }
    }
}

impl World {
    /// Collective. Returns the value of rank `root` on every rank: `MPI_Bcast`. Its type is any type that serde can
    /// encode. The values of the other ranks are ignored. Like a [`barrier`](World::barrier) it orders all ranks.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let read = if world.is_root() { vec!["one".to_string(), "two".into()] } else { Vec::new() };
    ///     let words = world.broadcast(0, read)?;
    ///     assert_eq!(words, ["one", "two"]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Mismatch`, with both lines, if a rank makes another collective call, or this one with another type or root;
    /// [`Error::Value`] for a value that serde cannot encode or decode; [`Error::NoSuchRank`]; the error that ended the
    /// job.
    #[doc(alias("bcast", "MPI_Bcast"))]
    #[track_caller]
    pub fn broadcast<V: ScalarValue>(&self, root: impl Into<Rank>, value: V) -> Result<V> {
        let (site, root) = (Site::here(), root.into());
        let (own, mut refusal) = match root == self.rank() {
            true => given(encode(&value, &site)),
            false => (Vec::new(), None),
        };
        refusal = refusal.or(self.is_there(root, &site).err());
        let text = format!("broadcast of a {} from {root}", short::<V>());
        let action = In(&text);
        let key = digest::add(digest::add(BROADCAST, root.index() as u64), TypeKey::of::<V>().number());
        let mut call =
            CollectiveCall::new(self.link(), Proposal { refusal, ..Proposal::new("broadcast", &action, key) }, &site);
        let announced = match root == self.rank() {
            true => Announced::encode(&own, call.longest_word(1)),
            false => Vec::new(),
        };
        let announced = call.share(Give::Text(&announced), |given| Announced::decode(given.of(root.index())))?;
        let bytes = match announced.ok_or_else(|| crate::kernel::message::malformed(root))? {
            Announced::Here(bytes) => bytes,
            Announced::Follows(len) => {
                let mut bytes = if root == self.rank() { own } else { room(len, self, "a broadcast", &site)? };
                spread(&mut call, root.index(), &mut bytes)?;
                bytes
            }
        };
        match root == self.rank() {
            true => Ok(value),
            false => decode(&bytes, &site),
        }
    }

    /// Collective. Replaces the elements of all other ranks by the elements of rank `root`. All slices have one length.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut values = if world.is_root() { [1, 2, 3] } else { [0; 3] };
    /// world.broadcast_slice(0, &mut values)?;
    /// assert_eq!(values, [1, 2, 3]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`broadcast`](World::broadcast); `Mismatch` also if lengths differ.
    #[doc(alias("bcast", "MPI_Bcast"))]
    #[track_caller]
    pub fn broadcast_slice<T: Element>(&self, root: impl Into<Rank>, values: &mut [T]) -> Result<()> {
        let (site, root) = (Site::here(), root.into());
        let text = format_args!("broadcast_slice of {} {} from {root}", values.len(), short::<T>());
        let action = In(&text);
        let key = [root.index() as u64, TypeKey::of::<T>().number(), values.len() as u64];
        let key = key.into_iter().fold(BROADCAST_SLICE, digest::add);
        let proposal =
            Proposal { refusal: self.is_there(root, &site).err(), ..Proposal::new("broadcast_slice", &action, key) };
        let mut call = CollectiveCall::new(self.link(), proposal, &site);
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
        if bytes.len() > call.longest_word(1) {
            return spread(&mut call, root.index(), bytes);
        }
        let own = if root == self.rank() { &*bytes } else { &[] };
        let from_root = call.share(Give::Text(own), |given| given.of(root.index()).to_vec())?;
        if from_root.len() != bytes.len() {
            return Err(crate::kernel::message::malformed(root));
        }
        bytes.copy_from_slice(&from_root);
        Ok(())
    }

    /// Collective. Returns the values of all ranks, in rank order, on every rank: `MPI_Allgather`. Their type is any
    /// type that serde can encode. Like a [`barrier`](World::barrier) it orders all ranks.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let names = world.all_gather(format!("I am {}", world.rank()))?;
    ///     assert_eq!(names[2], "I am rank 2");
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Mismatch`, with both lines, if a rank makes another collective call, or this one with another type;
    /// [`Error::Value`] for a value that serde cannot encode or decode; the error that ended the job.
    #[doc(alias("allgather", "MPI_Allgather"))]
    #[track_caller]
    pub fn all_gather<V: ScalarValue>(&self, value: V) -> Result<Vec<V>> {
        let site = Site::here();
        let (own, refusal) = given(encode(&value, &site));
        let value_type = short::<V>();
        let text = format_args!("all_gather of a {value_type}");
        let action = In(&text);
        let key = digest::add(ALL_GATHER, TypeKey::of::<V>().number());
        let proposal = Proposal { refusal, ..Proposal::new("all_gather", &action, key) };
        let all = self.gather_bytes::<u8>(&own, proposal, &site)?;
        let mut own = Some(value);
        let of = |(rank, bytes): (usize, &Vec<u8>)| match own.take_if(|_| self.rank() == rank) {
            Some(own) => Ok(own),
            None => decode(bytes, &site),
        };
        all.iter().enumerate().map(of).collect()
    }

    /// Collective. Returns the elements of all ranks, in rank order, on every rank: `MPI_Allgatherv`. Lengths may
    /// differ.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let me = world.rank().index();
    ///     let all = world.all_gather_slice(&vec![me as u32; me])?;
    ///     assert_eq!(all, [vec![], vec![1], vec![2, 2]]);
    ///     assert_eq!(all.concat(), [1, 2, 2]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`all_gather`](World::all_gather); [`Error::ZeroSized`].
    #[doc(alias("allgather", "MPI_Allgatherv"))]
    #[track_caller]
    pub fn all_gather_slice<T: Element>(&self, values: &[T]) -> Result<Vec<Vec<T>>> {
        let site = Site::here();
        if size_of::<T>() == 0 {
            return Err(Error::ZeroSized { element: type_name::<T>().into(), site });
        }
        let element = short::<T>();
        let text = format_args!("all_gather_slice of {element}");
        let action = In(&text);
        let key = digest::add(ALL_GATHER_SLICE, TypeKey::of::<T>().number());
        self.gather_bytes(values, Proposal::new("all_gather_slice", &action, key), &site)
    }

    fn gather_bytes<T: Element>(&self, values: &[T], proposal: Proposal<'_>, site: &Site) -> Result<Vec<Vec<T>>> {
        let (me, size) = (self.rank().index(), self.size());
        let what = proposal.what;
        let own: &[u8] = bytemuck::cast_slice(values);
        let mut call = CollectiveCall::new(self.link(), proposal, site);
        let announced = Announced::encode(own, call.longest_word(size));
        let announced = call.share(Give::Text(&announced), |given| {
            (0..size).map(|rank| Announced::decode(given.of(rank)).ok_or(rank)).collect::<Result<Vec<_>, usize>>()
        })?;
        let announced = announced.map_err(|rank| crate::kernel::message::malformed(Rank::new(rank)))?;
        // The number of bytes of each rank that follow.
        let follow: Vec<usize> = announced
            .iter()
            .map(|announcement| if let Announced::Follows(len) = announcement { *len } else { 0 })
            .collect();
        let mut all = Vec::with_capacity(size);
        for (rank, announcement) in announced.into_iter().enumerate() {
            let len = match &announcement {
                Announced::Here(bytes) => bytes.len(),
                Announced::Follows(len) => *len,
            };
            if len % size_of::<T>() != 0 {
                return Err(crate::kernel::message::malformed(Rank::new(rank)));
            }
            let mut of: Vec<T> = room(len / size_of::<T>(), self, what, site)?;
            if let Announced::Here(bytes) = announcement {
                fold::copy(&mut of, &bytes);
            }
            all.push(of);
        }
        let (longest, most) = (call.longest(), follow.iter().copied().max().unwrap_or(0));
        for at in (0..most).step_by(longest) {
            let part = |of: usize| at.min(follow[of])..(at + longest).min(follow[of]);
            let bytes = if follow[me] > 0 { &own[part(me)] } else { &[] };
            let whole = |of: usize| 0..part(of).len();
            let give = Step { bytes, to: &|_| whole(me), from: &whole };
            call.share(Give::Pieces(give), |given| {
                for (rank, of) in all.iter_mut().enumerate() {
                    bytemuck::cast_slice_mut::<T, u8>(of)[part(rank)].copy_from_slice(given.of(rank));
                }
            })?;
        }
        Ok(all)
    }
}

/// A rank's encoded value, or its refusal.
fn given(encoded: Result<Vec<u8>>) -> (Vec<u8>, Option<Error>) {
    match encoded {
        Ok(bytes) => (bytes, None),
        Err(error) => (Vec::new(), Some(error)),
    }
}

/// Memory for the values of other ranks.
fn room<T: Element>(len: usize, world: &World, what: &'static str, site: &Site) -> Result<Vec<T>> {
    let name = || ObjectName { what: format!("{what} of {len} {}", short::<T>()), made_at: site.clone() };
    memory::zeros(len).map_err(|shortage| shortage.error(world.rank(), "the values of other ranks", name(), site))
}

/// Spreads the bytes of `root`, of equal length on all ranks. In the node's memory all ranks read them. Between
/// machines each other rank gets a share and gives it to all others, so none sends much more than it receives.
fn spread(call: &mut CollectiveCall<'_>, root: usize, bytes: &mut [u8]) -> Result<()> {
    let (me, size) = (call.me(), call.size());
    let nothing = |_: usize| 0..0;
    for bytes in bytes.chunks_mut(call.longest()) {
        let len = bytes.len();
        let share = |of: usize| fold::share(len, size, of);
        if call.is_on_one_node() {
            let whole = |from: usize| if from == root { 0..len } else { 0..0 };
            let own: &[u8] = if me == root { bytes } else { &[] };
            let give = Step { bytes: own, to: &|_| whole(me), from: &whole };
            let from_root = call.share(Give::Pieces(give), |given| (me != root).then(|| given.of(root).to_vec()))?;
            from_root.into_iter().for_each(|from_root| bytes.copy_from_slice(&from_root));
            continue;
        }
        let to: &dyn Fn(usize) -> Range<usize> = if me == root { &share } else { &nothing };
        let from = |from: usize| if from == root && me != root { share(me) } else { 0..0 };
        let own: &[u8] = if me == root { bytes } else { &[] };
        let give = Step { bytes: own, to, from: &from };
        let mine = call.share(Give::Pieces(give), |given| given.of(root).to_vec())?;
        // Each rank, the root too, gives its share to all others except the root, which has the whole.
        let to = |to: usize| if to == root { 0..0 } else { 0..mine.len() };
        let from = |from: usize| if me == root { 0..0 } else { 0..share(from).len() };
        let give = Step { bytes: &mine, to: &to, from: &from };
        call.share(Give::Pieces(give), |given| {
            if me != root {
                (0..size).for_each(|rank| bytes[share(rank)].copy_from_slice(given.of(rank)));
            }
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_short_is_announced_with_its_bytes() {
        for (len, limit) in [(0, 1), (4, 5), (5, 5), (5, 3)] {
            let bytes = vec![7; len];
            match Announced::decode(&Announced::encode(&bytes, limit)) {
                Some(Announced::Here(here)) => assert!(here == bytes && len < limit),
                Some(Announced::Follows(follows)) => assert!(follows == len && len >= limit),
                None => panic!("{len} {limit}"),
            }
        }
        assert!(Announced::decode(&[]).is_none() && Announced::decode(&[1, 2]).is_none());
    }
}
