//! Curves over the number of ranks or nodes: the middle of the repetitions, with whiskers from the least to the most.
//! Twice as many ranks are one step to the right, as in the paper's figures, so that few ranks have as much room as
//! many.

use super::ink::{GRID, Ink, PAPER, QUIET, TEXT};
use super::{At, LETTER, Sheet, WIDTH, sheet, tick_label, ticks};
use crate::Spread;
use plotters::style::text_anchor::{HPos, VPos};
use std::collections::BTreeSet;

/// How a curve looks. Dashed is what is modelled.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Style {
    /// Its colour.
    pub ink: Ink,
    /// What marks its points.
    pub mark: Mark,
    /// Whether the marks are open.
    pub hollow: bool,
    /// Whether the line is.
    pub dashed: bool,
}

/// What marks a point: a triangle stands on a side, a diamond is a square that stands on a corner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    Circle,
    Square,
    Triangle,
    Diamond,
}

impl Mark {
    /// The corners of one around `(x, y)`; of a circle, as good as round.
    pub fn corners(self, (x, y): (f64, f64), r: f64) -> Vec<(f64, f64)> {
        let (count, first, r) = match self {
            Mark::Circle => (24, 0.0, r),
            Mark::Square => (4, 0.125, r * 1.25),
            Mark::Triangle => (3, -0.25, r * 1.3),
            Mark::Diamond => (4, 0.0, r * 1.35),
        };
        let angle = |corner: usize| (first + corner as f64 / count as f64) * std::f64::consts::TAU;
        (0..count).map(|corner| (x + r * angle(corner).cos(), y + r * angle(corner).sin())).collect()
    }
}

/// One system.
#[derive(Clone, Debug)]
pub struct Curve {
    /// What the legend calls it.
    pub name: String,
    /// How it looks.
    pub style: Style,
    /// Numbers of ranks, rising, with what they come to.
    pub points: Vec<(usize, Spread)>,
}

/// What curves are held against.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Guide {
    /// Nothing.
    None,
    /// As many times as fast as there are ranks.
    Ideal,
    /// One of them is always 1.
    One,
}

/// A chart of curves.
#[derive(Clone, Debug)]
pub struct Curves {
    /// What goes up, with its unit.
    pub axis: String,
    /// What goes to the right.
    pub along: &'static str,
    /// Where the axis that goes up begins, at or below all figures.
    pub from: f64,
    /// What they are held against.
    pub guide: Guide,
    /// All of them; the last is on top.
    pub curves: Vec<Curve>,
}

/// How high a chart is, and the room around the figures: for ticks on the left and below, for the title above.
const HEIGHT: i32 = 480;
const LEFT: i32 = 84;
const RIGHT: i32 = WIDTH - 12;
const TOP: i32 = 56;
const BOTTOM: i32 = HEIGHT - 68;
/// Between the axis and the first point.
const INSIDE: f64 = 34.0;

impl Curves {
    /// All points of all curves.
    pub fn points(&self) -> impl Iterator<Item = &(usize, Spread)> {
        self.curves.iter().flat_map(|curve| &curve.points)
    }

    /// Whether there is a curve at all: two points of one system.
    pub fn is_worth_it(&self) -> bool {
        self.curves.iter().any(|curve| curve.points.len() > 1)
    }

    /// As SVG.
    pub fn svg(&self) -> String {
        let ranks: BTreeSet<usize> = self.points().map(|(ranks, _)| *ranks).collect();
        let [least, most] = [ranks.first(), ranks.last()].map(|ranks| *ranks.unwrap_or(&1) as f64);
        let highest = self.points().map(|(_, of)| of.max).fold(0.0, f64::max);
        // The ideal is to be seen, unless it would press all curves to the ground.
        let highest = match self.guide {
            Guide::Ideal if most <= 3.0 * highest => highest.max(most),
            Guide::One => highest.max(1.1),
            _ => highest,
        };
        let ticks: Vec<f64> = ticks(highest - self.from).into_iter().map(|tick| self.from + tick).collect();
        let frame = Frame { least, most, bottom: self.from, top: ticks.last().copied().unwrap_or(1.0) };
        sheet(HEIGHT, |sheet| {
            sheet.text(&self.axis, (2, 4), TEXT, HPos::Left, VPos::Top);
            for tick in ticks {
                let (_, y) = pixel(frame.place(least, tick));
                sheet.line([(LEFT, y), (RIGHT, y)], GRID, 1);
                sheet.text(&tick_label(tick), (LEFT - 8, y), QUIET, HPos::Right, VPos::Center);
            }
            // The last number is always there, of the others those that have room.
            let mut free = RIGHT + 60;
            for ranks in ranks.iter().rev() {
                let (x, _) = pixel(frame.place(*ranks as f64, self.from));
                sheet.line([(x, BOTTOM), (x, BOTTOM + 6)], GRID, 2);
                let label = ranks.to_string();
                let half = (label.len() as f64 * LETTER * 0.28) as i32;
                if x + half < free {
                    sheet.text(&label, (x, BOTTOM + 13), QUIET, HPos::Center, VPos::Top);
                    free = x - half - 8;
                }
            }
            sheet.text(self.along, (RIGHT, HEIGHT - 4), QUIET, HPos::Right, VPos::Bottom);
            self.draw_guide(sheet, &frame);
            for (number, curve) in self.curves.iter().enumerate() {
                // Whiskers of several systems stand beside each other.
                let step = (60.0 / self.curves.len() as f64).min(14.0);
                let aside = (number as f64 - (self.curves.len() as f64 - 1.0) / 2.0) * step;
                curve.draw(sheet, |ranks, value| {
                    let (x, y) = frame.place(ranks as f64, value);
                    (x + aside, y)
                });
            }
        })
    }

    fn draw_guide(&self, sheet: &Sheet<'_>, frame: &Frame) {
        let Frame { least, most, top, .. } = *frame;
        if self.guide == Guide::One {
            sheet.line([least, most].map(|ranks| pixel(frame.place(ranks, 1.0))), QUIET, 2);
        }
        const STEPS: usize = 32;
        let end = most.min(top);
        if self.guide != Guide::Ideal || end <= least {
            return;
        }
        let ranks = (0..=STEPS).map(|step| least * (end / least).powf(step as f64 / STEPS as f64));
        // An ideal that leaves the chart at once is not drawn.
        let line: Vec<At> = ranks.filter(|ranks| *ranks <= top).map(|ranks| pixel(frame.place(ranks, ranks))).collect();
        let [_, .., (x, y)] = line[..] else { return };
        sheet.line(line, QUIET, 1);
        // Beside its end, where there is room.
        let (at, anchor) = if x > RIGHT - 120 { ((x - 16, y), HPos::Right) } else { ((x + 10, y), HPos::Left) };
        sheet.text("ideal", at, QUIET, anchor, VPos::Center);
    }
}

/// Where figures stand on the sheet: the fewest and the most ranks, both ends of the axis that goes up.
#[derive(Clone, Copy, Debug)]
struct Frame {
    least: f64,
    most: f64,
    bottom: f64,
    top: f64,
}

impl Frame {
    fn place(&self, ranks: f64, value: f64) -> (f64, f64) {
        let wide = f64::from(RIGHT - LEFT) - 2.0 * INSIDE;
        let doublings = |to: f64| (to / self.least).log2();
        let part = if self.most > self.least { doublings(ranks) / doublings(self.most) } else { 0.5 };
        let x = f64::from(LEFT) + INSIDE + wide * part;
        (x, f64::from(BOTTOM) - f64::from(BOTTOM - TOP) * (value - self.bottom) / (self.top - self.bottom))
    }
}

impl Curve {
    fn draw(&self, sheet: &Sheet<'_>, place: impl Fn(usize, f64) -> (f64, f64)) {
        let Style { ink, mark, hollow, dashed } = self.style;
        let middles: Vec<_> = self.points.iter().map(|(ranks, of)| place(*ranks, of.median)).collect();
        for pair in middles.windows(2) {
            for (from, to) in if dashed { dashes(pair[0], pair[1]) } else { vec![(pair[0], pair[1])] } {
                sheet.line([pixel(from), pixel(to)], ink, 3);
            }
        }
        for (ranks, of) in &self.points {
            sheet.line([of.min, of.max].map(|value| pixel(place(*ranks, value))), ink, 2);
        }
        for middle in middles {
            let mut corners: Vec<At> = mark.corners(middle, 8.0).into_iter().map(pixel).collect();
            sheet.fill(&corners, if hollow { PAPER } else { ink });
            corners.push(corners[0]);
            sheet.line(corners, ink, 2);
        }
    }
}

fn pixel((x, y): (f64, f64)) -> At {
    (x.round() as i32, y.round() as i32)
}

type Segment = ((f64, f64), (f64, f64));

/// A line in pieces: the library's own drawing of them forgets where the last one ended.
fn dashes(from: (f64, f64), to: (f64, f64)) -> Vec<Segment> {
    const DASH: f64 = 12.0;
    let length = (to.0 - from.0).hypot(to.1 - from.1);
    let at = |done: f64| {
        let part = (done / length).min(1.0);
        (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part)
    };
    let count = (length / (2.0 * DASH)).ceil() as usize;
    (0..count).map(|dash| (at(2.0 * DASH * dash as f64), at(DASH * (2.0 * dash as f64 + 1.0)))).collect()
}
