//! All tables of figures: of the applications, of single operations, of lines of code.

use super::provenance;
use super::table::Table;
use super::text::{count, or_dash, range, seconds, spread, three};
use super::wanted::Wanted;
use crate::chart::ink;
use crate::collect::{Collection, Point};
use crate::network::{Payload, bound};
use crate::recorded::Recorded;
use crate::series::{Problem, Series, grouped};
use crate::study::{Basis, Study};
use crate::{AURORA, Report, Spread};
use maud::{Markup, html};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Returns all figures of the applications as numbers: measured ones and modelled ones in separate tables.
pub fn programs(of: &Collection, studies: &[Study<'_>]) -> Markup {
    if of.programs.is_empty() {
        return html! {};
    }
    let (own, others): (Vec<&Point>, Vec<&Point>) = of.programs.iter().partition(|point| point.series.is_measured());
    html! {
        section {
            h2 { "Measured: all figures" }
            p.quiet {
                "Milliseconds: the middle of the repetitions, from the least to the most. Messages and bytes are those \
                 of all ranks in one."
            }
            (measured(own))
        }
        @if !others.is_empty() {
            section {
                h2 { "Figures of other kinds, as their labels say" }
                (measured(others))
            }
        }
        @if studies.iter().any(|study| study.alone.is_some() && !study.points.is_empty()) {
            section {
                h2 { "Modelled: sequential time alone / ranks + measured sharing" }
                p.quiet {
                    "Milliseconds. Sharing is measured, what was hidden behind computing included; the rest is not."
                }
                (modelled(studies))
            }
        }
    }
}

fn ms(of: Spread) -> Markup {
    spread(of.map(|seconds| seconds * 1e3))
}

/// A point of a problem, with further data for its table.
type Program<'r, M> = (&'r Problem, &'r Point, M);

/// Returns the first columns of both tables.
fn table<'r, M: 'r>() -> Table<'r, Program<'r, M>> {
    Table::<Program<'r, M>>::new()
        .text("problem", |(problem, ..)| problem.to_string())
        .text("network", |(_, point, _)| point.key.setting.place())
        .text("system", |(_, point, _)| point.series.to_string())
        .number("ranks", |(_, point, _)| point.ranks)
}

fn measured(points: Vec<&Point>) -> Markup {
    let whole = |of: &Point, figure: Option<Spread>| figure.filter(|_| !of.key.setting.apart);
    let sent = |of: &Point, figure: fn(&Report) -> Option<u64>| of.middle(|report| figure(report).map(|of| of as f64));
    let table = table::<()>()
        .number("a repetition", |(_, of, _)| or_dash(whole(of, Some(of.seconds())), ms))
        .number("of it sharing", |(_, of, _)| ms(of.all(|report| report.sharing_seconds)))
        .number("hidden", |(_, of, _)| three(of.hidden() * 1e3))
        .number("sequential", |(_, of, _)| three(of.sequential() * 1e3))
        .number("speed-up", |(_, of, _)| or_dash(whole(of, of.speedup()), spread))
        .number("messages", |(_, of, _)| or_dash(sent(of, |run| run.messages), |of| grouped(of.round() as usize)))
        .number("MB", |(_, of, _)| or_dash(sent(of, |run| run.bytes), |of| three(of / 1e6)))
        .number("reps", |(_, of, _)| of.runs.iter().map(|(_, report)| report.reps).sum::<usize>());
    table.of("", points.into_iter().map(|point| (&point.key.problem, point, ())))
}

fn modelled(studies: &[Study<'_>]) -> Markup {
    let models = studies.iter().filter(|study| study.alone.is_some());
    let rows = models.flat_map(|study| study.points.iter().map(move |point| (study.problem, *point, study)));
    let table = table::<&Study<'_>>()
        .number("sequential alone", |(.., study)| or_dash(study.alone.as_ref(), |alone| three(alone.seconds * 1e3)))
        .number("sharing, measured", |(_, point, _)| ms(point.all(Report::shared)))
        .number("a repetition, modelled", |(_, point, study)| ms(study.seconds(point)))
        .number("speed-up, modelled", |(_, point, study)| or_dash(study.speedup(point), spread));
    table.of("", rows)
}

/// One operation in one place with a number of ranks.
struct Operation<'c> {
    points: Vec<&'c Point>,
    /// The minimum seconds by the rate of the network, to which times are compared.
    bound: Option<f64>,
}

/// A time below this part of the bound means that the data did not use that network: even a token bucket that is full
/// at the begin does not save so much.
const ELSEWHERE: f64 = 0.9;

impl Operation<'_> {
    fn is_elsewhere(&self, point: &Point) -> bool {
        self.bound.is_some_and(|bound| point.seconds().median < ELSEWHERE * bound)
    }

    fn cell(&self, series: &Series) -> Markup {
        let Some(own) = self.points.iter().find(|point| point.series == *series) else { return html! { "–" } };
        let elsewhere = self.is_elsewhere(own);
        let mut others = self.points.iter().filter(|point| !self.is_elsewhere(point));
        let best = !elsewhere && others.all(|other| own.seconds().median <= other.seconds().median);
        let of = own.seconds().map(|seconds| seconds / self.bound.unwrap_or(1e-6));
        let resent = own.some(|report| report.figure("packets_resent")).map_or(0.0, |resent| resent.median);
        html! {
            @if best { span.best { (three(of.median)) } } @else { (three(of.median)) } " " (range(of))
            @if elsewhere { br; small.slower { "faster than the wire: not over this network" } }
            @if resent > 0.0 { br; small { (count(resent.round() as usize, "packet")) " resent" } }
        }
    }
}

/// Returns the table of single operations, compared with the rate of the network and with each other.
pub fn operations(all: &[Recorded], studies: &[Study<'_>], payload: Payload, wanted: &mut Wanted) -> Markup {
    let mut rows = Vec::new();
    for study in studies.iter().filter(|study| study.basis == Basis::Operation) {
        let mut by_ranks: BTreeMap<usize, Vec<&Point>> = BTreeMap::new();
        study.points.iter().for_each(|point| by_ranks.entry(point.ranks).or_default().push(point));
        let operation = |(ranks, points)| Operation { points, bound: bound(study.key, ranks, payload) };
        rows.extend(by_ranks.into_iter().map(operation));
    }
    let (wire, others): (Vec<Operation<'_>>, Vec<Operation<'_>>) =
        rows.into_iter().partition(|row| row.bound.is_some());
    if wire.is_empty() {
        wanted.line_rate();
    }
    html! {
        @if !wire.is_empty() {
            section {
                h2 { "Operations against the rate of the wire" }
                p {
                    "Multiples of the payload bound: the time that the bytes into the busiest node take at the rate of \
                     its link. Over that network 1.00 cannot be beaten. The middle of the repetitions, from the least \
                     to the most; the fastest of a row is bold."
                }
                (operations_table(all, wire, "bound", |row| seconds(row.bound.unwrap_or_default())))
            }
        }
        @if !others.is_empty() {
            section {
                h2 { "Operations" }
                p {
                    "Microseconds for once: the middle of the repetitions, from the least to the most; the fastest of \
                     a row is bold."
                }
                (operations_table(all, others, "bytes", |row| grouped(row.points[0].key.problem.size)))
            }
        }
    }
}

fn operations_table(
    all: &[Recorded],
    rows: Vec<Operation<'_>>,
    figure: &str,
    tell: impl Fn(&Operation<'_>) -> String,
) -> Markup {
    let points = || rows.iter().flat_map(|row| row.points.iter().copied());
    let systems: BTreeSet<&Series> = points().map(|point| &point.series).collect();
    let runs: Vec<usize> = points().flat_map(Point::numbers).collect();
    let table = Table::<Operation<'_>>::new()
        .text("operation", |row| format!("{} {}", row.points[0].key.problem.name, row.points[0].key.problem.variant))
        .text("network", |row| row.points[0].key.setting.place())
        .number("ranks", |row| row.points[0].ranks)
        .number(figure, tell);
    let table = systems.iter().fold(table, |table, of| table.number(&of.to_string(), |row| row.cell(of)));
    html! { (table.of("", rows)) (provenance::from(all, runs)) }
}

/// One version of an application.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Version {
    /// The application.
    pub app: &'static str,
    /// The implementation, by its name on the command line.
    #[serde(rename = "impl")]
    pub implementation: &'static str,
    /// The number of lines with code: without empty lines, comments, documentation and tests.
    pub lines: usize,
}

/// Returns the table of the lines of code. It depends on the sources of the build, not on the runs.
pub fn code(versions: &[Version]) -> Markup {
    let most = versions.iter().map(|version| version.lines).max().unwrap_or(1).max(1) as f64;
    let bar = |of: &&Version| {
        let (width, color) = (5.5 * of.lines as f64 / most, ink::of(of.implementation));
        html! { span.bar style={ "width: " (format!("{width:.1}")) "rem; background: " (color) } {} " " (of.lines) }
    };
    let aurora = |of: &Version| versions.iter().find(|ours| ours.app == of.app && ours.implementation == AURORA);
    let part = |of: &&Version| match aurora(of) {
        Some(ours) if of.implementation != AURORA => format!("{:.2}", ours.lines as f64 / of.lines.max(1) as f64),
        _ => String::new(),
    };
    let table = Table::<&Version>::new()
        .text("application", |of| of.app)
        .text("version", |of| of.implementation)
        .text("lines", bar)
        .number("Aurora's / these", part);
    html! {
        section.together {
            h2 { "Lines of code" }
            p {
                "Of the part that shares data, as it stands in the sources of this version: without comments, blank \
                 lines and tests. What all versions have is in none: kernels, repetitions, verification; nor are the \
                 helpers that all MPI versions share."
            }
            (table.of("", versions))
        }
    }
}
