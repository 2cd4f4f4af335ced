//! Bars of the phases of a repetition, one after the other.

use super::ink::{COMPUTING, GRID, PAPER, QUIET, SHARING, TEXT};
use super::{LETTER, Sheet, WIDTH, letters, sheet, tick_label, ticks, unit_of};
use crate::Kind;
use crate::Spread;
use plotters::prelude::*;
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

/// A chart of bars.
#[derive(Clone, Debug)]
pub struct Bars {
    /// From above.
    pub bars: Vec<Bar>,
}

impl Bars {
    /// As SVG.
    pub fn svg(&self) -> String {
        sheet((HEAD + FOOT + ROW * self.bars.len() as i32) as u32, |root| self.draw(root))
    }

    fn draw(&self, root: &Sheet<'_>) -> Result<(), DrawingAreaErrorKind<std::io::Error>> {
        let sum = |bar: &Bar| bar.phases.iter().map(|(_, _, seconds)| seconds).sum::<f64>();
        let most =
            self.bars.iter().map(|bar| sum(bar).max(bar.whole.map_or(0.0, |whole| whole.max))).fold(0.0, f64::max);
        let (unit, scale) = unit_of(most);
        let ticks = ticks(most * scale);
        let end = ticks.last().copied().unwrap_or(1.0);
        let x = |seconds: f64| LEFT + (f64::from(WIDTH as i32 - LEFT - RIGHT) * seconds * scale / end).round() as i32;
        let bottom = HEAD + ROW * self.bars.len() as i32;

        let title = format!("time of a repetition, {unit}");
        root.draw(&Text::new(title, (LEFT, 4), letters(TEXT, HPos::Left, VPos::Top)))?;
        for tick in &ticks {
            let at = x(tick / scale);
            root.draw(&PathElement::new([(at, HEAD), (at, bottom)], GRID.color().stroke_width(1)))?;
            let anchor = if *tick == 0.0 { HPos::Left } else { HPos::Center };
            root.draw(&Text::new(tick_label(*tick), (at, bottom + 10), letters(QUIET, anchor, VPos::Top)))?;
        }
        for (row, bar) in self.bars.iter().enumerate() {
            bar.draw(root, HEAD + ROW * row as i32, &x)?;
        }
        Ok(())
    }
}

impl Bar {
    fn draw(
        &self,
        root: &Sheet<'_>,
        above: i32,
        x: &impl Fn(f64) -> i32,
    ) -> Result<(), DrawingAreaErrorKind<std::io::Error>> {
        let name = letters(TEXT, HPos::Left, VPos::Bottom);
        root.draw(&Text::new(self.name.clone(), (LEFT, above + 38), name))?;
        let (top, bottom) = (above + 44, above + 44 + BAR);
        let (mut done, mut turns) = (0.0, [0, 0]);
        for (name, kind, seconds) in &self.phases {
            let (inks, turn) = match kind {
                Kind::Computing => (COMPUTING, &mut turns[0]),
                Kind::Sharing => (SHARING, &mut turns[1]),
            };
            let (from, to) = (x(done), x(done + seconds));
            root.draw(&Rectangle::new([(from, top), (to, bottom)], inks[*turn % 2].color().filled()))?;
            // Letters are about half as wide as they are high.
            let fits = name.chars().count() as f64 * LETTER * 0.56 < f64::from(to - from - 8);
            if fits {
                let at = ((from + to) / 2, (top + bottom) / 2);
                root.draw(&Text::new(name.clone(), at, letters(TEXT, HPos::Center, VPos::Center)))?;
            }
            done += seconds;
            *turn += 1;
        }
        let middle = (top + bottom) / 2 + BAR / 2 - 4;
        let Some(Spread { min, median, max }) = self.whole else { return Ok(()) };
        let [min, median, max] = [min, median, max].map(x);
        root.draw(&PathElement::new([(min, middle), (max, middle)], PAPER.color().stroke_width(5)))?;
        root.draw(&PathElement::new([(min, middle), (max, middle)], TEXT.color().stroke_width(2)))?;
        root.draw(&PathElement::new([(median, middle - 6), (median, middle + 6)], TEXT.color().stroke_width(3)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_their_phases_in_order_and_name_those_with_room() {
        let phases = vec![
            ("load".into(), Kind::Sharing, 0.5),
            ("x".into(), Kind::Sharing, 1e-4),
            ("multiply".into(), Kind::Computing, 0.4),
        ];
        let bar =
            Bar { name: "4 ranks, aurora".into(), phases, whole: Some(Spread { min: 0.8, median: 0.9, max: 0.95 }) };
        let svg = Bars { bars: vec![bar] }.svg();
        for part in ["time of a repetition, ms", "4 ranks, aurora", "\nload\n", "\nmultiply\n", "var(--computing-1)"] {
            assert!(svg.contains(part), "{part:?} is not in {svg}");
        }
        assert!(svg.contains("var(--sharing-2)") && !svg.contains("\nx\n"), "{svg}");
        assert!(!svg.contains("=\"#"), "{svg}");
    }
}
