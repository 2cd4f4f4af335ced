//! Charts as SVG: no fonts, files or libraries of the system are needed to draw them, and none but a browser's to see
//! them.

pub mod bars;
pub mod curves;
pub mod ink;

use ink::Ink;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Units of a drawing's width. The page scales it to a column or to a phone.
pub const WIDTH: u32 = 800;

/// The height of letters in these units: on a phone about 10 pixels.
const LETTER: f64 = 23.0;

/// The drawing library speaks of another size than SVG.
const LAYOUT: f64 = 1.24;

/// Draws on a sheet `height` units high; what is drawn cannot fail, since it goes to memory.
fn sheet<E: std::fmt::Debug>(height: u32, draw: impl FnOnce(&Sheet<'_>) -> Result<(), E>) -> String {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        draw(&root).expect("a drawing in memory");
        root.present().expect("a drawing in memory");
    }
    let size = format!("width=\"{WIDTH}\" height=\"{height}\" ");
    ink::themed(&svg).replacen(&size, "", 1)
}

type Sheet<'s> = DrawingArea<SVGBackend<'s>, plotters::coord::Shift>;

fn letters(ink: Ink, h: HPos, v: VPos) -> TextStyle<'static> {
    ("sans-serif", LETTER * LAYOUT).into_font().color(&ink.color()).pos(Pos::new(h, v))
}

/// Round numbers from 0 to `most` or a little more: four to seven of them, the last one the end of the axis.
fn ticks(most: f64) -> Vec<f64> {
    if !(most > 0.0 && most.is_finite()) {
        return vec![0.0, 1.0];
    }
    let rough = most / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].iter().map(|by| by * power).find(|step| *step >= rough * 0.999);
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
        _ if most >= 1.0 => ("s", 1.0),
        _ if most >= 1e-3 => ("ms", 1e3),
        _ if most >= 1e-6 => ("µs", 1e6),
        _ => ("ns", 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_far_enough() {
        assert_eq!(ticks(16.0), [0.0, 5.0, 10.0, 15.0, 20.0]);
        assert_eq!(ticks(1.0), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks(0.0), [0.0, 1.0]);
        for most in [1e-9, 0.003, 0.7, 1.3, 4.0, 26.0, 99.0, 12345.0] {
            let ticks = ticks(most);
            assert!(ticks.last().is_some_and(|last| *last >= most * 0.999), "{most}: {ticks:?}");
            assert!((2..=8).contains(&ticks.len()), "{most}: {ticks:?}");
        }
        assert_eq!([0.0, 0.25, 2.5, 10.0, 0.6000000000000001].map(tick_label), ["0", "0.25", "2.5", "10", "0.6"]);
        for most in [0.004, 0.7, 11.0, 12.4, 240.0] {
            let labels: Vec<String> = ticks(most).into_iter().map(tick_label).collect();
            let read: Vec<f64> = labels.iter().map(|label| label.parse().expect("a number")).collect();
            let same = read.iter().zip(ticks(most)).all(|(read, tick)| (read - tick).abs() < 1e-9);
            assert!(same, "{labels:?} for {:?}", ticks(most));
        }
    }

    #[test]
    fn seconds_have_a_handy_unit() {
        assert_eq!([2.0, 0.02, 2e-5, 2e-8].map(|most| unit_of(most).0), ["s", "ms", "µs", "ns"]);
    }
}
