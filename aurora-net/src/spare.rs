//! Buffers that go round.
//!
//! What a buffered payload has cost to allocate is small beside its bytes, unless the system gives and takes the memory
//! anew for each: then every page of it is cleared and mapped first, which takes longer than all the rest. So the
//! handler gives buffers back, and the next payloads go there.
//!
//! No more are kept than were taken: what a rank sends to itself reaches the handler in a buffer that nobody here would
//! ask for again.

/// Smaller ones the allocator keeps by itself.
const SMALLEST: usize = 64 << 10;
/// Larger ones come so rarely that they would only lie about.
const LARGEST: usize = 2 << 20;
/// Bytes that are kept at most.
const MOST: usize = 8 << 20;

/// Buffers to be used again, the last one first: it is the one that the processor's cache remembers.
#[derive(Debug, Default)]
pub(crate) struct Spare {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
    /// How many were taken that have not come back.
    taken: usize,
}

/// Whether a buffer of that many bytes is worth keeping.
fn worth(bytes: usize) -> bool {
    (SMALLEST..=LARGEST).contains(&bytes)
}

impl Spare {
    /// Keeps a buffer for one that was taken, unless it is not worth it.
    pub(crate) fn keep(&mut self, mut buffer: Vec<u8>) {
        let bytes = buffer.capacity();
        if !worth(bytes) || self.taken == 0 {
            return;
        }
        self.taken -= 1;
        if self.bytes + bytes <= MOST {
            buffer.clear();
            self.bytes += bytes;
            self.buffers.push(buffer);
        }
    }

    /// An empty buffer with room for `capacity` bytes.
    pub(crate) fn take(&mut self, capacity: usize) -> Vec<u8> {
        // Not one many times too large: it would be held for as long as a small payload is.
        let fits = |buffer: &Vec<u8>| (capacity..=4 * capacity).contains(&buffer.capacity());
        let buffer = match self.buffers.iter().rposition(fits) {
            Some(at) => {
                let buffer = self.buffers.remove(at);
                self.bytes -= buffer.capacity();
                buffer
            }
            None => Vec::with_capacity(capacity),
        };
        self.taken += usize::from(worth(buffer.capacity()));
        buffer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_empty() {
        let mut spare = Spare::default();
        let mut buffer = spare.take(100 << 10);
        buffer.resize(100 << 10, 7);
        let at = buffer.as_ptr();
        spare.keep(buffer);
        assert_eq!(spare.take(1 << 10).capacity(), 1 << 10, "it is not wasted on little");
        let again = spare.take(90 << 10);
        assert!(again.is_empty() && again.as_ptr() == at);
        assert_eq!(spare.bytes, 0);
        assert!(spare.take(90 << 10).capacity() >= 90 << 10);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut spare = Spare::default();
        let taken: Vec<_> = (0..300).map(|_| spare.take(1 << 20)).collect();
        drop(taken);
        for _ in 0..100 {
            spare.keep(Vec::with_capacity(1 << 20));
            spare.keep(Vec::with_capacity(LARGEST + 1));
            spare.keep(Vec::with_capacity(100));
        }
        assert_eq!((spare.bytes, spare.buffers.len()), (MOST, MOST >> 20));
    }

    #[test]
    fn what_was_not_taken_is_not_kept() {
        let mut spare = Spare::default();
        let taken = spare.take(1 << 20);
        let small = spare.take(100);
        for buffer in [Vec::with_capacity(1 << 20), taken, small] {
            spare.keep(buffer);
        }
        assert_eq!(spare.buffers.len(), 1);
    }
}
