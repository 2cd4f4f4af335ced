//! Code of the program that blocks delays only the instructions that need it.

use super::{CULPRIT, RANKS};
use crate::environment::started;
use crate::provoke::{Outcomes, in_threads};
use aurora_super::{Super, SuperProgram, Val};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Blocks threads until it is opened.
#[derive(Default)]
struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn pass(&self) {
        drop(self.opened.wait_while(self.is_open.lock().unwrap(), |is_open| !*is_open).unwrap());
    }

    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

fn add(a: &u32, b: &mut u32) {
    *b += a;
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Code {
    Operands,
    Instruction,
    Creator,
    Drop,
}

struct PassesWhenDropped(Option<Arc<Gate>>);

impl Drop for PassesWhenDropped {
    fn drop(&mut self) {
        self.0.iter().for_each(|gate| gate.pass());
    }
}

/// A launch of two steps of 6 groups, in which the code of one rank or of all ranks blocks. If `opens`, the gate opens
/// when all calls have ended.
fn blocked(code: Code, rank: Option<usize>, gate: &Arc<Gate>, opens: bool) -> Outcomes {
    in_threads(RANKS).limit(Duration::from_secs(3)).run(|world| {
        let blocks = rank.is_none_or(|rank| world.rank() == rank);
        let gate_of = |which| (blocks && code == which).then(|| gate.clone());
        let sp = Super::default().workers(2).start(world)?;
        let (in_operands, in_instruction) = (gate_of(Code::Operands), gate_of(Code::Instruction));
        let (in_creator, in_drop) = (gate_of(Code::Creator), PassesWhenDropped(gate_of(Code::Drop)));
        let make = move |i: u32| {
            in_creator.iter().for_each(|gate| gate.pass());
            i
        };
        let (a, b) = (sp.blocks(6, make)?, sp.blocks(6, |i| i)?);
        let run = move |a: &u32, b: &mut u32| {
            in_instruction.iter().for_each(|gate| gate.pass());
            let _captured = &in_drop;
            add(a, b);
        };
        let operands = move |i: u32, step| {
            // The program's thread calls the closure for step 0.
            if step == 1 {
                in_operands.iter().for_each(|gate| gate.pass());
            }
            (a.at((i + 2) % 6), b.at(i))
        };
        sp.launch(6, 2, run, operands)?;
        assert_eq!(code, Code::Drop, "the launch has ended");
        sp.fold(&b, |b| *b, |sum, b| sum + b).map(|sum| assert_eq!(sum, 3 * 15))?;
        if opens {
            // The drop of the super-program waits until the captured values are freed.
            gate.open();
        }
        Ok(())
    })
}

#[test]
fn code_that_blocks_is_ended_by_the_limit() {
    let ended = |code, rank| {
        let gate = Arc::default();
        let outcomes = blocked(code, rank, &gate, false);
        gate.open();
        outcomes.all_say(&["longer than AURORA_TIMEOUT allows"]).all_cite(&["sp.launch(6, 2, run, operands)"]);
    };
    // In parallel, because each takes as long as the limit.
    std::thread::scope(|scope| {
        for code in [Code::Operands, Code::Instruction, Code::Creator] {
            for rank in [None, Some(0), Some(CULPRIT)] {
                scope.spawn(move || ended(code, rank));
            }
        }
    });
}

#[test]
fn a_captured_value_whose_drop_blocks_holds_up_no_call() {
    let outcomes = blocked(Code::Drop, None, &Arc::default(), true);
    outcomes.run.expect("all calls have ended");
}

#[test]
fn a_captured_value_whose_drop_blocks_is_ended_by_the_limit() {
    let ended = |rank| {
        let gate = Arc::default();
        let outcomes = blocked(Code::Drop, rank, &gate, false);
        gate.open();
        outcomes.run_says(&["waits for the end of the drop of the SuperProgram", "longer than AURORA_TIMEOUT allows"]);
    };
    std::thread::scope(|scope| {
        for rank in [None, Some(0), Some(CULPRIT)] {
            scope.spawn(move || ended(rank));
        }
    });
}

/// The only worker of rank 0 waits for the last step of rank 1, which needs grants and blocks of rank 0 for each.
#[test]
fn a_rank_that_runs_a_long_instruction_serves_the_others() {
    let gate = Arc::<Gate>::default();
    let outcomes = in_threads(2).run(|world| {
        let sp = Super::default().workers(1).in_flight(1).start(world)?;
        let (a, b) = (sp.blocks(40, |i| i)?, sp.blocks(2, |_| 0)?);
        let gate = gate.clone();
        let run = move |Val((group, step)): Val<(u32, u32)>, a: &u32, b: &mut u32| {
            match (group, step) {
                (0, _) => gate.pass(),
                (_, 19) => gate.open(),
                _ => {}
            }
            add(a, b);
        };
        sp.launch(2, |i: u32| 1 + 19 * i, run, move |i, k| (Val((i, k)), a.at(k), b.at(i)))?;
        sp.value(b.at(1)).map(|sum| assert_eq!(sum, 190))
    });
    outcomes.run.expect("no rank waits for the long instruction");
}

#[test]
#[ignore = "only for the next one to start"]
fn operands_that_block_a_rank() {
    let ran = aurora_core::run(|world| {
        let (sp, blocks) = (SuperProgram::new(world)?, world.rank() == CULPRIT);
        let a = sp.blocks(6, |i| i)?;
        let operands = move |i, step| {
            if blocks && step == 1 {
                Gate::default().pass();
            }
            (a.at(i),)
        };
        sp.launch(6, 2, |a: &mut u32| *a += 1, operands)
    });
    panic!("ended: {}", ran.expect_err("it blocks"));
}

/// That gate is never opened, so the processes end without waiting for the thread.
#[test]
fn processes_end_while_code_of_the_program_blocks() {
    let variables = [("AURORA_RANKS", "3"), ("AURORA_TIMEOUT", "2")];
    let output = started("true", "super_program::stalls::operands_that_block_a_rank", &variables);
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("ended: ") && text.contains("longer than AURORA_TIMEOUT allows"), "{text}");
}
