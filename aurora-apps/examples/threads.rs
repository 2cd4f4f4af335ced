//! Threads inside a rank: slices of guards under rayon's parallel iterators.
//!
//! Run it with `AURORA_RANKS=1 cargo run --release -p aurora-apps --example threads`, then with more ranks: one for
//! each node or socket, and threads for its cores. `RAYON_NUM_THREADS` sets the number of threads of each rank
//! (default: all cores).
//!
//! Guards and vectors belong to the thread that runs the closure. Their elements are ordinary data: `local()`, `row(i)`
//! and a whole ReadCache are slices that threads may share; `local_mut()` is a slice that threads may divide. The
//! compiler checks this.

use aurora_core::prelude::*;
use rayon::prelude::*;

const DIM: MatrixDim = MatrixDim { rows: 500, cols: 500 };

fn main() -> Result<()> {
    aurora_core::run(|world| {
        let a = GVector::<f64>::from_fn(world, DIM, |i| (i % 7) as f64)?;
        let b = GVector::<f64>::from_fn(world, DIM, |i| (i % 5) as f64)?;
        let mut c = GVector::<f64>::new(world, DIM)?;
        {
            let a = a.owner_computes()?; // my rows
            let b = b.read_cache()?; // the whole matrix
            let mut c = c.owner_computes_mut()?; // my rows, writable
            let (rows, b) = (a.par_rows(), b.as_slice());
            c.par_rows_mut().zip(rows).for_each(|((_, c), (_, a))| {
                for (a, b) in a.iter().zip(b.chunks(DIM.cols)) {
                    c.iter_mut().zip(b).for_each(|(c, b)| *c += a * b);
                }
            });
        }
        let c = c.read_cache()?;
        let cells = c.as_slice();
        let trace: f64 = (0..DIM.rows).into_par_iter().map(|i| cells[i * DIM.cols + i]).sum();
        assert_eq!(trace, expected());
        if world.is_root() {
            say(&format!(
                "{} ranks, {} threads each: the trace is {trace}",
                world.size(),
                rayon::current_num_threads()
            ));
        }
        Ok(())
    })
}

/// The same result, computed sequentially.
fn expected() -> f64 {
    let (a, b) = (|i: usize| (i % 7) as f64, |i: usize| (i % 5) as f64);
    let cell = |i: usize| -> f64 { (0..DIM.cols).map(|k| a(i * DIM.cols + k) * b(k * DIM.cols + i)).sum() };
    (0..DIM.rows).map(cell).sum()
}

#[expect(clippy::print_stdout, reason = "an example shows what it found")]
fn say(text: &str) {
    println!("{text}");
}
