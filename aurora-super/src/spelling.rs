//! Names that are not known.

/// The one of `known` that `name` is most probably a misspelling of.
pub(crate) fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<String> {
    let similarity = |known: &str| strsim::normalized_damerau_levenshtein(&name.to_lowercase(), &known.to_lowercase());
    known
        .into_iter()
        .map(|known| (similarity(known), known))
        .filter(|(similarity, known)| *similarity >= 0.5 && *known != name)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known.into())
}

/// A question for a message.
pub(crate) fn meant(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |nearest| format!(" (is `{nearest}` meant?)"))
}
