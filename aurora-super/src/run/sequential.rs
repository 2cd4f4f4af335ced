//! The engine of a super-program without ranks: an interpreter.

use super::blocks::{Array, Arrays};
use super::launch::{Launch, Launched, Trouble};
use super::object::error;
use super::operand::{Arg, Cell, Value};
use super::report::Tally;
use crate::{BlockId, Instruction, Program};
use aurora_core::{Error, ObjectName, Rank, Result};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
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
    /// Of each block; `None` before it is first used.
    values: Vec<Option<Value>>,
    tally: Tally,
    ended: Option<Error>,
}

impl Sequential {
    pub(super) fn new(name: ObjectName) -> Self {
        let tally = Tally { workers: 1, ..Tally::default() };
        Sequential { name, state: RefCell::new(State { tally, ..State::default() }) }
    }

    /// Goes on, unless an error has ended the super-program.
    pub(super) fn agree(&self, refusal: Option<Trouble>) -> Result<()> {
        match &self.state.borrow().ended {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }?;
        self.result(refusal.map_or(Ok(()), Err))
    }

    /// An error ends the super-program.
    fn result<R>(&self, result: std::result::Result<R, Trouble>) -> Result<R> {
        result.map_err(|trouble| {
            let error = error(Rank::new(0), &self.name, trouble);
            self.state.borrow_mut().ended = Some(error.clone());
            error
        })
    }

    pub(super) fn declare(&self, array: Arc<Array>) {
        let state = &mut *self.state.borrow_mut();
        state.arrays.push(array);
        state.values.resize(state.arrays.blocks() as usize, None);
    }

    pub(super) fn launch(&self, launch: Launched) -> Result<()> {
        let begin = Instant::now();
        self.agree(None)?;
        let launch = self.result(launch)?;
        let ran = self.state.borrow_mut().run_all(&launch);
        self.result(ran)?;
        let tally = &mut self.state.borrow_mut().tally;
        tally.launches += 1;
        tally.elapsed += begin.elapsed();
        Ok(())
    }

    pub(super) fn values(&self, blocks: &[BlockId]) -> Result<Vec<Value>> {
        let values = blocks.iter().map(|block| self.state.borrow_mut().value(*block)).collect();
        self.result(values)
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
        let made = catch_unwind(AssertUnwindSafe(|| array.make(block)));
        let made = made.map_err(|panic| array.panicked("the creator", block, &*panic))?;
        Ok(value.insert(made).clone())
    }

    fn run_all(&mut self, launch: &Launch) -> std::result::Result<(), Trouble> {
        for group in 0..launch.groups() {
            (0..launch.len(group)).try_for_each(|k| self.run(launch, Instruction { group, k }))?;
        }
        Ok(())
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
        // The instruction has the only one.
        self.values[result] = None;
        let begin = Instant::now();
        launch.run(instruction, &mut cells)?;
        self.tally.busy += begin.elapsed();
        self.tally.instructions += 1;
        self.values[result] = cells[resolved.result].take();
        Ok(())
    }
}
