//! Work for the threads of a rank: functions, creators, and serde of blocks that travel.

use super::blocks::Array;
use super::launch::{Launch, Trouble, names, said};
use super::operand::{Cell, Value};
use crate::{BlockId, Instruction, Node};
use aurora_core::object::Received;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Something to do outside the lock of the rank's endpoint.
pub(super) enum Job {
    /// Run a block's creator.
    Make { block: BlockId, array: Arc<Array> },
    /// Encode a block for these ranks.
    Encode { block: BlockId, array: Arc<Array>, value: Value, to: Vec<Node> },
    /// Decode a block that has arrived.
    Decode { block: BlockId, array: Arc<Array>, bytes: Received },
    /// Run an instruction.
    Run { launch: Arc<Launch>, instruction: Instruction, cells: Vec<Cell> },
}

/// The end of a job.
pub(super) enum Done {
    Made {
        block: BlockId,
        value: Value,
    },
    Encoded {
        block: BlockId,
        to: Vec<Node>,
        bytes: Vec<u8>,
    },
    Decoded {
        block: BlockId,
        value: Value,
    },
    /// With the operands, of which the result has changed, and the time that the function took.
    Ran {
        instruction: Instruction,
        cells: Vec<Cell>,
        took: Duration,
    },
    Failed(Trouble),
}

impl Job {
    /// Whether it precedes instructions: another rank, or an instruction, waits for a block.
    pub(super) fn is_urgent(&self) -> bool {
        !matches!(self, Job::Run { .. })
    }

    pub(super) fn run(self) -> Done {
        let launch = if let Job::Run { launch, .. } = &self { Some(launch.clone()) } else { None };
        catch_unwind(AssertUnwindSafe(|| self.run_to_the_end())).unwrap_or_else(|panic| {
            let of = launch.map_or_else(String::new, |launch| format!(" of {launch}"));
            let cause = format!("a value{of} panicked when it was freed: {}", said(panic));
            Done::Failed(Trouble { name: names::PANICKED, cause })
        })
    }

    /// Panics if a value of the program panics when it is freed.
    fn run_to_the_end(self) -> Done {
        let done = match self {
            Job::Make { block, array } => array.make(block).map(|value| Done::Made { block, value }),
            Job::Encode { block, array, value, to } => {
                array.encode(block, &value).map(|bytes| Done::Encoded { block, to, bytes })
            }
            Job::Decode { block, array, bytes } => {
                array.decode(block, bytes.bytes()).map(|value| Done::Decoded { block, value })
            }
            Job::Run { launch, instruction, mut cells } => {
                let begin = Instant::now();
                let ran = launch.run(instruction, &mut cells);
                ran.map(|()| Done::Ran { instruction, cells, took: begin.elapsed() })
            }
        };
        done.unwrap_or_else(Done::Failed)
    }
}
