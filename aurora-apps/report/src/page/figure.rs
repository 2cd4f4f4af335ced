//! Charts of the applications: speed-up and normalised speed-up (Figures 4, 5, 7 and 8 of the paper), the cost of
//! sharing (Figure 6), and the time of each phase. Each chart has its title, its legend, and its runs.

use super::provenance;
use super::text::{count, list, seconds, three};
use super::wanted::Wanted;
use crate::chart::{Bar, Curve, Curves, Guide, Mark, Part, Scale, Style, ink, times};
use crate::collect::Point;
use crate::recorded::Recorded;
use crate::series::Series;
use crate::study::{Basis, Study};
use crate::{Kind, Report, Spread};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Returns all charts of each application in each place. Charts with too few figures are added to `wanted`.
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
        // The measured figures, with the models that are made from them.
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
    let sharing = |point: &Point| Some(point.all(|report| report.sharing_seconds)).filter(|of| of.max > 0.0);
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

/// Returns the chart of sequential over parallel time, or `None` if computing and sharing are kept apart.
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

/// One figure, ready to be drawn.
pub struct Figure {
    pub title: String,
    pub chart: Curves,
    /// True if its figures are modelled, and drawn dashed.
    pub modelled: bool,
    /// The explanation for readers.
    pub note: String,
    pub runs: Vec<usize>,
}

/// A figure of a system with a number of ranks; the figures of a system follow each other.
type Value<'s> = (&'s Series, usize, Spread);

impl Figure {
    /// Makes the chart of a study's figures, with their title, the name of the vertical axis, and the guide line.
    fn new(study: &Study<'_>, about: (&str, &str, Guide), of: &[Value<'_>], runs: Vec<usize>) -> Self {
        let (title, axis, guide) = about;
        let systems: Vec<_> = of.chunk_by(|(one, ..), (other, ..)| one == other).collect();
        let styles = styles(systems.iter().map(|of| of[0].0), study.alone.is_some());
        let curves = systems.iter().zip(styles).map(|(of, style)| {
            let points = of.iter().map(|(_, ranks, value)| (*ranks, *value)).collect();
            Curve { name: of[0].0.to_string(), style, points }
        });
        // Aurora is the first curve and is drawn last.
        let curves = curves.collect::<Vec<_>>().into_iter().rev().collect();
        Figure {
            title: format!("{title}: {}", study.problem),
            chart: Curves { axis: axis.into(), along: "ranks", scale: Scale::From(0.0), guide, curves },
            modelled: study.alone.is_some(),
            note: format!("Network: {}. ", study.key.setting.place()),
            runs,
        }
    }

    /// Makes the chart of a figure of each system over the number of ranks, for the points that have it.
    pub fn of(study: &Study<'_>, about: (&str, &str, Guide), figure: impl Fn(&Point) -> Option<Spread>) -> Self {
        let (mut values, mut runs) = (Vec::new(), study.alone_runs());
        for point in &study.points {
            if let Some(figure) = figure(point) {
                values.push((&point.series, point.ranks, figure));
                runs.extend(point.numbers());
            }
        }
        Figure::new(study, about, &values, runs)
    }

    /// Makes the chart of Aurora compared with each MPI version, or `None` if there is no MPI version.
    pub fn normalised(study: &Study<'_>) -> Option<Self> {
        let of: Vec<_> = study.versus.iter().filter(|versus| versus.other.is_mpi()).collect();
        let values: Vec<_> = of.iter().map(|of| (of.other, of.ranks, Spread::exactly(of.ratio))).collect();
        let runs = of.iter().flat_map(|of| of.runs.clone()).chain(study.alone_runs()).collect();
        let (title, axis) = match study.basis {
            Basis::Modelled => ("Aurora's speed-up over MPI's, modelled", "Aurora's speed-up / MPI's"),
            Basis::Sharing => ("MPI's sharing overhead over Aurora's, measured", "MPI's time of sharing / Aurora's"),
            _ => ("Aurora's speed-up over MPI's, measured", "Aurora's speed-up / MPI's"),
        };
        let jobs = match of.iter().all(|of| of.paired) {
            true => "Both took turns in one job, on the same data.",
            false => "Not all of them took turns with Aurora in one job.",
        };
        (!of.is_empty()).then(|| {
            let figure = Figure::new(study, (title, axis, Guide::One), &values, runs);
            Figure { note: format!("Below 1 Aurora is slower. {jobs} {}", figure.note), ..figure }
        })
    }

    /// Returns the chart in the largest of `units` in which its maximum is at least 1. A unit has its name and its
    /// scale.
    pub fn in_handy_units(mut self, units: &[(&str, f64)]) -> Self {
        let most = self.chart.points().map(|(_, of)| of.max).fold(0.0, f64::max);
        let (unit, scale) = *units.iter().rfind(|(_, scale)| most * scale >= 1.0).unwrap_or(&units[0]);
        let points = self.chart.curves.iter_mut().flat_map(|curve| &mut curve.points);
        points.for_each(|(_, of)| *of = of.map(|value| value * scale));
        self.chart.axis += &format!(", {unit}");
        self
    }

    /// Draws the chart with its legend and explanation, or returns `None` if there is no curve. A curve's entry in the
    /// legend has its last point.
    pub fn draw(self, all: &[Recorded]) -> Option<Markup> {
        if !self.chart.is_worth_it() {
            return None;
        }
        let last = |curve: &Curve| curve.points.last().map_or((0, 0.0), |(at, of)| (*at, of.median));
        // In the order in which the curves end, from above.
        let mut legend: Vec<_> = self.chart.curves.iter().rev().map(|curve| (curve, last(curve))).collect();
        legend.sort_by(|(_, (_, one)), (_, (_, other))| other.total_cmp(one));
        Some(html! {
            figure {
                h4 { (self.title) }
                (self.chart.svg())
                ul.legend { @for (curve, (at, value)) in legend {
                    li { (curve.style.sample()) (curve.name) " " small.quiet { (three(value)) " at " (at) } }
                } }
                figcaption { @if self.modelled { "Dashed: modelled, not measured. " } (self.note) }
                (provenance::from(all, self.runs))
            }
        })
    }
}

/// Returns a colour for each implementation. Curves with the same colour have different marks, in pairs of full and
/// open marks.
fn styles<'s>(of: impl Iterator<Item = &'s Series>, dashed: bool) -> Vec<Style> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    of.map(|series| {
        let ink = ink::of(&series.implementation);
        let number = seen.entry(ink).or_default();
        *number += 1;
        let marks = [Mark::CIRCLE, Mark::SQUARE, Mark::TRIANGLE, Mark::DIAMOND];
        Style { ink, mark: marks[(*number - 1) / 2 % marks.len()], hollow: number.is_multiple_of(2), dashed }
    })
    .collect()
}

/// Returns a note if there are more ranks than cores in a place.
fn crowded(study: &Study<'_>) -> String {
    let most = study.points.iter().map(|point| point.ranks).max().unwrap_or_default();
    match study.key.setting.cores() {
        Some(cores) if most > cores => format!(
            "More than {} take turns on {}: their computing cannot become faster here. ",
            count(cores, "rank"),
            count(cores, "core")
        ),
        _ => String::new(),
    }
}

/// Returns the chart of the phases of a repetition: Aurora with each number of ranks, the other systems with the
/// maximum number.
fn phases<'s>(all: &[Recorded], study: &Study<'s>) -> Option<Markup> {
    let shown =
        |points: &[&'s Point]| points[if points[0].series.is_aurora() { 0 } else { points.len() - 1 }..].to_vec();
    let mut shown: Vec<&Point> = study.systems().flat_map(shown).collect();
    shown.retain(|point| !point.phases().is_empty() && point.seconds().max > 0.0);
    let longest = shown.iter().max_by_key(|point| point.phases().len())?;
    let order = list(longest.phases().iter().map(|phase| match phase.kind {
        Kind::Computing => phase.name.clone(),
        Kind::Sharing => format!("{} (sharing)", phase.name),
    }));
    let hidden = shown.iter().filter(|point| point.hidden() > 0.0);
    let hidden = list(hidden.map(|of| format!("{}, {}: {}", of.series, count(of.ranks, "rank"), seconds(of.hidden()))));
    let setting = &study.key.setting;
    let bar = |point: &&Point| Bar {
        name: format!("{}, {}", count(point.ranks, "rank"), point.series),
        parts: Part::phases(point.phases().into_iter().map(|phase| (phase.name, phase.kind, phase.seconds.median))),
        whole: (!setting.apart).then_some(point.seconds()),
    };
    Some(html! {
        figure {
            h4 { "Where the time of a repetition of " (study.problem) " goes" }
            (times(&shown.iter().map(bar).collect::<Vec<_>>()))
            ul.legend {
                li { span.swatch.computing {} "computing" }
                li { span.swatch.sharing {} "sharing: waiting for others' data" }
            }
            figcaption {
                "From the left: " (order) ". Each phase by the middle of its repetitions, of the slowest rank. "
                @if setting.apart { "Nobody computes while data are on their way. " }
                @else { "The line below is the whole repetition, from the least to the most, its tick the middle. " }
                @if !hidden.is_empty() { "Hidden behind computing, and in no bar: " (hidden) ". " }
                (crowded(study)) "Network: " (setting.place()) "."
            }
            (provenance::from(all, shown.iter().flat_map(|point| point.numbers())))
        }
    })
}
