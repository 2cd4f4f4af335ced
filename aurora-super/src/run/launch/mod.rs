//! A launch, without the types of its function and grid: the program that the dispatcher hands out.

use crate::dispatch::Run;
use crate::run::blocks::{Arrays, has_room, short};
use crate::run::index::Index;
use crate::run::instruction::{Args, Instruction};
use crate::run::job::free;
use crate::run::operand::{Access, Arg, Cell, Merging, Place};
use crate::{BlockId, Group, Updates};
use aurora_core::Site;
use fixedbitset::FixedBitSet;
use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

mod partial;

/// The number of steps of a group: a number, or a function of the group's index.
pub trait Steps<I> {
    #[doc(hidden)]
    fn of(&self, group: I) -> u32;
}

impl<I> Steps<I> for u32 {
    fn of(&self, _: I) -> u32 {
        *self
    }
}

impl<I, F: Fn(I) -> u32> Steps<I> for F {
    fn of(&self, group: I) -> u32 {
        self(group)
    }
}

/// An error of a super-program: a name, by which programs recognise it, and the cause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::run) struct Trouble {
    pub(in crate::run) name: &'static str,
    pub(in crate::run) cause: String,
}

/// A prepared launch, or the error that prevents it.
pub(in crate::run) type Launched = Result<Launch, Trouble>;

/// The names of a super-program's errors: `Error::Object { name, .. }`.
pub mod names {
    /// A rank cannot start its threads.
    pub const THREADS: &str = "Threads";
    /// One block is written twice by an instruction, or both read and written in one launch.
    pub const CONFLICT: &str = "Conflict";
    /// An operand closure names another result for a group than before.
    pub const IMPURE: &str = "Impure";
    /// An index is outside its array, or a handle belongs to another super-program.
    pub const OUTSIDE: &str = "Outside";
    /// An instruction has returned an error.
    pub const FAILED: &str = "Failed";
    /// An instruction, a creator, an operand closure or serde code of the program has panicked.
    pub const PANICKED: &str = "Panicked";
    /// A block cannot be encoded or decoded.
    pub const VALUE: &str = "Value";
    /// A grid or an array has too many places, or more than there is memory for.
    pub const TOO_LARGE: &str = "TooLarge";
    /// The identity of an operation changes a partial result that is merged into it.
    pub const IDENTITY: &str = "Identity";
    /// An array without blocks has no value to fold.
    pub const EMPTY: &str = "Empty";
}

/// In place of a result: the group has no instruction.
const NONE: BlockId = BlockId::MAX;

/// An index launch: one function, a grid of groups, and the operands of each instruction.
///
/// Groups of the program that write the same block are one group here, the first of them, and their instructions follow
/// each other. So each result is written in the order of the groups, as in a sequential program.
pub(in crate::run) struct Launch {
    /// The function, in words.
    name: &'static str,
    /// The shape of its grid.
    grid: String,
    pub(in crate::run) site: Site,
    matrix: [u32; 2],
    /// The result of each group of the program.
    results: Vec<BlockId>,
    lens: Lens,
    /// The groups that follow the first group of a result, with the number of their first instruction.
    chains: HashMap<Group, Vec<(u32, Group)>>,
    /// The blocks that are results.
    written: FixedBitSet,
    arrays: Arrays,
    program: u32,
    /// The type of the function.
    pub(in crate::run) function: TypeId,
    access: &'static [Access],
    /// The operation of the update, unless the launch writes.
    merging: Option<Merging>,
    operands: Box<Operands>,
    run: Box<Function>,
    show: Box<dyn Fn(Group) -> String + Send + Sync>,
    digest: u64,
    /// The next result is checked: the identity must not change it.
    pub(in crate::run) checks_next: AtomicBool,
}

type Operands = dyn Fn(Group, u32) -> Args + Send + Sync;
type Function = dyn Fn(&mut [Cell]) -> Result<(), String> + Send + Sync;

/// The number of instructions of each group, including those of its followers.
enum Lens {
    Equal(u32),
    Of(Vec<u32>),
}

/// An instruction of a launch, with its operands.
#[cfg_attr(test, derive(Clone))]
pub(in crate::run) struct Resolved {
    pub(in crate::run) args: Args,
    /// The position of the result among the operands.
    pub(in crate::run) result: usize,
}

/// The arrays of a super-program and its number.
#[derive(Clone)]
pub(in crate::run) struct Context {
    pub(in crate::run) arrays: Arrays,
    /// The number of the super-program in this process.
    pub(in crate::run) program: u32,
}

impl Launch {
    /// Prepares a launch: finds the result of each group. It calls the operand closure once for each group.
    pub(in crate::run) fn new<P, F: Instruction<P>, I: Index, O>(
        Context { arrays, program }: Context,
        (grid, steps): (I, impl Steps<I>),
        function: F,
        operands: O,
        site: Site,
    ) -> Result<Self, Trouble>
    where
        O: Fn(I, u32) -> F::At + Send + Sync + 'static,
    {
        let too_large = |why: &str| {
            Err(Trouble { name: names::TOO_LARGE, cause: format!("a launch over {grid:?} at {site}: {why}") })
        };
        let Some(groups) = grid.area() else {
            return too_large("a grid has at most 4294967295 groups");
        };
        if !has_room(groups) {
            return too_large("there is no memory for the tables of its groups; make fewer groups of more steps");
        }
        let mut launch = Launch {
            name: short(type_name::<F>()),
            grid: format!("{grid:?}"),
            site,
            // A grid without groups may have any number of rows.
            matrix: if groups == 0 { [0, 0] } else { grid.matrix() },
            results: Vec::new(),
            lens: Lens::Equal(0),
            chains: HashMap::new(),
            written: FixedBitSet::with_capacity(arrays.blocks() as usize),
            arrays,
            program,
            function: TypeId::of::<F>(),
            access: F::ACCESS,
            merging: F::MERGING,
            operands: Box::new(move |group, k| F::args(operands(grid.nth(group), k))),
            run: Box::new(move |cells| function.run(cells)),
            show: Box::new(move |group| format!("{:?}", grid.nth(group))),
            digest: 0,
            checks_next: AtomicBool::new(false),
        };
        let result = launch.result_operand()?;
        let lens: Vec<u32> = launch
            .shielded("the function of steps", None, || (0..groups).map(|group| steps.of(grid.nth(group))).collect())?;
        let mut hasher = DefaultHasher::new();
        lens.hash(&mut hasher);
        launch.find_results(result, lens)?;
        let of = (TypeId::of::<F>(), TypeId::of::<O>(), TypeId::of::<I>(), launch.matrix);
        (of, &launch.results, launch.arrays.blocks()).hash(&mut hasher);
        launch.digest = hasher.finish();
        Ok(launch)
    }

    /// Returns the position of the result among the operands of an instruction.
    fn result_operand(&self) -> Result<usize, Trouble> {
        let is_result = |access: &Access| matches!(access, Access::Write | Access::Update);
        let mut results = (0..).zip(self.access).filter(|(_, access)| is_result(access)).map(|(at, _)| at);
        match (results.next(), results.next()) {
            (Some(result), None) => Ok(result),
            (None, _) => {
                Err(self.conflict("writes no block: make one of its parameters `&mut T` or `&mut Update<T, Op>`"))
            }
            (Some(first), Some(second)) => Err(self.conflict(&format!(
                "writes two blocks, its operands {first} and {second}: an instruction has one result; make two \
                 launches of it, or one block of both",
            ))),
        }
    }

    fn conflict(&self, what: &str) -> Trouble {
        Trouble { name: names::CONFLICT, cause: format!("{self} {what}") }
    }

    fn find_results(&mut self, result: usize, mut lens: Vec<u32>) -> Result<(), Trouble> {
        let mut first_of: HashMap<BlockId, Group> = HashMap::new();
        self.results = Vec::with_capacity(lens.len());
        for group in 0..lens.len() as Group {
            let len = lens[group as usize];
            if len == 0 {
                self.results.push(NONE);
                continue;
            }
            let args = self.operands(group, 0)?;
            let block = self.block_of(&args[result], (group, 0), result)?.expect("a result is a block");
            self.results.push(block);
            let is_first = !self.written.put(block as usize);
            if is_first && first_of.is_empty() {
                continue;
            }
            // Most launches have one group for each result, and need no table.
            if first_of.is_empty() {
                let earlier = self.results[..group as usize].iter().copied().zip(0..);
                first_of.extend(earlier);
            }
            let first = *first_of.entry(block).or_insert(group);
            if is_first {
                continue;
            }
            let start = lens[first as usize];
            let Some(all) = start.checked_add(len) else {
                let cause =
                    format!("{self}: {} has more than {} instructions", self.arrays.of(block).show(block), u32::MAX);
                return Err(Trouble { name: names::TOO_LARGE, cause });
            };
            self.chains.entry(first).or_default().push((start, group));
            (lens[first as usize], lens[group as usize]) = (all, 0);
        }
        self.lens = match lens.first() {
            Some(first) if lens.iter().all(|len| len == first) => Lens::Equal(*first),
            None => Lens::Equal(0),
            _ => Lens::Of(lens),
        };
        Ok(())
    }

    /// Rows and columns of the groups.
    pub(in crate::run) fn grid(&self) -> (u32, u32) {
        (self.matrix[0], self.matrix[1])
    }

    pub(in crate::run) fn groups(&self) -> u32 {
        self.results.len() as u32
    }

    /// Returns the number of instructions of a group.
    pub(in crate::run) fn len(&self, group: Group) -> u32 {
        match &self.lens {
            Lens::Equal(len) => *len,
            Lens::Of(lens) => lens[group as usize],
        }
    }

    /// Instructions of a group that update a block commute, and those that write it do not.
    pub(in crate::run) fn updates(&self) -> Updates {
        if self.merging.is_some() { Updates::InTurns } else { Updates::InOrder }
    }

    /// The block that a group writes.
    pub(in crate::run) fn result(&self, group: Group) -> BlockId {
        self.results[group as usize]
    }

    pub(in crate::run) fn arrays(&self) -> &Arrays {
        &self.arrays
    }

    /// The launch in words: `the launch of multiply over (8, 8)`.
    pub(in crate::run) fn words(&self) -> String {
        format!("the launch of {} over {}", self.name, self.grid)
    }

    /// A number that is equal on all ranks that make the same launch.
    pub(in crate::run) fn digest(&self) -> u64 {
        self.digest
    }

    /// Returns true if a block is a result of this launch.
    pub(in crate::run) fn writes(&self, block: BlockId) -> bool {
        self.written.contains(block as usize)
    }

    /// The blocks that are results.
    pub(in crate::run) fn written(&self) -> impl Iterator<Item = BlockId> + '_ {
        let firsts = (0..self.groups()).filter(|group| self.len(*group) > 0);
        firsts.map(|group| self.results[group as usize])
    }

    /// The instructions in the order of the program's groups, which is not the order of chains.
    pub(in crate::run) fn in_order(&self) -> Vec<(Group, crate::Range)> {
        let mut runs = Vec::new();
        for group in (0..self.groups()).filter(|group| self.len(*group) > 0) {
            let chain = self.chains.get(&group).map_or(&[][..], Vec::as_slice);
            let (mut of, mut begin) = (group, 0);
            for (start, next) in chain.iter().copied().chain([(self.len(group), NONE)]) {
                runs.push((of, group, begin..start));
                (of, begin) = (next, start);
            }
        }
        runs.sort_unstable_by_key(|(of, ..)| *of);
        runs.into_iter().map(|(_, group, run)| (group, run)).collect()
    }

    /// Returns the group and step of the program that an instruction stands for.
    fn of_program(&self, crate::Instruction { group, k }: crate::Instruction) -> (Group, u32) {
        let Some(chain) = self.chains.get(&group) else {
            return (group, k);
        };
        match chain.partition_point(|(start, _)| *start <= k) {
            0 => (group, k),
            at => (chain[at - 1].1, k - chain[at - 1].0),
        }
    }

    /// An instruction in words, with the line.
    fn words_of(&self, (group, step): (Group, u32)) -> String {
        format!("step {step} of group {} of {self}", (self.show)(group))
    }

    /// An instruction in words, without the line.
    pub(in crate::run) fn show(&self, instruction: crate::Instruction) -> String {
        let (group, step) = self.of_program(instruction);
        format!("step {step} of group {} of {}", (self.show)(group), self.words())
    }

    /// Runs code of the program. A panic is an error.
    fn shielded<R>(&self, what: &str, at: Option<(Group, u32)>, run: impl FnOnce() -> R) -> Result<R, Trouble> {
        catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
            let whose = at.map_or_else(|| self.to_string(), |at| self.words_of(at));
            Trouble { name: names::PANICKED, cause: format!("{what} of {whose} panicked: {}", panic_message(panic)) }
        })
    }

    fn operands(&self, group: Group, step: u32) -> Result<Args, Trouble> {
        self.shielded("the operand closure", Some((group, step)), || (self.operands)(group, step))
    }

    /// The block of an operand.
    fn block_of(&self, arg: &Arg, at: (Group, u32), operand: usize) -> Result<Option<BlockId>, Trouble> {
        let Arg::Block(Place { block, array, program }) = *arg else {
            return Ok(None);
        };
        let outside = |what: String| {
            let cause = format!("operand {operand} of {} {what}", self.words_of(at));
            Err(Trouble { name: names::OUTSIDE, cause })
        };
        if program != self.program || array >= self.arrays.count() {
            return outside("is a block of another super-program".into());
        }
        match block {
            Place::OUTSIDE => {
                outside(format!("is outside {} (`get` and `near` give an `Option`)", self.arrays.get(array)))
            }
            block => Ok(Some(block)),
        }
    }

    /// The operands of an instruction, checked.
    pub(in crate::run) fn resolve(&self, instruction: crate::Instruction) -> Result<Resolved, Trouble> {
        let at = self.of_program(instruction);
        let (args, result) = (self.operands(at.0, at.1)?, self.results[instruction.group as usize]);
        let mut result_operand = 0;
        for (operand, (arg, access)) in args.iter().zip(self.access).enumerate() {
            let Some(block) = self.block_of(arg, at, operand)? else { continue };
            let show = || self.arrays.of(block).show(block);
            let cause = match access {
                Access::None => continue,
                Access::Read if self.writes(block) && block == result => {
                    format!(
                        "both reads and writes {}: read it through the parameter that writes it, or read another \
                             array and swap the two afterwards",
                        show()
                    )
                }
                Access::Read if self.writes(block) => {
                    format!(
                        "reads {}, which another group of the launch writes: make two launches of it, or read another \
                             array and swap the two afterwards",
                        show()
                    )
                }
                Access::Read => continue,
                _ if block == result => {
                    result_operand = operand;
                    continue;
                }
                _ if at.1 == 0 => {
                    let of = self.words_of(at);
                    let cause = format!(
                        "the operand closure named another block before for {of}: it has to depend on the index and \
                         the step alone"
                    );
                    return Err(Trouble { name: names::IMPURE, cause });
                }
                _ => {
                    let first = self.arrays.of(result).show(result);
                    format!(
                        "writes {}, and step 0 of its group writes {first}: all steps of a group write one block",
                        show()
                    )
                }
            };
            return Err(Trouble { name: names::CONFLICT, cause: format!("{} {cause}", self.words_of(at)) });
        }
        Ok(Resolved { args, result: result_operand })
    }

    /// Runs an instruction on its operands.
    pub(in crate::run) fn run(&self, instruction: crate::Instruction, cells: &mut [Cell]) -> Result<(), Trouble> {
        let at = self.of_program(instruction);
        let ended = self.shielded("the function", Some(at), || (self.run)(cells))?;
        ended.map_err(|error| Trouble { name: names::FAILED, cause: format!("{}: {error}", self.words_of(at)) })
    }

    /// Checks the identity by the result of an instruction, if it is the first one of a launch that updates.
    pub(in crate::run) fn check_first(&self, group: Group, result: &Cell) -> Result<(), Trouble> {
        match result {
            Some(value) if self.merging.is_some() && self.checks_next.swap(false, Ordering::Relaxed) => {
                self.encode_checked(group, value).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// The operands of the instructions of a run, and a number that is equal on all ranks whose operands are equal.
    pub(in crate::run) fn resolve_all(&self, run: &Run) -> Result<(Vec<(crate::Instruction, Resolved)>, u64), Trouble> {
        let mut hasher = DefaultHasher::new();
        let resolved = run.instructions().map(|instruction| {
            let resolved = self.resolve(instruction)?;
            resolved.args.iter().for_each(|arg| match arg {
                Arg::Block(place) => place.block.hash(&mut hasher),
                Arg::Absent => Place::OUTSIDE.hash(&mut hasher),
                Arg::Plain(_) => {}
            });
            Ok((instruction, resolved))
        });
        let resolved = resolved.collect::<Result<_, _>>()?;
        Ok((resolved, hasher.finish()))
    }
}

/// A captured value may panic when it is freed. At that time no result depends on it.
impl Drop for Launch {
    fn drop(&mut self) {
        free(std::mem::replace(&mut self.operands, Box::new(|_, _| Args::new())));
        free(std::mem::replace(&mut self.run, Box::new(|_| Ok(()))));
    }
}

/// The message of a panic. A payload without a message is leaked: it belongs to the program, and may panic when it is
/// dropped.
pub(in crate::run) fn panic_message(panic: Box<dyn Any + Send>) -> String {
    let other = match panic.downcast::<&str>() {
        Ok(text) => return text.to_string(),
        Err(other) => other,
    };
    other.downcast::<String>().map_or_else(
        |other| {
            std::mem::forget(other);
            "(without a message)".into()
        },
        |text| *text,
    )
}

impl fmt::Display for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.words(), self.site)
    }
}
