//! The super-program: its data, its instruction, its launch, and checksums of its result.

use crate::{checksum, clock::Work, sparse_mm::Matrices};
use aurora_core::{Result, ops::Sum};
use aurora_super::{Blocks, Csr, Dense, SuperProgram, Update};

/// C, and the number of entries of A and B.
pub type Product = (Blocks<Dense<f64>, (u32, u32)>, usize);

/// The instruction: C += A x B, row by row (Gustavson's algorithm).
fn multiply(a: &Csr<f64>, b: &Csr<f64>, c: &mut Update<Dense<f64>, Sum>) {
    for i in 0..a.rows() {
        let ((columns, factors), sums) = (a.row(i), c.row_mut(i));
        for (k, factor) in columns.iter().zip(factors) {
            let (columns, values) = b.row(*k as usize);
            columns.iter().zip(values).for_each(|(j, value)| sums[*j as usize] += factor * value);
        }
    }
}

/// Collective. C = A x B. `time` runs the launch; all blocks exist before it.
pub fn product(sp: &SuperProgram<'_>, of: Matrices, time: impl FnOnce(Work<'_>) -> Result<()>) -> Result<Product> {
    let n = of.blocks();
    let (a, b) = (sp.blocks((n, n), move |at| of.a(at))?, sp.blocks((n, n), move |at| of.b(at))?);
    let c = sp.blocks((n, n), move |at| of.zeros(at))?;
    let entries = sp.fold(&a, Csr::entries, |x, y| x + y)? + sp.fold(&b, Csr::entries, |x, y| x + y)?;
    sp.fold(&c, Dense::rows, |_, last| last)?;
    time(&|| sp.launch((n, n), n, multiply, move |(i, j), k| (a.at((i, k)), b.at((k, j)), c.at((i, j)))))?;
    Ok((c, entries))
}

/// Collective. A checksum of each block of C.
pub fn checksums(sp: &SuperProgram<'_>, (c, _): Product) -> Result<Vec<u64>> {
    sp.fold(&c, |c| vec![checksum::checksum(c.values())], checksum::joined)
}
