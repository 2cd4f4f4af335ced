//! The parallel program: one function for both stages. At each call its parameters decide how it is optimised.

use super::Kernel;
use crate::clock::Clock;
use aurora_core::prelude::*;

/// The names of a stage's phases in the report.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    pub(super) load: &'static str,
    pub(super) multiply: &'static str,
}

/// P <- Q x R.
pub const FIRST: Stage = Stage { load: "load R", multiply: "P <- Q x R" };

/// R <- Q x P.
pub const SECOND: Stage = Stage { load: "load P", multiply: "R <- Q x P" };

/// Collective. Runs the whole job: P <- Q x R, then R <- Q x P.
pub fn multiply(
    kernel: Kernel,
    loading: Loading,
    q: &GVector<i32>,
    r: &mut GVector<i32>,
    p: &mut GVector<i32>,
    clock: &mut Clock<'_>,
) -> Result<()> {
    let mut stages = Multiplier::new(kernel, loading, clock);
    stages.at(FIRST).mmultiply(q, r, p)?;
    stages.at(SECOND).mmultiply(q, p, r)
}

/// Multiplies shared matrices and measures it.
#[derive(Debug)]
pub struct Multiplier<'c, 'w> {
    kernel: Kernel,
    loading: Loading,
    clock: &'c mut Clock<'w>,
    stage: Stage,
}

/// The time at which a rank begins to compute.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Loading {
    /// As soon as some rows of B have arrived.
    #[default]
    Streaming,
    /// When all of B has arrived.
    Whole,
}

impl<'c, 'w> Multiplier<'c, 'w> {
    /// Makes a multiplier that uses `kernel` and reports phases to `clock`.
    pub fn new(kernel: Kernel, loading: Loading, clock: &'c mut Clock<'w>) -> Self {
        Multiplier { kernel, loading, clock, stage: FIRST }
    }

    /// Names the phases of the next multiplication.
    pub fn at(&mut self, stage: Stage) -> &mut Self {
        self.stage = stage;
        self
    }

    /// Collective. Computes `c <- a x b` (the paper's `mmultiply`, section 3.3): each rank computes its own rows of `c`
    /// from its own rows of `a` and the whole of `b`. The only sharing is the load of `b`.
    pub fn mmultiply(&mut self, a: &GVector<i32>, b: &GVector<i32>, c: &mut GVector<i32>) -> Result<()> {
        match self.loading {
            Loading::Streaming => self.multiply_as_it_comes(a, b, c),
            Loading::Whole => self.multiply_whole(a, b, c),
        }
    }

    /// Adds the contribution of each block of `b` as soon as the block arrives. Loading and computing overlap, so the
    /// shorter of the two is hidden.
    fn multiply_as_it_comes(&mut self, a: &GVector<i32>, b: &GVector<i32>, c: &mut GVector<i32>) -> Result<()> {
        let columns = c.dim().map_or(0, |dim| dim.cols);
        let (kernel, phases) = (self.kernel, (self.stage.load, self.stage.multiply));
        self.clock.overlapping(phases, |turns| {
            let (b, a, mut c) = (b.read_cache_blocks()?, a.owner_computes()?, c.owner_computes_mut()?);
            let (a, product) = (a.local(), c.local_mut());
            if let Some(b) = b.try_whole() {
                turns.computing(|| kernel.multiply(a, b, product, columns));
            } else {
                turns.computing(|| product.fill(0));
                for block in b.row_blocks() {
                    let (rows, block) = block?;
                    turns.computing(|| kernel.add(a, block, rows, product, columns));
                }
            }
            let shared = b.load_time().unwrap_or_default();
            c.finish()?;
            Ok(shared)
        })
    }

    fn multiply_whole(&mut self, a: &GVector<i32>, b: &GVector<i32>, c: &mut GVector<i32>) -> Result<()> {
        let columns = c.dim().map_or(0, |dim| dim.cols);
        let (a, b, mut c) = self
            .clock
            .sharing(self.stage.load, || Ok((a.owner_computes()?, b.read_cache()?, c.owner_computes_mut()?)))?;
        self.clock.computing(self.stage.multiply, || {
            self.kernel.multiply(a.local(), b.as_slice(), c.local_mut(), columns);
            Ok(())
        })?;
        c.finish()
    }
}
