//! Memory mapped by several ranks of a node.

use crate::{Error, limits};
use memmap2::{Advice, MmapOptions, MmapRaw, UncheckedAdvice};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create};
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// The length can never change, so no access inside the mapping faults.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// Mappings of at least this length use large pages.
const HUGE_PAGE: usize = 2 << 20;

/// Memory shared by ranks of one node: a sealed memfd, mapped. Clones refer to the same mapping, which ends with the
/// last clone. The memory ends with the last mapping of the last process. Other ranks write to it at any time, so it
/// is never exposed as a slice. Code that makes a slice of a part must ensure that no rank writes there.
#[derive(Clone)]
pub struct Segment {
    map: Arc<MmapRaw>,
    len: usize,
}

impl Segment {
    /// Creates `len` zero bytes that no other rank has mapped. Pages take memory when first touched.
    ///
    /// # Errors
    /// [`Error::Segment`]: the system refuses.
    pub fn create(len: usize) -> Result<Segment, Error> {
        create(len).map(|(segment, _)| segment).map_err(Error::segment(len))
    }

    /// The requested length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the length is 0.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Allocates the pages of these bytes now instead of at the first access. On Linux before 5.14 this does nothing.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn populate(&self, bytes: Range<usize>) -> io::Result<()> {
        match self.map.advise_range(Advice::PopulateWrite, bytes.start, bytes.len()) {
            Err(error) if error.raw_os_error() != Some(Errno::INVAL.raw_os_error()) => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Returns the whole pages inside this range to the system, for all ranks that have mapped them. The bytes are 0
    /// afterwards, and take memory again when touched. Does nothing if the system does not support it.
    ///
    /// # Safety
    /// No other thread or rank accesses these bytes meanwhile: the call counts as a write.
    #[allow(unsafe_code)]
    pub unsafe fn discard(&self, bytes: Range<usize>) {
        let page = rustix::param::page_size();
        let pages = bytes.start.next_multiple_of(page)..bytes.end / page * page;
        if !pages.is_empty() && pages.end <= self.len {
            // SAFETY: inside the mapping; the caller guarantees exclusive access.
            let _ = unsafe { self.map.unchecked_advise_range(UncheckedAdvice::Remove, pages.start, pages.len()) };
        }
    }

    /// The first byte, page-aligned. Valid for [`Segment::len`] bytes as long as a handle exists.
    pub fn as_ptr(&self) -> *mut u8 {
        self.map.as_mut_ptr()
    }
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segment").field("len", &self.len).finish_non_exhaustive()
    }
}

/// Creates memory, and a descriptor by which other ranks can map it.
pub(super) fn create(len: usize) -> io::Result<(Segment, OwnedFd)> {
    if limits::file_size(len).is_some() {
        // Linux would send SIGXFSZ, which ends this process.
        return Err(Errno::FBIG.into());
    }
    let memory = memfd_create("aurora", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&memory, len as u64)?;
    fcntl_add_seals(&memory, SEALS)?;
    let segment = map(&memory, len)?;
    Ok((segment, memory))
}

/// Maps memory created by another rank.
pub(super) fn open(memory: &OwnedFd, len: usize) -> io::Result<Segment> {
    let sealed = fcntl_get_seals(memory)?.contains(SEALS);
    if !sealed || fstat(memory)?.st_size as u64 != len as u64 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "shared memory of another length, or without seals"));
    }
    map(memory, len)
}

fn map(memory: &OwnedFd, len: usize) -> io::Result<Segment> {
    // An empty mapping is one page that is never touched.
    let map = MmapOptions::new().len(len).map_raw(memory)?;
    if len >= HUGE_PAGE {
        // Linux follows this only as far as `/sys/kernel/mm/transparent_hugepage/shmem_enabled` permits.
        let _ = map.advise(Advice::HugePage);
    }
    Ok(Segment { map: Arc::new(map), len })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_all_kinds_are_zero_and_aligned() {
        for len in [0, 1, 4096, 4097, 1 << 20] {
            let segment = Segment::create(len).unwrap();
            assert_eq!((segment.len(), segment.is_empty()), (len, len == 0));
            assert_eq!(segment.as_ptr().addr() % 4096, 0);
        }
    }

    #[test]
    fn populating_changes_nothing() {
        let segment = Segment::create(100_000).unwrap();
        segment.populate(5..99_999).unwrap();
        segment.populate(7..7).unwrap();
        // SAFETY: inside the segment, which no other thread has.
        #[allow(unsafe_code)]
        let bytes = unsafe { std::slice::from_raw_parts(segment.as_ptr(), 100_000) };
        assert!(bytes.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn only_whole_pages_are_given_back() {
        let len = 10 * rustix::param::page_size();
        let segment = Segment::create(len).unwrap();
        let bytes = |from: usize| {
            // SAFETY: inside the segment, which no other thread has.
            #[allow(unsafe_code)]
            let (start, left) = (unsafe { segment.as_ptr().add(from) }, len - from);
            // SAFETY: as above.
            #[allow(unsafe_code)]
            unsafe {
                std::slice::from_raw_parts_mut(start, left)
            }
        };
        bytes(0).fill(7);
        for (range, gone) in [(1..2, 0..0), (5..len / 2 + 1, len / 10..len / 2), (0..len, 0..len)] {
            // SAFETY: as above.
            #[allow(unsafe_code)]
            unsafe {
                segment.discard(range);
            }
            assert!(bytes(0).iter().enumerate().all(|(at, byte)| *byte == if gone.contains(&at) { 0 } else { 7 }));
        }
    }

    #[test]
    fn what_cannot_be_is_a_typed_error() {
        let error = Segment::create(usize::MAX).unwrap_err();
        assert!(error.to_string().starts_with("cannot share memory of 18446744073709551615 bytes"), "{error}");
    }

    #[test]
    fn only_sealed_memory_of_the_right_length_is_mapped() {
        let (_, memory) = create(5000).unwrap();
        assert_eq!(open(&memory, 5000).unwrap().len(), 5000);
        assert_eq!(open(&memory, 5001).unwrap_err().kind(), io::ErrorKind::InvalidData);
        let unsealed = memfd_create("aurora", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&unsealed, 5000).unwrap();
        assert_eq!(open(&unsealed, 5000).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert!(ftruncate(&memory, 4000).is_err() && ftruncate(&memory, 6000).is_err());
    }
}
