//! `--policy`: the policies that assign instructions to nodes.

use aurora_super::Policy;
use aurora_super::policy::UnknownPolicy;
use std::str::FromStr;

/// Policies with their names, in the order in which they are shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Policies(pub Vec<(&'static str, Policy)>);

impl FromStr for Policies {
    type Err = UnknownPolicy;

    /// Reads names between commas; a repeated name counts once, and `all` stands for all names.
    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        let mut wanted = Vec::new();
        for name in text.split(',').map(str::trim) {
            if name.eq_ignore_ascii_case("all") {
                wanted.extend(Policy::ALL.map(|(_, policy)| policy));
            } else {
                wanted.push(name.parse()?);
            }
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
        assert_eq!(names("tail,S,ss,S").as_deref(), Ok(&["S", "SS", "tail"][..]));
        assert_eq!(names("all").as_deref(), Ok(&["syn", "S", "R", "SR", "SS", "tail", "ect"][..]));
        assert_eq!(names("S,all").map(|names| names.len()), Ok(7));
    }

    #[test]
    fn an_unknown_one_is_told_with_those_that_there_are() {
        let list = "use one of syn, S, R, SR, SS, tail, ect";
        assert_eq!(names("S,tial"), Err(format!("there is no policy `tial` (did you mean `tail`?): {list}")));
        assert_eq!(names(""), Err(format!("there is no policy ``: {list}")));
    }
}
