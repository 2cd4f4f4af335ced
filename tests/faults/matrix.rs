//! Every cell as a trial, and all cells as a table.

use crate::cell::{Cell, Fault, Place, RANKS, Starter};
use crate::{MACHINE, start};
use aurora_suite::driver::Ended;
use aurora_suite::{harness, mpi};
use libtest_mimic::{Failed, Trial};
use rustix::process::Signal;
use std::sync::Mutex;

/// The results of the cells, for the table.
static SEEN: Mutex<Vec<(Cell, String)>> = Mutex::new(Vec::new());

pub fn trials() -> Vec<Trial> {
    let mut starters = vec![Starter::Threads, Starter::Processes];
    let mut trials = Vec::new();
    match mpi::built_for().and_then(|flavour| flavour.launcher(RANKS).map(|_| flavour)) {
        Ok(flavour) => starters.push(Starter::Mpi(flavour)),
        Err(reason) => trials.push(harness::missing("mpirun/matrix", reason)),
    }
    for starter in starters {
        for fault in Fault::ALL {
            for place in Place::ALL {
                for rank in [0, 1] {
                    let cell = Cell { starter, fault, place, rank };
                    if applies(cell) {
                        trials.push(Trial::test(cell.to_string(), move || run(cell)));
                    }
                }
            }
        }
    }
    trials
}

/// False for cells without sense. All threads share a fault of their process. A stopped rank for which no rank waits is
/// found only if another process watches it: rank 0 watches started processes, and no process watches rank 0.
fn applies(cell: Cell) -> bool {
    match (cell.starter, cell.fault, cell.place) {
        (Starter::Threads, Fault::Kill | Fault::Stop, _) => false,
        // Like other scopes.
        (_, Fault::Error | Fault::Exit0 | Fault::Exit3, Place::Fetch | Place::Sync | Place::Lock) => false,
        (Starter::Processes, Fault::Stop, Place::Idle) => cell.rank != 0,
        (Starter::Mpi(_), Fault::Stop, Place::Idle) => false,
        _ => true,
    }
}

fn run(cell: Cell) -> Result<(), Failed> {
    let _beside_others = MACHINE.read();
    let mut job = start::job(cell.starter, cell.fault.name(), cell.place, cell.rank)?;
    let stopped_parent = cell.starter == Starter::Processes && cell.fault == Fault::Stop && cell.rank == 0;
    if stopped_parent {
        // The other ranks give up the stopped rank and end. The stopped rank learns this when it is continued.
        start::wait_for_ranks(&mut job)?;
        job.wait_for_others()?;
        job.signal(Signal::CONT, false)?;
    }
    let ended = job.wait()?;
    let found = judge(cell, &ended);
    let word = match &found {
        Ok(()) => format!("{:.2} s, code {}", ended.took.as_secs_f64(), ended.code()),
        Err(_) => "FAILED".into(),
    };
    SEEN.lock().unwrap().push((cell, word));
    found.map_err(|problem| format!("{cell}: {problem}; {}{}", ended.all(), survivors(&ended)).into())
}

fn survivors(ended: &Ended) -> String {
    (0..RANKS).map(|rank| format!("rank {rank} noted: {:?}\n", ended.note(&format!("rank-{rank}")))).collect()
}

fn judge(cell: Cell, ended: &Ended) -> Result<(), String> {
    if ended.code() == 0 {
        return Err("exit code 0".into());
    }
    said(cell, ended)?;
    for rank in (0..RANKS).filter(|rank| *rank != cell.rank) {
        survived(cell, ended, rank)?;
    }
    match ended.note("left") {
        Some(left) if left != "Left { threads: 0, descriptors: 0 }" && !is_mpi(cell) => {
            Err(format!("after `run` there remain {left}"))
        }
        _ => Ok(()),
    }
}

fn is_mpi(cell: Cell) -> bool {
    matches!(cell.starter, Starter::Mpi(_))
}

/// Exactly one message with the rank, the cause and the line.
fn said(cell: Cell, ended: &Ended) -> Result<(), String> {
    let messages = ended.messages();
    if cell.fault == Fault::Kill && is_mpi(cell) {
        // mpirun reports it.
        let words = ["signal 9", "EXIT CODE: 9"];
        return match words.iter().any(|word| ended.said.contains(word) || ended.stdout().contains(word)) {
            true if messages.is_empty() => Ok(()),
            true => Err("more than mpirun's message".into()),
            false => Err("mpirun does not say why".into()),
        };
    }
    if cell.fault == Fault::Kill && cell.rank == 0 {
        // No process is left to report it; the shell does.
        return match messages[..] {
            [] => Ok(()),
            _ => Err("a message of a killed process's child".into()),
        };
    }
    let [message] = messages[..] else {
        return Err(format!("{} messages instead of one", messages.len()));
    };
    // In its own process, `run` returns the error itself.
    let here = cell.rank == 0 || cell.starter == Starter::Threads;
    let own = here && cell.fault == Fault::Error && !is_mpi(cell);
    let who = format!("rank {}", cell.rank);
    let causes: &[&str] = match cell.fault {
        Fault::Error => &["out of tea"],
        Fault::Panic => &["panicked: out of cheese"],
        Fault::Exit0 | Fault::Exit3 => &["the program called `exit` inside `run`"],
        Fault::Kill => &["its process was killed by signal 9 (SIGKILL)"],
        Fault::Stop => &["has been silent", "its process has been stopped for"],
    };
    if !own && !message.contains(&who) {
        return Err(format!("`{message}` does not name {who}"));
    }
    if !causes.iter().any(|cause| message.contains(cause)) {
        return Err(format!("`{message}` does not give the cause"));
    }
    let has_line = matches!(cell.fault, Fault::Error | Fault::Panic);
    if has_line && !message.contains("tests/faults/commit.rs:") {
        return Err(format!("`{message}` does not name the source line"));
    }
    Ok(())
}

/// Checks the error of a survivor, if the survivor could get one.
fn survived(cell: Cell, ended: &Ended, rank: usize) -> Result<(), String> {
    let told = ended.note(&format!("rank-{rank}"));
    let in_vain = match cell.starter {
        // The exit of one thread ends all threads.
        Starter::Threads => matches!(cell.fault, Fault::Exit0 | Fault::Exit3),
        // A computing rank is ended, and the death of rank 0 ends all ranks at once.
        Starter::Processes => cell.place == Place::Idle || (cell.rank == 0 && cell.fault == Fault::Kill),
        // mpirun ends all ranks at once.
        Starter::Mpi(_) => true,
    };
    let Some(told) = told else {
        return if in_vain { Ok(()) } else { Err(format!("rank {rank} was told nothing")) };
    };
    let who = format!("rank {}", cell.rank);
    if told.contains(&who) { Ok(()) } else { Err(format!("rank {rank} was told `{told}`, without {who}")) }
}

/// Prints all cells that were run.
#[allow(clippy::print_stdout)]
pub fn print() {
    let seen = SEEN.lock().unwrap();
    let mut starters: Vec<Starter> = Vec::new();
    for (cell, _) in seen.iter() {
        if !starters.contains(&cell.starter) {
            starters.push(cell.starter);
        }
    }
    for starter in starters {
        let head = Place::ALL.iter().flat_map(|place| [0, 1].map(|rank| format!("{} {rank}", place.name())));
        let head: Vec<String> = head.map(|name| format!("{name:>19}")).collect();
        println!("\nfault matrix, {starter}: time until the last process is gone, exit code (place and failing rank)");
        println!("{:10}{}", "", head.concat());
        for fault in Fault::ALL {
            let row = Place::ALL.iter().flat_map(|place| {
                [0, 1].map(|rank| {
                    let cell = Cell { starter, fault, place: *place, rank };
                    let word = seen.iter().find(|(of, _)| *of == cell);
                    format!("{:>19}", word.map_or("-", |(_, word)| word.as_str()))
                })
            });
            println!("{:10}{}", fault.name(), row.collect::<String>());
        }
    }
    println!();
}
