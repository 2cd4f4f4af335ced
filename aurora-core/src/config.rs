//! How a job is started: chosen in the program, by the environment, or by the surroundings.

use crate::Error;
use crate::error::Result;
use aurora_net::Route;
use aurora_net::bootstrap::{Launch, Options};
use std::collections::BTreeMap;
use std::time::Duration;

/// Every environment variable that Aurora reads, and what it means. One that is not listed here is refused.
///
/// | variable | value | meaning |
/// |---|---|---|
/// | `AURORA_RANKS` | number from 1 | ranks that a program starts by itself (default: the cores, at most 4) |
/// | `AURORA_ROUTE` | `auto`, `local`, `udp` | what carries messages; `local` makes the ranks threads of one process |
/// | `AURORA_TIMEOUT` | seconds | a wait longer than this ends the job (default: none) |
/// | `AURORA_SILENCE` | seconds | a rank that does not answer for so long is lost (default: 5) |
/// | `AURORA_INTERFACE` | name, such as `eth0` | network interface between machines (default: found out) |
/// | `AURORA_JOB` | set by Aurora | how a started rank finds its job |
pub const VARIABLES: [&str; 6] = [
    "AURORA_RANKS",
    "AURORA_ROUTE",
    "AURORA_TIMEOUT",
    "AURORA_SILENCE",
    "AURORA_INTERFACE",
    "AURORA_JOB",
];

/// Who starts the ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Start {
    #[default]
    Surroundings,
    Threads(usize),
    Processes(usize),
    Mpi,
}

/// How a job is started. The default looks at its surroundings, as [`run`](crate::run) does.
///
/// What is chosen here goes before the environment.
#[derive(Clone, Debug, Default)]
pub struct Config {
    start: Start,
    ranks: Option<usize>,
    route: Option<Route>,
    timeout: Option<Duration>,
    silence: Option<Duration>,
}

/// A configuration with everything decided.
pub(crate) struct Settings {
    pub(crate) launch: Launch,
    pub(crate) route: Option<Route>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) silence: Duration,
    pub(crate) options: Options,
}

impl Config {
    /// `ranks` threads of this process: for tests, doctests and debuggers. `run` returns rank 0's value.
    pub fn threads(ranks: usize) -> Self {
        Config {
            start: Start::Threads(ranks),
            ..Config::default()
        }
    }

    /// `ranks` processes of this program on this machine, this one among them.
    pub fn processes(ranks: usize) -> Self {
        Config {
            start: Start::Processes(ranks),
            ..Config::default()
        }
    }

    /// The ranks of the MPI job that this process belongs to.
    pub fn mpi() -> Self {
        Config {
            start: Start::Mpi,
            ..Config::default()
        }
    }

    /// Whoever the surroundings say, with `ranks` ranks where Aurora starts them itself. Under `mpirun` the number is
    /// its own to choose: another one is an error.
    #[must_use]
    pub fn ranks(mut self, ranks: usize) -> Self {
        self.ranks = Some(ranks);
        self
    }

    /// Uses one route between all ranks, so that a test covers it.
    #[must_use]
    pub fn route(mut self, route: Route) -> Self {
        self.route = Some(route);
        self
    }

    /// Ends the job when a wait takes longer (default: `AURORA_TIMEOUT`, else never).
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// How long a rank may leave messages unacknowledged before it is taken for lost (default: `AURORA_SILENCE`, else 5 s).
    #[must_use]
    pub fn silence(mut self, limit: Duration) -> Self {
        self.silence = Some(limit);
        self
    }

    /// Decides what is open, from the process's environment.
    pub(crate) fn settle(self) -> Result<Settings> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        self.settle_in(
            &Environment::read(std::env::vars_os().filter_map(|(name, value)| {
                Some((
                    name.into_string().ok()?,
                    value.to_string_lossy().into_owned(),
                ))
            }))?,
            cores,
        )
    }

    fn settle_in(self, environment: &Environment, cores: usize) -> Result<Settings> {
        let route = match self.route {
            Some(route) => Some(route),
            None => environment.route()?,
        };
        let ranks = || match self.ranks {
            Some(ranks) => at_least_one(ranks),
            None => Ok(environment.ranks()?.unwrap_or(cores.min(4))),
        };
        let launch = match self.start {
            Start::Threads(ranks) => Launch::Threads(at_least_one(ranks)?),
            Start::Mpi => environment.mpi(self.ranks)?,
            Start::Processes(_) | Start::Surroundings if environment.job.is_some() => {
                Launch::Child(environment.job.clone().unwrap_or_default())
            }
            Start::Processes(ranks) => Launch::Processes(at_least_one(ranks)?),
            Start::Surroundings if environment.launcher.is_some() => environment.mpi(self.ranks)?,
            Start::Surroundings if route == Some(Route::Local) => Launch::Threads(ranks()?),
            Start::Surroundings => Launch::Processes(ranks()?),
        };
        let silence = match self.silence {
            Some(silence) => silence,
            None => environment
                .seconds("AURORA_SILENCE")?
                .unwrap_or(Duration::from_secs(5)),
        };
        let timeout = match self.timeout {
            Some(limit) => Some(limit),
            None => environment.seconds("AURORA_TIMEOUT")?,
        };
        let options = Options {
            interface: environment.of("AURORA_INTERFACE").cloned(),
            ..Options::default()
        };
        Ok(Settings {
            launch,
            route,
            timeout,
            silence,
            options,
        })
    }
}

fn at_least_one(ranks: usize) -> Result<usize> {
    if ranks > 0 {
        Ok(ranks)
    } else {
        Err(bad("ranks", "0", "a number from 1"))
    }
}

fn bad(name: &str, value: &str, expected: &str) -> Error {
    Error::BadSetting {
        name: name.into(),
        value: value.into(),
        expected: expected.into(),
    }
}

/// What the environment says: the one place where it is read.
#[derive(Clone, Debug, Default)]
struct Environment {
    ours: BTreeMap<String, String>,
    job: Option<String>,
    /// Size that a launcher announced, and the variable in which it did.
    launcher: Option<(&'static str, Option<usize>)>,
}

impl Environment {
    fn read(variables: impl Iterator<Item = (String, String)>) -> Result<Self> {
        /// What launchers set, most telling first. Those without a size say only that MPI is there.
        const LAUNCHERS: [(&str, bool); 4] = [
            ("OMPI_COMM_WORLD_SIZE", true),
            ("PMI_SIZE", true),
            ("SLURM_STEP_NUM_TASKS", true),
            ("PMIX_RANK", false),
        ];
        let all: BTreeMap<_, _> = variables.collect();
        let launcher = LAUNCHERS.into_iter().find_map(|(name, sized)| {
            let value = all.get(name)?;
            // `srun` also runs programs that are no MPI job: one task is one ordinary process.
            if name == "SLURM_STEP_NUM_TASKS" && value == "1" {
                return None;
            }
            Some((name, sized.then(|| value.parse().ok()).flatten()))
        });
        let ours: BTreeMap<_, _> = all
            .into_iter()
            .filter(|(name, _)| name.starts_with("AURORA_"))
            .collect();
        for name in ours.keys() {
            if !VARIABLES.contains(&name.as_str()) {
                return Err(unknown(name));
            }
        }
        let job = ours.get("AURORA_JOB").cloned();
        Ok(Environment {
            ours,
            job,
            launcher,
        })
    }

    fn of(&self, name: &str) -> Option<&String> {
        self.ours.get(name)
    }

    fn ranks(&self) -> Result<Option<usize>> {
        let Some(value) = self.of("AURORA_RANKS") else {
            return Ok(None);
        };
        match value.parse() {
            Ok(ranks) if ranks > 0 => Ok(Some(ranks)),
            _ => Err(bad("AURORA_RANKS", value, "a number from 1")),
        }
    }

    fn route(&self) -> Result<Option<Route>> {
        match self.of("AURORA_ROUTE").map(String::as_str) {
            None | Some("auto") => Ok(None),
            Some("local") => Ok(Some(Route::Local)),
            Some("udp") => Ok(Some(Route::Udp)),
            Some(other) => Err(bad("AURORA_ROUTE", other, "one of auto, local, udp")),
        }
    }

    fn seconds(&self, name: &str) -> Result<Option<Duration>> {
        let Some(value) = self.of(name) else {
            return Ok(None);
        };
        let seconds = value.parse().ok().filter(|seconds: &f64| *seconds > 0.0);
        match seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
            Some(limit) => Ok(Some(limit)),
            None => Err(bad(name, value, "seconds, more than 0")),
        }
    }

    #[cfg(feature = "mpi")]
    fn mpi(&self, ranks: Option<usize>) -> Result<Launch> {
        let announced_size = self.launcher.and_then(|(_, size)| size);
        match (ranks, announced_size) {
            (Some(ranks), Some(size)) if ranks != size => Err(bad(
                "ranks",
                &ranks.to_string(),
                &format!("{size}, because mpirun has started {size}"),
            )),
            _ => Ok(Launch::Mpi { announced_size }),
        }
    }

    #[cfg(not(feature = "mpi"))]
    fn mpi(&self, _: Option<usize>) -> Result<Launch> {
        let seen = self
            .launcher
            .map_or(String::new(), |(name, _)| format!(" ({name} is set)"));
        Err(Error::Start(format!(
            "an MPI launcher started this program{seen}, but it was built without MPI: build it with `--features mpi`, \
             or start it by itself, without mpirun, and set AURORA_RANKS"
        )))
    }
}

fn unknown(name: &str) -> Error {
    let nearest = VARIABLES
        .iter()
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(similarity, _)| *similarity > 0.8)
        .map(|(_, known)| (*known).to_string());
    Error::UnknownVariable {
        name: name.into(),
        nearest,
        known: VARIABLES.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settle(config: Config, variables: &[(&str, &str)]) -> Result<Settings> {
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).to_string(), (*value).to_string()));
        config.settle_in(&Environment::read(variables)?, 2)
    }

    fn launch(config: Config, variables: &[(&str, &str)]) -> Launch {
        settle(config, variables)
            .map(|settings| settings.launch)
            .expect("settles")
    }

    fn refusal(variables: &[(&str, &str)]) -> String {
        settle(Config::default(), variables)
            .err()
            .expect("refused")
            .to_string()
    }

    #[test]
    fn without_surroundings_the_program_starts_its_own_processes() {
        assert_eq!(launch(Config::default(), &[]), Launch::Processes(2));
        assert_eq!(
            launch(Config::default(), &[("AURORA_RANKS", "3")]),
            Launch::Processes(3)
        );
        assert_eq!(
            launch(Config::default(), &[("AURORA_ROUTE", "local")]),
            Launch::Threads(2)
        );
        assert_eq!(
            launch(Config::processes(5), &[("AURORA_RANKS", "3")]),
            Launch::Processes(5)
        );
    }

    #[test]
    fn a_started_rank_joins_its_job_whatever_else_is_set() {
        let variables = [
            ("AURORA_JOB", "x"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
            ("AURORA_RANKS", "3"),
        ];
        assert_eq!(
            launch(Config::default(), &variables),
            Launch::Child("x".into())
        );
        assert_eq!(launch(Config::threads(2), &variables), Launch::Threads(2));
    }

    #[test]
    fn an_unknown_variable_is_refused_with_the_nearest_name() {
        let text = refusal(&[("AURORA_RANK", "3")]);
        assert!(
            text.contains("AURORA_RANK (did you mean AURORA_RANKS?)"),
            "{text}"
        );
        let text = refusal(&[("AURORA_X", "")]);
        assert!(text.contains("the known ones: AURORA_RANKS"), "{text}");
    }

    #[test]
    fn impossible_values_name_the_possible_ones() {
        assert!(refusal(&[("AURORA_RANKS", "0")]).contains("a number from 1"));
        assert!(refusal(&[("AURORA_ROUTE", "tcp")]).contains("one of auto, local, udp"));
        assert!(refusal(&[("AURORA_TIMEOUT", "-1")]).contains("seconds"));
        assert!(refusal(&[("AURORA_SILENCE", "soon")]).contains("seconds"));
    }

    #[cfg(not(feature = "mpi"))]
    #[test]
    fn under_mpirun_a_build_without_mpi_says_how_to_build() {
        for name in [
            "OMPI_COMM_WORLD_SIZE",
            "PMI_SIZE",
            "PMIX_RANK",
            "SLURM_STEP_NUM_TASKS",
        ] {
            assert!(refusal(&[(name, "2")]).contains("--features mpi"));
        }
    }

    #[cfg(feature = "mpi")]
    #[test]
    fn under_mpirun_mpi_starts() {
        let launch = launch(Config::default(), &[("OMPI_COMM_WORLD_SIZE", "4")]);
        assert_eq!(
            launch,
            Launch::Mpi {
                announced_size: Some(4)
            }
        );
    }
}
