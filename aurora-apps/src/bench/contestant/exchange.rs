//! Every rank has a range of keys for each rank, and gets its own ranges from all ranks: the exchange of the paper's
//! sort (section 3.4).

use super::prelude::*;
use crate::block::block;
use crate::random::Stream;
use std::ops::Range;

/// The maximum distance of a cut from its place in an equal division, in ranges.
const UNEVEN: f64 = 0.03;

/// Returns the keys that rank `from` of `size` ranks has for `to`. As in a sort, ranges are about equal but not
/// exactly: they vary by a few per cent, in the same way in every run.
pub fn piece(keys: usize, size: usize, from: usize, to: usize) -> Range<usize> {
    let block = block(keys, size, from);
    let range = block.len() as f64 / size as f64;
    let cut = |number: usize| match number {
        0 => block.start,
        last if last == size => block.end,
        _ => {
            let shift = (Stream::new(0, from as u64).unit(number as u64) * 2.0 - 1.0) * UNEVEN;
            block.start + ((number as f64 + shift) * range) as usize
        }
    };
    cut(to)..cut(to + 1)
}

/// By one `distmemcpy_many` on each rank, which collects the rank's piece of every block.
pub fn aurora(world: &World, keys: usize) -> Result<Contestant<'_>> {
    let pieces = pieces(keys, world.size(), world.rank().index());
    let (mut keys, mut collected) = (GVector::<u32>::new(world, keys)?, vec![0; pieces.iter().map(Range::len).sum()]);
    Ok(Box::new(move |round, watch| {
        round.fill_own(&mut keys)?;
        watch.measure(|| {
            let mut rest = collected.as_mut_slice();
            distmemcpy_many(pieces.iter().map(|piece| {
                let into = rest.split_off_mut(..piece.len()).expect("room for all");
                (into, keys.range(piece.clone()))
            }))
        })?;
        Ok(wrong(round, &pieces, &collected))
    }))
}

/// By Alltoallv, or by Isend and Irecv of whole ranges. A rank holds its own keys and a buffer for the collected keys.
#[cfg(feature = "mpi")]
pub fn mpi<'w>(ranks: MpiRanks<'w>, by: Implementation, keys: usize) -> Result<Contestant<'w>> {
    let (size, me) = (ranks.size(), ranks.me());
    let pieces = pieces(keys, size, me);
    let start = block(keys, size, me).start * size_of::<u32>();
    let outgoing = Parts::of_lengths((0..size).map(|to| piece(keys, size, me, to).len()))?;
    let incoming = Parts::of_lengths(pieces.iter().map(Range::len))?;
    let (mut keys, mut collected) = (vec![0_u32; outgoing.total()], vec![0; incoming.total()]);
    Ok(Box::new(move |round, watch| {
        round.fill(bytemuck::cast_slice_mut(&mut keys), start);
        watch.measure(|| {
            let into = &mut collected[..];
            match by {
                Implementation::MpiIsend => ranks.all_at_once(&outgoing.pieces(&keys), incoming.pieces_mut(into)),
                _ => ranks.comm.all_to_all_varcount_into(&outgoing.of(&keys), &mut incoming.of_mut(into)),
            }
            Ok(())
        })?;
        Ok(wrong(round, &pieces, &collected))
    }))
}

/// Returns the ranges that rank `to` collects, in order: a piece of each rank's block.
fn pieces(keys: usize, size: usize, to: usize) -> Vec<Range<usize>> {
    (0..size).map(|from| piece(keys, size, from, to)).collect()
}

/// Returns the number of errors in the collected pieces.
fn wrong(round: Round, pieces: &[Range<usize>], mut collected: &[u32]) -> u64 {
    let wrong = pieces.iter().map(|piece| {
        let these = collected.split_off(..piece.len()).expect("all of it");
        round.wrong(bytemuck::cast_slice(these), piece.start * size_of::<u32>())
    });
    wrong.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_are_a_division_of_all_keys(keys in 0usize..10_000, size in 1usize..9) {
            let mut end = 0;
            for (from, to) in (0..size).flat_map(|from| (0..size).map(move |to| (from, to))) {
                let piece = piece(keys, size, from, to);
                prop_assert_eq!(piece.start, end);
                prop_assert!(to > 0 || end == block(keys, size, from).start);
                end = piece.end;
            }
            prop_assert_eq!(end, keys);
        }
    }

    #[test]
    fn pieces_differ_by_a_few_per_cent() {
        let equal = 8_000_000.0 / 256.0;
        let all = (0..16).flat_map(|to| pieces(8_000_000, 16, to));
        let lengths: Vec<f64> = all.map(|piece| piece.len() as f64 / equal).collect();
        assert!(lengths.iter().all(|length| (0.93..1.07).contains(length)), "{lengths:?}");
        assert!(lengths.iter().any(|length| *length > 1.02) && lengths.iter().any(|length| *length < 0.98));
    }
}
