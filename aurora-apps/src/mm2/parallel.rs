//! The parallel program: one function for both stages, optimised per call by what its parameters are.

use super::Kernel;
use crate::clock::Clock;
use aurora_core::prelude::*;

/// How the phases of one stage are called in the report.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    pub(super) load: &'static str,
    pub(super) multiply: &'static str,
}

/// P <- Q x R.
pub const FIRST: Stage = Stage { load: "load R", multiply: "P <- Q x R" };

/// R <- Q x P.
pub const SECOND: Stage = Stage { load: "load P", multiply: "R <- Q x P" };

/// Multiplies shared matrices and measures it.
#[derive(Debug)]
pub struct Multiplier<'c, 'w> {
    kernel: Kernel,
    clock: &'c mut Clock<'w>,
    stage: Stage,
}

impl<'c, 'w> Multiplier<'c, 'w> {
    /// Multiplies with `kernel` and reports phases to `clock`.
    pub fn new(kernel: Kernel, clock: &'c mut Clock<'w>) -> Self {
        Multiplier { kernel, clock, stage: FIRST }
    }

    /// Names the phases of the next multiplication.
    pub fn at(&mut self, stage: Stage) -> &mut Self {
        self.stage = stage;
        self
    }

    /// Collective. `c <- a x b` (the paper's `mmultiply`, section 3.3): each rank computes the rows of `c` that it
    /// owns from the rows of `a` that it owns and the whole of `b`. The only sharing is the load of `b`.
    pub fn mmultiply(&mut self, a: &GVector<i32>, b: &GVector<i32>, c: &mut GVector<i32>) -> Result<()> {
        let columns = c.dim().map_or(0, |dim| dim.cols);
        let (a, b, mut c) = self
            .clock
            .sharing(self.stage.load, || Ok((a.owner_computes()?, b.read_cache()?, c.owner_computes_mut()?)))?;
        self.clock.computing(self.stage.multiply, || {
            self.kernel.multiply(a.local(), &b, c.local_mut(), columns);
            Ok(())
        })?;
        c.finish()
    }
}
