//! Runs each body in each place as a trial of one test binary.

use crate::body::{Body, End};
use crate::job::{self, Outcomes};
use crate::mpi::{self, Flavour};
use crate::place::{Launcher, Place, WAIT_LIMIT};
use crate::{lossy, netlab};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

/// The jobs of a place, run when the first trial of the place needs them.
type Lazy = Arc<OnceLock<Result<Outcomes, String>>>;

/// Runs the binary. If it was started as a job, it runs as a job; otherwise as a test binary with a trial for every
/// body in every place of this machine, and with the trials `more`.
pub fn main(bodies: fn() -> Vec<Body>, more: Vec<Trial>) -> ExitCode {
    run(bodies, |bodies, arguments| {
        let mut trials = more;
        for place in Place::without_mpi() {
            trials.extend(trials_of(place, bodies, arguments));
        }
        trials.extend(lossy_trials(bodies, arguments));
        trials.extend(mpi_trials(bodies, arguments));
        trials.extend(mixed_trials(bodies, arguments));
        trials
    })
}

/// Runs the binary. If it was started as a job, it runs as a job; otherwise it runs the trials that `trials` returns.
pub fn run(bodies: fn() -> Vec<Body>, trials: impl FnOnce(&'static [Body], &Arguments) -> Vec<Trial>) -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|first| first == job::ARGUMENT) {
        return job::main(&bodies(), &arguments[2..]);
    }
    let mut arguments = Arguments::from_args();
    // A world uses all cores and measures time, so one trial runs at a time.
    arguments.test_threads = Some(1);
    let trials = trials(bodies().leak(), &arguments);
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn lossy_trials(bodies: &'static [Body], arguments: &Arguments) -> Vec<Trial> {
    match lossy::launcher() {
        Ok(_) => Place::lossy().into_iter().flat_map(|place| trials_of(place, bodies, arguments)).collect(),
        // Some machines do not allow this, however well they are set up. So it is no failure in CI.
        Err(reason) => vec![Trial::ignorable_test("lossy/all-bodies", || Ok(Completion::ignored_with(reason)))],
    }
}

fn mpi_trials(bodies: &'static [Body], arguments: &Arguments) -> Vec<Trial> {
    let usable = mpi::built_for().and_then(|flavour| flavour.launcher(2).map(|_| flavour));
    match usable {
        Ok(flavour) => {
            let places = Place::of_mpi(flavour).into_iter().chain(Place::of_bulk(flavour));
            places.flat_map(|place| trials_of(place, bodies, arguments)).collect()
        }
        Err(reason) => vec![missing("mpirun/all-bodies", reason)],
    }
}

/// Open MPI only: MPICH's ranks on several machines sometimes hang when they end.
fn mixed_trials(bodies: &'static [Body], arguments: &Arguments) -> Vec<Trial> {
    match netlab::flavour(2) {
        Ok(Flavour::Mpich) => Vec::new(),
        Ok(flavour) => {
            Place::mixed(flavour).into_iter().flat_map(|place| trials_of(place, bodies, arguments)).collect()
        }
        Err(reason) => vec![missing("lab/all-bodies", reason)],
    }
}

/// A trial that cannot run: it is skipped, and in CI, where everything must be installed, it fails.
pub fn missing(name: &str, reason: String) -> Trial {
    Trial::ignorable_test(name, move || {
        if std::env::var_os("CI").is_some_and(|value| value == "true") {
            return Err(Failed::from(reason));
        }
        Ok(Completion::ignored_with(reason))
    })
}

/// A trial for every body that suits a place. The bodies that need a job and end it cleanly share one job.
pub fn trials_of(place: Place, bodies: &'static [Body], arguments: &Arguments) -> Vec<Trial> {
    // A body that fails its job needs a job of its own, which takes one or two seconds under mpirun. There only one
    // runs.
    let one_for_all = |body: &Body| matches!(body.end(), End::Fails(_)) && place.launcher.is_mpirun();
    let stands = bodies.iter().find(|body| one_for_all(body) && body.suits(place.size)).map(Body::name);
    let kept = |body: &&Body| !one_for_all(body) || stands == Some(body.name());
    let of_interest = |body: &&Body| !place.is_bulk() || moves_much(body);
    let suitable = bodies.iter().filter(|body| body.suits(place.size)).filter(kept).filter(of_interest);
    let named: Vec<_> = suitable.map(|body| (body, format!("{place}/{}", body.name()))).collect();
    let chosen = named.iter().filter(|(_, name)| is_chosen(arguments, name));
    let chosen: Vec<&Body> = chosen.map(|(body, _)| *body).collect();
    let lazy = Lazy::default();
    let trial = |(body, name): (&'static Body, String)| match place.launcher {
        Launcher::Threads(_) | Launcher::Mixed(_) => Trial::test(name, move || in_threads(place, body)),
        _ => {
            let (lazy, chosen) = (lazy.clone(), chosen.clone());
            Trial::test(name, move || in_job(place, body, &lazy, &chosen))
        }
    };
    named.into_iter().map(trial).collect()
}

/// True if the body depends on the carrier of bulk data.
fn moves_much(body: &Body) -> bool {
    const MODULES: [&str; 9] =
        ["bulk", "read_cache", "release", "combined", "accumulate", "copy", "gather", "halo", "slices"];
    body.end() == End::Clean && body.name().split("::").next().is_some_and(|module| MODULES.contains(&module))
}

/// Makes the same choice as libtest, so that a job runs only the chosen bodies.
fn is_chosen(arguments: &Arguments, name: &str) -> bool {
    let fits = |filter: &String| match arguments.exact {
        true => name == filter,
        false => name.contains(filter.as_str()),
    };
    arguments.filter.as_ref().is_none_or(fits) && !arguments.skip.iter().any(fits)
}

fn in_threads(place: Place, body: &'static Body) -> Result<(), Failed> {
    let outcome = in_time(place, body, move || place.config().run(|world| body.run(world)));
    match (body.end(), outcome) {
        (End::Fails(text), Ok(())) => Err(format!("{place}: it succeeded, instead of failing with {text:?}").into()),
        (End::Fails(text), Err(error)) if error.to_string().contains(text) => Ok(()),
        (_, Ok(())) => Ok(()),
        (_, Err(error)) => Err(format!("{} failed in {place}: {error}", body.name()).into()),
    }
}

/// Runs a body with a time limit. A thread cannot be ended from outside, so a body that hangs ends the whole binary.
#[allow(clippy::print_stderr)]
fn in_time<R>(place: Place, body: &Body, run: impl FnOnce() -> R) -> R {
    const LIMIT: Duration = WAIT_LIMIT.saturating_add(Duration::from_secs(60));
    let (done, waiting) = mpsc::channel::<()>();
    let name = body.name().to_string();
    let watch = thread::spawn(move || {
        if waiting.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("{name} hangs in {place}: more than {LIMIT:?}");
            std::process::abort();
        }
    });
    let result = run();
    drop(done);
    let _ = watch.join();
    result
}

fn in_job(place: Place, body: &Body, lazy: &Lazy, chosen: &[&Body]) -> Result<(), Failed> {
    let outcomes = lazy.get_or_init(|| job::outcomes(place, chosen));
    match outcomes {
        Err(error) => Err(format!("{place} cannot be started: {error}").into()),
        Ok(outcomes) => match outcomes.get(body.name()) {
            Some(outcome) => outcome.clone().map_err(Failed::from),
            None => Err(format!("{} was not run in {place}", body.name()).into()),
        },
    }
}
