//! What every rank must know alike: a seed, and each other's figures.

use aurora_core::prelude::*;
use std::time::{SystemTime, UNIX_EPOCH};

/// Collective. The seed asked for, or a new one that rank 0 draws for all.
pub fn seed(world: &World, asked: Option<u64>) -> Result<u64> {
    let mut seed = GVector::<u64>::on(world, 0, 1)?;
    {
        let mut mine = seed.owner_computes_mut()?;
        if let [slot] = mine.local_mut() {
            *slot = asked.unwrap_or_else(fresh);
        }
        mine.finish()?;
    }
    let seed = seed.read_cache()?;
    Ok(seed[0])
}

/// A seed from the time; 48 bits of it, which is short enough to type again.
fn fresh() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = now.map_or(0, |time| time.as_nanos() as u64);
    crate::random::Stream::new(nanos, 0).bits(0) >> 16
}

/// A table with one row of figures per rank, which every rank reads whole.
#[derive(Debug)]
pub struct Table {
    rows: GVector<f64>,
    columns: usize,
}

impl Table {
    /// Collective. A table of `columns` figures per rank.
    pub fn new(world: &World, columns: usize) -> Result<Self> {
        let rows = GVector::new(world, MatrixDim::new(world.size(), columns))?;
        Ok(Table { rows, columns })
    }

    /// Collective. Everyone's figures, by rank.
    ///
    /// # Panics
    /// If `mine` has not as many figures as the table has columns.
    pub fn exchange(&mut self, mine: &[f64]) -> Result<Vec<Vec<f64>>> {
        {
            let mut row = self.rows.owner_computes_mut()?;
            row.local_mut().copy_from_slice(mine);
            row.finish()?;
        }
        let all = self.rows.read_cache()?;
        Ok(all.chunks(self.columns).map(<[f64]>::to_vec).collect())
    }
}
