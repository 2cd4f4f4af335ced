//! `aurora farm`: units that sleep on ranks of different speeds.

use crate::arguments::WorldArguments;
use crate::refusal::{Reason, Refusal};
use crate::simulate::policies::Policies;
use crate::table::{Table, count};
use crate::{measure, prepare};
use aurora_apps::farm::{self, Farm, Impossible, MOST_INSTRUCTIONS};
use aurora_apps::report::Spread;
use aurora_apps::report::farm::Farm as Report;
use aurora_apps::values::{number, speed};
use aurora_core::LaunchInfo;
use clap::Args;
use std::env;
use std::fmt::{self, Display, Formatter};
use std::process::ExitCode;

/// The ranks of the paper's mixed cluster.
const PAPER_RANKS: u32 = 12;

#[derive(Args, Debug)]
pub struct FarmArguments {
    /// Number of units
    #[arg(long, value_name = "N", default_value_t = 36, value_parser = number::<u32>(1..=MOST_INSTRUCTIONS.into()))]
    pub units: u32,
    /// Instructions of a unit. Ranks can share a unit of several instructions
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<u32>(1..=MOST_INSTRUCTIONS.into()))]
    pub steps: u32,
    /// Mean time of a unit on the fastest rank. On the slowest it is at most 1000
    #[arg(long, value_name = "SECONDS", default_value_t = 0.1, allow_negative_numbers = true)]
    pub unit_seconds: f64,
    /// Draw the time of each instruction, evenly from 0 to twice the mean [default: all are equal]
    #[arg(long)]
    pub drawn: bool,
    /// Speeds of the ranks, a number for each: `1,1,3` makes ranks 0 and 1 sleep three times as long as rank 2
    /// [default: machines of Al-Jaroodi et al., in turns SH, RCF, SH, CSNT; 12 ranks are their mixed cluster]
    #[arg(long, value_name = "S,S,..", value_delimiter = ',', value_parser = speed, allow_hyphen_values = true)]
    pub speed: Option<Vec<f64>>,
    /// Tell the super-program the speeds [default: it learns them from the times of instructions]
    #[arg(long)]
    pub known: bool,
    /// Policies, which take turns: syn, S, R, SR, SS, tail, ect, or `all`
    #[arg(long, value_name = "LIST", default_value = "S,R,tail,ect")]
    pub policy: Policies,
    /// Maximum number of instructions of a rank that run or are granted ahead
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<u32>(1..=u32::MAX.into()))]
    pub in_flight: u32,
    /// Number of repetitions, each with new data
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = number::<usize>(1..=1_000_000))]
    pub reps: usize,
    /// Seed of the data [default: a new one each time]
    #[arg(long, value_name = "N", value_parser = number::<u64>(0..))]
    pub seed: Option<u64>,
    /// Damage each result before it is verified
    #[arg(long, hide = true)]
    pub damage: bool,
    #[command(flatten)]
    pub world: WorldArguments,
}

impl FarmArguments {
    fn job(&self) -> Farm {
        Farm {
            units: self.units,
            steps: self.steps,
            unit_seconds: self.unit_seconds,
            drawn: self.drawn,
            speeds: self.speed.clone(),
            known_speeds: self.known,
            policies: self.policy.0.iter().map(|(_, policy)| *policy).collect(),
            in_flight: self.in_flight,
            reps: self.reps,
            seed: self.seed,
            damage: self.damage,
        }
    }

    /// The value of the argument that is impossible.
    fn refusal(&self, reason: Impossible) -> Refusal {
        let list = |speeds: &Vec<f64>| speeds.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        let (argument, value) = match reason {
            Impossible::Instructions { .. } => ("--steps <N>", Some(self.steps.to_string())),
            Impossible::Short | Impossible::Long => {
                ("--unit-seconds <SECONDS>", Some(format!("{:?}", self.unit_seconds)))
            }
            Impossible::Speed | Impossible::Speeds { .. } => ("--speed <S,S,..>", self.speed.as_ref().map(list)),
            Impossible::NoPolicy => ("--policy <LIST>", Some(String::new())),
            Impossible::InFlight => ("--in-flight <N>", Some(self.in_flight.to_string())),
        };
        Refusal { argument, value, reason: Reason::Farm(reason) }
    }
}

/// Runs, verifies and measures the program. Without a number of ranks, there is a rank for each speed.
///
/// # Errors
/// The argument that is impossible.
pub fn start(arguments: &FarmArguments) -> Result<ExitCode, Refusal> {
    let job = arguments.job();
    let mut world = arguments.world.clone();
    let is_set = env::var_os("AURORA_RANKS").is_some_and(|ranks| !ranks.is_empty());
    if world.ranks.is_none() && !is_set && LaunchInfo::detect() == LaunchInfo::Alone {
        world.ranks = Some(job.speeds.as_ref().map_or(PAPER_RANKS, |speeds| speeds.len().max(1) as u32));
    }
    let start = prepare(&world)?;
    let ranks = start.config.planned_ranks().ok().flatten();
    job.check(ranks).map_err(|reason| arguments.refusal(reason))?;
    Ok(measure(start, job.reps, |world, progress| farm::run(world, &job, progress)))
}

impl Display for Table<'_, Report> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let report = self.0;
        let [units, ranks] = [(report.units, "unit"), (report.ranks, "rank")].map(|(of, noun)| count(of, noun));
        let steps = if report.steps > 1 { format!(" in {} steps", report.steps) } else { String::new() };
        let lengths = if report.drawn { ", drawn" } else { "" };
        writeln!(f, "farm of {units} of {} s{steps}{lengths}, {ranks}, seed {}", report.unit_seconds, report.seed)?;
        let known = if report.known_speeds { "known" } else { "to be learnt" };
        writeln!(f, "speeds, {known}: {}", speeds(&report.speeds))?;
        writeln!(f, "\n{:6}{:>40}{:>22}{:>18}", "", "makespan in s", "run / simulation", "imbalance")?;
        write!(f, "{:6}{:>9}{:>9}{:>9}{:>13}", "policy", "min", "median", "max", "simulated")?;
        writeln!(f, "{:>8}{:>7}{:>7}{:>8}{:>10}{:>10}", "min", "median", "max", "run", "simulated", "speed-up")?;
        for of in &report.policies {
            let Spread { min, median, max } = of.seconds;
            write!(f, "{:6}{min:>9.4}{median:>9.4}{max:>9.4}{:>13.4}", of.policy, of.simulated_seconds.median)?;
            let Spread { min, median, max } = of.ratio;
            write!(f, "{min:>8.3}{median:>7.3}{max:>7.3}{:>8.3}", of.imbalance.median)?;
            writeln!(f, "{:>10.3}{:>10.2}", of.simulated_imbalance.median, of.speedup)?;
        }
        let (model, alone) = (&report.model, report.sequential_seconds);
        writeln!(f, "\nmodel of equal units          seconds   part of the sequential time")?;
        for (name, seconds) in [
            ("first come, first served", model.first_come),
            ("earliest completion time", model.earliest_completion),
            ("no rank is ever idle", model.ideal),
            ("the fastest rank alone", alone),
        ] {
            writeln!(f, "{name:28}{seconds:>9.4}{:>12.4}", seconds / alone)?;
        }
        match &report.policies[..] {
            [of] => write!(f, "\nthe last repetition\n{}", Table(&of.by_rank))?,
            _ => writeln!(f, "\nthe counters of each rank: name one policy, or add --json")?,
        }
        let verdict = if report.verified { "verified" } else { "NOT VERIFIED: the result is wrong" };
        writeln!(f, "\nresult     {verdict}")
    }
}

/// Returns the speeds, as parts of the fastest: `0.328, 1 (2 ranks)`. Equal neighbours are counted.
fn speeds(of: &[f64]) -> String {
    let text = |speeds: &[f64]| match speeds.len() {
        1 => format!("{:.3}", speeds[0]),
        ranks => format!("{:.3} ({ranks} ranks)", speeds[0]),
    };
    of.chunk_by(|one, other| one == other).map(text).collect::<Vec<_>>().join(", ")
}
