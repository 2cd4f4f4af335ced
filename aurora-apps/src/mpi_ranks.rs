//! MPI, with which Aurora is compared: the ranks of a job as MPI sees them, and the code that all programs over MPI
//! need.
//!
//! Aurora runs the job and initialises MPI (`Funneled`). Calls of MPI stay on the thread that called `run`. The
//! programs do as a careful user of MPI would: their buffers live as long as the job, large buffers are in huge pages,
//! types are contiguous, and the programs make no copies of their own.

pub mod buckets;
pub mod in_place;
pub mod neighbours;
pub mod posted;
pub mod room;

use crate::implementation::Refusal;
use crate::meeting::Meeting;
use aurora_core::Launcher;
use aurora_core::prelude::*;
use in_place::InPlace;
use mpi::Count;
use mpi::datatype::{Partition, PartitionMut};
use mpi::request::multiple_scope;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Equivalence, Source};
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::time::{Duration, Instant};
use thiserror::Error;

/// The error of a request for more elements than MPI's 32-bit counts can express.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("MPI counts with 32 bits and cannot move {elements} elements at once: ask for less data, or for Aurora alone")]
pub struct TooMany {
    /// The number of elements asked for.
    elements: usize,
}

impl TooMany {
    /// The number of elements asked for.
    pub fn of(elements: usize) -> Self {
        TooMany { elements }
    }
}

/// The ranks of the job, which mpirun has started.
pub struct MpiRanks<'w> {
    world: &'w World,
    /// The communicator of all ranks.
    pub comm: SimpleCommunicator,
    in_place: Option<InPlace>,
}

impl<'w> MpiRanks<'w> {
    /// The ranks of `world`.
    ///
    /// # Errors
    /// [`Refusal::NotStarted`].
    pub fn new(world: &'w World) -> Result<Self> {
        if world.about().launcher != Launcher::Mpi {
            return Err(Error::user(Refusal::NotStarted));
        }
        Ok(MpiRanks { world, comm: SimpleCommunicator::world(), in_place: InPlace::known() })
    }

    /// This rank's number.
    pub fn me(&self) -> usize {
        self.world.rank().index()
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        self.world.size()
    }

    /// A rank by number.
    pub fn rank(&self, number: usize) -> mpi::topology::Process<'_> {
        // MPI gave the rank's number as an i32.
        self.comm.process_at_rank(number as i32)
    }

    /// Sends all parts of a distributed buffer to every rank; this rank's part of `whole` is already in its place. It
    /// uses the collective that is made for the purpose: Allgather where all parts have the same length, because MPI
    /// implementations have better algorithms for it, and Allgatherv otherwise.
    pub fn all_gather<T: Equivalence + Copy>(&self, parts: &Parts, whole: &mut [T]) {
        if let Some(in_place) = self.in_place {
            return in_place.all_gather(&self.comm, parts, whole);
        }
        let mine = whole[parts.range(self.me())].to_vec();
        if parts.are_equal() {
            self.comm.all_gather_into(&mine, whole);
        } else {
            self.comm.all_gather_varcount_into(&mine, &mut parts.of_mut(whole));
        }
    }

    /// As [`all_gather`](MpiRanks::all_gather), by Isend and Irecv of whole parts.
    pub fn all_gather_at_once<T: Equivalence + Copy>(&self, parts: &Parts, whole: &mut [T]) {
        let (mine, others) = parts.own_and_others(self.me(), whole);
        let mut outgoing = vec![mine; self.size()];
        outgoing[self.me()] = &[];
        self.all_at_once(&outgoing, others);
    }

    /// Posts all receives, then all sends, beginning with the rank after this one, and completes them with one Waitall.
    /// The piece from this rank to itself is copied.
    ///
    /// `outgoing` and `incoming` have one piece for each rank, by its number. Empty pieces are not sent.
    ///
    /// # Panics
    /// If the pieces for this rank itself differ in length.
    pub fn all_at_once<T: Equivalence + Copy>(&self, outgoing: &[&[T]], incoming: Vec<&mut [T]>) {
        let (me, size) = (self.me(), self.size());
        multiple_scope(2 * size, |scope, requests| {
            for (from, piece) in incoming.into_iter().enumerate() {
                if from == me {
                    piece.copy_from_slice(outgoing[me]);
                } else if !piece.is_empty() {
                    requests.add(self.rank(from).immediate_receive_into(scope, piece));
                }
            }
            for step in 1..size {
                let to = (me + step) % size;
                if !outgoing[to].is_empty() {
                    requests.add(self.rank(to).immediate_send(scope, outgoing[to]));
                }
            }
            requests.wait_all(&mut Vec::with_capacity(2 * size));
        });
    }

    /// As [`all_at_once`](MpiRanks::all_at_once), but calls `work` on each piece as soon as it has arrived. This rank's
    /// own piece is first and is not copied. Returns the time until the last piece arrived.
    ///
    /// `work` gets a rank, its piece, and a function that lets MPI go on with the other pieces. No thread does that, so
    /// a long `work` must call the function now and then; it returns false when nothing is left to transfer.
    pub fn each_as_it_comes<'b, T: Equivalence>(
        &self,
        outgoing: &[&'b [T]],
        incoming: Vec<&'b mut [T]>,
        mut work: impl FnMut(usize, &'b [T], &mut dyn FnMut() -> bool),
    ) -> Duration {
        let (me, size) = (self.me(), self.size());
        let (start, mut shared) = (Instant::now(), Duration::ZERO);
        multiple_scope(2 * size, |scope, requests| {
            let mut here = VecDeque::from([(me, outgoing[me])]);
            let mut senders = Vec::with_capacity(size);
            for (from, piece) in incoming.into_iter().enumerate().filter(|(from, _)| *from != me) {
                if piece.is_empty() {
                    here.push_back((from, &*piece));
                } else {
                    requests.add(self.rank(from).immediate_receive_into(scope, piece));
                    senders.push(from);
                }
            }
            for to in (1..size).map(|step| (me + step) % size).filter(|to| !outgoing[*to].is_empty()) {
                requests.add(self.rank(to).immediate_send(scope, outgoing[to]));
            }
            // Not several at once: rsmpi's `wait_some` and `test_some` look for statuses where MPI has not put them.
            let mut arrived = Vec::with_capacity(size);
            loop {
                match here.pop_front() {
                    Some((from, piece)) => work(from, piece, &mut || {
                        while requests.incomplete() > 0
                            && let Some((number, _, piece)) = requests.test_any()
                        {
                            arrived.push((number, piece));
                        }
                        requests.incomplete() > 0
                    }),
                    None if requests.incomplete() == 0 => return,
                    None => arrived.extend(requests.wait_any().map(|(number, _, piece)| (number, piece))),
                }
                for (number, piece) in arrived.drain(..) {
                    // The first numbers are receives; the rest are sends.
                    if let Some(from) = senders.get(number) {
                        here.push_back((*from, piece));
                        shared = start.elapsed();
                    }
                }
            }
        });
        shared
    }
}

impl Clone for MpiRanks<'_> {
    fn clone(&self) -> Self {
        MpiRanks { comm: SimpleCommunicator::world(), ..*self }
    }
}

impl Meeting for MpiRanks<'_> {
    fn world(&self) -> &World {
        self.world
    }

    fn barrier(&self) -> Result<()> {
        self.comm.barrier();
        Ok(())
    }

    fn serves_afterwards(&self) -> bool {
        false
    }
}

impl fmt::Debug for MpiRanks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MpiRanks({} of {})", self.me(), self.size())
    }
}

/// The division of a buffer between ranks: a range for each rank, in MPI's numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Parts {
    counts: Vec<Count>,
    starts: Vec<Count>,
}

impl Parts {
    /// Makes the division from each rank's range.
    ///
    /// # Errors
    /// [`TooMany`].
    pub fn new(ranges: impl IntoIterator<Item = Range<usize>>) -> Result<Self> {
        let mut parts = Parts::default();
        for range in ranges {
            let elements = range.end;
            Count::try_from(elements).map_err(|_| Error::user(TooMany::of(elements)))?;
            parts.counts.push(range.len() as Count);
            parts.starts.push(range.start as Count);
        }
        Ok(parts)
    }

    /// Makes the division from each rank's length; the ranges follow each other.
    ///
    /// # Errors
    /// [`TooMany`].
    pub fn of_lengths(lengths: impl IntoIterator<Item = usize>) -> Result<Self> {
        Parts::new(lengths.into_iter().scan(0, |end, length| {
            *end += length;
            Some(*end - length..*end)
        }))
    }

    /// Returns the range of `rank`.
    pub fn range(&self, rank: usize) -> Range<usize> {
        let start = self.starts[rank] as usize;
        start..start + self.counts[rank] as usize
    }

    /// Returns the end of the last range, which is the total length if the ranges follow each other.
    pub fn total(&self) -> usize {
        self.counts.len().checked_sub(1).map_or(0, |last| self.range(last).end)
    }

    /// Returns the lengths of the ranges.
    pub fn counts(&self) -> &[Count] {
        &self.counts
    }

    /// Returns whether all ranges have the same length.
    pub fn are_equal(&self) -> bool {
        self.counts.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// Returns each rank's piece of `buffer`.
    pub fn pieces<'b, T>(&self, buffer: &'b [T]) -> Vec<&'b [T]> {
        (0..self.counts.len()).map(|rank| &buffer[self.range(rank)]).collect()
    }

    /// Returns each rank's piece of `buffer`.
    ///
    /// # Panics
    /// If the ranges do not ascend; there may be gaps between them, and empty ones anywhere.
    pub fn pieces_mut<'b, T>(&self, buffer: &'b mut [T]) -> Vec<&'b mut [T]> {
        let mut rest = buffer;
        let mut end = 0;
        (0..self.counts.len())
            .map(|rank| {
                let range = self.range(rank);
                if range.is_empty() {
                    return Default::default();
                }
                assert!(range.start >= end, "ranges that ascend");
                let (_, from) = std::mem::take(&mut rest).split_at_mut(range.start - end);
                let (piece, after) = from.split_at_mut(range.len());
                (rest, end) = (after, range.end);
                piece
            })
            .collect()
    }

    /// Returns the piece of rank `own`, to be read, and the pieces of all ranks, to be written; among these the piece
    /// of `own` is empty.
    ///
    /// # Panics
    /// As [`pieces_mut`](Parts::pieces_mut).
    pub fn own_and_others<'b, T>(&self, own: usize, buffer: &'b mut [T]) -> (&'b [T], Vec<&'b mut [T]>) {
        let mut pieces = self.pieces_mut(buffer);
        let mine = std::mem::take(&mut pieces[own]);
        (mine, pieces)
    }

    /// Returns `buffer` in the form from which MPI's collectives send.
    pub fn of<'b, T: Equivalence>(&self, buffer: &'b [T]) -> Partition<'b, [T], &[Count], &[Count]> {
        Partition::new(buffer, &self.counts, &self.starts)
    }

    /// Returns `buffer` in the form into which MPI's collectives receive.
    pub fn of_mut<'b, T: Equivalence>(&self, buffer: &'b mut [T]) -> PartitionMut<'b, [T], &[Count], &[Count]> {
        PartitionMut::new(buffer, &self.counts, &self.starts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other() {
        let parts = Parts::of_lengths([3, 0, 2]).unwrap();
        assert_eq!((0..3).map(|rank| parts.range(rank)).collect::<Vec<_>>(), [0..3, 3..3, 3..5]);
        assert_eq!((parts.total(), parts.are_equal()), (5, false));
        let mut buffer = [1, 2, 3, 4, 5];
        assert_eq!(parts.pieces(&buffer), [&[1, 2, 3][..], &[], &[4, 5]]);
        assert_eq!(parts.pieces_mut(&mut buffer)[2], [4, 5]);
        let with_gaps = Parts::new([0..1, 0..0, 3..5]).unwrap();
        assert_eq!(with_gaps.pieces_mut(&mut buffer), [&[1][..], &[], &[4, 5]]);
        let (own, others) = parts.own_and_others(2, &mut buffer);
        assert_eq!(own, [4, 5]);
        assert_eq!(others, [&[1, 2, 3][..], &[], &[]]);
        let none = Parts::of_lengths([]).unwrap();
        assert_eq!((none.total(), none.are_equal()), (0, true));
    }

    #[test]
    fn more_than_32_bits_are_refused() {
        let error = Parts::of_lengths([1 << 30, 1 << 30]).unwrap_err();
        assert!(error.to_string().contains("2147483648 elements"), "{error}");
    }
}
