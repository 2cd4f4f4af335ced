//! The protocol on one rank, as a state machine: events in, messages out. It does no I/O, has no clock,
//! and never sees the memory of the program: contents of pages are arguments.
//!
//! The caller is the program's side. It calls, in this order: [`miss`](Machine::miss) for a page that is not
//! [valid](Machine::is_valid), then [`take`](Machine::take); [`write`](Machine::write) before the first write to a page
//! in an interval; [`snapshot`](Machine::snapshot) of each written page and [`close`](Machine::close) before a
//! synchronisation; then [`barrier`](Machine::barrier), [`acquire`](Machine::acquire) or [`release`](Machine::release).
//! [`handle`](Machine::handle) takes the messages of other ranks, at any time.

mod diff;
mod locks;
mod message;

pub use diff::{Diff, PAGE, WORD};
pub use message::{Interval, Malformed, Message, News, Page, Peer, Stamp, Time};

use locks::Locks;
use std::collections::{BTreeMap, BTreeSet};

/// The approximate bytes of a difference without its runs, and of an interval without its time and pages.
const DIFF: usize = 80;
const INTERVAL: usize = 96;

/// The rank that manages barriers.
const MANAGER: Peer = 0;

/// The state of the protocol on one rank.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Machine {
    me: Peer,
    ranks: usize,
    /// The number of pages of all arrays.
    all: Page,
    /// The intervals that this rank knows, by rank.
    known: Vec<Vec<Interval>>,
    pages: BTreeMap<Page, Known>,
    /// Pages that the program has written since the last close.
    written: BTreeSet<Page>,
    /// Pages that were invalidated since the last [`Machine::take_invalidated`].
    invalidated: Vec<Page>,
    fetch: Option<Fetch>,
    barrier: Barrier,
    locks: Locks,
    /// The bytes of all kept intervals and differences.
    history: usize,
}

/// A page that any rank has written.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Known {
    /// Intervals of other ranks whose changes the program's copy does not have.
    missing: Vec<Stamp>,
    diffs: BTreeMap<Stamp, Diff>,
    /// The own interval for which there is no difference yet. Until a rank requests the difference, later intervals in
    /// which the page is written need no notice of it.
    undiffed: Option<u32>,
    /// The page before the writes of that interval, or of the present one.
    twin: Option<Box<[u8]>>,
    /// The page at the last close.
    closed: Option<Box<[u8]>>,
}

/// The differences of a page that were requested and have not been applied.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Fetch {
    page: Page,
    wanted: BTreeMap<Peer, Vec<Stamp>>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Barrier {
    is_waiting: bool,
    /// At the manager: the ranks that have arrived.
    arrived: BTreeMap<Peer, (Time, News)>,
    /// The number of own intervals at the last barrier.
    since: u32,
}

impl Known {
    /// Makes the missing difference, if there is one, and returns its bytes. `is_open`: the program has written the
    /// page since the last close. Then the next difference begins where this one ends.
    fn make_diff(&mut self, me: Peer, is_open: bool) -> usize {
        let Some(index) = self.undiffed.take() else {
            return 0;
        };
        let (twin, closed) = (self.twin.take(), self.closed.take());
        let diff = twin.zip(closed.as_ref()).map(|(twin, closed)| Diff::between(&twin, closed));
        let diff = diff.expect("a closed interval has both");
        if is_open {
            (self.twin, self.closed) = (closed.clone(), closed);
        }
        let bytes = diff.len() + DIFF;
        self.diffs.insert(Stamp { rank: me, index }, diff);
        bytes
    }
}

impl Machine {
    /// Creates the state of rank `me` of `ranks` ranks.
    pub fn new(me: usize, ranks: usize) -> Self {
        assert!(me < ranks && ranks <= usize::from(Peer::MAX), "ranks are numbered from 0, 65,535 at most");
        Machine {
            me: me as Peer,
            ranks,
            all: 0,
            known: vec![Vec::new(); ranks],
            pages: BTreeMap::new(),
            written: BTreeSet::new(),
            invalidated: Vec::new(),
            fetch: None,
            barrier: Barrier::default(),
            locks: Locks::default(),
            history: 0,
        }
    }

    /// Sets the number of pages of all arrays together. New pages are zero.
    pub fn grow_to(&mut self, pages: Page) {
        self.all = pages;
    }

    /// The bytes of the intervals and differences that the rank keeps. They are never freed.
    pub fn history(&self) -> usize {
        self.history
    }

    fn time(&self) -> Time {
        self.known.iter().map(|intervals| intervals.len() as u32).collect()
    }

    fn interval(&self, stamp: Stamp) -> &Interval {
        &self.known[usize::from(stamp.rank)][stamp.index as usize]
    }

    /// Returns true if the program's copy of a page has all changes that it must have.
    pub fn is_valid(&self, page: Page) -> bool {
        self.pages.get(&page).is_none_or(|known| known.missing.is_empty())
    }

    /// Takes the pages that were invalidated since the last call.
    pub fn take_invalidated(&mut self) -> Vec<Page> {
        std::mem::take(&mut self.invalidated)
    }

    /// The program is about to write to a valid page. `content` is the page before the first write of this interval.
    pub fn write(&mut self, page: Page, content: &[u8]) {
        debug_assert!(self.is_valid(page), "a page is fetched before it is written");
        if self.written.insert(page) {
            self.pages.entry(page).or_default().twin.get_or_insert_with(|| content.into());
        }
    }

    /// The pages that the program has written in this interval.
    pub fn written(&self) -> impl Iterator<Item = Page> + '_ {
        self.written.iter().copied()
    }

    /// Stores the content of a written page at the end of the interval. Call this before [`close`](Self::close).
    pub fn snapshot(&mut self, page: Page, content: &[u8]) {
        let closed = &mut self.pages.entry(page).or_default().closed;
        match closed {
            Some(closed) => closed.copy_from_slice(content),
            None => *closed = Some(content.into()),
        }
    }

    /// Ends the interval, if it needs a notice of a page.
    pub fn close(&mut self) {
        let index = self.own();
        let mut pages = Vec::new();
        for page in std::mem::take(&mut self.written) {
            let undiffed = &mut self.pages.entry(page).or_default().undiffed;
            if undiffed.is_none() {
                *undiffed = Some(index);
                pages.push(page);
            }
        }
        if pages.is_empty() {
            return;
        }
        let mut time = self.time();
        time[usize::from(self.me)] = index + 1;
        let interval = Interval { time, pages };
        self.history += bytes_of(&interval);
        self.known[usize::from(self.me)].push(interval);
    }

    /// The number of the rank's own intervals.
    fn own(&self) -> u32 {
        self.known[usize::from(self.me)].len() as u32
    }

    /// Returns true if the program waits for other ranks at a barrier.
    pub fn is_in_barrier(&self) -> bool {
        self.barrier.is_waiting
    }

    /// The ranks for which the program waits in a barrier: the manager; at the manager, the ranks that have not
    /// arrived.
    pub fn awaited_in_barrier(&self) -> impl Iterator<Item = Peer> + '_ {
        self.others().filter(|rank| match self.me {
            MANAGER => !self.barrier.arrived.contains_key(rank),
            _ => *rank == MANAGER,
        })
    }

    /// All ranks except this one.
    pub fn others(&self) -> impl Iterator<Item = Peer> + use<> {
        let me = self.me;
        (0..self.ranks as Peer).filter(move |rank| *rank != me)
    }

    /// The program arrives at a barrier. It has [closed](Self::close) its interval.
    pub fn barrier(&mut self) -> Vec<(Peer, Message)> {
        self.barrier.is_waiting = true;
        if self.me == MANAGER {
            return self.meet();
        }
        let (rank, index) = (self.me, self.barrier.since);
        let intervals = self.known[usize::from(rank)][index as usize..].to_vec();
        let news = News { from: Stamp { rank, index }, intervals };
        vec![(MANAGER, Message::Arrive { time: self.time(), news })]
    }

    /// At the manager: if all ranks have arrived, sends each rank the intervals that it lacks.
    fn meet(&mut self) -> Vec<(Peer, Message)> {
        if !self.barrier.is_waiting || self.barrier.arrived.len() + 1 < self.ranks {
            return Vec::new();
        }
        let (times, news): (Vec<_>, _) = std::mem::take(&mut self.barrier.arrived)
            .into_iter()
            .map(|(rank, (time, news))| ((rank, time), news))
            .unzip();
        self.learn(news);
        self.leave_barrier();
        times.into_iter().map(|(rank, time)| (rank, Message::Depart { news: self.news_beyond(&time) })).collect()
    }

    fn leave_barrier(&mut self) {
        self.barrier = Barrier { since: self.own(), ..Barrier::default() };
    }

    /// The intervals that this rank knows and a rank with vector time `time` does not know.
    fn news_beyond(&self, time: &Time) -> Vec<News> {
        let beyond = self.known.iter().zip(time).enumerate().map(|(rank, (known, index))| News {
            from: Stamp { rank: rank as Peer, index: *index },
            intervals: known.get(*index as usize..).unwrap_or_default().to_vec(),
        });
        beyond.filter(|news| !news.intervals.is_empty()).collect()
    }

    /// Returns true if these intervals continue the intervals that this rank knows.
    fn makes_sense(&self, news: &News) -> bool {
        let News { from: Stamp { rank, index }, intervals } = news;
        let Some(known) = self.known.get(usize::from(*rank)) else {
            return false;
        };
        *rank != self.me
            && *index as usize <= known.len()
            && intervals.iter().zip(*index + 1..).all(|(Interval { time, pages }, own)| {
                time.len() == self.ranks
                    && time[usize::from(*rank)] == own
                    && pages.is_sorted_by(|page, next| page < next)
                    && pages.last().is_some_and(|last| *last < self.all)
            })
    }

    /// Adds intervals of other ranks. The pages that were written in them are invalid from now on.
    fn learn(&mut self, news: Vec<News>) {
        for News { from: Stamp { rank, index }, intervals } in news {
            let known = self.known[usize::from(rank)].len();
            for interval in intervals.into_iter().skip(known.saturating_sub(index as usize)) {
                let stamp = Stamp { rank, index: self.known[usize::from(rank)].len() as u32 };
                for page in &interval.pages {
                    let (me, is_open) = (self.me, self.written.contains(page));
                    let page_known = self.pages.entry(*page).or_default();
                    self.history += page_known.make_diff(me, is_open);
                    if page_known.missing.is_empty() {
                        self.invalidated.push(*page);
                    }
                    page_known.missing.push(stamp);
                    self.history += size_of::<Stamp>();
                }
                self.history += bytes_of(&interval);
                self.known[usize::from(rank)].push(interval);
            }
        }
    }

    /// The program accesses a page that is not valid: requests each missing difference from one rank. A rank is asked
    /// only if no interval of the page follows the rank's last one: such a rank has the differences of all intervals
    /// that precede.
    pub fn miss(&mut self, page: Page) -> Vec<(Peer, Message)> {
        let missing = &self.pages.get(&page).expect("only a known page is invalid").missing;
        let mut last = BTreeMap::<Peer, u32>::new();
        for stamp in missing {
            let last = last.entry(stamp.rank).or_default();
            *last = stamp.index.max(*last);
        }
        let last: Vec<_> = last.into_iter().map(|(rank, index)| Stamp { rank, index }).collect();
        let precedes = |stamp: &Stamp, later: &Stamp| {
            stamp.rank != later.rank && self.interval(*later).time[usize::from(stamp.rank)] > stamp.index
        };
        let asked: Vec<_> = last.iter().filter(|stamp| !last.iter().any(|later| precedes(stamp, later))).collect();
        let mut wanted = BTreeMap::<Peer, Vec<Stamp>>::new();
        for stamp in missing {
            let by_itself = asked.iter().find(|asked| asked.rank == stamp.rank);
            let of = by_itself.or_else(|| asked.iter().find(|asked| precedes(stamp, asked)));
            // The last intervals follow all others, except with vector times from another build.
            wanted.entry(of.map_or(stamp.rank, |of| of.rank)).or_default().push(*stamp);
        }
        let messages = wanted.iter().map(|(rank, stamps)| (*rank, Message::Want { page, stamps: stamps.clone() }));
        let messages = messages.collect();
        self.fetch = Some(Fetch { page, wanted });
        messages
    }

    /// Returns true if the program has requested differences that it has not taken.
    pub fn is_fetching(&self) -> bool {
        self.fetch.is_some()
    }

    /// The ranks whose differences have not arrived yet.
    pub fn asked(&self) -> impl Iterator<Item = Peer> + '_ {
        self.fetch.iter().flat_map(|fetch| fetch.wanted.keys().copied())
    }

    /// Takes the differences that the program must now apply to its copy of a page, in this order. The page is then
    /// valid.
    ///
    /// # Panics
    /// If a requested difference has not arrived.
    pub fn take(&mut self, page: Page) -> Vec<Diff> {
        assert!(self.asked().next().is_none(), "all differences are here");
        self.fetch = None;
        let known = self.pages.get_mut(&page).expect("only a known page is invalid");
        let mut missing = std::mem::take(&mut known.missing);
        // The sum of a vector time grows from an interval to each interval that follows it.
        let known_intervals = &self.known;
        missing.sort_by_key(|stamp| {
            let time = &known_intervals[usize::from(stamp.rank)][stamp.index as usize].time;
            (time.iter().map(|own| u64::from(*own)).sum::<u64>(), *stamp)
        });
        missing.iter().map(|stamp| known.diffs[stamp].clone()).collect()
    }

    /// A message of another rank has arrived. Messages may arrive in any order.
    ///
    /// # Errors
    /// The message makes no sense.
    pub fn handle(&mut self, from: Peer, message: Message) -> Result<Vec<(Peer, Message)>, Malformed> {
        if usize::from(from) >= self.ranks || from == self.me {
            return Err(Malformed);
        }
        match message {
            Message::Arrive { time, news } => {
                let has_not = !self.barrier.arrived.contains_key(&from);
                let is_own = news.from.rank == from && self.makes_sense(&news);
                if self.me != MANAGER || time.len() != self.ranks || !has_not || !is_own {
                    return Err(Malformed);
                }
                self.barrier.arrived.insert(from, (time, news));
                Ok(self.meet())
            }
            Message::Depart { news } => {
                let is_awaited = self.barrier.is_waiting && from == MANAGER;
                self.learn_from(is_awaited, news)?;
                self.leave_barrier();
                Ok(Vec::new())
            }
            Message::Acquire { lock, time } => self.wanted_by(from, lock, time),
            Message::Forward { lock, rank, time } => self.forwarded(rank, lock, time),
            Message::Grant { lock, news } => {
                self.learn_from(self.awaited_lock() == Some(lock), news)?;
                self.granted(lock)?;
                Ok(Vec::new())
            }
            Message::Want { page, stamps } => self.wanted(from, page, &stamps),
            Message::Diffs { page, diffs } => self.arrived(from, page, diffs),
        }
    }

    fn learn_from(&mut self, is_awaited: bool, news: Vec<News>) -> Result<(), Malformed> {
        if !is_awaited || !news.iter().all(|news| self.makes_sense(news)) {
            return Err(Malformed);
        }
        self.learn(news);
        Ok(())
    }

    /// Another rank lacks differences of a page.
    fn wanted(&mut self, from: Peer, page: Page, stamps: &[Stamp]) -> Result<Vec<(Peer, Message)>, Malformed> {
        let (me, is_open) = (self.me, self.written.contains(&page));
        let known = self.pages.get_mut(&page).ok_or(Malformed)?;
        if stamps.iter().any(|stamp| stamp.rank == me && known.undiffed == Some(stamp.index)) {
            self.history += known.make_diff(me, is_open);
        }
        let diffs = stamps.iter().map(|stamp| known.diffs.get(stamp).cloned().ok_or(Malformed));
        Ok(vec![(from, Message::Diffs { page, diffs: diffs.collect::<Result<_, _>>()? })])
    }

    /// Differences have arrived.
    fn arrived(&mut self, from: Peer, page: Page, diffs: Vec<Diff>) -> Result<Vec<(Peer, Message)>, Malformed> {
        let fetch = self.fetch.as_mut().filter(|fetch| fetch.page == page).ok_or(Malformed)?;
        let stamps = fetch.wanted.remove(&from).ok_or(Malformed)?;
        if stamps.len() != diffs.len() || !diffs.iter().all(|diff| diff.fits(PAGE)) {
            return Err(Malformed);
        }
        self.history += diffs.iter().map(|diff| diff.len() + DIFF).sum::<usize>();
        self.pages.entry(page).or_default().diffs.extend(stamps.into_iter().zip(diffs));
        Ok(Vec::new())
    }
}

fn bytes_of(interval: &Interval) -> usize {
    INTERVAL + size_of_val(&interval.time[..]) + size_of_val(&interval.pages[..])
}
