//! `--nodes`: numbers of nodes, and sequences of them.

use super::lists::repeated;
use std::str::FromStr;
use thiserror::Error;

/// The maximum number of nodes.
pub const MOST: u32 = 1 << 16;
/// The maximum number of runs of a policy.
const MOST_COUNTS: usize = 1000;

/// Numbers of nodes, ascending, each once.
///
/// `..` between the first numbers of a sequence and its last number stands for the numbers between them: each is twice
/// the number before it, if this holds for all of the first numbers (`2,4,..,64`), and otherwise the steps are equal
/// (`8,16,24,..,64`). `1,2,..,8` doubles, `1,2,3,..,8` does not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counts(pub Vec<u32>);

/// The reason why a text has no such numbers.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BadCounts {
    #[error("`{0}` is not a number of nodes: write numbers from 1 to {MOST}, as in 2,4,8 or 2,4,..,64")]
    Number(String),
    #[error(
        "`..` stands between at least two numbers and the last one, as in 2,4,..,64 or 8,16,24,..,64, and only once"
    )]
    Place,
    #[error("{0} before `..` neither double nor rise in equal steps: write 2,4,..,64 or 8,16,24,..,64")]
    Neither(String),
    #[error("the sequence comes to {before} and {after}, not to {last}: end it with one of these")]
    Missed { before: u32, after: u64, last: u32 },
    #[error("{0} is there twice: write each number of nodes once")]
    Twice(u32),
    #[error("more than {MOST_COUNTS} numbers of nodes: take larger steps")]
    Many,
}

impl FromStr for Counts {
    type Err = BadCounts;

    fn from_str(text: &str) -> Result<Self, BadCounts> {
        let items: Vec<&str> = text.split(',').map(str::trim).collect();
        let numbers = |items: &[&str]| items.iter().map(|item| number(item)).collect::<Result<Vec<_>, _>>();
        let mut counts = match items.iter().position(|item| *item == "..") {
            None => numbers(&items)?,
            Some(gap) => {
                let (first, rest) = (&items[..gap], &items[gap + 1..]);
                let ([_, _, ..], [last]) = (first, rest) else { return Err(BadCounts::Place) };
                if *last == ".." {
                    return Err(BadCounts::Place);
                }
                sequence(numbers(first)?, number(last)?)?
            }
        };
        if let Some(count) = repeated(counts.iter().copied()) {
            return Err(BadCounts::Twice(count));
        }
        counts.sort_unstable();
        if counts.len() > MOST_COUNTS { Err(BadCounts::Many) } else { Ok(Counts(counts)) }
    }
}

fn number(item: &str) -> Result<u32, BadCounts> {
    let number = item.parse().ok().filter(|number| (1..=MOST).contains(number));
    number.ok_or_else(|| BadCounts::Number(item.into()))
}

/// Continues the first numbers to the last.
fn sequence(first: Vec<u32>, last: u32) -> Result<Vec<u32>, BadCounts> {
    let pairs = || first.windows(2).map(|pair| (pair[0], pair[1]));
    let step = first[1].checked_sub(first[0]).filter(|step| *step > 0);
    let next: &dyn Fn(u32) -> u64 = if pairs().all(|(one, other)| u64::from(other) == 2 * u64::from(one)) {
        &|count| 2 * u64::from(count)
    } else if let Some(step) = step.filter(|step| pairs().all(|(one, other)| other == one + step)) {
        &move |count| u64::from(count) + u64::from(step)
    } else {
        let words: Vec<String> = first.iter().map(u32::to_string).collect();
        return Err(BadCounts::Neither(words.join(",")));
    };
    let mut all = first;
    loop {
        let before = all[all.len() - 1];
        let after = next(before);
        if before == last {
            return Ok(all);
        }
        if before > last || after > u64::from(last) {
            return Err(BadCounts::Missed { before, after, last });
        }
        if all.len() > MOST_COUNTS {
            return Err(BadCounts::Many);
        }
        all.push(after as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> Result<Vec<u32>, String> {
        text.parse::<Counts>().map(|counts| counts.0).map_err(|error| error.to_string())
    }

    #[test]
    fn sequences_double_or_rise_in_equal_steps() {
        for (text, expected) in [
            ("2,4,..,64", &[2, 4, 8, 16, 32, 64][..]),
            ("2, 4, .., 4", &[2, 4]),
            ("3,6,..,24", &[3, 6, 12, 24]),
            ("1,2,..,8", &[1, 2, 4, 8]),
            ("1,2,3,..,8", &[1, 2, 3, 4, 5, 6, 7, 8]),
            ("8,24,..,72", &[8, 24, 40, 56, 72]),
            ("64,1", &[1, 64]),
            ("65536", &[65536]),
        ] {
            assert_eq!(counts(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_sequence_is_refused_with_what_would_be_one() {
        for (text, expected) in [
            ("", "`` is not a number of nodes: write numbers from 1 to 65536"),
            ("0", "`0` is not a number of nodes"),
            ("2,65537", "`65537` is not a number of nodes"),
            ("2,-4", "`-4` is not a number of nodes"),
            ("2,4,8x", "`8x` is not a number of nodes"),
            ("2,..,64", "`..` stands between at least two numbers and the last one"),
            ("..,64", "`..` stands between"),
            ("2,4,..", "`..` stands between"),
            ("2,4,..,8,16", "`..` stands between"),
            ("2,4,..,..", "`..` stands between"),
            ("2,4,..,60", "the sequence comes to 32 and 64, not to 60: end it with one of these"),
            ("8,16,24,..,65", "the sequence comes to 64 and 72, not to 65"),
            ("2,4,..,3", "the sequence comes to 4 and 8, not to 3"),
            ("2,5,9,..,64", "2,5,9 before `..` neither double nor rise in equal steps"),
            ("4,2,..,1", "4,2 before `..` neither"),
            ("4,4,..,8", "4,4 before `..` neither"),
            ("4,4", "4 is there twice: write each number of nodes once"),
            ("64,1,64", "64 is there twice"),
            ("1,2,3,..,65536", "more than 1000 numbers of nodes"),
        ] {
            let error = counts(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
