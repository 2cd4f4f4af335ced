//! The super-program of the farm.

use aurora_core::Result;
use aurora_core::ops::Sum;
use aurora_super::{Blocks, SuperProgram, Update, Val};
use std::thread::sleep;
use std::time::Duration;

/// A step of a unit: its time on the fastest rank in us, and a number that it adds to the unit's result.
pub type Step = (f64, u64);

/// Collective. Runs all steps of all units, and returns the results of the units. A rank of speed 1 sleeps for the time
/// of a step, a slower rank longer, in proportion.
pub fn farm(
    sp: &SuperProgram<'_>,
    (units, steps): (u32, u32),
    own_speed: f64,
    step: impl Fn(u32, u32) -> Step + Send + Sync + 'static,
) -> Result<Blocks<u64, u32>> {
    let results = sp.blocks(units, |_| 0_u64)?;
    let run = move |Val((micros, number)): Val<Step>, result: &mut Update<u64, Sum>| {
        sleep(Duration::from_secs_f64(micros / own_speed / 1e6));
        **result += number;
    };
    sp.launch(units, steps, run, move |unit, k| (Val(step(unit, k)), results.at(unit)))?;
    Ok(results)
}
