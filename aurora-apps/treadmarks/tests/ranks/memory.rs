//! The contents of the shared memory.

use aurora_core::Route;
use aurora_core::prelude::*;
use aurora_treadmarks::Tmk;

fn on_all_routes(ranks: impl IntoIterator<Item = usize>, body: impl Fn(&World) -> Result<()> + Sync) {
    for ranks in ranks {
        for route in [Route::Local, Route::Shm, Route::Udp] {
            let done = Config::threads(ranks).route(route).run(&body);
            done.unwrap_or_else(|error| panic!("{ranks} ranks over {route}: {error}"));
        }
    }
}

#[test]
fn increments_under_locks_are_not_lost() {
    const TURNS: usize = 60;
    on_all_routes([1, 2, 3, 5], |world| {
        let (me, p) = (world.rank().index(), world.size());
        let tmk = Tmk::new(world)?;
        // In `near`, words of four locks share a page. In `far`, each has a page of its own.
        let (mut near, mut far) = (tmk.array::<u32>(4, 4)?, tmk.array::<u64>(4 * 600, 600)?);
        for turn in 0..TURNS {
            let lock = (turn * (me + 1) + me) % 4;
            tmk.acquire(lock as u32)?;
            near.write(lock..lock + 1)?[0] += 1;
            far.write(lock * 600 + 7..lock * 600 + 9)?[1] += 2;
            tmk.release(lock as u32)?;
        }
        tmk.barrier()?;
        let all: u32 = near.read(0..4)?.iter().sum();
        let twice: u64 = far.read(0..2400)?.iter().sum();
        assert_eq!((all as usize, twice as usize), (TURNS * p, 2 * TURNS * p));
        Ok(())
    });
}

/// Element `i` is written by rank `i mod p` at first, and by another rank in each round.
#[test]
fn all_ranks_write_all_pages() {
    on_all_routes([2, 4], |world| {
        const N: usize = 5001;
        let (me, p) = (world.rank().index(), world.size());
        let tmk = Tmk::new(world)?;
        let mut array = tmk.array::<[u32; 3]>(N, N)?;
        for round in 0..5 {
            let mut all = array.write(0..N)?;
            (0..N).filter(|i| (i + round) % p == me).for_each(|i| all[i] = [round as u32, i as u32, 1]);
            drop(all);
            tmk.barrier()?;
            let all = array.read(0..N)?;
            assert!(all.iter().enumerate().all(|(i, seen)| *seen == [round as u32, i as u32, 1]));
            drop(all);
            tmk.barrier()?;
        }
        Ok(())
    });
}

#[test]
fn a_guard_of_one_array_may_live_while_another_is_fetched() {
    on_all_routes([2, 3], |world| {
        let (me, p) = (world.rank().index(), world.size());
        let next = (me + 1) % p;
        let tmk = Tmk::new(world)?;
        let (mut a, mut b) = (tmk.array::<u32>(2000, 2000)?, tmk.array::<u32>(2000, 2000)?);
        a.write(me..me + 1)?[0] = 1;
        b.write(me..me + 1)?[0] = 2;
        tmk.barrier()?;
        // Each rank asks the next one for a page that the next one is about to write.
        let mut mine = a.write(me..me + 1)?;
        let theirs = b.read(next..next + 1)?;
        mine[0] += theirs[0];
        drop((mine, theirs));
        tmk.barrier()?;
        assert!(a.read(0..p)?.iter().all(|sum| *sum == 3));
        Ok(())
    });
}

#[test]
fn arrays_may_be_empty_and_made_later() {
    on_all_routes([1, 3], |world| {
        let tmk = Tmk::new(world)?;
        let mut none = tmk.array::<u64>(0, 0)?;
        assert!(none.is_empty() && none.read(0..0)?.is_empty() && none.write(0..0)?.is_empty());
        tmk.barrier()?;
        let (mut some, mut plain) = (tmk.array::<u64>(10, 3)?, tmk.array::<u32>(2000, 0)?);
        if world.is_root() {
            plain.write(0..2000)?.fill(7);
        }
        if world.is_root() {
            some.write(9..10)?[0] = 5;
        }
        tmk.barrier()?;
        assert_eq!(some.read(8..10)?[..], [0, 5]);
        assert!(plain.read(0..2000)?.iter().all(|seven| *seven == 7));
        Ok(())
    });
}
