//! The lines between the driver and rank 0 of its job.
//!
//! | who | line | meaning |
//! |---|---|---|
//! | job | `aurora-bench ready RANKS` | once, before anything else |
//! | driver | `ID ITERATIONS` | carry it out so often, and verify it |
//! | job | `aurora-bench busy` | it goes on: at most once a second |
//! | job | `aurora-bench took NANOSECONDS` | the slowest rank's, those of all iterations together |
//! | job | `aurora-bench wrong COUNT` | so much of what has arrived was wrong, on all ranks |
//! | job | `aurora-bench refused WHY` | no such id, or a line of another form |
//!
//! The end of the driver's lines is the end of the job. What else is on the job's stdout, a launcher's words say, are
//! no lines of ours.

use std::fmt;
use std::time::Duration;

/// What the job's lines begin with.
const MARK: &str = "aurora-bench ";

/// What the driver wants of the job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order {
    /// Which variant.
    pub id: String,
    /// How often; once at least.
    pub iterations: u64,
}

/// What the job says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It has begun, with so many ranks.
    Ready(usize),
    /// It goes on.
    Busy,
    /// What the iterations took.
    Took(Duration),
    /// How much was wrong.
    Wrong(u64),
    /// Why it does not do it.
    Refused(String),
}

impl Order {
    /// From a line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &str) -> Result<Order, String> {
        let mut words = line.split_whitespace();
        let (Some(id), Some(iterations), None) = (words.next(), words.next(), words.next()) else {
            return Err(format!("'{line}' is not of the form ID ITERATIONS"));
        };
        match iterations.parse() {
            Ok(iterations) if iterations > 0 => Ok(Order { id: id.into(), iterations }),
            _ => Err(format!("'{iterations}' is no number of iterations")),
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.id, self.iterations)
    }
}

impl Answer {
    /// From a line of the job's stdout; none if it is somebody else's.
    ///
    /// # Errors
    /// That nothing can be made of it.
    pub fn parse(line: &str) -> Option<Result<Answer, ()>> {
        let said = line.strip_prefix(MARK)?.trim_end();
        let (word, rest) = said.split_once(' ').unwrap_or((said, ""));
        Some(match word {
            "ready" => rest.parse().map(Answer::Ready).map_err(drop),
            "busy" if rest.is_empty() => Ok(Answer::Busy),
            "took" => rest.parse().map(|nanos| Answer::Took(Duration::from_nanos(nanos))).map_err(drop),
            "wrong" => rest.parse().map(Answer::Wrong).map_err(drop),
            "refused" => Ok(Answer::Refused(rest.into())),
            _ => Err(()),
        })
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Ready(ranks) => write!(f, "{MARK}ready {ranks}"),
            Answer::Busy => write!(f, "{MARK}busy"),
            Answer::Took(time) => write!(f, "{MARK}took {}", time.as_nanos()),
            Answer::Wrong(count) => write!(f, "{MARK}wrong {count}"),
            Answer::Refused(why) => write!(f, "{MARK}refused {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_come_as_they_were_sent() {
        let order = Order { id: "read_cache/4MiB/2ranks/aurora".into(), iterations: 1_000_000_007 };
        assert_eq!(Order::parse(&order.to_string()), Ok(order.clone()));
        assert_eq!(Order::parse(" read_cache/4MiB/2ranks/aurora\t1000000007\r\n"), Ok(order));
    }

    #[test]
    fn orders_of_another_form_are_refused() {
        for line in ["", "mm2", "mm2 ", "mm2 0", "mm2 -1", "mm2 1.5", "mm2 1 2", "1 mm2", "mm2 18446744073709551616"] {
            assert!(Order::parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn answers_come_as_they_were_sent() {
        for answer in [
            Answer::Ready(2),
            Answer::Busy,
            Answer::Took(Duration::from_nanos(u64::MAX)),
            Answer::Took(Duration::ZERO),
            Answer::Wrong(3),
            Answer::Refused("there is no 'x/y'".into()),
        ] {
            assert_eq!(Answer::parse(&answer.to_string()), Some(Ok(answer)));
        }
    }

    #[test]
    fn what_others_say_is_no_answer_and_nonsense_is_none_either() {
        for line in ["", "took 5", " aurora-bench took 5", "[1] aurora-bench took 5", "aurora-bench", "BAD TERMINATION"]
        {
            assert_eq!(Answer::parse(line), None, "{line}");
        }
        for said in ["", "took", "took -1", "took 1.5", "took 5 6", "ready", "ready two", "busy 1", "wrong", "tookk 5"]
        {
            assert_eq!(Answer::parse(&format!("{MARK}{said}")), Some(Err(())), "{said}");
        }
    }
}
