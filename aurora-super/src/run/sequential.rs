//! The engine of a super-program without ranks: an interpreter.

use super::blocks::{Array, Arrays};
use super::launch::{Launch, Launched, Trouble, names};
use super::object::error;
use super::operand::{Arg, Cell, Value};
use super::report::Tally;
use crate::{BlockId, Instruction};
use aurora_core::{Error, ObjectName, Rank, Result};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// Runs one instruction after the other on the caller's thread.
pub(super) struct Sequential {
    name: ObjectName,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    arrays: Arrays,
    /// The value of each block; `None` before it is first used.
    values: Vec<Option<Value>>,
    tally: Tally,
    /// The first error: every later call returns it.
    failure: Option<Error>,
}

impl Sequential {
    pub(super) fn new(name: ObjectName) -> Self {
        let tally = Tally { workers: 1, ..Tally::default() };
        Sequential { name, state: RefCell::new(State { tally, ..State::default() }) }
    }

    fn act<R>(&self, act: impl FnOnce(&mut State) -> std::result::Result<R, Trouble>) -> Result<R> {
        let Ok(mut state) = self.state.try_borrow_mut() else {
            let cause = "an instruction uses the super-program that runs it".into();
            return Err(error(Rank::new(0), &self.name, Trouble { name: names::FAILED, cause }));
        };
        let state = &mut *state;
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        let acted = act(state).map_err(|trouble| error(Rank::new(0), &self.name, trouble));
        acted.inspect_err(|error| state.failure = Some(error.clone()))
    }

    pub(super) fn agree(&self, refusal: Option<Trouble>) -> Result<()> {
        self.act(|_| refusal.map_or(Ok(()), Err))
    }

    pub(super) fn declare(&self, array: Arc<Array>) {
        let state = &mut *self.state.borrow_mut();
        state.arrays.push(array);
        state.values.resize(state.arrays.blocks() as usize, None);
    }

    pub(super) fn launch(&self, launch: Launched) -> Result<()> {
        let begin = Instant::now();
        self.act(|state| {
            let launch = launch?;
            for (group, run) in launch.in_order() {
                run.into_iter().try_for_each(|k| state.run(&launch, Instruction { group, k }))?;
            }
            state.tally.launches += 1;
            state.tally.elapsed += begin.elapsed();
            Ok(())
        })
    }

    pub(super) fn values(&self, blocks: Range<BlockId>) -> Result<Vec<(BlockId, Value)>> {
        self.act(|state| blocks.map(|block| Ok((block, state.value(block)?))).collect())
    }

    pub(super) fn tally(&self) -> Tally {
        self.state.borrow().tally
    }
}

impl State {
    /// The value of a block, which is made when it is first used.
    fn value(&mut self, block: BlockId) -> std::result::Result<Value, Trouble> {
        let value = &mut self.values[block as usize];
        if let Some(value) = value {
            return Ok(value.clone());
        }
        let array = self.arrays.of(block);
        let made = array.make(block)?;
        Ok(value.insert(made).clone())
    }

    fn run(&mut self, launch: &Launch, instruction: Instruction) -> std::result::Result<(), Trouble> {
        let resolved = launch.resolve(instruction)?;
        let mut cells = Vec::with_capacity(resolved.args.len());
        for arg in &resolved.args {
            let cell: Cell = match arg {
                Arg::Block(place) => Some(self.value(place.block)?),
                Arg::Absent => None,
                Arg::Plain(value) => Some(value.clone()),
            };
            cells.push(cell);
        }
        let result = launch.result(instruction.group) as usize;
        // The instruction gets the only reference, so that it copies nothing.
        self.values[result] = None;
        let begin = Instant::now();
        launch.run(instruction, &mut cells)?;
        self.tally.busy += begin.elapsed();
        self.tally.instructions += 1;
        self.values[result] = cells[resolved.result].take();
        Ok(())
    }
}
