//! Tables of single operations: against the rate of the wire, and against each other.

use super::provenance;
use super::table::Table;
use super::text::{count, range, seconds, three};
use super::wanted::Wanted;
use crate::collect::Point;
use crate::network::{Payload, bound};
use crate::recorded::Recorded;
use crate::series::{Series, grouped};
use crate::study::{Basis, Study};
use maud::{Markup, html};
use std::collections::BTreeSet;

/// One operation in one place with so many ranks.
struct Row<'c> {
    study: &'c Study<'c>,
    ranks: usize,
    /// Seconds that one is the multiple of.
    bound: Option<f64>,
}

/// In less than this part of the bound nothing has come over that network: not even a token bucket full at the begin
/// makes so much.
const ELSEWHERE: f64 = 0.9;

impl<'c> Row<'c> {
    fn point(&self, series: &Series) -> Option<&'c Point> {
        self.study.systems.get(series)?.get(&self.ranks)
    }

    fn points(&self) -> impl Iterator<Item = &'c Point> {
        self.study.systems.values().filter_map(|points| points.get(&self.ranks))
    }

    fn is_elsewhere(&self, point: &Point) -> bool {
        self.bound.is_some_and(|bound| point.seconds().median < ELSEWHERE * bound)
    }

    fn cell(&self, series: &Series) -> Markup {
        let Some(own) = self.point(series) else { return html! { "–" } };
        let elsewhere = self.is_elsewhere(own);
        let mut others = self.points().filter(|point| !self.is_elsewhere(point));
        let best = !elsewhere && others.all(|other| own.seconds().median <= other.seconds().median);
        let of = own.seconds().map(|seconds| seconds / self.bound.unwrap_or(1e-6));
        let resent = own.some(|own| own.resent).map_or(0.0, |resent| resent.median);
        html! {
            @if best { span.best { (three(of.median)) } } @else { (three(of.median)) } " " (range(of))
            @if elsewhere { br; small.slower { "faster than the wire: not over this network" } }
            @if resent > 0.0 { br; small { (count(resent.round() as usize, "packet")) " resent" } }
        }
    }
}

/// Both tables, and for those that nothing can be said of, the command.
pub fn sections(all: &[Recorded], studies: &[Study<'_>], payload: Payload, wanted: &mut Wanted) -> Markup {
    let mut rows = Vec::new();
    for study in studies.iter().filter(|study| study.basis == Basis::Operation) {
        let ranks: BTreeSet<usize> = study.systems.values().flat_map(|points| points.keys().copied()).collect();
        rows.extend(ranks.into_iter().map(|ranks| Row { study, ranks, bound: bound(study.key, ranks, payload) }));
    }
    let (wire, others): (Vec<Row<'_>>, Vec<Row<'_>>) = rows.into_iter().partition(|row| row.bound.is_some());
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
                (of_rows(all, wire, "bound", |row| seconds(row.bound.unwrap_or_default())))
            }
        }
        @if !others.is_empty() {
            section {
                h2 { "Operations" }
                p {
                    "Microseconds for once: the middle of the repetitions, from the least to the most; the fastest of \
                     a row is bold."
                }
                (of_rows(all, others, "bytes", |row| grouped(row.study.problem.size)))
            }
        }
    }
}

fn of_rows(all: &[Recorded], rows: Vec<Row<'_>>, figure: &str, tell: impl Fn(&Row<'_>) -> String) -> Markup {
    let systems: BTreeSet<&Series> = rows.iter().flat_map(|row| row.study.systems.keys().copied()).collect();
    let runs: Vec<usize> = rows.iter().flat_map(Row::points).flat_map(Point::runs).collect();
    let name = |row: &Row<'_>| format!("{} {}", row.study.problem.name, row.study.problem.variant);
    let table = Table::<Row<'_>>::new()
        .text("operation", name)
        .text("network", |row| row.study.key.setting.place())
        .number("ranks", |row| row.ranks)
        .number(figure, tell);
    let table = systems.iter().fold(table, |table, of| table.number(&of.to_string(), |row| row.cell(of)));
    html! { (table.of("", rows)) (provenance::from(all, runs)) }
}
