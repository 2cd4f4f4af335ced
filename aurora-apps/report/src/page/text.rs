//! The text form of figures and lists.

use crate::Spread;
use crate::chart::unit_of;
use maud::{Markup, Render, html};

/// Writes a value with three digits.
pub fn three(value: f64) -> String {
    let digits = match value.abs() {
        0.0 | 99.95.. => 0,
        9.995.. => 1,
        0.9995.. => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

/// Writes seconds in a suitable unit.
pub fn seconds(value: f64) -> String {
    let (unit, scale) = unit_of(value);
    format!("{} {unit}", three(value * scale))
}

/// Writes the median, large, and the range.
pub fn spread(of: Spread) -> Markup {
    html! { (three(of.median)) " " (range(of)) }
}

/// Writes the minimum and the maximum, small.
pub fn range(of: Spread) -> Markup {
    html! { small { (three(of.min)) "–" (three(of.max)) } }
}

/// Writes the value, or a dash if there is none.
pub fn or_dash<T, M: Render>(of: Option<T>, show: impl Fn(T) -> M) -> Markup {
    html! { @match of.map(show) { Some(shown) => { (shown) } None => { "–" } } }
}

/// `1 run`, `2 runs`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// `a`, `a and b`, `a, b and c`.
pub fn list<T: ToString>(of: impl IntoIterator<Item = T>) -> String {
    let words: Vec<String> = of.into_iter().map(|word| word.to_string()).collect();
    match words.split_last() {
        Some((last, words)) if !words.is_empty() => format!("{} and {last}", words.join(", ")),
        _ => words.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_lists_end_with_and() {
        let figures = [0.0, 0.012_34, 1.0, 12.34, 99.96, 1234.5].map(three);
        assert_eq!(figures, ["0", "0.012", "1.00", "12.3", "100", "1234"]);
        assert_eq!([2.5, 0.0185, 2.5e-5].map(seconds), ["2.50 s", "18.5 ms", "25.0 µs"]);
        assert_eq!([&[][..], &["a"], &["a", "b"], &["a", "b", "c"]].map(list), ["", "a", "a and b", "a, b and c"]);
        assert_eq!([1, 3].map(|number| count(number, "run")), ["1 run", "3 runs"]);
    }
}
