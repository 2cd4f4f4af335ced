//! The options that only own mode of `aurora simulate` has: S0's cases and versions, prefetching, latency.

use super::lists::{BadNames, names, repeated};
use aurora_super::sim::{Case, SuperProgram, UnknownCase, UnknownVersion};
use clap::{Args, ValueEnum};
use std::str::FromStr;
use thiserror::Error;

/// The maximum number of instructions in flight.
const MOST_IN_FLIGHT: u32 = 1 << 16;
/// The maximum number of runs of a policy.
const MOST_LIMITS: usize = 1000;

#[derive(Args, Debug)]
pub struct OwnArguments {
    /// Own mode: versions of a super-program, in place of policies: S (results writeable), R (updated remotely), D
    /// (updated in many places), M (writeable, and updated in many places when no group is untouched), G and N (S and M
    /// by the schedule ssp), or `all`
    #[arg(long, value_name = "LIST", conflicts_with = "policy")]
    pub variant: Option<Versions>,
    /// Own mode: schedule of the variants, those of `--variant` or of a case [default: bss, and ssp for G and N]
    #[arg(long, value_enum)]
    pub schedule: Option<ScheduleName>,
    /// Own mode: limit of instructions in flight on a node; several, separated by commas, run one after the other
    /// [default: 4; for a case the numbers of the paper]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub in_flight: Option<Limits>,
    /// Own mode: latency of a block, without its time on the wire, in units (1000 units = 1 ms) [default: 25; for a
    /// case the latency that follows from the paper]
    #[arg(long, value_name = "UNITS", value_parser = super::arguments::load, allow_negative_numbers = true)]
    pub latency: Option<f64>,
    /// Own mode: time of the dispatcher for each message, in units [default: 5; for a case 0]
    #[arg(long, value_name = "UNITS", value_parser = super::arguments::load, allow_negative_numbers = true)]
    pub dispatcher: Option<f64>,
    /// Own mode: in version R results stay with the owners of their parts [default: a result is on the node that began
    /// it]
    #[arg(long)]
    pub results_stay: bool,
    /// Own mode: a case of the paper on data representation: 256r1, 256r2, 128r, 256s or 128s; or `s2`, the experiment
    /// of the paper on super-programming, which it ran on real nodes and which is modelled here
    #[arg(long, value_name = "CASE", conflicts_with_all = ["blocks", "work", "load", "speeds", "transfers"])]
    pub case: Option<CaseName>,
}

/// A case of a paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CaseName {
    /// A case of S0.
    Data(Case),
    /// The experiment of S2.
    Experiment,
}

impl CaseName {
    /// The value on the command line.
    pub fn name(self) -> &'static str {
        match self {
            CaseName::Data(case) => case.name,
            CaseName::Experiment => "s2",
        }
    }

    /// Returns a sentence about the case.
    pub fn about(self) -> String {
        let CaseName::Data(case) = self else {
            return "model of an experiment that the paper on super-programming ran on real nodes: instructions of \
                    4 ms in the mean, 20 ms for a block"
                .into();
        };
        let ([rows, _, columns], (each, all)) = (case.blocks, case.instructions());
        let (side, milliseconds) = (case.side, case.instruction() / 1e3);
        format!(
            "{rows} x {columns} blocks of the result (eP {}), {each} instructions each (aP), blocks of {side} x \
             {side}; {milliseconds:.1} ms an instruction, {:.1} s in all",
            rows * columns,
            all as f64 * milliseconds / 1e3
        )
    }

    /// Returns the numbers of nodes that the paper has tried; of S0, on more than one node.
    pub fn nodes(self) -> Vec<u32> {
        match self {
            CaseName::Data(_) => vec![2, 4, 6, 8],
            CaseName::Experiment => vec![1, 2, 4, 6, 8],
        }
    }

    /// Returns the numbers of threads that the paper has tried.
    pub fn threads(self) -> &'static [u32] {
        match self {
            CaseName::Data(case) => case.threads,
            CaseName::Experiment => &[4, 8, 12, 16],
        }
    }
}

impl FromStr for CaseName {
    type Err = BadCase;

    fn from_str(name: &str) -> Result<Self, BadCase> {
        if name.eq_ignore_ascii_case("s2") { Ok(CaseName::Experiment) } else { Ok(CaseName::Data(name.parse()?)) }
    }
}

/// A name that no case has.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0}, or s2")]
pub struct BadCase(#[from] UnknownCase);

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScheduleName {
    /// Untouched groups in their order
    Bss,
    /// Groups whose operands the node has used
    Ssp,
}

/// Versions, in the paper's order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Versions(pub Vec<SuperProgram>);

impl FromStr for Versions {
    type Err = BadNames<UnknownVersion>;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let all = SuperProgram::ALL.map(|version| (version.name, version));
        Ok(Versions(names(text, &all, "version")?.into_iter().map(|(_, version)| version).collect()))
    }
}

impl Versions {
    /// Returns the versions with a schedule, if one is given; each once.
    pub fn by(&self, schedule: Option<ScheduleName>) -> Vec<SuperProgram> {
        let smart = |version: &SuperProgram| match schedule {
            Some(schedule) => SuperProgram { smart: schedule == ScheduleName::Ssp, ..*version },
            None => *version,
        };
        let mut versions: Vec<SuperProgram> = Vec::new();
        for version in self.0.iter().map(smart) {
            let same = |other: &SuperProgram| other.version == version.version && other.smart == version.smart;
            if !versions.iter().any(same) {
                versions.push(version);
            }
        }
        versions
    }
}

/// Returns the name of a version: its letter, which for some versions includes the schedule.
pub fn name(version: &SuperProgram) -> &'static str {
    let same = |known: &&SuperProgram| known.version == version.version && known.smart == version.smart;
    match (SuperProgram::ALL.iter().find(same), version.name) {
        (Some(known), _) => known.name,
        (None, "R") => "R ssp",
        (None, _) => "D ssp",
    }
}

/// Numbers of instructions in flight, ascending, each once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits(pub Vec<u32>);

/// The reason why a text has no such numbers.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BadLimit {
    #[error("`{0}` is not a number of instructions: write numbers from 1 to {MOST_IN_FLIGHT}, as in 1,4,8")]
    Number(String),
    #[error("{0} is there twice: write each number of instructions once")]
    Twice(u32),
    #[error("more than {MOST_LIMITS} numbers of instructions: take some of them")]
    Many,
}

impl FromStr for Limits {
    type Err = BadLimit;

    fn from_str(text: &str) -> Result<Self, BadLimit> {
        let limit = |item: &str| {
            let limit = item.parse().ok().filter(|limit| (1..=MOST_IN_FLIGHT).contains(limit));
            limit.ok_or_else(|| BadLimit::Number(item.into()))
        };
        let mut limits = text.split(',').map(str::trim).map(limit).collect::<Result<Vec<_>, _>>()?;
        if let Some(limit) = repeated(limits.iter().copied()) {
            return Err(BadLimit::Twice(limit));
        }
        limits.sort_unstable();
        if limits.len() > MOST_LIMITS { Err(BadLimit::Many) } else { Ok(Limits(limits)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_by_a_schedule_have_the_papers_letters() {
        let names = |text: &str, schedule| {
            let versions = text.parse::<Versions>().expect("versions").by(schedule);
            versions.iter().map(name).collect::<Vec<_>>()
        };
        assert_eq!(names("D,s", None), ["S", "D"]);
        assert_eq!(names("all", None), ["S", "R", "D", "M", "G", "N"]);
        assert_eq!(names("S,R,D,M", Some(ScheduleName::Ssp)), ["G", "R ssp", "D ssp", "N"]);
        assert_eq!(names("G,N", Some(ScheduleName::Bss)), ["S", "M"]);
        assert_eq!(names("S,D,M,G,N", Some(ScheduleName::Ssp)), ["G", "D ssp", "N"]);
        assert!("S,X".parse::<Versions>().is_err());
        for (text, twice) in [("D,s,d", "D"), ("all,all", "S"), ("M,all", "M")] {
            assert_eq!(text.parse::<Versions>(), Err(BadNames::Twice { name: twice, kind: "version" }), "{text}");
        }
    }

    #[test]
    fn limits_are_numbers_from_1_on() {
        assert_eq!("8, 1,4".parse(), Ok(Limits(vec![1, 4, 8])));
        assert_eq!("8,4,1,4".parse::<Limits>(), Err(BadLimit::Twice(4)));
        let many = (1..=1001).map(|limit: u32| limit.to_string()).collect::<Vec<_>>().join(",");
        assert_eq!(many.parse::<Limits>(), Err(BadLimit::Many));
        for bad in ["0", "-1", "", "4,x", "65537"] {
            assert!(bad.parse::<Limits>().is_err(), "{bad}");
        }
    }
}
