//! The counts of ranks equal the counts of the simulator with the same data.

use aurora_core::prelude::*;
use aurora_core::{Kind, Route};
use aurora_treadmarks::sim::{Network, Sim, Step};
use aurora_treadmarks::{Counts, Tmk};

const RANKS: usize = 8;
/// The elements of a row: one and a half pages.
const ROW: usize = 1536;
const BAND: usize = 4;
const ROWS: usize = RANKS * BAND;
const HALF_SWEEPS: usize = 9;

/// The value of an element after half-sweep number `sweep`, counted from 0. Some elements keep their values.
fn value(half: usize, sweep: usize, element: usize) -> u32 {
    let changes = (0..=sweep).filter(|sweep| sweep % 2 == half && !(element + sweep).is_multiple_of(7)).count();
    changes as u32 * 3 + 1
}

fn row(half: usize, sweep: usize, row: usize) -> Vec<u32> {
    (row * ROW..(row + 1) * ROW).map(|element| value(half, sweep, element)).collect()
}

fn neighbours(rank: usize) -> impl Iterator<Item = usize> {
    let (first, behind) = (rank * BAND, (rank + 1) * BAND);
    first.checked_sub(1).into_iter().chain(Some(behind).filter(|row| *row < ROWS))
}

fn program(rank: usize) -> Vec<Step> {
    let write = |half: usize, sweep: usize| {
        (rank * BAND..(rank + 1) * BAND)
            .map(move |at| Step::Write(half, at * ROW * 4, bytemuck::pod_collect_to_vec(&row(half, sweep, at))))
    };
    let read = |half| neighbours(rank).map(move |at| Step::Read(half, at * ROW * 4..(at + 1) * ROW * 4));
    let sweep = |sweep| read(1 - sweep % 2).chain(write(sweep % 2, sweep)).chain([Step::Barrier]);
    write(0, 0).chain(write(1, 0)).chain([Step::Barrier]).chain((0..HALF_SWEEPS).flat_map(sweep)).collect()
}

fn on_a_rank(world: &World) -> Result<Counts> {
    let rank = world.rank().index();
    let tmk = Tmk::new(world)?;
    let mut halves = [tmk.array::<u32>(ROWS * ROW, ROW)?, tmk.array::<u32>(ROWS * ROW, ROW)?];
    let of = |at: usize| at * ROW..(at + 1) * ROW;
    for (half, array) in halves.iter_mut().enumerate() {
        for at in rank * BAND..(rank + 1) * BAND {
            array.write(of(at))?.copy_from_slice(&row(half, 0, at));
        }
    }
    tmk.barrier()?;
    for sweep in 0..HALF_SWEEPS {
        let own = sweep % 2;
        for at in neighbours(rank) {
            let seen = halves[1 - own].read(of(at))?;
            assert_eq!(seen[..], row(1 - own, sweep, at), "row {at} before half-sweep {sweep}");
        }
        for at in rank * BAND..(rank + 1) * BAND {
            halves[own].write(of(at))?.copy_from_slice(&row(own, sweep, at));
        }
        tmk.barrier()?;
    }
    Ok(tmk.counts())
}

#[test]
fn sor_on_ranks_counts_as_in_the_simulator() {
    let mut sim = Sim::new(&[(ROWS * ROW * 4, ROW * 4); 2], (0..RANKS).map(program), Network::default());
    sim.run(|_, _, _| ()).expect("the ranks come to the same barriers");
    let simulated: Vec<_> = sim.counts().collect();
    assert_eq!(simulated.iter().copied().sum::<Counts>().requests, 28 * HALF_SWEEPS as u64);
    for route in [Route::Local, Route::Shm, Route::Udp] {
        let check = |world: &World| {
            let counts = on_a_rank(world)?;
            assert_eq!(counts, simulated[world.rank().index()]);
            // `stats` counts the messages of the object too.
            let sent = world.stats().of(Kind::Object).messages;
            assert_eq!(sent, counts.messages());
            Ok(())
        };
        Config::threads(RANKS).route(route).run(check).expect("a job");
    }
}
