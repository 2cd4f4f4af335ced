//! The paper's Figure 2: matrix multiplication with three behaviours on three objects.
//!
//! Run it with `cargo run --release -p aurora-apps --example figure2`.
//!
//! | the paper's name | ours |
//! |---|---|
//! | `GVector<int> mA(MatrixDim(512, 512))` | `GVector::<i32>::new(world, MatrixDim::new(512, 512))?` |
//! | `NewBehaviour(mA, GVOwnerComputes, int)` | `let m_a = m_a.owner_computes()?` |
//! | `NewBehaviour(mB, GVReadCache, int)` | `let m_b = m_b.read_cache()?` |
//! | `NewBehaviour(mC, GVReleaseC, int)` | `let mut m_c = m_c.release_c()?` |
//! | `while (mA.doParallel(myTeam))` | not needed: a rank without rows has an empty range |
//! | `for (i = mA.begin(); i < mA.end(); i += mA.step())` | `for i in m_a.rows()` |
//! | `mC[i][j] = x` under `GVReleaseC` | `m_c.put(i * N + j, x)?` |
//! | C-style pointer `&mA[i][0]` | the slice `m_a.row(i)` |
//! | C-style pointer `mB` | the slice `m_b.as_slice()` |
//! | `distmemcpy(...)` (section 3.4) | `distmemcpy(&mut local, v.range(a..b))?`, `distmemcpy_many` |
//! | `// End scope` | the end of the block, or `finish()?` |
//!
//! Indices are global under every behaviour, as in the paper.

use aurora_core::prelude::*;

const N: usize = 512;

/// The paper's function with the innermost loop: the same in the sequential and in the parallel program.
fn dot_prod(a: &[i32], b: &[i32], j: usize, n: usize) -> i32 {
    (0..n).fold(0, |sum, k| sum.wrapping_add(a[k].wrapping_mul(b[k * n + j])))
}

fn entry(i: usize) -> i32 {
    (i as i32).wrapping_mul(0x9E37_79B1_u32 as i32)
}

fn main() -> Result<()> {
    aurora_core::run(|world| {
        let dim = MatrixDim::new(N, N);
        let m_a = GVector::<i32>::from_fn(world, dim, entry)?;
        let m_b = GVector::<i32>::from_fn(world, dim, |i| entry(i + 1))?;
        let mut m_c = GVector::<i32>::new(world, dim)?;

        {
            // Begin new scope
            let m_a = m_a.owner_computes()?;
            let m_b = m_b.read_cache()?;
            let mut m_c = m_c.release_c()?;
            for i in m_a.rows() {
                for j in 0..N {
                    m_c.put(i * N + j, dot_prod(m_a.row(i), m_b.as_slice(), j, N))?;
                }
            }
            m_c.finish()?;
        } // End scope

        check(&m_c)?;
        if world.is_root() {
            report(world.size());
        }
        Ok(())
    })
}

/// Compares the rows of this rank with the sequential program.
fn check(m_c: &GVector<i32>) -> Result<()> {
    let m_a: Vec<i32> = (0..N * N).map(entry).collect();
    let m_b: Vec<i32> = (0..N * N).map(|i| entry(i + 1)).collect();
    let m_c = m_c.owner_computes()?;
    for i in m_c.rows() {
        for j in 0..N {
            let expected = dot_prod(&m_a[i * N..(i + 1) * N], &m_b, j, N);
            assert_eq!(m_c[(i, j)], expected, "element ({i}, {j})");
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example shows what it found")]
fn report(ranks: usize) {
    println!("{N} x {N} on {ranks} ranks: every element is right");
}
