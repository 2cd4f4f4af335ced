//! Speed-up and normalised speed-up (Figures 4, 5, 7 and 8 of the paper), and what sharing costs (Figure 6).

use super::figure::{Figure, crowded, in_handy_units, measured, phases};
use super::wanted::Wanted;
use crate::Spread;
use crate::chart::curves::Guide;
use crate::collect::{Alone, Collection, Point, Systems};
use crate::recorded::Recorded;
use crate::series::{Key, Problem, Series};
use crate::versus::{Basis, Versus, is_modelled, modelled_speedups};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// All charts of each application in each place. What there is too little of goes to `wanted`.
pub fn sections(all: &[Recorded], of: &Collection, versus: &[Versus<'_>], wanted: &mut Wanted) -> Markup {
    html! {
        @if !of.programs.is_empty() {
            section {
                h2 { "How to read the charts" }
                p {
                    "A mark is the middle of the repetitions, its whisker goes from the least to the most; systems with as many ranks stand beside each "
                    "other. Lines join what was measured, dashes what is modelled; the two are in no chart together. A colour is an implementation, and a mark "
                    "tells those of one colour apart; legends are in the order in which the curves end, from above."
                }
            }
        }
        @for (key, systems) in &of.programs {
            @let charts = charts(all, of, versus, (key, systems), wanted);
            @if !charts.is_empty() {
                section {
                    h2 { (key.problem) ": " (key.setting.place()) }
                    .charts { @for chart in charts { (chart) } }
                }
            }
        }
    }
}

const SECONDS: [(&str, f64); 4] = [("ns", 1e9), ("µs", 1e6), ("ms", 1e3), ("s", 1.0)];
const BYTES: [(&str, f64); 5] = [("bytes", 1.0), ("kB", 1e-3), ("MB", 1e-6), ("GB", 1e-9), ("TB", 1e-12)];
const MESSAGES: [(&str, f64); 3] = [("messages", 1.0), ("thousand messages", 1e-3), ("million messages", 1e-6)];

fn charts(
    all: &[Recorded],
    of: &Collection,
    versus: &[Versus<'_>],
    (key, systems): (&Key, &Systems),
    wanted: &mut Wanted,
) -> Vec<Markup> {
    let mut charts = Vec::new();
    if !systems.keys().any(Series::is_measured) {
        return charts;
    }
    if key.setting.apart {
        charts.extend(normalised(key, &key.problem, versus, Basis::Sharing).and_then(|figure| figure.draw(all)));
    } else {
        let speedup = Figure {
            guide: Guide::Ideal,
            note: format!("{}Network: {}. ", crowded(key, systems), key.setting.place()),
            ..measured(key, systems, ("Measured speed-up", "sequential time / parallel time"), |point| point.speedup)
        };
        let title = speedup.title.clone();
        match speedup.draw(all) {
            Some(chart) => charts.push(chart),
            None => wanted.ranks(&title, key),
        }
        charts.extend(normalised(key, &key.problem, versus, Basis::Measured).and_then(|figure| figure.draw(all)));
    }
    if !systems.keys().any(Series::is_mpi) {
        wanted.mpi(key);
    }
    if key.setting.network.is_some() {
        let alone = of.alone(key);
        if alone.is_empty() {
            wanted.alone(key);
        }
        for alone in &alone {
            charts.extend(modelled(key, systems, alone).draw(all));
            let figure =
                normalised(key, &alone.problem, versus, Basis::Modelled).map(|figure| with(figure, &alone.runs));
            charts.extend(figure.and_then(|figure| figure.draw(all)));
        }
    }
    let sharing = |point: &Point| (point.sharing.max > 0.0).then_some(point.sharing);
    let what = ("Measured sharing overhead", "time that ranks wait for data in a repetition");
    charts.extend(in_handy_units(measured(key, systems, what, sharing), &SECONDS).draw(all));
    charts.extend(phases(all, key, systems));
    let sent = |figure: fn(&Point) -> Option<f64>| move |point: &Point| figure(point).map(Spread::exactly);
    let what = ("Bytes sent in a repetition", "by all ranks");
    charts.extend(in_handy_units(measured(key, systems, what, sent(|point| point.bytes)), &BYTES).draw(all));
    let what = ("Messages sent in a repetition", "by all ranks");
    charts.extend(in_handy_units(measured(key, systems, what, sent(|point| point.messages)), &MESSAGES).draw(all));
    charts
}

/// Speed-ups as if each number of ranks were machines of their own.
fn modelled<'r>(key: &Key, systems: &'r Systems, alone: &Alone) -> Figure<'r> {
    let mut curves = BTreeMap::new();
    let mut runs = alone.runs.clone();
    for (series, points) in systems.iter().filter(|(series, _)| is_modelled(key, series)) {
        let speedups = modelled_speedups(alone.seconds, points);
        if !speedups.is_empty() {
            curves.insert(series, speedups.into_iter().collect());
            runs.extend(points.values().flat_map(Point::runs));
        }
    }
    Figure {
        title: format!("Modelled speed-up: {}", alone.problem),
        axis: "modelled: T / (T / ranks + measured sharing)".into(),
        guide: Guide::Ideal,
        modelled: true,
        curves,
        runs,
        note: format!(
            "T is the sequential program's time alone on a quiet machine, {}; sharing is what was measured with so many nodes, \
             what was hidden behind computing included. Network: {}. ",
            super::text::seconds(alone.seconds),
            key.setting.place()
        ),
    }
}

/// How many times as long the others take: what the paper's lower graphs show, where MPI is always 1.
fn normalised<'c>(key: &Key, problem: &Problem, versus: &[Versus<'c>], basis: Basis) -> Option<Figure<'c>> {
    let mut curves: BTreeMap<&Series, Vec<(usize, Spread)>> = BTreeMap::new();
    let of = versus.iter().filter(|versus| versus.key == key && versus.problem == *problem);
    let of = of.filter(|versus| versus.basis == basis && versus.other.is_mpi());
    let mut paired = true;
    let mut runs = Vec::new();
    for versus in of {
        curves.entry(versus.other).or_default().push((versus.ranks, Spread::exactly(versus.ratio)));
        runs.extend(versus.runs.iter().copied());
        paired &= versus.paired;
    }
    if curves.is_empty() {
        return None;
    }
    let what = if basis == Basis::Modelled { "modelled" } else { "measured" };
    let (title, axis) = match basis {
        Basis::Sharing => ("MPI's sharing overhead over Aurora's", "MPI's time of sharing / Aurora's"),
        _ => ("Aurora's speed-up over MPI's", "Aurora's speed-up / MPI's"),
    };
    let jobs = if paired {
        "Both took turns in one job, on the same data. "
    } else {
        "Not all of them took turns with Aurora in one job. "
    };
    Some(Figure {
        title: format!("{title}, {what}: {problem}"),
        axis: axis.into(),
        guide: Guide::One,
        modelled: basis == Basis::Modelled,
        curves,
        runs,
        note: format!("Below 1 Aurora is slower. {jobs}Network: {}. ", key.setting.place()),
    })
}

fn with<'r>(mut figure: Figure<'r>, runs: &[usize]) -> Figure<'r> {
    figure.runs.extend(runs);
    figure
}
