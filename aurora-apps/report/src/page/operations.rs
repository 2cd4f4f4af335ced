//! Tables of single operations: against the rate of the wire, and against each other.

use super::provenance;
use super::text::{count, seconds, spread};
use super::wanted::Wanted;
use crate::collect::{Collection, Point, Systems};
use crate::network::{Payload, bound};
use crate::recorded::Recorded;
use crate::series::{Key, Series, grouped};
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// One operation in one place with so many ranks.
struct Row<'c> {
    key: &'c Key,
    ranks: usize,
    /// Seconds that one is the multiple of.
    bound: Option<f64>,
}

/// Both tables, and for those that nothing can be said of, the command.
pub fn sections(all: &[Recorded], of: &Collection, payload: Payload, wanted: &mut Wanted) -> Markup {
    let mut rows = Vec::new();
    for (key, systems) in &of.benches {
        let ranks: BTreeSet<usize> = measured(systems).flat_map(|(_, points)| points.keys().copied()).collect();
        rows.extend(ranks.into_iter().map(|ranks| Row { key, ranks, bound: bound(key, ranks, payload) }));
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
                    "Multiples of the payload bound: the time that the bytes into the busiest node take at the rate of its link. "
                    "Over that network 1.00 cannot be beaten. The middle of the repetitions, from the least to the most; the fastest of a row is bold."
                }
                (table(of, &wire, "bound", |row| seconds(row.bound.unwrap_or_default())))
                (provenance::from(all, runs(of, &wire)))
            }
        }
        @if !others.is_empty() {
            section {
                h2 { "Operations" }
                p { "Microseconds for once: the middle of the repetitions, from the least to the most; the fastest of a row is bold." }
                (table(of, &others, "bytes", |row| grouped(row.key.problem.size as u64)))
                (provenance::from(all, runs(of, &others)))
            }
        }
    }
}

/// In less than this part of the bound nothing has come over that network: not even a token bucket full at the begin
/// makes so much.
const ELSEWHERE: f64 = 0.9;

/// Nothing else stands in a row with it.
fn measured(systems: &Systems) -> impl Iterator<Item = (&Series, &BTreeMap<usize, Point>)> {
    systems.iter().filter(|(series, _)| series.is_measured())
}

fn runs(of: &Collection, rows: &[Row<'_>]) -> Vec<usize> {
    let points =
        rows.iter().flat_map(|row| measured(&of.benches[row.key]).filter_map(|(_, points)| points.get(&row.ranks)));
    points.flat_map(Point::runs).collect()
}

fn table(of: &Collection, rows: &[Row<'_>], figure: &str, tell: impl Fn(&Row<'_>) -> String) -> Markup {
    let systems: BTreeSet<&Series> =
        rows.iter().flat_map(|row| measured(&of.benches[row.key])).map(|(series, _)| series).collect();
    html! {
        .wide { table {
            thead { tr {
                th.text { "operation" } th.text { "network" } th { "ranks" } th { (figure) }
                @for series in &systems { th { (series) } }
            } }
            tbody { @for row in rows { tr {
                td.text { (row.key.problem.name) " " (row.key.problem.variant) }
                td.text { (row.key.setting.place()) }
                td { (row.ranks) }
                td { (tell(row)) }
                @for series in &systems { (cell(of, row, series)) }
            } } }
        } }
    }
}

fn cell(of: &Collection, row: &Row<'_>, series: &Series) -> Markup {
    let systems = &of.benches[row.key];
    let point = |series: &Series| systems.get(series)?.get(&row.ranks);
    let Some(own) = point(series) else { return html! { td { "–" } } };
    let is_elsewhere = |point: &Point| row.bound.is_some_and(|bound| point.seconds.median < ELSEWHERE * bound);
    let elsewhere = is_elsewhere(own);
    let best = measured(systems)
        .filter_map(|(series, _)| point(series).filter(|point| !is_elsewhere(point)))
        .all(|other| own.seconds.median <= other.seconds.median);
    let (middle, range) = spread(own.seconds.map(|seconds| seconds / row.bound.unwrap_or(1e-6)));
    let resent = own.resent.map_or(0.0, |resent| resent.median);
    html! {
        td {
            @if best && !elsewhere { span.best { (middle) } } @else { (middle) } " " small { (range) }
            @if elsewhere { br; small.slower { "faster than the wire: not over this network" } }
            @if resent > 0.0 { br; small { (count(resent.round() as usize, "packet")) " resent" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{bench, known, labelled, read};

    fn tables(runs: &[serde_json::Value]) -> (String, String) {
        let all = read(runs);
        let mut wanted = Wanted::default();
        let text = sections(&all, &Collection::of(&all), known().payload, &mut wanted).into_string();
        (text, wanted.section().into_string())
    }

    #[test]
    fn a_network_makes_multiples_of_its_bound() {
        let run = bench("read-cache", 4, &[("aurora", 25.2), ("mpi-isend", 48.0)]);
        let (text, wanted) = tables(&[labelled(run, "network", "8 Mbit/s")]);
        assert!(text.contains("rate of the wire") && text.contains("<td>24.0 s</td>"), "{text}");
        assert!(text.contains("<span class=\"best\">1.05</span> <small>0.945–1.26</small>"), "{text}");
        assert!(text.contains("<td>2.00 <small>") && !text.contains("<h2>Operations</h2>"), "{text}");
        assert_eq!(wanted, "");
    }

    #[test]
    fn what_is_faster_than_the_wire_has_not_used_it() {
        let run = bench("read-cache", 4, &[("aurora", 23.5), ("mpi-isend", 0.24)]);
        let (text, _) = tables(&[labelled(run, "network", "8 Mbit/s")]);
        assert_eq!(text.matches("faster than the wire").count(), 1, "{text}");
        assert!(
            text.contains("0.010 <small>0.009–0.012</small><br><small class=\"slower\">faster than the wire"),
            "{text}"
        );
        assert!(text.contains("<span class=\"best\">0.979</span>"), "the fastest of those who have used it: {text}");
    }

    #[test]
    fn without_one_there_are_microseconds() {
        let (text, wanted) = tables(&[bench("get", 2, &[("aurora", 2e-5)])]);
        assert!(text.contains("<h2>Operations</h2>") && text.contains(">20.0</span>"), "{text}");
        assert!(!text.contains("rate of the wire") && wanted.contains("--label network="), "{wanted}");
    }
}
