//! One implementation of one operation, repetition after repetition.

use super::contestant::{self, Any};
use super::figures::Repetition;
use super::job::Operation;
use super::pattern::Round;
use super::watch::Watch;
use crate::implementation::Implementation;
use crate::meeting::Meeting;
use aurora_core::prelude::*;
use std::time::Duration;

/// A contestant, with the way in which its ranks wait for each other.
pub struct Bout<'w> {
    contestant: Any<'w>,
    meeting: Box<dyn Meeting + 'w>,
    /// How much too late this rank begins.
    delay: Option<Duration>,
    damage: bool,
}

impl<'w> Bout<'w> {
    /// Collective.
    pub fn new(world: &'w World, operation: Operation, by: Implementation, damage: bool) -> Result<Self> {
        let last = world.rank().index() + 1 == world.size();
        let late = match operation {
            Operation::ReadCache { late, .. } => late,
            _ => None,
        };
        Ok(Bout {
            contestant: contestant::new(world, operation, by)?,
            meeting: contestant::meeting(world, by)?,
            delay: late.filter(|_| last),
            damage,
        })
    }

    /// Collective. Repetition `rep` of a run with `seed`, with the operation `times` times in it, agreed among all
    /// ranks.
    pub fn repetition(&mut self, seed: u64, rep: usize, times: usize) -> Result<Repetition> {
        let mut watch = Watch::new(&*self.meeting, self.delay);
        let wrong = self.contestant.repetition(Round::new(seed, rep, times, self.damage), &mut watch)?;
        Repetition::agree(self.meeting.world(), watch.lap(), wrong)
    }
}
