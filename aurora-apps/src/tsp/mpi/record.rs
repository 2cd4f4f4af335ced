//! What a rank has found, as numbers that MPI sends.

use crate::tsp::Instance;
use crate::tsp::search::{Best, Bound, Search, Tour};
use aurora_core::prelude::*;

/// Tour, improvements and nodes of one rank, in as many numbers for every rank.
pub struct Record;

/// Length, improvements, and nodes in two halves; cities follow.
const HEAD: usize = 4;

impl Record {
    /// How many numbers.
    pub fn length(instance: &Instance) -> usize {
        HEAD + instance.cities()
    }

    /// Of this search.
    pub fn of<B: Bound>(search: &Search<'_, B>, instance: &Instance) -> Vec<u32> {
        let Tour { length, cities } = &search.best;
        let mut record = vec![*length, search.improvements as u32, search.nodes as u32, (search.nodes >> 32) as u32];
        record.extend(cities.iter().map(|city| u32::from(*city)));
        record.resize(Record::length(instance), 0);
        record
    }

    /// The shortest tour of all records, and the sums of nodes and improvements.
    pub fn join(records: &[u32], instance: &Instance) -> (Tour, [u64; 2]) {
        let (mut best, mut sums) = (Tour::none(), [0, 0]);
        for record in records.chunks_exact(Record::length(instance)) {
            let (head, cities) = record.split_at(HEAD);
            sums[0] += u64::from(head[2]) | u64::from(head[3]) << 32;
            sums[1] += u64::from(head[1]);
            // Who has found none says so by its length.
            if head[0] != u32::MAX {
                let cities = cities.iter().map(|city| *city as u8).collect();
                best = Best::apply(best, Tour { length: head[0], cities });
            }
        }
        (best, sums)
    }
}
