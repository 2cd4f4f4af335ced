//! Bars of the phases of a repetition, one after the other.

use super::ink::{COMPUTING, GRID, PAPER, QUIET, SHARING, TEXT};
use super::{LETTER, Sheet, WIDTH, sheet, tick_label, ticks, unit_of};
use crate::{Kind, Spread};
use plotters::style::text_anchor::{HPos, VPos};

/// From bar to bar, its name above it included.
const ROW: i32 = 84;
/// How thick a bar is.
const BAR: i32 = 30;
/// For the title above, and the axis below.
const HEAD: i32 = 44;
const FOOT: i32 = 48;
/// Left and right of the axis.
const LEFT: i32 = 4;
const RIGHT: i32 = 40;

/// One system with so many ranks.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Who.
    pub name: String,
    /// What was done, in order; middle seconds of each.
    pub phases: Vec<(String, Kind, f64)>,
    /// Seconds of the whole repetition: a whisker.
    pub whole: Option<Spread>,
}

/// A chart of bars, from above.
pub fn bars(bars: &[Bar]) -> String {
    let sum = |bar: &Bar| bar.phases.iter().map(|(_, _, seconds)| seconds).sum::<f64>();
    let most = bars.iter().map(|bar| sum(bar).max(bar.whole.map_or(0.0, |whole| whole.max))).fold(0.0, f64::max);
    let (unit, scale) = unit_of(most);
    let ticks = ticks(most * scale);
    let end = ticks.last().copied().unwrap_or(1.0);
    let x = |seconds: f64| LEFT + (f64::from(WIDTH - LEFT - RIGHT) * seconds * scale / end).round() as i32;
    let bottom = HEAD + ROW * bars.len() as i32;
    sheet(bottom + FOOT, |sheet| {
        sheet.text(&format!("time of a repetition, {unit}"), (LEFT, 4), TEXT, HPos::Left, VPos::Top);
        for tick in &ticks {
            let at = x(tick / scale);
            sheet.line([(at, HEAD), (at, bottom)], GRID, 1);
            let anchor = if *tick == 0.0 { HPos::Left } else { HPos::Center };
            sheet.text(&tick_label(*tick), (at, bottom + 10), QUIET, anchor, VPos::Top);
        }
        for (row, bar) in bars.iter().enumerate() {
            bar.draw(sheet, HEAD + ROW * row as i32, x);
        }
    })
}

impl Bar {
    fn draw(&self, sheet: &Sheet<'_>, above: i32, x: impl Fn(f64) -> i32) {
        sheet.text(&self.name, (LEFT, above + 38), TEXT, HPos::Left, VPos::Bottom);
        let (top, bottom) = (above + 44, above + 44 + BAR);
        let (mut done, mut turns) = (0.0, [0, 0]);
        for (name, kind, seconds) in &self.phases {
            let (inks, turn) = match kind {
                Kind::Computing => (COMPUTING, &mut turns[0]),
                Kind::Sharing => (SHARING, &mut turns[1]),
            };
            let (from, to) = (x(done), x(done + seconds));
            sheet.fill(&[(from, top), (to, top), (to, bottom), (from, bottom)], inks[*turn % 2]);
            if name.chars().count() as f64 * LETTER * 0.56 < f64::from(to - from - 8) {
                sheet.text(name, ((from + to) / 2, (top + bottom) / 2), TEXT, HPos::Center, VPos::Center);
            }
            done += seconds;
            *turn += 1;
        }
        let Some(Spread { min, median, max }) = self.whole else { return };
        let [min, median, max] = [min, median, max].map(x);
        let middle = bottom - 4;
        sheet.line([(min, middle), (max, middle)], PAPER, 5);
        sheet.line([(min, middle), (max, middle)], TEXT, 2);
        sheet.line([(median, middle - 6), (median, middle + 6)], TEXT, 3);
    }
}
