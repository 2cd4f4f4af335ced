//! The seven states of a block and the transitions between them (S0 section 2).

use serde::{Deserialize, Serialize};

/// The access of an instruction to a block.
///
/// All instructions that have been issued for a block and are not committed have the same privilege on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Privilege {
    /// Read it.
    Read,
    /// Read and write it, alone.
    Write,
    /// Pass a modifier to its only incarnation.
    RemoteUpdate,
    /// Modify the incarnation on its own node, which holds a partial result of the block.
    DistributedUpdate,
}

impl Privilege {
    /// All privileges.
    pub const ALL: [Privilege; 4] =
        [Privilege::Read, Privilege::Write, Privilege::RemoteUpdate, Privilege::DistributedUpdate];
}

/// The state of a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum State {
    /// It has a number and no value.
    #[default]
    Uninitiated,
    /// Its value is in external storage alone.
    External,
    /// One master and any number of slaves with the same value.
    Readable,
    /// One incarnation, used by one instruction.
    Writeable,
    /// One incarnation, to which any number of instructions pass modifiers.
    RemoteUpdateable,
    /// Any number of incarnations, whose sum is the value.
    DistributedUpdateable,
    /// Freed. It never gets a value again.
    Discarded,
}

impl State {
    /// All states.
    pub const ALL: [State; 7] = [
        State::Uninitiated,
        State::External,
        State::Readable,
        State::Writeable,
        State::RemoteUpdateable,
        State::DistributedUpdateable,
        State::Discarded,
    ];

    /// Returns the state in which instructions have this privilege.
    pub fn of(privilege: Privilege) -> State {
        match privilege {
            Privilege::Read => State::Readable,
            Privilege::Write => State::Writeable,
            Privilege::RemoteUpdate => State::RemoteUpdateable,
            Privilege::DistributedUpdate => State::DistributedUpdateable,
        }
    }

    /// Returns true for the three states in which instructions change the block.
    pub fn is_changing(self) -> bool {
        matches!(self, State::Writeable | State::RemoteUpdateable | State::DistributedUpdateable)
    }
}

/// An event that changes the state of a block, or its use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Event {
    /// It is given its first value.
    Create,
    /// Its value is read from external storage.
    Load,
    /// An instruction is issued for it.
    Issue(Privilege),
    /// An instruction that was issued for it has run to its end.
    Commit,
    /// No instruction that updates it will follow, and its partial incarnations are merged (*synchronisation*).
    Settle,
    /// Its value is written to external storage, and its incarnations are dropped.
    Persist,
    /// It will not be used any more.
    Discard,
}

impl Event {
    /// All events.
    pub const ALL: [Event; 10] = [
        Event::Create,
        Event::Load,
        Event::Issue(Privilege::Read),
        Event::Issue(Privilege::Write),
        Event::Issue(Privilege::RemoteUpdate),
        Event::Issue(Privilege::DistributedUpdate),
        Event::Commit,
        Event::Settle,
        Event::Persist,
        Event::Discard,
    ];
}

/// The use of a block by instructions that have been issued for it and are not committed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Use {
    /// No instruction uses the block.
    Idle,
    /// At least one instruction uses the block.
    Busy,
}

/// Returns the state after an event, or `None` if the event is not allowed.
///
/// ```text
///                    Create                           Discard
///   Uninitiated ───────────────▶ Readable ─────────────────────▶ Discarded
///        │         Load ▲          │  ▲  ▲                      (also from External,
///        │       External ◀────────┘  │  │ Settle                and Uninitiated)
///        │                 Persist    │  │
///        │                            │  ├── RemoteUpdateable ◀──┐ Issue
///        │ Issue(update)       Commit │  └── DistributedUpdateable ◀┐
///        └───────────────────▶        Writeable ◀── Issue ── Readable
/// ```
///
/// These rules are not in the paper: a block without a value may be updated (its value begins as the operation's
/// identity), and may be discarded; [`Event::Settle`] ends an updating state once all its instructions are committed.
pub fn next(state: State, used: Use, event: Event) -> Option<State> {
    use State::*;
    let idle = used == Use::Idle;
    match (state, event) {
        (Uninitiated, Event::Create) | (External, Event::Load) => Some(Readable),
        (Readable, Event::Issue(Privilege::Read)) => Some(Readable),
        (Readable, Event::Issue(wanted)) if idle => Some(State::of(wanted)),
        (Uninitiated, Event::Issue(wanted @ (Privilege::RemoteUpdate | Privilege::DistributedUpdate))) => {
            Some(State::of(wanted))
        }
        (RemoteUpdateable, Event::Issue(Privilege::RemoteUpdate)) => Some(RemoteUpdateable),
        (DistributedUpdateable, Event::Issue(Privilege::DistributedUpdate)) => Some(DistributedUpdateable),
        (Writeable, Event::Commit) if !idle => Some(Readable),
        (Readable | RemoteUpdateable | DistributedUpdateable, Event::Commit) if !idle => Some(state),
        (RemoteUpdateable | DistributedUpdateable, Event::Settle) if idle => Some(Readable),
        (Readable, Event::Persist) if idle => Some(External),
        (Readable, Event::Discard) if idle => Some(Discarded),
        (Uninitiated | External, Event::Discard) => Some(Discarded),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    type Edge = (usize, usize, bool);

    /// All transitions between different states, and the loops, as S0 section 2 has them: (from, event, to). `!` after
    /// a name: only while no instruction uses the block; `+`: only while one does.
    const PAPER: &str = "
        Uninitiated            Create             Readable
        Uninitiated            RemoteUpdate       RemoteUpdateable
        Uninitiated            DistributedUpdate  DistributedUpdateable
        Uninitiated            Discard            Discarded
        External               Load               Readable
        External               Discard            Discarded
        Readable               Read               Readable
        Readable!              Write              Writeable
        Readable!              RemoteUpdate       RemoteUpdateable
        Readable!              DistributedUpdate  DistributedUpdateable
        Readable+              Commit             Readable
        Readable!              Persist            External
        Readable!              Discard            Discarded
        Writeable+             Commit             Readable
        RemoteUpdateable       RemoteUpdate       RemoteUpdateable
        RemoteUpdateable+      Commit             RemoteUpdateable
        RemoteUpdateable!      Settle             Readable
        DistributedUpdateable  DistributedUpdate  DistributedUpdateable
        DistributedUpdateable+ Commit             DistributedUpdateable
        DistributedUpdateable! Settle             Readable";

    fn event(name: &str) -> usize {
        let name_of = |event: &Event| match event {
            Event::Issue(privilege) => format!("{privilege:?}"),
            other => format!("{other:?}"),
        };
        Event::ALL.iter().position(|event| name_of(event) == name).expect("an event")
    }

    fn state(name: &str) -> usize {
        State::ALL.iter().position(|state| format!("{state:?}") == name).expect("a state")
    }

    /// The allowed (state, event, busy), and the states that they lead to.
    fn paper() -> Vec<(Edge, usize)> {
        let mut edges = Vec::new();
        for line in PAPER.lines().filter(|line| !line.trim().is_empty()) {
            let [from, what, to] = line.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{line}") };
            let name = from.trim_end_matches(['!', '+']);
            for busy in [false, true] {
                if !(busy && from.ends_with('!') || !busy && from.ends_with('+')) {
                    edges.push(((state(name), event(what), busy), state(to)));
                }
            }
        }
        edges
    }

    fn machine() -> Vec<(Edge, usize)> {
        let mut edges = Vec::new();
        for (from, state) in State::ALL.iter().enumerate() {
            for (what, event) in Event::ALL.iter().enumerate() {
                for (busy, used) in [(false, Use::Idle), (true, Use::Busy)] {
                    if let Some(to) = next(*state, used, *event) {
                        let to = State::ALL.iter().position(|state| *state == to).unwrap();
                        edges.push(((from, what, busy), to));
                    }
                }
            }
        }
        edges
    }

    fn differences(one: &[(Edge, usize)], other: &[(Edge, usize)]) -> usize {
        let set = |edges: &[(Edge, usize)]| edges.iter().copied().collect::<BTreeSet<_>>();
        set(one).symmetric_difference(&set(other)).count()
    }

    #[test]
    fn exactly_the_transitions_of_the_paper() {
        assert_eq!(differences(&paper(), &machine()), 0);
    }

    #[test]
    fn one_transition_more_or_less_is_found() {
        let (paper, machine) = (paper(), machine());
        for removed in 0..machine.len() {
            let mut fewer = machine.clone();
            fewer.remove(removed);
            assert_ne!(differences(&paper, &fewer), 0);
        }
        let allowed: BTreeSet<Edge> = paper.iter().map(|(edge, _)| *edge).collect();
        for from in 0..State::ALL.len() {
            for what in 0..Event::ALL.len() {
                for busy in [false, true] {
                    for to in 0..State::ALL.len() {
                        let mut more = machine.clone();
                        more.push(((from, what, busy), to));
                        let known =
                            allowed.contains(&(from, what, busy)) && machine.contains(&((from, what, busy), to));
                        assert_eq!(differences(&paper, &more) == 0, known);
                    }
                }
            }
        }
    }

    #[test]
    fn no_updating_state_follows_another_and_discarded_is_final() {
        for state in State::ALL {
            for event in Event::ALL {
                for used in [Use::Idle, Use::Busy] {
                    let Some(to) = next(state, used, event) else { continue };
                    assert!(!(state.is_changing() && to.is_changing() && state != to), "{state:?} {event:?}");
                    assert_ne!(state, State::Discarded);
                }
            }
        }
    }
}
