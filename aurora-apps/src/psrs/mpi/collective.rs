//! The sort by the MPI collective that is made for each phase.

use super::merging::Merging;
use super::program::{MASTER, Program};
use crate::clock::{Clock, Laps, Pace};
use crate::mpi_ranks::Parts;
use crate::psrs::sample::Sample;
use crate::psrs::split::Cuts;
use aurora_core::prelude::*;
use mpi::traits::{CommunicatorCollectives, Root};

/// Collective. Sorts the keys of all ranks.
pub fn sort(program: &mut Program<'_>, pace: Pace) -> Result<Laps> {
    let meeting = program.ranks.clone();
    let mut clock = Clock::paced(&meeting, pace)?;
    let samples = program.sort_block(&mut clock)?;
    gather_samples(program, &samples, &mut clock)?;
    program.select_pivots(&mut clock)?;
    let cuts = partition(program, &mut clock)?;
    let incoming = exchange_partitions(program, &cuts, &mut clock)?;
    merge_and_move(program, &cuts, &incoming, &mut clock)?;
    clock.stop()
}

/// Phase 1, by Gatherv.
fn gather_samples(program: &mut Program<'_>, mine: &[Sample], clock: &mut Clock<'_>) -> Result<()> {
    let Program { ranks, sampled, sample, .. } = program;
    clock.sharing("gather samples", || {
        let (master, mine) = (ranks.rank(MASTER), bytemuck::cast_slice::<Sample, u8>(mine));
        if ranks.me() == MASTER {
            let all: &mut [u8] = bytemuck::cast_slice_mut(sample);
            master.gather_varcount_into_root(mine, &mut sampled.of_mut(all));
        } else {
            master.gather_varcount_into(mine);
        }
        Ok(())
    })
}

/// Phase 2. Bcast sends the pivots; Allgather sends all cuts to all ranks.
fn partition(program: &mut Program<'_>, clock: &mut Clock<'_>) -> Result<Cuts> {
    clock.sharing("read pivots", || {
        let pivots: &mut [u8] = bytemuck::cast_slice_mut(&mut program.pivots);
        program.ranks.rank(MASTER).broadcast_into(pivots);
        Ok(())
    })?;
    let mine = program.cut_block(clock)?;
    let size = program.ranks.size();
    clock.sharing("exchange cuts", || {
        let mut table = vec![0; size * (size + 1)];
        program.ranks.comm.all_gather_into(&mine[..], &mut table[..]);
        Ok(Cuts::new(size, &table))
    })
}

/// Phase 3. Alltoallv sends partition i of every block to rank i, except rank i's own partition. Returns the layout of
/// the received partitions in the buffer.
fn exchange_partitions(program: &mut Program<'_>, cuts: &Cuts, clock: &mut Clock<'_>) -> Result<Parts> {
    let (outgoing, incoming) = program.partitions(cuts)?;
    let Program { ranks, keys, partitions, .. } = program;
    partitions.resize(incoming.total(), 0);
    clock.sharing("fetch partitions", || {
        ranks.comm.all_to_all_varcount_into(&outgoing.of(keys), &mut incoming.of_mut(partitions));
        Ok(())
    })?;
    Ok(incoming)
}

/// Phase 4. Merges the partitions. Keys of this rank's own block are merged into their places there; Alltoallv moves
/// the others.
fn merge_and_move(program: &mut Program<'_>, cuts: &Cuts, incoming: &Parts, clock: &mut Clock<'_>) -> Result<()> {
    let (moved_out, moved_in) = program.moves(cuts)?;
    let [stays, there] = program.stays(cuts);
    let Program { ranks, keys, sorted, partitions, spare, .. } = program;
    let me = ranks.me();
    let lengths = cuts.partitions(me).map(|partition| partition.len());
    let mut merging = Merging::new(lengths, spare, (stays, &mut sorted[there]));
    clock.computing("merge", || {
        let mut runs = incoming.pieces(partitions);
        runs[me] = &keys[cuts.partition(me, me)];
        merging.add_all(runs);
        Ok(())
    })?;
    let merged = merging.finish();
    std::mem::swap(keys, sorted);
    clock.sharing("move keys", || {
        ranks.comm.all_to_all_varcount_into(&moved_out.of(merged), &mut moved_in.of_mut(keys));
        Ok(())
    })
}
