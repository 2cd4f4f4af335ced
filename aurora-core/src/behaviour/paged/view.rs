//! A rank's view of a vector: the pages that are here, and copies of those that it has written.
//!
//! A view is private. It changes where its rank writes, where an absent page arrives, and in a sync. It knows no
//! messages: its methods name absent pages and changed elements, and take over pages and pushes that have arrived.

use super::map::PageMap;
use crate::memory::{Arriving, Fresh, Meter, Metered, Part, Shortage, Storage};
use crate::vector::batch::{Batch, batch_of_runs};
use crate::{Element, Result, Site};
use aurora_net::Rank;
use std::collections::HashMap;
use std::ops::Range;

/// The maximum number of pages whose changes travel in one batch.
const PAGES_OF_BATCH: usize = 64;

/// Adds the runs of elements that differ, counted from `first` on. Both have whole elements.
pub(super) type Differ = fn(now: &[u8], before: &[u8], first: usize, runs: &mut Vec<Range<usize>>);

/// [`Differ`] of elements of type `T`.
pub(super) fn differ<T: Element>(now: &[u8], before: &[u8], first: usize, runs: &mut Vec<Range<usize>>) {
    if now == before {
        return;
    }
    match size_of::<T>() {
        1 => differ_by::<1>(now, before, first, runs),
        2 => differ_by::<2>(now, before, first, runs),
        4 => differ_by::<4>(now, before, first, runs),
        8 => differ_by::<8>(now, before, first, runs),
        size => {
            let pairs = now.chunks_exact(size).zip(before.chunks_exact(size));
            add_runs(pairs.map(|(now, before)| now != before), first, runs);
        }
    }
}

/// Arrays are compared in a register, slices by a call.
fn differ_by<const SIZE: usize>(now: &[u8], before: &[u8], first: usize, runs: &mut Vec<Range<usize>>) {
    let pairs = now.as_chunks::<SIZE>().0.iter().zip(before.as_chunks::<SIZE>().0);
    add_runs(pairs.map(|(now, before)| now != before), first, runs);
}

/// Adds the runs of `true`, counted from `first` on. The first may continue the last of `runs`.
fn add_runs(differ: impl Iterator<Item = bool>, first: usize, runs: &mut Vec<Range<usize>>) {
    let mut places = first..;
    let mut differ = differ.peekable();
    while differ.peek().is_some() {
        places.start += std::iter::from_fn(|| differ.next_if(|differs| !differs)).count();
        let run = places.start..places.start + std::iter::from_fn(|| differ.next_if(|differs| *differs)).count();
        places.start = run.end;
        match runs.last_mut() {
            Some(last) if last.end == run.start => last.end = run.end,
            _ if run.is_empty() => {}
            _ => runs.push(run),
        }
    }
}

fn count(runs: &[Range<usize>]) -> usize {
    runs.iter().map(Range::len).sum()
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Absent,
    Here,
    /// The page may have been written since the last sync: there is a twin, a copy of its old elements.
    Twinned,
}

pub(super) struct View {
    map: PageMap,
    /// Bytes of an element.
    element: usize,
    differ: Differ,
    memory: Arriving,
    /// Charges memory when it is written for the first time.
    meter: Meter,
    states: Vec<State>,
    /// The pages that have a twin, in the order in which they were first written.
    twinned: Vec<usize>,
    /// The twins, each at the place of its page; made when the first page is written.
    twins: Option<Metered>,
    fresh: fn(usize) -> Fresh,
    /// Checking mode: the last line that wrote to each page.
    lines: Option<HashMap<usize, Site>>,
}

/// Changed elements of one owner's block.
pub(crate) struct Changes {
    pub(crate) home: Rank,
    /// A batch.
    pub(crate) batch: Vec<u8>,
    /// Checking mode: for consecutive values of the batch, their number and the last line that wrote to their page.
    pub(crate) lines: Vec<(usize, Site)>,
}

/// Pages of one owner, by their numbers in its block.
pub(super) type Wanted = (Rank, Vec<u32>);

impl View {
    pub(super) fn new(
        map: PageMap,
        (element, differ): (usize, Differ),
        fresh: fn(usize) -> Fresh,
        check: bool,
    ) -> std::result::Result<Self, Shortage> {
        let memory = Arriving::new(fresh(map.elements())?);
        let (meter, states) = (Meter::new(map.elements() * element), vec![State::Absent; map.len()]);
        let (twinned, twins, lines) = (Vec::new(), None, check.then(HashMap::new));
        Ok(View { map, element, differ, memory, meter, states, twinned, twins, fresh, lines })
    }

    fn bytes_of(&self, elements: &Range<usize>) -> Range<usize> {
        elements.start * self.element..elements.end * self.element
    }

    /// True if all pages of these elements are here.
    #[inline]
    pub(super) fn has(&self, elements: &Range<usize>) -> bool {
        self.states[self.map.over(elements)].iter().all(|state| *state != State::Absent)
    }

    /// The bytes of all elements, if the page of this one is here.
    #[inline]
    pub(super) fn here(&self, index: usize) -> Option<&[u8]> {
        (self.states[self.map.of(index)] != State::Absent).then(|| self.memory.bytes())
    }

    /// The bytes of all elements for writing, if this one may be written. Forgets which pages were shown.
    #[inline]
    pub(super) fn open(&mut self, index: usize) -> Option<&mut [u8]> {
        let is_open = self.states[self.map.of(index)] == State::Twinned && self.lines.is_none();
        if is_open { self.memory.free().map(Storage::bytes_mut) } else { None }
    }

    /// The absent pages of these elements, by owners, in order.
    pub(super) fn absent(&self, ranges: impl IntoIterator<Item = Range<usize>>) -> Vec<Wanted> {
        let mut ranges: Vec<_> = ranges.into_iter().map(|elements| self.map.over(&elements)).collect();
        ranges.sort_unstable_by_key(|pages| pages.start);
        // A page of several ranges counts once.
        let mut next = 0;
        let once = ranges.into_iter().flat_map(|pages| {
            let first = pages.start.max(next);
            next = next.max(pages.end);
            first..pages.end
        });
        let pages = once.filter(|page| self.states[*page] == State::Absent);
        let mut wanted: Vec<Wanted> = Vec::new();
        for (owner, number) in pages.map(|page| self.map.home(page)) {
            let number = u32::try_from(number).expect("no block has 16 TiB");
            match wanted.last_mut() {
                Some((last, numbers)) if *last == owner => numbers.push(number),
                _ => wanted.push((owner, vec![number])),
            }
        }
        wanted
    }

    /// Bytes of a page of a rank.
    pub(super) fn len_of(&self, owner: Rank, number: u32) -> usize {
        self.map.elements_of(owner, number as usize).len() * self.element
    }

    /// Stores a page that was absent.
    ///
    /// # Panics
    /// If `bytes` has the wrong length: a bug of Aurora.
    pub(super) fn fill(&mut self, owner: Rank, number: u32, bytes: &[u8]) -> std::result::Result<(), Shortage> {
        let page = self.map.page_of(owner, number as usize).expect("it was asked for");
        let place = self.bytes_of(&self.map.elements_of(owner, number as usize));
        assert_eq!(bytes.len(), place.len(), "a page of another length");
        if self.states[page] == State::Absent {
            self.meter.touch(place.clone())?;
            self.memory.write(place.start, bytes);
            self.states[page] = State::Here;
        }
        Ok(())
    }

    /// Shows elements whose pages are here. They are not written before the shown part is dropped.
    pub(super) fn show(&mut self, elements: &Range<usize>) -> Part {
        let pages = self.map.over(elements);
        let place = |page| {
            let (owner, number) = self.map.home(page);
            self.bytes_of(&self.map.elements_of(owner, number))
        };
        // Whole pages are noted, so that a page is noted once.
        let whole = if pages.is_empty() { 0..0 } else { place(pages.start).start..place(pages.end - 1).end };
        let bytes = if pages.is_empty() { 0..0 } else { self.bytes_of(elements) };
        self.memory.show(whole).cut(bytes)
    }

    /// Makes twins of the pages of these elements, which are here and are about to be written.
    pub(super) fn twin(&mut self, elements: &Range<usize>, line: &Site) -> std::result::Result<(), Shortage> {
        for page in self.map.over(elements) {
            if let Some(lines) = &mut self.lines {
                lines.insert(page, line.clone());
            }
            if self.states[page] == State::Twinned {
                continue;
            }
            let (owner, number) = self.map.home(page);
            let place = self.bytes_of(&self.map.elements_of(owner, number));
            let twins = self.twins.get_or_insert_with(|| {
                Metered::new(self.map.elements() * self.element, (self.fresh)(self.map.elements()))
            });
            twins.write(place.start, &self.memory.bytes()[place]);
            if let Some(shortage) = twins.short() {
                return Err(shortage.clone());
            }
            self.states[page] = State::Twinned;
            self.twinned.push(page);
        }
        Ok(())
    }

    /// All elements for writing, while nothing is shown. Only those whose pages have twins may be written.
    pub(super) fn memory_mut(&mut self) -> &mut dyn Storage {
        self.memory.free().expect("a guard that is borrowed mutably shows nothing")
    }

    /// Gives `sink` the elements that were changed since the last call, in order, until it fails. The twins are
    /// dropped.
    pub(super) fn take_changes(&mut self, mut sink: impl FnMut(Changes) -> Result<()>) -> Result<()> {
        let mut twinned = std::mem::take(&mut self.twinned);
        twinned.sort_unstable();
        let Some(twins) = self.twins.as_mut().and_then(Metered::bytes_mut) else {
            return Ok(());
        };
        let (now, element, map) = (self.memory.bytes(), self.element, &self.map);
        let (mut taken, mut runs, mut lines) = (Ok(()), Vec::new(), Vec::new());
        let of_one_home = twinned.chunk_by(|page, next| map.home(*page).0 == map.home(*next).0);
        for pages in of_one_home.flat_map(|pages| pages.chunks(PAGES_OF_BATCH)) {
            let home = map.home(pages[0]).0;
            for page in pages {
                let elements = map.elements_of(home, map.home(*page).1);
                let place = elements.start * element..elements.end * element;
                let before = count(&runs);
                (self.differ)(&now[place.clone()], &twins[place], elements.start, &mut runs);
                if let Some(line) = self.lines.as_mut().and_then(|lines| lines.remove(page)) {
                    lines.push((count(&runs) - before, line));
                }
                self.states[*page] = State::Here;
            }
            if taken.is_ok() && !runs.is_empty() {
                let start = map.start(home);
                let local = |run: &Range<usize>| run.start - start..run.end - start;
                let values = |run: &Range<usize>| (local(run), &now[run.start * element..run.end * element]);
                let batch = batch_of_runs(map.block(home), element, runs.iter().map(values));
                taken = sink(Changes { home, batch, lines: std::mem::take(&mut lines) });
            }
            runs.clear();
            lines.clear();
        }
        twinned.clear();
        self.twinned = twinned;
        taken
    }

    /// Takes over a push of an owner: a batch for its block, or nothing. `None`: it does not fit the block.
    pub(super) fn update(&mut self, owner: Rank, pushed: &[u8]) -> Option<()> {
        if pushed.is_empty() {
            return Some(());
        }
        let (start, element) = (self.map.start(owner), self.element);
        for (run, values) in Batch::parse(pushed, element, self.map.block(owner))?.runs(element) {
            let elements = start + run.start..start + run.end;
            if !self.has(&elements) {
                return None;
            }
            self.memory.write(elements.start * element, values);
        }
        Some(())
    }

    /// Forgets all pages and their changes: each is absent from now on.
    pub(super) fn forget(&mut self) {
        self.states.fill(State::Absent);
        self.twinned.clear();
    }
}
