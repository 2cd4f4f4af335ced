//! The result of a rank, as numbers that MPI sends.

use crate::tsp::Instance;
use crate::tsp::search::{Best, Bound, Search, Tour};
use aurora_core::prelude::*;

/// Tour, improvements and nodes of one rank, in the same number of integers on every rank.
pub struct Record;

/// The numbers before the cities: length, improvements, and nodes in two halves.
const HEAD: usize = 4;

impl Record {
    /// Returns the number of integers in a record.
    pub fn length(instance: &Instance) -> usize {
        HEAD + instance.cities()
    }

    /// Makes the record of a search.
    pub fn of<B: Bound>(search: &Search<'_, B>, instance: &Instance) -> Vec<u32> {
        let Tour { length, cities } = &search.best;
        let mut record = vec![*length, search.improvements as u32, search.nodes as u32, (search.nodes >> 32) as u32];
        record.extend(cities.iter().map(|city| u32::from(*city)));
        record.resize(Record::length(instance), 0);
        record
    }

    /// Returns the shortest tour of all records, and the sums of nodes and improvements.
    pub fn join(records: &[u32], instance: &Instance) -> (Tour, [u64; 2]) {
        let (mut best, mut sums) = (Tour::none(), [0, 0]);
        for record in records.chunks_exact(Record::length(instance)) {
            let (head, cities) = record.split_at(HEAD);
            sums[0] += u64::from(head[2]) | u64::from(head[3]) << 32;
            sums[1] += u64::from(head[1]);
            // This length means that the rank has found no tour.
            if head[0] != u32::MAX {
                let cities = cities.iter().map(|city| *city as u8).collect();
                best = Best::apply(best, Tour { length: head[0], cities });
            }
        }
        (best, sums)
    }
}
