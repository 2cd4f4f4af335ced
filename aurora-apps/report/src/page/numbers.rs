//! All figures of the applications as numbers: measured ones, and modelled ones by themselves.

use super::figure::cell;
use super::text::three;
use crate::collect::{Collection, Point, Systems};
use crate::series::{Key, Series, grouped};
use crate::versus::{is_modelled, modelled, modelled_speedups};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Both tables.
pub fn sections(of: &Collection) -> Markup {
    if of.programs.is_empty() {
        return html! {};
    }
    let modelled: Vec<Markup> =
        of.programs.iter().filter_map(|(key, systems)| modelled_rows(of, key, systems)).collect();
    let others = of.programs.values().flat_map(BTreeMap::keys).any(|series| !series.is_measured());
    html! {
        section {
            h2 { "Measured: all figures" }
            p.quiet {
                "Milliseconds: the middle of the repetitions, from the least to the most. Messages and bytes are those of all ranks in one."
            }
            (table(of, Series::is_measured))
        }
        @if others {
            section {
                h2 { "Figures of other kinds, as their labels say" }
                (table(of, |series| !series.is_measured()))
            }
        }
        @if !modelled.is_empty() {
            section {
                h2 { "Modelled: sequential time alone / ranks + measured sharing" }
                p.quiet { "Milliseconds. Sharing is measured, what was hidden behind computing included; the rest is not." }
                .wide { table {
                    thead { tr {
                        th.text { "problem" } th.text { "network" } th.text { "system" } th { "ranks" } th { "sequential alone" }
                        th { "sharing, measured" } th { "a repetition, modelled" } th { "speed-up, modelled" }
                    } }
                    tbody { @for rows in modelled { (rows) } }
                } }
            }
        }
    }
}

fn table(of: &Collection, which: impl Fn(&Series) -> bool) -> Markup {
    html! {
        .wide { table {
            thead { tr {
                th.text { "problem" } th.text { "network" } th.text { "system" } th { "ranks" } th { "a repetition" }
                th { "of it sharing" } th { "hidden" } th { "sequential" } th { "speed-up" } th { "messages" } th { "MB" } th { "reps" }
            } }
            tbody { @for (key, systems) in &of.programs {
                @for (series, points) in systems.iter().filter(|(series, _)| which(series)) {
                    @for (ranks, point) in points { (row(key, series, *ranks, point)) }
                }
            } }
        } }
    }
}

fn row(key: &Key, series: &Series, ranks: usize, point: &Point) -> Markup {
    html! { tr {
        td.text { (key.problem) }
        td.text { (key.setting.place()) }
        td.text { (series) }
        td { (ranks) }
        td { @if key.setting.apart { "–" } @else { (cell(point.seconds.map(|s| s * 1e3))) } }
        td { (cell(point.sharing.map(|s| s * 1e3))) }
        td { (three(point.hidden.median * 1e3)) }
        td { (three(point.sequential * 1e3)) }
        td { @match point.speedup.filter(|_| !key.setting.apart) { Some(speedup) => (cell(speedup)), None => "–" } }
        td { @match point.messages { Some(messages) => (grouped(messages.round() as u64)), None => "–" } }
        td { @match point.bytes { Some(bytes) => (three(bytes / 1e6)), None => "–" } }
        td { (point.reps) }
    } }
}

fn modelled_rows(of: &Collection, key: &Key, systems: &Systems) -> Option<Markup> {
    let alone = of.alone(key);
    let of_key: Vec<_> = systems.iter().filter(|(series, _)| is_modelled(key, series)).collect();
    if alone.is_empty() || of_key.is_empty() {
        return None;
    }
    Some(html! {
        @for alone in &alone { @for (series, points) in &of_key {
            @let speedups = modelled_speedups(alone.seconds, points);
            @for (ranks, point) in *points { tr {
                td.text { (alone.problem) }
                td.text { (key.setting.place()) }
                td.text { (series) }
                td { (ranks) }
                td { (three(alone.seconds * 1e3)) }
                td { (cell(point.shared().map(|s| s * 1e3))) }
                td { (cell(modelled(alone.seconds, point.shared(), *ranks).map(|s| s * 1e3))) }
                td { @match speedups.get(ranks) { Some(speedup) => (cell(*speedup)), None => "–" } }
            } }
        } }
    })
}
