//! The minimum number of bytes that an operation must move over the network.

use super::contestant::piece;
use super::job::{By, Operation};
use crate::report::series::Key;

/// Returns the maximum number of bytes that the operation of `key` brings into any of `nodes` nodes, for operations
/// that move bulk data. There is no such bound for single accesses or with a late rank.
pub fn payload(key: &Key, nodes: usize) -> Option<usize> {
    let bytes = key.problem.size;
    let crowded = key.setting.per_node.is_some();
    let operation = match (key.problem.name.as_str(), key.problem.variant.as_str()) {
        ("read-cache", "") => Operation::ReadCache { bytes, late: None },
        ("exchange", "") => Operation::Exchange { keys: bytes / size_of::<u32>() },
        ("gather", "" | "pull") if !crowded => Operation::Gather { bytes, by: By::Push },
        ("stream", "") if !crowded => Operation::Stream { bytes },
        _ => return None,
    };
    Some(operation.most_into_a_rank(nodes))
}

impl Operation {
    /// Returns the maximum number of bytes that any of `ranks` ranks gets from the other ranks. With the rate of the
    /// rank's link they bound the time.
    pub fn most_into_a_rank(self, ranks: usize) -> usize {
        match self {
            Operation::ReadCache { bytes, .. } => bytes - bytes / ranks,
            Operation::Exchange { keys } => {
                let piece = |from, to| if from == to { 0 } else { piece(keys, ranks, from, to).len() };
                let into = |to| (0..ranks).map(|from| piece(from, to)).sum::<usize>();
                (0..ranks).map(into).max().unwrap_or(0) * size_of::<u32>()
            }
            Operation::Gather { bytes, .. } => bytes * (ranks - 1),
            // The rank's share of all other ranks' values, and the sums of all other shares.
            Operation::AllReduce { .. } => 2 * (self.bytes() - self.bytes() / ranks),
            // An index and an operand, or an index one way and a value back; places are uniformly random.
            Operation::Updates { updates: places, .. } | Operation::Reads { reads: places, .. } => {
                places * 2 * size_of::<u64>() / ranks * (ranks - 1)
            }
            Operation::Get { .. } | Operation::Put { .. } | Operation::Stream { .. } | Operation::Copy { .. } => {
                self.bytes() * (ranks - 1).min(1)
            }
            // To the counter's owner from each of the other ranks.
            Operation::FetchAdd { tasks } => self.bytes() * (ranks - 1).min(if tasks { usize::MAX } else { 1 }),
            // To the owner and back.
            Operation::ScalarSum => self.bytes() * (ranks - 1),
            Operation::Barrier | Operation::FirstTouch { .. } | Operation::Local { .. } => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::series::{Problem, Setting};

    #[test]
    fn who_gets_most_is_the_bound_and_one_alone_gets_nothing() {
        let of_four = [
            (Operation::ReadCache { bytes: 1000, late: None }, 750),
            (Operation::Gather { bytes: 1000, by: By::Push }, 3000),
            (Operation::Stream { bytes: 1000 }, 1000),
            (Operation::Updates { table: 1000, updates: 1000 }, 12_000),
            (Operation::Reads { table: 1000, reads: 1000, batch: 10 }, 12_000),
            (Operation::FirstTouch { bytes: 1000, memory: None }, 0),
            (Operation::AllReduce { values: 1000 }, 12_000),
        ];
        for (operation, most) in of_four {
            assert_eq!([1, 4].map(|ranks| operation.most_into_a_rank(ranks)), [0, most], "{operation:?}");
        }
        let exchange = Operation::Exchange { keys: 8_000_000 };
        let (even, most) = (8_000_000 * 4 / 16 * 3, exchange.most_into_a_rank(4));
        assert!((even..even * 103 / 100).contains(&most) && exchange.most_into_a_rank(1) == 0, "{most} of {even}");
    }

    #[test]
    fn bulk_data_have_a_bound_and_single_accesses_none() {
        let key = |name: &str, per_node| {
            let problem =
                Problem { name: name.into(), size: 32_000_000, variant: String::new(), asked: Default::default() };
            Key { problem, setting: Setting { machine: String::new(), network: None, per_node, apart: false } }
        };
        let of = |name, per_node, nodes| payload(&key(name, per_node), nodes);
        assert_eq!(of("read-cache", None, 4), Some(24_000_000));
        // The maximum number of keys for a rank is a little more than a sixteenth.
        assert!(of("exchange", None, 4).is_some_and(|bytes| (6_000_000..6_100_000).contains(&bytes)));
        assert_eq!((of("gather", None, 4), of("gather", Some(2), 2)), (Some(96_000_000), None));
        assert_eq!(of("barrier", None, 4), None);
    }
}
