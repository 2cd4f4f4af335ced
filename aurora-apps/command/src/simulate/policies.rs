//! `--policy`: the policies that assign instructions to nodes.

use super::arguments::repeated;
use aurora_super::Policy;
use aurora_super::policy::UnknownPolicy;
use std::str::FromStr;
use thiserror::Error;

/// Policies with their names, in the order in which they are shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Policies(pub Vec<(&'static str, Policy)>);

/// The reason why a text has no policies.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BadPolicies {
    #[error("{0}")]
    Unknown(#[from] UnknownPolicy),
    #[error("`{0}` is there twice: name each policy once")]
    Twice(&'static str),
}

impl FromStr for Policies {
    type Err = BadPolicies;

    /// Reads names between commas. `all` stands for all names.
    fn from_str(text: &str) -> Result<Self, BadPolicies> {
        let mut wanted = Vec::new();
        for name in text.split(',').map(str::trim) {
            if name.eq_ignore_ascii_case("all") {
                wanted.extend(Policy::ALL.map(|(_, policy)| policy));
            } else {
                wanted.push(name.parse()?);
            }
        }
        if let Some(policy) = repeated(wanted.iter().copied()) {
            return Err(BadPolicies::Twice(policy.name().unwrap_or_default()));
        }
        Ok(Policies(Policy::ALL.into_iter().filter(|(_, policy)| wanted.contains(policy)).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Result<Vec<&'static str>, String> {
        let policies = text.parse::<Policies>().map_err(|error| error.to_string())?;
        Ok(policies.0.into_iter().map(|(name, _)| name).collect())
    }

    #[test]
    fn they_come_in_the_papers_order() {
        assert_eq!(names("tail,S,ss").as_deref(), Ok(&["S", "SS", "tail"][..]));
        assert_eq!(names("all").as_deref(), Ok(&["syn", "S", "R", "SR", "SS", "tail", "ect"][..]));
        assert_eq!(names(" all ").map(|names| names.len()), Ok(7));
    }

    #[test]
    fn an_unknown_one_is_told_with_those_that_there_are() {
        let list = "use one of syn, S, R, SR, SS, tail, ect";
        assert_eq!(names("S,tial"), Err(format!("there is no policy `tial` (did you mean `tail`?): {list}")));
        for (text, twice) in [("S,tail,s", "S"), ("all,all", "syn"), ("SS,all", "SS")] {
            assert_eq!(names(text), Err(format!("`{twice}` is there twice: name each policy once")));
        }
        assert_eq!(names(""), Err(format!("there is no policy ``: {list}")));
    }
}
