//! Speed-up and normalised speed-up (Figures 4, 5, 7 and 8 of the paper), and what sharing costs (Figure 6).

use super::figure::{Figure, crowded, phases};
use super::text::seconds;
use super::wanted::Wanted;
use crate::Spread;
use crate::chart::Guide;
use crate::collect::Point;
use crate::recorded::Recorded;
use crate::series::Series;
use crate::study::{Basis, Study};
use maud::{Markup, html};

/// All charts of each application in each place. What there is too little of goes to `wanted`.
pub fn sections(all: &[Recorded], studies: &[Study<'_>], wanted: &mut Wanted) -> Markup {
    let applications = studies.iter().filter(|study| study.basis != Basis::Operation).collect::<Vec<_>>();
    html! {
        @if !applications.is_empty() {
            section {
                h2 { "How to read the charts" }
                p {
                    "A mark is the middle of the repetitions, its whisker goes from the least to the most; systems \
                     with as many ranks stand beside each other. Lines join what was measured, dashes what is \
                     modelled; the two are in no chart together. A colour is an implementation, and a mark tells \
                     those of one colour apart; legends are in the order in which the curves end, from above."
                }
            }
        }
        // What is measured, with the models that are made from it.
        @for studies in applications.chunk_by(|one, other| one.key == other.key) {
            @let charts = charts(all, studies, wanted);
            @if !charts.is_empty() {
                section {
                    h2 { (studies[0].key.problem) ": " (studies[0].key.setting.place()) }
                    .charts { @for chart in charts { (chart) } }
                }
            }
        }
    }
}

const SECONDS: [(&str, f64); 4] = [("ns", 1e9), ("µs", 1e6), ("ms", 1e3), ("s", 1.0)];
const BYTES: [(&str, f64); 5] = [("bytes", 1.0), ("kB", 1e-3), ("MB", 1e-6), ("GB", 1e-9), ("TB", 1e-12)];
const MESSAGES: [(&str, f64); 3] = [("messages", 1.0), ("thousand messages", 1e-3), ("million messages", 1e-6)];

fn charts(all: &[Recorded], studies: &[&Study<'_>], wanted: &mut Wanted) -> Vec<Markup> {
    let (measured, key) = (studies[0], studies[0].key);
    let mut charts = Vec::new();
    if measured.systems.is_empty() {
        return charts;
    }
    if !measured.systems.keys().any(|series| Series::is_mpi(series)) {
        wanted.mpi(key);
    }
    if key.setting.network.is_some() && studies.len() == 1 {
        wanted.alone(key);
    }
    for study in studies {
        if let Some(speedup) = speedup(study) {
            let title = speedup.title.clone();
            match speedup.draw(all) {
                Some(chart) => charts.push(chart),
                None if study.basis == Basis::Measured => wanted.ranks(title, key),
                None => {}
            }
        }
        charts.extend(Figure::normalised(study).and_then(|figure| figure.draw(all)));
    }
    let about = ("Measured sharing overhead", "time that ranks wait for data in a repetition", Guide::None);
    let sharing = |_, point: &Point| Some(point.sharing()).filter(|sharing| sharing.max > 0.0);
    let sharing = Figure::of(measured, about, sharing);
    let sent = |title, units, figure: fn(&Point) -> Option<f64>| {
        let figure = |_, point: &Point| figure(point).map(Spread::exactly);
        Figure::of(measured, (title, "by all ranks", Guide::None), figure).in_handy_units(units).draw(all)
    };
    charts.extend(sharing.in_handy_units(&SECONDS).draw(all));
    charts.extend(phases(all, measured));
    charts.extend(sent("Bytes sent in a repetition", &BYTES, |point| point.bytes()));
    charts.extend(sent("Messages sent in a repetition", &MESSAGES, |point| point.messages()));
    charts
}

/// Sequential over parallel time; none where computing and sharing are kept apart.
fn speedup(study: &Study<'_>) -> Option<Figure> {
    let (title, axis) = match study.basis {
        Basis::Sharing => return None,
        Basis::Modelled => ("Modelled speed-up", "modelled: T / (T / ranks + measured sharing)"),
        _ => ("Measured speed-up", "sequential time / parallel time"),
    };
    let figure = Figure::of(study, (title, axis, Guide::Ideal), |ranks, point| study.speedup(ranks, point));
    let note = match &study.alone {
        None => crowded(study),
        Some(alone) => format!(
            "T is the sequential program's time alone on a quiet machine, {}; sharing is what was measured with so \
             many nodes, what was hidden behind computing included. ",
            seconds(alone.seconds)
        ),
    };
    Some(Figure { note: note + &figure.note, ..figure })
}
