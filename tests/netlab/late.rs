//! A rank is late for a load. The other ranks lose no time: they exchange their blocks before it opens the load.

use crate::bulk::{self, Data};
use crate::scenario::{Plan, Program, Scenario, overdue, wait_until};
use aurora_core::{GVector, Result, World};
use aurora_suite::mpi::Flavour;
use aurora_suite::notes::{note, noted};
use libtest_mimic::Trial;
use std::fs;
use std::thread;
use std::time::Duration;

/// The late rank, and its minimum delay.
const LATE: usize = 1;
const BY: Duration = Duration::from_millis(200);

pub fn trials(flavour: Flavour) -> Vec<Trial> {
    vec![Trial::test(format!("{flavour}-lab/a-late-rank-holds-nobody-up"), move || {
        let ended = Scenario::start(flavour, Plan::of(Program::Late), &[])?.job.wait()?;
        match ended.code() {
            0 => Ok(()),
            _ => Err(ended.all().into()),
        }
    })]
}

/// The late rank opens the load when the other ranks' blocks have arrived at the other ranks. The number of bytes that
/// their network interfaces have received shows this.
pub fn load(world: &World, data: Data) -> Result<()> {
    let mut v = bulk::matrix(world)?;
    let punctual: Vec<usize> = (0..world.size()).filter(|rank| *rank != LATE).collect();
    // Read before any rank can send a block.
    let before = received()?;
    world.barrier()?;
    let me = world.rank().index();
    if me == LATE {
        thread::sleep(BY);
        if !wait_until(|| punctual.iter().all(|rank| noted(&exchanged(*rank)).is_some())) {
            return Err(overdue("the others do not exchange their blocks before a late rank comes"));
        }
        bulk::load(&mut v, 0, data)
    } else {
        let blocks = blocks_of_the_punctual(&v, &punctual, me);
        thread::scope(|scope| {
            scope.spawn(|| {
                if wait_until(|| received().is_ok_and(|now| now >= before + blocks)) {
                    note(&exchanged(me), "");
                }
            });
            bulk::load(&mut v, 0, data)
        })
    }
}

fn blocks_of_the_punctual(v: &GVector<u32>, punctual: &[usize], me: usize) -> u64 {
    let others = punctual.iter().filter(|rank| **rank != me);
    others.map(|rank| 4 * v.range_of(*rank).len() as u64).sum()
}

fn exchanged(rank: usize) -> String {
    format!("exchanged-{rank}")
}

/// The number of bytes that this node has received.
fn received() -> Result<u64> {
    Ok(fs::read_to_string("/sys/class/net/eth0/statistics/rx_bytes")?.trim().parse()?)
}
