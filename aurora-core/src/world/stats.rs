//! Reading the counters: by the program at any time, and by rank 0 for all ranks at the end.

use super::World;
use crate::kernel::watch::Blocked;
use crate::stats::{Job, Stats, Times};
use crate::{Result, Site};
use std::time::{Duration, Instant};

impl World {
    /// Returns the counters of this rank since `run` began: its times, its messages and its waits, by object and kind
    /// of operation. Not collective; takes some microseconds.
    ///
    /// For a phase, take the difference of two readings, between barriers if other ranks' phases should not count.
    /// `AURORA_STATS=1` (or [`Config::stats`](crate::Config::stats)) prints the readings of all ranks at the end.
    /// [`usage`](World::usage) returns the messages by line of the program.
    ///
    /// ```
    /// use aurora_core::{Config, Kind, prelude::*};
    ///
    /// Config::threads(2).route(aurora_core::Route::Udp).run(|world| {
    ///     let v = GVector::<u64>::from_fn(world, 100, |i| i as u64)?;
    ///     let before = world.stats();
    ///     let sum: u64 = v.read_cache()?.iter().sum();
    ///     let load = world.stats() - before;
    ///     assert_eq!(sum, 4950);
    ///     assert_eq!(load.object("GVector<u64> of 100")[&Kind::Load].messages, 1); // its half to the other rank
    ///     assert_eq!(load.elapsed(), load.computing + load.sharing + load.waiting); // `println!("{load}")`: a table
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn stats(&self) -> Stats {
        let ((job, objects), traffic) =
            self.link().read(|kernel| kernel.core.mail.counters.costs(|id| kernel.name_of(id)));
        let Times { computing, sharing, waiting } = self.link().times();
        Stats { rank: self.rank(), computing, sharing, waiting, traffic, job, objects }
    }

    /// Reports this rank's counters to rank 0. Rank 0 prints the counters of all ranks, or those that arrive in 5 s.
    pub(crate) fn report_counters(&self, site: &Site) -> Result<()> {
        const LONG: Duration = Duration::from_secs(5);
        let (mine, until) = (self.stats(), Instant::now() + LONG);
        if !self.is_root() {
            return self.link().on_kernel(site, |kernel, out| {
                kernel.report(&mine, out);
                Ok(())
            });
        }
        let others = self.size() - 1;
        let mut all = self.link().wait_kernel(Blocked::Leave, site, |kernel, _| {
            let counters = &mut kernel.core.reports.counters;
            let all = (counters.len() == others || Instant::now() > until).then(|| std::mem::take(counters))?;
            kernel.core.reports.printed = true;
            Some(Ok(all))
        })?;
        all.push(mine);
        all.sort_by_key(|stats| stats.rank);
        crate::notice::stats(&Job(&all).to_string(), self.size() - all.len());
        Ok(())
    }
}
