//! The user's labels of a run, for facts that the run cannot know: the network, the MPI to compare with, the settings.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::str::FromStr;
use thiserror::Error;

// The labels that the page uses, with examples of their values.
/// "155 Mbit/s, MTU 9000".
pub(crate) const NETWORK: &str = "network";
/// "Open MPI 4.1.4"; and the settings of MPI: "defaults", "tuned".
pub(crate) const MPI: &str = "mpi";
pub(crate) const SETTING: &str = "setting";
/// The number of machines of the ranks.
pub(crate) const NODES: &str = "nodes";
/// The kind of the figures: "measured" (also without this label), "computing alone".
pub(crate) const KIND: &str = "kind";
/// "apart" if no rank computes while data is in transit: sharing can then be compared, and the time of a repetition
/// cannot.
pub(crate) const PHASES: &str = "phases";
/// All labels that the page uses.
pub(crate) const KNOWN: [&str; 6] = [NETWORK, MPI, SETTING, NODES, KIND, PHASES];

/// The maximum length of a value.
const LONGEST: usize = 200;

/// One label, `KEY=VALUE`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// Letters, digits, `-` and `_`.
    pub key: String,
    /// Printable text.
    pub value: String,
}

/// The reason why a text is not a label.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BadLabel {
    /// There is no `=`.
    #[error("a label is KEY=VALUE, such as network='155 Mbit/s, MTU 9000'")]
    NoValue,
    /// The key has another form.
    #[error("a label's key begins with a letter, and letters, digits, `-` and `_` follow")]
    Key,
    /// The value is empty, too long, or cannot be shown.
    #[error(
        "a label's value is 1 to {LONGEST} characters in one line; leave the label out where there is nothing to say"
    )]
    Value,
    /// The value of `nodes` is not a number from 1 on.
    #[error("nodes is how many machines the ranks are on: a number from 1 on")]
    Nodes,
    /// The same key is given again.
    #[error("the label {0} is given more than once")]
    Twice(String),
}

impl FromStr for Label {
    type Err = BadLabel;

    fn from_str(text: &str) -> Result<Self, BadLabel> {
        let (key, value) = text.split_once('=').ok_or(BadLabel::NoValue)?;
        Label::new(key, value)
    }
}

impl Label {
    fn new(key: &str, value: &str) -> Result<Self, BadLabel> {
        let value = value.trim();
        let follows = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !key.starts_with(|c: char| c.is_ascii_alphabetic()) || !key.chars().all(follows) || key.len() > LONGEST {
            return Err(BadLabel::Key);
        }
        if value.is_empty() || value.chars().count() > LONGEST || value.contains(char::is_control) {
            return Err(BadLabel::Value);
        }
        if key == NODES && !value.parse::<usize>().is_ok_and(|nodes| nodes > 0) {
            return Err(BadLabel::Nodes);
        }
        Ok(Label { key: key.into(), value: value.into() })
    }
}

/// All labels of a run, each key once.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, Value>")]
pub struct Labels(BTreeMap<String, String>);

impl Labels {
    /// Collects labels.
    ///
    /// # Errors
    /// [`BadLabel::Twice`].
    pub fn of(labels: impl IntoIterator<Item = Label>) -> Result<Self, BadLabel> {
        let mut all = BTreeMap::new();
        for Label { key, value } in labels {
            if all.insert(key.clone(), value).is_some() {
                return Err(BadLabel::Twice(key));
            }
        }
        Ok(Labels(all))
    }

    /// Returns the value of a label, if it is given.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Returns the number of machines of the ranks, if it is given.
    pub fn nodes(&self) -> Option<usize> {
        self.get(NODES)?.parse().ok()
    }

    /// Returns all labels, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

/// Values may be numbers too, in files that other programs have written.
impl TryFrom<BTreeMap<String, Value>> for Labels {
    type Error = String;

    fn try_from(map: BTreeMap<String, Value>) -> Result<Self, String> {
        let label = |(key, value): (String, Value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
            let label = Label::new(&key, &value).map_err(|bad| format!("the label {key:?}: {bad}"))?;
            Ok((label.key, label.value))
        };
        map.into_iter().map(label).collect::<Result<_, _>>().map(Labels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_a_key_and_a_value() {
        let label: Label = "network=155 Mbit/s, MTU=9000".parse().unwrap();
        assert_eq!((label.key.as_str(), label.value.as_str()), ("network", "155 Mbit/s, MTU=9000"));
        for (bad, texts) in [
            (BadLabel::NoValue, &["network"][..]),
            (BadLabel::Key, &["=x", "my key=x", "9k=x"]),
            (BadLabel::Value, &["mpi=", "mpi= ", "mpi=a\nb"]),
            (BadLabel::Nodes, &["nodes=0", "nodes=many"]),
        ] {
            texts.iter().for_each(|text| assert_eq!(text.parse::<Label>(), Err(bad.clone()), "{text}"));
        }
    }

    #[test]
    fn a_key_is_given_once_and_what_is_written_can_be_read() {
        let label = |text: &str| text.parse::<Label>().unwrap();
        assert_eq!(Labels::of([label("a=1"), label("a=1")]), Err(BadLabel::Twice("a".into())));
        let labels = Labels::of([label("mpi=MPICH"), label("nodes=16")]).unwrap();
        assert_eq!((labels.get("mpi"), labels.get("c"), labels.nodes()), (Some("MPICH"), None, Some(16)));
        for text in [r#"{"nodes": 16, "mpi": "MPICH"}"#, &serde_json::to_string(&labels).unwrap()] {
            assert_eq!(serde_json::from_str::<Labels>(text).unwrap(), labels);
        }
        assert!(serde_json::from_str::<Labels>(r#"{"nodes": -1}"#).is_err());
    }
}
