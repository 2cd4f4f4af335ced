//! Curves over the number of ranks or nodes: the median or mean of the repetitions, with whiskers from the minimum to
//! the maximum. A doubling of the ranks is one step to the right, as in the paper's figures, so that few ranks have as
//! much room as many ranks.

use super::ink::{GRID, Ink, PAPER, QUIET, TEXT};
use super::{
    At, BELOW, BESIDE, LETTER, ON, WIDTH, is_power_of_10, line, logarithmic_ticks, pairs, text, tick_label, ticks,
};
use crate::Spread;
use maud::{Markup, html};
use std::collections::BTreeSet;
use std::f64::consts::TAU;

/// The style of a curve. Modelled curves are dashed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Style {
    pub ink: Ink,
    pub mark: Mark,
    pub hollow: bool,
    pub dashed: bool,
}

/// The mark of a point: the number of corners, the turn of the first corner, and the radius. 24 corners look round. A
/// triangle stands on a side, and a diamond is a square that stands on a corner.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mark(usize, f64, f64);

impl Mark {
    pub const CIRCLE: Mark = Mark(24, 0.0, 1.0);
    pub const SQUARE: Mark = Mark(4, 0.125, 1.25);
    pub const TRIANGLE: Mark = Mark(3, -0.25, 1.3);
    pub const DIAMOND: Mark = Mark(4, 0.0, 1.35);
}

impl Style {
    fn line(self, points: &[At], width: f64) -> Markup {
        let dashes = self.dashed.then(|| format!("{0} {0}", 4.0 * width));
        html! {
            polyline points=(pairs(points)) fill="none" stroke=(self.ink) stroke-width=(width)
                stroke-dasharray=[dashes] {}
        }
    }

    fn mark(self, (x, y): At, size: f64) -> Markup {
        let Mark(count, first, far) = self.mark;
        let angle = |corner: usize| (first + corner as f64 / count as f64) * TAU;
        let corner = |angle: f64| (x + size * far * angle.cos(), y + size * far * angle.sin());
        let corners: Vec<At> = (0..count).map(|number| corner(angle(number))).collect();
        let inside = if self.hollow { PAPER } else { self.ink };
        html! { polygon points=(pairs(&corners)) stroke=(self.ink) stroke-width=(size / 4.0) fill=(inside) {} }
    }

    fn draw(self, points: &[(usize, Spread)], place: impl Fn(usize, f64) -> At) -> Markup {
        let middles: Vec<At> = points.iter().map(|(ranks, of)| place(*ranks, of.median)).collect();
        html! {
            (self.line(&middles, 3.0))
            @for (ranks, of) in points {
                (line(&[of.min, of.max].map(|value| place(*ranks, value)), self.ink, 2.0))
            }
            @for middle in middles { (self.mark(middle, 8.0)) }
        }
    }

    /// Draws a piece of a curve for a legend.
    pub fn sample(self) -> Markup {
        html! {
            svg viewBox="0 0 48 18" aria-hidden="true" {
                (self.line(&[(2.0, 9.0), (46.0, 9.0)], 2.5)) (self.mark((24.0, 9.0), 5.0))
            }
        }
    }
}

/// One system.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The name in the legend.
    pub name: String,
    pub style: Style,
    /// The numbers of ranks, ascending, with their figures.
    pub points: Vec<(usize, Spread)>,
}

/// The guide line of a chart.
#[derive(Clone, PartialEq, Debug)]
pub enum Guide {
    None,
    /// The ideal speed-up: the number of ranks.
    Ideal,
    /// The ideal speed-up of nodes with different speeds: the sum of the speeds for each number of nodes.
    Power(Vec<(usize, f64)>),
    /// A line at 1.
    One,
}

/// The vertical axis.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scale {
    /// Linear. It begins at this value, which is at or below all figures.
    From(f64),
    /// Logarithmic. A figure below a millionth of the maximum has no point.
    Logarithmic,
}

/// A chart of curves.
#[derive(Clone, Debug)]
pub struct Curves {
    /// The name of the vertical axis, with its unit.
    pub axis: String,
    /// The name of the horizontal axis.
    pub along: &'static str,
    pub scale: Scale,
    pub guide: Guide,
    /// All curves; the last is drawn on top.
    pub curves: Vec<Curve>,
}

/// The height of a chart, and the space around the figures: for ticks on the left and below, for the title above.
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = WIDTH - 12.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = HEIGHT - 68.0;
/// The space between the axis and the first point.
const INSIDE: f64 = 34.0;

impl Curves {
    /// Returns all points of all curves.
    pub fn points(&self) -> impl Iterator<Item = &(usize, Spread)> {
        self.curves.iter().flat_map(|curve| &curve.points)
    }

    /// Returns whether there is a curve: two points of one system.
    pub fn is_worth_it(&self) -> bool {
        self.curves.iter().any(|curve| curve.points.len() > 1)
    }

    /// Returns the points that have no place on a logarithmic axis: the names of their curves, and their numbers of
    /// ranks.
    pub fn left_out(&self) -> impl Iterator<Item = (&str, usize)> {
        let has_place = self.has_place();
        let points = self.curves.iter().flat_map(|curve| curve.points.iter().map(|point| (&*curve.name, point)));
        points.filter(move |(_, (_, of))| !has_place(of)).map(|(name, (ranks, _))| (name, *ranks))
    }

    fn has_place(&self) -> impl Fn(&Spread) -> bool + Copy {
        let highest = self.points().map(|(_, of)| of.max).fold(0.0, f64::max);
        let above = if self.scale == Scale::Logarithmic { highest * 1e-6 } else { f64::NEG_INFINITY };
        move |of| of.median > above
    }

    fn ticks(&self, highest: f64) -> Vec<f64> {
        let has_place = self.has_place();
        let points = self.points().map(|(_, of)| of).filter(|of| has_place(of));
        // A whisker lengthens a logarithmic axis by a decade at most.
        let lowest = points.map(|of| of.min.max(of.median / 10.0)).fold(highest, f64::min);
        match self.scale {
            Scale::From(from) => ticks(highest - from).into_iter().map(|tick| from + tick).collect(),
            Scale::Logarithmic if lowest > 0.0 => logarithmic_ticks(lowest, highest),
            Scale::Logarithmic => vec![0.1, 1.0],
        }
    }

    /// Draws the chart as SVG.
    pub fn svg(&self) -> Markup {
        let ranks: BTreeSet<usize> = self.points().map(|(ranks, _)| *ranks).collect();
        let [least, most] = [ranks.first(), ranks.last()].map(|ranks| *ranks.unwrap_or(&1) as f64);
        let highest = self.points().map(|(_, of)| of.max).fold(0.0, f64::max);
        // The ideal must be visible, unless it would press all curves to the bottom.
        let ideal = match &self.guide {
            Guide::Ideal => most,
            Guide::Power(of) => of.iter().map(|(_, power)| *power).fold(0.0, f64::max),
            Guide::One => 1.1,
            Guide::None => 0.0,
        };
        let highest = if ideal <= 3.0 * highest || self.guide == Guide::One { highest.max(ideal) } else { highest };
        let ticks = self.ticks(highest);
        let [bottom, top] = [ticks.first(), ticks.last()].map(|end| end.copied().unwrap_or(1.0));
        let frame = Frame { least, most, bottom, top, is_logarithmic: self.scale == Scale::Logarithmic };
        let all_labels = !frame.is_logarithmic || ticks.len() <= 10;
        let has_place = self.has_place();
        // Curves stand next to each other. If there is an ideal, they stand closer or in the same place, because a mark
        // on the left of its number of ranks seems to be above the ideal.
        let room = match self.guide {
            Guide::Power(_) => 0.0,
            Guide::Ideal if self.curves.len() > 4 => 24.0,
            _ => 60.0,
        };
        // The last number is always shown, and others if they have room.
        let mut free = RIGHT + 60.0;
        let numbers = ranks.iter().rev().map(|ranks| {
            let (x, label) = (frame.place(*ranks as f64, bottom).0, ranks.to_string());
            let half = label.len() as f64 * LETTER * 0.28;
            let has_room = x + half < free;
            free = if has_room { x - half - 8.0 } else { free };
            html! {
                (line(&[(x, BOTTOM), (x, BOTTOM + 6.0)], GRID, 2.0))
                @if has_room { (text(&label, (x, BOTTOM + 13.0), QUIET, "middle", BELOW)) }
            }
        });
        html! { svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } font-size=(LETTER) {
            (text(&self.axis, (2.0, 4.0), TEXT, "start", BELOW))
            @for tick in ticks {
                @let (_, y) = frame.place(least, tick);
                (line(&[(LEFT, y), (RIGHT, y)], GRID, 1.0))
                @if all_labels || is_power_of_10(tick) {
                    (text(&tick_label(tick), (LEFT - 8.0, y), QUIET, "end", BESIDE))
                }
            }
            @for number in numbers { (number) }
            (text(self.along, (RIGHT, HEIGHT - 4.0), QUIET, "end", ON))
            (self.draw_guide(frame))
            @for (number, curve) in self.curves.iter().enumerate() {
                // Whiskers of several systems are drawn next to each other.
                @let step = (room / self.curves.len() as f64).min(14.0);
                @let aside = (number as f64 - (self.curves.len() as f64 - 1.0) / 2.0) * step;
                // A curve is interrupted at a point without a place.
                @for points in curve.points.split(|(_, of)| !has_place(of)) {
                    (curve.style.draw(points, |ranks, value| {
                        let (x, y) = frame.place(ranks as f64, value);
                        (x + aside, y)
                    }))
                }
            }
        } }
    }

    fn draw_guide(&self, frame: Frame) -> Markup {
        const STEPS: usize = 32;
        let Frame { least, most, bottom, top, .. } = frame;
        let end = most.min(top);
        let guide: Vec<At> = match &self.guide {
            Guide::None => Vec::new(),
            Guide::One => vec![(least, 1.0), (most, 1.0)],
            Guide::Ideal => {
                let ranks = (0..=STEPS).map(|step| least * (end / least).powf(step as f64 / STEPS as f64));
                ranks.map(|ranks| (ranks, ranks)).collect()
            }
            Guide::Power(of) => of.iter().map(|(nodes, power)| (*nodes as f64, *power)).collect(),
        };
        // A guide that leaves the chart at once is not drawn.
        let guide: Vec<At> = guide
            .into_iter()
            .filter(|(ranks, value)| *ranks <= most && (bottom..=top).contains(value))
            .map(|(ranks, value)| frame.place(ranks, value))
            .collect();
        html! {
            @if self.guide == Guide::One { (line(&guide, QUIET, 2.0)) }
            @else if let [(first, _), .., (x, y)] = guide[..] && x > first {
                (line(&guide, QUIET, 1.0))
                // At the end of the line, where there is room: above the last marks, or on the right.
                @if x > RIGHT - 120.0 { (text("ideal", (x, y - 16.0), QUIET, "middle", "0")) }
                @else { (text("ideal", (x + 10.0, y), QUIET, "start", BESIDE)) }
            }
        }
    }
}

/// The mapping of figures to the sheet: the minimum and the maximum number of ranks, and both ends of the vertical
/// axis.
#[derive(Clone, Copy, Debug)]
struct Frame {
    least: f64,
    most: f64,
    bottom: f64,
    top: f64,
    is_logarithmic: bool,
}

impl Frame {
    fn place(&self, ranks: f64, value: f64) -> At {
        let doublings = |to: f64| (to / self.least).log2();
        let part = if self.most > self.least { doublings(ranks) / doublings(self.most) } else { 0.5 };
        let x = LEFT + INSIDE + (RIGHT - LEFT - 2.0 * INSIDE) * part;
        let Frame { bottom, top, .. } = *self;
        let value = value.max(bottom).min(top);
        let height = match self.is_logarithmic {
            true => (value / bottom).log10() / (top / bottom).log10(),
            false => (value - bottom) / (top - bottom),
        };
        (x, BOTTOM - (BOTTOM - TOP) * height)
    }
}
