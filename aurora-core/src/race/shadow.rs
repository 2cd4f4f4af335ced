//! The owner's record of a block: the last accesses to each range of elements.

#[cfg(test)]
mod tests;

use super::{Moment, Time};
use crate::Site;
use crate::ids::Epoch;
use crate::ops::OpId;
use crate::window::common;
use aurora_net::Rank;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;
use std::ops::Bound::{Excluded, Included};
use std::ops::Range;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AccessKind {
    Read,
    /// A slice of the elements was handed out for reading: which of them were read is unknown.
    Lent,
    Write,
    /// A write by an operation, which commutes with itself.
    Update(OpId),
}

impl AccessKind {
    pub(super) fn is_read(self) -> bool {
        matches!(self, AccessKind::Read | AccessKind::Lent)
    }

    fn conflicts_with(self, other: Self) -> bool {
        match (self, other) {
            (AccessKind::Update(a), AccessKind::Update(b)) => a != b,
            _ => !(self.is_read() && other.is_read()),
        }
    }
}

/// The time at which a write becomes visible to other ranks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Scope {
    /// At once.
    None,
    /// After the collective scope of this epoch.
    Together(Epoch),
    /// Once its rank has ended its scope of this number.
    Alone(u64),
}

/// The rank that accesses, and the time before the access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct By<'a> {
    pub(crate) rank: Rank,
    /// The rank that owns the elements.
    pub(crate) owner: Rank,
    /// The moments of the access: its first, and the last as later accesses see it.
    pub(crate) since: Moment,
    pub(crate) at: Moment,
    pub(crate) time: &'a Time,
    /// The access comes after the scopes of the object up to this one.
    pub(crate) epoch: Epoch,
    /// The parts of its neighbours that the rank has seen.
    pub(crate) shown: &'a [Past],
}

/// Accesses of a rank to a range of elements, up to a moment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Past {
    pub(crate) rank: Rank,
    pub(crate) upto: Moment,
    pub(crate) range: Range<usize>,
}

impl Past {
    /// The accesses inside a block, counted from the block's first element.
    pub(crate) fn within(&self, block: &Range<usize>) -> Option<Past> {
        let range = common(&self.range, block);
        let range = range.start.saturating_sub(block.start)..range.end.saturating_sub(block.start);
        (!range.is_empty()).then(|| Past { range, ..self.clone() })
    }
}

/// A scope as the program has opened it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Opened {
    pub(crate) name: Cow<'static, str>,
    pub(crate) line: Site,
}

/// The kind of an access, its scope and its line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access<'a> {
    pub(crate) kind: AccessKind,
    pub(crate) scope: Scope,
    pub(crate) line: &'a Site,
    /// The scope that the access is part of.
    pub(crate) opened: Option<&'a Opened>,
}

/// An earlier access that nothing orders before the present access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Clash {
    /// The element's place in the block.
    pub(crate) place: usize,
    pub(crate) rank: Rank,
    pub(crate) kind: AccessKind,
    pub(crate) scope: Scope,
    pub(crate) line: Site,
    pub(crate) opened: Option<Opened>,
}

#[derive(Default, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    pub(crate) race: Option<Clash>,
    /// Pairs with a slice, of which it is unknown which elements were read; each pair of lines once.
    pub(crate) possible: Vec<Clash>,
    /// The memory of the detector is full for the first time: it has forgotten accesses.
    pub(crate) has_forgotten: bool,
}

/// A line of the program, or a scope, by its number in [`Numbers`].
type Number = u32;

/// The scopes of ranks alone; with their ends, if they have ended.
type Alone = HashMap<(Rank, u64), Option<Moment>>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Mark {
    rank: u32,
    since: Moment,
    at: Moment,
    kind: AccessKind,
    scope: Scope,
    line: Number,
    opened: Option<Number>,
}

/// Neighbouring elements with the same accesses.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    end: usize,
    marks: SmallVec<[Mark; 2]>,
}

/// The last accesses to the elements of one block.
#[derive(Debug)]
pub(crate) struct Shadow {
    /// By first elements.
    entries: BTreeMap<usize, Entry>,
    /// The maximum number of entries.
    most: usize,
    has_forgotten: bool,
    lines: Numbers<Site>,
    openings: Numbers<Opened>,
    alone: Alone,
    /// The number of scopes above which the ended scopes are forgotten.
    most_alone: usize,
    /// Lines of possible races that were reported.
    reported: HashSet<(Number, Number)>,
}

/// Different things, by numbers.
#[derive(Debug)]
struct Numbers<T> {
    all: Vec<T>,
    numbers: HashMap<T, Number>,
}

impl<T: Clone + Eq + Hash> Numbers<T> {
    fn new() -> Self {
        Numbers { all: Vec::new(), numbers: HashMap::new() }
    }

    fn number(&mut self, of: &T) -> Number {
        if let Some(number) = self.numbers.get(of) {
            return *number;
        }
        let number = self.all.len() as Number;
        self.all.push(of.clone());
        self.numbers.insert(of.clone(), number);
        number
    }

    fn get(&self, number: Number) -> &T {
        &self.all[number as usize]
    }
}

impl Entry {
    /// Remembers an access to these elements, in place of the accesses that it replaces.
    fn store(&mut self, by: &By<'_>, mark: Mark, here: &Range<usize>, alone: &Alone) {
        self.marks.retain(|earlier| {
            let is_over = earlier.scope == mark.scope || is_over(earlier, by.epoch, alone);
            // Not by the owner's rule, which holds for this scope alone.
            !(replaces(&mark, earlier) && is_over && comes_before(earlier, (by, Scope::None), here, alone))
        });
        if !is_one_too_many(&mark, &self.marks) {
            self.marks.push(mark);
        }
    }
}

/// Some 64 MiB for each block.
const MOST: usize = 400_000;

const MOST_ALONE: usize = 1000;

impl Default for Shadow {
    fn default() -> Self {
        Shadow::with_most(MOST)
    }
}

impl Shadow {
    fn with_most(most: usize) -> Self {
        let (entries, alone, reported) = Default::default();
        let (lines, openings) = (Numbers::new(), Numbers::new());
        Shadow { entries, most, has_forgotten: false, lines, openings, alone, most_alone: MOST_ALONE, reported }
    }

    /// Notes an access to these ranges, until one races.
    pub(crate) fn access(
        &mut self,
        by: &By<'_>,
        access: &Access<'_>,
        ranges: impl IntoIterator<Item = Range<usize>>,
    ) -> Found {
        let mark = Mark {
            rank: by.rank.index() as u32,
            since: by.since,
            at: by.at,
            kind: access.kind,
            scope: access.scope,
            line: self.lines.number(access.line),
            opened: access.opened.map(|opened| self.openings.number(opened)),
        };
        if let Scope::Alone(number) = access.scope {
            self.forget_scopes();
            self.alone.entry((by.rank, number)).or_default();
        }
        let mut found = Found::default();
        for range in ranges.into_iter().filter(|range| !range.is_empty()) {
            self.access_range(by, mark, range, &mut found);
            if found.race.is_some() {
                return found;
            }
        }
        if self.entries.len() > self.most {
            found.has_forgotten = !self.has_forgotten;
            self.has_forgotten = true;
            // Half of them, spread over the block.
            let mut keep = false;
            self.entries.retain(|_, _| {
                keep = !keep;
                keep
            });
        }
        found
    }

    fn access_range(&mut self, by: &By<'_>, mark: Mark, range: Range<usize>, found: &mut Found) {
        let borders = by.shown.iter().flat_map(|past| [past.range.start, past.range.end]);
        for border in borders.filter(|border| range.contains(border)).chain([range.start, range.end]) {
            self.cut(border);
        }
        self.judge(by, &mark, range.clone(), found);
        if found.race.is_none() {
            self.store(by, mark, range);
        }
    }

    /// Compares an access with the earlier ones, until one races with it.
    fn judge(&mut self, by: &By<'_>, mark: &Mark, range: Range<usize>, found: &mut Found) {
        let Shadow { entries, alone, lines, openings, reported, .. } = self;
        for (start, entry) in entries.range(range) {
            let here = *start..entry.end;
            for earlier in &entry.marks {
                let clash = || Clash {
                    place: *start,
                    rank: Rank::new(earlier.rank as usize),
                    kind: earlier.kind,
                    scope: earlier.scope,
                    line: lines.get(earlier.line).clone(),
                    opened: earlier.opened.map(|opened| openings.get(opened).clone()),
                };
                match verdict(earlier, (mark, by), &here, alone) {
                    Verdict::Fine => {}
                    Verdict::Possible if reported.insert((earlier.line, mark.line)) => found.possible.push(clash()),
                    Verdict::Possible => {}
                    Verdict::Race => {
                        found.race = Some(clash());
                        return;
                    }
                }
            }
        }
    }

    /// Remembers an access, in place of the accesses that it replaces.
    fn store(&mut self, by: &By<'_>, mark: Mark, range: Range<usize>) {
        let (mut next, mut gaps) = (range.start, Vec::new());
        for (start, entry) in self.entries.range_mut(range.clone()) {
            if next < *start {
                gaps.push(next..*start);
            }
            next = entry.end;
            entry.store(by, mark, &(*start..entry.end), &self.alone);
        }
        if next < range.end {
            gaps.push(next..range.end);
        }
        for gap in gaps {
            self.entries.insert(gap.start, Entry { end: gap.end, marks: SmallVec::from_slice(&[mark]) });
        }
        self.join(range);
    }

    /// Forgets the scopes alone that have ended and of which no access is left, if there are many.
    fn forget_scopes(&mut self) {
        if self.alone.len() < self.most_alone {
            return;
        }
        let marks = self.entries.values().flat_map(|entry| &entry.marks);
        let used: HashSet<_> = marks.map(|mark| (mark.rank as usize, mark.scope)).collect();
        self.alone.retain(|(rank, number), end| end.is_none() || used.contains(&(rank.index(), Scope::Alone(*number))));
        self.most_alone = MOST_ALONE.max(2 * self.alone.len());
    }

    /// No entry reaches across this place.
    fn cut(&mut self, at: usize) {
        if let Some((_, entry)) = self.entries.range_mut(..at).next_back()
            && entry.end > at
        {
            let behind = entry.clone();
            entry.end = at;
            self.entries.insert(at, behind);
        }
    }

    /// Joins neighbours that have become equal.
    fn join(&mut self, range: Range<usize>) {
        let mut at = self.entries.range(..range.start).next_back().map_or(range.start, |(start, _)| *start);
        while let Some((&next, _)) = self.entries.range((Excluded(at), Included(range.end))).next() {
            let (left, right) = (&self.entries[&at], &self.entries[&next]);
            if left.end == next && left.marks == right.marks {
                let end = right.end;
                self.entries.remove(&next);
                self.entries.get_mut(&at).expect("it was just seen").end = end;
            } else {
                at = next;
            }
        }
    }

    /// True if accesses are known that begin at this place.
    pub(crate) fn begins_at(&self, place: usize) -> bool {
        self.entries.contains_key(&place)
    }

    /// A rank has ended its scope of this number at this moment.
    pub(crate) fn ended(&mut self, rank: Rank, number: u64, at: Moment) {
        if let Some(end) = self.alone.get_mut(&(rank, number)) {
            *end = Some(at);
        }
    }
}

enum Verdict {
    /// The accesses are ordered, or do not conflict.
    Fine,
    Possible,
    Race,
}

/// The verdict on a pair of accesses to the elements `here`.
fn verdict(earlier: &Mark, (mark, by): (&Mark, &By<'_>), here: &Range<usize>, alone: &Alone) -> Verdict {
    if !earlier.kind.conflicts_with(mark.kind) || comes_before(earlier, (by, mark.scope), here, alone) {
        return Verdict::Fine;
    }
    let is_certain = earlier.kind != AccessKind::Lent && mark.kind != AccessKind::Lent;
    // Written in a slice that the program still held: perhaps before the ranks were ordered.
    let may_be_ordered =
        earlier.scope == Scope::None && by.time.covers(Rank::new(earlier.rank as usize), earlier.since);
    if is_certain && !may_be_ordered { Verdict::Race } else { Verdict::Possible }
}

fn comes_before(earlier: &Mark, (by, scope): (&By<'_>, Scope), here: &Range<usize>, alone: &Alone) -> bool {
    let rank = Rank::new(earlier.rank as usize);
    let at = match earlier.scope {
        _ if rank == by.rank => return true,
        // An owner applies the writes of a collective scope once it has entered that scope itself.
        _ if rank == by.owner && earlier.scope != scope && matches!(scope, Scope::Together(_)) => return true,
        Scope::Together(epoch) => return by.epoch >= epoch,
        Scope::None => earlier.at,
        Scope::Alone(number) => alone.get(&(rank, number)).copied().flatten().unwrap_or(Moment::NEVER),
    };
    let is_shown = |past: &Past| {
        past.rank == rank && past.upto >= at && past.range.start <= here.start && here.end <= past.range.end
    };
    by.time.covers(rank, at) || by.shown.iter().any(is_shown)
}

/// True if the scope of an access has ended, as its own rank sees it.
fn is_over(earlier: &Mark, epoch: Epoch, alone: &Alone) -> bool {
    match earlier.scope {
        Scope::None => true,
        Scope::Together(scope) => epoch >= scope,
        Scope::Alone(number) => alone.get(&(Rank::new(earlier.rank as usize), number)).is_some_and(Option::is_some),
    }
}

/// True if every later access that races with `earlier` also races with `mark`: `earlier` can be forgotten if it is
/// ordered before `mark`.
fn replaces(mark: &Mark, earlier: &Mark) -> bool {
    match mark.kind {
        AccessKind::Write => true,
        // Another update commutes with this one, but not with earlier accesses of another kind.
        AccessKind::Update(_) => earlier.kind == mark.kind,
        AccessKind::Read => earlier.rank == mark.rank && earlier.kind.is_read(),
        AccessKind::Lent => earlier.rank == mark.rank && earlier.kind == AccessKind::Lent,
    }
}

/// Of updates in one collective scope, the updates of two ranks suffice: any rank differs from one of the two.
fn is_one_too_many(mark: &Mark, marks: &[Mark]) -> bool {
    let is_like = |other: &&Mark| (other.kind, other.scope) == (mark.kind, mark.scope);
    matches!((mark.kind, mark.scope), (AccessKind::Update(_), Scope::Together(_)))
        && marks.iter().filter(is_like).count() >= 2
}
