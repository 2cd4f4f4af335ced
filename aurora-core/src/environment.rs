//! Environment variables. No other module reads them.

use crate::{Bulk, Error, Network, Result, Route};
use aurora_net::Transport;
use aurora_net::bootstrap::{Announced, Launch, is_inherited};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// All environment variables that Aurora reads. Any other `AURORA_*` is refused. An empty variable counts as not set.
///
/// | variable | value | meaning |
/// |---|---|---|
/// | `AURORA_RANKS` | 1 to 1024 | ranks that a program starts by itself (default: the cores, at most 4) |
/// | `AURORA_ROUTE` | `auto`, `local`, `shm`, `udp` | the carrier of messages (default: the best one that reaches each rank). `local` makes the ranks threads of one process. `shm` is memory that the ranks of a node share |
/// | `AURORA_TIMEOUT` | seconds | limit of each wait. A longer wait ends the job. So does a loop that reads only the same few elements or scalars for this time and finds no change (default: none; after 30 s a waiting rank prints the awaited rank, and so does such a loop while all other ranks wait) |
/// | `AURORA_SILENCE` | seconds | a rank that does not answer for this time is lost (default: 5) |
/// | `AURORA_NETWORK` | `dedicated`, `shared` | `shared` if other jobs use the network between the ranks too (default: `dedicated`) |
/// | `AURORA_BULK` | `auto`, `udp`, `mpi` | the carrier of long transfers between nodes. `auto` takes the faster one by a probe at the start, if `mpirun` has started ranks on several nodes and no route is given; else it takes `udp`. `mpi` needs `mpirun` (default: `auto`) |
/// | `AURORA_INTERFACE` | name, such as `eth0` | network interface between machines (default: found automatically) |
/// | `AURORA_MTU` | 1228 to 65535 | longest IP packet to send, in bytes (default: the longest that the path is found to carry) |
/// | `AURORA_CHECK` | `0`, `1`, `strict` | the race detector: finds accesses by two ranks to one element or entry, at least one of them a write, that nothing orders, and names both lines; and wrong identities of super-programs. With `strict` a possible race is an error too; else it is a notice. At the end of `run` rank 0 says on stderr that the job was checked (default: 0, because it is slow) |
/// | `AURORA_SCALAR` | `allow`, `deny` | with `deny`, `at` and `put` to other ranks are errors (default: allow) |
/// | `AURORA_CACHE_LIMIT` | bytes, such as `500M` or `2GiB` | limit for one copy of a vector on a rank. Blocks of ranks of the same machine do not count (default: half of the free memory) |
/// | `AURORA_STATS` | `0`, `1` | at the end of `run` rank 0 prints on stderr the messages and waits of each rank and each object (default: 0) |
/// | `AURORA_TRACE` | file | writes a trace of all ranks, in the trace-event format of Perfetto and Chrome. An existing trace is overwritten. Any other existing file is refused (default: no trace) |
/// | `AURORA_SUPER_POLICY` | `syn`, `S`, `R`, `SR`, `SS`, `tail`, `ect` | policy of super-programs (default: `tail`) |
/// | `AURORA_SUPER_WORKERS` | 1 or more | threads for super-programs (default: its share of the cores) |
/// | `AURORA_SUPER_IN_FLIGHT` | 1 or more | instructions of a rank in flight (default: 16 for each thread) |
pub const VARIABLES: [&str; 16] = [
    "AURORA_RANKS",
    "AURORA_ROUTE",
    "AURORA_TIMEOUT",
    "AURORA_SILENCE",
    "AURORA_NETWORK",
    "AURORA_BULK",
    "AURORA_INTERFACE",
    "AURORA_MTU",
    "AURORA_CHECK",
    "AURORA_SCALAR",
    "AURORA_CACHE_LIMIT",
    "AURORA_STATS",
    "AURORA_TRACE",
    "AURORA_SUPER_POLICY",
    "AURORA_SUPER_WORKERS",
    "AURORA_SUPER_IN_FLIGHT",
];

/// Set by Aurora for the ranks that it starts: a rank finds its job by it.
const JOB: &str = "AURORA_JOB";

/// The maximum number of ranks that a program starts by itself on one machine.
pub const MAX_RANKS: usize = 1024;

/// The starter of this process, according to its environment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaunchInfo {
    /// A user: the program chooses the number of ranks.
    Alone,
    /// Another rank of the same job, on this machine.
    Rank,
    /// A launcher, MPI or Slurm, with the numbers that it has announced.
    #[non_exhaustive]
    Step {
        /// This process's rank.
        rank: Option<usize>,
        /// The number of ranks.
        size: Option<usize>,
        /// The number of ranks on this machine.
        local_size: Option<usize>,
    },
}

pub(crate) fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())))
}

/// True if the user has set `AURORA_CHECK`; a choice of the program does not count.
pub(crate) fn asks_for_checks() -> bool {
    std::env::var("AURORA_CHECK").is_ok_and(|value| !value.is_empty())
}

/// A launcher's variables, if there are any.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    announced: Announced,
    rank: Option<usize>,
    local_size: Option<usize>,
    /// The greatest number of ranks that is announced.
    largest: Option<usize>,
    /// True if MPI has been announced, and not only Slurm, which also starts programs without MPI.
    by_mpi: bool,
}

impl Step {
    fn find(all: &BTreeMap<String, String>) -> Option<Self> {
        /// Launchers' variables for rank and size, the most specific first. Some launchers set only one of them.
        const LAUNCHERS: [(&str, &str); 5] = [
            ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
            ("PMI_RANK", "PMI_SIZE"),
            // MPICH's mpirun -pmi-port, which tells no size.
            ("PMI_ID", "PMI_PORT"),
            SLURM,
            ("PMIX_RANK", "PMIX_SIZE"),
        ];
        /// Slurm sets a rank also for the script of a batch job, which is no rank of a step.
        const SLURM: (&str, &str) = ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS");
        let is_set = |name: &str| all.get(name).is_some_and(|value| !value.is_empty());
        let number = |name: &str| all.get(name)?.parse().ok();
        let found: Vec<_> =
            LAUNCHERS.into_iter().filter(|(rank, size)| is_set(size) || (is_set(rank) && *rank != SLURM.0)).collect();
        // Of two contradictory sizes one has been inherited. The greater size counts, so that no rank of several takes
        // itself for the only one. Slurm's size counts if there is no other: under mpirun it is the number of machines.
        let size = |slurm: bool| {
            let of = found.iter().filter(|launcher| (**launcher == SLURM) == slurm);
            of.filter_map(|(_, size)| number(size)).max()
        };
        let (mpi_size, slurm_size) = (size(false), size(true));
        let variables = found.iter().flat_map(|(rank, size)| [*rank, *size]).filter(|name| is_set(name)).collect();
        Some(Step {
            rank: number(found.first()?.0),
            local_size: number("OMPI_COMM_WORLD_LOCAL_SIZE").or_else(|| number("MPI_LOCALNRANKS")),
            by_mpi: found.iter().any(|launcher| *launcher != SLURM),
            announced: Announced { size: mpi_size.or(slurm_size), variables },
            largest: mpi_size.max(slurm_size),
        })
    }

    pub(crate) fn launch_info(&self) -> LaunchInfo {
        LaunchInfo::Step { rank: self.rank, size: self.announced.size, local_size: self.local_size }
    }
}

/// Aurora's own variables that are set, and those of a launcher.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    ours: BTreeMap<String, String>,
    pub(crate) job: Option<String>,
    pub(crate) step: Option<Step>,
}

/// The mode of the race detector: [`Config::check`](crate::Config::check).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Check {
    /// The race detector is off.
    #[default]
    Off,
    /// A race is an [`Error::Race`](crate::Error::Race). A possible race is a notice on stderr.
    On,
    /// A possible race is an [`Error::Race`](crate::Error::Race), too: for tests.
    Strict,
}

impl From<bool> for Check {
    fn from(check: bool) -> Self {
        if check { Check::On } else { Check::Off }
    }
}

/// The settings that a program chooses, or Aurora's variables give; `None` for the others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values {
    pub(crate) ranks: Option<usize>,
    pub(crate) route: Option<Route>,
    pub(crate) network: Option<Network>,
    pub(crate) bulk: Option<Bulk>,
    pub(crate) mtu: Option<usize>,
    pub(crate) silence: Option<Duration>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) check: Option<Check>,
    pub(crate) deny: Option<bool>,
    pub(crate) cache_limit: Option<usize>,
    pub(crate) stats: Option<bool>,
    pub(crate) trace: Option<PathBuf>,
    pub(crate) interface: Option<String>,
}

impl Environment {
    pub(crate) fn read(variables: impl Iterator<Item = (String, String)>) -> Self {
        let all: BTreeMap<_, _> = variables.collect();
        let step = Step::find(&all);
        let ours: BTreeMap<_, _> = all.into_iter().filter(|(name, _)| name.starts_with("AURORA_")).collect();
        let job = ours.get(JOB).filter(|job| !job.is_empty() && !is_inherited(job)).cloned();
        Environment { ours, job, step }
    }

    /// A variable's value. `AURORA_RANKS= program` unsets a variable for one command.
    pub(crate) fn of(&self, name: &str) -> Option<&String> {
        self.ours.get(name).filter(|value| !value.is_empty())
    }

    /// Completes the `chosen` settings by the variables. Every variable is read: an invalid value is always an error.
    pub(crate) fn values(&self, chosen: Values) -> Result<Values> {
        const SWITCH: [(&str, bool); 2] = [("0", false), ("1", true)];
        const CHECKS: [(&str, Check); 3] = [("0", Check::Off), ("1", Check::On), ("strict", Check::Strict)];
        const ROUTES: [(&str, Option<Route>); 4] =
            [("auto", None), ("local", Some(Route::Local)), ("shm", Some(Route::Shm)), ("udp", Some(Route::Udp))];
        let within = |range: RangeInclusive<usize>| move |value: &str| value.parse().ok().filter(|n| range.contains(n));
        let ranks = format!("a number from 1 to {MAX_RANKS}");
        let (least, most) = Transport::MTU.into_inner();
        let mtu = format!("a number of bytes of an IP packet, from {least} to {most}");
        let limit = |text: &str| ByteSize::read(text).map(|size| size.0);
        let networks = [("dedicated", Network::Dedicated), ("shared", Network::Shared)];
        let bulks = [("auto", Bulk::Auto), ("udp", Bulk::Udp), ("mpi", Bulk::Mpi)];
        if let Some(name) = self.ours.keys().find(|name| *name != JOB && !VARIABLES.contains(&name.as_str())) {
            return Err(unknown(name));
        }
        for (name, chosen) in [("silence", chosen.silence), ("timeout", chosen.timeout)] {
            if chosen == Some(Duration::ZERO) {
                return Err(Error::bad_setting(name, "0", "a number of seconds above 0"));
            }
        }
        if let Some(chosen) = chosen.mtu.filter(|chosen| !Transport::MTU.contains(chosen)) {
            return Err(Error::bad_setting("mtu", chosen.to_string(), mtu));
        }
        Ok(Values {
            ranks: chosen.ranks.or(self.parsed("AURORA_RANKS", &ranks, within(1..=MAX_RANKS))?),
            route: chosen.route.or(self.one_of("AURORA_ROUTE", &ROUTES)?.flatten()),
            network: chosen.network.or(self.one_of("AURORA_NETWORK", &networks)?),
            bulk: chosen.bulk.or(self.one_of("AURORA_BULK", &bulks)?),
            mtu: chosen.mtu.or(self.parsed("AURORA_MTU", &mtu, within(Transport::MTU))?),
            silence: chosen.silence.or(self.parsed("AURORA_SILENCE", "a number of seconds above 0", seconds)?),
            timeout: chosen.timeout.or(self.parsed("AURORA_TIMEOUT", "a number of seconds above 0", seconds)?),
            check: chosen.check.or(self.one_of("AURORA_CHECK", &CHECKS)?),
            deny: chosen.deny.or(self.one_of("AURORA_SCALAR", &[("allow", false), ("deny", true)])?),
            cache_limit: chosen.cache_limit.or(self.parsed("AURORA_CACHE_LIMIT", ByteSize::EXPECTED, limit)?),
            stats: chosen.stats.or(self.one_of("AURORA_STATS", &SWITCH)?),
            trace: chosen.trace.or(self.of("AURORA_TRACE").map(PathBuf::from)),
            interface: chosen.interface.or(self.of("AURORA_INTERFACE").cloned()),
        })
    }

    /// A variable's value as `parse` reads it; else an error with the `expected` form.
    fn parsed<T>(&self, name: &str, expected: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>> {
        self.of(name).map(|value| parse(value).ok_or_else(|| Error::bad_setting(name, value, expected))).transpose()
    }

    /// The meaning of a variable's value, one of these.
    fn one_of<T: Copy>(&self, name: &str, values: &[(&str, T)]) -> Result<Option<T>> {
        let texts: Vec<_> = values.iter().map(|(text, _)| *text).collect();
        self.parsed(name, &format!("one of {}", texts.join(", ")), |value| {
            values.iter().find(|(text, _)| *text == value).map(|(_, meaning)| *meaning)
        })
    }

    /// The number of ranks that this process starts: `ranks` if it is set, else `usual`; `None` if a launcher has
    /// started it as a rank of a job. A step of one rank is such a job, unless `ranks` is set, or there is no MPI.
    pub(crate) fn own_ranks(&self, ranks: Option<usize>, usual: usize, has_mpi: bool) -> Option<usize> {
        match &self.step {
            None => Some(ranks.unwrap_or(usual)),
            Some(step) if step.largest == Some(1) && (ranks.is_some() || !step.by_mpi || !has_mpi) => {
                Some(ranks.unwrap_or(1))
            }
            Some(_) => None,
        }
    }

    /// A launch by MPI. The program has `chosen` a number of ranks, or the program or `AURORA_RANKS` has set `ranks`.
    pub(crate) fn mpi(&self, chosen: Option<usize>, ranks: Option<usize>, has_mpi: bool) -> Result<Launch> {
        let mut announced = self.step.as_ref().map(|step| step.announced.clone()).unwrap_or_default();
        match (chosen, announced.size) {
            _ if !has_mpi => {
                announced.size = self.step.as_ref().and_then(|step| step.largest);
                Err(Error::Start(announced.without_mpi()))
            }
            (Some(ranks), Some(size)) if ranks != size => Err(Error::bad_setting(
                "ranks",
                ranks.to_string(),
                format!("{size}, because mpirun has started {size}"),
            )),
            (_, None) if ranks == Some(1) => {
                // The user knows that there is one.
                announced.variables.clear();
                Ok(Launch::Mpi(announced))
            }
            _ => Ok(Launch::Mpi(announced)),
        }
    }
}

fn seconds(text: &str) -> Option<Duration> {
    let seconds = text.parse().ok().filter(|seconds: &f64| *seconds > 0.0)?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// A number of bytes, as `AURORA_CACHE_LIMIT` takes it: `17`, `500M`, `2GiB`. Units are powers of 1024.
///
/// ```
/// use aurora_core::{ByteSize, Config};
///
/// let limit: ByteSize = "500M".parse()?;
/// assert_eq!(limit.0, 500 << 20);
/// let config = Config::threads(2).cache_limit(limit.0);
/// # Ok::<(), aurora_core::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ByteSize(pub usize);

impl ByteSize {
    const EXPECTED: &str = "a number of bytes: a whole number, alone or with K, M, G or T (also as KiB, MiB, GiB, TiB)";

    fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = text.split_at(digits);
        let power = match unit.trim_start().to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kib" => 1,
            "m" | "mib" => 2,
            "g" | "gib" => 3,
            "t" | "tib" => 4,
            _ => return None,
        };
        number.parse::<usize>().ok()?.checked_mul(1 << (10 * power)).map(ByteSize)
    }
}

impl FromStr for ByteSize {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        ByteSize::read(text).ok_or_else(|| Error::bad_setting("size", text, ByteSize::EXPECTED))
    }
}

fn unknown(name: &str) -> Error {
    // The common prefix would make all names similar.
    let own = |name: &str| name.trim_start_matches("AURORA_").to_string();
    let nearest = VARIABLES
        .iter()
        .map(|known| (strsim::normalized_damerau_levenshtein(&own(name), &own(known)), known))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(similarity, _)| *similarity >= 0.45)
        .map(|(_, known)| (*known).to_string());
    Error::UnknownVariable { name: name.into(), nearest, known: VARIABLES.join(", ") }
}
