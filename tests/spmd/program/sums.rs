//! Updates of all ranks to the same elements.

use super::{Program, Writers};
use aurora_core::ops::Sum;
use aurora_core::{Accumulate, Op, Result};
use aurora_suite::mix;

impl Program<'_> {
    /// All ranks update the same elements, few or many, one by one or in slices, in any order or in that of the ranks;
    /// or with an operation for which the order matters, and which has no neutral element.
    pub fn accumulate(&mut self) -> Result<()> {
        if self.unordered == Writers::Classes {
            self.order()?;
        }
        let (p, me) = (self.world.size(), self.world.rank().index());
        let (twists, in_order, checked) =
            (self.shared.below(3) == 0, self.shared.below(3) == 0, self.shared.below(2) == 0);
        let few = self.shared.below(2) == 0;
        let mut mine = Vec::new();
        for rank in 0..p {
            let updates = self.shared.below(if few { 9 } else { 200 });
            for _ in 0..updates {
                let start = self.shared.below(self.model.len() + 1);
                let lengths = [1, self.shared.below(100), self.shared.below(self.model.len() + 1)];
                let len = lengths[self.shared.below(if few { 3 } else { 2 })].min(self.model.len() - start);
                let operands: Vec<u64> = (0..len as u64).map(|i| mix(i ^ self.shared.bits())).collect();
                for (x, operand) in self.model[start..].iter_mut().zip(&operands) {
                    *x = if twists { Twist::apply(*x, *operand) } else { x.wrapping_add(*operand) };
                }
                if rank == me {
                    mine.push((start, operands));
                }
            }
        }
        if twists {
            accumulate(self.v.accumulate_in_order(Twist)?, &mine, checked)?;
        } else if in_order {
            accumulate(self.v.accumulate_in_order(Sum)?, &mine, checked)?;
        } else {
            accumulate(self.v.accumulate(Sum)?, &mine, checked)?;
        }
        self.unordered = Writers::None;
        Ok(())
    }
}

fn accumulate<O: Op<u64>>(
    mut scope: Accumulate<'_, u64, O>,
    updates: &[(usize, Vec<u64>)],
    checked: bool,
) -> Result<()> {
    for (start, operands) in updates {
        match operands[..] {
            [operand] => scope.update(*start, operand)?,
            _ => scope.update_slice(*start, operands)?,
        }
    }
    if checked { scope.finish() } else { Ok(()) }
}

/// Associative, but not commutative: the upper half is a factor, the lower half a summand.
pub struct Twist;

impl Op<u64> for Twist {
    fn apply(current: u64, operand: u64) -> u64 {
        let halves = |x: u64| ((x >> 32) as u32, x as u32);
        let ((a, b), (c, d)) = (halves(current), halves(operand));
        u64::from(a.wrapping_mul(c)) << 32 | u64::from(b.wrapping_mul(c).wrapping_add(d))
    }
}
