//! Speed-up and normalised speed-up (Figures 4, 5, 7 and 8 of the paper), and what sharing costs (Figure 6).

use super::figure::{Figure, crowded, phases};
use super::text::seconds;
use super::wanted::Wanted;
use crate::chart::Guide;
use crate::collect::Point;
use crate::recorded::Recorded;
use crate::study::{Basis, Study};
use crate::{Report, Spread};
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
    if measured.points.is_empty() {
        return charts;
    }
    if !measured.points.iter().any(|point| point.series.is_mpi()) {
        wanted.mpi(key);
    }
    if key.setting.network.is_some() && studies.len() == 1 {
        wanted.alone(key);
    }
    for study in studies {
        if let Some(speedup) = speedup(study) {
            let title = speedup.title.clone();
            let chart = speedup.draw(all);
            if chart.is_none() && study.basis == Basis::Measured {
                wanted.ranks(title, key);
            }
            charts.extend(chart);
        }
        charts.extend(Figure::normalised(study).and_then(|figure| figure.draw(all)));
    }
    let about = ("Measured sharing overhead", "time that ranks wait for data in a repetition", Guide::None);
    let sharing = |point: &Point| Some(point.all(|own| own.report.sharing_seconds)).filter(|of| of.max > 0.0);
    let sharing = Figure::of(measured, about, sharing);
    let sent = |title, units, figure: fn(&Report) -> Option<u64>| {
        let figure = |point: &Point| point.middle(|report| figure(report).map(|of| of as f64)).map(Spread::exactly);
        Figure::of(measured, (title, "by all ranks", Guide::None), figure).in_handy_units(units).draw(all)
    };
    charts.extend(sharing.in_handy_units(&SECONDS).draw(all));
    charts.extend(phases(all, measured));
    charts.extend(sent("Bytes sent in a repetition", &BYTES, |report| report.bytes));
    charts.extend(sent("Messages sent in a repetition", &MESSAGES, |report| report.messages));
    charts
}

/// Sequential over parallel time; none where computing and sharing are kept apart.
fn speedup(study: &Study<'_>) -> Option<Figure> {
    let (title, axis) = match study.basis {
        Basis::Sharing => return None,
        Basis::Modelled => ("Modelled speed-up", "modelled: T / (T / ranks + measured sharing)"),
        _ => ("Measured speed-up", "sequential time / parallel time"),
    };
    let figure = Figure::of(study, (title, axis, Guide::Ideal), |point| study.speedup(point));
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
