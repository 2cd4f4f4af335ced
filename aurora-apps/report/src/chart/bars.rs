//! Bars of parts that stand one after the other: the phases of a repetition, or the overheads of a policy.

use super::ink::{COMPUTING, GRID, Ink, PAPER, QUIET, SHARING, TEXT};
use super::{BELOW, BESIDE, LETTER, ON, WIDTH, fill, line, text, tick_label, ticks, unit_of};
use crate::{Kind, Spread};
use maud::{Markup, html};

/// The distance between bars, including the name above each bar, and the thickness of a bar.
const ROW: f64 = 84.0;
const BAR: f64 = 30.0;
/// The space above the bars, for the title, and below them, for the axis.
const HEAD: f64 = 44.0;
const FOOT: f64 = 48.0;
/// The space on the left and on the right of the axis.
const LEFT: f64 = 4.0;
const RIGHT: f64 = 40.0;

/// One system with a number of ranks, or one policy.
#[derive(Clone, Debug)]
pub struct Bar {
    pub name: String,
    /// The parts from the left.
    pub parts: Vec<Part>,
    /// The sum of the parts in all repetitions, drawn as a whisker.
    pub whole: Option<Spread>,
}

/// A part of a bar.
#[derive(Clone, Debug)]
pub struct Part {
    /// The name of a phase is written on it if there is room.
    pub name: String,
    pub ink: Ink,
    pub value: f64,
}

impl Part {
    /// Makes parts of phases with their seconds. Phases of a kind have its two colours in turns.
    pub fn phases(phases: impl IntoIterator<Item = (String, Kind, f64)>) -> Vec<Part> {
        let mut turns = [0, 0];
        let part = |(name, kind, value)| {
            let (inks, turn) = match kind {
                Kind::Computing => (COMPUTING, &mut turns[0]),
                Kind::Sharing => (SHARING, &mut turns[1]),
            };
            *turn += 1;
            Part { name, ink: inks[(*turn - 1) % 2], value }
        };
        phases.into_iter().map(part).collect()
    }
}

impl Bar {
    /// Returns the sum of the parts.
    pub fn sum(&self) -> f64 {
        self.parts.iter().map(|part| part.value).sum()
    }

    fn end(&self) -> f64 {
        self.sum().max(self.whole.map_or(0.0, |whole| whole.max))
    }
}

/// Draws a chart of bars of seconds, from above.
pub fn times(bars: &[Bar]) -> Markup {
    let (unit, scale) = unit_of(bars.iter().map(Bar::end).fold(0.0, f64::max));
    scaled(&format!("time of a repetition, {unit}"), scale, true, bars)
}

/// Draws a chart of bars over an axis with this name, from above. A legend has the names of the parts.
pub fn bars(axis: &str, bars: &[Bar]) -> Markup {
    scaled(axis, 1.0, false, bars)
}

fn scaled(axis: &str, scale: f64, has_names: bool, bars: &[Bar]) -> Markup {
    let ticks = ticks(bars.iter().map(Bar::end).fold(0.0, f64::max) * scale);
    let end = ticks.last().copied().unwrap_or(1.0);
    let x = |value: f64| LEFT + (WIDTH - LEFT - RIGHT) * value * scale / end;
    let bottom = HEAD + ROW * bars.len() as f64;
    html! { svg viewBox={ "0 0 " (WIDTH) " " (bottom + FOOT) } font-size=(LETTER) {
        (text(axis, (LEFT, 4.0), TEXT, "start", BELOW))
        @for tick in &ticks {
            @let (at, anchor) = (x(tick / scale), if *tick == 0.0 { "start" } else { "middle" });
            (line(&[(at, HEAD), (at, bottom)], GRID, 1.0))
            (text(&tick_label(*tick), (at, bottom + 10.0), QUIET, anchor, BELOW))
        }
        @for (row, bar) in bars.iter().enumerate() { (bar.draw(HEAD + ROW * row as f64, has_names, x)) }
    } }
}

impl Bar {
    fn draw(&self, above: f64, has_names: bool, x: impl Fn(f64) -> f64) -> Markup {
        let (top, bottom) = (above + 44.0, above + 44.0 + BAR);
        let mut done = 0.0;
        let parts = self.parts.iter().map(|Part { name, ink, value }| {
            let (from, to) = (x(done), x(done + value));
            done += value;
            let has_name = has_names && name.chars().count() as f64 * LETTER * 0.56 < to - from - 8.0;
            html! {
                (fill(&[(from, top), (to, top), (to, bottom), (from, bottom)], ink))
                @if has_name { (text(name, ((from + to) / 2.0, (top + bottom) / 2.0), TEXT, "middle", BESIDE)) }
            }
        });
        html! {
            (text(&self.name, (LEFT, above + 38.0), TEXT, "start", ON))
            @for part in parts { (part) }
            @if let Some(whole) = self.whole {
                @let (Spread { min, median, max }, middle) = (whole.map(x), bottom - 4.0);
                (line(&[(min, middle), (max, middle)], PAPER, 5.0))
                (line(&[(min, middle), (max, middle)], TEXT, 2.0))
                (line(&[(median, middle - 6.0), (median, middle + 6.0)], TEXT, 3.0))
            }
        }
    }
}
