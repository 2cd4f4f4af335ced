//! The kinds of elements, and the ranks that read them.

use super::look::look;
use super::{around, neighbours, want};
use aurora_core::{GVector, GlobalRead, GlobalWrite, Halo, MatrixDim, Result, World};
use aurora_suite::check;

pub fn rows_and_cells(world: &World) -> Result<()> {
    let dim = MatrixDim::new(3 * world.size(), 4);
    let mut v = GVector::<u64>::new(world, dim)?;
    let mut h = v.halo_cache_mut(1)?;
    for row in h.rows() {
        h.row_mut(row).fill(row as u64);
        h[(row, 2)] = 100 + row as u64;
        h[row * 4 + 3] += 1;
        h.put(row * 4, 7)?;
    }
    h.refresh()?;
    assert!(h.iter_rows().map(|(row, _)| row).eq(h.rows()), "its own rows");
    assert!(h.iter_rows().all(|(row, elements)| elements[1] == row as u64));
    let shown = h.rows().start.saturating_sub(1)..(h.rows().end + 1).min(dim.rows);
    for row in shown.clone() {
        let x = row as u64;
        assert_eq!(h.row(row), [7, x, 100 + x, x + 1]);
        assert_eq!([h[(row, 1)], h[row * 4 + 2], h.at(row * 4)?], [x, 100 + x, 7]);
    }
    // Elements outside the shown range, and writes to elements that are only shown for reading, are clear errors.
    if shown.start > 0 {
        let error = h.at(shown.start * 4 - 1).unwrap_err().to_string();
        assert!(error.contains(&format!("index {} is outside {}..", shown.start * 4 - 1, shown.start * 4)), "{error}");
        let error = h.put(shown.start * 4, 1).unwrap_err().to_string();
        assert!(error.contains("is outside"), "{error}");
    }
    Ok(())
}

pub fn threads_share_the_parts(world: &World) -> Result<()> {
    let mut v = GVector::from_fn(world, MatrixDim::new(8 * world.size(), 5), want)?;
    let mut h = v.halo_cache_mut(1)?;
    let (before, own, behind) = h.parts_mut();
    let seen = std::thread::scope(|threads| {
        let (low, high) = own.split_at_mut(20);
        let low = threads.spawn(move || (before.len(), low.fill(1)).0);
        let high = threads.spawn(move || (behind.len(), high.fill(2)).0);
        low.join().expect("no panic") + high.join().expect("no panic")
    });
    assert_eq!(seen, 5 * neighbours(world, Halo::fixed(1)) as usize);
    h.refresh()?;
    assert!(h.before().iter().all(|x| *x == 2) && h.behind().iter().all(|x| *x == 1));
    Ok(())
}

pub fn elements_of_odd_size(world: &World) -> Result<()> {
    let pixel = |i: usize| [want(i) as u8, (want(i) >> 8) as u8, i as u8];
    for (len, halo) in [(7, Halo::fixed(2)), (7, Halo::periodic(20)), (41, Halo::periodic(5))] {
        let mut v = GVector::<[u8; 3]>::from_fn(world, len, pixel)?;
        let mut h = v.halo_cache_mut(halo)?;
        for shift in 1..4 {
            for i in h.indices() {
                h[i] = pixel(i + shift);
            }
            h.refresh()?;
            let (before, behind) = around(&h.indices(), len, 1, halo);
            let pixels = |of: Vec<usize>| of.into_iter().map(|i| pixel(i + shift)).collect::<Vec<_>>();
            check::equal("before", h.before(), &pixels(before)[..])?;
            check::equal("behind", h.behind(), &pixels(behind)[..])?;
        }
    }
    Ok(())
}

/// Longer than any packet, ring or buffer, and than the length that is received without a check.
pub fn long_edges(world: &World) -> Result<()> {
    const LEN: usize = 200_000;
    let p = world.size();
    let mut v = GVector::<u64>::new(world, LEN * p)?;
    let halo = Halo::periodic(LEN - 1);
    let mut h = v.halo_cache_mut(halo)?;
    for step in 1..4 {
        let start = h.indices().start;
        h.local_mut().iter_mut().enumerate().for_each(|(i, x)| *x = (start + i) as u64 * step);
        h.refresh()?;
        let shown = |of: &[u64], first: usize| {
            let wrong = of.iter().enumerate().find(|(i, x)| **x != ((first + i) % (LEN * p)) as u64 * step);
            check::equal("wrong", wrong, None)
        };
        shown(h.before(), start + LEN * p - (LEN - 1))?;
        shown(h.behind(), start + LEN)?;
    }
    Ok(())
}

pub fn memory_is_kept_and_given_back(world: &World) -> Result<()> {
    let mut v = GVector::<u64>::new(world, 6 * world.size())?;
    let len = v.len();
    for round in 0..12 {
        let mut h = v.halo_cache_mut(Halo::periodic(1 + round % 3))?;
        h.local_mut().fill(round as u64);
        if round % 2 == 0 {
            h.refresh()?;
        }
        drop(h);
        for _ in 0..2 {
            look(&v.halo_cache(Halo::periodic(2))?, &vec![round as u64; len], 1)?;
        }
        if round % 4 == 3 {
            v.release_cache()?;
        }
    }
    Ok(())
}
