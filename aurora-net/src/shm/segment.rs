//! A piece of memory that several ranks of a node have mapped.

use crate::{Error, limits};
use memmap2::{Advice, MmapOptions, MmapRaw, UncheckedAdvice};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create};
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Its length can never change again, so that no access inside it can fault.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// From this length on large pages are of use.
const HUGE_PAGE: usize = 2 << 20;

/// Memory that ranks of one node share: a sealed memfd, mapped. Clones are handles to the same mapping; it goes with
/// the last one, and the memory with the last mapping of the last rank, however that ends.
///
/// Others write to it at any time, so it never is a slice: whoever makes one of a part says why nobody writes there.
#[derive(Clone)]
pub struct Segment {
    map: Arc<MmapRaw>,
    len: usize,
}

impl Segment {
    /// New memory of `len` bytes, all 0, that nobody else has yet. Pages take room when they are first touched.
    ///
    /// # Errors
    /// [`Error::Segment`]: the system refuses it.
    pub fn create(len: usize) -> Result<Segment, Error> {
        create(len).map(|(segment, _)| segment).map_err(Error::segment(len))
    }

    /// Length in bytes, as asked for.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no byte.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Makes sure of pages for these bytes, which take room only when they are first touched otherwise.
    ///
    /// # Errors
    /// There is no memory for them. A kernel that cannot do this (Linux before 5.14) does nothing.
    pub fn populate(&self, bytes: Range<usize>) -> io::Result<()> {
        match self.map.advise_range(Advice::PopulateWrite, bytes.start, bytes.len()) {
            Err(error) if error.raw_os_error() != Some(Errno::INVAL.raw_os_error()) => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Gives the memory of these bytes back to the system, as far as they are whole pages, for all who have mapped it.
    /// What was there reads as 0 then; touched again, it takes room again. Where the system cannot, nothing happens.
    ///
    /// # Safety
    /// Nobody else reads or writes these bytes meanwhile: it is a write to them.
    #[allow(unsafe_code)]
    pub unsafe fn discard(&self, bytes: Range<usize>) {
        let page = rustix::param::page_size();
        let pages = bytes.start.next_multiple_of(page)..bytes.end / page * page;
        if !pages.is_empty() && pages.end <= self.len {
            // SAFETY: inside of the mapping, and used by nobody else, says the caller.
            let _ = unsafe { self.map.unchecked_advise_range(UncheckedAdvice::Remove, pages.start, pages.len()) };
        }
    }

    /// Its first byte; page-aligned. Valid for [`Segment::len`] bytes as long as a handle exists.
    pub fn as_ptr(&self) -> *mut u8 {
        self.map.as_mut_ptr()
    }
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segment").field("len", &self.len).finish_non_exhaustive()
    }
}

/// New memory, and the descriptor by which others can map it.
pub(super) fn create(len: usize) -> io::Result<(Segment, OwnedFd)> {
    if limits::file_size(len).is_some() {
        // The kernel would end this process by a signal (SIGXFSZ).
        return Err(Errno::FBIG.into());
    }
    let memory = memfd_create("aurora", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&memory, len as u64)?;
    fcntl_add_seals(&memory, SEALS)?;
    let segment = map(&memory, len)?;
    Ok((segment, memory))
}

/// Maps what another rank has created.
pub(super) fn open(memory: &OwnedFd, len: usize) -> io::Result<Segment> {
    let sealed = fcntl_get_seals(memory)?.contains(SEALS);
    if !sealed || fstat(memory)?.st_size as u64 != len as u64 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "shared memory of another length, or without seals"));
    }
    map(memory, len)
}

fn map(memory: &OwnedFd, len: usize) -> io::Result<Segment> {
    // An empty mapping is one page that nobody touches.
    let map = MmapOptions::new().len(len).map_raw(memory)?;
    if len >= HUGE_PAGE {
        // As far as the system gives them for shared memory: `/sys/kernel/mm/transparent_hugepage/shmem_enabled`.
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
        // SAFETY: inside the segment, which nobody else has.
        #[allow(unsafe_code)]
        let bytes = unsafe { std::slice::from_raw_parts(segment.as_ptr(), 100_000) };
        assert!(bytes.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn only_whole_pages_are_given_back() {
        let len = 10 * rustix::param::page_size();
        let segment = Segment::create(len).unwrap();
        let bytes = |from: usize| {
            // SAFETY: inside the segment, which nobody else has.
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
