//! Matrices: a product, a factorisation and a relaxation.

use super::{both, both_by, both_give};
use aurora_apps::job::{App, Job, defaults};
use aurora_apps::report::Measured;
use aurora_apps::sparse_mm::SparseMm;
use aurora_core::ops::Sum;
use aurora_core::{Result, World};
use aurora_suite::{Body, check, mix};
use aurora_super::{Blocks, Dense, Policy, SuperProgram, Update};

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(a_product_with_ragged_blocks_adds_in_the_order_of_steps),
        Body::of(a_product_of_sparse_matrices_is_verified),
        Body::of(a_factorisation_of_tiles_in_integers),
        Body::of(a_relaxation_reads_the_neighbours_of_the_last_launch),
    ]
}

/// `aurora sparse-mm`, with blocks of unequal size. It finds one changed element.
fn a_product_of_sparse_matrices_is_verified(world: &World) -> Result<()> {
    for damage in [false, true] {
        let program = SparseMm { size: 100, block: 16, ..defaults() };
        let job = Job { reps: 2, damage, ..Job::of(program) };
        let run = SparseMm::run(world, &job, &mut |_| ())?;
        check::equal("whether the product is verified", run.verified(), !damage)?;
        check::equal(
            "the number of instructions",
            run.main.launch.map(|launch| launch.figures.instructions),
            Some(7 * 7 * 7),
        )?;
    }
    Ok(())
}

/// Rows, inner dimension and columns of a product, and the side of a block.
const SIZES: ([usize; 3], usize) = ([100, 153, 77], 16);

type Matrix = Blocks<Dense<f64>, (u32, u32)>;

/// A matrix in blocks. The last block of a row and of a column is smaller.
fn matrix(
    sp: &SuperProgram<'_>,
    lines: [usize; 2],
    of: impl Fn(usize) -> f64 + Send + Sync + 'static,
) -> Result<Matrix> {
    let side = SIZES.1;
    let shape = lines.map(|lines| lines.div_ceil(side) as u32);
    sp.blocks((shape[0], shape[1]), move |(i, j): (u32, u32)| {
        let first = [i as usize * side, j as usize * side];
        let part = [0, 1].map(|at| side.min(lines[at] - first[at]));
        Dense::from_fn(part[0], part[1], |r, c| of((first[0] + r) * lines[1] + first[1] + c))
    })
}

fn multiply(a: &Dense<f64>, b: &Dense<f64>, c: &mut Update<Dense<f64>, Sum>) {
    for i in 0..a.rows() {
        for k in 0..a.columns() {
            let factor = a[(i, k)];
            c.row_mut(i).iter_mut().zip(b.row(k)).for_each(|(sum, b)| *sum += factor * b);
        }
    }
}

fn product(sp: &SuperProgram<'_>) -> Result<Vec<u64>> {
    let [m, inner, n] = SIZES.0;
    let a = matrix(sp, [m, inner], |at| mix(at as u64) as f64 / 1e15)?;
    let b = matrix(sp, [inner, n], |at| 1e3 / (1.0 + at as f64))?;
    let c = matrix(sp, [m, n], |_| 0.0)?;
    let steps = a.shape().1;
    sp.launch(c.shape(), steps, multiply, move |(i, j), k| (a.at((i, k)), b.at((k, j)), c.at((i, j))))?;
    let bits = |c: &Dense<f64>| c.values().iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    sp.fold(&c, bits, |one, other| [one, other].concat())
}

/// The sums of these numbers depend on the order of their terms.
fn a_product_with_ragged_blocks_adds_in_the_order_of_steps(world: &World) -> Result<()> {
    let bits = both_by(world, Policy::S, product)?;
    let [m, inner, n] = SIZES.0;
    check::equal("values", bits.len(), m * n)?;
    // The first element of the first block, term by term.
    let term = |k: usize| mix(k as u64) as f64 / 1e15 * (1e3 / (1.0 + (k * n) as f64));
    check::equal("first", f64::from_bits(bits[0]), (0..inner).map(term).fold(0.0, |sum, term| sum + term))
}

/// A prime that is 3 modulo 4, so that a root of a square is a power of the square.
const P: u64 = (1 << 31) - 1;
/// Tiles of a side of the matrix.
const TILES: u32 = 5;
/// Elements of a side of a tile.
const SIDE: usize = 4;

type Tile = Dense<u64>;

fn power(base: u64, exponent: u64) -> u64 {
    let square = |base: u64| base * base % P;
    let (mut result, mut base, mut exponent) = (1, base, exponent);
    while exponent > 0 {
        result = if exponent % 2 == 1 { result * base % P } else { result };
        (base, exponent) = (square(base), exponent / 2);
    }
    result
}

fn inverse(of: u64) -> u64 {
    power(of, P - 2)
}

/// An error, as a program would return it.
#[derive(Debug, thiserror::Error)]
#[error("{0} has no root")]
struct NoRoot(u64);

/// The factor of a tile on the diagonal; zeros above it.
fn potrf(a: &mut Tile) -> std::result::Result<(), NoRoot> {
    for j in 0..SIDE {
        let squares = (0..j).fold(0, |sum, k| (sum + a[(j, k)] * a[(j, k)]) % P);
        let pivot = (a[(j, j)] + P - squares) % P;
        let root = power(pivot, P.div_ceil(4));
        if root * root % P != pivot {
            return Err(NoRoot(pivot));
        }
        a[(j, j)] = root;
        for i in j + 1..SIDE {
            let sum = (0..j).fold(0, |sum, k| (sum + a[(i, k)] * a[(j, k)]) % P);
            a[(i, j)] = (a[(i, j)] + P - sum) % P * inverse(root) % P;
            a[(j, i)] = 0;
        }
    }
    Ok(())
}

/// A tile below the diagonal.
fn trsm(l: &Tile, a: &mut Tile) {
    for i in 0..SIDE {
        for j in 0..SIDE {
            let sum = (0..j).fold(0, |sum, k| (sum + a[(i, k)] * l[(j, k)]) % P);
            a[(i, j)] = (a[(i, j)] + P - sum) % P * inverse(l[(j, j)]) % P;
        }
    }
}

/// Adds `sign * a * b^T`.
fn gemm(sign: u64) -> impl Fn(&Tile, &Tile, &mut Tile) + Send + Sync + Copy {
    move |a: &Tile, b: &Tile, c: &mut Tile| {
        for i in 0..SIDE {
            for j in 0..SIDE {
                let sum = (0..SIDE).fold(0, |sum, k| (sum + a[(i, k)] * b[(j, k)]) % P);
                c[(i, j)] = (c[(i, j)] + sign * sum) % P;
            }
        }
    }
}

type Tiles = Blocks<Tile, (u32, u32)>;

/// `c` becomes `l * l^T` on and below the diagonal. The factor of a tile has as many steps as its column has tiles.
fn square(sp: &SuperProgram<'_>, l: Tiles, c: Tiles) -> Result<()> {
    let steps = |(i, j): (u32, u32)| if j <= i { j + 1 } else { 0 };
    sp.launch((TILES, TILES), steps, gemm(1), move |(i, j), k| (l.at((i, k)), l.at((j, k)), c.at((i, j))))
}

fn lower((i, j): (u32, u32)) -> Tile {
    let at = |r: usize| u64::from(i) * SIDE as u64 + r as u64;
    let of = |r: u64, c: u64| if c > r { 0 } else { mix(r * 1000 + c) % (P - 1) + 1 };
    Dense::from_fn(SIDE, SIDE, |r, c| of(at(r), u64::from(j) * SIDE as u64 + c as u64))
}

fn cholesky(sp: &SuperProgram<'_>) -> Result<(Vec<u64>, Vec<u64>)> {
    let zeros = |_: (u32, u32)| Tile::zeros(SIDE, SIDE);
    let (made_of, a) = (sp.blocks((TILES, TILES), lower)?, sp.blocks((TILES, TILES), zeros)?);
    square(sp, made_of, a)?;
    let all = |of: &Tiles| sp.fold(of, |tile| tile.values().to_vec(), |one, other| [one, other].concat());
    let before = all(&a)?;
    for k in 0..TILES {
        let rest = TILES - k - 1;
        sp.each(1, potrf, move |_: u32| (a.at((k, k)),))?;
        sp.each(rest, trsm, move |i| (a.at((k, k)), a.at((k + 1 + i, k))))?;
        let on_or_below = |(i, j): (u32, u32)| u32::from(j <= i);
        sp.launch((rest, rest), on_or_below, gemm(P - 1), move |(i, j), _| {
            let (i, j) = (k + 1 + i, k + 1 + j);
            (a.at((i, k)), a.at((j, k)), a.at((i, j)))
        })?;
    }
    let again = sp.blocks((TILES, TILES), zeros)?;
    square(sp, a, again)?;
    Ok((before, all(&again)?))
}

fn a_factorisation_of_tiles_in_integers(world: &World) -> Result<()> {
    let (before, again) = both(world, cholesky)?;
    check::equal("L L^T", again == before, true)?;
    check::equal("numbers", before.iter().filter(|value| **value != 0).count() > 200, true)
}

type Strip = Vec<f64>;

#[allow(clippy::ptr_arg, reason = "a block is a `Vec`")]
fn sweep(up: Option<&Strip>, own: &Strip, down: Option<&Strip>, new: &mut Strip) {
    for i in 0..own.len() {
        let left = if i > 0 { own[i - 1] } else { up.map_or(0.0, |up| up[up.len() - 1]) };
        let right = if i + 1 < own.len() { own[i + 1] } else { down.map_or(1.0, |down| down[0]) };
        new[i] = (left + right) / 2.0;
    }
}

/// Each launch reads blocks that an earlier launch has copied, and that their owners have written since.
fn a_relaxation_reads_the_neighbours_of_the_last_launch(world: &World) -> Result<()> {
    const STRIPS: usize = 9;
    const LENGTH: usize = 6;
    let start = |i: usize| (i * i) as f64 / 7.0;
    let mut want: Vec<f64> = (0..STRIPS * LENGTH).map(start).collect();
    for _ in 0..10 {
        let at = |i: usize| want.get(i).copied();
        want = (0..want.len())
            .map(|i| (i.checked_sub(1).map_or(0.0, |i| want[i]) + at(i + 1).unwrap_or(1.0)) / 2.0)
            .collect();
    }
    both_give(world, want, |sp| {
        let strips = STRIPS as u32;
        let mut old =
            sp.blocks(strips, move |s: u32| (0..LENGTH).map(|i| start(s as usize * LENGTH + i)).collect::<Strip>())?;
        let mut new = sp.blocks(strips, |_: u32| vec![0.0; LENGTH])?;
        for _ in 0..10 {
            sp.each(strips, sweep, move |s| (old.near(s, -1), old.at(s), old.near(s, 1), new.at(s)))?;
            std::mem::swap(&mut old, &mut new);
        }
        sp.fold(&old, Vec::clone, |one, other| [one, other].concat())
    })
}
