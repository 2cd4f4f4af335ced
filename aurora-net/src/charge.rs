//! What a datagram costs the socket that it waits in.

/// Bytes of headers in front of a datagram's contents: IP and UDP.
pub(crate) const HEADERS: usize = 28;

/// The kernel's record of a buffer, and what stands behind the data in one.
const RECORD: usize = 256;
const TRAILER: usize = 320;
/// The room that it leaves in front for the interface's own header, and the alignment of what it stores.
const HEADROOM: usize = 31;
const LINE: usize = 64;

/// What a datagram costs beside its contents where these lie in pages of their own, as they do with segmentation
/// offload: 832 or 960 bytes, by how the kernel was built.
const PAGED: usize = 960;

/// From here on they always do.
const LONGEST_LINEAR: usize = 16 << 10;

/// Bytes that the kernel takes off a socket's receive buffer for a datagram with `len` bytes of contents: not these,
/// but the memory that they occupy, which is a power of two. Which of its two ways of storing them the kernel takes the
/// sender does not know; so this is the dearer one (Linux, 4 KiB pages; measured in `udp/tests.rs`).
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
