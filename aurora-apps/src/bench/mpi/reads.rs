//! Every rank reads random elements of a distributed table: places go to their owners in batches, and values come back.

use crate::bench::prelude::*;
use crate::bench::reads::{Checksum, Workload};
use crate::mpi_ranks::MpiRanks;
use crate::mpi_ranks::buckets::{Blocks, Buckets, all_to_all};
use crate::mpi_ranks::room::Room;

/// Reads in a batch at most. With 16384 they stay in a second-level cache, and yet take 1 to 5 % longer: there are four
/// times as many exchanges.
const BATCH: usize = 64 * 1024;

/// By two Alltoallv for each batch.
pub struct Alltoallv<'w> {
    ranks: MpiRanks<'w>,
    workload: Workload,
    blocks: Blocks,
    part: Room<u64>,
    buckets: Buckets,
    /// Of what is in the buckets, in the batch.
    positions: Vec<u32>,
    asked: Vec<u32>,
    answers: Vec<u64>,
    answered: Vec<u64>,
    values: Vec<u64>,
}

impl<'w> Alltoallv<'w> {
    pub fn new(ranks: MpiRanks<'w>, workload: Workload) -> Result<Self> {
        let (size, batch) = (ranks.size(), BATCH.min(workload.batch));
        let blocks = Blocks::new(workload.table, size)?;
        Ok(Alltoallv {
            workload,
            part: Room::new(blocks.range(ranks.me()).len())?,
            buckets: Buckets::new(blocks, size, batch),
            positions: vec![0; size * batch],
            asked: Vec::new(),
            answers: Vec::new(),
            // Laid out as the buckets are.
            answered: vec![0; size * batch],
            values: vec![0; batch],
            blocks,
            ranks,
        })
    }

    /// The values of one batch, in the order of `indices`.
    fn read(&mut self, indices: impl Iterator<Item = usize>) -> Result<()> {
        let Alltoallv { ranks, part, buckets, positions, asked, answers, answered, values, .. } = self;
        let part = &part[..];
        buckets.fill_noting(indices, positions);
        let (to, from) = buckets.exchange(ranks, asked)?;
        answers.clear();
        answers.extend(asked[..from.total()].iter().map(|place| part[*place as usize]));
        all_to_all(ranks, &from, answers, &to, answered);
        for owner in 0..ranks.size() {
            let range = buckets.range(owner);
            let positions = &positions[range.clone()];
            if owner == ranks.me() {
                for (position, place) in positions.iter().zip(buckets.of(owner)) {
                    values[*position as usize] = part[*place as usize];
                }
            } else {
                for (position, value) in positions.iter().zip(&answered[range]) {
                    values[*position as usize] = *value;
                }
            }
        }
        Ok(())
    }
}

impl Contestant for Alltoallv<'_> {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        let (me, workload) = (self.ranks.me(), self.workload);
        workload.fill(round, &mut self.part, self.blocks.range(me).start);
        let mut read = Checksum::default();
        let mut indices = workload.indices(round, me);
        watch.measure(|| {
            for batch in workload.batches(BATCH) {
                self.read(indices.by_ref().take(batch))?;
                read.add(&self.values[..batch]);
            }
            Ok(())
        })?;
        Ok(workload.wrong(round, me, read))
    }
}
