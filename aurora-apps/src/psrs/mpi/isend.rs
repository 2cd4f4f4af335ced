//! The sort by Isend and Irecv, as in the paper's program (section 4.3): receives are posted before anything is sent,
//! and partitions are merged as they arrive.

use super::merging::Merging;
use super::program::{MASTER, Program};
use crate::clock::{Clock, Laps, Pace};
use crate::psrs::sample::Sample;
use crate::psrs::split::Cuts;
use aurora_core::prelude::*;

/// Collective. Sorts the keys of all ranks.
pub fn sort(program: &mut Program<'_>, pace: Pace) -> Result<Laps> {
    let meeting = program.ranks.clone();
    let mut clock = Clock::paced(&meeting, pace)?;
    let samples = program.sort_block(&mut clock)?;
    gather_samples(program, &samples, &mut clock)?;
    program.select_pivots(&mut clock)?;
    let cuts = partition(program, &mut clock)?;
    merge_partitions(program, &cuts, &mut clock)?;
    clock.stop()
}

/// Phase 1: one message from each rank to the master.
fn gather_samples(program: &mut Program<'_>, mine: &[Sample], clock: &mut Clock<'_>) -> Result<()> {
    let Program { ranks, sampled, sample, .. } = program;
    clock.sharing("gather samples", || {
        let nothing: &[u8] = &[];
        let mut outgoing = vec![nothing; ranks.size()];
        outgoing[MASTER] = bytemuck::cast_slice(mine);
        let incoming =
            if ranks.me() == MASTER { sampled.pieces_mut(bytemuck::cast_slice_mut(sample)) } else { Vec::new() };
        ranks.all_at_once(&outgoing, incoming);
        Ok(())
    })
}

/// Phase 2: one message from the master to each rank, and from each rank to all.
fn partition(program: &mut Program<'_>, clock: &mut Clock<'_>) -> Result<Cuts> {
    let size = program.ranks.size();
    let Program { ranks, pivots, .. } = &mut *program;
    clock.sharing("read pivots", || {
        let pivots: &mut [u8] = bytemuck::cast_slice_mut(pivots);
        let nothing: &[u8] = &[];
        if ranks.me() == MASTER {
            let mut outgoing = vec![&*pivots; size];
            outgoing[MASTER] = nothing;
            ranks.all_at_once(&outgoing, Vec::new());
        } else {
            let mut incoming: Vec<&mut [u8]> = (0..size).map(|_| Default::default()).collect();
            incoming[MASTER] = pivots;
            ranks.all_at_once(&vec![nothing; size], incoming);
        }
        Ok(())
    })?;
    let mine = program.cut_block(clock)?;
    clock.sharing("exchange cuts", || {
        let mut table = vec![0; size * (size + 1)];
        program.ranks.all_at_once(&vec![&mine[..]; size], table.chunks_mut(size + 1).collect());
        Ok(Cuts::new(size, &table))
    })
}

/// Phases 3 and 4. Partition i of every block goes to rank i, which merges the partitions as they arrive. Keys of the
/// rank's own block are merged into their places there; messages move the others. If computing is kept apart, merging
/// starts when all partitions have arrived.
fn merge_partitions(program: &mut Program<'_>, cuts: &Cuts, clock: &mut Clock<'_>) -> Result<()> {
    let (outgoing, incoming) = program.partitions(cuts)?;
    let (moved_out, moved_in) = program.moves(cuts)?;
    let [stays, there] = program.stays(cuts);
    let Program { ranks, keys, sorted, partitions, spare, .. } = program;
    let me = ranks.me();
    partitions.resize(incoming.total(), 0);
    let lengths = cuts.partitions(me).map(|partition| partition.len());
    let mut merging = Merging::new(lengths, spare, (stays, &mut sorted[there]));
    let own = &keys[cuts.partition(me, me)];
    let mut outgoing = outgoing.pieces(keys);
    if clock.keeps_apart() {
        clock.sharing("fetch partitions", || {
            ranks.all_at_once(&outgoing, incoming.pieces_mut(partitions));
            Ok(())
        })?;
        clock.computing("merge", || {
            let mut runs = incoming.pieces(partitions);
            runs[me] = own;
            merging.add_all(runs);
            Ok(())
        })?;
    } else {
        outgoing[me] = own;
        clock.overlapping(("fetch partitions", "merge"), |turns| {
            Ok(ranks.each_as_it_comes(&outgoing, incoming.pieces_mut(partitions), |from, run, progress| {
                merging.add(from, run, &mut |work| {
                    turns.computing(work);
                    progress();
                });
            }))
        })?;
    }
    let merged = merging.finish();
    std::mem::swap(keys, sorted);
    clock.sharing("move keys", || {
        ranks.all_at_once(&moved_out.pieces(merged), moved_in.pieces_mut(keys));
        Ok(())
    })
}
