//! Reuse of large buffers.
//!
//! Allocating a large buffer is expensive if the system clears and maps new pages each time. So the handler gives
//! buffers back for the next payloads. The number of kept buffers is limited to the number of taken ones, since
//! transfers on other routes reach the handler in buffers that are not taken here.

/// Smaller buffers are kept by the allocator itself.
const SMALLEST: usize = 64 << 10;
/// Larger buffers are too rare to keep.
const LARGEST: usize = 2 << 20;
const MOST: usize = 8 << 20;

/// Free buffers. The last one is taken first, since the processor's cache is most likely to hold it.
#[derive(Debug, Default)]
pub(crate) struct Spare {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
    taken: usize,
}

fn worth(bytes: usize) -> bool {
    (SMALLEST..=LARGEST).contains(&bytes)
}

impl Spare {
    /// Keeps a buffer in exchange for one that was taken, if it is worth it.
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

    pub(crate) fn take(&mut self, capacity: usize) -> Vec<u8> {
        // Far too large buffers are not used, since a small payload may hold one for long.
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
