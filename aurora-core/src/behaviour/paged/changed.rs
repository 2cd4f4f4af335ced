//! The elements of a block that have changed since the last sync, and the part of them that a holder of pages gets.

use super::map::PageGrid;
use crate::window::common;
use aurora_net::Rank;
use std::ops::Range;

/// The approximate bytes of one part of a push, and the maximum that is pushed before other code may use the kernel.
pub(super) const PART: usize = 256 << 10;

/// The maximum number of runs that are kept. If there are more, changes are kept by pages: a holder gets whole pages.
const MOST_RUNS: usize = 1 << 16;

/// The number of runs or pages that can be looked at in about the time of copying a part.
const LOOKED_AT: usize = 1 << 13;

/// Changed elements, by local indices.
pub(super) enum Changed {
    /// Runs of elements, each with the rank that has changed it.
    Runs(Vec<(Rank, Range<usize>)>),
    Pages(Vec<bool>),
}

impl Changed {
    pub(super) fn clear(&mut self) {
        match self {
            Changed::Runs(runs) => runs.clear(),
            Changed::Pages(_) => *self = Changed::Runs(Vec::new()),
        }
    }

    /// Adds elements that rank `by` has changed, in a block of `block` elements.
    pub(super) fn add(&mut self, by: Rank, run: Range<usize>, of_block: PageGrid, block: usize) {
        if run.is_empty() {
            return;
        }
        match self {
            Changed::Runs(runs) if runs.len() < MOST_RUNS => runs.push((by, run)),
            Changed::Runs(runs) => {
                let mut pages = vec![false; of_block.count(block)];
                runs.iter().for_each(|(_, run)| pages[of_block.over(run)].fill(true));
                pages[of_block.over(&run)].fill(true);
                *self = Changed::Pages(pages);
            }
            Changed::Pages(pages) => pages[of_block.over(&run)].fill(true),
        }
    }

    /// The next changes for a rank that holds these pages, from place `at` of the list on, and the place behind them;
    /// `None`: there are no more. The rank's own changes are left out, if they are known.
    pub(super) fn part(
        &self,
        (holder, held): (Rank, &[bool]),
        at: usize,
        of_block: PageGrid,
        (block, element): (usize, usize),
    ) -> (Vec<Range<usize>>, Option<usize>) {
        let (mut part, mut bytes, mut next) = (Vec::<Range<usize>>::new(), 0, at);
        let mut add = |run: Range<usize>| {
            for page in of_block.over(&run).filter(|page| held[*page]) {
                let own = common(&run, &of_block.elements(page, block));
                bytes += own.len() * element;
                match part.last_mut() {
                    Some(last) if last.end == own.start => last.end = own.end,
                    _ => part.push(own),
                }
            }
            bytes < PART
        };
        let len = match self {
            Changed::Runs(runs) => runs.len(),
            Changed::Pages(pages) => pages.len(),
        };
        for place in at..len.min(at + LOOKED_AT) {
            next = place + 1;
            let run = match self {
                Changed::Runs(runs) => Some(&runs[place]).filter(|(by, _)| *by != holder).map(|(_, run)| run.clone()),
                Changed::Pages(pages) => pages[place].then(|| of_block.elements(place, block)),
            };
            if run.is_some_and(|run| !add(run)) {
                break;
            }
        }
        (part, (next < len).then_some(next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_holder_gets_all_changes_of_its_pages(
            runs in prop::collection::vec((0usize..3, 0usize..9000, 0usize..3000), 0..40),
            held in prop::collection::vec(any::<bool>(), 12),
            by_pages in any::<bool>(),
        ) {
            let (block, element) = (12_000, 400);
            let of_block = PageGrid::new(element, 1000);
            let held: Vec<_> = held.into_iter().cycle().take(of_block.count(block)).collect();
            let mut changed = Changed::Runs(Vec::new());
            if by_pages {
                changed = Changed::Pages(vec![false; held.len()]);
            }
            let mut want = vec![false; block];
            for (by, start, len) in runs {
                changed.add(Rank::new(by), start..start + len, of_block, block);
                let is_for_us = |i: &usize| held[of_block.of(*i)] && by != 1;
                (start..start + len).filter(is_for_us).for_each(|i| want[i] = true);
            }
            let (mut got, mut at) = (vec![false; block], Some(0));
            while let Some(from) = at {
                let (part, next) = changed.part((Rank::new(1), &held), from, of_block, (block, element));
                prop_assert!(next.is_none_or(|next| next > from));
                part.into_iter().for_each(|run| got[run].fill(true));
                at = next;
            }
            for i in 0..block {
                prop_assert!(got[i] == want[i] || by_pages && got[i] && held[of_block.of(i)], "{}", i);
            }
        }
    }

    #[test]
    fn many_runs_are_kept_by_pages() {
        let (mut changed, of_block) = (Changed::Runs(Vec::new()), PageGrid::new(1, 1));
        (0..MOST_RUNS + 5).for_each(|i| changed.add(Rank::new(0), 2 * i..2 * i + 1, of_block, 200_000));
        let Changed::Pages(pages) = &changed else {
            panic!("too many runs");
        };
        assert_eq!(pages.iter().filter(|page| **page).count(), (2 * (MOST_RUNS + 5)).div_ceil(4096));
        changed.clear();
        assert!(matches!(changed, Changed::Runs(runs) if runs.is_empty()));
    }
}
