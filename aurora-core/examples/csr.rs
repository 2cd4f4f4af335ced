//! A sparse matrix in compressed rows (CSR), times a vector: `cargo run -p aurora-spmd --example csr`.
//!
//! The entries of a row lie on the rank that owns the row, so the blocks differ in length.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use aurora_core::prelude::*;

const SIZE: usize = 20_000;

/// The entries of a row, as `(column, value)`: up to 12, and none in some rows.
fn entries(row: usize) -> impl Iterator<Item = (usize, f64)> {
    (0..row * row % 13).map(move |k| ((row * 31 + k * 977) % SIZE, (1 + (row + k) % 10) as f64))
}

/// Element `i` of the vector that the matrix is multiplied with.
fn factor(i: usize) -> f64 {
    (i % 17) as f64
}

fn main() -> Result<()> {
    aurora_core::run(|world| {
        // As if every second rank were twice as fast.
        let weights: Vec<f64> = (0..world.size()).map(|rank| (1 + rank % 2) as f64).collect();
        let by_rows = Partition::weighted(SIZE, &weights);
        let x = GVector::from_fn(world, by_rows, factor)?;
        let mut y = GVector::<f64>::new(world, by_rows)?;

        // Each rank counts the entries of its own rows. All ranks must know the length of each block.
        let held = world.all_gather(y.local_range().map(|row| entries(row).count()).sum())?;
        let by_entries = Partition::lengths(&held);
        let (mut columns, mut values) = (GVector::new(world, by_entries)?, GVector::new(world, by_entries)?);
        {
            let (mut columns, mut values) = (columns.owner_computes_mut()?, values.owner_computes_mut()?);
            let places = columns.local_mut().iter_mut().zip(values.local_mut());
            let own_entries = y.local_range().flat_map(entries);
            places.zip(own_entries).for_each(|((column, value), entry)| (*column, *value) = entry);
        }
        {
            let x = x.read_cache()?; // all of it: a row has entries in any column
            let (columns, values) = (columns.owner_computes()?, values.owner_computes()?);
            let mut y = y.owner_computes_mut()?;
            let mut entry = values.indices().start;
            for row in y.indices() {
                let end = entry + entries(row).count();
                y[row] = (entry..end).map(|k| values[k] * x[columns[k]]).sum();
                entry = end;
            }
        }
        let y = y.read_cache()?; // waits until all ranks have multiplied
        let wanted = |row| entries(row).map(|(column, value)| value * factor(column)).sum::<f64>();
        assert!(y.iter_indexed().all(|(row, found)| *found == wanted(row)));
        if world.is_root() {
            println!("{SIZE} rows with {} entries: the product is right", values.len());
        }
        Ok(())
    })
}
