//! The memory that Linux charges to a receive buffer for a datagram.

pub(crate) const HEADERS: usize = 28;

/// The size of Linux's buffer descriptor, and of the data behind the contents.
const RECORD: usize = 256;
const TRAILER: usize = 320;
/// The headroom for the interface's header, and the alignment of the data.
const HEADROOM: usize = 31;
const LINE: usize = 64;

/// The charge beyond contents in pages of their own (segmentation offload): 832 or 960, as Linux is configured.
const PAGED: usize = 960;

/// Longer contents always lie in pages of their own.
const LONGEST_LINEAR: usize = 16 << 10;

/// Bytes that Linux charges to a receive buffer for a datagram with `len` bytes of contents: the memory that they
/// occupy, rounded up to a power of two. The sender does not know which of its two layouts Linux uses, so this is the
/// larger charge (4 KiB pages; measured in `udp/tests.rs`).
pub(crate) fn charge(len: usize) -> usize {
    let linear = (HEADERS + len + HEADROOM).next_multiple_of(LINE) + TRAILER;
    match linear {
        0..=LONGEST_LINEAR => (linear.next_power_of_two() + RECORD).max(PAGED + len),
        _ => PAGED + len.next_multiple_of(4 << 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_of_two_and_what_describes_it() {
        assert_eq!([0, 100, 600, 1472].map(charge), [960, 1060, 1560, 2432]);
        assert_eq!([2016, 7800, 8972].map(charge), [4352, 8760, 16640]);
    }

    #[test]
    fn longer_is_never_cheaper() {
        assert!((0..1 << 16).map(charge).is_sorted());
    }
}
