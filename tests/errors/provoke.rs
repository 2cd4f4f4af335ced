//! Runs a body that must fail, and keeps the result of every rank.

use aurora_core::prelude::*;
use aurora_core::{Check, JobInfo, Route};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Barrier, Condvar, Mutex};
use std::time::{Duration, Instant};

/// After this time the library reports that a body hangs.
const LIMIT: Duration = Duration::from_secs(15);

/// After this time the tests end if a body hangs outside of the library.
const HARD_LIMIT: Duration = Duration::from_secs(40);

/// The configuration of a job.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    pub ranks: usize,
    /// None: two ranks on each node, over the best route between each two ranks.
    route: Option<Route>,
    limit: Duration,
    check: Check,
    deny: bool,
    cache_limit: Option<usize>,
}

/// The results of the ranks.
#[derive(Debug)]
pub struct Outcomes {
    job: Job,
    /// The result of each rank's body; `None` if the body panicked.
    pub ranks: Vec<Option<Result<()>>>,
    /// The result of `run`.
    pub run: Result<()>,
}

/// Runs `test` for jobs with these numbers of ranks, over each route of threads and on several nodes.
pub fn on_every_route(ranks: impl IntoIterator<Item = usize>, test: impl Fn(Job)) {
    every_route(ranks).0.into_iter().for_each(test);
}

/// The jobs of [`on_every_route`], for a body and checks that are the same for all of them.
pub fn every_route(ranks: impl IntoIterator<Item = usize>) -> Jobs {
    let routes = [Some(Route::Local), Some(Route::Shm), Some(Route::Udp), None];
    Jobs(ranks.into_iter().flat_map(|ranks| routes.map(|route| Job { route, ..in_threads(ranks) })).collect())
}

/// A job of `ranks` threads that share memory without a network.
pub fn in_threads(ranks: usize) -> Job {
    Job { ranks, route: Some(Route::Local), limit: LIMIT, check: Check::Off, deny: false, cache_limit: None }
}

impl Job {
    /// Sets another limit for waits.
    pub fn limit(self, limit: Duration) -> Self {
        Job { limit, ..self }
    }

    /// Turns on checking mode.
    pub fn checking(self) -> Self {
        Job { check: Check::On, ..self }
    }

    /// Turns on strict checking mode, in which a possible race is an error too.
    pub fn checking_strictly(self) -> Self {
        Job { check: Check::Strict, ..self }
    }

    /// Denies accesses to single elements of other ranks.
    pub fn denying(self) -> Self {
        Job { deny: true, ..self }
    }

    /// Limits the bytes for the copy of a vector.
    pub fn cache_limit(self, bytes: usize) -> Self {
        Job { cache_limit: Some(bytes), ..self }
    }

    /// True if all ranks share memory.
    pub fn is_shared(self) -> bool {
        self.route == Some(Route::Shm) || self.is_nodes() && self.ranks <= 2
    }

    /// True if there are two ranks on each node.
    pub fn is_nodes(self) -> bool {
        self.route.is_none()
    }

    /// Runs `body` on every rank. No rank leaves before all ranks have their results. So each rank gets its error from
    /// its own call and not from the end of the job.
    pub fn run(self, body: impl Fn(&World) -> Result<()> + Sync) -> Outcomes {
        let outcomes = self.start(&body, true);
        assert!(outcomes.ranks.iter().all(Option::is_some), "{outcomes:?}");
        outcomes
    }

    /// Runs `body` on every rank. Each rank leaves when its body ends.
    pub fn run_freely(self, body: impl Fn(&World) -> Result<()> + Sync) -> Outcomes {
        self.start(&body, false)
    }

    /// Not generic, so that the start of a job is compiled only once.
    fn start(self, body: &(dyn Fn(&World) -> Result<()> + Sync), together: bool) -> Outcomes {
        let _watchdog = Watchdog::new(format!("{self:?}"));
        let slots: Mutex<Slots> = Mutex::new((vec![None; self.ranks], false));
        let all_done = Condvar::new();
        // Otherwise a rank that fails at once could end the job while other ranks still start.
        let begun = Barrier::new(self.ranks);
        let config = Config::threads(self.ranks).timeout(self.limit).check(self.check).deny_scalar(self.deny);
        let config = self.cache_limit.map_or(config.clone(), |bytes| config.cache_limit(bytes));
        let config = match self.route {
            Some(route) => config.route(route),
            None => config.ranks_per_node(2),
        };
        let run = config.run(|world| {
            let JobInfo { routes, nodes, .. } = world.about();
            match self.route {
                Some(route) => assert_eq!(*routes, Vec::from_iter((self.ranks > 1).then_some(route))),
                None => assert_eq!(*nodes, self.ranks.div_ceil(2)),
            }
            begun.wait();
            let panicked = Panicked(&slots, &all_done);
            let outcome = body(world);
            std::mem::forget(panicked);
            let mut slots = slots.lock().unwrap();
            slots.0[world.rank().index()] = Some(outcome.clone());
            all_done.notify_all();
            if together {
                let missing = |slots: &mut Slots| !slots.1 && slots.0.iter().any(Option::is_none);
                let waited = all_done.wait_timeout_while(slots, LIMIT * 2, missing);
                assert!(!waited.unwrap().1.timed_out(), "not every rank was told");
            }
            outcome
        });
        Outcomes { job: self, ranks: slots.into_inner().unwrap().0, run }
    }
}

/// The result of each rank's body, and true if a body has panicked.
type Slots = (Vec<Option<Result<()>>>, bool);

/// Ends the wait of the other ranks when a panic drops it.
struct Panicked<'a>(&'a Mutex<Slots>, &'a Condvar);

impl Drop for Panicked<'_> {
    fn drop(&mut self) {
        self.0.lock().unwrap().1 = true;
        self.1.notify_all();
    }
}

impl Outcomes {
    /// The text of rank `rank`'s error.
    pub fn text(&self, rank: usize) -> String {
        match &self.ranks[rank] {
            Some(Err(error)) => error.to_string(),
            other => panic!("rank {rank} was told {other:?}: {self:?}"),
        }
    }

    /// Checks that the errors of every rank and of `run` contain all `words`.
    #[track_caller]
    pub fn all_say(&self, words: &[&str]) -> &Self {
        for rank in 0..self.ranks.len() {
            self.says(rank, words);
        }
        self.run_says(words)
    }

    /// Checks that the error of rank `rank` contains all `words`.
    #[track_caller]
    pub fn says(&self, rank: usize, words: &[&str]) -> &Self {
        self.check(&format!("rank {rank}"), &self.text(rank), words);
        self
    }

    /// Checks that the errors of every rank except `rank` contain all `words`.
    #[track_caller]
    pub fn others_say(&self, rank: usize, words: &[&str]) -> &Self {
        for other in (0..self.ranks.len()).filter(|other| *other != rank) {
            self.says(other, words);
        }
        self
    }

    /// Checks that the error of `run` contains all `words`.
    #[track_caller]
    pub fn run_says(&self, words: &[&str]) -> &Self {
        self.check("run", &self.run_text(), words);
        self
    }

    /// Checks that the errors of every rank and of `run` name source lines that contain these texts.
    #[track_caller]
    pub fn all_cite(&self, lines: &[&str]) -> &Self {
        for rank in 0..self.ranks.len() {
            self.check_lines(&self.text(rank), lines);
        }
        self.run_cites(lines)
    }

    /// Checks that the error of `run` names source lines that contain these texts.
    #[track_caller]
    pub fn run_cites(&self, lines: &[&str]) -> &Self {
        self.check_lines(&self.run_text(), lines);
        self
    }

    /// The text of the error of `run`.
    #[track_caller]
    pub fn run_text(&self) -> String {
        self.run.as_ref().expect_err("run fails").to_string()
    }

    #[track_caller]
    fn check_lines(&self, text: &str, lines: &[&str]) {
        let cited = cited(text);
        for line in lines {
            assert!(
                cited.iter().any(|cited| cited.contains(line)),
                "no line with `{line}` is cited in `{text}`, which cites {cited:?} ({:?})",
                self.job
            );
        }
    }

    #[track_caller]
    fn check(&self, who: &str, text: &str, words: &[&str]) {
        for word in words {
            assert!(text.contains(word), "{who} was told `{text}`, without `{word}`; all: {self:#?}");
        }
    }
}

/// Jobs with the same body.
pub struct Jobs(Vec<Job>);

impl Jobs {
    /// Changes each job.
    pub fn with(self, change: fn(Job) -> Job) -> Self {
        Jobs(self.0.into_iter().map(change).collect())
    }

    /// As [`Job::run`], for each job.
    pub fn run(self, body: impl Fn(&World) -> Result<()> + Sync) -> Runs {
        Runs(self.0.into_iter().map(|job| job.run(&body)).collect())
    }

    /// As [`Job::run_freely`], for each job.
    pub fn run_freely(self, body: impl Fn(&World) -> Result<()> + Sync) -> Runs {
        Runs(self.0.into_iter().map(|job| job.run_freely(&body)).collect())
    }
}

/// The results of several jobs. Each check is of all of them.
#[derive(Debug)]
pub struct Runs(pub Vec<Outcomes>);

macro_rules! checks {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(#[doc = concat!("As [`Outcomes::", stringify!($name), "`], of each job.")]
        #[track_caller]
        pub fn $name(&self, $($argument: $type),*) -> &Self {
            for outcomes in &self.0 {
                outcomes.$name($($argument),*);
            }
            self
        })*
    };
}

impl Runs {
    checks! {
        all_say(words: &[&str]);
        says(rank: usize, words: &[&str]);
        others_say(rank: usize, words: &[&str]);
        run_says(words: &[&str]);
        all_cite(lines: &[&str]);
        run_cites(lines: &[&str]);
    }

    /// Checks that every job has ended well, for the reason `why`.
    #[track_caller]
    pub fn succeed(&self, why: &str) {
        for outcomes in &self.0 {
            outcomes.run.as_ref().expect(why);
        }
    }
}

/// A panic payload without a message.
pub struct Quiet;

/// Runs an action that must panic.
#[track_caller]
pub fn caught<R>(action: impl FnOnce() -> R) {
    assert!(catch_unwind(AssertUnwindSafe(action)).is_err());
}

/// The message of a panic.
#[track_caller]
pub fn panic_of<R>(action: impl FnOnce() -> R) -> String {
    let Err(payload) = catch_unwind(AssertUnwindSafe(action)) else { panic!("it does not panic") };
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string)).expect("a panic with a text")
}

/// The source lines of these tests that a text names as `file:line:column`.
pub fn cited(text: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let places = text.split([' ', ',', ';', '(', ')']);
    places
        .filter_map(|place| {
            let mut parts = place.split(':');
            let (file, line) = (parts.next()?, parts.next()?.parse::<usize>().ok()?);
            let source = std::fs::read_to_string(root.join(file)).ok()?;
            source.lines().nth(line - 1).map(str::to_owned)
        })
        .collect()
}

/// Orders the actions of the ranks without Aurora.
#[derive(Default)]
pub struct Order {
    step: Mutex<usize>,
    changed: Condvar,
}

impl Order {
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits until step `step` is reached.
    pub fn wait_for(&self, step: usize) {
        let now = self.step.lock().unwrap();
        let waited = self.changed.wait_timeout_while(now, LIMIT, |now| *now < step);
        assert!(!waited.unwrap().1.timed_out(), "step {step} is never reached");
    }

    /// Moves to the next step.
    pub fn advance(&self) {
        *self.step.lock().unwrap() += 1;
        self.changed.notify_all();
    }
}

/// Ends the test program if a job hangs outside of the library.
pub struct Watchdog(std::sync::mpsc::Sender<()>);

impl Watchdog {
    #[allow(clippy::print_stderr)]
    pub fn new(what: String) -> Self {
        let (alive, watched) = std::sync::mpsc::channel::<()>();
        let begun = Instant::now();
        let name = std::thread::current().name().map(str::to_owned);
        std::thread::spawn(move || {
            let ended = watched.recv_timeout(HARD_LIMIT);
            if ended == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                eprintln!("{name:?} hangs for {:?} in {what}", begun.elapsed());
                std::process::abort();
            }
        });
        Watchdog(alive)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // The receiver is gone if the time limit has passed.
        let _ = self.0.send(());
    }
}
