//! Writes on their way to one owner: where they go, then their values.
//!
//! Layout, little endian: bytes of a place, number of places, number of values (u64 each), the places, the values. A place is a
//! local index in the owner's block and stands for the next value; one whose top bit is set is followed by the length of a
//! run, and stands for so many values. Scattered writes cost one place each, consecutive ones two for all.

use super::places::{Place, Places, PlacesBuilder};
use crate::element::Element;
use crate::memory::Elements;
use std::ops::Range;

/// Bytes before the places.
const HEAD: usize = 3 * size_of::<u64>();

/// A batch being filled.
#[derive(Debug)]
pub(crate) struct BatchBuilder<T> {
    places: PlacesBuilder,
    values: Vec<T>,
    /// Where a run would go on.
    next: usize,
    /// Whether the last place is the length of a run.
    in_run: bool,
}

/// No element has this number.
const NOWHERE: usize = usize::MAX;

impl<T: Element> BatchBuilder<T> {
    /// For a block of `len` elements.
    pub(crate) fn new(len: usize) -> Self {
        BatchBuilder { places: PlacesBuilder::new(len), values: Vec::new(), next: NOWHERE, in_run: false }
    }

    /// Appends one element; an element beside the last one lengthens its run.
    #[inline]
    pub(crate) fn push(&mut self, start: usize, value: T) {
        if start == self.next {
            self.lengthen(1);
        } else {
            self.places.push(start);
            self.in_run = false;
        }
        self.next = start + 1;
        self.values.push(value);
    }

    /// Appends consecutive elements.
    pub(crate) fn extend(&mut self, start: usize, values: &[T]) {
        let Some((first, rest)) = values.split_first() else {
            return;
        };
        self.push(start, *first);
        if !rest.is_empty() {
            self.lengthen(rest.len());
            self.next += rest.len();
            self.values.extend_from_slice(rest);
        }
    }

    #[inline]
    fn lengthen(&mut self, more: usize) {
        if !self.in_run {
            self.places.mark_last();
            self.places.push(1);
            self.in_run = true;
        }
        self.places.add_to_last(more);
    }

    /// Bytes that it would take on the wire.
    #[inline]
    pub(crate) fn wire_len(&self) -> usize {
        HEAD + self.places.len() * self.places.width() + self.values.len() * size_of::<T>()
    }

    /// Bytes that one more element takes, at most.
    pub(crate) fn most_of_one(&self) -> usize {
        self.places.width() + size_of::<T>()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The bytes, leaving the builder empty with its memory.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.wire_len());
        for word in [self.places.width(), self.places.len(), self.values.len()] {
            bytes.extend_from_slice(&(word as u64).to_le_bytes());
        }
        bytes.extend_from_slice(self.places.bytes());
        bytes.extend_from_slice(bytemuck::cast_slice(&self.values));
        self.places.clear();
        self.values.clear();
        (self.next, self.in_run) = (NOWHERE, false);
        bytes
    }
}

/// The bytes of a batch with the elements of `block` at `runs`, as they are now.
pub(crate) fn batch_of(block: &[u8], element: usize, runs: &[Range<usize>]) -> Vec<u8> {
    let mut places = PlacesBuilder::new(block.len() / element);
    let mut values = Vec::new();
    for run in runs.iter().filter(|run| !run.is_empty()) {
        places.push(run.start);
        places.mark_last();
        places.push(run.len());
        values.extend_from_slice(&block[run.start * element..run.end * element]);
    }
    let head = [places.width(), places.len(), values.len() / element].map(|word| (word as u64).to_le_bytes());
    [head.as_flattened(), places.bytes(), &values].concat()
}

/// A batch that has arrived and fits its block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch<'b> {
    places: Places<'b>,
    values: &'b [u8],
    /// There are no runs in it.
    scattered: bool,
}

impl<'b> Batch<'b> {
    /// `None` if it does not fit a block of `len` elements of `element` bytes: nothing of it may be applied.
    pub(crate) fn parse(bytes: &'b [u8], element: usize, len: usize) -> Option<Self> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let word = |at: usize| usize::try_from(u64::from_le_bytes(*head.as_chunks().0.get(at)?)).ok();
        let (width, count) = (word(0)?, word(2)?);
        let (places, values) = rest.split_at_checked(word(1)?.checked_mul(width)?)?;
        let places = Places::parse(width, places)?;
        if values.len() != count.checked_mul(element)? {
            return None;
        }
        let scattered = places.len() == count && places.are_below(len);
        let fits = scattered
            || match places {
                Places::Narrow(places) => fit(places, count, len),
                Places::Wide(places) => fit(places, count, len),
            };
        fits.then_some(Batch { places, values, scattered })
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

    /// Its runs and the bytes of their values, of `element` bytes each.
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

/// Elements one by one. An iteration does not depend on the one before it, so the processor has as many cache misses under way
/// as it can.
#[inline]
fn scatter<T: Element, P: Place>(places: &[P], values: &[u8], mut block: Elements<'_, T>, op: impl Fn(T, T) -> T) {
    for (place, value) in places.iter().zip(values.chunks_exact(size_of::<T>())) {
        let element = place.number();
        block.set(element, op(block.get(element), bytemuck::pod_read_unaligned(value)));
    }
}

#[inline]
fn run_by_run<T: Element, P: Place>(places: &[P], values: &[u8], mut block: Elements<'_, T>, op: impl Fn(T, T) -> T) {
    let mut values = values.chunks_exact(size_of::<T>());
    for run in runs(places) {
        for (element, value) in run.zip(&mut values) {
            block.set(element, op(block.get(element), bytemuck::pod_read_unaligned(value)));
        }
    }
}

/// What places stand for.
fn runs<P: Place>(places: &[P]) -> impl Iterator<Item = Range<usize>> {
    let mut places = places.iter();
    std::iter::from_fn(move || {
        let place = *places.next()?;
        let start = place.number();
        let len = if place.is_marked() { places.next()?.number() } else { 1 };
        // Without overflow: both have a bit less than a usize.
        Some(start..start + len)
    })
}

/// Whether places stand for `count` elements of a block of `len`.
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
    use proptest::prelude::*;

    /// What a block of zeros becomes.
    fn applied(bytes: &[u8], len: usize) -> Vec<u16> {
        let mut block = vec![0; len];
        Batch::parse(bytes, 2, len)
            .expect("it fits")
            .apply(Elements::from(&mut block[..]), |old: u16, new| old.wrapping_mul(3) ^ new);
        block
    }

    #[test]
    fn consecutive_puts_share_a_run() {
        let mut batch = BatchBuilder::new(102);
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
        let mut batch = BatchBuilder::new(10);
        batch.push(1, 1_u16);
        batch.push(2, 2);
        batch.take();
        batch.push(3, 3);
        let bytes = batch.take();
        assert_eq!((bytes.len(), applied(&bytes, 4)), (HEAD + 4 + 2, vec![0, 0, 0, 3]));
    }

    #[test]
    fn an_element_outside_of_the_block_is_refused() {
        let mut batch = BatchBuilder::new(10);
        for (writes, fits) in [(&[3, 9][..], 10), (&[8, 9], 10), (&[0], 1)] {
            writes.iter().for_each(|at| batch.push(*at, 0_u8));
            let bytes = batch.take();
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
            let mut batch = BatchBuilder::new(if wide { usize::MAX } else { 50 });
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
            let (len, bytes) = (batch.wire_len(), batch.take());
            prop_assert_eq!(bytes.len(), len);
            prop_assert_eq!(applied(&bytes, 50), want);
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
            head in (prop_oneof![Just(4u64), Just(8), any::<u64>()], 0u64..9, 0u64..20),
            rest in prop::collection::vec(prop_oneof![Just(0u8), Just(128), 0u8..20, any::<u8>()], 0..60),
            len in 0usize..20,
        ) {
            let head = [head.0, head.1, head.2].map(u64::to_le_bytes);
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
