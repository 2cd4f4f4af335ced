//! Filling a batch, in the memory in which it will be read.

use super::HEAD;
use crate::race::{Moment, Time};
use crate::vector::check::Lines;
use crate::vector::places::{Places, write_place};
use crate::{Element, Site};
use aurora_net::Buffer;
use std::marker::PhantomData;

/// Bytes of a batch: a full one leaves at once.
const BATCH: usize = 64 * 1024;

/// A batch being filled.
#[derive(Debug)]
#[allow(unnameable_types, reason = "in hidden methods of `Buffered` alone")]
pub struct BatchBuilder<T> {
    memory: Buffer,
    /// Bytes of a place.
    width: usize,
    /// Elements that fit, even if each has a place of its own.
    capacity: usize,
    /// The offset of the places while the batch is being filled.
    places_at: usize,
    values: usize,
    places: usize,
    /// The element that would lengthen the last run.
    next: usize,
    /// The number of places, if the last of them is the length of a run.
    run: usize,
    /// Checking mode: the line of each value.
    lines: Option<Lines>,
    element: PhantomData<T>,
}

/// No element has this number, and no batch so many places.
const NOWHERE: usize = usize::MAX;

impl<T: Element> BatchBuilder<T> {
    /// A batch for a block of `len` elements; without memory.
    pub(crate) fn new(len: usize) -> Self {
        BatchBuilder {
            memory: Buffer::own(Vec::new()),
            width: Places::width_for(len),
            capacity: 0,
            places_at: HEAD,
            values: 0,
            places: 0,
            next: NOWHERE,
            run: NOWHERE,
            lines: None,
            element: PhantomData,
        }
    }

    /// Adds the line of each value, which must be [noted](Self::note).
    pub(crate) fn with_lines(self) -> Self {
        BatchBuilder { lines: Some(Lines::default()), ..self }
    }

    /// Notes that the last `values` values were written at `line` and at moment `at`, after `time`.
    pub(crate) fn note(&mut self, values: usize, line: &Site, at: Moment, time: &Time) {
        if let Some(lines) = &mut self.lines {
            lines.note(values, line, at, time);
        }
    }

    /// The bytes of memory that suit the batch.
    pub(crate) fn wanted(&self) -> usize {
        BATCH.max(HEAD + size_of::<T>() + self.width)
    }

    /// Takes memory of [`wanted`](Self::wanted) bytes, while the batch is empty and has none.
    pub(crate) fn open(&mut self, memory: Buffer) {
        self.capacity = (memory.len() - HEAD) / (size_of::<T>() + self.width);
        self.places_at = HEAD + self.capacity * size_of::<T>();
        self.memory = memory;
    }

    /// The number of elements that the batch can take: none before it has memory.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.values
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values == 0
    }

    /// Appends one element, for which there is room. An element directly after the last one lengthens its run.
    #[inline(always)]
    pub(crate) fn push(&mut self, start: usize, value: T) {
        if start == self.next {
            self.lengthen(1);
        } else {
            self.push_place(start);
        }
        self.next = start + 1;
        let at = HEAD + self.values * size_of::<T>();
        self.memory[at..at + size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
        self.values += 1;
    }

    /// Appends consecutive elements, for which there is room.
    pub(crate) fn extend(&mut self, start: usize, values: &[T]) {
        let Some((first, rest)) = values.split_first() else {
            return;
        };
        self.push(start, *first);
        if !rest.is_empty() {
            self.lengthen(rest.len());
            self.next += rest.len();
            let at = HEAD + self.values * size_of::<T>();
            self.memory[at..at + size_of_val(rest)].copy_from_slice(bytemuck::cast_slice(rest));
            self.values += rest.len();
        }
    }

    fn lengthen(&mut self, more: usize) {
        // The last place is not the length of a run: begin one.
        if self.run != self.places {
            let start = self.last_place();
            self.set_last_place(Places::marked(self.width, start));
            self.push_place(1);
            self.run = self.places;
        }
        let length = self.last_place();
        self.set_last_place(length + more as u64);
    }

    #[inline(always)]
    fn push_place(&mut self, place: usize) {
        self.places += 1;
        self.set_last_place(place as u64);
    }

    #[inline(always)]
    fn set_last_place(&mut self, place: u64) {
        let at = self.places_at + (self.places - 1) * self.width;
        write_place(&mut self.memory[at..], self.width, place);
    }

    fn last_place(&self) -> u64 {
        let at = self.places_at + (self.places - 1) * self.width;
        let mut place = [0; 8];
        place[..self.width].copy_from_slice(&self.memory[at..at + self.width]);
        u64::from_le_bytes(place)
    }

    /// The bytes, as they travel. Next comes [`clear`](Self::clear) or [`take`](Self::take).
    pub(crate) fn bytes(&mut self) -> &[u8] {
        let lines = self.lines.as_ref().map(Lines::encode).unwrap_or_default();
        for (at, word) in [self.width, self.places, self.values, lines.len()].into_iter().enumerate() {
            self.memory[at * 8..(at + 1) * 8].copy_from_slice(&(word as u64).to_le_bytes());
        }
        let (places, values_end) = (self.places * self.width, HEAD + self.values * size_of::<T>());
        self.memory.copy_within(self.places_at..self.places_at + places, values_end);
        self.places_at = values_end;
        let end = values_end + places + lines.len();
        if !lines.is_empty() {
            self.append(values_end + places, &lines);
        }
        &self.memory[..end]
    }

    /// Appends the lines, for which the memory may have no room.
    #[cold]
    fn append(&mut self, at: usize, lines: &[u8]) {
        let mut memory = self.memory.to_vec();
        memory.resize(memory.len().max(at + lines.len()), 0);
        memory[at..at + lines.len()].copy_from_slice(lines);
        self.memory = Buffer::own(memory);
    }

    /// Empties the batch, but keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.places_at = HEAD + self.capacity * size_of::<T>();
        (self.values, self.places, self.next, self.run) = (0, 0, NOWHERE, NOWHERE);
        if let Some(lines) = &mut self.lines {
            lines.clear();
        }
    }

    /// Takes the bytes with their memory.
    pub(crate) fn take(&mut self) -> Buffer {
        let len = self.bytes().len();
        let mut memory = std::mem::replace(&mut self.memory, Buffer::own(Vec::new()));
        memory.truncate(len);
        self.capacity = 0;
        self.clear();
        memory
    }
}
