//! Races in words.

use super::{AccessKind, Clash, Found, Opened, Scope};
use crate::error::{Claim, ObjectName, Raced};
use crate::{Error, Site, notice};
use aurora_net::Rank;

/// An access as errors describe it.
pub(crate) struct Party {
    pub(crate) rank: Rank,
    pub(crate) kind: AccessKind,
    pub(crate) scope: Scope,
    pub(crate) line: Site,
    pub(crate) opened: Option<Opened>,
}

impl From<Clash> for Party {
    fn from(Clash { rank, kind, scope, line, opened, .. }: Clash) -> Self {
        Party { rank, kind, scope, line, opened }
    }
}

impl Party {
    fn claim(&self, raced: &Raced) -> Claim {
        let what = match self.kind {
            AccessKind::Read => "reads it",
            AccessKind::Lent if matches!(raced, Raced::Entry(_)) => "holds it for reading, among its own entries,",
            AccessKind::Lent => "holds a slice of it for reading",
            AccessKind::Write => "writes it",
            AccessKind::Update(_) => "updates it",
        };
        let inside = self.opened.as_ref().map(|Opened { name, line }| match *line == self.line {
            true => format!(" inside the {name} opened"),
            false => format!(" inside the {name} opened at {line},"),
        });
        Claim { rank: self.rank, action: format!("{what}{}", inside.unwrap_or_default()), site: self.line.clone() }
    }
}

/// The way in which a program orders two accesses, or does without an order.
fn advice(first: &Party, second: &Party, raced: &Raced) -> &'static str {
    match (first.scope, second.scope) {
        (Scope::Together(a), Scope::Together(b)) if a == b => {
            "let one rank write it, or all `update` it with one operation"
        }
        (Scope::Together(_), _) | (_, Scope::Together(_)) => {
            "let both ranks end that scope before the other access, or order them before the scope, by a barrier"
        }
        // Only changes of pages are seen at once inside a scope.
        (Scope::None, Scope::None) if first.opened.is_some() && second.opened.is_some() => {
            "let one rank write it before the next `sync`"
        }
        // No call can stand between them.
        _ if first.line == second.line && !first.kind.is_read() && !second.kind.is_read() => match raced {
            Raced::Element(_) => {
                "let one rank write it, or all `update` it with one operation in a `release_c_with(Op)`"
            }
            Raced::Entry(_) => "let one rank write it, or all `update` it with one operation",
        },
        (Scope::Alone(_), _) | (_, Scope::Alone(_)) => {
            "end that scope and then order the ranks, by a barrier, or order them before the write"
        }
        // A barrier does not help a rank that reads a value and then writes a new value that depends on it.
        (Scope::None, Scope::None) => match raced {
            Raced::Element(_) => {
                "put a call between them that orders the ranks, such as a barrier; if the new value depends on the old \
                 one, let all `update` it with one operation in a `release_c_with(Op)`"
            }
            Raced::Entry(_) => {
                "put a call between them that orders the ranks, such as a barrier; if the new value depends on the old \
                 one, let all `update` it with one operation"
            }
        },
    }
}

impl Found {
    /// Returns a race with the access `later`. Prints a possible race on stderr, or returns it if the detector is
    /// `strict`. `owner`: this rank.
    pub(crate) fn report(
        self,
        later: &Party,
        (object, owner): (&ObjectName, Rank),
        strict: bool,
        name: impl Fn(usize) -> Raced,
    ) -> Result<(), Error> {
        let race_of = |clash: Clash, is_possible| {
            let what = name(clash.place);
            let earlier = Party::from(clash);
            let (first, second) = if earlier.rank <= later.rank { (&earlier, later) } else { (later, &earlier) };
            let (advice, object) = (advice(first, second, &what).to_string(), Box::new(object.clone()));
            let [first, second] = [first, second].map(|party| Box::new(party.claim(&what)));
            Error::Race { is_possible, what, object, first, second, advice }
        };
        if self.has_forgotten {
            notice::races_forgotten(object, owner);
        }
        let certain = self.race.map(|clash| race_of(clash, false));
        let mut possible = self.possible.into_iter().map(|clash| race_of(clash, true));
        if strict {
            return certain.or_else(|| possible.next()).map_or(Ok(()), Err);
        }
        possible.for_each(|race| notice::possible_race(&race));
        certain.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_advice_fits_its_accesses() {
        let (line, other) = (Site::here(), Site::here());
        let party = |rank: usize, kind, scope, line: &Site| {
            let (rank, line) = (Rank::new(rank), line.clone());
            Party { rank, kind, scope, line, opened: None }
        };
        use AccessKind::{Read, Write};
        for (kinds, scopes, lines, says) in [
            ([Write, Read], [Scope::None, Scope::None], [&line, &other], "put a call between them"),
            ([Write, Write], [Scope::None, Scope::None], [&line, &other], "put a call between them"),
            ([Write, Write], [Scope::None, Scope::None], [&line, &line], "let one rank write it, or all `update`"),
            (
                [Write, Write],
                [Scope::Alone(1), Scope::Alone(4)],
                [&line, &line],
                "let one rank write it, or all `update`",
            ),
            ([Write, Read], [Scope::Alone(1), Scope::None], [&line, &other], "end that scope and then order"),
            ([Write, Read], [Scope::Together(3), Scope::None], [&line, &other], "let both ranks end that scope"),
            ([Write, Write], [Scope::Together(3), Scope::Together(3)], [&line, &other], "let one rank write it"),
        ] {
            let [first, second] = [0, 1].map(|rank| party(rank, kinds[rank], scopes[rank], lines[rank]));
            for raced in [Raced::Element(3), Raced::Entry("\"word\"".into())] {
                for words in [advice(&first, &second, &raced), advice(&second, &first, &raced)] {
                    assert!(words.starts_with(says), "{kinds:?} {scopes:?}: {words}");
                    // A map has `update` outside of scopes too.
                    assert!(matches!(raced, Raced::Element(_)) || !words.contains("release_c_with"), "{words}");
                }
            }
        }
    }
}
