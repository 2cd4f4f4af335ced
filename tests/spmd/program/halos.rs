//! HaloCaches between other scopes.

use super::{Program, Writers};
use aurora_core::{GlobalRead, Halo, Result};
use aurora_suite::{Random, check, mix};

impl Program<'_> {
    /// Steps in which each rank changes its own part, and sees the changes around it.
    pub fn halo(&mut self) -> Result<()> {
        if self.unordered == Writers::Classes {
            self.order()?;
        }
        if self.shared.below(3) == 0 {
            return self.halos_for_reading();
        }
        let mut scope = self.v.halo_cache_mut(draw_halo(&mut self.shared))?;
        for _ in 0..self.shared.below(3) {
            let key = self.shared.bits();
            for (i, x) in self.model.iter_mut().enumerate() {
                *x = x.wrapping_mul(5) ^ mix(key.wrapping_add(i as u64));
            }
            let own = scope.indices();
            scope.local_mut().copy_from_slice(&self.model[own]);
            scope.refresh()?;
            for (i, want) in self.model.iter().enumerate() {
                if let Ok(x) = scope.at(i) {
                    check::equal("shown", x, *want)?;
                }
            }
        }
        drop(scope);
        self.unordered = Writers::Owners;
        Ok(())
    }

    /// Two HaloCaches at once, refreshed in any order.
    fn halos_for_reading(&mut self) -> Result<()> {
        let mut older = self.v.halo_cache(draw_halo(&mut self.shared))?;
        let mut newer = self.v.halo_cache(draw_halo(&mut self.shared))?;
        for _ in 0..self.shared.below(5) {
            if self.shared.below(2) == 0 { older.refresh()? } else { newer.refresh()? }
        }
        for scope in [&older, &newer] {
            for (i, want) in self.model.iter().enumerate() {
                if let Ok(x) = scope.at(i) {
                    check::equal("shown to be read", x, *want)?;
                }
            }
        }
        // A rank that has ended may not write to other ranks' parts yet: they were shown without a copy.
        self.unordered = Writers::Owners;
        Ok(())
    }
}

/// Often wider than a block, seldom wider than the whole vector.
fn draw_halo(shared: &mut Random) -> Halo {
    let width = [0, 1, 2, 3, 60, 300][shared.below(6)];
    if shared.below(2) == 0 { Halo::fixed(width) } else { Halo::periodic(width) }
}
