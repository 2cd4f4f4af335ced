//! The program's side: arrays, barriers, locks.

use crate::array::{Array, Memory, Open};
use crate::counts::Counts;
use crate::error::Misuse;
use crate::grid::Grid;
use crate::machine::{Machine, Message, Page, Peer, WORD};
use crate::node::{BARRIER, DIFFS, LOCK, Node};
use aurora_core::object::{Making, Plan, Shared, Wait};
use aurora_core::ops::Sum;
use aurora_core::prelude::*;
use aurora_core::{Element, Op, Site};
use std::any::type_name;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

/// The maximum bytes of intervals and differences that a rank keeps, unless a program sets another limit.
const HISTORY: usize = 1 << 30;

/// The number of pages whose contents one call of the kernel copies.
const AT_ONCE: usize = 64;

/// A rank's part of a shared memory like that of TreadMarks: arrays, one barrier, locks with any numbers.
///
/// Memory is lazily release-consistent (section 2.2.2 of the comparison with PVM). A rank sees the writes of another
/// rank after both have passed a [`barrier`](Self::barrier), or after it has acquired a lock that the other rank has
/// released. Other calls that order ranks, such as [`World::barrier`], do not order accesses to arrays. Ranks may write
/// different words of one page at the same time. If two ranks write one word and nothing orders the writes, ranks may
/// see different values from then on; `AURORA_CHECK=1` does not report such a race.
///
/// ```
/// use aurora_core::prelude::*;
/// use aurora_treadmarks::Tmk;
///
/// Config::threads(4).run(|world| {
///     let tmk = Tmk::new(world)?;
///     let mut counts = tmk.array::<u64>(100, 100)?;
///     let me = world.rank().index();
///     for turn in 0..3 {
///         tmk.acquire(7)?;
///         counts.write(0..100)?[turn] += 1;
///         tmk.release(7)?;
///     }
///     tmk.barrier()?;
///     assert_eq!(counts.read(0..4)?[..], [4, 4, 4, 0]);
///     tmk.barrier()?;
///     counts.write(me..me + 1)?[0] = 9; // neighbours in one page
///     tmk.barrier()?;
///     assert_eq!(counts.read(0..4)?[..], [9; 4]);
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
pub struct Tmk {
    inner: Rc<Inner>,
}

pub(crate) struct Inner {
    shared: Shared<Node>,
    /// For each page: whether the program's copy lacks changes, and whether this rank has written it in this interval.
    states: RefCell<Vec<PageState>>,
    /// The pages that this rank has written in this interval.
    written: RefCell<Vec<Page>>,
    arrays: RefCell<Vec<Part>>,
    /// The guards that are alive, by their numbers.
    pub(crate) open: RefCell<BTreeMap<u64, Open>>,
    guards: Cell<u64>,
}

/// The pages and the memory of an array.
struct Part {
    grid: Grid,
    memory: Rc<RefCell<dyn Memory>>,
}

#[derive(Clone, Copy, Default)]
struct PageState {
    is_invalid: bool,
    is_written: bool,
}

impl Tmk {
    /// Collective. Creates a shared memory without arrays.
    ///
    /// # Errors
    /// The errors of [`World::share`].
    #[track_caller]
    pub fn new(world: &World) -> Result<Self> {
        Tmk::with_history(world, HISTORY)
    }

    /// Collective. Creates a shared memory in which each rank keeps at most `bytes` bytes of intervals and differences.
    /// These are never freed; a rank that has more fails. [`Tmk::new`] allows 1 GiB.
    ///
    /// # Errors
    /// The errors of [`World::share`]; `Mismatch` if the limits of ranks differ.
    #[track_caller]
    pub fn with_history(world: &World, bytes: usize) -> Result<Self> {
        let node = |making: &Making<'_>| Ok(Node::new(making.rank, making.size, bytes));
        let shared = world.share(Plan::new("TreadMarks", &bytes), node)?;
        let inner = Inner {
            shared,
            states: RefCell::default(),
            written: RefCell::default(),
            arrays: RefCell::default(),
            open: RefCell::default(),
            guards: Cell::new(0),
        };
        Ok(Tmk { inner: Rc::new(inner) })
    }

    /// Collective. Creates an array of `len` elements, all zero. Every `row` elements a new page begins; the other
    /// pages of a row have 4096 bytes. For an array without rows `row` is `len` or 0. Each rank has a copy of the whole
    /// array, and up to two more copies of the pages that it writes.
    ///
    /// # Errors
    /// `Mismatch` if ranks create different arrays; [`Misuse::NoWords`]; [`Misuse::TooManyPages`];
    /// [`Error::CacheLimit`] or [`Error::OutOfMemory`] if there is no memory for the copy.
    #[track_caller]
    pub fn array<T: Element>(&self, len: usize, row: usize) -> Result<Array<T>> {
        let inner = &self.inner;
        let made = inner.allocate::<T>(len, row);
        let refusal = made.as_ref().err().cloned();
        if let Ok((grid, _)) = &made {
            // Done before any rank can write to the array.
            inner.shared.tidy(|node, _| node.machine.grow_to(grid.end()));
        }
        let words = format!("an array of {len} {} in rows of {row}", type_name::<T>());
        inner.shared.agree("the construction of an array", &words, &(len, row), refusal)?;
        let (grid, memory) = made?;
        inner.states.borrow_mut().resize(grid.end() as usize, PageState::default());
        let memory = Rc::new(RefCell::new(memory));
        inner.arrays.borrow_mut().push(Part { grid, memory: Rc::clone(&memory) as _ });
        Ok(Array::new(Rc::clone(inner), grid, memory))
    }

    /// Collective. Returns once all ranks have arrived. A rank then sees all earlier writes of all ranks.
    ///
    /// # Errors
    /// [`Misuse::GuardAlive`]; `Mismatch`, `Deadlock` or a similar error if a rank never arrives; the error that ended
    /// the job.
    #[track_caller]
    pub fn barrier(&self) -> Result<()> {
        self.inner.synchronise("barrier", |node| node.machine.barrier())?;
        self.inner.await_until(BARRIER, |machine| !machine.is_in_barrier())
    }

    /// Acquires a lock; waits while another rank holds it. This rank then sees all writes that earlier holders of the
    /// lock made or saw before they released it. The manager of the lock is rank `lock mod n`. The rank holds the lock
    /// until it [releases](Self::release) it, even if the program leaves a function by `?`.
    ///
    /// # Errors
    /// [`Misuse::GuardAlive`]; [`Misuse::Held`]; `Deadlock` if ranks wait for each other's locks; `RankLeft` if the
    /// rank that holds the lock has left; the error that ended the job.
    #[track_caller]
    pub fn acquire(&self, lock: u32) -> Result<()> {
        let (inner, site) = (&self.inner, Site::here());
        inner.no_guards("acquire")?;
        if let Some(since) = inner.shared.tidy(|node, _| node.held.get(&lock).cloned()) {
            return Err(Error::user(Misuse::Held { lock, since }));
        }
        let again = inner.shared.act(|node, _| {
            let is_here = node.machine.has_lock(lock);
            if is_here {
                node.machine.acquire(lock);
                node.held.insert(lock, site.clone());
            }
            Ok(is_here)
        })?;
        if again {
            return Ok(());
        }
        inner.synchronise("acquire", |node| node.machine.acquire(lock))?;
        inner.await_until(LOCK, |machine| machine.awaited_lock().is_none())?;
        inner.shared.tidy(|node, _| node.held.insert(lock, site));
        Ok(())
    }

    /// Releases a lock.
    ///
    /// # Errors
    /// [`Misuse::GuardAlive`]; [`Misuse::NotHeld`]; the error that ended the job.
    #[track_caller]
    pub fn release(&self, lock: u32) -> Result<()> {
        self.inner.no_guards("release")?;
        if !self.inner.shared.tidy(|node, _| node.held.contains_key(&lock)) {
            return Err(Error::user(Misuse::NotHeld { lock }));
        }
        self.inner.synchronise("release", |node| {
            node.held.remove(&lock);
            node.machine.release(lock)
        })
    }

    /// The counts of this rank so far. They include messages that the rank sends while its program does other things:
    /// answers to requests, and grants of locks.
    pub fn counts(&self) -> Counts {
        self.inner.shared.tidy(|node, _| node.counts)
    }

    /// Collective. The sums of the counts of all ranks, up to this call.
    ///
    /// # Errors
    /// The errors of [`World::all_reduce`].
    #[track_caller]
    pub fn total_counts(&self, world: &World) -> Result<Counts> {
        world.barrier()?; // no rank waits for answers or locks
        world.all_reduce(Sum, self.counts())
    }
}

impl Op<Counts> for Sum {
    fn apply(current: Counts, operand: Counts) -> Counts {
        current + operand
    }
}

impl Inner {
    /// Allocates the memory of an array, and numbers its pages.
    #[track_caller]
    fn allocate<T: Element>(&self, len: usize, row: usize) -> Result<(Grid, Vec<T>)> {
        let size = size_of::<T>();
        if size == 0 || !size.is_multiple_of(WORD) {
            return Err(Error::user(Misuse::NoWords { bytes: size }));
        }
        let bytes = len.saturating_mul(size);
        let grid = Grid::new(self.states.borrow().len() as Page, bytes, row.saturating_mul(size));
        if grid.count().saturating_add(self.states.borrow().len()) > u32::MAX as usize {
            return Err(Error::user(Misuse::TooManyPages { bytes }));
        }
        Ok((grid, self.shared.zeros("the copy of an array", len)?))
    }

    /// A number for a guard.
    pub(crate) fn next_guard(&self) -> u64 {
        self.guards.replace(self.guards.get() + 1)
    }

    #[track_caller]
    fn no_guards(&self, call: &'static str) -> Result<()> {
        self.no_guards_of(None, call)
    }

    /// Fails if a guard is alive; with `array`, if a guard of that array is alive.
    #[track_caller]
    pub(crate) fn no_guards_of(&self, array: Option<Grid>, call: &'static str) -> Result<()> {
        match self.open.borrow().values().find(|open| array.is_none_or(|array| array == open.array)) {
            None => Ok(()),
            Some(Open { elements, taken, .. }) => {
                let (elements, taken) = (elements.clone(), taken.clone());
                Err(Error::user(Misuse::GuardAlive { call, elements, taken }))
            }
        }
    }

    /// Ends the interval, and synchronises.
    #[track_caller]
    fn synchronise(&self, call: &'static str, with: impl FnOnce(&mut Node) -> Vec<(Peer, Message)>) -> Result<()> {
        self.no_guards(call)?;
        let site = Site::here();
        let written = self.written.take();
        for pages in written.chunks(AT_ONCE) {
            self.shared.act(|node, _| {
                self.with_pages(pages, |page, content| node.machine.snapshot(page, content));
                Ok(())
            })?;
        }
        let mut states = self.states.borrow_mut();
        written.iter().for_each(|page| states[*page as usize].is_written = false);
        self.shared.act(|node, cx| {
            cx.sound()?;
            node.machine.close();
            node.requests.synchronised();
            let sent = with(node);
            let reason = cx.reason(call, Some(site));
            node.send(sent, Some(&reason), cx);
            Ok(())
        })
    }

    /// Calls `each` with the contents of pages of any arrays.
    fn with_pages(&self, pages: &[Page], mut each: impl FnMut(Page, &[u8])) {
        let arrays = self.arrays.borrow();
        for page in pages {
            let part = arrays.iter().find(|part| part.grid.has(*page)).expect("pages are of arrays");
            each(*page, &part.memory.borrow().bytes()[part.grid.bytes(*page)]);
        }
    }

    /// Waits, and notes the pages that were invalidated meanwhile.
    #[track_caller]
    fn await_until(&self, wait: Wait, is_over: impl Fn(&Machine) -> bool) -> Result<()> {
        self.shared.wait(wait, |node, _| is_over(&node.machine).then_some(Ok(())))?;
        let invalid = self.shared.act(|node, _| Ok(node.machine.take_invalidated()))?;
        let mut states = self.states.borrow_mut();
        invalid.into_iter().for_each(|page| states[page as usize].is_invalid = true);
        Ok(())
    }

    /// Brings the pages of a range of bytes of an array up to date, one after the other.
    #[track_caller]
    pub(crate) fn bring(&self, grid: &Grid, bytes: &Range<usize>, memory: &mut [u8]) -> Result<()> {
        let site = Site::here();
        for page in grid.pages(bytes) {
            if !self.states.borrow()[page as usize].is_invalid {
                continue;
            }
            self.shared.act(|node, cx| {
                cx.sound()?;
                let wanted = node.machine.miss(page);
                let Node { counts, requests, .. } = node;
                requests.missed(counts, wanted.iter().map(|(to, _)| *to));
                let reason = cx.reason("access", Some(site.clone()));
                node.send(wanted, Some(&reason), cx);
                Ok(())
            })?;
            let content = &mut memory[grid.bytes(page)];
            self.shared.wait(DIFFS, |node, _| node.machine.asked().next().is_none().then_some(Ok(())))?;
            let diffs = self.shared.act(|node, cx| {
                let diffs = node.machine.take(page);
                if !diffs.iter().all(|diff| diff.fits(content.len())) {
                    let error = cx.error("a difference of a page does not fit it: ranks run different builds");
                    cx.fail(error.clone());
                    return Err(error);
                }
                node.counts.applied(&diffs);
                Ok(diffs)
            })?;
            diffs.iter().for_each(|diff| diff.apply(content));
            self.states.borrow_mut()[page as usize].is_invalid = false;
        }
        Ok(())
    }

    /// Notes that the program is about to write to a range of bytes of an array, which are up to date.
    #[track_caller]
    pub(crate) fn begin_writes(&self, grid: &Grid, bytes: &Range<usize>, memory: &[u8]) -> Result<()> {
        let mut states = self.states.borrow_mut();
        let mut new: Vec<_> = grid.pages(bytes).filter(|page| !states[*page as usize].is_written).collect();
        for pages in new.chunks(AT_ONCE) {
            self.shared.act(|node, _| {
                pages.iter().for_each(|page| node.machine.write(*page, &memory[grid.bytes(*page)]));
                Ok(())
            })?;
            pages.iter().for_each(|page| states[*page as usize].is_written = true);
        }
        self.written.borrow_mut().append(&mut new);
        Ok(())
    }
}
