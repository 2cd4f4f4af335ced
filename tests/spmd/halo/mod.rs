//! `HaloCache`: my part and what lies around it, against a plain vector.

use aurora_core::{
    Boundary, Error, GVector, GlobalRead, GlobalWrite, Halo, HaloCache, HaloCacheMut, MatrixDim, Result, World,
    distmemcpy,
};
use aurora_suite::body::Body;
use aurora_suite::check;
use aurora_suite::random::{Random, mix};
use std::ops::Range;
use std::time::Duration;

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(random_halos),
        Body::of(a_step_is_a_message_to_each_neighbour),
        Body::of(entries_alone_refresh_too),
        Body::of(a_halo_is_what_its_owner_had_at_that_step),
        Body::of(rows_and_cells),
        Body::of(two_vectors_take_turns),
        Body::of(two_scopes_of_one_vector),
        Body::of(nothing_around),
        Body::of(who_owns_nothing_runs_ahead_and_says_nothing).from_ranks(2),
        Body::of(more_ranks_than_rows),
        Body::of(a_rank_waits_for_its_neighbours_alone).from_ranks(4),
        Body::of(others_read_and_write_between_steps),
        Body::of(among_other_scopes),
        Body::of(threads_share_the_parts),
        Body::of(elements_of_odd_size),
        Body::of(long_edges),
        Body::of(memory_is_kept_and_given_back),
    ]
}

fn want(i: usize) -> u64 {
    mix(i as u64)
}

/// The global indices that lie before and behind `own`, in a vector of `len` elements in rows of `cols`.
fn around(own: &Range<usize>, len: usize, cols: usize, halo: Halo) -> (Vec<usize>, Vec<usize>) {
    let reach = if own.is_empty() { 0 } else { halo.width * cols };
    match halo.boundary {
        Boundary::Fixed => {
            let (first, last) = (own.start.saturating_sub(reach), (own.end + reach).min(len));
            (if own.is_empty() { 0..0 } else { first..own.start }.collect(), (own.end.min(last)..last).collect())
        }
        Boundary::Periodic => {
            let before = (1..=reach).rev().map(|back| (own.start + len * reach - back) % len);
            (before.collect(), (0..reach).map(|ahead| (own.end + ahead) % len).collect())
        }
    }
}

/// Steps of a rule that depends on what lies around, with random shapes, widths and boundaries, at random speeds.
fn random_halos(world: &World) -> Result<()> {
    let me = world.rank().index() as u64;
    for seed in 0..60 {
        let (mut shared, mut speed) = (Random::new(seed), Random::new(seed * 64 + me));
        let len = [0, 1, 2, 3, 7, 10, 24, 111][shared.below(8)];
        let cols = [0, 1, 3, 8][shared.below(4)];
        let mut v = match cols {
            0 => GVector::from_fn(world, len, want)?,
            _ if shared.below(6) == 0 => GVector::on(world, shared.below(world.size()), MatrixDim::new(len, cols))?,
            _ => GVector::from_fn(world, MatrixDim::new(len, cols), want)?,
        };
        let cols = cols.max(1);
        let mut model = vec![0; v.len()];
        distmemcpy(&mut model[..], v.range(..))?;
        let width = [0, 1, 1, 2, 5, 30][shared.below(6)];
        let halo = if shared.below(2) == 0 { Halo::fixed(width) } else { Halo::periodic(width) };
        world.barrier()?;
        let mut h = v.halo_cache_mut(halo)?;
        assert_eq!((h.halo(), GlobalRead::len(&h)), (halo, model.len()));
        for step in 0..6 {
            look_mut(&h, &model, cols).map_err(|error| Error::user(format!("seed {seed}, step {step}: {error}")))?;
            model.iter_mut().for_each(|x| *x = mix(*x ^ step));
            if speed.below(4) == 0 {
                std::thread::sleep(Duration::from_micros(speed.below(800) as u64));
            }
            let own = h.indices();
            if speed.below(2) == 0 {
                h.local_mut().copy_from_slice(&model[own]);
            } else {
                own.for_each(|i| h[i] = model[i]);
            }
            h.refresh()?;
        }
        look_mut(&h, &model, cols)?;
        drop(h);
        let h = v.halo_cache(halo)?;
        look(&h, &model, cols)?;
        drop(h);
        check::same(&v.read_cache()?, 0, |i| model[i])?;
    }
    Ok(())
}

/// Everything that a HaloCache shows, in every way.
macro_rules! looks {
    ($($name:ident: $scope:ident)*) => {$(
        fn $name(h: &$scope<'_, u64>, model: &[u64], cols: usize) -> Result<()> {
            let (indices, halo) = (h.indices(), h.halo());
            let (before, behind) = around(&indices, model.len(), cols, halo);
            let values = |indices: &[usize]| indices.iter().map(|i| model[*i]).collect::<Vec<_>>();
            check::equal("own", h.local(), &model[indices.clone()])?;
            check::equal("before", h.before(), &values(&before)[..])?;
            check::equal("behind", h.behind(), &values(&behind)[..])?;
            for (i, want) in model.iter().enumerate() {
                let shown = indices.contains(&i) || before.contains(&i) || behind.contains(&i);
                match h.at(i) {
                    Ok(x) => check::equal("by number", (x, true), (*want, shown))?,
                    Err(error) => check::equal(&format!("element {i} shown ({error})"), shown, false)?,
                }
                if shown {
                    let (row, col) = (i / cols, i % cols);
                    check::equal("by index, cell and row", [h[i], h[(row, col)], h.row(row)[col]], [*want; 3])?;
                }
            }
            assert!(h.at(model.len()).is_err());
            Ok(())
        }
    )*};
}

looks! {
    look: HaloCache
    look_mut: HaloCacheMut
}

/// Messages and bytes on the account of HaloCaches so far.
fn accounted(world: &World) -> (u64, u64) {
    let usage = world.usage();
    let lines = || usage.iter().filter(|line| line.action == "HaloCache");
    (lines().map(|line| line.usage.messages).sum(), lines().map(|line| line.usage.bytes).sum())
}

/// So many other ranks own something next to a rank's block.
fn neighbours(world: &World, halo: Halo) -> u64 {
    let (me, p) = (world.rank().index(), world.size());
    match halo.boundary {
        Boundary::Fixed => u64::from(me > 0) + u64::from(me + 1 < p),
        Boundary::Periodic => [0, 1, 1][p.min(3) - 1].max(if p > 2 { 2 } else { 0 }),
    }
}

fn a_step_is_a_message_to_each_neighbour(world: &World) -> Result<()> {
    const STEPS: u64 = 20;
    let (p, cols) = (world.size(), 50);
    for halo in [Halo::fixed(1), Halo::fixed(3), Halo::periodic(1), Halo::periodic(4)] {
        let mut v = GVector::<u32>::new(world, MatrixDim::new(4 * p, cols))?;
        let before = accounted(world);
        let mut h = v.halo_cache_mut(halo)?;
        let entered = accounted(world);
        let neighbours = neighbours(world, halo);
        check::equal("messages of the entry", entered.0 - before.0, neighbours)?;
        for step in 1..=STEPS {
            h.local_mut().fill(step as u32);
            h.refresh()?;
            assert!(h.before().iter().chain(h.behind()).all(|x| *x == step as u32));
        }
        let all = accounted(world);
        check::equal("messages", all.0 - entered.0, STEPS * neighbours)?;
        let both = if p == 1 { 0 } else { (h.before().len() + h.behind().len()) as u64 };
        check::equal("bytes", all.1 - entered.1, STEPS * both * 4)?;
        h.finish()?;
        // Nothing but that, and nothing at the end: in some round at least, as the watch over waiting ranks speaks too.
        let mut h = v.halo_cache_mut(halo)?;
        let mut least = u64::MAX;
        for _ in 0..STEPS {
            let before = world.traffic();
            h.refresh()?;
            least = least.min((world.traffic() - before).transfers_out);
        }
        check::equal("transfers of a step", least, neighbours)?;
    }
    Ok(())
}

fn entries_alone_refresh_too(world: &World) -> Result<()> {
    let mut v = GVector::<u64>::new(world, 5 * world.size())?;
    for round in 1..30 {
        let mut own = v.owner_computes_mut()?;
        own.local_mut().fill(round);
        own.finish()?;
        let h = v.halo_cache(2)?;
        assert!(h.before().iter().chain(h.local()).chain(h.behind()).all(|x| *x == round));
        h.finish()?;
    }
    Ok(())
}

/// Ranks of very different speeds: who is ahead has to keep its new edge back until the slow one has shown the old.
fn a_halo_is_what_its_owner_had_at_that_step(world: &World) -> Result<()> {
    let me = world.rank().index();
    let mut speed = Random::new(me as u64);
    let mut v = GVector::<u64>::new(world, world.size())?;
    let mut h = v.halo_cache_mut(Halo::periodic(1))?;
    for step in 1..200 {
        h.local_mut()[0] = step;
        h.refresh()?;
        check::equal("before and behind", [h.before()[0], h.behind()[0]], [step; 2])?;
        // Mine is mine at once, the others' stay as they are.
        h[me] = 1000 + step;
        if speed.below(20) == me {
            std::thread::sleep(Duration::from_millis(1));
        }
        check::equal("before and behind, later", [h.before()[0], h.behind()[0]], [step; 2])?;
        check::equal("mine", h[me], 1000 + step)?;
    }
    Ok(())
}

fn rows_and_cells(world: &World) -> Result<()> {
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
    // What it does not show, and what it shows only to be read, are errors that say so.
    if shown.start > 0 {
        let error = h.at(shown.start * 4 - 1).unwrap_err().to_string();
        assert!(error.contains(&format!("index {} is outside {}..", shown.start * 4 - 1, shown.start * 4)), "{error}");
        let error = h.put(shown.start * 4, 1).unwrap_err().to_string();
        assert!(error.contains("is outside"), "{error}");
    }
    Ok(())
}

/// Two vectors, of which one is read and the other written in each step.
fn two_vectors_take_turns(world: &World) -> Result<()> {
    let dim = MatrixDim::new(17, 9);
    let entry = |i: usize| (want(i) % 1000) as f64;
    let mut a = GVector::from_fn(world, dim, entry)?;
    let mut b = GVector::from_fn(world, dim, entry)?;
    let mut model: Vec<f64> = (0..a.len()).map(entry).collect();
    {
        let (mut now, mut next) = (a.halo_cache_mut(1)?, b.halo_cache_mut(1)?);
        for _ in 0..10 {
            for row in now.rows().filter(|row| (1..dim.rows - 1).contains(row)) {
                for col in 1..dim.cols - 1 {
                    let around = now[(row - 1, col)] + now[(row + 1, col)] + now[(row, col - 1)] + now[(row, col + 1)];
                    next[(row, col)] = now[(row, col)] + 0.1 * (around - 4.0 * now[(row, col)]);
                }
            }
            next.refresh()?;
            std::mem::swap(&mut now, &mut next);
            let before = model.clone();
            for row in 1..dim.rows - 1 {
                for at in (row * dim.cols + 1)..(row + 1) * dim.cols - 1 {
                    let around = before[at - dim.cols] + before[at + dim.cols] + before[at - 1] + before[at + 1];
                    model[at] = before[at] + 0.1 * (around - 4.0 * before[at]);
                }
            }
        }
    }
    check::same(&a.read_cache()?, 0, |i| model[i])
}

/// Both are refreshed, the older and the newer, in any order that is the same on all ranks.
fn two_scopes_of_one_vector(world: &World) -> Result<()> {
    let mut v = GVector::<u64>::new(world, MatrixDim::new(3 * world.size() + 1, 2))?;
    for round in 0..10 {
        v.fill(round)?;
        let (mut older, mut newer) = (v.halo_cache(1)?, v.halo_cache(Halo::periodic(2))?);
        let mut order = Random::new(round);
        for _ in 0..20 {
            if order.below(2) == 0 { older.refresh()? } else { newer.refresh()? }
        }
        look(&older, &vec![round; v.len()], 2)?;
        let third = v.halo_cache(3)?;
        if round % 2 == 0 {
            drop(newer);
            older.refresh()?;
            look(&older, &vec![round; v.len()], 2)?;
        } else {
            drop(older);
            newer.refresh()?;
            look(&newer, &vec![round; v.len()], 2)?;
        }
        look(&third, &vec![round; v.len()], 2)?;
    }
    Ok(())
}

/// It has no neighbours to wait for; so nothing of what it does may be kept anywhere.
fn who_owns_nothing_runs_ahead_and_says_nothing(world: &World) -> Result<()> {
    let mut v = GVector::<u64>::new(world, 1)?;
    let steps = GVector::<u64>::new(world, world.size())?;
    let last = world.size() - 1;
    if world.rank() == 0 {
        // The others have gone through all their scopes before it enters the first.
        while steps.at(last)? == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let before = accounted(world);
    for _ in 0..500 {
        let mut h = v.halo_cache_mut(1)?;
        h.local_mut().iter_mut().for_each(|x| *x += 1);
        h.refresh()?;
    }
    check::equal("messages", accounted(world), before)?;
    let mut steps = steps;
    if world.rank() == last {
        steps.put(last, 1)?;
    }
    world.barrier()?;
    check::whole(&v, |_| 500)?;
    check::same(&v.read_cache()?, 0, |_| 500)
}

fn nothing_around(world: &World) -> Result<()> {
    let before = accounted(world);
    let v = GVector::from_fn(world, 7 * world.size(), want)?;
    for halo in [Halo::fixed(0), Halo::periodic(0)] {
        let mut h = v.halo_cache(halo)?;
        h.refresh()?;
        assert!(h.before().is_empty() && h.behind().is_empty());
        check::same(h.local(), h.indices().start, want)?;
    }
    // One rank has all of it.
    let placed = GVector::<u64>::on(world, world.size() - 1, 3)?;
    let mut h = placed.halo_cache(Halo::periodic(2))?;
    h.refresh()?;
    assert_eq!(h.before().len(), if world.rank() == world.size() - 1 { 2 } else { 0 });
    drop(h);
    let none = GVector::<u64>::new(world, 0)?;
    let mut h = none.halo_cache(Halo::periodic(9))?;
    h.refresh()?;
    assert!(h.local().is_empty() && h.before().is_empty() && h.behind().is_empty() && h.rows().is_empty());
    check::equal("messages", accounted(world).0 - before.0, 0)
}

fn more_ranks_than_rows(world: &World) -> Result<()> {
    for rows in 1..=world.size() {
        let mut v = GVector::from_fn(world, MatrixDim::new(rows, 3), want)?;
        for width in [1, 2, 7] {
            let mut model: Vec<u64> = (0..3 * rows).map(want).collect();
            for halo in [Halo::fixed(width), Halo::periodic(width)] {
                let mut h = v.halo_cache_mut(halo)?;
                for step in 0..5 {
                    look_mut(&h, &model, 3)?;
                    model.iter_mut().for_each(|x| *x = mix(*x ^ step));
                    h.local_mut().iter_mut().for_each(|x| *x = mix(*x ^ step));
                    h.refresh()?;
                }
            }
            let mut own = v.owner_computes_mut()?;
            let start = own.indices().start;
            own.local_mut().iter_mut().enumerate().for_each(|(i, x)| *x = want(start + i));
        }
    }
    Ok(())
}

/// Ranks 0 and 1 go through all their steps while the last has not come.
fn a_rank_waits_for_its_neighbours_alone(world: &World) -> Result<()> {
    let (me, last) = (world.rank().index(), world.size() - 1);
    // Of the ranks in the middle one owns nothing that the first needs, and the vector ends before the last.
    let mut v = GVector::<u64>::new(world, MatrixDim::new(2, 5))?;
    let done = GVector::<u64>::new(world, world.size())?;
    if me == last {
        // It owns nothing: it comes when the others are through.
        let mut waited = Duration::ZERO;
        while done.at(0)? + done.at(1)? < 2 {
            std::thread::sleep(Duration::from_millis(1));
            waited += Duration::from_millis(1);
            assert!(waited < Duration::from_secs(20), "the first two wait for the last");
        }
    }
    let mut h = v.halo_cache_mut(1)?;
    for _ in 0..50 {
        h.local_mut().iter_mut().for_each(|x| *x += 1);
        h.refresh()?;
    }
    drop(h);
    if me < 2 {
        let mut done = done;
        done.put(me, 1)?;
        return world.barrier();
    }
    world.barrier()
}

/// A rank in a refresh shows nothing, so what others ask of its block is done then.
fn others_read_and_write_between_steps(world: &World) -> Result<()> {
    let p = world.size();
    let v = GVector::from_fn(world, 4 * p, |i| i as u64)?;
    let mut h = v.halo_cache(1)?;
    for _ in 0..20 {
        assert_eq!(h.local()[0], h.indices().start as u64);
        // All show their blocks meanwhile, to be read.
        check::equal(
            "far",
            v.at((h.indices().start + 2 * p) % (4 * p))?,
            ((h.indices().start + 2 * p) % (4 * p)) as u64,
        )?;
        h.refresh()?;
    }
    drop(h);
    // A rank that writes to another's block while that one shows it waits until the next refresh at most.
    world.barrier()?;
    let mut w = GVector::<u64>::new(world, p)?;
    if p > 1 && world.rank() == 1 {
        let mut first = w.release_alone()?;
        first.put(0, 9)?;
        first.finish()?;
    }
    let mut h = w.halo_cache_mut(1)?;
    let mine = h.local()[0];
    h.refresh()?;
    assert!(mine == 0 || mine == 9);
    if world.rank() == 0 && p > 1 {
        assert_eq!(h.local()[0], 9);
    }
    Ok(())
}

fn among_other_scopes(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u64>::new(world, 3 * p)?;
    for round in 1..12 {
        let mut scope = v.release_c()?;
        for i in (me..3 * p).step_by(p) {
            scope.put(i, round * 100 + i as u64)?;
        }
        drop(scope);
        let mut h = v.halo_cache_mut(Halo::periodic(2))?;
        for i in h.indices() {
            assert_eq!(h[i], round * 100 + i as u64);
            assert_eq!(h[(i + 2) % (3 * p)], round * 100 + ((i + 2) % (3 * p)) as u64);
        }
        h.refresh()?;
        h.local_mut().iter_mut().for_each(|x| *x += 50);
        h.refresh()?;
        drop(h);
        {
            let all = v.read_cache()?;
            check::same(&all, 0, |i| round * 100 + 50 + i as u64)?;
            // Two for reading at a time, beside a ReadCache.
            let (one, other) = (v.halo_cache(1)?, v.halo_cache(2)?);
            assert_eq!(one.local(), other.local());
        }
        v.fill(round)?;
        let h = v.halo_cache(1)?;
        assert!(h.before().iter().chain(h.behind()).all(|x| *x == round));
    }
    Ok(())
}

fn threads_share_the_parts(world: &World) -> Result<()> {
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

fn elements_of_odd_size(world: &World) -> Result<()> {
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

/// Longer than any packet, ring or buffer, and than what is taken without a look.
fn long_edges(world: &World) -> Result<()> {
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

fn memory_is_kept_and_given_back(world: &World) -> Result<()> {
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
