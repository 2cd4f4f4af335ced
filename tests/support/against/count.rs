//! The counters of jobs: two builds that differ only in internal details send the same number of messages and bytes.

use aurora_apps::report::Spread;

/// The name of a counter, and its value for an operation.
pub type Count = (&'static str, f64);

/// A counter's values in both builds.
#[derive(Clone, PartialEq, Debug)]
pub struct Counted {
    name: &'static str,
    /// The old build's values in all runs; none if a run does not report the counter.
    old: Option<Numbers>,
    new: Option<Numbers>,
}

/// Minimum and maximum of all runs.
///
/// An operation that takes microseconds is carried out many times before a barrier, whose messages are counted with it.
/// One decimal place is kept, because further places depend on that barrier.
#[derive(Clone, PartialEq, Debug)]
struct Numbers {
    least: String,
    most: String,
}

impl Numbers {
    fn of(name: &str, runs: &[Vec<Count>]) -> Option<Self> {
        let of = |run: &Vec<Count>| run.iter().find(|(of, _)| *of == name).map(|(_, number)| *number);
        let numbers: Option<Vec<f64>> = runs.iter().map(of).collect();
        let Spread { min, max, .. } = Spread::of(numbers?);
        let [least, most] = [min, max].map(|number| format!("{number:.1}").trim_end_matches(".0").to_string());
        Some(Numbers { least, most })
    }

    fn words(&self) -> String {
        if self.least == self.most { self.least.clone() } else { format!("{}..{}", self.least, self.most) }
    }

    fn is_one(&self) -> bool {
        self.least == self.most
    }
}

impl Counted {
    /// The counters of all runs of the old build and of the new build.
    pub fn of(old: &[Vec<Count>], new: &[Vec<Count>]) -> Vec<Self> {
        let mut names: Vec<&'static str> = Vec::new();
        for (name, _) in old.iter().chain(new).flatten() {
            if !names.contains(name) {
                names.push(name);
            }
        }
        let of = |name| Counted { name, old: Numbers::of(name, old), new: Numbers::of(name, new) };
        names.into_iter().map(of).collect()
    }

    /// True if the old build has the same number in all its runs and the new build has another number.
    pub fn is_another_number(&self) -> bool {
        self.old.as_ref().is_some_and(Numbers::is_one) && self.new.is_some() && self.old != self.new
    }

    fn words(&self) -> String {
        let words = |numbers: &Option<Numbers>| numbers.as_ref().map_or("not said".into(), Numbers::words);
        let (name, old, new) = (self.name, words(&self.old), words(&self.new));
        match self {
            _ if self.old == self.new => format!("{name} same {old}"),
            _ if self.is_another_number() => format!("**{name} {old} -> {new}**"),
            _ => format!("{name} {old} -> {new}"),
        }
    }
}

/// All counters in words.
pub fn words(counted: &[Counted]) -> String {
    if counted.is_empty() { "-".into() } else { counted.iter().map(Counted::words).collect::<Vec<_>>().join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(old: &[f64], new: &[f64]) -> (String, bool) {
        let runs = |numbers: &[f64]| numbers.iter().map(|number| vec![("messages", *number)]).collect::<Vec<_>>();
        let counted = Counted::of(&runs(old), &runs(new));
        (words(&counted), counted.iter().any(Counted::is_another_number))
    }

    #[test]
    fn one_message_more_is_another_number() {
        assert_eq!(said(&[12.0, 12.0], &[12.0]), ("messages same 12".into(), false));
        assert_eq!(said(&[12.0, 12.0], &[13.0]), ("**messages 12 -> 13**".into(), true));
    }

    #[test]
    fn what_differs_between_runs_of_the_old_build_is_listed_and_no_more() {
        assert_eq!(said(&[11.0, 12.5], &[13.0]), ("messages 11..12.5 -> 13".into(), false));
        assert_eq!(said(&[11.0, 12.5], &[12.5, 11.0]), ("messages same 11..12.5".into(), false));
    }

    #[test]
    fn barriers_around_many_operations_do_not_count() {
        assert_eq!(said(&[2.004, 2.007], &[2.0]), ("messages same 2".into(), false));
    }

    #[test]
    fn what_a_build_does_not_count_is_said() {
        let new = [vec![("messages", 1.0), ("bytes", 8.0)]];
        let counted = Counted::of(&[vec![("messages", 1.0)], vec![("messages", 1.0)]], &new);
        assert_eq!(words(&counted), "messages same 1; bytes not said -> 8");
        assert_eq!(words(&Counted::of(&[vec![]], &[vec![]])), "-");
    }
}
