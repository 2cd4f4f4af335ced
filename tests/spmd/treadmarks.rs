//! TreadMarks: no increment under a lock is lost, and the ranks send as many messages as the simulator says.

use aurora_apps::treadmarks::Tmk;
use aurora_apps::treadmarks::sim::{Network, Sim, Step};
use aurora_core::{Error, Kind, Result, World};
use aurora_suite::{Body, check};

pub fn bodies() -> Vec<Body> {
    vec![Body::of(increments_under_locks), Body::of(edges_of_bands)]
}

fn increments_under_locks(world: &World) -> Result<()> {
    const TURNS: usize = 12;
    let (me, p) = (world.rank().index(), world.size());
    let tmk = Tmk::new(world)?;
    let mut sums = tmk.array::<u64>(3, 3)?;
    for turn in 0..TURNS {
        let lock = (turn * (me + 1) + me) % 3;
        tmk.acquire(lock as u32)?;
        sums.write(lock..lock + 1)?[0] += 1;
        tmk.release(lock as u32)?;
    }
    tmk.barrier()?;
    check::equal("all increments", sums.read(0..3)?.iter().sum(), (TURNS * p) as u64)
}

/// Elements of a row: one page and a half.
const ROW: usize = 1536;
const BAND: usize = 3;
const STEPS: u32 = 6;

/// The rows next to a band.
fn edges(rank: usize, ranks: usize) -> impl Iterator<Item = usize> {
    let (before, behind) = ((rank * BAND).checked_sub(1), (rank + 1) * BAND);
    before.into_iter().chain(Some(behind).filter(|row| *row < ranks * BAND))
}

/// Each rank writes its band of rows and reads the rows next to it, step by step: red-black relaxation without sums.
fn edges_of_bands(world: &World) -> Result<()> {
    let (me, p, before) = (world.rank().index(), world.size(), world.stats());
    let tmk = Tmk::new(world)?;
    let mut halves = [tmk.array::<u32>(p * BAND * ROW, ROW)?, tmk.array::<u32>(p * BAND * ROW, ROW)?];
    for step in 0..STEPS {
        let [own, other] = &mut halves;
        let written = if step % 2 == 0 { own } else { other };
        written.write(me * BAND * ROW..(me + 1) * BAND * ROW)?.fill(step + 1);
        tmk.barrier()?;
        for row in edges(me, p) {
            check::same(&written.read(row * ROW..(row + 1) * ROW)?, 0, |_| step + 1)?;
        }
    }
    let program = |rank| {
        let step = move |step: u32| {
            let (half, row) = (step as usize % 2, 4 * ROW);
            let band = (step + 1).to_le_bytes().repeat(BAND * ROW);
            let write = [Step::Write(half, rank * BAND * row, band), Step::Barrier];
            write.into_iter().chain(edges(rank, p).map(move |at| Step::Read(half, at * row..(at + 1) * row)))
        };
        (0..STEPS).flat_map(step)
    };
    let mut sim = Sim::new(&[(p * BAND * ROW * 4, ROW * 4); 2], (0..p).map(program), Network::default());
    sim.run(|_, _, _| ()).map_err(|error| Error::user(error))?;
    world.barrier()?; // all have read, so all answers are sent
    let (counts, sent) = (tmk.counts(), world.stats() - before);
    check::equal("counts", counts, sim.counts().nth(me).expect("of this rank"))?;
    check::equal("messages", sent.of(Kind::Object).messages, counts.messages())
}
