//! The elements around a block, and the ranks that send and receive them: pure arithmetic.
//!
//! A rank needs the elements within the halo's width around its own block. The distance is the same from both sides,
//! so a rank sends to exactly the ranks from which it receives.

use crate::distribution::Distribution;
use aurora_net::Rank;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// The elements beyond the first and the last row of a matrix, or element of a vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
pub enum Boundary {
    /// No elements lie beyond the ends.
    Fixed,
    /// The elements of the other end: the last row lies before the first.
    Periodic,
}

/// The rows or elements that a HaloCache shows around each rank's own block.
///
/// A number alone is a width with a fixed boundary: `v.halo_cache(1)` is `v.halo_cache(Halo::fixed(1))`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Halo {
    /// The number of rows of a matrix, or elements of a vector, on either side.
    pub width: usize,
    /// The elements beyond the ends of the vector or matrix.
    pub boundary: Boundary,
}

impl Halo {
    /// A halo of `width` rows or elements on either side, with nothing beyond the ends.
    pub const fn fixed(width: usize) -> Self {
        Halo { width, boundary: Boundary::Fixed }
    }

    /// A halo of `width` rows or elements on either side; the first follows the last.
    pub const fn periodic(width: usize) -> Self {
        Halo { width, boundary: Boundary::Periodic }
    }
}

impl From<usize> for Halo {
    fn from(width: usize) -> Self {
        Halo::fixed(width)
    }
}

impl fmt::Display for Halo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let boundary = match self.boundary {
            Boundary::Fixed => "fixed",
            Boundary::Periodic => "periodic",
        };
        write!(f, "width {}, {boundary}", self.width)
    }
}

/// The elements that one rank exchanges with a neighbour, as ranges.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Neighbour {
    pub(crate) rank: Rank,
    /// The local indices of the elements that are sent to the neighbour, in this order.
    pub(crate) sends: Vec<Range<usize>>,
    /// The places, in this rank's halo, of the elements that the neighbour sends.
    pub(crate) fills: Vec<Range<usize>>,
}

impl Neighbour {
    /// The number of elements that are sent to the neighbour.
    pub(crate) fn gets(&self) -> usize {
        self.sends.iter().map(ExactSizeIterator::len).sum()
    }

    /// The number of elements that the neighbour sends.
    pub(crate) fn gives(&self) -> usize {
        self.fills.iter().map(ExactSizeIterator::len).sum()
    }

    /// Calls `put` with each run of the received bytes from `offset` on, and its byte position in the halo.
    pub(crate) fn land(&self, element: usize, mut offset: usize, mut bytes: &[u8], mut put: impl FnMut(usize, &[u8])) {
        for fill in &self.fills {
            let len = fill.len() * element;
            if offset < len {
                let (part, rest) = bytes.split_at(bytes.len().min(len - offset));
                put(fill.start * element + offset, part);
                bytes = rest;
            }
            offset = offset.saturating_sub(len);
            if bytes.is_empty() {
                break;
            }
        }
    }
}

/// The elements around one rank's block, and the ranks that send them.
///
/// The *halo* is one array: the elements before the block, then those behind it. If a periodic halo reaches around
/// the whole more than once, only the nearest round is exchanged and then [repeated](Plan::repeat).
#[derive(Clone, Default, Debug)]
pub(crate) struct Plan {
    /// Elements before the block.
    pub(crate) before: usize,
    /// Elements behind the block.
    pub(crate) behind: usize,
    /// The other ranks that own elements of the halo. This rank sends to the same ranks.
    pub(crate) neighbours: Vec<Neighbour>,
    /// Elements of this rank's own block in its periodic halo: local indices, and the place in the halo.
    pub(crate) around: Vec<(Range<usize>, usize)>,
    /// Elements of the whole.
    whole: usize,
}

impl Plan {
    /// Elements of a rank's halo; `usize::MAX` if they cannot be counted.
    pub(crate) fn room(dist: &Distribution, rank: Rank, halo: Halo) -> usize {
        let (before, behind) = reach(dist, rank, halo);
        before.saturating_add(behind)
    }

    /// The plan of rank `me`, whose [`room`](Plan::room) can be counted.
    pub(crate) fn new(dist: &Distribution, me: Rank, halo: Halo) -> Plan {
        let (before, behind) = reach(dist, me, halo);
        let own = dist.range(me);
        let local = |range: &Range<usize>| range.start - own.start..range.end - own.start;
        let mut plan = Plan { before, behind, whole: dist.len(), ..Plan::default() };
        for Piece { owner, elements, at } in pieces(dist, me, halo) {
            if owner == me {
                plan.around.push((local(&elements), at));
                continue;
            }
            let fills = at..at + elements.len();
            match plan.neighbours.iter_mut().find(|neighbour| neighbour.rank == owner) {
                Some(neighbour) => neighbour.fills.push(fills),
                None => plan.neighbours.push(Neighbour { rank: owner, sends: Vec::new(), fills: vec![fills] }),
            }
        }
        for neighbour in &mut plan.neighbours {
            let theirs = pieces(dist, neighbour.rank, halo);
            let ours = theirs.iter().filter(|piece| piece.owner == me);
            neighbour.sends = ours.map(|piece| local(&piece.elements)).collect();
        }
        plan
    }

    pub(crate) fn neighbour(&self, rank: Rank) -> Option<&Neighbour> {
        self.neighbours.iter().find(|neighbour| neighbour.rank == rank)
    }

    /// Fills in the rounds beyond the nearest round, which the halo already has. `element`: bytes of an element.
    pub(crate) fn repeat(&self, halo: &mut [u8], element: usize) {
        let whole = self.whole * element;
        let (before, all) = (self.before * element, (self.before + self.behind) * element);
        let mut to_do = before.saturating_sub(whole);
        while to_do > 0 {
            let from = to_do - to_do.min(whole);
            halo.copy_within(from + whole..to_do + whole, from);
            to_do = from;
        }
        let mut done = before.saturating_add(whole);
        while done < all {
            let end = all.min(done + whole);
            halo.copy_within(done - whole..end - whole, done);
            done = end;
        }
    }
}

/// Consecutive elements of one owner in a halo.
struct Piece {
    owner: Rank,
    elements: Range<usize>,
    /// The start of the elements in the halo.
    at: usize,
}

/// Elements before and behind the block of a rank. A rank without elements has no halo.
fn reach(dist: &Distribution, rank: Rank, halo: Halo) -> (usize, usize) {
    let own = dist.range(rank);
    if own.is_empty() {
        return (0, 0);
    }
    let width = halo.width.saturating_mul(dist.shape().unit());
    match halo.boundary {
        Boundary::Fixed => (width.min(own.start), width.min(dist.len() - own.end)),
        Boundary::Periodic => (width, width),
    }
}

/// The halo of a rank, piece by piece: at most one round on either side.
fn pieces(dist: &Distribution, rank: Rank, halo: Halo) -> Vec<Piece> {
    let (own, len, (before, behind)) = (dist.range(rank), dist.len(), reach(dist, rank, halo));
    let mut pieces = Vec::new();
    if own.is_empty() {
        return pieces;
    }
    let (near, far) = (before.min(len), behind.min(len));
    let first = (own.start + len - near) % len;
    for (first, count, mut at) in [(first, near, before - near), (own.end % len, far, before)] {
        let (mut next, end) = (first, at + count);
        while at < end {
            let run = next..len.min(next + (end - at));
            for (owner, elements) in dist.pieces(run.clone()) {
                pieces.push(Piece { owner, at, elements: elements.clone() });
                at += elements.len();
            }
            next = run.end % len;
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::{MatrixDim, Partition, Shape};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn distributions() -> impl Strategy<Value = (Distribution, usize)> {
        let shapes = prop_oneof![
            (0usize..60).prop_map(Shape::Vector),
            (0usize..30, 0usize..5).prop_map(|(rows, cols)| Shape::Matrix(MatrixDim::new(rows, cols))),
        ];
        let units = prop_oneof![Just(0), 0usize..20];
        let listed = (prop::collection::vec(units, 1..9), 1usize..5).prop_map(|(rows, cols)| {
            let partition = if cols == 1 { Partition::lengths(&rows) } else { Partition::rows(&rows, cols) };
            (partition.distribute(rows.len()).expect("few elements"), rows.len())
        });
        let of_shape = (shapes, 1usize..9, any::<bool>()).prop_map(|(shape, ranks, placed)| match placed {
            true => (Distribution::on(Rank::new(ranks / 2), shape), ranks),
            false => (Distribution::block(shape, ranks), ranks),
        });
        prop_oneof![of_shape, listed]
    }

    fn halos() -> impl Strategy<Value = Halo> {
        (0usize..40, any::<bool>())
            .prop_map(|(width, wraps)| if wraps { Halo::periodic(width) } else { Halo::fixed(width) })
    }

    proptest! {
        /// Carries out all plans on a vector that holds its own indices.
        #[test]
        fn all_plans_together_bring_everyone_what_lies_around_it(
            (dist, ranks) in distributions(),
            halo in halos(),
            length in 1usize..300,
        ) {
            let plans: Vec<_> = (0..ranks).map(|rank| Plan::new(&dist, Rank::new(rank), halo)).collect();
            let value = |rank: usize, local: usize| dist.range(Rank::new(rank)).start + local;
            let mut sent = BTreeMap::new();
            for (rank, plan) in plans.iter().enumerate() {
                prop_assert!(plan.neighbours.len() < ranks && plan.around.len() <= 4);
                for neighbour in &plan.neighbours {
                    prop_assert!(neighbour.rank != rank && !neighbour.sends.is_empty());
                    prop_assert!(neighbour.gets() <= 2 * dist.range(Rank::new(rank)).len());
                    prop_assert_eq!(plan.neighbour(neighbour.rank), Some(neighbour));
                    let edge: Vec<_> = neighbour.sends.iter().cloned().flatten().map(|i| value(rank, i)).collect();
                    prop_assert!(sent.insert((rank, neighbour.rank.index()), edge).is_none());
                }
            }
            for (rank, plan) in plans.iter().enumerate() {
                let mut around = vec![usize::MAX; plan.before + plan.behind];
                prop_assert_eq!(around.len(), Plan::room(&dist, Rank::new(rank), halo));
                for (from, at) in &plan.around {
                    from.clone().enumerate().for_each(|(i, local)| around[at + i] = value(rank, local));
                }
                for neighbour in &plan.neighbours {
                    let edge = sent.remove(&(neighbour.rank.index(), rank)).expect("neighbours send to each other");
                    prop_assert_eq!(neighbour.gives(), edge.len());
                    // An edge arrives in pieces of any length.
                    let bytes: &[u8] = bytemuck::cast_slice(&edge);
                    for (number, piece) in bytes.chunks(length).enumerate() {
                        let place: &mut [u8] = bytemuck::cast_slice_mut(&mut around);
                        neighbour.land(size_of::<usize>(), number * length, piece, |at, part| {
                            place[at..at + part.len()].copy_from_slice(part);
                        });
                    }
                }
                plan.repeat(bytemuck::cast_slice_mut(&mut around), size_of::<usize>());
                let own = dist.range(Rank::new(rank));
                let len = dist.len();
                for (i, found) in around.iter().enumerate() {
                    let want = match i.checked_sub(plan.before) {
                        None => (own.start + len * plan.before - (plan.before - i)) % len,
                        Some(i) => (own.end + i) % len,
                    };
                    prop_assert_eq!(*found, want);
                }
                let rows = match dist.shape() {
                    Shape::Matrix(dim) => dim.cols,
                    Shape::Vector(_) => 1,
                };
                let full = if own.is_empty() { 0 } else { halo.width * rows };
                let (before, behind) = match halo.boundary {
                    Boundary::Fixed => (full.min(own.start), full.min(len - own.end)),
                    Boundary::Periodic => (full, full),
                };
                prop_assert_eq!((plan.before, plan.behind), (before, behind));
            }
            prop_assert!(sent.is_empty());
        }
    }

    #[test]
    fn inner_ranks_have_two_neighbours() {
        let dist = Distribution::block(Shape::Matrix(MatrixDim::new(40, 7)), 4);
        let neighbours = |rank: usize, halo| -> Vec<usize> {
            let plan = Plan::new(&dist, Rank::new(rank), halo);
            plan.neighbours.iter().map(|neighbour| neighbour.rank.index()).collect()
        };
        assert_eq!((neighbours(0, Halo::fixed(1)), neighbours(1, Halo::fixed(10))), (vec![1], vec![0, 2]));
        assert_eq!((neighbours(0, Halo::periodic(1)), neighbours(1, Halo::fixed(11))), (vec![3, 1], vec![0, 2, 3]));
    }

    #[test]
    fn a_width_beyond_all_memory_is_only_counted() {
        let dist = Distribution::block(Shape::Vector(10), 2);
        assert_eq!(Plan::room(&dist, Rank::new(0), Halo::periodic(usize::MAX)), usize::MAX);
        assert_eq!(Plan::room(&dist, Rank::new(0), Halo::fixed(usize::MAX)), 5);
    }
}
