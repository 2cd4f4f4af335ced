//! Writes on their way to one owner: runs of consecutive elements, then their values.
//!
//! Layout, little endian: number of runs (u64), then `start, len` (u64 each) of every run in local indices of the owner's
//! block, then the values of all runs one after the other.

use crate::element::Element;
use std::ops::Range;

/// A batch being filled.
#[derive(Debug)]
pub(crate) struct BatchBuilder<T> {
    runs: Vec<[u64; 2]>,
    values: Vec<T>,
}

impl<T: Element> BatchBuilder<T> {
    pub(crate) fn new() -> Self {
        BatchBuilder { runs: Vec::new(), values: Vec::new() }
    }

    /// Appends one element; an element beside the last one lengthens its run.
    #[inline]
    pub(crate) fn push(&mut self, start: usize, value: T) {
        let start = start as u64;
        match self.runs.last_mut() {
            Some([first, len]) if *first + *len == start => *len += 1,
            _ => self.runs.push([start, 1]),
        }
        self.values.push(value);
    }

    /// Appends consecutive elements.
    pub(crate) fn extend(&mut self, start: usize, values: &[T]) {
        if values.is_empty() {
            return;
        }
        let (start, more) = (start as u64, values.len() as u64);
        match self.runs.last_mut() {
            Some([first, len]) if *first + *len == start => *len += more,
            _ => self.runs.push([start, more]),
        }
        self.values.extend_from_slice(values);
    }

    /// Bytes that it would take on the wire.
    #[inline]
    pub(crate) fn wire_len(&self) -> usize {
        8 + self.runs.len() * 16 + self.values.len() * size_of::<T>()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The bytes, leaving the builder empty with its memory.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.wire_len());
        bytes.extend_from_slice(&(self.runs.len() as u64).to_le_bytes());
        bytes.extend_from_slice(bytemuck::cast_slice(&self.runs));
        bytes.extend_from_slice(bytemuck::cast_slice(&self.values));
        self.runs.clear();
        self.values.clear();
        bytes
    }
}

/// The bytes of a batch with the elements of `block` at `runs`, as they are now.
pub(crate) fn batch_of(block: &[u8], element: usize, runs: &[Range<usize>]) -> Vec<u8> {
    let mut bytes = (runs.len() as u64).to_le_bytes().to_vec();
    for run in runs {
        bytes.extend_from_slice(&(run.start as u64).to_le_bytes());
        bytes.extend_from_slice(&(run.len() as u64).to_le_bytes());
    }
    for run in runs {
        bytes.extend_from_slice(&block[run.start * element..run.end * element]);
    }
    bytes
}

/// The runs of a received batch: `(local range, bytes of its values)`. `None` if it does not fit a block of `len`
/// elements of `element` bytes: nothing of it may be applied.
pub(crate) fn parse_batch(bytes: &[u8], element: usize, len: usize) -> Option<Vec<(Range<usize>, &[u8])>> {
    let word = |at: usize| -> Option<usize> {
        let bytes = bytes.get(at..at.checked_add(8)?)?;
        usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()
    };
    let count = word(0)?;
    let mut values = bytes.get(8usize.checked_add(count.checked_mul(16)?)?..)?;
    let mut runs = Vec::with_capacity(count);
    for run in 0..count {
        let (start, elements) = (word(8 + run * 16)?, word(16 + run * 16)?);
        let end = start.checked_add(elements).filter(|end| *end <= len)?;
        let (own, rest) = values.split_at_checked(elements.checked_mul(element)?)?;
        runs.push((start..end, own));
        values = rest;
    }
    values.is_empty().then_some(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn consecutive_puts_share_a_run() {
        let mut batch = BatchBuilder::new();
        for i in 0..100 {
            batch.push(i, i as u32);
        }
        batch.extend(100, &[100, 101]);
        batch.push(7, 1);
        let bytes = batch.take();
        let runs = parse_batch(&bytes, 4, 102).unwrap();
        assert_eq!(runs.iter().map(|(run, _)| run.clone()).collect::<Vec<_>>(), [0..102, 7..8]);
        assert!(batch.is_empty());
    }

    proptest! {
        #[test]
        fn a_batch_survives_the_wire(writes in prop::collection::vec((0usize..50, any::<u16>()), 0..100)) {
            let mut batch = BatchBuilder::new();
            let mut want = vec![0u16; 50];
            for &(at, value) in &writes {
                batch.push(at, value);
                want[at] = value;
            }
            let mut got = vec![0u16; 50];
            let bytes = batch.take();
            for (run, values) in parse_batch(&bytes, 2, 50).unwrap() {
                bytemuck::cast_slice_mut::<_, u8>(&mut got[run]).copy_from_slice(values);
            }
            prop_assert_eq!(got, want);
        }

        #[test]
        fn hostile_bytes_are_refused_or_fit(bytes in prop::collection::vec(any::<u8>(), 0..200), len in 0usize..20) {
            if let Some(runs) = parse_batch(&bytes, 4, len) {
                for (run, values) in runs {
                    prop_assert!(run.end <= len && values.len() == run.len() * 4);
                }
            }
        }
    }
}
