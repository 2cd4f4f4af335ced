//! A shared counter: what one `fetch_add` takes, and how evenly ranks take tasks by it.

use super::job::Target;
use super::prelude::*;
use super::target::{self, Attendance};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Tasks that the ranks take.
pub const TASKS: u64 = 3000;

/// How long each of them takes.
const TASK: Duration = Duration::from_micros(10);

/// Rank 0 adds to a counter of rank 1's, which sleeps.
pub struct Alone {
    attendance: Attendance,
    counter: GScalar<u64>,
}

impl Alone {
    /// Collective.
    pub fn new(world: &World) -> Result<Self> {
        let counter = GScalar::new(world, target::rank(world.size()), 0)?;
        Ok(Alone { attendance: Attendance::new(world, Target::Idle)?, counter })
    }
}

impl Contestant for Alone {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        self.attendance.begin();
        watch.start()?;
        let mut wrong = 0;
        if self.attendance.is_origin() {
            let first = self.counter.get()?;
            for number in 0..round.times as u64 {
                wrong += u64::from(self.counter.fetch_add(1)? != first + number);
            }
            watch.done();
            wrong += u64::from(round.damage);
            self.attendance.release()?;
        } else if self.attendance.is_target() {
            self.attendance.attend()?;
        }
        watch.stop()?;
        Ok(wrong)
    }
}

/// All ranks take tasks by a counter of rank 0's until there are no more.
pub struct Tasks {
    next: GScalar<u64>,
    taken: GScalar<u64>,
}

impl Tasks {
    /// Collective.
    pub fn new(world: &World) -> Result<Self> {
        Ok(Tasks { next: GScalar::new(world, 0, 0)?, taken: GScalar::new(world, 0, 0)? })
    }
}

impl Contestant for Tasks {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        if watch.world().is_root() {
            self.next.set(0)?;
            self.taken.set(u64::from(round.damage))?;
        }
        let mine = watch.measure(|| {
            let mut mine = 0;
            while self.next.fetch_add(1)? < TASKS {
                work();
                mine += 1;
            }
            Ok(mine)
        })?;
        watch.note_share(mine as f64);
        self.taken.fetch_add(mine)?;
        watch.world().barrier()?;
        Ok(u64::from(watch.world().is_root() && self.taken.get()? != TASKS))
    }
}

/// A task.
fn work() {
    let begun = Instant::now();
    while begun.elapsed() < TASK {
        black_box(());
    }
}
