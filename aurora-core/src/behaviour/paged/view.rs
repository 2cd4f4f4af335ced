//! A rank's view of a vector: the pages that are here, and copies of those that it has written.
//!
//! A view is private. It changes where its rank writes, where an absent page arrives, and in a sync. It knows no
//! messages: it says which pages are absent and what has changed, and takes what comes.

use super::map::PageMap;
use crate::element::Element;
use crate::memory::{Arriving, Fresh, Meter, Metered, Part, Shortage, Storage};
use crate::vector::batch::{Batch, batch_of_runs};
use aurora_net::Rank;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of values in one batch, about.
const BATCH: usize = 256 << 10;

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
    let mut begun = None;
    let mut add = |run: Range<usize>| match runs.last_mut() {
        Some(last) if last.end == run.start => last.end = run.end,
        _ => runs.push(run),
    };
    let mut end = first;
    for differs in differ {
        match (differs, begun) {
            (true, None) => begun = Some(end),
            (false, Some(start)) => {
                add(start..end);
                begun = None;
            }
            _ => {}
        }
        end += 1;
    }
    if let Some(start) = begun {
        add(start..end);
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Absent,
    Here,
    /// It may have been written since the last sync: there is a twin, a copy of how it was.
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
    /// Their copies, each at its place; made when the first page is written.
    twins: Option<Metered>,
    fresh: Arc<dyn Fn(usize) -> Fresh + Send + Sync>,
}

/// Pages of one owner, by their numbers in its block.
pub(super) type Wanted = (Rank, Vec<u32>);

impl View {
    pub(super) fn new(
        map: PageMap,
        (element, differ): (usize, Differ),
        fresh: Arc<dyn Fn(usize) -> Fresh + Send + Sync>,
    ) -> Result<Self, Shortage> {
        let memory = Arriving::new(fresh(map.elements())?);
        let (meter, states) = (Meter::new(map.elements() * element), vec![State::Absent; map.len()]);
        Ok(View { map, element, differ, memory, meter, states, twinned: Vec::new(), twins: None, fresh })
    }

    fn bytes_of(&self, elements: &Range<usize>) -> Range<usize> {
        elements.start * self.element..elements.end * self.element
    }

    /// Whether all pages of these elements are here.
    #[inline]
    pub(super) fn has(&self, elements: &Range<usize>) -> bool {
        self.states[self.map.over(elements)].iter().all(|state| *state != State::Absent)
    }

    /// The absent pages of these elements, by owners, in order.
    pub(super) fn absent(&self, ranges: impl IntoIterator<Item = Range<usize>>) -> Vec<Wanted> {
        let pages = ranges.into_iter().flat_map(|elements| self.map.over(&elements));
        let mut pages: Vec<_> = pages.filter(|page| self.states[*page] == State::Absent).collect();
        pages.sort_unstable();
        pages.dedup();
        let mut wanted: Vec<Wanted> = Vec::new();
        for (owner, number) in pages.into_iter().map(|page| self.map.home(page)) {
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

    /// An absent page is here.
    ///
    /// # Panics
    /// If its length is another: a bug of ours.
    pub(super) fn fill(&mut self, owner: Rank, number: u32, bytes: &[u8]) -> Result<(), Shortage> {
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
        self.memory.show(self.bytes_of(elements))
    }

    /// The bytes of all elements; those of absent pages mean nothing.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }

    /// Makes twins of the pages of these elements, which are here and are about to be written.
    pub(super) fn twin(&mut self, elements: &Range<usize>) -> Result<(), Shortage> {
        for page in self.map.over(elements) {
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

    /// The elements that were changed since the last call, as batches for their owners, in order. The twins are
    /// dropped.
    pub(super) fn take_changes(&mut self) -> Vec<(Rank, Vec<u8>)> {
        let mut batches = Vec::new();
        let mut twinned = std::mem::take(&mut self.twinned);
        twinned.sort_unstable();
        let Some(twins) = self.twins.as_mut().and_then(Metered::bytes_mut) else {
            return batches;
        };
        let (now, element) = (self.memory.bytes(), self.element);
        let mut batch = |owner: Rank, runs: &mut Vec<Range<usize>>| {
            if runs.is_empty() {
                return;
            }
            let start = self.map.start(owner);
            let values =
                |run: &Range<usize>| (run.start - start..run.end - start, &now[run.start * element..run.end * element]);
            batches.push((owner, batch_of_runs(self.map.block(owner), element, runs.iter().map(values))));
            runs.clear();
        };
        let (mut of, mut runs, mut begun) = (Rank::new(0), Vec::new(), 0);
        for page in &twinned {
            let (owner, number) = self.map.home(*page);
            let elements = self.map.elements_of(owner, number);
            let place = elements.start * element..elements.end * element;
            if owner != of || !runs.is_empty() && begun >= BATCH {
                batch(of, &mut runs);
                (of, begun) = (owner, 0);
            }
            begun += place.len();
            (self.differ)(&now[place.clone()], &twins[place], elements.start, &mut runs);
            self.states[*page] = State::Here;
        }
        batch(of, &mut runs);
        twinned.clear();
        self.twinned = twinned;
        batches
    }

    /// Takes over what an owner has pushed: a batch for its block, or nothing. `None`: it does not fit the block.
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

    /// Forgets all pages, and what was changed in them: each is absent from now on.
    pub(super) fn forget(&mut self) {
        self.states.fill(State::Absent);
        self.twinned.clear();
    }
}
