//! A sparse matrix in compressed rows (CSR), times a vector: `cargo run -p aurora-spmd --example csr`.
//!
//! Rows are divided by weights, as if every second rank were twice as fast. The entries of a row lie on the rank that
//! owns the row, so they have blocks of their own lengths. Every element of the product is verified.

#![allow(clippy::print_stdout)]

use aurora_core::prelude::*;

/// Rows and columns.
const SIZE: usize = 20_000;

/// The entries of a row by a rule, as `(column, value)`: up to 12, and none in some rows.
fn entries(row: usize) -> impl Iterator<Item = (usize, f64)> {
    (0..row * row % 13).map(move |k| ((row * 31 + k * 977) % SIZE, (1 + (row + k) % 10) as f64))
}

/// The vector that the matrix is multiplied with.
fn factor(i: usize) -> f64 {
    (i % 17) as f64
}

/// A sparse matrix. Index `k` is the same entry in `columns` and `values`; those of row `i` end at `ends[i]`.
struct Csr {
    ends: GVector<u64>,
    columns: GVector<u64>,
    values: GVector<f64>,
}

impl Csr {
    /// Collective. Each rank makes the entries of the rows that it owns.
    fn new(world: &World, by_rows: Partition<'_>) -> Result<Self> {
        let mut ends = GVector::new(world, by_rows)?;
        let rows = ends.local_range();
        // A rank knows what its own rows hold; a vector's blocks must be known to all.
        let held = world.all_gather(rows.clone().map(|row| entries(row).count()).sum())?;
        let by_entries = Partition::lengths(&held);
        let (mut columns, mut values) = (GVector::new(world, by_entries)?, GVector::new(world, by_entries)?);
        {
            let mut ends = ends.owner_computes_mut()?;
            let (mut columns, mut values) = (columns.owner_computes_mut()?, values.owner_computes_mut()?);
            let mut next = values.indices().start;
            for row in rows {
                for (column, value) in entries(row) {
                    (columns[next], values[next]) = (column as u64, value);
                    next += 1;
                }
                ends[row] = next as u64;
            }
        }
        Ok(Csr { ends, columns, values })
    }

    /// Collective. `y` becomes this matrix times `x`; `y` has the blocks of the rows.
    fn times(&self, x: &GVector<f64>, y: &mut GVector<f64>) -> Result<()> {
        let x = x.read_cache()?; // all of it: rows have entries in any column
        let (ends, columns) = (self.ends.owner_computes()?, self.columns.owner_computes()?);
        let values = self.values.owner_computes()?;
        let mut y = y.owner_computes_mut()?;
        let mut entry = values.indices().start;
        for row in y.indices() {
            let end = ends[row] as usize;
            y[row] = (entry..end).map(|k| values[k] * x[columns[k] as usize]).sum();
            entry = end;
        }
        y.finish()
    }
}

fn main() -> Result<()> {
    aurora_core::run(|world| {
        let weights: Vec<f64> = (0..world.size()).map(|rank| (1 + rank % 2) as f64).collect();
        let by_rows = Partition::weighted(SIZE, &weights);
        let matrix = Csr::new(world, by_rows)?;
        let x = GVector::from_fn(world, by_rows, factor)?;
        let mut y = GVector::new(world, by_rows)?;
        matrix.times(&x, &mut y)?;

        let wanted = |row: usize| entries(row).map(|(column, value)| value * factor(column)).sum::<f64>();
        let wrong = y.read_cache()?.iter_indexed().find(|(row, found)| **found != wanted(*row)).map(|(row, _)| row);
        if let Some(row) = wrong {
            return Err(Error::user(format!("row {row} of the product is wrong")));
        }
        if world.is_root() {
            println!("{SIZE} rows with {} entries: the product is right", matrix.values.len());
        }
        Ok(())
    })
}
