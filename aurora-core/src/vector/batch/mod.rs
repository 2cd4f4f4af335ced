//! Batches: writes on their way to one owner. A batch is made where it will be read: in a `Buffer`. For an owner on the
//! same machine this is memory that both ranks share.
//!
//! Layout, little endian: bytes of a place, number of places, number of values, bytes of lines (u64 each), the values,
//! the places, and in [checking mode](super::check) the lines at which they were written. A place is a local index in
//! the owner's block and stands for the next value. A place whose top bit is set is followed by the length of a run,
//! and stands for that many values. A scattered write costs one place; a run of consecutive writes costs two.

mod builder;

pub use builder::BatchBuilder;

use super::places::{Place, Places, visit};
use crate::Element;
use crate::memory::Elements;
use crate::window::common;
use std::ops::Range;

/// The bytes before the values.
const HEAD: usize = 4 * size_of::<u64>();

/// The bytes of a batch with the elements of `block` at `runs`, as they are now.
#[cfg(test)]
pub(crate) fn batch_of(block: &[u8], element: usize, runs: &[Range<usize>]) -> Vec<u8> {
    let values = |run: &Range<usize>| (run.clone(), &block[run.start * element..run.end * element]);
    batch_of_runs(block.len() / element, element, runs.iter().map(values))
}

/// The bytes of a batch with these runs of elements of a block of `len`, and their values.
pub(crate) fn batch_of_runs<'b>(
    len: usize,
    element: usize,
    runs: impl Iterator<Item = (Range<usize>, &'b [u8])>,
) -> Vec<u8> {
    let width = Places::width_for(len);
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for (run, bytes) in runs.filter(|(run, _)| !run.is_empty()) {
        for place in [Places::marked(width, run.start as u64), run.len() as u64] {
            places.extend_from_slice(&place.to_le_bytes()[..width]);
        }
        values.extend_from_slice(bytes);
    }
    let head = [width, places.len() / width, values.len() / element, 0].map(|word| (word as u64).to_le_bytes());
    [head.as_flattened(), &values, &places].concat()
}

/// Adds encoded lines to a batch that has none.
pub(crate) fn add_lines(batch: &mut Vec<u8>, lines: &[u8]) {
    const LINES: Range<usize> = 3 * size_of::<u64>()..HEAD;
    batch[LINES].copy_from_slice(&(lines.len() as u64).to_le_bytes());
    batch.extend_from_slice(lines);
}

/// A batch that has arrived, and fits its block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch<'b> {
    places: Places<'b>,
    values: &'b [u8],
    lines: &'b [u8],
    count: usize,
    /// True if the batch has no runs.
    scattered: bool,
}

impl<'b> Batch<'b> {
    /// `None` if the batch does not fit a block of `len` elements of `element` bytes: nothing of it may be applied.
    pub(crate) fn parse(bytes: &'b [u8], element: usize, len: usize) -> Option<Self> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let word = |at: usize| usize::try_from(u64::from_le_bytes(*head.as_chunks().0.get(at)?)).ok();
        let (width, count) = (word(0)?, word(2)?);
        let (values, places) = rest.split_at_checked(count.checked_mul(element)?)?;
        let (places, lines) = places.split_at_checked(places.len().checked_sub(word(3)?)?)?;
        if places.len() != word(1)?.checked_mul(width)? {
            return None;
        }
        let places = Places::parse(width, places)?;
        let scattered = places.len() == count && places.are_below(len);
        let fits = scattered
            || match places {
                Places::Narrow(places) => fit(places, count, len),
                Places::Wide(places) => fit(places, count, len),
            };
        fits.then_some(Batch { places, values, lines, count, scattered })
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The encoded lines of the values; empty if the sender does not check.
    pub(crate) fn lines(&self) -> &'b [u8] {
        self.lines
    }

    /// Applies `op` to the elements of a block and the values for them, in order.
    #[inline]
    pub(crate) fn apply<T: Element>(&self, block: Elements<'_, T>, op: impl Fn(T, T) -> T) {
        match self.places {
            Places::Narrow(places) if self.scattered => scatter(places, self.values, block, op),
            Places::Wide(places) if self.scattered => scatter(places, self.values, block, op),
            Places::Narrow(places) => run_by_run(places, self.values, block, op),
            Places::Wide(places) => run_by_run(places, self.values, block, op),
        }
    }

    /// The range of the block's bytes that contains all writes, with elements of `element` bytes.
    pub(crate) fn range(&self, element: usize) -> Range<usize> {
        let runs = self.runs(element);
        let (starts, ends) = (runs.iter().map(|(run, _)| run.start), runs.iter().map(|(run, _)| run.end));
        starts.min().unwrap_or(0) * element..ends.max().unwrap_or(0) * element
    }

    /// The batch's writes to the elements `part` of the block, as the bytes of a batch for that part alone.
    pub(crate) fn cut(&self, element: usize, part: &Range<usize>) -> Vec<u8> {
        let inside = |(run, bytes): (Range<usize>, &'b [u8])| {
            let own = common(part, &run);
            let from = own.start.saturating_sub(run.start) * element;
            let values = if own.is_empty() { &[] } else { &bytes[from..from + own.len() * element] };
            (own.start - part.start..own.end - part.start, values)
        };
        batch_of_runs(part.len(), element, self.runs(element).into_iter().map(inside))
    }

    /// The batch's runs and the bytes of their values, of `element` bytes each.
    pub(crate) fn runs(&self, element: usize) -> Vec<(Range<usize>, &'b [u8])> {
        let mut values = self.values;
        let mut cut = |run: Range<usize>| {
            let (own, rest) = values.split_at(run.len() * element);
            values = rest;
            (run, own)
        };
        match self.places {
            Places::Narrow(places) => runs(places).map(&mut cut).collect(),
            Places::Wide(places) => runs(places).map(&mut cut).collect(),
        }
    }
}

#[inline]
fn scatter<T: Element, P: Place>(places: &[P], values: &[u8], mut block: Elements<'_, T>, op: impl Fn(T, T) -> T) {
    let values = values.chunks_exact(size_of::<T>());
    visit(places, values, block.prefetch(), |element, value| {
        block.update(element, |old| op(old, bytemuck::pod_read_unaligned(value)));
    });
}

#[inline]
fn run_by_run<T: Element, P: Place>(places: &[P], values: &[u8], mut block: Elements<'_, T>, op: impl Fn(T, T) -> T) {
    let mut values = values.chunks_exact(size_of::<T>());
    for run in runs(places) {
        for (element, value) in run.zip(&mut values) {
            block.update(element, |old| op(old, bytemuck::pod_read_unaligned(value)));
        }
    }
}

/// The runs that places stand for; a single place is a run of 1.
fn runs<P: Place>(places: &[P]) -> impl Iterator<Item = Range<usize>> {
    let mut places = places.iter();
    std::iter::from_fn(move || {
        let place = *places.next()?;
        let start = place.number();
        let len = if place.is_marked() { places.next()?.number() } else { 1 };
        // No overflow: both have one bit less than a usize.
        Some(start..start + len)
    })
}

/// True if places stand for `count` elements of a block of `len`.
fn fit<P: Place>(places: &[P], count: usize, len: usize) -> bool {
    let mut left = count;
    let inside = runs(places).all(|run| {
        let fits = run.end <= len && run.len() <= left;
        left = left.saturating_sub(run.len());
        fits
    });
    inside && left == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Site;
    use crate::race::{Moment, Time};
    use aurora_net::Buffer;
    use proptest::prelude::*;

    fn open<T: Element>(len: usize) -> BatchBuilder<T> {
        let mut batch = BatchBuilder::new(len);
        // Memory of any content.
        batch.open(Buffer::own(vec![0xa5; batch.wanted()]));
        batch
    }

    /// A block of zeros after the batch.
    fn applied(bytes: &[u8], len: usize) -> Vec<u16> {
        let mut block = vec![0; len];
        Batch::parse(bytes, 2, len)
            .expect("it fits")
            .apply(Elements::from(&mut block[..]), |old: u16, new| old.wrapping_mul(3) ^ new);
        block
    }

    #[test]
    fn consecutive_puts_share_a_run() {
        let mut batch = open(102);
        for i in 0..100 {
            batch.push(i, i as u32);
        }
        batch.extend(100, &[100, 101]);
        batch.push(7, 1);
        let bytes = batch.take();
        assert_eq!(bytes.len(), HEAD + 3 * 4 + 103 * 4);
        let runs = Batch::parse(&bytes, 4, 102).expect("it fits").runs(4);
        assert_eq!(runs.iter().map(|(run, _)| run.clone()).collect::<Vec<_>>(), [0..102, 7..8]);
        assert!(batch.is_empty());
    }

    #[test]
    fn a_batch_that_was_taken_leaves_no_run_behind() {
        let mut batch = open(10);
        batch.push(1, 1_u16);
        batch.push(2, 2);
        assert_eq!(batch.bytes().len(), HEAD + 2 * 4 + 2 * 2);
        batch.clear();
        batch.push(3, 3);
        let bytes = batch.take();
        assert_eq!((bytes.len(), applied(&bytes, 4)), (HEAD + 4 + 2, vec![0, 0, 0, 3]));
    }

    #[test]
    fn lines_travel_behind_the_places() {
        let (mut batch, line) = (open(100).with_lines(), Site::here());
        let full = batch.capacity();
        for _ in 0..2 {
            // Full, so that no room is left for the lines.
            for i in 0..full {
                batch.push(i % 50 * 2, i as u16);
                batch.note(1, &line, Moment::default(), &Time::default());
            }
            let bytes = batch.bytes().to_vec();
            let parsed = Batch::parse(&bytes, 2, 100).expect("it fits");
            assert!(parsed.len() == full && !parsed.lines().is_empty());
            assert!(Batch::parse(&bytes[..bytes.len() - 1], 2, 100).is_none());
            batch.clear();
        }
    }

    #[test]
    fn an_element_outside_of_the_block_is_refused() {
        let mut batch = open(10);
        for (writes, fits) in [(&[3, 9][..], 10), (&[8, 9], 10), (&[0], 1)] {
            writes.iter().for_each(|at| batch.push(*at, 0_u8));
            let bytes = batch.bytes().to_vec();
            batch.clear();
            assert!(Batch::parse(&bytes, 1, fits).is_some() && Batch::parse(&bytes, 1, fits - 1).is_none());
            assert!(Batch::parse(&bytes[..bytes.len() - 1], 1, fits).is_none());
            assert!(Batch::parse(&bytes, 2, fits).is_none());
        }
    }

    fn writes() -> impl Strategy<Value = Vec<(usize, Vec<u16>)>> {
        let scattered = (0usize..50, prop::collection::vec(any::<u16>(), 1));
        let longer = (0usize..40, prop::collection::vec(any::<u16>(), 0..10));
        prop_oneof![
            prop::collection::vec(scattered.clone(), 0..100),
            prop::collection::vec(prop_oneof![scattered, longer], 0..100)
        ]
    }

    proptest! {
        #[test]
        fn a_batch_survives_the_wire(writes in writes(), wide in any::<bool>()) {
            let mut batch = open(if wide { usize::MAX } else { 50 });
            let mut want = vec![0u16; 50];
            for (at, values) in &writes {
                match values[..] {
                    [value] => batch.push(*at, value),
                    _ => batch.extend(*at, values),
                }
                for (place, value) in want[*at..].iter_mut().zip(values) {
                    *place = place.wrapping_mul(3) ^ value;
                }
            }
            let bytes = batch.take();
            prop_assert_eq!(applied(&bytes, 50), want);
        }

        #[test]
        fn a_batch_that_is_cut_does_the_same(writes in writes(), at in 0usize..51) {
            let mut batch = open(50);
            writes.iter().for_each(|(start, values)| batch.extend(*start, values));
            let bytes = batch.take();
            let whole = Batch::parse(&bytes, 2, 50).expect("it fits");
            let (left, right) = (whole.cut(2, &(0..at)), whole.cut(2, &(at..50)));
            let all = applied(&bytes, 50);
            let range = whole.range(2);
            prop_assert!(all.iter().enumerate().all(|(i, x)| *x == 0 || range.contains(&(2 * i))));
            prop_assert_eq!([applied(&left, at), applied(&right, 50 - at)].concat(), all);
        }

        #[test]
        fn elements_of_a_block_are_a_batch(starts in prop::collection::vec((0usize..50, 0usize..50), 0..9)) {
            let block: Vec<u16> = (1..101).collect();
            let runs: Vec<_> = starts.iter().map(|(start, len)| *start..start + len).collect();
            let bytes = batch_of(bytemuck::cast_slice(&block), 2, &runs);
            let mut got = vec![0u16; 100];
            Batch::parse(&bytes, 2, 100).expect("it fits").apply(Elements::from(&mut got[..]), |_, new| new);
            for (i, got) in got.into_iter().enumerate() {
                prop_assert_eq!(got, if runs.iter().any(|run| run.contains(&i)) { block[i] } else { 0 });
            }
        }

        #[test]
        fn hostile_bytes_are_refused_or_fit(
            head in (
                prop_oneof![Just(4u64), Just(8), any::<u64>()],
                0u64..9,
                0u64..20,
                prop_oneof![4 => Just(0u64), 1 => 0u64..9, 1 => any::<u64>()],
            ),
            rest in prop::collection::vec(prop_oneof![Just(0u8), Just(128), 0u8..20, any::<u8>()], 0..60),
            len in 0usize..20,
        ) {
            let head = [head.0, head.1, head.2, head.3].map(u64::to_le_bytes);
            for bytes in [rest.clone(), [head.as_flattened(), &rest[..]].concat()] {
                if let Some(batch) = Batch::parse(&bytes, 4, len) {
                    for (run, values) in batch.runs(4) {
                        prop_assert!(run.end <= len && values.len() == run.len() * 4);
                    }
                    batch.apply(Elements::from(&mut vec![0u32; len][..]), |_, new| new);
                }
            }
        }
    }
}
