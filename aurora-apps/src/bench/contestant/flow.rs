//! Bytes of one or several ranks reach another rank. Either all other ranks send to rank 0, and rank 0's link limits
//! them, or rank 0 sends to rank 1 and no other rank sends.

use super::prelude::*;
use super::tcp;
use crate::bench::job::By;
use std::io::{Read, Write};
use std::ops::Range;

/// The senders, the number of bytes from each, and the receiver. All other ranks take no part.
#[derive(Clone)]
pub struct Flow {
    senders: Range<usize>,
    receiver: usize,
    bytes: usize,
}

impl Flow {
    /// Makes the flow from every other rank to rank 0.
    pub fn gather(size: usize, bytes: usize) -> Self {
        Flow { senders: 1..size, receiver: 0, bytes }
    }

    /// Makes the flow from rank 0 to rank 1.
    pub fn stream(bytes: usize) -> Self {
        Flow { senders: 0..1, receiver: 1, bytes }
    }

    /// Returns the position of `sender`'s bytes in the receiver's data: the senders' bytes follow each other.
    fn place(&self, sender: usize) -> usize {
        (sender - self.senders.start).saturating_mul(self.bytes)
    }

    /// Returns memory for the bytes that `me` sends, and for those that it receives.
    fn memory(&self, me: usize) -> (Vec<u8>, Vec<u8>) {
        let mine = if self.senders.contains(&me) { self.bytes } else { 0 };
        (vec![0; mine], vec![0; if me == self.receiver { self.place(self.senders.end) } else { 0 }])
    }

    /// Fills `mine` with the data that `me` sends.
    fn fill(&self, round: Round, me: usize, mine: &mut [u8]) {
        if self.senders.contains(&me) {
            round.fill(mine, self.place(me));
        }
    }
}

/// By `distmemcpy`: each sender copies its memory into the receiver's part of a vector, or the receiver copies from the
/// senders.
pub fn aurora(world: &World, flow: Flow, by: By) -> Result<Contestant<'_>> {
    if by == By::Pull {
        return pull(world, flow);
    }
    let me = world.rank().index();
    let mut arrived = GVector::<u8>::on(world, flow.receiver, flow.place(flow.senders.end))?;
    let (mut mine, _) = flow.memory(me);
    Ok(Box::new(move |round, watch| {
        flow.fill(round, me, &mut mine);
        if flow.senders.contains(&me) {
            let start = flow.place(me);
            watch.measure(|| distmemcpy(arrived.range_mut(start..start + mine.len()), &mine[..]))?;
        } else {
            watch.serve()?;
        }
        Ok(round.wrong(arrived.owner_computes()?.local(), 0))
    }))
}

/// Pulls: the receiver copies from the senders' parts of a vector, which has a row for each rank.
fn pull(world: &World, flow: Flow) -> Result<Contestant<'_>> {
    let (me, bytes) = (world.rank().index(), flow.bytes);
    let mut rows = GVector::<u8>::new(world, MatrixDim::new(world.size(), bytes))?;
    let (_, mut arrived) = flow.memory(me);
    Ok(Box::new(move |round, watch| {
        let mut row = rows.owner_computes_mut()?;
        flow.fill(round, me, row.local_mut());
        row.finish()?;
        if me == flow.receiver {
            watch.measure(|| {
                let sources = flow.senders.clone().map(|rank| rows.range(rank * bytes..(rank + 1) * bytes));
                distmemcpy_many(arrived.chunks_mut(bytes).zip(sources))
            })?;
        } else {
            watch.serve()?;
        }
        Ok(round.wrong(&arrived, 0))
    }))
}

/// By blocking reads and writes of everything at once, over one TCP connection from the first sender.
pub fn tcp(world: &World, flow: Flow) -> Result<Contestant<'_>> {
    let me = world.rank().index();
    let mut connection = tcp::connect(world, flow.senders.start, flow.receiver)?;
    let (mut mine, mut arrived) = flow.memory(me);
    Ok(Box::new(move |round, watch| {
        flow.fill(round, me, &mut mine);
        match &mut connection {
            Some(connection) => watch.measure(|| {
                connection.write_all(&mine)?;
                Ok(connection.read_exact(&mut arrived)?)
            })?,
            None => watch.serve()?,
        }
        Ok(round.wrong(&arrived, 0))
    }))
}

/// By Gatherv, or by Isend on the senders and Irecv on the receiver.
#[cfg(feature = "mpi")]
pub fn mpi<'w>(ranks: MpiRanks<'w>, flow: Flow, by: Implementation) -> Result<Contestant<'w>> {
    let (me, size, receiver) = (ranks.me(), ranks.size(), flow.receiver);
    let parts = Parts::of_lengths((0..size).map(|rank| if flow.senders.contains(&rank) { flow.bytes } else { 0 }))?;
    let (mut mine, mut arrived) = flow.memory(me);
    Ok(Box::new(move |round, watch| {
        flow.fill(round, me, &mut mine);
        if me != receiver && !flow.senders.contains(&me) {
            return watch.serve().map(|()| 0);
        }
        watch.measure(|| {
            let root = ranks.rank(receiver);
            match by {
                Implementation::MpiIsend => {
                    let mut outgoing: Vec<&[u8]> = vec![&[]; size];
                    outgoing[receiver] = &mine;
                    let incoming = if me == receiver { parts.pieces_mut(&mut arrived) } else { Vec::new() };
                    ranks.all_at_once(&outgoing, incoming);
                }
                _ if me == receiver => root.gather_varcount_into_root(&mine[..], &mut parts.of_mut(&mut arrived)),
                _ => root.gather_varcount_into(&mine[..]),
            }
            Ok(())
        })?;
        Ok(round.wrong(&arrived, 0))
    }))
}
