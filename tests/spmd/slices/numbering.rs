//! Indices and `len()` of each guard are those of the vector; slices and iterators begin at the first element shown.

use super::ranges;
use aurora_core::{Error, GVector, GlobalRead, Halo, Result, World};
use aurora_suite::check;
use std::ops::{Index, Range};

/// A value that differs from the index and from the place in a slice.
fn want(i: usize) -> u64 {
    10 * i as u64 + 1
}

fn lengths(world: &World) -> [usize; 6] {
    let p = world.size();
    [0, 1, p, 3 * p + 1, 97, 1000]
}

/// The results of the methods that the guards share without a common trait.
struct Got<'g> {
    get: &'g dyn Fn(usize) -> Option<u64>,
    len: usize,
    indexed: Vec<(usize, u64)>,
    from_the_end: Vec<(usize, u64)>,
    iterated: Vec<u64>,
}

/// The same expression for guards of different types.
macro_rules! got {
    ($guard:ident) => {
        Got {
            get: &|i| $guard.get(i).copied(),
            len: $guard.len(),
            indexed: $guard.iter_indexed().map(|(i, x)| (i, *x)).collect(),
            from_the_end: $guard.iter_indexed().rev().map(|(i, x)| (i, *x)).collect(),
            iterated: $guard.iter().copied().collect(),
        }
    };
}

/// A guard of a vector of `len` elements shows the elements of `shown`, which are in order in its slice `local`. By
/// index it also shows the elements of `around`.
fn numbered<G>(guard: &G, got: &Got<'_>, local: &[u64], shown: Range<usize>, around: &[usize], len: usize) -> Result<()>
where
    G: GlobalRead<u64> + Index<usize, Output = u64>,
    for<'g> &'g G: IntoIterator<Item = &'g u64>,
{
    check::equal("len", (got.len, guard.len(), GlobalRead::is_empty(guard)), (len, len, len == 0))?;
    let in_order: Vec<u64> = shown.clone().map(want).collect();
    let mut indexed: Vec<(usize, u64)> = shown.clone().map(|i| (i, want(i))).collect();
    check::equal("a slice", local, &in_order[..])?;
    check::equal("iter", &got.iterated, &in_order)?;
    check::equal("a loop over the guard", guard.into_iter().copied().collect::<Vec<_>>(), in_order)?;
    check::equal("iter_indexed", &got.indexed, &indexed)?;
    indexed.reverse();
    check::equal("iter_indexed from the end", &got.from_the_end, &indexed)?;
    for i in 0..len {
        if shown.contains(&i) || around.contains(&i) {
            check::equal(
                "an element shown",
                (guard[i], guard.at(i)?, (got.get)(i)),
                (want(i), want(i), Some(want(i))),
            )?;
        } else {
            check::equal("get of an element that is not shown", (got.get)(i), None)?;
            assert!(matches!(guard.at(i), Err(Error::NotShown { index, .. }) if index == i));
        }
    }
    for i in [len, len + 1, 2 * len + 1, usize::MAX] {
        check::equal("get of no element", (got.get)(i), None)?;
        assert!(matches!(guard.at(i), Err(Error::IndexOutside { index, .. }) if index == i));
    }
    Ok(())
}

/// Ranges of a guard, by global indices.
macro_rules! ranges_are_global {
    ($guard:ident, $shown:expr) => {{
        let (shown, local) = ($shown, $guard.as_slice());
        let middle = shown.start + shown.len() / 3;
        for range in [shown.clone(), middle..shown.end, shown.start..middle, middle..middle] {
            check::equal("the length of a range", $guard[range.clone()].len(), range.len())?;
            check::same(&$guard[range.clone()], range.start, want)?;
        }
        check::same(&$guard[middle..], middle, want)?;
        check::same(&$guard[..middle], shown.start, want)?;
        check::equal("open ends", (&$guard[..], $guard[middle..].len()), (local, shown.end - middle))?;
        if !shown.is_empty() {
            check::same(&$guard[middle..=shown.end - 1], middle, want)?;
            check::equal("to the last one", &$guard[..=shown.end - 1], local)?;
        }
    }};
}

pub fn indices_of_caches_are_global(world: &World) -> Result<()> {
    for len in lengths(world) {
        let mut v = GVector::<u64>::from_fn(world, len, want)?;
        for range in ranges(len) {
            let part = v.slice(range.clone()).read_cache()?;
            check::equal("window", part.window(), range.clone())?;
            numbered(&part, &got!(part), part.as_slice(), range.clone(), &[], len)?;
            ranges_are_global!(part, range.clone());
            drop(part);
            let mut part = v.slice_mut(range.clone()).read_cache_release_c()?;
            check::equal("window", part.window(), range.clone())?;
            numbered(&part, &got!(part), part.as_slice(), range.clone(), &[], len)?;
            ranges_are_global!(part, range.clone());
            // It shows a copy from the first write on.
            range.clone().rev().take(1).for_each(|i| part[i] = want(i));
            numbered(&part, &got!(part), part.as_slice(), range.clone(), &[], len)?;
            ranges_are_global!(part, range.clone());
            part.finish()?;
        }
    }
    Ok(())
}

pub fn indices_of_my_part_are_global(world: &World) -> Result<()> {
    for len in lengths(world) {
        let mut v = GVector::<u64>::from_fn(world, len, want)?;
        let own = v.local_range();
        for range in ranges(len) {
            let mine = own.start.max(range.start)..own.end.min(range.end);
            let mine = if mine.is_empty() { 0..0 } else { mine };
            let part = v.slice(range.clone()).owner_computes()?;
            check::equal("window", (part.window(), part.indices().len()), (range.clone(), mine.len()))?;
            numbered(&part, &got!(part), part.local(), mine.clone(), &[], len)?;
            drop(part);
            let part = v.slice_mut(range.clone()).owner_computes_mut()?;
            check::equal("window", (part.window(), part.indices().len()), (range, mine.len()))?;
            numbered(&part, &got!(part), part.local(), mine, &[], len)?;
        }
    }
    Ok(())
}

/// In order it shows only the rank's own part; by index it also shows the halo.
pub fn indices_of_a_halo_are_global(world: &World) -> Result<()> {
    for len in lengths(world) {
        let mut v = GVector::<u64>::from_fn(world, len, want)?;
        let own = v.local_range();
        for width in [0, 1, 2, len / 2] {
            let around: Vec<usize> = match own.is_empty() {
                true => Vec::new(),
                false => {
                    (own.start.saturating_sub(width)..own.start).chain(own.end..len.min(own.end + width)).collect()
                }
            };
            let part = v.halo_cache(width)?;
            numbered(&part, &got!(part), part.local(), own.clone(), &around, len)?;
            drop(part);
            let part = v.halo_cache_mut(width)?;
            numbered(&part, &got!(part), part.local(), own.clone(), &around, len)?;
            drop(part);
            let around: Vec<usize> = match own.is_empty() {
                true => Vec::new(),
                false => {
                    (1..=width).flat_map(|k| [(own.start + width * len - k) % len, (own.end + k - 1) % len]).collect()
                }
            };
            let part = v.halo_cache(Halo::periodic(width))?;
            numbered(&part, &got!(part), part.local(), own.clone(), &around, len)?;
        }
    }
    Ok(())
}

pub fn indices_of_a_gather_and_of_a_stream_are_global(world: &World) -> Result<()> {
    for len in lengths(world) {
        let v = GVector::<u64>::from_fn(world, len, want)?;
        for range in ranges(len) {
            let part = v.slice(range.clone()).batched_reads()?;
            check::equal("window and len", (part.window(), part.len()), (range.clone(), len))?;
            let indices: Vec<usize> = range.clone().step_by(range.len() / 5 + 1).collect();
            let wanted: Vec<u64> = indices.iter().copied().map(want).collect();
            check::equal("a list", &part.read(&indices)?, &wanted)?;
            check::equal("an iterator", part.iter(indices.iter().copied()).collect::<Result<Vec<_>>>()?, wanted)?;
            indices.iter().try_for_each(|i| check::equal("one", part.at(*i)?, want(*i)))?;
        }
        let stream = v.read_cache_blocks()?;
        check::equal("len", stream.len(), len)?;
        for block in stream.blocks() {
            let (range, elements) = block?;
            check::equal("a block", elements.len(), range.len())?;
            check::same(elements, range.start, want)?;
            check::equal("its first element", stream.at(range.start)?, want(range.start))?;
        }
        check::equal("the whole", stream.whole()?.len(), len)?;
        check::same(stream.whole()?, 0, want)?;
    }
    Ok(())
}
