//! `--policy`: the policies that assign instructions to nodes.

use super::lists::{BadNames, names};
use aurora_super::Policy;
use aurora_super::policy::UnknownPolicy;
use std::str::FromStr;

/// Policies with their names, in the order in which they are shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Policies(pub Vec<(&'static str, Policy)>);

impl FromStr for Policies {
    type Err = BadNames<UnknownPolicy>;

    /// Reads names between commas. `all` stands for all names.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        names(text, &Policy::ALL, "policy").map(Policies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<&'static str>, String> {
        let policies = text.parse::<Policies>().map_err(|error| error.to_string())?;
        Ok(policies.0.into_iter().map(|(name, _)| name).collect())
    }

    #[test]
    fn they_come_in_the_papers_order() {
        assert_eq!(read("tail,S,ss").as_deref(), Ok(&["S", "SS", "tail"][..]));
        assert_eq!(read("all").as_deref(), Ok(&["syn", "S", "R", "SR", "SS", "tail", "ect"][..]));
        assert_eq!(read(" all ").map(|names| names.len()), Ok(7));
    }

    #[test]
    fn an_unknown_one_is_told_with_those_that_there_are() {
        let list = "use one of syn, S, R, SR, SS, tail, ect";
        assert_eq!(read("S,tial"), Err(format!("there is no policy `tial` (did you mean `tail`?): {list}")));
        for (text, twice) in [("S,tail,s", "S"), ("all,all", "syn"), ("SS,all", "SS")] {
            assert_eq!(read(text), Err(format!("`{twice}` is there twice: name each policy once")));
        }
        assert_eq!(read(""), Err(format!("there is no policy ``: {list}")));
    }
}
