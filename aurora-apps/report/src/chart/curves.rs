//! Curves over the number of ranks or nodes: the middle of the repetitions, with whiskers from the least to the most.
//! Twice as many ranks are one step to the right, as in the paper's figures, so that few ranks have as much room as
//! many.

use super::ink::{GRID, Ink, PAPER, QUIET, TEXT};
use super::{LETTER, Sheet, WIDTH, letters, sheet, tick_label, ticks};
use crate::Spread;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// How high a chart is, for its width.
const HEIGHT: u32 = 480;

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

/// What marks a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// A disc.
    Circle,
    /// A square.
    Square,
    /// A triangle that stands on a side.
    Triangle,
    /// A square that stands on a corner.
    Diamond,
}

impl Mark {
    /// The corners of one around `(x, y)`; of a circle, as good as round.
    pub fn corners(self, (x, y): (f64, f64), r: f64) -> Vec<(f64, f64)> {
        let turned = |count: usize, first: f64, r: f64| -> Vec<(f64, f64)> {
            let angle = |corner: usize| (first + corner as f64 / count as f64) * std::f64::consts::TAU;
            (0..count).map(|corner| (x + r * angle(corner).cos(), y + r * angle(corner).sin())).collect()
        };
        match self {
            Mark::Circle => turned(24, 0.0, r),
            Mark::Square => turned(4, 0.125, r * 1.25),
            Mark::Triangle => turned(3, -0.25, r * 1.3),
            Mark::Diamond => turned(4, 0.0, r * 1.35),
        }
    }
}

/// One system.
#[derive(Clone, Debug)]
pub struct Curve {
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
    pub title: String,
    /// What goes to the right.
    pub along: &'static str,
    /// Where the axis that goes up begins, at or below all figures.
    pub from: f64,
    /// What they are held against.
    pub guide: Guide,
    /// All of them; the last is on top.
    pub curves: Vec<Curve>,
}

impl Curves {
    /// Whether there is a curve at all: two points of one system.
    pub fn is_worth_it(&self) -> bool {
        self.curves.iter().any(|curve| curve.points.len() > 1)
    }

    /// As SVG.
    pub fn svg(&self) -> String {
        sheet(HEIGHT, |root| self.draw(root))
    }

    fn ranks(&self) -> Vec<usize> {
        let mut ranks: Vec<usize> =
            self.curves.iter().flat_map(|curve| &curve.points).map(|(ranks, _)| *ranks).collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }

    fn draw(&self, root: &Sheet<'_>) -> Result<(), DrawingAreaErrorKind<std::io::Error>> {
        let ranks = self.ranks();
        let (least, most) = (*ranks.first().unwrap_or(&1) as f64, *ranks.last().unwrap_or(&1) as f64);
        let highest = self.curves.iter().flat_map(|curve| &curve.points).map(|(_, of)| of.max).fold(0.0, f64::max);
        // The ideal is to be seen, unless it would press all curves to the ground.
        let highest = match self.guide {
            Guide::Ideal if most <= 3.0 * highest => highest.max(most),
            Guide::One => highest.max(1.1),
            _ => highest,
        };
        let ticks: Vec<f64> = ticks(highest - self.from).into_iter().map(|tick| self.from + tick).collect();
        let top = ticks.last().copied().unwrap_or(1.0);
        root.draw(&Text::new(self.title.clone(), (2, 4), letters(TEXT, HPos::Left, VPos::Top)))?;
        let frame = Frame { least, most, bottom: self.from, top };
        for tick in ticks {
            let (_, y) = pixel(frame.place(least, tick));
            root.draw(&PathElement::new([(LEFT, y), (RIGHT, y)], GRID.color().stroke_width(1)))?;
            root.draw(&Text::new(tick_label(tick), (LEFT - 8, y), letters(QUIET, HPos::Right, VPos::Center)))?;
        }
        // The last number is always there, of the others those that have room.
        let mut free = RIGHT + 60;
        for ranks in ranks.into_iter().rev() {
            let (x, _) = pixel(frame.place(ranks as f64, self.from));
            root.draw(&PathElement::new([(x, BOTTOM), (x, BOTTOM + 6)], GRID.color().stroke_width(2)))?;
            let label = ranks.to_string();
            // Digits are about half as wide as they are high.
            let half = (label.len() as f64 * LETTER * 0.28) as i32;
            if x + half < free {
                root.draw(&Text::new(label, (x, BOTTOM + 13), letters(QUIET, HPos::Center, VPos::Top)))?;
                free = x - half - 8;
            }
        }
        let below = letters(QUIET, HPos::Right, VPos::Bottom);
        root.draw(&Text::new(self.along, (RIGHT, HEIGHT as i32 - 4), below))?;

        self.draw_guide(root, &frame)?;
        for (number, curve) in self.curves.iter().enumerate() {
            // Whiskers of several systems stand beside each other.
            let step = (60.0 / self.curves.len() as f64).min(14.0);
            let aside = (number as f64 - (self.curves.len() as f64 - 1.0) / 2.0) * step;
            curve.draw(root, |ranks, value| {
                let (x, y) = frame.place(ranks, value);
                (x + aside, y)
            })?;
        }
        Ok(())
    }

    fn draw_guide(&self, root: &Sheet<'_>, frame: &Frame) -> Result<(), DrawingAreaErrorKind<std::io::Error>> {
        let Frame { least, most, top, .. } = *frame;
        if self.guide == Guide::One {
            let ends = [least, most].map(|ranks| pixel(frame.place(ranks, 1.0)));
            return root.draw(&PathElement::new(ends, QUIET.color().stroke_width(2)));
        }
        const STEPS: usize = 32;
        let end = most.min(top);
        if self.guide == Guide::None || end <= least {
            return Ok(());
        }
        let ranks = (0..=STEPS).map(|step| least * (end / least).powf(step as f64 / STEPS as f64));
        // An ideal that leaves the chart at once is not drawn.
        let line: Vec<_> = ranks.filter(|ranks| *ranks <= top).map(|ranks| pixel(frame.place(ranks, ranks))).collect();
        let [_, .., (x, y)] = line[..] else { return Ok(()) };
        root.draw(&PathElement::new(line, QUIET.color().stroke_width(1)))?;
        // Beside its end, where there is room.
        let (at, anchor) = if x > RIGHT - 120 { ((x - 16, y), HPos::Right) } else { ((x + 10, y), HPos::Left) };
        root.draw(&Text::new("ideal", at, letters(QUIET, anchor, VPos::Center)))
    }
}

/// Where figures stand on the sheet.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// Fewest ranks.
    least: f64,
    /// Most ranks.
    most: f64,
    /// The beginning of the axis that goes up.
    bottom: f64,
    /// Its end.
    top: f64,
}

/// Room around the figures: for ticks on the left and below, for the title above.
const LEFT: i32 = 84;
const RIGHT: i32 = WIDTH as i32 - 12;
const TOP: i32 = 56;
const BOTTOM: i32 = HEIGHT as i32 - 68;
/// Between the axis and the first point.
const INSIDE: f64 = 34.0;

impl Frame {
    fn place(&self, ranks: f64, value: f64) -> (f64, f64) {
        let wide = f64::from(RIGHT - LEFT) - 2.0 * INSIDE;
        let doublings = |from: f64, to: f64| (to / from).log2();
        let part =
            if self.most > self.least { doublings(self.least, ranks) / doublings(self.least, self.most) } else { 0.5 };
        let x = f64::from(LEFT) + INSIDE + wide * part;
        (x, f64::from(BOTTOM) - f64::from(BOTTOM - TOP) * (value - self.bottom) / (self.top - self.bottom))
    }
}

impl Curve {
    fn draw(
        &self,
        root: &Sheet<'_>,
        place: impl Fn(f64, f64) -> (f64, f64),
    ) -> Result<(), DrawingAreaErrorKind<std::io::Error>> {
        let Style { ink, mark, hollow, dashed } = self.style;
        let color = ink.color();
        let middles: Vec<_> = self.points.iter().map(|(ranks, of)| place(*ranks as f64, of.median)).collect();
        for pair in middles.windows(2) {
            for (from, to) in if dashed { dashes(pair[0], pair[1]) } else { vec![(pair[0], pair[1])] } {
                root.draw(&PathElement::new([pixel(from), pixel(to)], color.stroke_width(3)))?;
            }
        }
        for (ranks, of) in &self.points {
            let [least, most] = [of.min, of.max].map(|value| place(*ranks as f64, value));
            root.draw(&PathElement::new([pixel(least), pixel(most)], color.stroke_width(2)))?;
        }
        for middle in middles {
            let corners: Vec<_> = mark.corners(middle, 8.0).into_iter().map(pixel).collect();
            let inside = if hollow { PAPER.color() } else { color };
            root.draw(&Polygon::new(corners.clone(), inside))?;
            let around = corners.iter().chain(corners.first()).copied();
            root.draw(&PathElement::new(around.collect::<Vec<_>>(), color.stroke_width(2)))?;
        }
        Ok(())
    }
}

fn pixel((x, y): (f64, f64)) -> (i32, i32) {
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

#[cfg(test)]
mod tests {
    use super::super::ink::HUES;
    use super::*;

    fn curve(dashed: bool) -> Curve {
        let style = Style { ink: HUES[0], mark: Mark::Circle, hollow: false, dashed };
        let of = |ranks| (ranks, Spread { min: 0.8 * ranks as f64, median: 0.9 * ranks as f64, max: ranks as f64 });
        Curve { style, points: [1, 2, 4].map(of).to_vec() }
    }

    fn chart(curves: Vec<Curve>) -> Curves {
        Curves { title: "speed-up <&\">".into(), along: "ranks", from: 0.0, guide: Guide::Ideal, curves }
    }

    #[test]
    fn a_chart_has_its_title_ticks_ideal_and_colours_of_the_page() {
        let svg = chart(vec![curve(false)]).svg();
        assert!(svg.starts_with("<svg viewBox=\"0 0 800 480\""), "{}", &svg[..80]);
        for part in ["speed-up &lt;&amp;&quot;&gt;", "\nideal\n", "\nranks\n", "\n4\n", "var(--blue)", "var(--grid)"] {
            assert!(svg.contains(part), "{part:?} is not in {svg}");
        }
        assert!(!svg.contains("=\"#"), "a colour that the page does not know: {svg}");
    }

    #[test]
    fn what_is_modelled_is_dashed() {
        let lines = |dashed| chart(vec![curve(dashed)]).svg().matches("stroke-width=\"3\"").count();
        assert_eq!(lines(false), 2);
        assert!(lines(true) > 10);
    }

    #[test]
    fn an_axis_may_begin_above_0_and_has_no_numbers_over_each_other() {
        let points = (60..=64).map(|nodes| (nodes, Spread { min: 0.9, median: 0.9, max: 0.9 })).collect();
        let many = Curve { points, ..curve(false) };
        let svg = Curves {
            title: "".into(),
            along: "nodes",
            from: 0.8,
            guide: Guide::None,
            curves: vec![many, curve(false)],
        };
        let svg = Curves { curves: svg.curves[..1].to_vec(), ..svg }.svg();
        assert!(svg.contains("\n0.8\n") && svg.contains("\n0.9\n") && !svg.contains("\n0\n"), "{svg}");
        assert!(svg.contains("\nnodes\n") && svg.contains("\n64\n"), "{svg}");
        let points = (1..=64).map(|nodes| (nodes, Spread { min: 0.9, median: 0.9, max: 0.9 })).collect();
        let dense = Curves {
            title: "".into(),
            along: "nodes",
            from: 0.8,
            guide: Guide::None,
            curves: vec![Curve { points, ..curve(false) }],
        };
        let svg = dense.svg();
        assert!(svg.contains("\n64\n") && svg.contains("\n1\n") && !svg.contains("\n63\n"), "{svg}");
    }

    #[test]
    fn one_point_is_no_curve() {
        let mut one = curve(false);
        one.points.truncate(1);
        assert!(!chart(vec![one.clone()]).is_worth_it());
        assert!(chart(vec![one, curve(false)]).is_worth_it());
        assert!(chart(vec![]).svg().ends_with("</svg>\n"));
    }
}
