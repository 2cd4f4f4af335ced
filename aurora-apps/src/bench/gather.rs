//! Every other rank's bytes reach rank 0: the one whose link is asked for more than it has.

use super::contestant::Any;
use super::job::By;
use super::prelude::*;

/// The rank that all send to.
pub const ROOT: usize = 0;

/// Collective. By `distmemcpy`, of each sender or of rank 0.
pub fn aurora(world: &World, bytes: usize, by: By) -> Result<Any<'_>> {
    Ok(match by {
        By::Push => Box::new(Push::new(world, bytes)?),
        By::Pull => Box::new(Pull::new(world, bytes)?),
    })
}

/// Where the bytes of `rank` belong in what rank 0 gets: ranks from 1 on, one after the other.
pub fn place(rank: usize, bytes: usize) -> usize {
    rank.saturating_sub(1).saturating_mul(bytes)
}

/// Each sender copies its memory into rank 0's part of a vector.
struct Push {
    me: usize,
    gathered: GVector<u8>,
    mine: Vec<u8>,
}

impl Push {
    fn new(world: &World, bytes: usize) -> Result<Self> {
        let (me, size) = (world.rank().index(), world.size());
        let gathered = GVector::on(world, ROOT, place(size, bytes))?;
        Ok(Push { me, gathered, mine: if me == ROOT { Vec::new() } else { vec![0; bytes] } })
    }
}

impl Contestant for Push {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        if self.me == ROOT {
            watch.serve()?;
            return Ok(round.wrong(self.gathered.owner_computes()?.local(), 0));
        }
        let start = place(self.me, self.mine.len());
        round.fill(&mut self.mine, start);
        watch.measure(|| distmemcpy(self.gathered.range_mut(start..start + self.mine.len()), &self.mine[..]))?;
        Ok(0)
    }
}

/// Rank 0 copies from all others' parts of a vector.
struct Pull {
    me: usize,
    bytes: usize,
    /// A row for each rank; rank 0's stays as it is.
    rows: GVector<u8>,
    gathered: Vec<u8>,
}

impl Pull {
    fn new(world: &World, bytes: usize) -> Result<Self> {
        let (me, size) = (world.rank().index(), world.size());
        let rows = GVector::new(world, MatrixDim::new(size, bytes))?;
        Ok(Pull { me, bytes, rows, gathered: if me == ROOT { vec![0; place(size, bytes)] } else { Vec::new() } })
    }
}

impl Contestant for Pull {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        if self.me != ROOT {
            let mut row = self.rows.owner_computes_mut()?;
            round.fill(row.local_mut(), place(self.me, self.bytes));
            row.finish()?;
            watch.serve()?;
            return Ok(0);
        }
        watch.measure(|| {
            let rows = self.gathered.chunks_mut(self.bytes).enumerate();
            distmemcpy_many(rows.map(|(number, into)| {
                let start = (number + 1) * self.bytes;
                (into, self.rows.range(start..start + self.bytes))
            }))
        })?;
        Ok(round.wrong(&self.gathered, 0))
    }
}
