//! What the target of a get or put does meanwhile.

use super::job::Target;
use aurora_core::prelude::*;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The rank that acts.
pub const ORIGIN: usize = 0;

/// Elements of the target that gets and puts go to, one after the other.
pub const SLOTS: usize = 1024;

/// How long a target computes before it looks up.
pub const COMPUTING: Duration = Duration::from_millis(1);

/// How long it sleeps before it looks up.
const SLEEPING: Duration = Duration::from_millis(5);

/// The target's number.
pub fn rank(size: usize) -> usize {
    1 % size
}

/// Keeps the target away from the library until the origin is through. It looks at its own memory only, so that nothing
/// but its daemon serves the origin.
#[derive(Debug)]
pub struct Attendance {
    kind: Target,
    me: usize,
    target: usize,
    /// On the target: the last repetition that is over.
    over: GVector<u64>,
    repetition: u64,
}

impl Attendance {
    /// Collective.
    pub fn new(world: &World, kind: Target) -> Result<Self> {
        let target = rank(world.size());
        Ok(Attendance { kind, me: world.rank().index(), target, over: GVector::on(world, target, 1)?, repetition: 0 })
    }

    /// Whether this rank acts.
    pub fn is_origin(&self) -> bool {
        self.me == ORIGIN
    }

    /// Whether this is the target, and not the origin too.
    pub fn is_target(&self) -> bool {
        self.me == self.target && !self.is_origin()
    }

    /// The next repetition begins.
    pub fn begin(&mut self) {
        self.repetition += 1;
    }

    /// The origin is through.
    pub fn release(&mut self) -> Result<()> {
        self.over.put(0, self.repetition)
    }

    /// What the target does until the origin is through.
    pub fn attend(&self) -> Result<()> {
        while self.over.at(0)? < self.repetition {
            pass(self.kind);
        }
        Ok(())
    }
}

/// Computes or sleeps for a while.
fn pass(kind: Target) {
    match kind {
        Target::Idle => std::thread::sleep(SLEEPING),
        Target::Computing => compute(COMPUTING),
    }
}

/// Keeps a core busy.
pub fn compute(limit: Duration) {
    let started = Instant::now();
    let mut value = 1_u64;
    while started.elapsed() < limit {
        for step in 0..1000 {
            value = black_box(value.wrapping_mul(31).wrapping_add(step));
        }
    }
}
