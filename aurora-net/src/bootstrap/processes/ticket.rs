//! The ticket of a started process: the data that it needs to join its job, in one environment variable.

use crate::Rank;
use crate::key::JobKey;
use std::fmt;
use std::str::FromStr;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ticket {
    pub socket: String,
    pub rank: Rank,
    pub size: usize,
    /// The process that has started the rank. Programs that the rank starts have another parent.
    pub parent: u32,
    pub key: JobKey,
}

/// Returns true if this process has inherited `ticket` from a started rank: its parent is not rank 0, and rank 0 still
/// runs. A rank of a job whose rank 0 has ended has another parent too, but must not start a job of its own.
pub fn is_inherited(ticket: &str) -> bool {
    // 0: the parent is outside this process's namespace of process numbers.
    let own = std::os::unix::process::parent_id();
    own != 0 && ticket.parse().is_ok_and(|Ticket { parent, .. }| parent != own && is_running(parent))
}

fn is_running(process: u32) -> bool {
    // The state follows the name, which may contain parentheses. Z: ended, and not waited for yet.
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X'])))
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rank = self.rank.index();
        write!(f, "{}:{rank}:{}:{}:{:x}", self.socket, self.size, self.parent, self.key)
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
            parent: next()?.parse().map_err(drop)?,
            key: next()?.parse()?,
        };
        let whole = parts.next().is_none() && ticket.rank.index() < ticket.size;
        whole.then_some(ticket).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(parent: u32) -> Ticket {
        Ticket {
            socket: "aurora-12ab".into(),
            rank: Rank::new(2),
            size: 4,
            parent,
            key: JobKey::from_bytes([0xa5; 32]),
        }
    }

    #[test]
    fn a_ticket_survives_the_environment_and_garbage_is_refused() {
        assert_eq!(ticket(77).to_string().parse(), Ok(ticket(77)));
        for text in ["", "a:1:2:7", "a:2:2:7:0", "a:1:2:7:x", "a:1:2:7:0:0", "a:-1:2:7:0", "a:1:2:-7:0"] {
            assert_eq!(text.parse::<Ticket>(), Err(()), "{text}");
        }
    }

    #[test]
    fn a_ticket_is_inherited_if_its_rank_0_runs_and_is_not_the_parent() {
        let is_inherited = |parent| is_inherited(&ticket(parent).to_string());
        let mut other = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        assert!(is_inherited(other.id()) && is_inherited(std::process::id()));
        assert!(!is_inherited(std::os::unix::process::parent_id()));
        other.kill().unwrap();
        let ended = || std::fs::read_to_string(format!("/proc/{}/stat", other.id())).unwrap().contains(") Z");
        while !ended() {
            std::thread::yield_now();
        }
        assert!(!is_inherited(other.id()), "ended, and not waited for");
        other.wait().unwrap();
        assert!(!is_inherited(other.id()), "gone");
        assert!(!super::is_inherited("yours"));
    }
}
