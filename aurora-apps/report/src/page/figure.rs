//! Charts with their titles, legends and where they come from.

use super::provenance;
use super::text::{count, list, seconds, spread, three};
use crate::Spread;
use crate::chart::bars::{Bar, Bars};
use crate::chart::curves::{Curve, Curves, Guide, Mark, Style};
use crate::chart::ink;
use crate::collect::{Point, Systems};
use crate::recorded::Recorded;
use crate::series::{Key, Series};
use maud::{Markup, PreEscaped, html};
use std::collections::BTreeMap;
use std::fmt::Display;

/// One figure, ready to be drawn.
pub struct Figure<'r> {
    /// What it shows.
    pub title: String,
    /// What goes up, with its unit.
    pub axis: String,
    /// What it is held against.
    pub guide: Guide,
    /// Whether its figures are modelled: dashed.
    pub modelled: bool,
    /// Its curves.
    pub curves: BTreeMap<&'r Series, Vec<(usize, Spread)>>,
    /// The runs that it comes from.
    pub runs: Vec<usize>,
    /// What one must know to read it.
    pub note: String,
}

impl Figure<'_> {
    /// The chart, if there is a curve in it: two numbers of ranks.
    pub fn draw(&self, all: &[Recorded]) -> Option<Markup> {
        let styles = styles(self.curves.keys().copied(), self.modelled);
        let curves =
            self.curves.iter().zip(&styles).map(|((_, points), style)| Curve { style: *style, points: points.clone() });
        // Aurora, which comes first, is drawn last.
        let curves = curves.rev().collect();
        let chart = Curves { title: self.axis.clone(), along: "ranks", from: 0.0, guide: self.guide, curves };
        if !chart.is_worth_it() {
            return None;
        }
        let mut legend: Vec<(&Series, Style, usize, f64)> = Vec::new();
        for ((series, points), style) in self.curves.iter().zip(styles) {
            legend.extend(points.last().map(|(ranks, of)| (*series, style, *ranks, of.median)));
        }
        let caption = html! {
            @if self.modelled { "Dashed: modelled, not measured. " }
            (self.note)
        };
        Some(framed(&self.title, &chart, legend, &caption, &provenance::from(all, self.runs.iter().copied())))
    }
}

/// A chart with what explains it. A curve's entry in the legend has the last of its points.
pub fn framed<N: Display>(
    title: &str,
    chart: &Curves,
    mut legend: Vec<(N, Style, usize, f64)>,
    caption: &Markup,
    from: &Markup,
) -> Markup {
    // In the order in which the curves end, from above.
    legend.sort_by(|one, other| other.3.total_cmp(&one.3));
    html! {
        figure {
            h4 { (title) }
            (PreEscaped(chart.svg()))
            ul.legend { @for (name, style, at, value) in legend {
                li { (sample(style)) (name.to_string()) " " small.quiet { (three(value)) " at " (at) } }
            } }
            figcaption { (caption) }
            (from)
        }
    }
}

/// A colour for each implementation; what shares one has another mark, in pairs of full and open ones.
fn styles<'s>(of: impl Iterator<Item = &'s Series>, modelled: bool) -> Vec<Style> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    of.map(|series| {
        let number = seen.entry(ink::of_implementation(&series.implementation).name).or_default();
        *number += 1;
        let marks = [Mark::Circle, Mark::Square, Mark::Triangle, Mark::Diamond];
        Style {
            ink: ink::of_implementation(&series.implementation),
            mark: marks[(*number - 1) / 2 % marks.len()],
            hollow: (*number).is_multiple_of(2),
            dashed: modelled || !series.is_measured(),
        }
    })
    .collect()
}

/// A piece of a curve, as a legend shows it.
fn sample(Style { ink, mark, hollow, dashed }: Style) -> Markup {
    let color = format!("var(--{})", ink.name);
    let corners =
        mark.corners((24.0, 9.0), 5.0).into_iter().map(|(x, y)| format!("{x:.1},{y:.1} ")).collect::<String>();
    html! {
        svg viewBox="0 0 48 18" aria-hidden="true" {
            line x1="2" y1="9" x2="46" y2="9" stroke=(color) stroke-width="2.5" stroke-dasharray=[dashed.then_some("7 6")] {}
            polygon points=(corners) stroke=(color) stroke-width="1.5" fill=(if hollow { "var(--paper)" } else { color.as_str() }) {}
        }
    }
}

/// What a place's cores make of so many ranks.
pub fn crowded(key: &Key, systems: &Systems) -> String {
    let most = systems.values().flat_map(BTreeMap::keys).max().copied().unwrap_or_default();
    match key.setting.cores() {
        Some(cores) if most > cores => format!(
            "More than {} take turns on {}: their computing cannot become faster here. ",
            count(cores, "rank"),
            count(cores, "core")
        ),
        _ => String::new(),
    }
}

/// Where the time of a repetition goes: Aurora with each number of ranks, the others with the most.
pub fn phases(all: &[Recorded], key: &Key, systems: &Systems) -> Option<Markup> {
    let mut bars: Vec<(&Series, usize, &Point)> = Vec::new();
    for (series, points) in systems.iter().filter(|(series, _)| series.is_measured()) {
        let skip = if series.is_aurora() { 0 } else { points.len().saturating_sub(1) };
        bars.extend(points.iter().skip(skip).map(|(ranks, point)| (series, *ranks, point)));
    }
    bars.retain(|(_, _, point)| !point.phases.is_empty() && point.seconds.max > 0.0);
    let (_, _, longest) = bars.iter().max_by_key(|(_, _, point)| point.phases.len())?;
    let order = list(longest.phases.iter().map(|phase| match phase.kind {
        crate::Kind::Computing => phase.name.clone(),
        crate::Kind::Sharing => format!("{} (sharing)", phase.name),
    }));
    let hidden = bars.iter().filter(|(_, _, point)| point.hidden.median > 0.0);
    let hidden: Vec<String> = hidden
        .map(|(series, ranks, point)| format!("{series}, {}: {}", count(*ranks, "rank"), seconds(point.hidden.median)))
        .collect();
    let bar = |(series, ranks, point): &(&Series, usize, &Point)| Bar {
        name: format!("{}, {series}", count(*ranks, "rank")),
        phases: point.phases.iter().map(|phase| (phase.name.clone(), phase.kind, phase.seconds.median)).collect(),
        whole: (!key.setting.apart).then_some(point.seconds),
    };
    let chart = Bars { bars: bars.iter().map(bar).collect() };
    Some(html! {
        figure {
            h4 { "Where the time of a repetition of " (key.problem) " goes" }
            (PreEscaped(chart.svg()))
            ul.legend {
                li { span.swatch.computing {} "computing" }
                li { span.swatch.sharing {} "sharing: waiting for others' data" }
            }
            figcaption {
                "From the left: " (order) ". Each phase by the middle of its repetitions, of the slowest rank. "
                @if key.setting.apart { "Nobody computes while data are on their way. " }
                @else { "The line below is the whole repetition, from the least to the most, its tick the middle. " }
                @if !hidden.is_empty() { "Hidden behind computing, and in no bar: " (list(hidden)) ". " }
                (crowded(key, systems)) "Network: " (key.setting.place()) "."
            }
            (provenance::from(all, bars.iter().flat_map(|(_, _, point)| point.runs())))
        }
    })
}

/// A measured figure over the number of ranks, of the systems that have it.
pub fn measured<'r>(
    key: &Key,
    systems: &'r Systems,
    (title, axis): (&str, &str),
    figure: impl Fn(&Point) -> Option<Spread>,
) -> Figure<'r> {
    let mut curves = BTreeMap::new();
    let mut runs = Vec::new();
    for (series, points) in systems.iter().filter(|(series, _)| series.is_measured()) {
        let of: Vec<_> = points.iter().filter_map(|(ranks, point)| Some((*ranks, figure(point)?))).collect();
        if !of.is_empty() {
            runs.extend(points.values().filter(|point| figure(point).is_some()).flat_map(Point::runs));
            curves.insert(series, of);
        }
    }
    Figure {
        title: format!("{title}: {}", key.problem),
        axis: axis.into(),
        guide: Guide::None,
        modelled: false,
        curves,
        runs,
        note: format!("Network: {}. ", key.setting.place()),
    }
}

/// The same in the unit in which its numbers are handy: of `units`, each with how many of it are one, the largest that
/// leaves the most at 1 or more.
pub fn in_handy_units<'r>(mut figure: Figure<'r>, units: &[(&str, f64)]) -> Figure<'r> {
    let most = figure.curves.values().flatten().map(|(_, of)| of.max).fold(0.0, f64::max);
    let Some((unit, scale)) = units.iter().rfind(|(_, scale)| most * scale >= 1.0).or(units.first()) else {
        return figure;
    };
    figure.curves.values_mut().flatten().for_each(|(_, of)| *of = of.map(|value| value * scale));
    figure.axis = format!("{}, {unit}", figure.axis);
    figure
}

/// The middle one, large, and from where to where.
pub fn cell(of: Spread) -> Markup {
    let (middle, range) = spread(of);
    html! { (middle) " " small { (range) } }
}
