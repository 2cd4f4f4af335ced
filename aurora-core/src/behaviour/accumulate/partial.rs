//! The values that one rank has accumulated: for each touched element, all its operands combined.
//!
//! At first a table holds the touched elements; when its growth would need more memory than a copy of the whole vector
//! with a mark for each element, it becomes that copy. If the operation has a neutral element, the copy is filled with
//! it, an update is one combination, and the marks are made at the end: an element with the neutral value is not
//! touched. Otherwise the first operand of an element is stored as it is, and every later one combined with it.
//! Elements that are not touched need not be sent.

use super::sparse::Sparse;
use crate::behaviour::marks::Marks;
use crate::memory::{Array, SharedCopy, Shortage};
use crate::{Element, Result};
use std::ops::Range;

pub(super) struct Partial<T> {
    pub(super) len: usize,
    /// The neutral element of the operation, if it has one.
    neutral: Option<T>,
    /// In the form [`Filled`](Form::Filled): all elements. Else empty.
    filled: Array<T>,
    form: Form<T>,
    /// The memory for a copy of the whole that is used first, if it is there.
    shared: Option<SharedCopy<T>>,
    /// Memory for a copy of the whole, kept from an earlier scope, or empty.
    spare: Array<T>,
}

enum Form<T> {
    /// Touched elements only.
    Sparse(Sparse<T>),
    /// All elements are in `filled`, with the neutral value if they are not touched. The marks are not in use yet.
    Filled(Marks),
    /// All elements; elements that are not touched have any value.
    Dense { values: Array<T>, touched: Marks },
}

impl<T: Element> Partial<T> {
    /// Empty, for a vector of `len` elements. If `spare` has that length, its memory is used before new memory.
    /// `shared` has that length, and is only for an operation with a neutral element.
    pub(super) fn new(len: usize, neutral: Option<T>, shared: Option<SharedCopy<T>>, spare: Array<T>) -> Self {
        let spare = if spare.len() == len { spare } else { Array::default() };
        Partial { len, neutral, filled: Array::default(), form: Form::Sparse(Sparse::new()), shared, spare }
    }

    /// All elements, for updates that combine each operand with the element; empty if another form needs
    /// [`update`](Self::update).
    #[inline(always)]
    pub(super) fn filled(&mut self) -> &mut [T] {
        &mut self.filled
    }

    /// Adds an operand to an element. False: the partial copy must [grow](Self::grow) first. The index is in bounds.
    #[inline]
    pub(super) fn update(&mut self, index: usize, operand: T, combine: impl Fn(T, T) -> T) -> bool {
        match &mut self.form {
            Form::Filled(_) => {
                let value = &mut self.filled[index];
                *value = combine(*value, operand);
                true
            }
            Form::Dense { values, touched } => {
                let is_first = touched.mark(index);
                let value = &mut values[index];
                *value = if is_first { operand } else { combine(*value, operand) };
                true
            }
            Form::Sparse(sparse) => sparse.update(index, operand, combine),
        }
    }

    /// Adds operands to consecutive elements. Returns their number; for the next one the partial copy must grow first.
    pub(super) fn update_slice(&mut self, start: usize, operands: &[T], combine: impl Fn(T, T) -> T) -> usize {
        match &mut self.form {
            Form::Filled(_) => {
                let pairs = self.filled[start..].iter_mut().zip(operands);
                pairs.for_each(|(value, operand)| *value = combine(*value, *operand));
                operands.len()
            }
            Form::Dense { values, touched } => {
                update_dense(values, touched, start, operands, combine);
                operands.len()
            }
            Form::Sparse(sparse) => {
                let mut pairs = (start..).zip(operands);
                pairs.position(|(index, operand)| !sparse.update(index, *operand, &combine)).unwrap_or(operands.len())
            }
        }
    }

    /// The bytes of a copy of the whole that the next [growth](Self::grow) takes; `None`: it enlarges the table.
    pub(super) fn copy_to_take(&self) -> Option<usize> {
        let Form::Sparse(sparse) = &self.form else {
            return None;
        };
        let copy = self.len.saturating_mul(size_of::<T>());
        let is_kept = self.free_shared().map_or(self.is_spare(), |shared| shared.taken);
        // Memory that is there still has to be filled and searched.
        let (copy, worth) = if is_kept { (0, copy / 16) } else { (copy, copy) };
        (sparse.bytes_to_grow() > worth.saturating_add(Marks::bytes(self.len))).then_some(copy)
    }

    /// The copy in shared memory, unless an owner still folds it.
    fn free_shared(&self) -> Option<&SharedCopy<T>> {
        self.shared.as_ref().filter(|shared| shared.sharing.is_folded())
    }

    fn is_spare(&self) -> bool {
        self.spare.len() == self.len
    }

    pub(super) fn grow(&mut self) -> Result<(), Shortage> {
        let copies = self.copy_to_take().is_some();
        let Form::Sparse(sparse) = &mut self.form else {
            return Ok(());
        };
        if !copies {
            return sparse.grow();
        }
        let mut touched = Marks::new(self.len)?;
        let mut values = match &mut self.shared {
            Some(shared) if shared.sharing.is_folded() => {
                if !std::mem::replace(&mut shared.taken, true) {
                    shared.copy.take_all().inspect_err(|_| shared.taken = false)?;
                }
                std::mem::take(&mut shared.copy)
            }
            _ if self.spare.len() == self.len => std::mem::take(&mut self.spare),
            _ => Array::zeroed(self.len)?,
        };
        if let Some(neutral) = self.neutral {
            fill(&mut values, neutral);
            sparse.iter().for_each(|(index, value)| values[index] = value);
            (self.filled, self.form) = (values, Form::Filled(touched));
            return Ok(());
        }
        for (index, value) in sparse.iter() {
            touched.mark(index);
            values[index] = value;
        }
        self.form = Form::Dense { values, touched };
        Ok(())
    }

    /// True if the values are in the node's shared memory: untouched elements have the neutral value.
    pub(super) fn is_shared(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.copy.is_empty())
    }

    /// Ends the updates: from here on it can be [read](Self::runs).
    pub(super) fn seal(&mut self) {
        match &mut self.form {
            Form::Sparse(sparse) => sparse.sort(),
            Form::Filled(touched) => {
                let (values, mut touched) = (std::mem::take(&mut self.filled), std::mem::take(touched));
                let neutral = self.neutral.expect("the copy is filled with it");
                let neutral = bytemuck::bytes_of(&neutral);
                touched.mark_where(&values, |value| bytemuck::bytes_of(value) != neutral);
                self.form = Form::Dense { values, touched };
            }
            Form::Dense { .. } => {}
        }
    }

    /// Lets runs of touched elements that are no more than `gap` elements apart be one run, if the elements between
    /// them have the neutral value.
    pub(super) fn bridge(&mut self, range: Range<usize>, gap: usize) {
        if let Form::Dense { touched, .. } = &mut self.form
            && self.neutral.is_some()
        {
            touched.bridge(range, gap);
        }
    }

    /// Shows the touched elements of a range in ascending order, in runs: the first index and the values of each.
    pub(super) fn runs(&self, range: Range<usize>, mut show: impl FnMut(usize, &[T]) -> Result<()>) -> Result<()> {
        match &self.form {
            Form::Sparse(sparse) => {
                sparse.range(range).try_for_each(|(index, value)| show(index, std::slice::from_ref(value)))
            }
            Form::Filled(_) => unreachable!("it was sealed"),
            Form::Dense { values, touched } => {
                touched.runs_in(range).try_for_each(|run| show(run.start, &values[run.clone()]))
            }
        }
    }

    /// Empties the partial copy. Returns the memory of copies of the whole, for a later scope.
    pub(super) fn end(&mut self) -> (Option<SharedCopy<T>>, Array<T>) {
        let values = match std::mem::replace(&mut self.form, Form::Sparse(Sparse::new())) {
            Form::Filled(_) => std::mem::take(&mut self.filled),
            Form::Dense { values, .. } => values,
            Form::Sparse(_) => return (self.shared.take(), std::mem::take(&mut self.spare)),
        };
        match self.shared.take() {
            Some(shared) if shared.copy.is_empty() => {
                (Some(SharedCopy { copy: values, ..shared }), std::mem::take(&mut self.spare))
            }
            shared => (shared, values),
        }
    }

    #[cfg(test)]
    fn is_dense(&self) -> bool {
        !matches!(self.form, Form::Sparse(_))
    }
}

/// Fills a copy, if possible with zero bytes, which is faster.
fn fill<T: Element>(values: &mut [T], value: T) {
    if bytemuck::bytes_of(&value).iter().all(|byte| *byte == 0) {
        bytemuck::cast_slice_mut::<T, u8>(values).fill(0);
    } else {
        values.fill(value);
    }
}

/// Goes by words of marks: in most words all elements are touched, or none.
fn update_dense<T: Element>(
    values: &mut [T],
    touched: &mut Marks,
    start: usize,
    operands: &[T],
    combine: impl Fn(T, T) -> T,
) {
    let mut rest = operands;
    for piece in Marks::pieces(start..start + operands.len()) {
        let (operands, later) = rest.split_at(piece.len());
        rest = later;
        let pairs = values[piece.clone()].iter_mut().zip(operands);
        match touched.count(piece.clone()) {
            0 => values[piece.clone()].copy_from_slice(operands),
            all if all == piece.len() => pairs.for_each(|(value, operand)| *value = combine(*value, *operand)),
            _ => {
                for (index, (value, operand)) in piece.clone().zip(pairs) {
                    *value = if touched.is_marked(index) { combine(*value, *operand) } else { *operand };
                }
            }
        }
        touched.mark_all(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn combine(old: u64, new: u64) -> u64 {
        old.wrapping_mul(3) ^ new
    }

    fn update(partial: &mut Partial<u64>, start: usize, operands: &[u64]) {
        update_by(partial, start, operands, combine);
    }

    fn update_by(partial: &mut Partial<u64>, start: usize, operands: &[u64], combine: fn(u64, u64) -> u64) {
        if let [operand] = operands {
            while !partial.update(start, *operand, combine) {
                partial.grow().expect("there is memory");
            }
            return;
        }
        let mut done = 0;
        while done < operands.len() {
            done += partial.update_slice(start + done, &operands[done..], combine);
            partial.grow().expect("there is memory");
        }
    }

    fn touched(partial: &Partial<u64>, range: Range<usize>) -> Vec<(usize, u64)> {
        let mut found = Vec::new();
        let show = |start, values: &[u64]| {
            found.extend((start..).zip(values.iter().copied()));
            Ok(())
        };
        partial.runs(range, show).expect("nothing fails");
        found
    }

    #[test]
    fn a_few_of_many_stay_few() {
        let mut partial = Partial::<u64>::new(1 << 40, None, None, Array::default());
        (0..1000).for_each(|i| update(&mut partial, i << 25, &[i as u64]));
        partial.seal();
        assert_eq!(touched(&partial, 3 << 25..7 << 25), [(3 << 25, 3), (4 << 25, 4), (5 << 25, 5), (6 << 25, 6)]);
        assert!(partial.end().1.is_empty());
    }

    #[test]
    fn it_takes_the_form_that_needs_less_memory() {
        // Tables of 1024 and 2048 slots of 16 bytes need less than all elements and marks, larger ones more.
        let mut partial = Partial::<u64>::new(9000, None, None, Array::default());
        (0..1536).for_each(|i| update(&mut partial, i, &[1]));
        assert!(!partial.is_dense());
        update(&mut partial, 1536, &[1]);
        assert!(partial.is_dense());
        // The next ones use the memory of the first, and take only the marks.
        let mut memory = partial.end().1;
        for neutral in [None, Some(9), Some(0), None] {
            let mut next = Partial::new(9000, neutral, None, memory);
            (0..96).for_each(|i| update_by(&mut next, i, &[1], |_, new| new));
            assert!(!next.is_dense());
            update_by(&mut next, 8999, &[2], |_, new| new);
            assert!(next.is_dense());
            next.seal();
            assert_eq!(touched(&next, 90..9000), Vec::from_iter((90..96).map(|i| (i, 1)).chain([(8999, 2)])));
            memory = next.end().1;
            assert_eq!(memory.len(), 9000);
        }
        assert!(Partial::new(9001, None, None, memory).spare.is_empty(), "it has another length");
    }

    /// The smaller value; `MOST` is neutral.
    fn least(old: u64, new: u64) -> u64 {
        old.min(new)
    }

    const MOST: u64 = u64::MAX;

    proptest! {
        #[test]
        fn what_was_touched_is_there_and_nothing_else(
            updates in prop::collection::vec((0usize..700, 1usize..300, any::<u64>()), 0..60),
            single in prop::collection::vec((0usize..1000, prop_oneof![any::<u64>(), Just(MOST)]), 0..60),
            cuts in (0usize..1000, 0usize..1000),
            neutral in prop_oneof![Just(None), Just(Some(MOST))],
            gap in 0usize..9,
        ) {
            let combine = if neutral.is_some() { least } else { combine };
            let mut partial = Partial::new(1000, neutral, None, Array::default());
            let mut model = vec![None; 1000];
            let slices = updates.into_iter().map(|(start, len, x)| (start, (0..len as u64).map(|i| x ^ i).collect()));
            for (start, operands) in single.into_iter().map(|(at, x)| (at, vec![x])).chain(slices) {
                update_by(&mut partial, start, &operands, combine);
                for (old, new) in model[start..].iter_mut().zip(&operands) {
                    *old = Some(old.map_or(*new, |old| combine(old, *new)));
                }
            }
            let dense = partial.is_dense();
            partial.seal();
            let range = cuts.0.min(cuts.1)..cuts.0.max(cuts.1);
            let is_sent = |value: &u64| !dense || neutral != Some(*value);
            let want: Vec<_> = range.clone().filter_map(|i| Some((i, model[i].filter(is_sent)?))).collect();
            prop_assert_eq!(touched(&partial, range.clone()), want.clone());
            partial.bridge(range.clone(), gap);
            let bridged = touched(&partial, range);
            let is_neutral = |(_, value): &(usize, u64)| dense && neutral == Some(*value);
            prop_assert!(bridged.iter().filter(|pair| !is_neutral(pair)).eq(&want));
            let near = |i: usize, is_side: fn(&usize, &usize) -> bool| {
                want.iter().any(|(at, _)| is_side(at, &i) && at.abs_diff(i) <= gap)
            };
            let between = |i: usize| near(i, usize::lt) && near(i, usize::gt);
            prop_assert!(bridged.iter().filter(|pair| is_neutral(pair)).all(|(i, _)| between(*i)));
        }
    }
}
