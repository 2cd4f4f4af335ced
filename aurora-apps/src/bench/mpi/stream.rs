//! Bytes go from rank 0 to rank 1.

use crate::bench::prelude::*;
use crate::bench::stream::{FROM, TO};
use crate::mpi_ranks::{MpiRanks, Parts};

/// By one Isend and one Irecv.
pub struct Isend<'w> {
    ranks: MpiRanks<'w>,
    /// What both ends send or receive.
    bytes: Vec<u8>,
}

impl<'w> Isend<'w> {
    pub fn new(ranks: MpiRanks<'w>, bytes: usize) -> Result<Self> {
        // Checks that MPI can count them.
        let all = Parts::of_lengths([bytes])?;
        let bytes = vec![0; if [FROM, TO].contains(&ranks.me()) { all.total() } else { 0 }];
        Ok(Isend { ranks, bytes })
    }
}

impl Contestant for Isend<'_> {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        let Isend { ranks, bytes } = self;
        match ranks.me() {
            FROM => {
                round.fill(bytes, 0);
                watch.measure(|| {
                    let mut outgoing: Vec<&[u8]> = vec![&[]; ranks.size()];
                    outgoing[TO] = bytes;
                    ranks.all_at_once(&outgoing, Vec::new());
                    Ok(())
                })?;
                Ok(0)
            }
            TO => {
                watch.measure(|| {
                    let outgoing: Vec<&[u8]> = vec![&[]; ranks.size()];
                    ranks.all_at_once(&outgoing, vec![&mut bytes[..]]);
                    Ok(())
                })?;
                Ok(round.wrong(bytes, 0))
            }
            _ => watch.serve().map(|()| 0),
        }
    }
}
