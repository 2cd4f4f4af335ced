//! The start of a job, as the program, the environment or the launcher decides.

use crate::environment::{Check, Environment, LaunchInfo, MAX_RANKS, Values, variables};
use crate::{Error, Result};
use aurora_net::bootstrap::{Launch, Options};
use aurora_net::{Bulk, Network, Route, Transport};
use std::path::PathBuf;
use std::time::Duration;

const HAS_MPI: bool = cfg!(feature = "mpi");

/// The launcher of the ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Start {
    #[default]
    Environment,
    Threads(usize),
    Processes(usize),
    Mpi,
}

/// The settings of a job. By default the launcher and the environment decide, as for [`run`](crate::run). A choice
/// made here takes precedence over the environment.
#[derive(Clone, Debug, Default)]
pub struct Config {
    start: Start,
    chosen: Values,
    /// For tests.
    mpi_from: Option<usize>,
    ranks_per_node: Option<usize>,
}

/// Optional modes, off by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Modes {
    /// [`Config::check`].
    pub(crate) check: bool,
    /// [`Check::Strict`].
    pub(crate) strict: bool,
    /// [`Config::deny_scalar`].
    pub(crate) deny: bool,
}

/// A configuration in which every setting is decided.
pub(crate) struct Settings {
    pub(crate) launch: Launch,
    pub(crate) transport: Transport,
    pub(crate) timeout: Option<Duration>,
    pub(crate) modes: Modes,
    pub(crate) cache_limit: Option<usize>,
    pub(crate) stats: bool,
    pub(crate) trace: Option<PathBuf>,
    pub(crate) options: Options,
}

/// Methods of [`Config`] that choose one of the [`Values`] each.
macro_rules! choices {
    ($($(#[$doc:meta])* $method:ident($choice:ident: $type:ty) => $value:ident;)*) => {
        impl Config {$(
            $(#[$doc])*
            #[must_use]
            pub fn $method(mut self, $choice: $type) -> Self {
                self.chosen.$value = Some($choice);
                self
            }
        )*}
    };
}

impl Config {
    /// Starts `ranks` threads of this process: for tests, doctests and debuggers. `run` returns rank 0's value.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// let sizes = Config::threads(3).run(|world| Ok(world.size()))?;
    /// assert_eq!(sizes, 3);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn threads(ranks: usize) -> Self {
        Config { start: Start::Threads(ranks), ..Config::default() }
    }

    /// Starts `ranks` processes of this program on this machine, including this one.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # if false {
    /// Config::processes(4).run(|world| world.barrier())?;
    /// # }
    /// # Ok::<(), Error>(())
    /// ```
    pub fn processes(ranks: usize) -> Self {
        Config { start: Start::Processes(ranks), ..Config::default() }
    }

    /// Uses the ranks of the MPI job that this process belongs to.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # if false {
    /// Config::mpi().run(|world| world.barrier())?; // under mpirun, with the feature `mpi`
    /// # }
    /// # Ok::<(), Error>(())
    /// ```
    pub fn mpi() -> Self {
        Config { start: Start::Mpi, ..Config::default() }
    }
}

choices! {
    /// Sets the number of ranks that Aurora starts itself. Under a launcher that has started several ranks, another
    /// number is an error. Under a launcher that has started a single rank, this process starts the other ranks.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// assert_eq!(Config::default().ranks(3).planned_ranks()?, Some(3)); // as AURORA_RANKS=3
    /// # Ok::<(), Error>(())
    /// ```
    ranks(ranks: usize) => ranks;

    /// Uses one route between all ranks, for tests of that route.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// use aurora_core::Route;
    /// let routes = Config::threads(2).route(Route::Udp).run(|world| Ok(world.about().routes.clone()))?;
    /// assert_eq!(routes, [Route::Udp]);
    /// # Ok::<(), Error>(())
    /// ```
    route(route: Route) => route;

    /// Ends the job when a wait takes longer (default: `AURORA_TIMEOUT`, else never). A polling loop is a wait, too:
    /// the rank reads only the same few elements or scalars, finds no change, and computes for less than 100 us between
    /// reads.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// use std::time::Duration;
    /// let hour = Duration::from_secs(3600);
    /// Config::threads(2).timeout(hour).run(|world| world.barrier())?;
    /// # Ok::<(), Error>(())
    /// ```
    timeout(limit: Duration) => timeout;

    /// Sets the time after which a rank that leaves messages unacknowledged is lost (default: `AURORA_SILENCE`, else
    /// 5 s).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// use std::time::Duration;
    /// let patient = Duration::from_secs(60); // a debugger may stop a rank for so long
    /// Config::threads(2).silence(patient).run(|world| world.barrier())?;
    /// # Ok::<(), Error>(())
    /// ```
    silence(limit: Duration) => silence;

    /// Sets the maximum size in bytes of one copy of a vector on a rank (default: `AURORA_CACHE_LIMIT`, else half of
    /// the free memory). A larger copy is an [`Error::CacheLimit`](crate::Error::CacheLimit) on all ranks. Blocks of
    /// ranks of the same machine do not count.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// let outcome = Config::threads(2).cache_limit(1 << 10).route(aurora_core::Route::Udp).run(|world| {
    ///     let v = GVector::<u64>::new(world, 1000)?;
    ///     v.read_cache().map(drop)
    /// });
    /// assert!(matches!(outcome, Err(Error::CacheLimit { .. })));
    /// # Ok::<(), Error>(())
    /// ```
    cache_limit(bytes: usize) => cache_limit;

    /// Declares the network dedicated to this job, or shared (default: `AURORA_NETWORK`, else [`Network::Dedicated`]).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// use aurora_core::Network;
    /// Config::threads(2).network(Network::Shared).run(|world| world.barrier())?;
    /// # Ok::<(), Error>(())
    /// ```
    network(network: Network) => network;

    /// Sets the carrier of long transfers between nodes (default: `AURORA_BULK`, else [`Bulk::Auto`]). [`Bulk::Mpi`] is
    /// an error unless `mpirun` has started the ranks. All ranks must make the same choice.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// use aurora_core::Bulk;
    /// Config::threads(2).bulk(Bulk::Udp).run(|world| world.barrier())?;
    /// # Ok::<(), Error>(())
    /// ```
    bulk(bulk: Bulk) => bulk;

    /// Sets the longest IP packet to send, in bytes, from 1228 to 65535 (default: `AURORA_MTU`, else the longest that
    /// the path is found to carry).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// Config::threads(2).mtu(1500).run(|world| world.barrier())?;
    /// assert!(Config::threads(2).mtu(10).run(|world| world.barrier()).is_err());
    /// # Ok::<(), Error>(())
    /// ```
    mtu(bytes: usize) => mtu;

    /// If `deny`, `at` and `put` of a vector refuse elements of other ranks with
    /// [`Error::Denied`](crate::Error::Denied). The error names a behaviour to use instead (default: `AURORA_SCALAR`,
    /// else false). Bulk calls (`at_many`, `put_many`, [`distmemcpy`](crate::distmemcpy)) and operations of a
    /// [`GScalar`](crate::GScalar) stay allowed.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// let outcome = Config::threads(2).deny_scalar(true).run(|world| {
    ///     let v = GVector::<u64>::new(world, 10)?;
    ///     v.at(0).and(v.at(9)) // one of the two elements belongs to the other rank
    /// });
    /// assert!(matches!(outcome, Err(Error::Denied { .. })));
    /// # Ok::<(), Error>(())
    /// ```
    deny_scalar(deny: bool) => deny;

    /// If `stats`, rank 0 prints the counters of all ranks at the end of `run`, on stderr (default: `AURORA_STATS`,
    /// else false). See [`World::stats`](crate::World::stats).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// Config::threads(2).stats(true).run(|world| world.barrier())?; // a table on stderr
    /// # Ok::<(), Error>(())
    /// ```
    stats(stats: bool) => stats;
}

impl Config {
    /// Sets the checking mode: the race detector (default: `AURORA_CHECK`, else off). `true` is [`Check::On`]. The
    /// detector does not note reads in a [`Paged`](crate::PagedMut) scope.
    ///
    /// A race is a pair of accesses to one element of a vector, or to one entry of a map, by two ranks, at least one of
    /// them a write, that nothing orders. The commonest race is a write in an OwnerComputes and a read by another rank
    /// without a barrier. A race is [`Error::Race`](crate::Error::Race) on all ranks, with the index or the key, both
    /// lines, both ranks, and a way to order the accesses. If the program holds a slice, or its own entries of a map,
    /// Aurora cannot know which of these elements or entries it reads. A race with one of them is a *possible race*: a
    /// notice on stderr, once for each pair of lines, or an error under [`Check::Strict`]. The written elements of a
    /// `&mut` slice are those that differ from a copy that Aurora makes when the program gets the slice.
    ///
    /// Checking is slow: every access goes through the kernel. Owners remember the last accesses to each range of
    /// elements, in up to some 64 MiB for each object and rank. A notice reports if that was not enough.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// let outcome = Config::threads(2).check(true).run(|world| {
    ///     let mut v = GVector::<u64>::new(world, 2)?;
    ///     v.put(0, world.rank().index() as u64)?; // both ranks, in no order
    ///     world.barrier()
    /// });
    /// assert!(matches!(outcome, Err(Error::Race { .. })));
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn check(mut self, check: impl Into<Check>) -> Self {
        self.chosen.check = Some(check.into());
        self
    }

    /// Sets the network interface between machines, by its name (default: `AURORA_INTERFACE`, else found
    /// automatically).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # if false {
    /// Config::default().interface("eth0").run(|world| world.barrier())?;
    /// # }
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn interface(mut self, name: impl Into<String>) -> Self {
        self.chosen.interface = Some(name.into());
        self
    }

    /// For tests of [`Bulk::Mpi`]: sets the shortest transfer, in bytes, that MPI carries.
    #[cfg(feature = "testing")]
    #[doc(hidden)]
    #[must_use]
    pub fn mpi_from(mut self, bytes: usize) -> Self {
        self.mpi_from = Some(bytes);
        self
    }

    /// Writes a trace to this file (default: `AURORA_TRACE`, else none): scopes, calls, waits and messages of all
    /// ranks, as JSON of the trace-event format, which <https://ui.perfetto.dev> and `chrome://tracing` show. The trace
    /// also contains spans and events that the program's thread makes with the `tracing` crate. Another subscriber
    /// still receives the events, but not the spans that are made in `run`.
    ///
    /// The file is created, or emptied, before any rank starts; if that fails, `run` returns
    /// [`Error::TraceFile`](crate::Error::TraceFile). Each rank appends its part when it leaves `run`, also after a
    /// failure; the part of a killed rank is missing. Machines that share no files have one file of that name each, for
    /// their own ranks. A file from an earlier job is emptied on rank 0's machine only: remove it on other machines. A
    /// rank keeps 100 000 events; the event `aurora_dropped` has the number of later events.
    ///
    /// Times are on rank 0's clock. Ranks of one machine share a clock. Times of another machine are accurate to half
    /// of the quickest of ten round trips to rank 0, measured at the start; later drift is not corrected.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// let file = std::env::temp_dir().join(format!("trace-{}.json", std::process::id()));
    /// Config::threads(2).trace(&file).run(|world| world.barrier())?;
    /// assert!(std::fs::read_to_string(&file)?.contains("barrier"));
    /// # std::fs::remove_file(&file)?;
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn trace(mut self, file: impl Into<PathBuf>) -> Self {
        self.chosen.trace = Some(file.into());
        self
    }

    /// For tests of jobs on several machines: treats the ranks of this machine as nodes of `ranks` ranks each.
    #[cfg(feature = "testing")]
    #[doc(hidden)]
    #[must_use]
    pub fn ranks_per_node(mut self, ranks: usize) -> Self {
        self.ranks_per_node = Some(ranks);
        self
    }

    /// Returns the number of ranks that [`run`](crate::run) will start or find; `None` if it is not known in advance.
    ///
    /// # Errors
    /// An invalid configuration or environment variable.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// assert_eq!(Config::threads(3).planned_ranks()?, Some(3));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn planned_ranks(&self) -> Result<Option<usize>> {
        Ok(match self.clone().settle()?.launch {
            Launch::Threads(ranks) | Launch::Processes(ranks) => Some(ranks),
            Launch::Mpi(announced) => announced.size,
            Launch::Child(_) => None,
        })
    }

    /// Returns the way in which this process was started, as [`run`](crate::run) finds it with this configuration. A
    /// launcher that announces one rank counts only if no number of ranks is asked for. Errors are left to `run`.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// use aurora_core::LaunchInfo;
    ///
    /// if Config::default().launch_info() != LaunchInfo::Rank {
    ///     println!("said once, however many ranks there are on this machine");
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    pub fn launch_info(&self) -> LaunchInfo {
        let environment = Environment::read(variables());
        let launch = self.clone().settle_in(&environment, cores(), HAS_MPI).map(|settings| settings.launch);
        match (launch, &environment.step) {
            _ if environment.job.is_some() => LaunchInfo::Rank,
            (Ok(Launch::Threads(_) | Launch::Processes(_)), _) | (_, None) => LaunchInfo::Alone,
            (_, Some(step)) => step.launch_info(),
        }
    }

    /// Takes the settings that this configuration leaves open from the process's environment.
    pub(crate) fn settle(self) -> Result<Settings> {
        self.settle_in(&Environment::read(variables()), cores(), HAS_MPI)
    }

    fn settle_in(self, environment: &Environment, cores: usize, has_mpi: bool) -> Result<Settings> {
        let chosen = self.chosen.ranks;
        let values = environment.values(self.chosen)?;
        let launch = match self.start {
            Start::Threads(ranks) => Launch::Threads(possible(ranks)?),
            Start::Mpi => environment.mpi(chosen, values.ranks, has_mpi)?,
            Start::Processes(_) | Start::Environment if environment.job.is_some() => {
                Launch::Child(environment.job.clone().unwrap_or_default())
            }
            Start::Processes(ranks) => Launch::Processes(possible(ranks)?),
            Start::Environment => match environment.own_ranks(values.ranks, cores.min(4), has_mpi) {
                Some(ranks) if values.route == Some(Route::Local) => Launch::Threads(possible(ranks)?),
                Some(ranks) => Launch::Processes(possible(ranks)?),
                None => environment.mpi(chosen, values.ranks, has_mpi)?,
            },
        };
        let transport = Transport {
            route: values.route,
            silence: values.silence.unwrap_or(Duration::from_secs(5)),
            network: values.network.unwrap_or_default(),
            bulk: values.bulk.unwrap_or_default(),
            mpi_from: self.mpi_from,
            mtu: values.mtu,
            ranks_per_node: self.ranks_per_node,
            ..Transport::default()
        };
        let check = values.check.unwrap_or_default();
        Ok(Settings {
            launch,
            transport,
            timeout: values.timeout,
            modes: Modes {
                check: check != Check::Off,
                strict: check == Check::Strict,
                deny: values.deny.unwrap_or_default(),
            },
            cache_limit: values.cache_limit,
            stats: values.stats.unwrap_or_default(),
            trace: values.trace,
            options: Options { interface: values.interface, ..Options::default() },
        })
    }
}

impl LaunchInfo {
    /// Does the same as [`Config::launch_info`], with the default [`Config`]. [`run`](crate::run) reports errors of the
    /// environment.
    pub fn detect() -> Self {
        Config::default().launch_info()
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn possible(ranks: usize) -> Result<usize> {
    match (1..=MAX_RANKS).contains(&ranks) {
        true => Ok(ranks),
        false => Err(Error::bad_setting("ranks", ranks.to_string(), format!("a number from 1 to {MAX_RANKS}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VARIABLES;

    fn settle(config: Config, variables: &[(&str, &str)]) -> Result<Settings> {
        let variables = variables.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string()));
        config.settle_in(&Environment::read(variables), 2, HAS_MPI)
    }

    fn launch(config: Config, variables: &[(&str, &str)]) -> Launch {
        settle(config, variables).map(|settings| settings.launch).expect("settles")
    }

    fn refusal(variables: &[(&str, &str)]) -> String {
        settle(Config::default(), variables).err().expect("refused").to_string()
    }

    #[test]
    fn without_surroundings_the_program_starts_its_own_processes() {
        assert_eq!(launch(Config::default(), &[]), Launch::Processes(2));
        assert_eq!(launch(Config::default(), &[("AURORA_RANKS", "3")]), Launch::Processes(3));
        assert_eq!(launch(Config::default(), &[("AURORA_ROUTE", "local")]), Launch::Threads(2));
        assert_eq!(launch(Config::processes(5), &[("AURORA_RANKS", "3")]), Launch::Processes(5));
    }

    #[test]
    fn a_started_rank_joins_its_job_whatever_else_is_set() {
        let variables = [("AURORA_JOB", "x"), ("OMPI_COMM_WORLD_SIZE", "4"), ("AURORA_RANKS", "3")];
        assert_eq!(launch(Config::default(), &variables), Launch::Child("x".into()));
        assert_eq!(launch(Config::threads(2), &variables), Launch::Threads(2));
    }

    #[test]
    fn an_empty_variable_is_not_set() {
        for name in VARIABLES {
            assert_eq!(launch(Config::default(), &[(name, "")]), Launch::Processes(2), "{name}");
        }
        let variables = [("AURORA_RANKS", "3"), ("AURORA_ROUTE", ""), ("AURORA_JOB", "")];
        assert_eq!(launch(Config::default(), &variables), Launch::Processes(3));
        assert!(refusal(&[("AURORA_RANKS", " ")]).contains("AURORA_RANKS=  is not valid"));
    }

    #[test]
    fn an_unknown_variable_is_refused_with_the_nearest_name() {
        let text = refusal(&[("AURORA_RANK", "3")]);
        assert!(text.contains("AURORA_RANK (did you mean AURORA_RANKS?)"), "{text}");
        for (name, meant) in [
            ("AURORA_NRANKS", "AURORA_RANKS"),
            ("AURORA_ROUTES", "AURORA_ROUTE"),
            ("AURORA_CACHELIMIT", "AURORA_CACHE_LIMIT"),
            ("AURORA_CACHE", "AURORA_CACHE_LIMIT"),
            ("AURORA_CHEKC", "AURORA_CHECK"),
        ] {
            let text = refusal(&[(name, "")]);
            assert!(text.contains(&format!("{name} (did you mean {meant}?)")), "{text}");
        }
        for name in ["AURORA_X", "AURORA_LOGLEVEL", "AURORA_THREADS", "AURORA_DEBUG"] {
            let text = refusal(&[(name, "")]);
            assert!(text.contains(&format!("{name}; the known ones: AURORA_RANKS")), "{text}");
        }
    }

    #[test]
    fn impossible_values_are_refused_even_where_something_else_is_used() {
        for variable in [("AURORA_RANKS", "0"), ("AURORA_ROUTE", "tcp"), ("AURORA_SILENCE", "long")] {
            let config = Config::processes(2).route(Route::Udp).silence(Duration::from_secs(1));
            assert!(settle(config, &[variable]).is_err(), "{variable:?}");
        }
    }

    #[test]
    fn bytes_are_written_as_people_write_them() {
        let limit = |value: &str| {
            let settled = settle(Config::default(), &[("AURORA_CACHE_LIMIT", value)]);
            settled.map(|settings| settings.cache_limit).map_err(|error| error.to_string())
        };
        for (value, bytes) in
            [("0", 0), ("17", 17), ("3k", 3 << 10), ("5 MiB", 5 << 20), ("2G", 2 << 30), ("1TiB", 1 << 40)]
        {
            assert_eq!(limit(value), Ok(Some(bytes)), "{value}");
        }
        for value in [" ", "M", "-1", "1.5G", "2 GB", "99999999T", "half"] {
            assert!(limit(value).expect_err(value).contains("bytes: a whole number"), "{value}");
        }
        let config = Config::default().cache_limit(7);
        assert_eq!(settle(config, &[("AURORA_CACHE_LIMIT", "8")]).expect("settles").cache_limit, Some(7));
        assert_eq!(settle(Config::default(), &[]).expect("settles").cache_limit, None);
    }

    #[test]
    fn impossible_values_name_the_possible_ones() {
        assert!(refusal(&[("AURORA_RANKS", "0")]).contains("a number from 1"));
        assert!(refusal(&[("AURORA_ROUTE", "tcp")]).contains("one of auto, local, shm, udp"));
        for mtu in ["1227", "65536", "-1", "jumbo"] {
            assert!(refusal(&[("AURORA_MTU", mtu)]).contains("bytes of an IP packet, from 1228 to 65535"));
        }
        assert!(refusal(&[("AURORA_NETWORK", "mine")]).contains("one of dedicated, shared"));
        assert!(refusal(&[("AURORA_BULK", "tcp")]).contains("one of auto, udp, mpi"));
        assert!(refusal(&[("AURORA_TIMEOUT", "-1")]).contains("seconds"));
        assert!(refusal(&[("AURORA_SILENCE", "soon")]).contains("seconds"));
        assert!(
            refusal(&[("AURORA_CHECK", "yes")]).contains("AURORA_CHECK=yes is not valid: expected one of 0, 1, strict")
        );
        assert!(refusal(&[("AURORA_SCALAR", "no")]).contains("one of allow, deny"));
    }

    #[test]
    fn what_moves_bulk_data_is_found_out_unless_it_is_said() {
        let bulk = |config, variables: &[_]| settle(config, variables).expect("settles").transport.bulk;
        assert_eq!(bulk(Config::default(), &[]), Bulk::Auto);
        for (value, meant) in [("auto", Bulk::Auto), ("udp", Bulk::Udp), ("mpi", Bulk::Mpi)] {
            assert_eq!(bulk(Config::default(), &[("AURORA_BULK", value)]), meant);
        }
        assert_eq!(bulk(Config::default().bulk(Bulk::Udp), &[("AURORA_BULK", "mpi")]), Bulk::Udp);
    }

    #[test]
    fn modes_and_reports_are_off_unless_asked_for_and_a_program_decides_before_the_environment() {
        let what = |config, variables| {
            let Settings { modes: Modes { check, deny, strict: false }, stats, trace, .. } =
                settle(config, variables).expect("settles")
            else {
                panic!("nobody has asked for strict checks");
            };
            (check, deny, stats, trace)
        };
        assert_eq!(what(Config::default(), &[]), (false, false, false, None));
        let on = [("AURORA_CHECK", "1"), ("AURORA_SCALAR", "deny"), ("AURORA_STATS", "1"), ("AURORA_TRACE", "a.json")];
        assert_eq!(what(Config::default(), &on), (true, true, true, Some("a.json".into())));
        let off = Config::default().check(false).deny_scalar(false).stats(false).trace("b.json");
        assert_eq!(what(off, &on), (false, false, false, Some("b.json".into())));
        assert!(what(Config::default().check(true), &[("AURORA_CHECK", "0")]).0);
        assert!(what(Config::default().check(Check::On), &[("AURORA_CHECK", "strict")]).0);
        let strict = |config, value| settle(config, &[("AURORA_CHECK", value)]).expect("settles").modes;
        let wanted = Modes { check: true, strict: true, deny: false };
        assert_eq!(strict(Config::default(), "strict"), wanted);
        assert_eq!(strict(Config::default().check(Check::Strict), "0"), wanted);
        assert!(refusal(&[("AURORA_STATS", "yes")]).contains("AURORA_STATS=yes is not valid: expected one of 0, 1"));
    }

    /// A program that is built with MPI or without, under these variables: the ranks that it starts, `mpi` for an MPI
    /// launch, or the variables that it asks to unset.
    fn outcome(variables: &[(&str, &str)], has_mpi: bool) -> String {
        let owned = variables.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string()));
        match Config::default().settle_in(&Environment::read(owned), 2, has_mpi).map(|settings| settings.launch) {
            Ok(Launch::Processes(ranks)) => ranks.to_string(),
            Ok(Launch::Mpi(announced)) => {
                format!(
                    "mpi {} {}",
                    announced.size.map_or("?".into(), |size| size.to_string()),
                    announced.variables.len()
                )
            }
            Ok(other) => format!("{other:?}"),
            Err(error) => {
                let text = error.to_string();
                let unset = text.split_once("`unset ").and_then(|(_, rest)| rest.split_once('`'));
                unset.map_or_else(|| text.clone(), |(names, _)| format!("unset {names}"))
            }
        }
    }

    /// Launchers announce their ranks by these variables. Shells inside an allocation or a job have them too.
    #[test]
    fn a_launcher_decides_unless_it_says_one_rank_and_the_user_says_more() {
        let table: [(&str, &str, &str); 22] = [
            // Variables; the outcome without MPI; with MPI.
            ("", "2", "2"),
            ("OMPI_COMM_WORLD_SIZE=1", "1", "mpi 1 1"),
            ("PMI_SIZE=1", "1", "mpi 1 1"),
            ("PMIX_SIZE=1", "1", "mpi 1 1"),
            ("OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 PMIX_RANK=0", "1", "mpi 1 3"),
            ("SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1", "1", "1"),
            ("SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 PMIX_RANK=0", "1", "mpi 1 3"),
            ("SLURM_PROCID=0", "2", "2"),
            ("OMPI_COMM_WORLD_SIZE=1 AURORA_RANKS=3", "3", "3"),
            ("PMI_RANK=0 PMI_SIZE=1 AURORA_RANKS=3", "3", "3"),
            ("PMIX_RANK=0 PMIX_SIZE=1 AURORA_RANKS=3", "3", "3"),
            ("SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 AURORA_RANKS=3", "3", "3"),
            ("SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=8", "unset SLURM_PROCID SLURM_STEP_NUM_TASKS", "mpi 8 2"),
            ("SLURM_STEP_NUM_TASKS=8 AURORA_RANKS=3", "unset SLURM_STEP_NUM_TASKS", "mpi 8 1"),
            ("PMIX_RANK=0", "unset PMIX_RANK", "mpi ? 1"),
            ("PMIX_RANK=0 AURORA_RANKS=3", "unset PMIX_RANK", "mpi ? 1"),
            ("PMIX_RANK=0 AURORA_RANKS=1", "unset PMIX_RANK", "mpi ? 0"),
            ("OMPI_COMM_WORLD_SIZE=4 AURORA_RANKS=3", "unset OMPI_COMM_WORLD_SIZE", "mpi 4 1"),
            ("PMI_RANK=1 PMI_SIZE=4", "unset PMI_RANK PMI_SIZE", "mpi 4 2"),
            ("PMI_ID=1 PMI_PORT=node:7", "unset PMI_ID PMI_PORT", "mpi ? 2"),
            // A shell under one mpirun that runs the other's.
            ("OMPI_COMM_WORLD_SIZE=1 PMI_SIZE=2", "unset OMPI_COMM_WORLD_SIZE PMI_SIZE", "mpi 2 2"),
            // A shell under `mpirun -n 1` that runs `srun -n 8`.
            (
                "OMPI_COMM_WORLD_SIZE=1 SLURM_STEP_NUM_TASKS=8",
                "unset OMPI_COMM_WORLD_SIZE SLURM_STEP_NUM_TASKS",
                "mpi 1 2",
            ),
        ];
        for (variables, without, with) in table {
            let variables: Vec<_> = variables.split(' ').filter_map(|variable| variable.split_once('=')).collect();
            assert_eq!(outcome(&variables, false), without, "{variables:?} without MPI");
            assert_eq!(outcome(&variables, true), with, "{variables:?} with MPI");
            if let Some(names) = outcome(&variables, false).strip_prefix("unset ") {
                let names: Vec<_> = names.split(' ').collect();
                let left: Vec<_> = variables.into_iter().filter(|(name, _)| !names.contains(name)).collect();
                assert!(["1", "2", "3"].contains(&&*outcome(&left, false)), "{left:?} still refuses");
            }
        }
    }

    #[test]
    fn a_launcher_that_has_started_several_ranks_decides_how_many() {
        let environment = |size: &str| Environment::read([("PMI_SIZE".to_string(), size.to_string())].into_iter());
        let settle =
            |config: Config, size| config.settle_in(&environment(size), 2, true).map(|settings| settings.launch);
        let refused = settle(Config::default().ranks(3), "4").expect_err("another number").to_string();
        assert!(refused.contains("ranks=3 is not valid: expected 4, because mpirun has started 4"), "{refused}");
        assert_eq!(settle(Config::default().ranks(3), "1").expect("alone"), Launch::Processes(3));
        assert_eq!(settle(Config::processes(3), "4").expect("by hand"), Launch::Processes(3));
    }
}
