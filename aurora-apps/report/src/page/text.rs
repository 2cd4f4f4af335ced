//! How figures and lists are written.

use crate::Spread;

/// Three digits.
pub fn three(value: f64) -> String {
    let digits = match value.abs() {
        _ if value == 0.0 => 0,
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

/// Seconds in the unit that suits them.
pub fn seconds(value: f64) -> String {
    let (unit, scale) = crate::chart::unit_of(value);
    format!("{} {unit}", three(value * scale))
}

/// The middle one, and from where to where.
pub fn spread(of: Spread) -> (String, String) {
    (three(of.median), format!("{}–{}", three(of.min), three(of.max)))
}

/// `1 run`, `2 runs`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// `a`, `a and b`, `a, b and c`.
pub fn list<T: ToString>(of: impl IntoIterator<Item = T>) -> String {
    let mut words: Vec<String> = of.into_iter().map(|word| word.to_string()).collect();
    match words.pop() {
        None => String::new(),
        Some(last) if words.is_empty() => last,
        Some(last) => format!("{} and {last}", words.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits() {
        assert_eq!(
            [0.0, 0.012_34, 1.0, 12.34, 99.96, 1234.5].map(three),
            ["0", "0.012", "1.00", "12.3", "100", "1234"]
        );
        assert_eq!([2.5, 0.0185, 2.5e-5].map(seconds), ["2.50 s", "18.5 ms", "25.0 µs"]);
    }

    #[test]
    fn lists_end_with_and() {
        assert_eq!(list(["a", "b", "c"]), "a, b and c");
        assert_eq!((list([1, 2]), list([1]), list([0; 0])), ("1 and 2".into(), "1".into(), String::new()));
        assert_eq!((count(1, "run"), count(3, "run")), ("1 run".into(), "3 runs".into()));
    }
}
