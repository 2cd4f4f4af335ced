//! The list of the present violations.

use crate::check::Violation;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{fs, io};

/// The head of the list.
const HEAD: &str = "\
# The present violations of the rules of tests/architecture.rs. This list may only shrink.
# `UPDATE=1 cargo test --test architecture` removes the entries without a violation.
";

/// The number of places that a complaint names.
const PLACES: usize = 40;

/// The permitted changes of the list.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Update {
    Never,
    /// Entries without a violation are removed.
    Shrink,
    /// The list is replaced by the present violations.
    Allow,
}

/// The file with the list: a line for each violation, with its count if the rule has one.
pub struct Allowed {
    file: PathBuf,
}

type Lines = BTreeMap<String, Option<usize>>;

impl Allowed {
    pub fn new(file: &str) -> Allowed {
        Allowed { file: file.into() }
    }

    /// Updates the list, and returns the errors of the list and of the sources.
    pub fn compare(&self, found: &[Violation], update: Update) -> io::Result<Vec<String>> {
        let text = match fs::read_to_string(&self.file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            other => other?,
        };
        let listed = updated(&parse(&text), found, update);
        let written = write(&listed);
        if update != Update::Never && written != text {
            fs::write(&self.file, written)?;
        }
        Ok(complaints(&listed, found))
    }
}

fn parse(text: &str) -> Lines {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let counted = lines.map(|line| match line.rsplit_once(": ") {
        Some((key, count)) if count.parse::<usize>().is_ok() => (key.to_string(), count.parse().ok()),
        _ => (line.to_string(), None),
    });
    counted.collect()
}

fn write(listed: &Lines) -> String {
    let mut text = HEAD.to_string();
    for (key, count) in listed {
        let count = count.map(|count| format!(": {count}")).unwrap_or_default();
        let _ = writeln!(text, "{key}{count}");
    }
    text
}

fn key(violation: &Violation) -> String {
    format!("{} {}", violation.rule, violation.what)
}

fn updated(listed: &Lines, found: &[Violation], update: Update) -> Lines {
    let there: Lines = found.iter().map(|violation| (key(violation), violation.count)).collect();
    match update {
        Update::Never => listed.clone(),
        Update::Allow => there,
        Update::Shrink => {
            let kept = listed.iter().filter_map(|(key, count)| Some((key.clone(), *there.get(key)?.min(count))));
            kept.collect()
        }
    }
}

fn complaints(listed: &Lines, found: &[Violation]) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut gone: Lines = listed.clone();
    for violation in found {
        let was = gone.remove(&key(violation));
        match (was, violation.count) {
            (Some(Some(was)), Some(count)) if was > count => complaints.push(format!(
                "{}: {was} are listed, {count} are left. Write {count}, or run with UPDATE=1: \
                 the list may only shrink.\n",
                key(violation)
            )),
            (Some(was), count) if was == count => {}
            (was, count) => complaints.push(complaint(violation, was.flatten().zip(count))),
        }
    }
    complaints.extend(
        gone.keys()
            .map(|key| format!("{key}: is mended. Strike it out, or run with UPDATE=1: the list may only shrink.\n")),
    );
    complaints
}

/// The text of a complaint: the places, the rule, and the remedy.
fn complaint(violation: &Violation, counts: Option<(usize, usize)>) -> String {
    let mut text = String::new();
    for place in violation.places.iter().take(PLACES) {
        let _ = writeln!(text, "{place}");
    }
    if let Some(more) = violation.places.len().checked_sub(PLACES + 1) {
        let _ = writeln!(text, "and {} more", more + 1);
    }
    let counts = counts.map(|(was, count)| format!(" ({count}, {was} are listed)")).unwrap_or_default();
    let _ = writeln!(text, "    violates the rule `{}`{counts}: {}", violation.rule, violation.what);
    let _ = writeln!(text, "    To mend it: {}.", violation.mend);
    text
}

#[test]
fn the_list_may_only_shrink() {
    let violation = |what: &str, count| Violation {
        rule: "length",
        what: what.into(),
        count,
        places: vec![format!("{what}:501")],
        mend: "shorten it".into(),
    };
    let before = parse("# head\n\nlength a.rs: 600\nlength b.rs: 700\nlength c.rs\n");
    let found = [violation("a.rs", Some(610)), violation("b.rs", Some(650)), violation("d.rs", None)];
    assert_eq!(updated(&before, &found, Update::Never), before);
    let shrunk = updated(&before, &found, Update::Shrink);
    assert_eq!(write(&shrunk), format!("{HEAD}length a.rs: 600\nlength b.rs: 650\n"));
    assert_eq!(complaints(&shrunk, &found).len(), 2, "a.rs has grown, d.rs is new");
    let said = complaints(&before, &found).join("\n");
    for (text, why) in [
        ("a.rs:501\n    violates the rule `length` (610, 600 are listed)", "has grown"),
        ("length b.rs: 700 are listed, 650 are left", "has shrunk"),
        ("length c.rs: is mended. Strike it out", "is gone"),
        ("d.rs:501\n    violates the rule `length`: d.rs\n    To mend it: shorten it.", "is new"),
    ] {
        assert!(said.contains(text), "{why}: {said}");
    }
    let all = updated(&before, &found, Update::Allow);
    assert_eq!(parse(&write(&all)), all);
    assert!(complaints(&all, &found).is_empty());
}
