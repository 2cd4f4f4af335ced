//! The contents of a HaloCache, in every way of reading, for random shapes.

use super::look::{look, look_mut};
use super::want;
use aurora_core::{Error, GVector, GlobalRead, Halo, MatrixDim, Partition, Result, World, distmemcpy};
use aurora_suite::{Random, check, lengths, mix};
use std::time::Duration;

/// Steps of a rule that depends on the surrounding elements, with random shapes, widths, boundaries and speeds.
pub fn random_halos(world: &World) -> Result<()> {
    let me = world.rank().index() as u64;
    for seed in 0..100 {
        let (mut shared, mut speed) = (Random::new(seed), Random::new(seed * 64 + me));
        let len = [0, 1, 2, 3, 7, 10, 24, 111][shared.below(8)];
        let cols = [0, 1, 3, 8][shared.below(4)];
        let lengths = lengths(&mut shared, len, world.size());
        let mut v = match (cols, shared.below(2)) {
            (0, 0) => GVector::from_fn(world, Partition::lengths(&lengths), want)?,
            (_, 0) => GVector::from_fn(world, Partition::rows(&lengths, cols), want)?,
            (0, _) => GVector::from_fn(world, len, want)?,
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
        check::same(v.read_cache()?.as_slice(), 0, |i| model[i])?;
    }
    Ok(())
}
