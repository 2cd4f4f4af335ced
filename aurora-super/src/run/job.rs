//! Work for the threads of a rank: functions, creators, operand closures, and serde of blocks that travel.

use super::blocks::Array;
use super::launch::{Launch, Resolved, Trouble, names, panic_message};
use super::message::Message;
use super::operand::{Cell, Value};
use super::store::Key;
use crate::dispatch::{Grant, Part};
use crate::{BlockId, Group, Instruction, Node};
use aurora_core::object::Received;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Work outside the lock of the rank's endpoint, because it calls code of the program.
pub(super) enum Job {
    /// Run a block's creator.
    Make { block: BlockId, array: Arc<Array> },
    /// Make the identity, with which this rank's partial result of a group begins.
    Identity { launch: Arc<Launch>, group: Group },
    /// Encode a block for these ranks.
    Encode { block: BlockId, array: Arc<Array>, value: Value, to: Vec<Node> },
    /// Encode a partial result for another rank, and check the identity if `checks`.
    EncodePart { launch: Arc<Launch>, part: Part, value: Value, to: Node, checks: bool },
    /// Decode a value of a block that has arrived.
    Decode { key: Key, block: BlockId, array: Arc<Array>, bytes: Received },
    /// Merge a partial result into the result of a group.
    Merge { launch: Arc<Launch>, group: Group, into: Value, part: Value },
    /// Find the operands of a grant. If the dispatcher is another rank, they have this digest there.
    Resolve { launch: Arc<Launch>, grant: Grant, digest: Option<u64> },
    /// At the dispatcher: find the digest of the operands of another rank's grant.
    Digest { launch: Arc<Launch>, grant: Grant, to: Node },
    /// Run an instruction. `result` is the place among the cells of its result, which is `key` on this rank.
    Run { launch: Arc<Launch>, instruction: Instruction, cells: Vec<Cell>, result: usize, key: Key },
    /// Free values of the program.
    Free(Garbage),
}

/// Frees values of the program when it is called.
pub(super) type Garbage = Box<dyn FnOnce() + Send>;

/// Returns a closure that frees values of the program. Each value is freed by itself, because each may panic.
pub(super) fn garbage<V: Send + 'static>(values: Vec<V>) -> Garbage {
    Box::new(move || values.into_iter().for_each(free))
}

/// Frees a value of the program that no result depends on. A panic goes no further: its message is printed.
pub(super) fn free(value: impl Sized) {
    catch_unwind(AssertUnwindSafe(|| drop(value))).unwrap_or_else(|panic| drop(panic_message(panic)));
}

/// The end of a job.
pub(super) enum Done {
    Made {
        key: Key,
        value: Value,
    },
    Encoded {
        message: Message,
        to: Vec<Node>,
        bytes: Vec<u8>,
    },
    Decoded {
        key: Key,
        value: Value,
    },
    Merged {
        group: Group,
        value: Value,
    },
    Resolved {
        grant: Grant,
        operands: Vec<(Instruction, Resolved)>,
    },
    /// The operands of a grant differ here from those at the dispatcher.
    Differs(Grant),
    Digested {
        grant: Grant,
        to: Node,
        digest: u64,
    },
    /// An instruction has run, with this result, and the function took this time.
    Ran {
        instruction: Instruction,
        key: Key,
        value: Value,
        took: Duration,
    },
    Freed,
    Failed(Trouble),
}

impl Job {
    /// Returns true if it runs before instructions, because another rank or an instruction waits for it.
    pub(super) fn is_urgent(&self) -> bool {
        !matches!(self, Job::Run { .. } | Job::Free(_))
    }

    /// Drops a job that does not run. Its values are freed one by one.
    pub(super) fn discard(self) {
        match self {
            Job::Free(garbage) => garbage(),
            Job::Run { cells, .. } => cells.into_iter().for_each(free),
            other => free(other),
        }
    }

    pub(super) fn run(self) -> Done {
        let launch = match &self {
            Job::Make { .. } | Job::Encode { .. } | Job::Decode { .. } | Job::Free(_) => None,
            Job::Identity { launch, .. }
            | Job::EncodePart { launch, .. }
            | Job::Merge { launch, .. }
            | Job::Run { launch, .. }
            | Job::Resolve { launch, .. }
            | Job::Digest { launch, .. } => Some(launch.clone()),
        };
        catch_unwind(AssertUnwindSafe(|| self.run_to_the_end())).unwrap_or_else(|panic| {
            let of = launch.map_or_else(String::new, |launch| format!(" of {launch}"));
            let cause = format!("a value{of} panicked when it was freed: {}", panic_message(panic));
            Done::Failed(Trouble { name: names::PANICKED, cause })
        })
    }

    /// Panics if a value of the program panics when it is freed.
    fn run_to_the_end(self) -> Done {
        let done = match self {
            Job::Make { block, array } => array.make(block).map(|value| Done::Made { key: Key::Block(block), value }),
            Job::Identity { launch, group } => {
                launch.identity(group).map(|value| Done::Made { key: Key::Part(group), value })
            }
            Job::Encode { block, array, value, to } => {
                array.encode(block, &value).map(|bytes| Done::Encoded { message: Message::Block(block), to, bytes })
            }
            Job::EncodePart { launch, part, value, to, checks } => {
                let encoded = match checks {
                    true => launch.encode_checked(part.group, &value),
                    false => launch.encode(part.group, &value),
                };
                encoded.map(|bytes| Done::Encoded { message: Message::Part(part), to: vec![to], bytes })
            }
            Job::Decode { key, block, array, bytes } => {
                array.decode(block, bytes.bytes()).map(|value| Done::Decoded { key, value })
            }
            Job::Merge { launch, group, into, part } => {
                launch.merge(group, into, part).map(|value| Done::Merged { group, value })
            }
            Job::Resolve { launch, grant, digest } => launch.resolve_all(&grant.what).map(|(operands, found)| {
                match digest.is_some_and(|digest| digest != found) {
                    true => Done::Differs(grant),
                    false => Done::Resolved { grant, operands },
                }
            }),
            Job::Digest { launch, grant, to } => {
                launch.resolve_all(&grant.what).map(|(_, digest)| Done::Digested { grant, to, digest })
            }
            Job::Run { launch, instruction, mut cells, result, key } => {
                let begin = Instant::now();
                launch.run(instruction, &mut cells).and_then(|()| {
                    let took = begin.elapsed();
                    launch.check_first(instruction.group, &cells[result])?;
                    let value = cells[result].take().expect("it has a result");
                    Ok(Done::Ran { instruction, key, value, took })
                })
            }
            Job::Free(garbage) => {
                garbage();
                Ok(Done::Freed)
            }
        };
        done.unwrap_or_else(Done::Failed)
    }
}
