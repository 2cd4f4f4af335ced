//! Matrices by rows and by cells, in parallel, and as views.

use aurora_core::{GVector, Halo, MatrixDim, Result, World};
use aurora_suite::{Body, check, mix};
use rayon::prelude::*;

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(rows_with_their_global_numbers),
        Body::of(rows_for_writing),
        Body::of(rows_in_parallel),
        Body::of(cells_of_a_cache),
        Body::of(views_of_my_part_and_of_the_whole),
        Body::of(rows_of_a_halo),
        Body::of(rows_of_a_slice),
        Body::of(matrices_without_cells),
    ]
}

const DIM: MatrixDim = MatrixDim { rows: 13, cols: 6 };

fn want(i: usize) -> i64 {
    mix(i as u64) as i64
}

fn same_rows<'a>(rows: impl Iterator<Item = (usize, &'a [i64])>, numbers: std::ops::Range<usize>) -> Result<()> {
    let mut numbers = numbers;
    for (row, elements) in rows {
        check::equal("a row's number", Some(row), numbers.next())?;
        check::equal("its length", elements.len(), DIM.cols)?;
        check::same(elements, row * DIM.cols, want)?;
    }
    check::equal("rows left", numbers.len(), 0)
}

fn rows_with_their_global_numbers(world: &World) -> Result<()> {
    let mut v = GVector::from_fn(world, DIM, want)?;
    let own = v.owner_computes()?;
    same_rows(own.iter_rows(), own.rows())?;
    drop(own);
    let all = v.read_cache()?;
    check::equal("all rows", all.rows(), 0..DIM.rows)?;
    same_rows(all.iter_rows(), 0..DIM.rows)?;
    drop(all);
    let all = v.read_cache_release_c()?;
    same_rows(all.iter_rows(), all.rows())?;
    all.finish()?;
    // In a vector that is no matrix every element is a row.
    let plain = GVector::from_fn(world, 10, want)?;
    let own = plain.owner_computes()?;
    own.iter_rows().try_for_each(|(i, row)| check::equal("an element", row, &[want(i)][..]))?;
    check::equal("elements", own.iter_rows().len(), own.indices().len())
}

fn rows_for_writing(world: &World) -> Result<()> {
    let mut v = GVector::<i64>::new(world, DIM)?;
    let mut own = v.owner_computes_mut()?;
    for (row, elements) in own.iter_rows_mut() {
        elements.iter_mut().enumerate().for_each(|(col, x)| *x = want(row * DIM.cols + col));
    }
    own.finish()?;
    check::same(v.read_cache()?.as_slice(), 0, want)
}

fn rows_in_parallel(world: &World) -> Result<()> {
    let a = GVector::from_fn(world, DIM, want)?;
    let mut b = GVector::<i64>::new(world, DIM)?;
    let (own, mut twice) = (a.owner_computes()?, b.owner_computes_mut()?);
    twice.par_rows_mut().zip(own.par_rows()).for_each(|((number, to), (other, from))| {
        assert_eq!(number, other);
        to.iter_mut().zip(from).for_each(|(to, from)| *to = from.wrapping_mul(2));
    });
    drop((own, twice));
    let all = b.read_cache()?;
    check::same(all.as_slice(), 0, |i| want(i).wrapping_mul(2))?;
    check::equal("rows", all.par_rows().map(|(row, _)| row).collect::<Vec<_>>(), (0..DIM.rows).collect())
}

fn cells_of_a_cache(world: &World) -> Result<()> {
    let v = GVector::from_fn(world, DIM, want)?;
    let all = v.read_cache()?;
    for row in 0..DIM.rows {
        for col in 0..DIM.cols {
            check::equal("a cell", all[(row, col)], want(row * DIM.cols + col))?;
        }
    }
    check::same(&all[3..9], 3, want)?;
    check::same(&all[..], 0, want)?;
    check::same(&all[..=4], 0, want)?;
    check::equal("an element", all[77], want(77))
}

fn views_of_my_part_and_of_the_whole(world: &World) -> Result<()> {
    let mut v = GVector::from_fn(world, DIM, want)?;
    let own = v.owner_computes()?;
    let first = own.rows().start;
    check::equal("the shape of my part", own.view().dim(), (own.rows().len(), DIM.cols))?;
    for ((row, col), x) in own.view().indexed_iter() {
        check::equal("a cell of mine", *x, want((first + row) * DIM.cols + col))?;
    }
    drop(own);
    let all = v.read_cache()?;
    check::equal("the shape of the whole", all.view().dim(), (DIM.rows, DIM.cols))?;
    for ((row, col), x) in all.view().t().indexed_iter() {
        check::equal("a cell, transposed", *x, want(col * DIM.cols + row))?;
    }
    drop(all);
    v.owner_computes_mut()?.view_mut().mapv_inplace(|x| x.wrapping_add(1));
    check::same(v.read_cache()?.as_slice(), 0, |i| want(i).wrapping_add(1))
}

/// A HaloCache iterates over its own rows, and has the rows around them separately.
fn rows_of_a_halo(world: &World) -> Result<()> {
    let mut v = GVector::from_fn(world, DIM, want)?;
    let halo = v.halo_cache(1)?;
    same_rows(halo.iter_rows(), halo.rows())?;
    check::equal("rows in parallel", halo.par_rows().len(), halo.rows().len())?;
    check::equal("the shape of my part", halo.view().dim(), (halo.rows().len(), DIM.cols))?;
    drop(halo);

    let mut halo = v.halo_cache_mut(Halo::periodic(1))?;
    same_rows(halo.iter_rows(), halo.rows())?;
    let add = |by: i64| move |x: &mut i64| *x = x.wrapping_add(by);
    halo.iter_rows_mut().for_each(|(row, elements)| elements.iter_mut().for_each(add(row as i64)));
    halo.par_rows_mut().for_each(|(row, elements)| elements.iter_mut().for_each(add(10 * row as i64)));
    check::equal("the shape for writing", halo.view_mut().dim(), (halo.rows().len(), DIM.cols))?;
    halo.view_mut().iter_mut().for_each(add(7));
    let now = |i: usize| want(i).wrapping_add(11 * (i / DIM.cols) as i64 + 7);
    check::same(halo.local(), halo.indices().start, now)?;
    halo.refresh()?;
    if !halo.rows().is_empty() {
        let before = (halo.rows().start + DIM.rows - 1) % DIM.rows;
        check::same(halo.row(before), before * DIM.cols, now)?;
    }
    halo.finish()?;
    check::same(v.read_cache()?.as_slice(), 0, now)
}

/// A slice iterates over the rows that are completely inside it.
fn rows_of_a_slice(world: &World) -> Result<()> {
    let mut v = GVector::from_fn(world, DIM, want)?;
    let some = v.rows(3..9).read_cache()?;
    same_rows(some.iter_rows(), 3..9)?;
    check::equal("the shape of the part", some.view().dim(), (6, DIM.cols))?;
    drop(some);
    // From inside row 2 to inside row 10. Only the rows in between are complete.
    let some = v.slice(15..64).read_cache()?;
    check::equal("whole rows", some.rows(), 3..10)?;
    same_rows(some.iter_rows(), 3..10)?;
    check::equal("whole rows in parallel", some.par_rows().map(|(row, _)| row).collect::<Vec<_>>(), (3..10).collect())?;
    drop(some);

    let own = v.local_rows();
    let mine = own.start.clamp(3, 10)..own.end.clamp(3, 10);
    let mut some = v.slice_mut(15..64).owner_computes_mut()?;
    same_rows(some.iter_rows(), mine.clone())?;
    check::equal("the shape for writing", some.view_mut().dim(), (mine.len(), DIM.cols))?;
    some.iter_rows_mut().for_each(|(row, elements)| elements.fill(row as i64));
    some.par_rows_mut().for_each(|(_, elements)| elements[0] = -1);
    some.finish()?;
    check::same(v.read_cache()?.as_slice(), 0, |i| match (i / DIM.cols, i % DIM.cols) {
        (3..10, 0) => -1,
        (row @ 3..10, _) => row as i64,
        _ => want(i),
    })
}

fn matrices_without_cells(world: &World) -> Result<()> {
    for dim in [MatrixDim::new(0, 5), MatrixDim::new(5, 0), MatrixDim::new(1, 5)] {
        let mut v = GVector::<i64>::new(world, (dim.rows, dim.cols))?;
        check::equal("the shape", v.dim(), Some(dim))?;
        let mut own = v.owner_computes_mut()?;
        let mine = own.rows().len();
        check::equal("rows for writing", own.iter_rows_mut().count(), mine)?;
        check::equal("rows in parallel", own.par_rows_mut().count(), mine)?;
        check::equal("a view", own.view_mut().nrows(), mine)?;
        drop(own);
        let mut halo = v.halo_cache_mut(1)?;
        check::equal("rows of a halo", halo.iter_rows_mut().count(), mine)?;
        check::equal("a view of it", halo.view_mut().nrows(), mine)?;
        drop(halo);
        check::equal("cells", v.read_cache()?.view().len(), dim.rows * dim.cols)?;
    }
    Ok(())
}
