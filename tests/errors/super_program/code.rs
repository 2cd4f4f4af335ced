//! Code of the program that fails: instructions, creators, operand closures, functions of steps, serde.

use super::{CULPRIT, RANKS, all_named, fails, fails_alike, panic_quietly};
use crate::provoke::in_threads;
use aurora_core::prelude::*;
use aurora_super::SuperProgram;
use aurora_super::run::names;
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

fn fail_for_seven(a: &mut u32) -> std::result::Result<(), String> {
    if *a == 7 { Err(format!("{a} is unlucky")) } else { Ok(()) }
}

#[test]
fn an_instruction_that_returns_an_error() {
    let outcomes = fails_alike(names::FAILED, |sp| {
        let a = sp.blocks(10, |i| i)?;
        sp.each(10, fail_for_seven, move |i| (a.at(i),))
    });
    outcomes.all_say(&["step 0 of group 7 of the launch of fail_for_seven", "7 is unlucky"]);
    outcomes.all_cite(&["sp.each(10, fail_for_seven"]);
}

#[test]
fn an_instruction_that_panics() {
    let outcomes = fails_alike(names::PANICKED, |sp| {
        let a = sp.blocks(10, |i| i)?;
        let quiet = |a: &mut u32| {
            if *a == 7 {
                panic_quietly("a panic for seven")
            }
        };
        sp.launch(10, 2, quiet, move |i, _| (a.at(i),))
    });
    outcomes.all_say(&["step 0 of group 7", "a panic for seven"]).all_cite(&["sp.launch(10, 2, quiet"]);
}

#[test]
fn a_panic_without_a_text() {
    let outcomes = fails_alike(names::PANICKED, |sp| {
        let a = sp.blocks(10, |i| i)?;
        sp.each(1, |_: &mut u32| -> () { resume_unwind(Box::new(5)) }, move |_| (a.at(9),))
    });
    outcomes.all_say(&["without a message"]).all_cite(&["sp.each(1, |_: &mut u32|"]);
}

struct PanicsAgain;

impl Drop for PanicsAgain {
    fn drop(&mut self) {
        panic_quietly("dropped");
    }
}

#[test]
fn a_panic_whose_payload_panics() {
    let outcomes = fails(|_, sp| {
        let a = sp.blocks(10, |i| i)?;
        sp.each(1, |_: &mut u32| -> () { resume_unwind(Box::new(PanicsAgain)) }, move |_| (a.at(9),))
    });
    outcomes.all_say(&["without a message"]).all_cite(&["resume_unwind(Box::new(PanicsAgain))"]);
    all_named(&outcomes, names::PANICKED);
}

#[test]
fn a_creator_that_panics() {
    let outcomes = fails_alike(names::PANICKED, |sp| {
        let a = sp.blocks((2, 5), |(i, j)| if i * j == 4 { panic_quietly("no such block") } else { i })?;
        sp.each((2, 5), |a: &mut u32| *a += 1, move |at| (a.at(at),))
    });
    outcomes
        .all_say(&["the creator of block (1, 4) of the array of (2, 5)", "no such block"])
        .all_cite(&["sp.blocks((2, 5)"]);
    // Another rank, a value and a fold request the block.
    let outcomes = fails_alike(names::PANICKED, |sp| {
        let a = sp.blocks(6, |i| if i == 5 { panic_quietly("no such block") } else { i })?;
        let b = sp.blocks(6, |i| i)?;
        sp.each(1, |a: &u32, b: &mut u32| *b += a, move |i| (a.at(5), b.at(i)))
    });
    outcomes.all_say(&["the creator of block 5"]);
    let outcomes = fails_alike(names::PANICKED, |sp| {
        let a = sp.blocks(6, |i| if i == 5 { panic_quietly("no such block") } else { i })?;
        sp.value(a.at(5)).map(drop)
    });
    outcomes.all_say(&["the creator of block 5"]);
    let outcomes = fails_alike(names::PANICKED, |sp| {
        let a = sp.blocks(6, |i| if i == 3 { panic_quietly("no such block") } else { i })?;
        sp.fold(&a, |a| *a, |a, b| a + b).map(drop)
    });
    outcomes.all_say(&["the creator of block 3"]);
}

/// A panic in step 0, which the program's thread calls first, and in later steps, which only workers call.
#[test]
fn an_operand_closure_that_panics() {
    for (group, step) in [(0, 0), (7, 0), (0, 1), (7, 1), (9, 2)] {
        let outcomes = fails_alike(names::PANICKED, |sp| {
            let a = sp.blocks(10, |i| i)?;
            let at = move |i, k| if (i, k) == (group, step) { panic_quietly("no operands") } else { a.at(i) };
            sp.launch(10, 3, |a: &mut u32| *a += 1, move |i, k| (at(i, k),))
        });
        let at = format!("the operand closure of step {step} of group {group}");
        outcomes.all_say(&[&at, "no operands"]).all_cite(&["sp.launch(10, 3"]);
    }
}

#[test]
fn an_operand_closure_that_panics_on_one_rank() {
    for culprit in [0, CULPRIT] {
        let outcomes = fails(|world, sp| {
            let a = sp.blocks(10, |i| i)?;
            let panics = world.rank() == culprit;
            let at = move |i, k| if k == 1 && panics { panic_quietly("no operands") } else { a.at(i) };
            sp.launch(10, 3, |a: &mut u32| *a += 1, move |i, k| (at(i, k),))
        });
        outcomes.all_say(&["the operand closure of step 1", "no operands"]);
    }
}

#[test]
fn a_function_of_steps_that_panics() {
    let outcomes = fails_alike(names::PANICKED, |sp| {
        let a = sp.blocks(10, |i| i)?;
        let steps = |i: u32| if i == 8 { panic_quietly("no steps") } else { i };
        sp.launch(10, steps, |a: &mut u32| *a += 1, move |i, _| (a.at(i),))
    });
    outcomes.all_say(&["the function of steps", "no steps"]).all_cite(&["sp.launch(10, steps"]);
}

/// A value that cannot be copied to other ranks because of a [`Fault`].
#[derive(Clone, Debug)]
struct Touchy(Fault);

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
enum Fault {
    SerializeFails,
    SerializePanics,
    DeserializeFails,
    DeserializePanics,
    DeserializeLeavesBytes,
}

impl Serialize for Touchy {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self.0 {
            Fault::SerializeFails => Err(S::Error::custom("not to be written")),
            Fault::SerializePanics => panic_quietly("a panic while it is written"),
            Fault::DeserializeLeavesBytes => (self.0, 5_u8).serialize(serializer),
            fault => fault.serialize(serializer),
        }
    }
}

impl<'d> Deserialize<'d> for Touchy {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        match Fault::deserialize(deserializer)? {
            Fault::DeserializeFails => Err(D::Error::custom("not to be read")),
            Fault::DeserializePanics => panic_quietly("a panic while it is read"),
            fault => Ok(Touchy(fault)),
        }
    }
}

const FAULTS: [(Fault, &str, &[&str]); 5] = [
    // The format does not keep the error's text.
    (Fault::SerializeFails, names::VALUE, &["Serialize of block 5"]),
    (Fault::SerializePanics, names::PANICKED, &["Serialize of block 5", "a panic while it is written"]),
    (Fault::DeserializeFails, names::VALUE, &["Deserialize of block 5"]),
    (Fault::DeserializePanics, names::PANICKED, &["Deserialize of block 5", "a panic while it is read"]),
    (
        Fault::DeserializeLeavesBytes,
        names::VALUE,
        &["Deserialize of block 5", "reads other bytes than its `Serialize` writes"],
    ),
];

/// Rank 0 reads a block of the last rank.
#[test]
fn a_block_that_cannot_travel() {
    for (fault, name, words) in FAULTS {
        let outcomes = fails(|_, sp| {
            let (a, b) = (sp.blocks(6, move |_| Touchy(fault))?, sp.blocks(6, |i| i)?);
            sp.each(1, |_: &Touchy, b: &mut u32| *b += 1, move |i| (a.at(5), b.at(i)))
        });
        all_named(&outcomes, name);
        outcomes.all_say(words).all_cite(&["let (a, b) = (sp.blocks(6, move |_| Touchy(fault)"]);
    }
}

#[test]
fn a_value_that_cannot_travel() {
    for (fault, name, words) in FAULTS {
        let outcomes = fails(|_, sp| {
            let a = sp.blocks(6, move |_| Touchy(fault))?;
            sp.value(a.at(5)).map(drop)
        });
        all_named(&outcomes, name);
        outcomes.all_say(words).all_cite(&["sp.value(a.at(5))", "let a = sp.blocks(6, move |_| Touchy(fault))"]);
    }
    for fault in [Fault::SerializeFails, Fault::DeserializeFails] {
        let outcomes = fails(|_, sp| {
            let a = sp.blocks(6, |i| i)?;
            sp.fold(&a, |_| Touchy(fault), |a, _| a).map(drop)
        });
        outcomes.all_cite(&["sp.fold(&a, |_| Touchy(fault)"]);
    }
}

/// A block is freed outside the functions that use it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PanicsWhenDropped(u32);

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        if self.0 == 4 && !std::thread::panicking() {
            panic_quietly("dropped");
        }
    }
}

#[test]
fn a_block_that_panics_when_it_is_dropped() {
    let outcomes = fails(|_, sp| {
        let a = sp.blocks(6, PanicsWhenDropped)?;
        let fail = |a: &mut PanicsWhenDropped| if a.0 == 4 { Err("no four") } else { Ok(()) };
        sp.each(6, fail, move |i| (a.at(i),))
    });
    outcomes.all_say(&["panicked when it was freed", "dropped"]).all_cite(&["sp.each(6, fail"]);
    all_named(&outcomes, names::PANICKED);
}

/// Two such values cannot be freed together: a panic during a panic ends the process.
#[derive(Clone, Serialize, Deserialize)]
struct PanicsEachTime(u32);

impl Drop for PanicsEachTime {
    fn drop(&mut self) {
        panic_quietly("dropped");
    }
}

/// The next launch that writes the blocks frees their copies, and the drop of the super-program frees the blocks. No
/// result depends on that, so the panics are printed and the results stay valid.
#[test]
fn copies_and_blocks_that_panic_when_they_are_dropped() {
    let outcomes = in_threads(RANKS).run_freely(|world| {
        let sp = SuperProgram::new(world)?;
        let (a, b) = (sp.blocks(6, |_| PanicsEachTime(4))?, sp.blocks(6, |_| 0)?);
        let add = |a: &PanicsEachTime, other: &PanicsEachTime, b: &mut u32| *b += a.0 + other.0;
        for _ in 0..3 {
            sp.each(6, add, move |i| (a.at((i + 2) % 6), a.at((i + 3) % 6), b.at(i)))?;
            sp.each(6, |a: &mut PanicsEachTime| assert_eq!(a.0, 4), move |i| (a.at(i),))?;
        }
        assert_eq!(sp.fold(&b, |b| *b, |sum, b| sum + b)?, 6 * 3 * 8);
        Ok(())
    });
    outcomes.run.expect("the launches have ended");
}

/// Counts the values that contain 0.
#[derive(Serialize, Deserialize)]
struct Counted(u32);

static ZEROS: AtomicUsize = AtomicUsize::new(0);

impl Counted {
    fn new(number: u32) -> Self {
        ZEROS.fetch_add(usize::from(number == 0), Ordering::Relaxed);
        Counted(number)
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Counted::new(self.0)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ZEROS.fetch_sub(usize::from(self.0 == 0), Ordering::Relaxed);
    }
}

/// Rank 0 has block 0. It frees the block when it drops the super-program, also after the job has ended.
#[test]
fn blocks_are_freed_after_the_end_of_a_job() {
    let outcomes = in_threads(2).run_freely(|world| {
        let sp = SuperProgram::new(world)?;
        let a = sp.blocks(2, Counted::new)?;
        sp.each(2, |a: &mut Counted| assert!(a.0 < 2), move |i| (a.at(i),))?;
        if !world.is_root() {
            return Err(Error::user("enough"));
        }
        assert_eq!(ZEROS.load(Ordering::Relaxed), 1);
        let ended = sp.each(2, |a: &mut Counted| assert!(a.0 < 2), move |i| (a.at(i),));
        drop(sp);
        assert_eq!(ZEROS.load(Ordering::Relaxed), 0);
        ended
    });
    outcomes.says(0, &["rank 1 failed: enough"]);
}

/// Any thread of the rank frees a captured value after the launch. The panic is printed, and the results stay valid.
#[test]
fn a_captured_value_that_panics_when_it_is_dropped() {
    let outcomes = in_threads(RANKS).run_freely(|world| {
        let sp = SuperProgram::new(world)?;
        let (a, captured) = (sp.blocks(6, |i| i)?, PanicsAgain);
        let add = move |a: &mut u32| {
            let _captures = &captured;
            *a += 1;
        };
        sp.each(6, add, move |i| (a.at(i),))?;
        let sum = sp.fold(&a, |a| *a, |sum, a| sum + a)?;
        assert_eq!(sum, 1 + 2 + 3 + 4 + 5 + 6);
        Ok(())
    });
    outcomes.run.expect("the launch has ended");
}
