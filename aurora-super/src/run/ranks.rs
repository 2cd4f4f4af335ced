//! The engine of a super-program that runs on the ranks of a job.

use super::blocks::Array;
use super::launch::{Launched, Trouble, names};
use super::node::{Action, NodeState, Setup};
use super::object::{Object, error};
use super::operand::{Block, Value, owned};
use super::program::Settings;
use super::report::Tally;
use super::worker::{Queue, Workers};
use crate::execute::Limits;
use crate::policy::Pace;
use crate::{BlockId, Parts};
use aurora_core::object::{Plan, Shared, Until, Wait};
use aurora_core::{ObjectName, Rank, Result, Site, World};
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ops::Range;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

pub(super) struct Ranks<'w> {
    world: &'w World,
    shared: Shared<Object>,
    queue: Arc<Queue>,
    workers: Option<Workers>,
    name: ObjectName,
}

impl<'w> Ranks<'w> {
    #[track_caller]
    pub(super) fn start(world: &'w World, name: ObjectName, settings: Settings) -> Result<Self> {
        let queue = Arc::new(Queue::default());
        let (me, nodes) = (world.rank().index() as u32, world.size() as u32);
        let workers = settings.workers.unwrap_or_else(|| cores_of(world));
        let in_flight = settings.in_flight.unwrap_or(workers.saturating_mul(16)).max(workers);
        let of_speeds =
            settings.speeds.as_ref().map_or("equal speeds".into(), |speeds| format!("the speeds {speeds:?}"));
        let speeds = settings.speeds.unwrap_or_else(|| vec![1.0; nodes as usize]);
        let policy = settings.policy.unwrap_or_default();
        let parts = Parts::by_speed(&speeds).expect("speeds have been checked");
        // In each step a rank runs one instruction.
        let (running, in_flight) = if policy.pace == Pace::Steps { (1, 1) } else { (workers, in_flight) };
        let limits = Limits { running, in_flight, budget: None };
        let node = NodeState::new(Setup { me, parts, policy, limits, checks: world.is_checked() });
        let object = Object::new(node, queue.clone(), name.clone());
        let shared = world.share(Plan::new(name.what.clone(), &()), |_| Ok(object))?;
        let reach = shared.reach();
        let done = move |done: &mut Option<_>| {
            // If the job has ended, no call waits for this any more.
            let _over = reach.act_quietly(|object, cx| {
                object.done(done, cx);
                Ok(())
            });
        };
        let mut ranks = Ranks { world, shared, queue: queue.clone(), workers: None, name };
        let refusal = match Workers::start(workers, &queue, done) {
            Ok(workers) => {
                ranks.workers = Some(workers);
                None
            }
            Err(error) => Some(Trouble {
                name: names::THREADS,
                cause: format!(
                    "{workers} threads cannot be started: {error}; use fewer (`Super::workers`, AURORA_SUPER_WORKERS)"
                ),
            }),
        };
        let words = format!("the start of a super-program with the policy {policy} and {of_speeds}");
        ranks.agree("the start of a super-program", &words, 0, refusal)?;
        let workers = ranks.gather(running)?;
        ranks.act(|node, _| node.set_workers(workers))?;
        Ok(ranks)
    }

    #[track_caller]
    fn act<R>(&self, act: impl FnOnce(&mut NodeState, &mut Vec<Action>) -> R) -> Result<R> {
        // `act` may hold a launch. If an error has ended the super-program, the launch is freed here, outside the lock.
        let mut act = Some(act);
        self.shared.act(|object, cx| {
            cx.sound()?;
            Ok(object.act(cx, act.take().expect("an action runs once")))
        })
    }

    /// Waits until the machine has a result.
    #[track_caller]
    fn wait<R>(&self, look: impl Fn(&NodeState) -> Option<R>) -> Result<R> {
        let wait = Wait { number: 0, until: Until::Acted };
        self.shared.wait(wait, |object, _| look(&object.node).map(Ok))
    }
}

/// The cores of this rank's node for each of the node's ranks; at least 1.
fn cores_of(world: &World) -> u32 {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    (cores / world.about().node_ranks.len().max(1)).max(1) as u32
}

impl Ranks<'_> {
    /// Collective. All ranks make the same call, or all get an error.
    #[track_caller]
    pub(super) fn agree(&self, call: &'static str, words: &str, alike: u64, refusal: Option<Trouble>) -> Result<()> {
        let site = Site::here();
        self.shared.act(|object, cx| {
            object.call = Some((call, site));
            cx.sound()
        })?;
        let refusal = refusal.map(|trouble| self.error(trouble));
        self.ended(self.shared.agree(call, words, &alike, refusal))
    }

    /// An error ends the super-program. The first error of this rank is the one that all calls return.
    #[track_caller]
    fn ended<R>(&self, result: Result<R>) -> Result<R> {
        result.or_else(|error| {
            self.shared.act(|_, cx| {
                cx.fail(error.clone());
                cx.sound()
            })?;
            Err(error)
        })
    }

    /// Collective. All ranks return such a result, or all return the error of one rank.
    #[track_caller]
    fn settled<R>(&self, result: Result<R>) -> Result<R> {
        self.ended(self.shared.agree("the end of a call", "the end of a call", &0, result.as_ref().err().cloned()))?;
        result
    }

    #[track_caller]
    pub(super) fn declare(&self, array: Arc<Array>) -> Result<()> {
        self.act(|node, _| node.declare(array))
    }

    #[track_caller]
    pub(super) fn launch(&self, launch: Launched) -> Result<()> {
        let begin = Instant::now();
        let (words, digest, refusal) = match &launch {
            Ok(launch) => (launch.words(), launch.digest(), None),
            Err(trouble) => (String::new(), 0, Some(trouble.clone())),
        };
        // Launches that differ in steps or operands alone have different words too.
        let words = format!("{words} (number {:04x} by its steps and operands)", digest & 0xffff);
        let mut number = 0;
        if let Ok(launch) = launch {
            let launch = Arc::new(launch);
            let start = self.act(|node, _| node.start_of(&launch))?;
            let dispatch = start.map(|start| NodeState::dispatch(launch.clone(), start));
            number = self.act(|node, out| node.enter(launch, dispatch, out))?;
        }
        self.agree("a launch", &words, digest, refusal)?;
        self.act(NodeState::begin)?;
        self.wait(|node| node.is_complete(number).then_some(()))?;
        self.act(|node, _| node.tally.elapsed += begin.elapsed())
    }

    fn error(&self, trouble: Trouble) -> aurora_core::Error {
        error(self.world.rank(), &self.name, trouble)
    }

    /// Returns the blocks of a range that this rank owns, with their values. Blocks that have not been used are made.
    #[track_caller]
    fn made(&self, blocks: Range<BlockId>) -> Result<Vec<(BlockId, Value)>> {
        let own = self.act(|node, out| {
            let own: Vec<BlockId> = blocks.filter(|block| node.is_own(*block)).collect();
            own.iter().for_each(|block| node.make(*block, out));
            own
        })?;
        self.wait(|node| own.iter().map(|block| Some((*block, node.value(*block)?.clone()))).collect())
    }

    /// Collective. As [`made`](Self::made). If a creator panics, all ranks get its error, and none goes on to a call of
    /// the world.
    #[track_caller]
    pub(super) fn own(&self, blocks: Range<BlockId>) -> Result<Vec<(BlockId, Value)>> {
        self.settled(self.made(blocks))
    }

    /// Collective. Returns a copy of the value of a block of some rank.
    #[track_caller]
    pub(super) fn value<T: Block>(&self, block: BlockId, array: &Array) -> Result<T> {
        let site = Site::here();
        let refused =
            |Trouble { name, cause }| self.error(Trouble { name, cause: format!("{cause} (for a value at {site})") });
        let encoded = self.made(block..block + 1).and_then(|own| {
            let encoded = own.first().map(|(_, value)| array.encode(block, value));
            encoded.transpose().map_err(refused)
        });
        let encoded = self.settled(encoded)?;
        let owner = Rank::new(self.act(|node, _| node.host(block))? as usize);
        let bytes = self.world.broadcast(owner, encoded.map(Bytes::from))?.unwrap_or_default();
        // The owner decodes it too, so that all ranks have the same value.
        self.settled(array.decode(block, &bytes).map_err(refused)).map(owned)
    }

    /// Collective. A value of each rank.
    #[track_caller]
    pub(super) fn gather<V: Serialize + DeserializeOwned + 'static>(&self, value: V) -> Result<Vec<V>> {
        self.settled(self.world.all_gather(value))
    }

    /// The counters of this rank, and on rank 0 the weights.
    #[track_caller]
    pub(super) fn tally(&self) -> Result<(Tally, Vec<f64>)> {
        self.act(|node, _| (node.tally, node.weights().to_vec()))
    }

    #[cfg(test)]
    pub(super) fn logs(&self) -> Vec<super::replay::Log> {
        self.act(|node, _| std::mem::take(&mut node.logs)).expect("the job goes on")
    }

    /// Waits until workers have freed the values of earlier launches. A `Drop` that blocks is ended by the limit of
    /// waits, and is a notice after 30 s.
    fn wait_for_frees(&self) -> Result<()> {
        self.shared.act(|object, cx| {
            object.call = Some(("the drop", self.name.made_at.clone()));
            cx.sound()
        })?;
        self.wait(|node| node.has_freed().then_some(()))
    }
}

impl Drop for Ranks<'_> {
    fn drop(&mut self) {
        let is_sound = !thread::panicking() && self.wait_for_frees().is_ok();
        if let Some(workers) = self.workers.take().filter(|_| is_sound) {
            workers.join();
        }
        for free in self.shared.tidy(|object, _| object.node.end()) {
            free();
        }
        self.queue.clear();
    }
}
