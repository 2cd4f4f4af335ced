//! Charts as SVG: no fonts, files or libraries of the system are needed to draw them, and none but a browser's to see
//! them.

mod bars;
mod curves;
pub mod ink;

pub use bars::{Bar, bars};
pub use curves::{Curve, Curves, Guide, Mark, Style};

use ink::Ink;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Units of a drawing's width. The page scales it to a column or to a phone.
const WIDTH: i32 = 800;

/// The height of letters in these units: on a phone about 10 pixels. They are about half as wide.
const LETTER: f64 = 23.0;

/// The drawing library speaks of another size than SVG.
const LAYOUT: f64 = 1.24;

type At = (i32, i32);

/// What is drawn on. Nothing can fail, since it goes to memory.
struct Sheet<'s>(DrawingArea<SVGBackend<'s>, Shift>);

/// Draws on a sheet `height` units high.
fn sheet(height: i32, draw: impl FnOnce(&Sheet<'_>)) -> String {
    let mut svg = String::new();
    {
        let sheet = Sheet(SVGBackend::with_string(&mut svg, (WIDTH as u32, height as u32)).into_drawing_area());
        draw(&sheet);
        sheet.0.present().expect("a drawing in memory");
    }
    // The page decides how wide it is.
    ink::themed(&svg).replacen(&format!("width=\"{WIDTH}\" height=\"{height}\" "), "", 1)
}

impl Sheet<'_> {
    fn line(&self, points: impl Into<Vec<At>>, ink: Ink, width: u32) {
        self.0.draw(&PathElement::new(points, ink.color().stroke_width(width))).expect("a drawing in memory");
    }

    fn fill(&self, corners: &[At], ink: Ink) {
        self.0.draw(&Polygon::new(corners, ink.color())).expect("a drawing in memory");
    }

    fn text(&self, text: &str, at: At, ink: Ink, h: HPos, v: VPos) {
        let style = ("sans-serif", LETTER * LAYOUT).into_font().color(&ink.color()).pos(Pos::new(h, v));
        self.0.draw(&Text::new(text, at, style)).expect("a drawing in memory");
    }
}

/// Round numbers from 0 to `most` or a little more: four to seven of them, the last one the end of the axis.
fn ticks(most: f64) -> Vec<f64> {
    if !(most > 0.0 && most.is_finite()) {
        return vec![0.0, 1.0];
    }
    let rough = most / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0].iter().map(|by| by * power).find(|step| *step >= rough * 0.999);
    let step = step.unwrap_or(10.0 * power);
    let count = (most / step - 1e-9).ceil().max(1.0) as usize;
    (0..=count).map(|number| number as f64 * step).collect()
}

/// A number as one writes it on an axis: all its digits, as it is a round one.
fn tick_label(value: f64) -> String {
    format!("{value:.9}").trim_end_matches('0').trim_end_matches('.').to_string()
}

/// A unit in which seconds up to `most` are handy numbers: its name, and how many of it are a second.
pub fn unit_of(most: f64) -> (&'static str, f64) {
    match most {
        1.0.. => ("s", 1.0),
        1e-3.. => ("ms", 1e3),
        1e-6.. => ("µs", 1e6),
        _ => ("ns", 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Spread};

    #[test]
    fn ticks_are_round_and_reach_far_enough() {
        assert_eq!(ticks(16.0), [0.0, 5.0, 10.0, 15.0, 20.0]);
        assert_eq!(ticks(1.0), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks(0.0), [0.0, 1.0]);
        assert_eq!([0.0, 0.25, 2.5, 10.0, 0.6000000000000001].map(tick_label), ["0", "0.25", "2.5", "10", "0.6"]);
        for most in [1e-9, 0.003, 0.004, 0.7, 1.3, 4.0, 11.0, 12.4, 26.0, 99.0, 240.0, 12345.0] {
            let ticks = ticks(most);
            assert!(ticks.last().is_some_and(|last| *last >= most * 0.999), "{most}: {ticks:?}");
            assert!((2..=8).contains(&ticks.len()), "{most}: {ticks:?}");
            let read = ticks.iter().map(|tick| tick_label(*tick).parse::<f64>().expect("a number"));
            assert!(read.zip(&ticks).all(|(read, tick)| (read - tick).abs() < 1e-9), "{ticks:?}");
        }
        assert_eq!([2.0, 0.02, 2e-5, 2e-8].map(|most| unit_of(most).0), ["s", "ms", "µs", "ns"]);
    }

    fn curve(dashed: bool, points: impl IntoIterator<Item = (usize, Spread)>) -> Curve {
        let style = Style { ink: ink::of("aurora"), mark: Mark::Circle, hollow: false, dashed };
        Curve { name: "aurora".into(), style, points: points.into_iter().collect() }
    }

    fn chart(guide: Guide, from: f64, curve: Curve) -> Curves {
        Curves { axis: "speed-up <&\">".into(), along: "ranks", from, guide, curves: vec![curve] }
    }

    #[test]
    fn a_chart_has_what_belongs_on_it_in_colours_of_the_page() {
        let rising = [1, 2, 4].map(|ranks| (ranks, Spread::exactly(0.9 * ranks as f64)));
        let even = |ranks: usize| (ranks, Spread::exactly(0.9));
        let phases = [("load", Kind::Sharing, 0.5), ("x", Kind::Sharing, 1e-4), ("multiply", Kind::Computing, 0.4)];
        let phases = phases.map(|(name, kind, seconds)| (name.to_string(), kind, seconds)).to_vec();
        let bar = Bar { name: "aurora".into(), phases, whole: Some(Spread { min: 0.8, median: 0.9, max: 0.95 }) };
        let speedups = chart(Guide::Ideal, 0.0, curve(false, rising)).svg();
        assert!(
            speedups.starts_with("<svg viewBox=\"0 0 800 480\"") && speedups.contains("speed-up &lt;&amp;&quot;&gt;")
        );
        // Each number of ranks has its tick.
        assert_eq!(speedups.matches(",418 ").count(), 3, "{speedups}");
        for (svg, words, inks, absent) in [
            (speedups, "ideal ranks 1 2 4", "blue grid", "5"),
            // An axis may begin above 0, and numbers of ranks never stand over each other.
            (chart(Guide::None, 0.8, curve(false, (60..=64).map(even))).svg(), "0.8 0.9 64", "blue", "0"),
            (chart(Guide::None, 0.8, curve(false, (1..=64).map(even))).svg(), "1 64", "blue", "63 ideal"),
            // There is no room for the name of the second phase.
            (bars(&[bar]), "aurora load multiply 0 400", "computing-1 sharing-1 sharing-2", "x"),
            (Curves { curves: Vec::new(), ..chart(Guide::One, 0.0, curve(false, [])) }.svg(), "0 1", "quiet", "ideal"),
        ] {
            let has = |word: &str| svg.contains(&format!("\n{word}\n"));
            assert!(words.split(' ').all(has) && !absent.split(' ').any(has), "{words}, not {absent}: {svg}");
            assert!(inks.split(' ').all(|ink| svg.contains(&format!("\"var(--{ink})\""))), "{inks}: {svg}");
            assert!(!svg.contains("=\"#"), "a colour that the page does not know: {svg}");
        }
        let text = "<text>&quot;#010003&quot;</text>";
        assert_eq!(
            ink::themed(&format!("<line stroke=\"#01000E\"/>{text}")),
            format!("<line stroke=\"var(--quiet-2)\"/>{text}")
        );
    }

    #[test]
    fn what_is_modelled_is_dashed_and_one_point_is_no_curve() {
        let points = [1, 2, 4].map(|ranks| (ranks, Spread::exactly(ranks as f64)));
        let lines = |dashed| chart(Guide::None, 0.0, curve(dashed, points)).svg().matches("stroke-width=\"3\"").count();
        assert_eq!(lines(false), 2);
        assert!(lines(true) > 10);
        let mut one = chart(Guide::None, 0.0, curve(false, points[..1].iter().copied()));
        assert!(!one.is_worth_it());
        one.curves.push(curve(false, points));
        assert!(one.is_worth_it());
    }
}
