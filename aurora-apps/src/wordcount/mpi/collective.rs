//! Each rank counts its own words, sorts the counts by the words' owners, and sends them by an Alltoallv.

use crate::mpi_ranks::{MpiRanks, Parts, buckets};
use aurora_core::prelude::*;
use mpi::Count;
use mpi::traits::CommunicatorCollectives;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

/// The bytes in front of a word: its count, and its length.
const HEAD: usize = 8 + 4;

/// Collective. Counts the words of all ranks' texts. Returns the counts of the words that this rank owns.
pub fn count(ranks: &MpiRanks<'_>, text: &str) -> Result<FxHashMap<String, u64>> {
    let mut mine = FxHashMap::<&str, u64>::default();
    for word in text.split_ascii_whitespace() {
        *mine.entry(word).or_insert(0) += 1;
    }
    let mut buckets = vec![Vec::new(); ranks.size()];
    for (word, count) in &mine {
        let owner = FxBuildHasher.hash_one(word) % ranks.size() as u64;
        let bucket = &mut buckets[owner as usize];
        bucket.extend_from_slice(&count.to_le_bytes());
        bucket.extend_from_slice(&(word.len() as u32).to_le_bytes());
        bucket.extend_from_slice(word.as_bytes());
    }
    let outgoing = Parts::of_lengths(buckets.iter().map(Vec::len))?;
    let mut lengths = vec![0 as Count; ranks.size()];
    ranks.comm.all_to_all_into(outgoing.counts(), &mut lengths);
    let incoming = Parts::of_lengths(lengths.into_iter().map(|length| length as usize))?;
    let mut received = Vec::new();
    buckets::all_to_all(ranks, &outgoing, &buckets.concat(), &incoming, &mut received);
    let mut counts = FxHashMap::<String, u64>::default();
    let mut rest = &received[..incoming.total()];
    while let Some((head, words)) = rest.split_first_chunk::<HEAD>() {
        let count = u64::from_le_bytes(head[..8].try_into().expect("8 bytes"));
        let (word, others) = words.split_at(u32::from_le_bytes(head[8..].try_into().expect("4 bytes")) as usize);
        let word = std::str::from_utf8(word)?;
        match counts.get_mut(word) {
            Some(sum) => *sum += count,
            None => drop(counts.insert(word.to_owned(), count)),
        }
        rest = others;
    }
    Ok(counts)
}
