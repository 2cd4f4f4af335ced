//! Bars of the phases of a repetition, one after the other.

use super::ink::{COMPUTING, GRID, PAPER, QUIET, SHARING, TEXT};
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

/// One system with a number of ranks.
#[derive(Clone, Debug)]
pub struct Bar {
    pub name: String,
    /// The phases in order, with the median seconds of each.
    pub phases: Vec<(String, Kind, f64)>,
    /// The seconds of the whole repetition, drawn as a whisker.
    pub whole: Option<Spread>,
}

/// Draws a chart of bars, from above.
pub fn bars(bars: &[Bar]) -> Markup {
    let sum = |bar: &Bar| bar.phases.iter().map(|(_, _, seconds)| seconds).sum::<f64>();
    let most = bars.iter().map(|bar| sum(bar).max(bar.whole.map_or(0.0, |whole| whole.max))).fold(0.0, f64::max);
    let (unit, scale) = unit_of(most);
    let ticks = ticks(most * scale);
    let end = ticks.last().copied().unwrap_or(1.0);
    let x = |seconds: f64| LEFT + (WIDTH - LEFT - RIGHT) * seconds * scale / end;
    let bottom = HEAD + ROW * bars.len() as f64;
    html! { svg viewBox={ "0 0 " (WIDTH) " " (bottom + FOOT) } font-size=(LETTER) {
        (text(&format!("time of a repetition, {unit}"), (LEFT, 4.0), TEXT, "start", BELOW))
        @for tick in &ticks {
            @let (at, anchor) = (x(tick / scale), if *tick == 0.0 { "start" } else { "middle" });
            (line(&[(at, HEAD), (at, bottom)], GRID, 1.0))
            (text(&tick_label(*tick), (at, bottom + 10.0), QUIET, anchor, BELOW))
        }
        @for (row, bar) in bars.iter().enumerate() { (bar.draw(HEAD + ROW * row as f64, x)) }
    } }
}

impl Bar {
    fn draw(&self, above: f64, x: impl Fn(f64) -> f64) -> Markup {
        let (top, bottom) = (above + 44.0, above + 44.0 + BAR);
        let (mut done, mut turns) = (0.0, [0, 0]);
        let parts = self.phases.iter().map(|(name, kind, seconds)| {
            let (inks, turn) = match kind {
                Kind::Computing => (COMPUTING, &mut turns[0]),
                Kind::Sharing => (SHARING, &mut turns[1]),
            };
            let (from, to, ink) = (x(done), x(done + seconds), inks[*turn % 2]);
            done += seconds;
            *turn += 1;
            let has_room = name.chars().count() as f64 * LETTER * 0.56 < to - from - 8.0;
            html! {
                (fill(&[(from, top), (to, top), (to, bottom), (from, bottom)], ink))
                @if has_room { (text(name, ((from + to) / 2.0, (top + bottom) / 2.0), TEXT, "middle", BESIDE)) }
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
