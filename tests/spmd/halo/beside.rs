//! Several HaloCaches at once, and HaloCaches together with other scopes.

use super::look::look;
use super::want;
use aurora_core::{GVector, Halo, MatrixDim, Result, World};
use aurora_suite::{Random, check};

/// Two vectors: in each step one is read and the other written.
pub fn two_vectors_take_turns(world: &World) -> Result<()> {
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
    check::same(a.read_cache()?.as_slice(), 0, |i| model[i])
}

/// The older and the newer scope are refreshed in any order that is the same on all ranks.
pub fn two_scopes_of_one_vector(world: &World) -> Result<()> {
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

/// A rank in a refresh shows nothing, so requests for its block are served then.
pub fn others_read_and_write_between_steps(world: &World) -> Result<()> {
    let p = world.size();
    let v = GVector::from_fn(world, 4 * p, |i| i as u64)?;
    let mut h = v.halo_cache(1)?;
    for _ in 0..20 {
        assert_eq!(h.local()[0], h.indices().start as u64);
        // All ranks show their blocks meanwhile, for reading.
        check::equal(
            "far",
            v.at((h.indices().start + 2 * p) % (4 * p))?,
            ((h.indices().start + 2 * p) % (4 * p)) as u64,
        )?;
        h.refresh()?;
    }
    drop(h);
    // A rank that writes to another rank's shown block waits at most until that rank's next refresh.
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

pub fn among_other_scopes(world: &World) -> Result<()> {
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
            check::same(all.as_slice(), 0, |i| round * 100 + 50 + i as u64)?;
            // Two scopes for reading at a time, together with a ReadCache.
            let (one, other) = (v.halo_cache(1)?, v.halo_cache(2)?);
            assert_eq!(one.local(), other.local());
        }
        v.fill(round)?;
        let h = v.halo_cache(1)?;
        assert!(h.before().iter().chain(h.behind()).all(|x| *x == round));
    }
    Ok(())
}
