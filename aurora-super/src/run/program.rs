//! The super-program as users see it.

use super::blocks::{Array, Arrays, Blocks, has_room};
use super::index::Index;
use super::instruction::Instruction;
use super::launch::{Context, Launch, Launched, Steps, Trouble, names};
use super::operand::{Arg, At, Block, Operand, Place, Value, owned};
use super::ranks::Ranks;
use super::report::{Report, Tally};
use super::sequential::Sequential;
use crate::policy::{UnknownPolicy, Version};
use crate::{BlockId, Parts, Policy};
use aurora_core::{Error, ObjectName, Result, Site, World};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::{TypeId, type_name_of_val};
use std::cell::RefCell;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Settings of a super-program: its policy, the speeds of ranks, threads, and instructions in flight.
#[derive(Clone, PartialEq, Debug, Default)]
#[must_use]
pub struct Super {
    settings: Settings,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Settings {
    pub(super) policy: Option<Policy>,
    pub(super) speeds: Option<Vec<f64>>,
    pub(super) workers: Option<u32>,
    pub(super) in_flight: Option<u32>,
}

/// Numbers handles of different super-programs of a process.
static NUMBERS: AtomicU32 = AtomicU32::new(0);

impl Super {
    /// Sets the policy: it decides which rank executes which instructions. The default is `AURORA_SUPER_POLICY`; if
    /// that is not set, [`Policy::TAIL`]. The policy must be the same on all ranks.
    ///
    /// A launch whose results are `&mut T` keeps the order of the steps of each group, on one rank, under every policy:
    /// other ranks may take whole groups. Only groups that [`Update`](crate::Update) their result are shared.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    /// use aurora_super::{Policy, Super};
    ///
    /// Config::threads(3).run(|world| {
    ///     let sp = Super::default().policy(Policy::ECT).speeds([1.0, 1.0, 3.0]).start(world)?;
    ///     let cells = sp.blocks(10, |i: u32| i)?; // 2 for rank 0, 2 for rank 1 and 6 for rank 2
    ///     sp.each(10, |cell: &mut u32| *cell *= 2, move |i| (cells.at(i),))?;
    ///     assert_eq!(sp.fold(&cells, |cell| *cell, |sum, cell| sum + cell)?, 90);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn policy(mut self, policy: Policy) -> Self {
        self.settings.policy = Some(policy);
        self
    }

    /// Sets the speeds of the ranks, in any unit, one for each rank: arrays are cut in proportion to them, to whole
    /// blocks. So use several blocks for each rank. Without this call all ranks are equal until the times of
    /// instructions show their speeds. The speeds must be the same on all ranks.
    pub fn speeds(mut self, speeds: impl Into<Vec<f64>>) -> Self {
        self.settings.speeds = Some(speeds.into());
        self
    }

    /// Sets the number of threads of this rank that run instructions. The default is `AURORA_SUPER_WORKERS`; if that is
    /// not set, the cores of the node divided by the ranks of the node. One more thread serves blocks and grants while
    /// all of these are busy.
    pub fn workers(mut self, workers: u32) -> Self {
        self.settings.workers = Some(workers);
        self
    }

    /// Sets the maximum number of instructions of this rank that run, or whose operands are here or have been asked
    /// for. The default is `AURORA_SUPER_IN_FLIGHT`; if that is not set, 16 for each thread.
    pub fn in_flight(mut self, in_flight: u32) -> Self {
        self.settings.in_flight = Some(in_flight);
        self
    }

    /// Collective. Starts a super-program.
    ///
    /// # Errors
    /// [`Error::BadSetting`] if a number is not one from 1, a policy is unknown or of the version
    /// [`Remote`](crate::policy::Version::Remote), or there is not one speed above 0 for each rank; `Mismatch` if ranks
    /// make different objects, or have different policies or speeds; [`Error::Object`] with the name
    /// [`Threads`](names::THREADS) if a rank cannot start its threads; an error that has ended the job.
    #[track_caller]
    pub fn start(self, world: &World) -> Result<SuperProgram<'_>> {
        let name = ObjectName::new("SuperProgram", Site::here());
        let setting = |given: Option<u32>, method: &str, name: &str| match (given, std::env::var(name).ok()) {
            (Some(0), _) => Err(bad(method, "0")),
            (Some(given), _) => Ok(Some(given)),
            (None, Some(text)) if !text.is_empty() => match text.parse() {
                Ok(number) if number > 0 => Ok(Some(number)),
                _ => Err(bad(name, &text)),
            },
            (None, _) => Ok(None),
        };
        let policy = policy_of(self.settings.policy)?;
        let settings = Settings {
            policy: Some(policy),
            speeds: self.settings.speeds.map(|speeds| checked(speeds, world.size())).transpose()?,
            workers: setting(self.settings.workers, "Super::workers", "AURORA_SUPER_WORKERS")?,
            in_flight: setting(self.settings.in_flight, "Super::in_flight", "AURORA_SUPER_IN_FLIGHT")?,
        };
        let engine = Ranks::start(world, name.clone(), settings)?;
        Ok(SuperProgram::over(Engine::Ranks(engine), name, policy))
    }
}

impl From<UnknownPolicy> for Error {
    fn from(unknown: UnknownPolicy) -> Self {
        Error::user(unknown)
    }
}

/// The policy that was given, or the one of the environment.
fn policy_of(given: Option<Policy>) -> Result<Policy> {
    let text = std::env::var("AURORA_SUPER_POLICY").unwrap_or_default();
    let policy = match given {
        Some(policy) => policy,
        None if text.is_empty() => Policy::default(),
        None => text
            .parse()
            .map_err(|_| Error::bad_setting("AURORA_SUPER_POLICY", &text, format!("one of {}", Policy::names())))?,
    };
    if policy.version == Version::Remote {
        let expected = format!("one of {}, or a policy of the version Simple, Distributed or Mixture", Policy::names());
        return Err(Error::bad_setting("Super::policy", "a policy of the version Remote", expected));
    }
    Ok(policy)
}

/// The speeds of the ranks, checked.
fn checked(speeds: Vec<f64>, ranks: usize) -> Result<Vec<f64>> {
    if speeds.len() == ranks && Parts::by_speed(&speeds).is_some() {
        return Ok(speeds);
    }
    let expected = format!("one number above 0 and up to 1e290 for each of the {ranks} ranks");
    Err(Error::bad_setting("Super::speeds", format!("{speeds:?}"), expected))
}

fn bad(name: &str, value: &str) -> Error {
    Error::bad_setting(name, value, "a number from 1 to 4294967295")
}

/// Runs launches. An enum: a trait object would lose the callers' lines.
enum Engine<'w> {
    Ranks(Ranks<'w>),
    Sequential(Sequential),
}

impl Engine<'_> {
    /// Collective. All ranks make the same call, or all get an error.
    #[track_caller]
    fn agree(&self, call: &'static str, words: &str, alike: u64, refusal: Option<Trouble>) -> Result<()> {
        match self {
            Engine::Ranks(ranks) => ranks.agree(call, words, alike, refusal),
            Engine::Sequential(sequential) => sequential.agree(refusal),
        }
    }

    #[track_caller]
    fn declare(&self, array: Arc<Array>) -> Result<()> {
        match self {
            Engine::Ranks(ranks) => ranks.declare(array),
            Engine::Sequential(sequential) => {
                sequential.declare(array);
                Ok(())
            }
        }
    }

    /// Collective.
    #[track_caller]
    fn launch(&self, launch: Launched) -> Result<()> {
        match self {
            Engine::Ranks(ranks) => ranks.launch(launch),
            Engine::Sequential(sequential) => sequential.launch(launch),
        }
    }

    /// Collective. The value of a block.
    #[track_caller]
    fn value<T: Block>(&self, block: BlockId, array: &Array) -> Result<T> {
        match self {
            Engine::Ranks(ranks) => ranks.value(block, array),
            Engine::Sequential(sequential) => Ok(owned(sequential.values(block..block + 1)?.remove(0).1)),
        }
    }

    /// Collective. The blocks of a range that this rank owns, with their values.
    #[track_caller]
    fn own(&self, blocks: Range<BlockId>) -> Result<Vec<(BlockId, Value)>> {
        match self {
            Engine::Ranks(ranks) => ranks.own(blocks),
            Engine::Sequential(sequential) => sequential.values(blocks),
        }
    }

    /// Collective. A value of each rank.
    #[track_caller]
    fn gather<V: Serialize + DeserializeOwned + 'static>(&self, value: V) -> Result<Vec<V>> {
        match self {
            Engine::Ranks(ranks) => ranks.gather(value),
            Engine::Sequential(_) => Ok(vec![value]),
        }
    }

    /// The counters of this rank, and on rank 0 the weights.
    #[track_caller]
    fn tally(&self) -> Result<(Tally, Vec<f64>)> {
        match self {
            Engine::Ranks(ranks) => ranks.tally(),
            Engine::Sequential(sequential) => Ok((sequential.tally(), vec![1.0])),
        }
    }
}

/// The super-program of the runtime: arrays of blocks on the ranks of a job, and launches of instructions over them (S0
/// section 1, S2 section 2). [`sim::SuperProgram`](crate::sim::SuperProgram) is a version of the simulated program.
///
/// All methods but [`sequential`](SuperProgram::sequential) are collective: every rank of the world calls them in the
/// same order, with the same function and arguments. An error ends the super-program on all ranks: every later call
/// returns it.
///
/// A program that uses blocks only through this handle also runs sequentially: pass it [`SuperProgram::sequential`] to
/// debug it.
///
/// ```
/// use aurora_core::ops::Sum;
/// use aurora_core::prelude::*;
/// use aurora_super::{SuperProgram, Update};
///
/// fn count(text: &str, words: &mut Update<u64, Sum>) {
///     **words += text.split_whitespace().count() as u64;
/// }
///
/// fn program(sp: &SuperProgram<'_>) -> Result<u64> {
///     let texts = sp.blocks(100, |i: u32| "word ".repeat(i as usize))?;
///     let words = sp.blocks(8, |_: u32| 0)?; // several, so that several ranks and threads count
///     sp.each(100, count, move |i| (texts.at(i), words.at(i % 8)))?;
///     sp.fold(&words, |count| *count, |sum, count| sum + count)
/// }
///
/// assert_eq!(program(&SuperProgram::sequential())?, 4950);
/// Config::threads(3).run(|world| {
///     assert_eq!(program(&SuperProgram::new(world)?)?, 4950);
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
pub struct SuperProgram<'w> {
    // Dropped before the engine, which frees the values that creators have captured, and survives their panics.
    arrays: RefCell<Arrays>,
    engine: Engine<'w>,
    name: ObjectName,
    number: u32,
    policy: Policy,
}

impl SuperProgram<'static> {
    /// Creates a super-program without ranks. It runs one instruction after the other on the caller's thread, in the
    /// order of groups and steps, and has the results and the errors of a super-program on ranks. If several groups
    /// fail, it returns the error of the first one, while ranks return the error of any of them. Use it to debug a
    /// super-program: breakpoints, prints and backtraces are those of a sequential program.
    #[track_caller]
    pub fn sequential() -> Self {
        let name = ObjectName::new("sequential SuperProgram", Site::here());
        SuperProgram::over(Engine::Sequential(Sequential::new(name.clone())), name, Policy::S)
    }
}

impl<'w> SuperProgram<'w> {
    /// Collective. [Starts](Super::start) a super-program on the ranks of a job, with the settings of
    /// [`Super::default`].
    ///
    /// # Errors
    /// The errors of [`Super::start`].
    #[track_caller]
    pub fn new(world: &'w World) -> Result<Self> {
        Super::default().start(world)
    }

    /// Returns its policy. Without ranks it is [`Policy::S`].
    pub fn policy(&self) -> Policy {
        self.policy
    }

    fn over(engine: Engine<'w>, name: ObjectName, policy: Policy) -> Self {
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        SuperProgram { engine, name, number, policy, arrays: RefCell::new(Arrays::default()) }
    }

    /// Collective. Creates an array of blocks. Each block has an owner: the rank that hosts it. The owner calls `make`
    /// when the block is first used. The result must depend on the index alone, because `make` may run again.
    ///
    /// An array of one index is cut into parts of successive blocks, one for each rank. An array of two indices is cut
    /// as a matrix, into the rectangles of [`Parts`](crate::Parts) (S2 section 3.4: *static*). Of three indices, the
    /// first two together are the row. The array lives as long as the super-program.
    ///
    /// # Errors
    /// `TooLarge` if all arrays together have more than 2^32 - 2 blocks, or if there is no memory for their tables;
    /// `Mismatch`, with both lines, if ranks make different calls, or arrays of different types or shapes.
    #[track_caller]
    pub fn blocks<T: Block, I: Index>(
        &self,
        shape: I,
        make: impl Fn(I) -> T + Send + Sync + 'static,
    ) -> Result<Blocks<T, I>> {
        let (site, first, array) = (Site::here(), self.arrays.borrow().blocks(), self.arrays.borrow().count());
        let alike = digest(&(TypeId::of::<T>(), format!("{shape:?}"), kind_of(&make)));
        let area = shape.area().filter(|area| first.checked_add(*area).is_some_and(|end| end < Place::OUTSIDE));
        let why = match area {
            None => Some("all arrays together have at most 4294967294 blocks"),
            Some(area) if !has_room(area) => Some("there is no memory for the tables of its blocks"),
            Some(_) => None,
        };
        let cause = |why| format!("an array of {shape:?} blocks at {site}: {why}; make larger blocks");
        let refusal = why.map(|why| Trouble { name: names::TOO_LARGE, cause: cause(why) });
        let made = Arc::new(Array::new(shape, first, area.unwrap_or(0), make, site));
        self.engine.agree(
            "a construction of an array",
            &format!("the construction of an {}", made.name),
            alike,
            refusal,
        )?;
        self.arrays.borrow_mut().push(made.clone());
        self.engine.declare(made)?;
        Ok(Blocks::new(shape, Place { block: first, array, program: self.number }))
    }

    /// Collective. Launches an instruction over a grid of groups, and returns when all instructions have run.
    ///
    /// A *group* is one place of the grid. It has `steps` instructions: a number, or a function of the group's index.
    /// `operands` takes the group's index and the step, from 0, and returns the operands of that instruction: a tuple
    /// with one place for each parameter of the function. No list of instructions exists. Each rank calls `operands`
    /// for step 0 of every group, to find the written blocks, and later, on its workers, for the instructions that it
    /// runs; rank 0 for those of all ranks. The result must depend on the index and the step alone.
    ///
    /// The [policy](Super::policy) decides which rank executes which instructions. Groups run in parallel. All
    /// instructions of a group that *writes* its block, through `&mut T`, run on one rank, in the order of their steps;
    /// groups that write the same block run one after the other, in the order of their indices. Instructions of groups
    /// that *update* their block run in any order, and on several ranks, whose partial results are merged at the end
    /// ([`Update`](crate::Update)). An instruction must not read a block that the launch writes or updates. So the
    /// results are those of the sequential program on any number of ranks, to the bit if no update depends on the
    /// order.
    ///
    /// A block that another rank has written stays there: it has a new host.
    ///
    /// # Errors
    /// - `Mismatch`, with both lines, if ranks make different calls, launch different functions or grids, or name
    ///   different blocks as operands; [`Error::RankLeft`] if a rank leaves instead. Values in [`Val`](crate::Val), and
    ///   values that the function has captured, are not compared: they must be equal on all ranks.
    /// - [`Error::Object`] with a [name](names): `Conflict` if an instruction reads a block that the launch writes, or
    ///   writes two blocks or none; `Outside` for an index outside its array, or a handle of another super-program;
    ///   `Impure` if the operand closure names another result when it is called again; `Identity` if the identity of an
    ///   operation is wrong, with `AURORA_CHECK=1`; `Failed` with the error of a function; `Panicked` with the message
    ///   of a panic; `Value` if a block cannot be encoded or decoded; `TooLarge` for a grid of more than 2^32 - 1
    ///   groups, for a block with more than 2^32 - 1 instructions, or if there is no memory for the tables of the
    ///   groups.
    /// - An error that has ended the job.
    #[track_caller]
    pub fn launch<P, F, I, O>(&self, grid: I, steps: impl Steps<I>, function: F, operands: O) -> Result<()>
    where
        F: Instruction<P>,
        I: Index,
        O: Fn(I, u32) -> F::At + Send + Sync + 'static,
    {
        let context = Context { arrays: self.arrays.borrow().clone(), program: self.number };
        self.engine.launch(Launch::new(context, (grid, steps), function, operands, Site::here()))
    }

    /// Collective. Launches one instruction for each index of a grid: a [`launch`](Self::launch) of one step.
    ///
    /// # Errors
    /// The errors of [`launch`](Self::launch).
    #[track_caller]
    pub fn each<P, F, I, O>(&self, grid: I, function: F, operands: O) -> Result<()>
    where
        F: Instruction<P>,
        I: Index,
        O: Fn(I) -> F::At + Send + Sync + 'static,
    {
        self.launch(grid, 1, function, move |index, _| operands(index))
    }

    /// Collective. Returns the value of a block, on all ranks.
    ///
    /// # Errors
    /// `Mismatch`, with both lines, if ranks make different calls or ask for different blocks; otherwise the errors of
    /// [`launch`](Self::launch).
    #[track_caller]
    pub fn value<T: Block>(&self, at: At<T>) -> Result<T> {
        let named = self.block(<&T>::arg(at));
        let of = named.as_ref().map_or_else(|_| String::new(), |(block, array)| array.show(*block));
        let alike = digest(&(TypeId::of::<T>(), named.as_ref().ok().map(|(block, _)| block)));
        self.engine.agree("a value", &format!("a value of {of}"), alike, named.as_ref().err().cloned())?;
        let (block, array) = named.unwrap_or_else(|_| unreachable!("it is refused"));
        self.engine.value(block, &array)
    }

    /// Collective. Maps each block of an array to a value, on the rank that owns the block, and folds the values on all
    /// ranks, in the order of the blocks: so the bits of the result are equal on any number of ranks. Both closures run
    /// on the program's thread: do long work in [`each`](Self::each).
    ///
    /// # Errors
    /// `Empty` for an array without blocks; `Mismatch`, with both lines, if ranks make different calls or fold
    /// different arrays; [`Error::Value`] for a value that serde cannot encode; otherwise the errors of
    /// [`launch`](Self::launch).
    #[track_caller]
    pub fn fold<T: Block, I: Index, V: Serialize + DeserializeOwned + 'static>(
        &self,
        blocks: &Blocks<T, I>,
        map: impl Fn(&T) -> V,
        fold: impl Fn(V, V) -> V,
    ) -> Result<V> {
        let (program, array) = blocks.array();
        let known = (program == self.number).then(|| self.arrays.borrow().get(array).clone());
        let refusal = match &known {
            None => Some(Trouble {
                name: names::OUTSIDE,
                cause: format!(
                    "the fold at {} is of an array of another super-program: fold an array that this one made",
                    Site::here()
                ),
            }),
            Some(array) if array.blocks.is_empty() => {
                let cause = format!("{array} has no blocks: the fold at {} has no value", Site::here());
                Some(Trouble { name: names::EMPTY, cause })
            }
            Some(_) => None,
        };
        let of = known.as_ref().map_or_else(String::new, |array| array.to_string());
        let closures = (type_name_of_val(&map), type_name_of_val(&fold));
        let alike = digest(&(array, TypeId::of::<V>(), closures));
        self.engine.agree("a fold", &format!("a fold of {of}"), alike, refusal)?;
        let own = self.engine.own(known.expect("else it is refused").blocks.clone())?;
        let map =
            |(block, value): &(BlockId, Value)| (*block, map(value.downcast_ref().expect("an array has one type")));
        let mapped: Vec<(BlockId, V)> = own.iter().map(map).collect();
        let mut all: Vec<(BlockId, V)> = self.engine.gather(mapped)?.into_iter().flatten().collect();
        all.sort_by_key(|(block, _)| *block);
        Ok(all.into_iter().map(|(_, value)| value).reduce(fold).expect("an array with blocks"))
    }

    /// Collective. Returns the counters of each rank: instructions, loads, merges, busy and idle time; and the weights
    /// of the ranks.
    ///
    /// # Errors
    /// The errors of [`value`](Self::value).
    #[track_caller]
    pub fn report(&self) -> Result<Report> {
        self.engine.agree("a report", "a report", 0, None)?;
        let own = self.engine.tally()?;
        let (ranks, weights): (_, Vec<Vec<f64>>) = self.engine.gather(own)?.into_iter().unzip();
        Ok(Report { policy: self.policy, ranks, weights: weights.concat() })
    }

    /// The records of this rank's dispatchers.
    #[cfg(test)]
    pub(super) fn logs(&self) -> Vec<super::replay::Log> {
        match &self.engine {
            Engine::Ranks(ranks) => ranks.logs(),
            Engine::Sequential(_) => Vec::new(),
        }
    }

    /// Returns the block that a handle names, and its array, if they belong to this super-program.
    #[track_caller]
    fn block(&self, arg: Arg) -> std::result::Result<(BlockId, Arc<Array>), Trouble> {
        let site = Site::here();
        let Arg::Block(Place { block, array, program }) = arg else { unreachable!("a handle names a block") };
        let outside = |cause| Err(Trouble { name: names::OUTSIDE, cause });
        if program != self.number {
            return outside(format!("the value at {site} is of a block of another super-program"));
        }
        let array = self.arrays.borrow().get(array).clone();
        match block {
            Place::OUTSIDE => outside(format!("the value at {site} is of an index outside {array}")),
            block => Ok((block, array)),
        }
    }
}

impl fmt::Debug for SuperProgram<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name.what)
    }
}

fn kind_of<F: 'static>(_: &F) -> TypeId {
    TypeId::of::<F>()
}

fn digest(alike: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    alike.hash(&mut hasher);
    hasher.finish()
}
