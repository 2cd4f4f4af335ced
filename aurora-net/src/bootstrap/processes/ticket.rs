//! What a started process needs in order to join its job, in one environment variable.

use crate::Rank;
use crate::key::JobKey;
use std::fmt;
use std::str::FromStr;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ticket {
    pub socket: String,
    pub rank: Rank,
    pub size: usize,
    pub key: JobKey,
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rank = self.rank.index();
        write!(f, "{}:{rank}:{}:{:x}", self.socket, self.size, self.key)
    }
}

impl FromStr for Ticket {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split(':');
        let mut next = || parts.next().ok_or(());
        let ticket = Ticket {
            socket: next()?.to_owned(),
            rank: Rank::new(next()?.parse::<u32>().map_err(drop)? as usize),
            size: next()?.parse().map_err(drop)?,
            key: next()?.parse()?,
        };
        let whole = parts.next().is_none() && ticket.rank.index() < ticket.size;
        whole.then_some(ticket).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_survives_the_environment_and_garbage_is_refused() {
        let ticket =
            Ticket { socket: "aurora-12ab".into(), rank: Rank::new(2), size: 4, key: JobKey::from_bytes([0xa5; 32]) };
        assert_eq!(ticket.to_string().parse(), Ok(ticket));
        for text in ["", "a:1:2", "a:2:2:0", "a:1:2:x", "a:1:2:0:0", "a:-1:2:0"] {
            assert_eq!(text.parse::<Ticket>(), Err(()), "{text}");
        }
    }
}
