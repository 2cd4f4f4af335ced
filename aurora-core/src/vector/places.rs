//! Places of elements in an owner's block, on their way to it: numbers of 32 bits each, or of 64 for a longer block.
//! The top bit of a number is free for use by the writer.

use crate::Element;
use crate::memory::Prefetch;
use aurora_net::Buffer;

/// Elements prefetched ahead: more than a processor can wait for at a time.
const FETCHED_AHEAD: usize = 64;

/// The longest block with places of 32 bits.
const MOST_NARROW: usize = (1 << 31) - 1;
/// The longest block.
const MOST_WIDE: usize = (1 << 63) - 1;

/// Places being collected, in the memory in which they travel.
#[derive(Debug)]
pub(crate) struct PlacesBuilder {
    memory: Buffer,
    width: usize,
    len: usize,
}

impl PlacesBuilder {
    /// A builder for a block of `len` elements; without memory.
    pub(crate) fn new(len: usize) -> Self {
        PlacesBuilder { memory: Buffer::own(Vec::new()), width: Places::width_for(len), len: 0 }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Takes memory, while the builder is empty and has none.
    pub(crate) fn open(&mut self, memory: Buffer) {
        self.memory = memory;
    }

    /// True if there is no memory for another place.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.len + self.width > self.memory.len()
    }

    /// Appends a place, for which there is room.
    #[inline(always)]
    pub(crate) fn push(&mut self, place: usize) {
        write_place(&mut self.memory[self.len..], self.width, place as u64);
        self.len += self.width;
    }

    /// Takes the bytes with their memory.
    pub(crate) fn take(&mut self) -> Buffer {
        let mut memory = std::mem::replace(&mut self.memory, Buffer::own(Vec::new()));
        memory.truncate(std::mem::take(&mut self.len));
        memory
    }
}

/// Writes a place of `width` bytes to the beginning of `memory`.
#[inline(always)]
pub(crate) fn write_place(memory: &mut [u8], width: usize, place: u64) {
    match width {
        4 => memory[..4].copy_from_slice(&(place as u32).to_le_bytes()),
        _ => memory[..8].copy_from_slice(&place.to_le_bytes()),
    }
}

/// Places that have arrived, at any position in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Places<'b> {
    Narrow(&'b [[u8; 4]]),
    Wide(&'b [[u8; 8]]),
}

/// One place.
pub(crate) trait Place: Copy {
    /// Its number, without the top bit.
    fn number(self) -> usize;
    /// True if the top bit is set.
    fn is_marked(self) -> bool;
    /// True if the place, including its top bit, is below `len`.
    fn is_below(self, len: usize) -> bool;
}

macro_rules! places {
    ($($word:ty)*) => {$(
        impl Place for [u8; size_of::<$word>()] {
            #[inline(always)]
            fn number(self) -> usize {
                (<$word>::from_le_bytes(self) & (<$word>::MAX >> 1)) as usize
            }

            #[inline(always)]
            fn is_marked(self) -> bool {
                <$word>::from_le_bytes(self) >> (<$word>::BITS - 1) != 0
            }

            #[inline(always)]
            fn is_below(self, len: usize) -> bool {
                <$word>::from_le_bytes(self) < len as $word
            }
        }
    )*};
}

places! { u32 u64 }

impl<'b> Places<'b> {
    /// Bytes of a place in a block of `len` elements.
    pub(crate) fn width_for(len: usize) -> usize {
        if len > MOST_NARROW { size_of::<u64>() } else { size_of::<u32>() }
    }

    /// A place with its top bit set.
    pub(crate) fn marked(width: usize, place: u64) -> u64 {
        place | 1 << (8 * width - 1)
    }

    pub(crate) fn parse(width: usize, bytes: &'b [u8]) -> Option<Self> {
        match width {
            4 => bytes.len().is_multiple_of(4).then_some(Places::Narrow(bytes.as_chunks().0)),
            8 => bytes.len().is_multiple_of(8).then_some(Places::Wide(bytes.as_chunks().0)),
            _ => None,
        }
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = usize> + use<'b> {
        let (narrow, wide) = match self {
            Places::Narrow(places) => (places, &[][..]),
            Places::Wide(places) => (&[][..], places),
        };
        narrow.iter().map(|place| place.number()).chain(wide.iter().map(|place| place.number()))
    }

    pub(crate) fn len(self) -> usize {
        match self {
            Places::Narrow(places) => places.len(),
            Places::Wide(places) => places.len(),
        }
    }

    /// The bytes of the elements at these unmarked places.
    #[inline]
    pub(crate) fn gather<T: Element>(self, block: &[T], into: &mut [u8]) {
        match self {
            Places::Narrow(places) => gather(places, block, into),
            Places::Wide(places) => gather(places, block, into),
        }
    }

    /// Reads the elements at these unmarked places, each into its position among `values`.
    #[inline]
    pub(crate) fn spread<T: Element>(self, block: &[T], positions: &[u32], values: &mut [T]) {
        match self {
            Places::Narrow(places) => spread(places, block, positions, values),
            Places::Wide(places) => spread(places, block, positions, values),
        }
    }

    /// True if no place is marked and all are below `len`.
    pub(crate) fn are_below(self, len: usize) -> bool {
        match self {
            Places::Narrow(places) => are_below(places, len.min(MOST_NARROW)),
            Places::Wide(places) => are_below(places, len.min(MOST_WIDE)),
        }
    }
}

#[inline]
fn gather<P: Place, T: Element>(places: &[P], block: &[T], into: &mut [u8]) {
    let values = into.chunks_exact_mut(size_of::<T>());
    visit(places, values, Prefetch::of(block), |element, value| {
        value.copy_from_slice(bytemuck::bytes_of(&block[element]));
    });
}

#[inline]
fn spread<P: Place, T: Element>(places: &[P], block: &[T], positions: &[u32], values: &mut [T]) {
    visit(places, positions, Prefetch::of(block), |element, position| values[*position as usize] = block[element]);
}

/// Visits the elements at these places, each with its companion. Visits do not depend on each other, and elements are
/// prefetched, so that as many cache misses as possible are under way at once.
#[inline(always)]
pub(crate) fn visit<P: Place, T, C>(
    places: &[P],
    companions: impl IntoIterator<Item = C>,
    memory: Prefetch<T>,
    mut visit: impl FnMut(usize, C),
) {
    let (first, coming) = places.split_at(places.len().min(FETCHED_AHEAD));
    first.iter().for_each(|place| memory.fetch(place.number()));
    let mut pairs = places.iter().zip(companions);
    for (coming, (place, companion)) in coming.iter().zip(pairs.by_ref()) {
        memory.fetch(coming.number());
        visit(place.number(), companion);
    }
    pairs.for_each(|(place, companion)| visit(place.number(), companion));
}

/// No branch, so that many are compared at once.
fn are_below<P: Place>(places: &[P], len: usize) -> bool {
    places.iter().fold(true, |all, place| all & place.is_below(len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_blocks_have_wide_places() {
        for (len, width) in [(0, 4), (MOST_NARROW, 4), (MOST_NARROW + 1, 8)] {
            let mut builder = PlacesBuilder::new(len);
            assert!(builder.is_full() && builder.width() == width);
            builder.open(Buffer::own(vec![0; 2 * width - 1]));
            builder.push(len.saturating_sub(1));
            assert!(builder.is_full());
            let bytes = builder.take();
            let places = Places::parse(width, &bytes).expect("whole");
            assert_eq!((places.len(), places.are_below(len.max(1))), (1, true));
            assert!(!places.are_below(len.saturating_sub(1)));
            let marked = Places::marked(width, 7).to_le_bytes();
            assert!(!Places::parse(width, &marked[..width]).expect("whole").are_below(usize::MAX));
        }
    }

    #[test]
    fn what_is_no_whole_number_of_places_is_none() {
        assert!(Places::parse(4, &[0; 7]).is_none() && Places::parse(8, &[0; 12]).is_none());
        assert!(Places::parse(5, &[0; 10]).is_none() && Places::parse(0, &[]).is_none());
    }
}
