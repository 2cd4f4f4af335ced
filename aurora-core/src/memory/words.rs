//! Copies of many elements out of memory whose words other ranks may write meanwhile, and into memory whose words
//! they may read and write meanwhile. No word is torn.
//!
//! A loop of relaxed atomics is such a copy, at 8 bytes an instruction: half the speed of a `memcpy` that hits the
//! caches. On x86-64 most of a copy is therefore assembly, at 16 bytes an instruction.
//!
//! Why the unsafe code is sound:
//!
//! 1. Both sides of a copy have as many elements as the slice that is one side. The other side does not overlap it.
//! 2. Nobody else writes the slice, which is borrowed, or reads it while it is written. The other side is shared. Other
//!    ranks access its words only as atomics of their size (`cells.rs`), and do not write elements that are no words.
//! 3. The compiler does not look into assembly. The assembly stands for relaxed accesses to the words of the shared
//!    side, of their size, in some order, and for plain accesses to the slice.
//! 4. Words lie at multiples of their size, so an access of 8 or 16 bytes at a multiple of its length has whole words.
//!    It is atomic: of 8 bytes always, of 16 bytes by `movdqa` on processors with AVX (Intel's manual, volume 3,
//!    "Guaranteed Atomic Operations"; AMD's manual, volume 2, "Access Atomicity").
//! 5. `sfence` orders streaming stores before all later stores, as other stores are ordered by themselves.
//! 6. Any bytes are a value of an [`Element`].
#![allow(unsafe_code)]

use super::cells::{self, is_word};
use crate::Element;
use std::ptr::NonNull;

/// A copy of this many bytes or more does not stay in the processor's caches. Its stores bypass them: otherwise each
/// cache line of the destination would be read before it is written.
const STREAMED: usize = 16 << 20;

/// Copies elements from `from` on, as a part of a copy of `whole` bytes.
///
/// # Safety
/// `from` points at as many elements, which lie as invariants 1, 2 and 4 say.
pub(super) unsafe fn copy_out<T: Element>(from: NonNull<T>, into: &mut [T], whole: usize) {
    let streams = whole >= STREAMED;
    if is_word::<T>() {
        // SAFETY: the caller promises it.
        unsafe { words_out(from, into, streams) }
    } else if lines::are_fast() {
        // SAFETY: the caller promises it; nobody writes these bytes, and each of them is a word.
        unsafe { words_out::<u8>(from.cast(), bytemuck::cast_slice_mut(into), streams) }
    } else {
        // SAFETY: invariants 1, 2 and 6.
        unsafe { from.copy_to_nonoverlapping(NonNull::from(&mut *into).cast(), into.len()) }
    }
}

/// # Safety
/// As for [`copy_out`]. The elements are words.
unsafe fn words_out<W: Element>(from: NonNull<W>, into: &mut [W], streams: bool) {
    let (from_at, into_at) = (from.addr().get(), into.as_ptr().addr());
    // Streaming stores are of 16 bytes, at multiples of that.
    let streams = streams && into_at.is_multiple_of(size_of::<W>()) && from_at % 8 == into_at % 8;
    let (head, middle) = lines::split::<W>(if streams { into_at } else { from_at }, into.len());
    let by_words = |range: std::ops::Range<usize>, into: &mut [W]| {
        for index in range {
            // SAFETY: invariant 1: inside.
            let at = unsafe { from.add(index) };
            // SAFETY: invariants 2 and 4.
            into[index] = unsafe { cells::read(at) };
        }
    };
    by_words(0..head, into);
    if middle > 0 {
        let part = &mut into[head..head + middle];
        // SAFETY: invariant 1: inside.
        let from = unsafe { from.add(head) };
        // SAFETY: invariants 1 to 4; `split` has aligned one side, and both sides have whole lines.
        unsafe { lines::copy_out(from.cast(), bytemuck::cast_slice_mut(part), streams) };
    }
    by_words(head + middle..into.len(), into);
}

/// Copies elements, which are words, to `into` and after it.
///
/// # Safety
/// `into` points at as many elements, which lie as invariants 1, 2 and 4 say.
pub(super) unsafe fn copy_in<W: Element>(from: &[W], into: NonNull<W>) {
    let (head, middle) = lines::split::<W>(into.addr().get(), from.len());
    let by_words = |range: std::ops::Range<usize>| {
        for index in range {
            // SAFETY: invariant 1: inside.
            let at = unsafe { into.add(index) };
            // SAFETY: invariants 2 and 4.
            unsafe { cells::write(at, from[index]) };
        }
    };
    by_words(0..head);
    if middle > 0 {
        let part = &from[head..head + middle];
        // SAFETY: invariant 1: inside.
        let into = unsafe { into.add(head) };
        // SAFETY: invariants 1 to 4; `split` has aligned the shared side, and both sides have whole lines.
        unsafe { lines::copy_in(bytemuck::cast_slice(part), into.cast()) };
    }
    by_words(head + middle..from.len());
}

#[cfg(target_arch = "x86_64")]
mod lines {
    use std::arch::asm;
    use std::arch::is_x86_feature_detected;
    use std::ptr::NonNull;

    /// Bytes of a cache line.
    const LINE: usize = 64;

    #[inline]
    pub(super) fn are_fast() -> bool {
        is_x86_feature_detected!("avx")
    }

    /// Splits `len` words, the first of which lies at an address: the number of words before a multiple of 16 bytes,
    /// and the number of the following words that are whole lines.
    pub(super) fn split<W>(at: usize, len: usize) -> (usize, usize) {
        let head = (at.wrapping_neg() % 16 / size_of::<W>()).min(len);
        let middle = (len - head) * size_of::<W>() / LINE * LINE / size_of::<W>();
        (head, if are_fast() { middle } else { 0 })
    }

    /// Copies lines of 64 bytes. `$load` loads 16 bytes into a register and `$store` stores them.
    macro_rules! copy {
        ($load:ident, $store:literal, $from:expr, $into:expr, $len:expr) => {
            asm!(
                "2:",
                $load!("a", "0"),
                $load!("b", "16"),
                $load!("c", "32"),
                $load!("d", "48"),
                concat!($store, " [{into} + {at}], {a}"),
                concat!($store, " [{into} + {at} + 16], {b}"),
                concat!($store, " [{into} + {at} + 32], {c}"),
                concat!($store, " [{into} + {at} + 48], {d}"),
                "add {at}, 64",
                "cmp {at}, {len}",
                "jb 2b",
                from = in(reg) $from,
                into = in(reg) $into,
                len = in(reg) $len,
                at = inout(reg) 0_usize => _,
                a = out(xmm_reg) _,
                b = out(xmm_reg) _,
                c = out(xmm_reg) _,
                d = out(xmm_reg) _,
                options(nostack),
            )
        };
    }

    macro_rules! load_aligned {
        ($register:literal, $at:literal) => {
            concat!("movdqa {", $register, "}, [{from} + {at} + ", $at, "]")
        };
    }

    /// As two words of 8 bytes.
    macro_rules! load_halves {
        ($register:literal, $at:literal) => {
            concat!(
                concat!("movq {", $register, "}, qword ptr [{from} + {at} + ", $at, "]\n"),
                concat!("movhps {", $register, "}, qword ptr [{from} + {at} + ", $at, " + 8]"),
            )
        };
    }

    macro_rules! load_unaligned {
        ($register:literal, $at:literal) => {
            concat!("movdqu {", $register, "}, [{from} + {at} + ", $at, "]")
        };
    }

    /// # Safety
    /// `from` points at as many bytes, which are whole lines. If it `streams`, `into` lies at a multiple of 16 and
    /// `from` at a multiple of 8, else `from` at a multiple of 16. Invariants 1 to 4 hold.
    pub(super) unsafe fn copy_out(from: NonNull<u8>, into: &mut [u8], streams: bool) {
        debug_assert!(!into.is_empty() && into.len().is_multiple_of(LINE));
        if streams {
            debug_assert!(into.as_ptr().addr().is_multiple_of(16) && from.addr().get().is_multiple_of(8));
            // SAFETY: invariants 1 to 4.
            unsafe { copy!(load_halves, "movntdq", from.as_ptr(), into.as_mut_ptr(), into.len()) };
            // SAFETY: invariant 5.
            unsafe { asm!("sfence", options(nostack, preserves_flags)) };
        } else {
            debug_assert!(from.addr().get().is_multiple_of(16));
            // SAFETY: invariants 1 to 4.
            unsafe { copy!(load_aligned, "movdqu", from.as_ptr(), into.as_mut_ptr(), into.len()) };
        }
    }

    /// # Safety
    /// `into` points at as many bytes, which are whole lines, and lies at a multiple of 16. Invariants 1 to 4 hold.
    pub(super) unsafe fn copy_in(from: &[u8], into: NonNull<u8>) {
        debug_assert!(!from.is_empty() && from.len().is_multiple_of(LINE) && into.addr().get().is_multiple_of(16));
        // SAFETY: invariants 1 to 4.
        unsafe { copy!(load_unaligned, "movdqa", from.as_ptr(), into.as_ptr(), from.len()) };
    }
}

/// Word by word.
#[cfg(not(target_arch = "x86_64"))]
mod lines {
    use std::ptr::NonNull;

    pub(super) fn are_fast() -> bool {
        false
    }

    pub(super) fn split<W>(_: usize, _: usize) -> (usize, usize) {
        (0, 0)
    }

    pub(super) unsafe fn copy_out(_: NonNull<u8>, _: &mut [u8], _: bool) {
        unreachable!("no whole lines");
    }

    pub(super) unsafe fn copy_in(_: &[u8], _: NonNull<u8>) {
        unreachable!("no whole lines");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::thread;

    /// Lengths around those of heads, lines and tails.
    const LENS: [usize; 13] = [0, 1, 2, 3, 7, 15, 16, 63, 64, 65, 129, 200, 1000];

    fn value(index: usize) -> u8 {
        (index * 131 % 251) as u8 + 1
    }

    /// Copies of every length between all places of both sides, whose surroundings stay as they are.
    fn check<T: Element>() {
        const AROUND: usize = 20;
        let size = size_of::<T>();
        let longest = LENS[LENS.len() - 1] + 2 * AROUND;
        let bytes: Vec<u8> = (0..longest * size).map(value).collect();
        // Page-aligned, as shared memory is.
        let mut shared = vec![0_u64; (longest * size).div_ceil(8) + 512];
        let skipped = shared.as_ptr().addr().wrapping_neg() % 4096;
        let shared: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut shared)[skipped..][..longest * size];
        let mut own = vec![0_u8; (longest + 1) * size + 16];
        for len in LENS {
            for (from, into) in (0..16).flat_map(|from| (0..16).map(move |into| (from, into))) {
                for whole in [0, usize::MAX] {
                    shared.copy_from_slice(&bytes);
                    own.fill(0);
                    // At every multiple of the alignment of `T`.
                    let shift = (own.as_ptr().addr().wrapping_neg() + into * align_of::<T>()) % 16;
                    let (before, rest) = own.split_at_mut(shift + size);
                    let (part, behind) = rest.split_at_mut(len * size);
                    let start = NonNull::new(shared[from * size..].as_mut_ptr()).unwrap().cast::<T>();
                    if start.is_aligned() && part.as_ptr().addr() % align_of::<T>() == 0 {
                        let part: &mut [T] = bytemuck::cast_slice_mut(part);
                        // SAFETY: as many elements are there, and nobody else has them.
                        unsafe { copy_out(start, part, whole) };
                        assert!(*bytemuck::cast_slice::<T, u8>(part) == bytes[from * size..][..len * size], "{len}");
                        assert!(before.iter().chain(&*behind).all(|byte| *byte == 0), "{len} from {from} to {into}");
                    }
                }
            }
        }
    }

    #[test]
    fn elements_of_every_size_are_copied_out_from_every_place() {
        check::<u8>();
        check::<u16>();
        check::<[u8; 3]>();
        check::<u32>();
        check::<u64>();
        check::<[u32; 3]>();
        check::<[u64; 3]>();
    }

    fn check_in<W: Element>() {
        let size = size_of::<W>();
        let from: Vec<u8> = (0..1040 * size).map(value).collect();
        let from: Vec<W> = from.chunks_exact(size).map(bytemuck::pod_read_unaligned).collect();
        for (len, at, first) in
            LENS.into_iter().flat_map(|len| (0..20).flat_map(move |at| [0, 1, 3].map(|first| (len, at, first))))
        {
            let mut shared = [W::zeroed(); 1040];
            let into = NonNull::from(&mut shared[at]);
            // SAFETY: as many elements follow, and nobody else has them.
            unsafe { copy_in(&from[first..first + len], into) };
            let bytes = |words: &[W]| bytemuck::cast_slice::<W, u8>(words).to_vec();
            assert_eq!(bytes(&shared[at..at + len]), bytes(&from[first..first + len]));
            let around = [&shared[..at], &shared[at + len..]].map(bytes);
            assert!(around.iter().flatten().all(|byte| *byte == 0), "{len} at {at}");
        }
    }

    #[test]
    fn words_of_every_size_are_copied_in_to_every_place() {
        check_in::<u8>();
        check_in::<u16>();
        check_in::<u32>();
        check_in::<u64>();
    }

    /// A thread writes words while another one copies them.
    #[test]
    fn no_word_is_torn() {
        const LEN: usize = 4099;
        let words: Vec<_> = (0..LEN).map(|_| AtomicU64::new(0)).collect();
        let over = AtomicBool::new(false);
        let start = || NonNull::new(words.as_ptr().cast_mut().cast::<u64>()).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut values = (0..u64::from(u8::MAX)).cycle().map(|byte| vec![byte * 0x0101_0101_0101_0101; LEN]);
                while !over.load(Ordering::Relaxed) {
                    let values = values.next().expect("a cycle");
                    // SAFETY: both threads use these words as atomics only.
                    unsafe { copy_in(&values, start()) };
                }
            });
            let mut copy = vec![0_u64; LEN];
            for round in 0..2000 {
                // SAFETY: as above.
                unsafe { copy_out(start(), &mut copy, if round % 2 == 0 { 0 } else { usize::MAX }) };
                assert!(copy.iter().all(|word| word % 0x0101_0101_0101_0101 == 0), "a torn word");
            }
            over.store(true, Ordering::Relaxed);
        });
    }
}
