//! Charts as SVG, which is written like the rest of the page: drawing needs no fonts, files or libraries of the system,
//! and viewing needs only a browser.

mod bars;
mod curves;
pub mod ink;

pub use bars::{Bar, Part, bars, times};
pub use curves::{Curve, Curves, Guide, Mark, Scale, Style};

use ink::Ink;
use maud::{Markup, html};

/// The width of a drawing, in its units. The page scales it to a column or to a phone.
const WIDTH: f64 = 800.0;

/// The height of letters in these units: on a phone about 10 pixels. They are about half as wide.
const LETTER: f64 = 23.0;

/// The position of letters by their point: below it, next to it, on it.
const BELOW: &str = "0.76em";
const BESIDE: &str = "0.5ex";
const ON: &str = "-0.5ex";

type At = (f64, f64);

fn line(points: &[At], ink: Ink, width: f64) -> Markup {
    html! { polyline points=(pairs(points)) fill="none" stroke=(ink) stroke-width=(width) {} }
}

fn fill(corners: &[At], ink: Ink) -> Markup {
    html! { polygon points=(pairs(corners)) fill=(ink) {} }
}

fn text(text: &str, (x, y): At, ink: Ink, anchor: &str, dy: &str) -> Markup {
    html! { text x=(tenth(x)) y=(tenth(y)) dy=(dy) text-anchor=(anchor) fill=(ink) { (text) } }
}

fn pairs(points: &[At]) -> String {
    points.iter().map(|(x, y)| format!("{},{} ", tenth(*x), tenth(*y))).collect()
}

fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// Returns round numbers from 0 to `most` or a little more: four to seven numbers, of which the last is the end of the
/// axis.
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

/// Returns the ticks of a logarithmic axis, from `least` or a little less to `most` or a little more: 1, 2 and 5 times
/// powers of 10.
fn logarithmic_ticks(least: f64, most: f64) -> Vec<f64> {
    let (first, last) = (least.log10().floor() as i32, most.log10().ceil() as i32);
    let powers = (first..=last.max(first) + 1).map(|power| 10f64.powi(power));
    let all: Vec<f64> = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * power)).collect();
    let begin = all.iter().rposition(|tick| *tick <= least * (1.0 + 1e-9)).unwrap_or(0);
    let end = all.iter().position(|tick| *tick >= most * (1.0 - 1e-9)).unwrap_or(all.len() - 1);
    all[begin..=end.max(begin + 1)].to_vec()
}

fn is_power_of_10(value: f64) -> bool {
    let power = value.log10();
    (power - power.round()).abs() < 1e-9
}

/// Writes a number for an axis: with all its digits, because it is round, or as a power of 10 if it is very small.
fn tick_label(value: f64) -> String {
    if 0.0 < value && value < 0.99e-4 {
        return format!("{value:.1e}").replace(".0e", "e");
    }
    format!("{value:.9}").trim_end_matches('0').trim_end_matches('.').to_string()
}

/// Returns a unit in which seconds up to `most` are handy numbers: its name, and the number of units in a second.
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
        let style = Style { ink: ink::of("aurora"), mark: Mark::CIRCLE, hollow: false, dashed };
        Curve { name: "aurora".into(), style, points: points.into_iter().collect() }
    }

    fn chart(guide: Guide, from: f64, curve: Curve) -> Curves {
        let scale = Scale::From(from);
        Curves { axis: "speed-up <&\">".into(), along: "ranks", scale, guide, curves: vec![curve] }
    }

    fn svg(guide: Guide, from: f64, curve: Curve) -> String {
        chart(guide, from, curve).svg().into_string()
    }

    #[test]
    fn a_chart_has_what_belongs_on_it_in_colours_of_the_page() {
        let rising = [1, 2, 4].map(|ranks| (ranks, Spread::exactly(0.9 * ranks as f64)));
        let even = |ranks: usize| (ranks, Spread::exactly(0.9));
        let phases = [("load", Kind::Sharing, 0.5), ("x", Kind::Sharing, 1e-4), ("multiply", Kind::Computing, 0.4)];
        let phases = phases.map(|(name, kind, seconds)| (name.to_string(), kind, seconds)).to_vec();
        let whole = Some(Spread { min: 0.8, median: 0.9, max: 0.95 });
        let bar = Bar { name: "aurora".into(), parts: Part::phases(phases), whole };
        let part = |name: &str, ink, value| Part { name: name.into(), ink, value };
        let parts = vec![part("idle", ink::COMPUTING[1], 0.1), part("blocks", ink::SHARING[1], 0.2)];
        let shares = Bar { name: "S: 0.100 + 0.200".into(), parts, whole: None };
        let speedups = chart(Guide::Ideal, 0.0, curve(false, rising)).svg().into_string();
        assert!(
            speedups.starts_with("<svg viewBox=\"0 0 800 480\"") && speedups.contains("speed-up &lt;&amp;&quot;&gt;")
        );
        // Each number of ranks has its tick.
        assert_eq!(speedups.matches(",418 ").count(), 3, "{speedups}");
        for (svg, words, inks, absent) in [
            (speedups, "ideal ranks 1 2 4", "blue grid", "5"),
            // An axis may begin above 0, and numbers of ranks never stand over each other.
            (svg(Guide::None, 0.8, curve(false, (60..=64).map(even))), "0.8 0.9 64", "blue", "0"),
            (svg(Guide::None, 0.8, curve(false, (1..=64).map(even))), "1 64", "blue", "63 ideal"),
            // There is no room for the name of the second phase.
            (times(&[bar]).into_string(), "aurora load multiply 0 400", "computing-1 sharing-1 sharing-2", "x"),
            // Shares are in no unit.
            (bars("shares", &[shares]).into_string(), "shares 0.3", "computing-2 sharing-2", "300 idle"),
            (svg(Guide::One, 0.0, curve(false, [])), "0 1", "quiet", "ideal"),
        ] {
            let has = |word: &str| svg.contains(&format!(">{word}</text>"));
            assert!(words.split(' ').all(has) && !absent.split(' ').any(has), "{words}, not {absent}: {svg}");
            assert!(inks.split(' ').all(|ink| svg.contains(&format!("\"var(--{ink})\""))), "{inks}: {svg}");
        }
    }

    #[test]
    fn a_logarithmic_axis_has_ticks_at_decades() {
        for (least, most, expected) in [
            (0.0025, 0.49, "0.002 0.005 0.01 0.02 0.05 0.1 0.2 0.5"),
            (2.5e-5, 0.003, "2e-5 5e-5 0.0001 0.0002 0.0005 0.001 0.002 0.005"),
            (0.05, 0.05, "0.05 0.1"),
            (0.05, 0.06, "0.05 0.1"),
            (1.0, 3.0, "1 2 5"),
            (0.2, 1.0, "0.2 0.5 1"),
            (3e-5, 6e-5, "2e-5 5e-5 0.0001"),
        ] {
            let labels: Vec<String> = logarithmic_ticks(least, most).into_iter().map(tick_label).collect();
            assert_eq!(labels.join(" "), expected);
        }
    }

    #[test]
    fn a_logarithmic_axis_leaves_zeros_out_and_clips_whiskers_and_guides() {
        let spread = |min, median, max| Spread { min, median, max };
        let points = [
            (1, spread(1e-9, 0.01, 0.02)),
            (2, Spread::exactly(0.1)),
            (4, spread(0.0, 0.0, 0.9)),
            (8, Spread::exactly(1.0)),
        ];
        let guide = Guide::Power(vec![(1, 0.0001), (2, 0.2), (4, 0.8), (8, 8.0)]);
        let mut chart = Curves { scale: Scale::Logarithmic, ..chart(guide, 0.0, curve(false, points)) };
        assert_eq!(chart.left_out().collect::<Vec<_>>(), [("aurora", 4)]);
        let svg = chart.svg().into_string();
        let ys = |line: &str| -> Vec<f64> {
            line.split(' ').filter_map(|point| point.split_once(',')?.1.parse().ok()).collect()
        };
        let lines =
            |svg: &str| svg.split("points=\"").skip(1).map(|line| ys(line.split('"').next().unwrap())).collect();
        let all: Vec<Vec<f64>> = lines(&svg);
        assert!(all.iter().flatten().all(|y| (48.0..=418.0).contains(y)), "{all:?}");
        // The axis ends a decade below the mean: 0.01, 0.1 and 1 are 1, 2 and 3 thirds above its end.
        let third = (412.0 - 56.0) / 3.0;
        let place = |value: f64| (4120.0 - 10.0 * third * (value.log10() + 3.0)).round() / 10.0;
        // The curve is interrupted, and its last point has a mark and a whisker of no length.
        for line in [vec![place(0.01), place(0.1)], vec![412.0, place(0.02)], vec![56.0], vec![place(0.2), place(0.8)]]
        {
            assert!(all.contains(&line), "{line:?}: {all:?}");
        }
        assert!(svg.contains(">ideal</text>") && svg.contains(">0.001</text>"), "{svg}");
        // If there are many ticks, only those at powers of 10 have labels.
        let all_labels = [">0.002</text>", ">0.005</text>", ">0.5</text>"];
        assert!(all_labels.iter().all(|label| svg.contains(label)), "{svg}");
        chart.curves[0].points[0].1 = Spread::exactly(0.0005);
        let svg = chart.svg().into_string();
        assert!(!all_labels.iter().any(|label| svg.contains(label)) && svg.contains(">0.001</text>"), "{svg}");
        chart.scale = Scale::From(0.0);
        assert_eq!(chart.left_out().count(), 0);
    }

    #[test]
    fn curves_do_not_stand_aside_of_their_numbers_of_nodes_if_there_is_an_ideal_of_unequal_nodes() {
        let points = [(1, Spread::exactly(1.0)), (2, Spread::exactly(2.0))];
        for (guide, expected) in [(Guide::Power(vec![(1, 1.0), (2, 2.0)]), 1), (Guide::None, 2)] {
            let mut chart = chart(guide, 0.0, curve(false, points));
            chart.curves.push(curve(false, points));
            let svg = chart.svg().into_string();
            let curves = svg.split("points=\"").filter(|line| line.contains("stroke-width=\"3\""));
            let lines: std::collections::BTreeSet<&str> = curves.filter_map(|line| line.split('"').next()).collect();
            assert_eq!(lines.len(), expected, "{svg}");
        }
    }

    #[test]
    fn the_page_knows_all_inks() {
        let names = ["aurora", "ect", "tcp", "S", "R", "G", "mpi-isend-whole", "mpi-collective", "mpi-ring", "naive"];
        let all = [ink::TEXT, ink::QUIET, ink::GRID, ink::PAPER].into_iter().chain(ink::COMPUTING).chain(ink::SHARING);
        for ink in all.chain(names.map(ink::of)) {
            let value = format!("{}: #", ink.trim_start_matches("var(").trim_end_matches(')'));
            // By day, by night and on paper.
            assert_eq!(include_str!("../page/style.css").matches(&value).count(), 3, "{ink}");
        }
    }

    #[test]
    fn what_is_modelled_is_dashed_and_one_point_is_no_curve() {
        let points = [1, 2, 4].map(|ranks| (ranks, Spread::exactly(ranks as f64)));
        let is_dashed = |dashed| svg(Guide::None, 0.0, curve(dashed, points)).contains("stroke-dasharray=\"12 12\"");
        assert_eq!([false, true].map(is_dashed), [false, true]);
        let mut one = chart(Guide::None, 0.0, curve(false, points[..1].iter().copied()));
        assert!(!one.is_worth_it());
        one.curves.push(curve(false, points));
        assert!(one.is_worth_it());
    }
}
