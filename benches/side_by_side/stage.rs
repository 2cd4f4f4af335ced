//! What carries out the iterations of one variant, on every rank.

use super::case::{Variant, Work};
use super::scope::Scopes;
use aurora_apps::bench::{Job, Series, Took};
use aurora_apps::implementation::Offer;
use aurora_apps::mm2::{self, Mm2};
use aurora_apps::psrs::{self, Psrs};
use aurora_apps::report::Measured;
use aurora_core::prelude::*;

/// Collective. Carries out so many iterations; who waits hears of each, or of some at a time.
pub type Stage<'w> = Box<dyn FnMut(u64, &mut dyn FnMut()) -> Result<Took> + 'w>;

/// Collective. A variant, ready to run, with its memory. With `damage` its results are wrong.
pub fn stage(world: &World, variant: Variant, damage: bool) -> Result<Stage<'_>> {
    let implementations = vec![variant.by];
    Ok(match variant.case.work {
        Work::Operation(operation) | Work::WithRead(operation) => {
            let job = Job { operation, implementations, reps: 0, seed: None, damage };
            let mut series = Series::new(world, &job)?;
            Box::new(move |iterations, progress| series.run(iterations, progress))
        }
        Work::Scope(scope) => {
            let mut scopes = Scopes::new(world, scope, damage)?;
            Box::new(move |iterations, progress| scopes.run(iterations, progress))
        }
        // A program makes its memory by itself, and its first repetition, which touches that, does not count.
        Work::Program(program, size) => Box::new(move |iterations, progress| {
            let reps = usize::try_from(iterations).unwrap_or(usize::MAX).saturating_add(1);
            let (implementations, progress) = (implementations.clone(), &mut |_| progress());
            let ran = match program.name() {
                "mm2" => mm2::run(world, &Mm2 { size, reps, implementations, damage, ..Mm2::default() }, progress)?,
                _ => {
                    psrs::run(world, &Psrs { keys: size, reps, implementations, damage, ..Psrs::default() }, progress)?
                }
            };
            let seconds = ran.main.repetitions.iter().skip(1).sum();
            Ok(Took { seconds, with_read: 0.0, wrong: if ran.verified() { 0.0 } else { 1.0 } })
        }),
    })
}
