//! Memory mapped by several ranks of a node, in huge pages where the system has them.
//!
//! Linux gives shared memory huge pages only where `shmem_enabled` permits it, which it seldom does. So
//! [`Segment::populate`] asks for them itself: it touches one page of each *extent* (the memory of one huge page) and
//! collapses all extents at once (`MADV_COLLAPSE`, Linux 6.1). This is also several times faster than populating small
//! pages. An extent that cannot be collapsed consists of small pages. Every rank maps the memory at a multiple of the
//! huge page's size, so that the huge pages of one rank are those of all ranks.

use crate::{Error, limits};
use memmap2::{Advice, MmapOptions, MmapRaw, UncheckedAdvice};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create};
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::ops::{Deref, Range};
use std::os::fd::{AsRawFd, OwnedFd};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The length can never change, so no access inside the mapping faults.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// `MADV_COLLAPSE`, which `libc` does not define for every C library.
const COLLAPSE: libc::c_int = 25;

/// The size of a huge page on most machines. On others collapsing fails.
const HUGE_PAGE: usize = 2 << 20;

/// Memory shared by ranks of one node: a sealed memfd, mapped. Clones refer to the same mapping, which ends with the
/// last clone. The memory ends with the last mapping of the last process. Other ranks write to it at any time, so it
/// is never exposed as a slice. Code that makes a slice of a part must ensure that no rank writes there.
#[derive(Clone)]
pub struct Segment {
    map: Arc<MmapRaw>,
    /// The first byte's place in the mapping.
    start: usize,
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

    /// Allocates the pages of these bytes now instead of at the first access: huge pages for 1 MiB or more, which may
    /// also hold bytes before and behind. On Linux before 5.14 this does nothing.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn populate(&self, bytes: Range<usize>) -> io::Result<()> {
        self.collapse(&bytes);
        match self.populate_small(bytes) {
            Err(error) if error.raw_os_error() != Some(Errno::INVAL.raw_os_error()) => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Backs the extents of these bytes by huge pages, as far as the system has them. Bytes of less than half an extent
    /// stay in small pages: a large block is taken in such small steps only if memory is scarce.
    #[allow(unsafe_code)]
    fn collapse(&self, bytes: &Range<usize>) {
        let first = bytes.start / HUGE_PAGE * HUGE_PAGE;
        let end = bytes.end.next_multiple_of(HUGE_PAGE).min(allocated(self.len) / HUGE_PAGE * HUGE_PAGE);
        if bytes.len() < HUGE_PAGE / 2 || first >= end {
            return;
        }
        // An extent without any page cannot be collapsed.
        if (first..end).step_by(HUGE_PAGE).all(|extent| self.populate_small(extent..extent + 1).is_ok()) {
            let start = self.as_ptr().wrapping_add(first).cast();
            // SAFETY: inside the mapping, whose bytes it does not change.
            unsafe { libc::madvise(start, end - first, COLLAPSE) };
        }
    }

    fn populate_small(&self, bytes: Range<usize>) -> io::Result<()> {
        self.map.advise_range(Advice::PopulateWrite, self.start + bytes.start, bytes.len())
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
            let _ = unsafe {
                self.map.unchecked_advise_range(UncheckedAdvice::Remove, self.start + pages.start, pages.len())
            };
        }
    }

    /// The first byte, page-aligned; from 2 MiB on, aligned to a huge page. Valid for [`Segment::len`] bytes as long as
    /// a handle exists.
    pub fn as_ptr(&self) -> *mut u8 {
        self.map.as_mut_ptr().wrapping_add(self.start)
    }

    /// The memory as words, without a rest of less than 8 bytes.
    pub fn into_words(self) -> Words {
        Words(self)
    }
}

/// A [`Segment`] whose 8-byte words all ranks use as atomics. All uses of its bytes by other handles are unsafe.
#[derive(Clone, Debug)]
pub struct Words(Segment);

impl Deref for Words {
    type Target = [AtomicU64];

    #[allow(unsafe_code)]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: the bytes are mapped for reading and writing as long as the segment lives, and begin at a page. An
        // `AtomicU64` may have any bytes. Code that uses `as_ptr` of this segment has to use atomics, too.
        unsafe { slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len / size_of::<AtomicU64>()) }
    }
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segment").field("len", &self.len).finish_non_exhaustive()
    }
}

/// Creates memory, and a descriptor by which other ranks can map it.
pub(super) fn create(len: usize) -> io::Result<(Segment, OwnedFd)> {
    if limits::file_size(allocated(len)).is_some() {
        // Linux would send SIGXFSZ, which ends this process.
        return Err(Errno::FBIG.into());
    }
    let memory = memfd_create("aurora", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&memory, allocated(len) as u64)?;
    fcntl_add_seals(&memory, SEALS)?;
    let segment = map(&memory, len)?;
    Ok((segment, memory))
}

/// Maps memory created by another rank.
pub(super) fn open(memory: &OwnedFd, len: usize) -> io::Result<Segment> {
    let sealed = fcntl_get_seals(memory)?.contains(SEALS);
    if !sealed || fstat(memory)?.st_size as u64 != allocated(len) as u64 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "shared memory of another length, or without seals"));
    }
    map(memory, len)
}

/// The length of the memory: to the end of an extent of which at least half is used.
fn allocated(len: usize) -> usize {
    let rounds_up = len >= HUGE_PAGE && len % HUGE_PAGE >= HUGE_PAGE / 2;
    if rounds_up { len.checked_next_multiple_of(HUGE_PAGE).unwrap_or(len) } else { len }
}

fn map(memory: &OwnedFd, len: usize) -> io::Result<Segment> {
    // An empty mapping is one page that is never touched.
    if len < HUGE_PAGE {
        let map = MmapOptions::new().len(len).map_raw(memory)?;
        return Ok(Segment { map: Arc::new(map), start: 0, len });
    }
    let whole = allocated(len);
    let addresses = whole.checked_add(HUGE_PAGE - rustix::param::page_size()).ok_or(Errno::NOMEM)?;
    let reserved: MmapRaw = MmapOptions::new().no_reserve_swap().len(addresses).map_anon()?.into();
    let start = reserved.as_ptr().addr().next_multiple_of(HUGE_PAGE) - reserved.as_ptr().addr();
    let (flags, access) = (libc::MAP_SHARED | libc::MAP_FIXED, libc::PROT_READ | libc::PROT_WRITE);
    // SAFETY: inside the reserved addresses, which nothing uses yet; `reserved` unmaps them all.
    #[allow(unsafe_code)]
    let mapped = unsafe {
        libc::mmap(reserved.as_mut_ptr().wrapping_add(start).cast(), whole, access, flags, memory.as_raw_fd(), 0)
    };
    if mapped == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let segment = Segment { map: Arc::new(reserved), start, len };
    // Linux follows this only as far as `/sys/kernel/mm/transparent_hugepage/shmem_enabled` permits.
    let _ = segment.map.advise_range(Advice::HugePage, start, whole);
    Ok(segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_all_kinds_are_zero_and_aligned() {
        for len in [0, 1, 4096, 4097, 1 << 20, HUGE_PAGE, HUGE_PAGE + 4096, 2 * HUGE_PAGE - 1] {
            let segment = Segment::create(len).unwrap();
            assert_eq!((segment.len(), segment.is_empty()), (len, len == 0));
            assert_eq!(segment.as_ptr().addr() % if len < HUGE_PAGE { 4096 } else { HUGE_PAGE }, 0);
        }
    }

    #[test]
    #[allow(clippy::print_stderr)]
    fn large_memory_is_in_huge_pages_for_every_mapping() {
        let release = rustix::system::uname().release().to_string_lossy().into_owned();
        let mut version = release.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
        let enabled = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
        if (version.next(), version.next()) < (Some(6), Some(1)) || enabled.is_empty() || enabled.contains("[never]") {
            eprintln!("skipped: this system does not collapse pages (Linux {release}, huge pages: {enabled:?})");
            return;
        }
        // The last extent is used by half, by less, and as a whole; two owners of blocks populate it in two parts.
        let half = HUGE_PAGE / 2;
        for (len, huge) in [(2 * HUGE_PAGE + half, 3), (3 * HUGE_PAGE + half - 1, 3), (4 * HUGE_PAGE, 4)] {
            let (own, memory) = create(len).unwrap();
            let other = open(&memory, len).unwrap();
            // The other rank has small pages of the first extent, as of the words of a vector.
            write(&other, 0, 1);
            let border = HUGE_PAGE + half + 4096;
            own.populate(4096..border).unwrap();
            other.populate(border..len).unwrap();
            for (segment, value) in [(&own, 2), (&other, 3)] {
                (0..len).step_by(half).for_each(|at| write(segment, at, value));
                assert_eq!(huge_pages(segment.as_ptr().addr()), huge, "of {len} bytes");
            }
        }
    }

    #[test]
    #[allow(clippy::print_stderr)]
    fn few_bytes_take_small_pages() {
        let enabled = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/shmem_enabled").unwrap_or_default();
        if ["[always]", "[within_size]", "[advise]", "[force]"].iter().any(|huge| enabled.contains(huge)) {
            eprintln!("skipped: every page of shared memory may be huge here: {enabled:?}");
            return;
        }
        let segment = Segment::create(4 * HUGE_PAGE).unwrap();
        segment.populate(0..HUGE_PAGE / 2 - 1).unwrap();
        assert_eq!(huge_pages(segment.as_ptr().addr()), 0);
    }

    fn write(segment: &Segment, at: usize, byte: u8) {
        assert!(at < segment.len());
        let place = segment.as_ptr().wrapping_add(at);
        // SAFETY: inside the segment, which no other thread has.
        #[allow(unsafe_code)]
        unsafe {
            place.write_volatile(byte);
        }
    }

    /// The number of huge pages of the mapping that begins at this address.
    fn huge_pages(address: usize) -> usize {
        let text = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mapping = text.split_once(&format!("{address:x}-")).expect("it is mapped").1;
        let (_, bytes) = mapping.split_once("ShmemPmdMapped:").unwrap();
        bytes.split_whitespace().next().unwrap().parse::<usize>().unwrap() * 1024 / HUGE_PAGE
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
        [10 * rustix::param::page_size(), 10 * HUGE_PAGE].into_iter().for_each(give_back_parts);
    }

    fn give_back_parts(len: usize) {
        let segment = Segment::create(len).unwrap();
        segment.populate(0..len).unwrap();
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
        for (range, gone) in [(1..2, 0..0), (5..len / 2 + 1, rustix::param::page_size()..len / 2), (0..len, 0..len)] {
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
