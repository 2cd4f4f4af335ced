//! The dispatcher's record of one block.

use super::state::{Event, Privilege, State, Use, next};
use crate::Node;
use thiserror::Error;

/// The scheduler's record of one block, in the runtime on ranks and in the simulator: its state, its host and the
/// version of its value. It is a state machine of 16 bytes; [`next`] has its transitions. The data of a block on ranks
/// is the trait [`run::Block`](crate::run::Block).
///
/// Slaves (copies) are not listed: a node may drop one at any time without a message. A driver can compare versions to
/// recognise an old copy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Block {
    state: State,
    host: Node,
    version: u32,
    issued: u32,
}

/// An event that the state of a block does not allow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("a block that is {state:?} and used by {issued} instructions does not allow {event:?}")]
pub struct NotAllowed {
    /// The block's state.
    pub state: State,
    /// The number of instructions issued for it and not committed.
    pub issued: u32,
    /// The event that was tried.
    pub event: Event,
}

impl Block {
    /// Creates a block without a value, hosted by a node.
    pub fn new(host: Node) -> Self {
        Block { host, ..Block::default() }
    }

    /// Returns its state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Returns the node of its master, or of its only incarnation. If it has none, this is the node on which it will be
    /// created.
    pub fn host(&self) -> Node {
        self.host
    }

    /// Returns the version of its value, which grows by 1 with every change.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Returns true if an instruction with this privilege may be issued for it.
    pub fn admits(&self, privilege: Privilege) -> bool {
        next(self.state, self.used(), Event::Issue(privilege)).is_some()
    }

    /// Applies an event, and returns the new state.
    ///
    /// # Errors
    /// [`NotAllowed`] if the state does not allow the event. The block is then unchanged.
    pub fn apply(&mut self, event: Event) -> Result<State, NotAllowed> {
        let Some(to) = next(self.state, self.used(), event) else {
            return Err(NotAllowed { state: self.state, issued: self.issued, event });
        };
        match event {
            Event::Issue(_) => self.issued += 1,
            Event::Commit => self.issued -= 1,
            _ => {}
        }
        let changed = to == State::Readable && self.state != State::Readable && event != Event::Load;
        self.version += u32::from(changed);
        self.state = to;
        Ok(to)
    }

    /// Makes another node the host (the papers say that the master *floats*).
    pub fn float(&mut self, host: Node) {
        self.host = host;
    }

    /// Resets the block after its value and the instructions that used it were lost with their nodes. It can be made
    /// again.
    pub fn lose(&mut self, host: Node) {
        *self = Block { version: self.version, ..Block::new(host) };
    }

    fn used(&self) -> Use {
        if self.issued == 0 { Use::Idle } else { Use::Busy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_kind_of_privilege_at_a_time() {
        let mut block = Block::new(3);
        assert_eq!(block.apply(Event::Create), Ok(State::Readable));
        block.apply(Event::Issue(Privilege::Read)).unwrap();
        block.apply(Event::Issue(Privilege::Read)).unwrap();
        assert!(!block.admits(Privilege::Write) && block.admits(Privilege::Read));
        let refused = block.apply(Event::Issue(Privilege::Write)).unwrap_err();
        assert_eq!((refused.state, refused.issued), (State::Readable, 2));
        block.apply(Event::Commit).unwrap();
        block.apply(Event::Commit).unwrap();
        block.apply(Event::Issue(Privilege::Write)).unwrap();
        assert!(Privilege::ALL.iter().all(|privilege| !block.admits(*privilege)));
        assert_eq!((block.apply(Event::Commit), block.version()), (Ok(State::Readable), 2));
    }

    #[test]
    fn an_updating_state_is_left_when_all_have_committed() {
        let mut block = Block::new(0);
        for _ in 0..3 {
            block.apply(Event::Issue(Privilege::DistributedUpdate)).unwrap();
        }
        assert!(block.apply(Event::Settle).is_err() && !block.admits(Privilege::RemoteUpdate));
        for _ in 0..3 {
            block.apply(Event::Commit).unwrap();
        }
        assert!(block.apply(Event::Commit).is_err());
        assert_eq!(block.apply(Event::Settle), Ok(State::Readable));
    }

    #[test]
    fn small() {
        assert!(size_of::<Block>() <= 16);
    }
}
