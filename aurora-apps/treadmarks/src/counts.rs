//! Counts of messages and bytes by their causes.

use crate::machine::{Diff, Message, PAGE, Peer, WORD};
use bytemuck::{Pod, Zeroable};
use std::collections::BTreeMap;
use std::iter::Sum;
use std::ops::{Add, Sub};

/// The messages and bytes of a rank. The comparison of TreadMarks with message passing names four causes of its extra
/// messages and bytes (section 4 of the paper): barriers and locks apart from data, one request for each page, false
/// sharing, and accumulated differences. Counts can be added (also by `sum()`) and subtracted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Counts {
    /// Messages of barriers that the rank has sent.
    pub barrier: u64,
    /// Messages of locks that the rank has sent.
    pub lock: u64,
    /// Requests for differences that the rank has sent.
    pub requests: u64,
    /// Answers to such requests that the rank has sent.
    pub answers: u64,
    /// Pages that the rank has brought up to date.
    pub misses: u64,
    /// Of `requests`: the requests that one request to each rank for all pages between two synchronisations would have
    /// saved.
    pub one_request_a_page: u64,
    /// Of `requests`: the requests that a page with a single writer would not have needed.
    pub false_sharing: u64,
    /// Bytes of the differences that the rank has fetched.
    pub data: u64,
    /// Of `data`: bytes of words that a later difference of the same page has overwritten.
    pub accumulated: u64,
    /// Bytes of the messages that the rank has sent: differences, intervals, times.
    pub bytes: u64,
}

impl Counts {
    /// The number of messages that the rank has sent.
    pub fn messages(&self) -> u64 {
        self.barrier + self.lock + self.requests + self.answers
    }

    /// Counts a message of `bytes` bytes that is sent.
    pub(crate) fn sent(&mut self, message: &Message, bytes: usize) {
        let count = match message {
            Message::Arrive { .. } | Message::Depart { .. } => &mut self.barrier,
            Message::Acquire { .. } | Message::Forward { .. } | Message::Grant { .. } => &mut self.lock,
            Message::Want { .. } => &mut self.requests,
            Message::Diffs { .. } => &mut self.answers,
        };
        *count += 1;
        self.bytes += bytes as u64;
    }

    /// Counts the differences of a page that are applied.
    pub(crate) fn applied(&mut self, diffs: &[Diff]) {
        let mut words = [false; PAGE / WORD];
        for diff in diffs {
            self.data += diff.data() as u64;
            self.accumulated += (diff.mark(&mut words) * WORD) as u64;
        }
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        self.by_field(more, |all, more| all + more)
    }
}

impl Sub for Counts {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        self.by_field(earlier, |all, earlier| all - earlier)
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Counts::default(), Add::add)
    }
}

impl Counts {
    fn by_field(self, other: Self, joined: impl Fn(u64, u64) -> u64) -> Self {
        let (mut fields, others): ([u64; 10], [u64; 10]) = (bytemuck::cast(self), bytemuck::cast(other));
        fields.iter_mut().zip(others).for_each(|(field, other)| *field = joined(*field, other));
        bytemuck::cast(fields)
    }
}

/// The requests of a rank since its last synchronisation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests {
    asked: BTreeMap<Peer, u64>,
}

impl Requests {
    /// Counts a miss of a page, for which the ranks `asked` are asked for differences.
    pub(crate) fn missed(&mut self, counts: &mut Counts, asked: impl Iterator<Item = Peer>) {
        counts.misses += 1;
        let mut writers = 0;
        for rank in asked {
            let earlier = self.asked.entry(rank).or_default();
            counts.one_request_a_page += u64::from(*earlier > 0);
            *earlier += 1;
            writers += 1;
        }
        counts.false_sharing += u64::from(writers > 1) * (writers - 1);
    }

    /// The rank synchronises: later requests are counted from zero.
    pub(crate) fn synchronised(&mut self) {
        self.asked.clear();
    }
}
