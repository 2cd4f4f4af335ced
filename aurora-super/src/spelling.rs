//! Suggestions for unknown names, and texts that error messages quote.

use std::fmt::Display;

/// The maximum length of a name, in bytes. A comparison of two names takes time and memory in proportion to the product
/// of their lengths.
pub(crate) const LONGEST_NAME: usize = 100;

/// Returns a text from a file as a message can quote it: on one line, and not too long.
pub(crate) fn quoted(found: &str) -> String {
    let most = LONGEST_NAME / 2;
    let mut text: String = found.chars().take(most).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if found.chars().nth(most).is_some() {
        text += "...";
    }
    text
}

/// Returns a number as a message can print it: in scientific form if it is very large or very small.
pub(crate) fn number(value: f64) -> String {
    let is_common = !value.is_finite() || value == 0.0 || (1e-9..1e15).contains(&value.abs());
    if is_common { value.to_string() } else { format!("{value:e}") }
}

/// Lists the first twelve things, and the number of the others.
pub(crate) fn listed(things: impl ExactSizeIterator<Item = impl Display>, separator: &str) -> String {
    let more = things.len().saturating_sub(12);
    let mut text = things.take(12).map(|thing| thing.to_string()).collect::<Vec<_>>().join(separator);
    if more > 0 {
        text += &format!("{separator}and {more} more");
    }
    text
}

/// Returns the name in `known` that `name` most probably misspells.
pub(crate) fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<String> {
    if name.len() > LONGEST_NAME {
        return None;
    }
    let similarity = |known: &str| strsim::normalized_damerau_levenshtein(&name.to_lowercase(), &known.to_lowercase());
    known
        .into_iter()
        .map(|known| (similarity(known), known))
        .filter(|(similarity, known)| *similarity >= 0.5 && *known != name)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known.into())
}

/// Returns a question with the nearest name for a message, or nothing.
pub(crate) fn meant(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |nearest| format!(" (did you mean `{nearest}`?)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_fits_on_a_line() {
        assert_eq!(quoted("1,5"), "1,5");
        assert_eq!(quoted("\u{1b}[31m\n"), "\u{fffd}[31m\u{fffd}");
        assert_eq!(quoted(&"é".repeat(50)), "é".repeat(50));
        assert_eq!(quoted(&"é".repeat(1_000_000)), "é".repeat(50) + "...");
    }

    #[test]
    fn long_numbers_are_in_scientific_form() {
        let spelled = [0.0, -0.5, 20_000.0, 1e308, -1e15, 1e-60, f64::NAN, f64::INFINITY].map(number);
        assert_eq!(spelled, ["0", "-0.5", "20000", "1e308", "-1e15", "1e-60", "NaN", "inf"]);
    }

    #[test]
    fn a_dozen_is_listed() {
        assert_eq!(listed([1, 2, 3].iter(), ", "), "1, 2, 3");
        assert_eq!(listed(["a"; 12].iter(), ""), "aaaaaaaaaaaa");
        assert_eq!(listed([0; 1000].iter(), ";"), "0;".repeat(12) + "and 988 more");
    }

    #[test]
    fn no_name_is_compared_with_a_file() {
        assert_eq!(nearest("seconds", ["second"]).as_deref(), Some("second"));
        assert_eq!(nearest(&"x".repeat(1_000_000), ["x".repeat(1_000_000).as_str()]), None);
    }
}
