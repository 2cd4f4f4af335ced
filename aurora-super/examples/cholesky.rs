//! Cholesky factorisation in tiles, as a super-program: `cargo run --release --example cholesky`.
use aurora_core::Result;
use aurora_super::{Blocks, Dense, SuperProgram};

const TILES: u32 = 6;
const SIDE: usize = 32;

/// A := L with L L^T = A.
fn potrf(a: &mut Dense<f64>) {
    for j in 0..SIDE {
        for i in j..SIDE {
            let sum: f64 = (0..j).map(|k| a[(i, k)] * a[(j, k)]).sum();
            a[(i, j)] = if i == j { (a[(i, i)] - sum).sqrt() } else { (a[(i, j)] - sum) / a[(j, j)] };
        }
        a.row_mut(j)[j + 1..].fill(0.0);
    }
}

/// B := B L^-T.
fn trsm(l: &Dense<f64>, b: &mut Dense<f64>) {
    for (i, j) in (0..SIDE * SIDE).map(|at| (at / SIDE, at % SIDE)) {
        b[(i, j)] = (b[(i, j)] - (0..j).map(|k| b[(i, k)] * l[(j, k)]).sum::<f64>()) / l[(j, j)];
    }
}

/// C := C - A B^T.
fn gemm(a: &Dense<f64>, b: &Dense<f64>, c: &mut Dense<f64>) {
    for (i, j) in (0..SIDE * SIDE).map(|at| (at / SIDE, at % SIDE)) {
        c[(i, j)] -= a.row(i).iter().zip(b.row(j)).map(|(a, b)| a * b).sum::<f64>();
    }
}

/// Factorises a matrix in tiles. Tiles above the diagonal stay unchanged.
fn factorise(sp: &SuperProgram<'_>, a: Blocks<Dense<f64>, (u32, u32)>) -> Result<()> {
    for k in 0..TILES {
        let (m, next) = (TILES - k - 1, k + 1);
        sp.each(1, potrf, move |_: u32| (a.at((k, k)),))?;
        sp.each(m, trsm, move |i| (a.at((k, k)), a.at((next + i, k))))?;
        let tiles = move |(i, j), _| (a.at((next + i, k)), a.at((next + j, k)), a.at((next + i, next + j)));
        sp.launch((m, m), |(i, j): (u32, u32)| u32::from(j <= i), gemm, tiles)?;
    }
    Ok(())
}

fn main() -> Result<()> {
    aurora_core::run(|world| {
        let sp = SuperProgram::new(world)?;
        let element = |i: usize, j: usize| if i == j { 9.0 } else { 1.0 / i.abs_diff(j) as f64 };
        let a = sp.blocks((TILES, TILES), move |(i, j): (u32, u32)| {
            let factor = if i < j { 0.0 } else { 1.0 }; // nothing above the diagonal
            Dense::from_fn(SIDE, SIDE, |r, c| factor * element(i as usize * SIDE + r, j as usize * SIDE + c))
        })?;
        factorise(&sp, a)?;
        let squares = |tile: &Dense<f64>| tile.values().iter().map(|l| l * l).sum::<f64>();
        let (trace, wanted) = (sp.fold(&a, squares, |sum, tile| sum + tile)?, 9.0 * f64::from(TILES) * SIDE as f64);
        assert!((trace - wanted).abs() < 1e-9, "the trace of L L^T is {trace}, that of A {wanted}");
        Ok(())
    })
}
