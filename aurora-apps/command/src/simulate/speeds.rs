//! `--speeds`: the speeds of the nodes.

use super::nodes::MOST;
use aurora_apps::report::read::is_stdin;
use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use thiserror::Error;

/// The maximum length of a file with speeds.
const LONGEST: u64 = 4 << 20;

/// The allowed speeds. Beyond them, a sum would lose the digits of the other speeds.
const SENSIBLE: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// The value of `--speeds`.
#[derive(Clone, PartialEq, Debug)]
pub enum Source {
    /// The speeds of the first nodes, which repeat.
    Ratio(Vec<f64>),
    /// A file with a speed for each node.
    File(PathBuf),
}

/// The reason why there are no speeds.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BadSpeeds {
    #[error(
        "it cannot be read: {0}. Speeds are `homogeneous`, a ratio such as `1:3`, or the name of a file with one \
         speed a line"
    )]
    File(String),
    #[error("`{0}` is not the speed of a node: write a ratio of numbers from 0.000001 to 1000000, such as 1:3")]
    Ratio(String),
    #[error("it is there twice: name each cluster once")]
    Twice,
    #[error("longer than {} MiB, so no list of speeds: a line has the speed of one node", LONGEST >> 20)]
    Long,
    #[error("line {line}: `{found}` is not the speed of a node: write a number above 0, from 0.000001 to 1000000")]
    Speed { line: usize, found: String },
    #[error("it has no speeds: write one a line, for each node one")]
    Empty,
    #[error(
        "line {line}: the speed of a 65537th node, and 65536 are the most that can be simulated: end the file before it"
    )]
    Many { line: usize },
    #[error("it has speeds of {there} nodes, and `--nodes` asks for {wanted}: add lines, or ask for {there} at most")]
    Few { there: usize, wanted: u32 },
}

impl FromStr for Source {
    type Err = BadSpeeds;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<&str> = text.split(':').collect();
        let numbers: Result<Vec<f64>, _> = parts.iter().map(|part| part.trim().parse::<f64>()).collect();
        match numbers {
            _ if text == "homogeneous" => Ok(Source::Ratio(vec![1.0])),
            Ok(speeds) if speeds.len() > 1 => match speeds.iter().position(|speed| !SENSIBLE.contains(speed)) {
                Some(bad) => Err(BadSpeeds::Ratio(quoted(parts[bad].trim()))),
                None => Ok(Source::Ratio(speeds)),
            },
            _ => Ok(Source::File(text.into())),
        }
    }
}

impl Display for Source {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Source::Ratio(speeds) if speeds[..] == [1.0] => f.write_str("homogeneous"),
            Source::Ratio(speeds) => {
                let texts: Vec<String> = speeds.iter().map(f64::to_string).collect();
                f.write_str(&texts.join(":"))
            }
            Source::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// The speeds of any number of nodes, or of as many nodes as a file has lines.
#[derive(Clone, PartialEq, Debug)]
pub enum Cluster {
    /// Any number of nodes, whose speeds repeat.
    Ratio(Vec<f64>),
    /// The first nodes are on the first lines.
    Listed(Vec<f64>),
}

impl Cluster {
    /// Reads the speeds of `source`.
    ///
    /// # Errors
    /// The error in the file.
    pub fn read(source: &Source) -> Result<Self, BadSpeeds> {
        match source {
            Source::Ratio(speeds) => Ok(Cluster::Ratio(speeds.clone())),
            Source::File(path) => listed(&text(path)?).map(Cluster::Listed),
        }
    }

    /// Returns the number of nodes, if it is known.
    pub fn nodes(&self) -> Option<u32> {
        match self {
            Cluster::Ratio(_) => None,
            Cluster::Listed(speeds) => Some(speeds.len() as u32),
        }
    }

    /// Returns the speeds of the first `nodes` nodes.
    ///
    /// # Errors
    /// There are fewer nodes.
    pub fn of(&self, nodes: u32) -> Result<Vec<f64>, BadSpeeds> {
        match self {
            Cluster::Ratio(speeds) => Ok(speeds.iter().copied().cycle().take(nodes as usize).collect()),
            Cluster::Listed(speeds) => {
                let few = BadSpeeds::Few { there: speeds.len(), wanted: nodes };
                speeds.get(..nodes as usize).map(<[f64]>::to_vec).ok_or(few)
            }
        }
    }
}

fn text(path: &Path) -> Result<String, BadSpeeds> {
    let unread = |error: io::Error| BadSpeeds::File(error.to_string());
    let input: Box<dyn Read> =
        if is_stdin(path) { Box::new(io::stdin().lock()) } else { Box::new(File::open(path).map_err(unread)?) };
    let mut text = String::new();
    input.take(LONGEST + 1).read_to_string(&mut text).map_err(unread)?;
    if text.len() as u64 > LONGEST { Err(BadSpeeds::Long) } else { Ok(text) }
}

/// Returns the content of a line for a message: shortened, and without control characters.
fn quoted(content: &str) -> String {
    let mut text: String = content.chars().take(50).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if content.chars().nth(50).is_some() {
        text += "...";
    }
    text
}

/// Reads one speed a line. Empty lines are skipped, and so is the text behind a `#`.
fn listed(text: &str) -> Result<Vec<f64>, BadSpeeds> {
    let mut speeds = Vec::new();
    for (line, content) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let content = content.split('#').next().unwrap_or_default().trim();
        if !content.is_empty() {
            if speeds.len() == MOST as usize {
                return Err(BadSpeeds::Many { line });
            }
            let speed = content.parse().ok().filter(|speed| SENSIBLE.contains(speed));
            speeds.push(speed.ok_or_else(|| BadSpeeds::Speed { line, found: quoted(content) })?);
        }
    }
    if speeds.is_empty() { Err(BadSpeeds::Empty) } else { Ok(speeds) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_node() {
        assert_eq!(listed("1\n 2.5 \n\n# two more\n1e1 # fast\n3"), Ok(vec![1.0, 2.5, 10.0, 3.0]));
        let cluster = Cluster::Listed(vec![1.0, 2.0, 4.0]);
        assert_eq!((cluster.of(2), cluster.nodes()), (Ok(vec![1.0, 2.0]), Some(3)));
        assert_eq!(cluster.of(4), Err(BadSpeeds::Few { there: 3, wanted: 4 }));
    }

    #[test]
    fn a_ratio_repeats() {
        for (text, of_five) in
            [("homogeneous", [1.0; 5]), ("1:3", [1.0, 3.0, 1.0, 3.0, 1.0]), ("0.5:2 : 4", [0.5, 2.0, 4.0, 0.5, 2.0])]
        {
            let source: Source = text.parse().expect(text);
            assert_eq!(source.to_string(), text.replace(' ', ""));
            assert_eq!(Cluster::read(&source).and_then(|cluster| cluster.of(5)), Ok(of_five.to_vec()));
        }
        for (text, bad) in [("1:0", "0"), ("1:-3", "-3"), ("NaN:1", "NaN"), ("1:2:inf", "inf"), ("1:1e7", "1e7")] {
            assert_eq!(text.parse::<Source>(), Err(BadSpeeds::Ratio(bad.into())), "{text}");
        }
        assert!(matches!("1:x".parse(), Ok(Source::File(_))));
    }

    #[test]
    fn what_is_no_speed_is_told_with_its_line() {
        for (line, text) in [(1, "0"), (2, "1\n-1"), (3, "1\n\nNaN\n2"), (1, "inf"), (1, "1e-300"), (2, "1\n1 2")] {
            let found = text.lines().nth(line - 1).unwrap_or_default().to_string();
            assert_eq!(listed(text), Err(BadSpeeds::Speed { line, found }));
        }
        let found = |text: &str| listed(text).expect_err("no speed").to_string();
        assert!(found("\u{1b}[31mred").contains("line 1: `\u{fffd}[31mred` is not"), "{}", found("\u{1b}[31mred"));
        assert!(found(&"x".repeat(1 << 20)).len() < 200);
        assert_eq!(listed("\u{feff}1\r\n2\r\n"), Ok(vec![1.0, 2.0]));
        assert_eq!(listed(" \n# nothing\n"), Err(BadSpeeds::Empty));
        assert_eq!(listed(&"1\n".repeat(70_000)), Err(BadSpeeds::Many { line: 65_537 }));
    }
}
