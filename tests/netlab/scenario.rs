//! A job on a lab, with a fault from outside while it runs.

use crate::bulk::{self, Data};
use crate::late;
use crate::place::{NODES, SLOW};
use aurora_core::{Config, Error, Result, World};
use aurora_suite::driver::{self, Ended, Job};
use aurora_suite::job::exit_code;
use aurora_suite::mpi::Flavour;
use aurora_suite::netlab::Lab;
use aurora_suite::notes::{note, noted};
use aurora_suite::place::WAIT_LIMIT;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

/// The first argument of a binary that is the job; the arguments of the plan follow.
pub const ARGUMENT: &str = "--as-job-on-a-lab";

/// The number of loads of a job with a fault, each of at least 77 ms.
const ROUNDS: usize = 25;

/// The round after which the fault happens.
const DISTURBED: usize = 3;

/// The maximum time to notice a lost rank after the allowed silence has passed.
const NOTICE: Duration = Duration::from_secs(5);

/// The program of the ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Program {
    /// Loads of new data, one after the other.
    Loads,
    /// One load for which a rank is late.
    Late,
}

impl Program {
    pub fn name(self) -> &'static str {
        match self {
            Program::Loads => "loads",
            Program::Late => "late",
        }
    }
}

/// The configuration of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    pub program: Program,
    pub data: Data,
    /// The rank that the other ranks must lose.
    pub culprit: Option<usize>,
    /// The allowed silence of a rank, in seconds.
    pub silence: u64,
    /// Ranks on each node.
    pub per_node: usize,
}

impl Plan {
    /// Correct data, no lost rank, and a long limit.
    pub const fn of(program: Program) -> Self {
        Plan { program, data: Data::Right, culprit: None, silence: 5, per_node: 1 }
    }

    /// The other ranks must lose this rank.
    pub const fn losing(culprit: usize) -> Self {
        Plan { culprit: Some(culprit), silence: 1, ..Plan::of(Program::Loads) }
    }

    fn arguments(self) -> [String; 3] {
        let culprit = self.culprit.map_or(String::from("none"), |rank| rank.to_string());
        [self.program.name().into(), format!("{:?}", self.data), culprit]
    }

    fn parse(arguments: &[String]) -> Self {
        let [program, data, culprit] = arguments else { panic!("program, data and culprit") };
        let program = [Program::Loads, Program::Late].into_iter().find(|p| p.name() == program).expect("a program");
        let data = [Data::Right, Data::Damaged].into_iter().find(|d| format!("{d:?}") == *data).expect("data");
        Plan { data, culprit: culprit.parse().ok(), ..Plan::of(program) }
    }
}

/// The job.
pub fn job(arguments: &[String]) -> ExitCode {
    let plan = Plan::parse(arguments);
    let outcome = Config::mpi().timeout(WAIT_LIMIT).run(|world| {
        let me = world.rank().index();
        note(&here(me), "");
        let outcome = match plan.program {
            Program::Loads => loads(world, plan.data),
            Program::Late => late::load(world, plan.data),
        };
        if let (Err(error), Some(culprit)) = (&outcome, plan.culprit) {
            note(&verdict(me), &error.to_string());
            // The first rank that ends would end all ranks. A rank that is cut off has no result.
            wait_until(|| me != culprit && noted(HEARD).is_some());
        }
        outcome
    });
    exit_code(outcome)
}

fn loads(world: &World, data: Data) -> Result<()> {
    let mut v = bulk::matrix(world)?;
    for round in 0..ROUNDS {
        bulk::load(&mut v, round, data)?;
        if world.is_root() {
            note(&reached(round), "");
        }
    }
    Ok(())
}

/// Waits for a condition, with a time limit.
pub fn wait_until(mut done: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + driver::LIMIT / 2;
    while !done() {
        if Instant::now() > until {
            return false;
        }
        thread::sleep(Duration::from_millis(2));
    }
    true
}

/// The driver's note that it has all results.
const HEARD: &str = "heard";

fn here(rank: usize) -> String {
    format!("here-{rank}")
}

fn verdict(rank: usize) -> String {
    format!("verdict-{rank}")
}

fn reached(round: usize) -> String {
    format!("round-{round}")
}

/// A running job on a lab of its own.
pub struct Scenario {
    plan: Plan,
    pub job: Job,
    pub lab: Lab,
}

impl Scenario {
    /// Starts a job, with additional variables in its environment.
    pub fn start(flavour: Flavour, plan: Plan, variables: &[(&str, &str)]) -> std::result::Result<Self, String> {
        let lab = Lab::up(SLOW, NODES / plan.per_node).map_err(|refusal| refusal.to_string())?;
        let mut command = lab.mpirun(flavour, plan.per_node);
        command.arg(std::env::current_exe().map_err(|error| error.to_string())?);
        command.arg(ARGUMENT).args(plan.arguments());
        for variable in aurora_core::VARIABLES {
            command.env_remove(variable);
        }
        command.env("AURORA_SILENCE", plan.silence.to_string()).envs(variables.iter().copied());
        Ok(Scenario { plan, job: Job::start(command)?, lab })
    }

    /// Waits until the job is in the round of the fault.
    pub fn wait_for_loads(&mut self) -> std::result::Result<(), String> {
        self.job.wait_for_notes(&[reached(DISTURBED)])
    }

    /// True if rank 0 completes no load in this time.
    pub fn stands_still(&self, time: Duration) -> bool {
        let rounds = || (0..ROUNDS).filter(|round| self.job.note(&reached(*round)).is_some()).count();
        let before = rounds();
        thread::sleep(time);
        before == rounds() && before < ROUNDS
    }

    /// Waits until every survivor has noted an error, and checks that each names the culprit.
    pub fn hear_verdicts(&mut self) -> std::result::Result<(), String> {
        let culprit = self.plan.culprit.expect("somebody is to be lost");
        let survivors: Vec<usize> = (0..NODES).filter(|rank| *rank != culprit).collect();
        self.job.wait_for_notes(&survivors.iter().map(|rank| verdict(*rank)).collect::<Vec<_>>())?;
        let (took, limit) = (self.job.since_fault(), Duration::from_secs(self.plan.silence) + NOTICE);
        if took > limit {
            return Err(format!("the survivors were told after {took:?}, not within {limit:?}"));
        }
        for rank in survivors {
            let told = self.job.note(&verdict(rank)).unwrap_or_default();
            if !told.contains(&format!("rank {culprit} has been silent for")) {
                return Err(format!("rank {rank} was told `{told}`, not that rank {culprit} is lost"));
            }
        }
        Ok(())
    }

    /// Lets the survivors end the job, and checks that its messages name the culprit. The caller checks the exit code.
    pub fn end_lost(self) -> std::result::Result<Ended, String> {
        self.job.tell(HEARD);
        let culprit = self.plan.culprit.expect("somebody is to be lost");
        let ended = self.job.wait()?;
        let who = format!("rank {culprit} has been silent");
        let messages = ended.messages();
        match !messages.is_empty() && messages.iter().all(|message| message.contains(&who)) {
            true => Ok(ended),
            false => Err(format!("it does not end with `{who}` alone: {}", ended.all())),
        }
    }

    /// Checks that the job completes all its loads without an error.
    pub fn end_well(self) -> std::result::Result<(), String> {
        let ended = self.job.wait()?;
        match ended.code() == 0 && ended.note(&reached(ROUNDS - 1)).is_some() {
            true => Ok(()),
            false => Err(format!("it does not end well: {}", ended.all())),
        }
    }
}

/// The error of a rank that has waited in vain.
pub fn overdue(what: &str) -> Error {
    Error::user(format!("{what}: in vain"))
}
