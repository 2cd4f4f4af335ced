//! Lists on the command line, in which each item stands once.

use std::str::FromStr;
use thiserror::Error;

/// The reason why a text is no list of names.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BadNames<E> {
    #[error("{0}")]
    Unknown(E),
    #[error("`{name}` is there twice: name each {kind} once")]
    Twice { name: &'static str, kind: &'static str },
}

/// Reads names between commas, and returns those of `all`, in their order there. The name `all` stands for all of them.
/// `kind` is the word for an item.
pub fn names<T: FromStr + Copy + PartialEq>(
    text: &str,
    all: &[(&'static str, T)],
    kind: &'static str,
) -> Result<Vec<(&'static str, T)>, BadNames<T::Err>> {
    let mut wanted = Vec::new();
    for name in text.split(',').map(str::trim) {
        if name.eq_ignore_ascii_case("all") {
            wanted.extend(all.iter().map(|(_, item)| *item));
        } else {
            wanted.push(name.parse().map_err(BadNames::Unknown)?);
        }
    }
    let twice = repeated(wanted.iter().copied());
    if let Some((name, _)) = all.iter().find(|(_, item)| twice == Some(*item)) {
        return Err(BadNames::Twice { name, kind });
    }
    Ok(all.iter().copied().filter(|(_, item)| wanted.contains(item)).collect())
}

/// Returns the first item that a list has twice.
pub fn repeated<T: PartialEq + Clone>(items: impl IntoIterator<Item = T>) -> Option<T> {
    let mut seen = Vec::new();
    items.into_iter().find(|item| {
        let is_seen = seen.contains(item);
        seen.push(item.clone());
        is_seen
    })
}
