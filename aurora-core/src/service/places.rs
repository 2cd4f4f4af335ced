//! Places of elements in an owner's block, on their way to it: numbers of 32 bits each, or of 64 for a block so long that it
//! needs them.
//!
//! The top bit of a number is free for those who write them.

use crate::element::Element;

/// Blocks of more elements have wide places.
const MOST_NARROW: usize = (1 << 31) - 1;
/// No block has more.
const MOST_WIDE: usize = (1 << 63) - 1;

/// Places being collected.
#[derive(Clone, Debug)]
pub(crate) enum PlacesBuilder {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl PlacesBuilder {
    /// In a block of `len` elements.
    pub(crate) fn new(len: usize) -> Self {
        if len > MOST_NARROW { PlacesBuilder::Wide(Vec::new()) } else { PlacesBuilder::Narrow(Vec::new()) }
    }

    /// Appends a place, or a number of places.
    #[inline]
    pub(crate) fn push(&mut self, place: usize) {
        match self {
            PlacesBuilder::Narrow(places) => places.push(place as u32),
            PlacesBuilder::Wide(places) => places.push(place as u64),
        }
    }

    /// Sets the top bit of the last one.
    #[inline]
    pub(crate) fn mark_last(&mut self) {
        match self {
            PlacesBuilder::Narrow(places) => places.last_mut().into_iter().for_each(|last| *last |= 1 << 31),
            PlacesBuilder::Wide(places) => places.last_mut().into_iter().for_each(|last| *last |= 1 << 63),
        }
    }

    /// Adds to the last one.
    #[inline]
    pub(crate) fn add_to_last(&mut self, more: usize) {
        match self {
            PlacesBuilder::Narrow(places) => places.last_mut().into_iter().for_each(|last| *last += more as u32),
            PlacesBuilder::Wide(places) => places.last_mut().into_iter().for_each(|last| *last += more as u64),
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self {
            PlacesBuilder::Narrow(places) => places.len(),
            PlacesBuilder::Wide(places) => places.len(),
        }
    }

    pub(crate) fn clear(&mut self) {
        match self {
            PlacesBuilder::Narrow(places) => places.clear(),
            PlacesBuilder::Wide(places) => places.clear(),
        }
    }

    /// Bytes of one.
    #[inline]
    pub(crate) fn width(&self) -> usize {
        match self {
            PlacesBuilder::Narrow(_) => size_of::<u32>(),
            PlacesBuilder::Wide(_) => size_of::<u64>(),
        }
    }

    /// As they travel.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            PlacesBuilder::Narrow(places) => bytemuck::cast_slice(places),
            PlacesBuilder::Wide(places) => bytemuck::cast_slice(places),
        }
    }
}

/// Places that have arrived, wherever they lie in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Places<'b> {
    Narrow(&'b [[u8; 4]]),
    Wide(&'b [[u8; 8]]),
}

/// One of them.
pub(crate) trait Place: Copy {
    /// Its number, without the top bit.
    fn number(self) -> usize;
    /// Whether the top bit is set.
    fn is_marked(self) -> bool;
    /// Whether it is below `len`, its top bit being a part of it.
    fn is_below(self, len: usize) -> bool;
}

impl Place for [u8; 4] {
    #[inline(always)]
    fn number(self) -> usize {
        (u32::from_le_bytes(self) & (u32::MAX >> 1)) as usize
    }

    #[inline(always)]
    fn is_marked(self) -> bool {
        u32::from_le_bytes(self) >> 31 != 0
    }

    #[inline(always)]
    fn is_below(self, len: usize) -> bool {
        u32::from_le_bytes(self) < len as u32
    }
}

impl Place for [u8; 8] {
    #[inline(always)]
    fn number(self) -> usize {
        (u64::from_le_bytes(self) & (u64::MAX >> 1)) as usize
    }

    #[inline(always)]
    fn is_marked(self) -> bool {
        u64::from_le_bytes(self) >> 63 != 0
    }

    #[inline(always)]
    fn is_below(self, len: usize) -> bool {
        u64::from_le_bytes(self) < len as u64
    }
}

impl<'b> Places<'b> {
    /// Of `width` bytes each.
    pub(crate) fn parse(width: usize, bytes: &'b [u8]) -> Option<Self> {
        match width {
            4 => bytes.len().is_multiple_of(4).then_some(Places::Narrow(bytes.as_chunks().0)),
            8 => bytes.len().is_multiple_of(8).then_some(Places::Wide(bytes.as_chunks().0)),
            _ => None,
        }
    }

    pub(crate) fn len(self) -> usize {
        match self {
            Places::Narrow(places) => places.len(),
            Places::Wide(places) => places.len(),
        }
    }

    /// The bytes of the elements at these places, unmarked ones.
    #[inline]
    pub(crate) fn gather<T: Element>(self, block: &[T]) -> Vec<u8> {
        match self {
            Places::Narrow(places) => gather(places, block),
            Places::Wide(places) => gather(places, block),
        }
    }

    /// Reads the elements at these places, unmarked ones, each into its position among `values`.
    #[inline]
    pub(crate) fn spread<T: Element>(self, block: &[T], positions: &[u32], values: &mut [T]) {
        match self {
            Places::Narrow(places) => spread(places, block, positions, values),
            Places::Wide(places) => spread(places, block, positions, values),
        }
    }

    /// Whether none is marked and all are below `len`.
    pub(crate) fn are_below(self, len: usize) -> bool {
        match self {
            Places::Narrow(places) => are_below(places, len.min(MOST_NARROW)),
            Places::Wide(places) => are_below(places, len.min(MOST_WIDE)),
        }
    }
}

/// As in a batch that is applied, nothing depends on the element before.
#[inline]
fn gather<P: Place, T: Element>(places: &[P], block: &[T]) -> Vec<u8> {
    let mut values = vec![0; places.len() * size_of::<T>()];
    for (value, place) in values.chunks_exact_mut(size_of::<T>()).zip(places) {
        value.copy_from_slice(bytemuck::bytes_of(&block[place.number()]));
    }
    values
}

#[inline]
fn spread<P: Place, T: Element>(places: &[P], block: &[T], positions: &[u32], values: &mut [T]) {
    for (place, position) in places.iter().zip(positions) {
        values[*position as usize] = block[place.number()];
    }
}

/// No branch: many are compared at once.
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
            assert_eq!(builder.width(), width);
            builder.push(len.saturating_sub(1));
            let places = Places::parse(width, builder.bytes()).expect("whole");
            assert_eq!((places.len(), places.are_below(len.max(1))), (1, true));
            assert!(!places.are_below(len.saturating_sub(1)));
            builder.mark_last();
            assert!(!Places::parse(width, builder.bytes()).expect("whole").are_below(usize::MAX));
        }
    }

    #[test]
    fn what_is_no_whole_number_of_places_is_none() {
        assert!(Places::parse(4, &[0; 7]).is_none() && Places::parse(8, &[0; 12]).is_none());
        assert!(Places::parse(5, &[0; 10]).is_none() && Places::parse(0, &[]).is_none());
    }
}
