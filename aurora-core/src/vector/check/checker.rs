//! An owner's notes: which rank has written what, and what clashes. Pure.

use super::Lines;
use crate::Site;
use crate::element::OpId;
use crate::ids::Epoch;
use crate::memory::{Shortage, promise};
use crate::vector::batch::Batch;
use crate::window::Window;
use aurora_net::Rank;
use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;
use std::ops::Range;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WriteKind {
    Put,
    Update,
}

impl WriteKind {
    pub(crate) fn of(op: Option<OpId>) -> Self {
        if op.is_some() { WriteKind::Update } else { WriteKind::Put }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Write {
    pub(crate) rank: Rank,
    pub(crate) kind: WriteKind,
    /// In a ReleaseC alone.
    pub(crate) alone: bool,
    pub(crate) line: Site,
    pub(crate) opened: Site,
}

/// Two writes of which one is lost; or, without `later`, a write that is read before it is flushed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Clash {
    /// The element's place in the block.
    pub(crate) place: usize,
    pub(crate) earlier: Write,
    pub(crate) later: Option<Write>,
}

/// A rank and the number of its line: 8 bytes, also as an `Option`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Mark {
    rank: u32,
    line: LineNumber,
}

/// Of a line in [`Checker::lines`], counted from 1.
type LineNumber = NonZeroU32;

/// Who has written an element in a collective scope. Updates of two ranks suffice: any rank differs from one of them.
#[derive(Clone, Copy, Default, Debug)]
struct Writers {
    put: Option<Mark>,
    updates: [Option<Mark>; 2],
}

impl Writers {
    /// Notes a write; returns another that it clashes with.
    fn note(&mut self, kind: WriteKind, mark: Mark) -> Option<(WriteKind, Mark)> {
        let is_other = |other: &Mark| other.rank != mark.rank;
        let put = self.put.filter(is_other).map(|other| (WriteKind::Put, other));
        match kind {
            WriteKind::Put => {
                let update =
                    || self.updates.into_iter().flatten().find(is_other).map(|other| (WriteKind::Update, other));
                let clash = put.or_else(update);
                self.put = self.put.or(Some(mark));
                clash
            }
            WriteKind::Update => {
                match self.updates {
                    [None, _] => self.updates[0] = Some(mark),
                    [Some(first), None] if is_other(&first) => self.updates[1] = Some(mark),
                    _ => {}
                }
                put
            }
        }
    }

    fn of_another(&self, reader: u32) -> Option<(WriteKind, Mark)> {
        let put = self.put.map(|mark| (WriteKind::Put, mark));
        let all = put.into_iter().chain(self.updates.into_iter().flatten().map(|mark| (WriteKind::Update, mark)));
        all.into_iter().find(|(_, mark)| mark.rank != reader)
    }
}

/// All that an owner knows of writes to one block.
#[derive(Default, Debug)]
pub(crate) struct Checker {
    /// Lines by their numbers.
    lines: Vec<Site>,
    numbers: BTreeMap<Site, LineNumber>,
    /// The collective scopes that are not settled: several if they are of different parts.
    scopes: BTreeMap<Epoch, Collective>,
    /// What each rank has announced in a ReleaseC alone; it may have one open for each part.
    alone: BTreeMap<(Rank, Window), Alone>,
}

#[derive(Default, Debug)]
struct Collective {
    /// Where each rank has opened it.
    opened: BTreeMap<u32, LineNumber>,
    writers: HashMap<usize, Writers>,
}

#[derive(Debug)]
struct Alone {
    opened: LineNumber,
    writes: HashMap<usize, (WriteKind, Mark)>,
}

impl Checker {
    /// Notes the writes of a batch, until one clashes; in this collective scope `from` has opened a ReleaseC at
    /// `opened`. An error if there is no memory for the notes.
    pub(crate) fn applied(
        &mut self,
        epoch: Epoch,
        (from, opened): (Rank, &Site),
        kind: WriteKind,
        batch: &Batch<'_>,
    ) -> Result<Option<Clash>, Shortage> {
        let mut scope = self.scopes.remove(&epoch).unwrap_or_default();
        let clash = self.note(&mut scope, (from, opened), kind, batch);
        self.scopes.insert(epoch, scope);
        clash
    }

    fn note(
        &mut self,
        scope: &mut Collective,
        (from, opened): (Rank, &Site),
        kind: WriteKind,
        batch: &Batch<'_>,
    ) -> Result<Option<Clash>, Shortage> {
        make_room(&mut scope.writers, batch.len())?;
        let lines = Lines::decode(batch.lines());
        let (rank, opened) = (from.index() as u32, self.number(opened));
        scope.opened.insert(rank, opened);
        let mut of_values = lines.of_values();
        for (run, _) in batch.runs(0) {
            for place in run {
                let line = of_values.next().flatten().map_or(opened, |line| self.number(line));
                let mark = Mark { rank, line };
                if let Some(earlier) = scope.writers.entry(place).or_default().note(kind, mark) {
                    let later = Some(self.together(scope, (kind, mark)));
                    return Ok(Some(Clash { place, earlier: self.together(scope, earlier), later }));
                }
            }
        }
        Ok(None)
    }

    pub(crate) fn settled(&mut self, epoch: Epoch) {
        self.scopes.remove(&epoch);
    }

    /// Notes a run that a rank has written, in the ReleaseC alone of a part; `write`: its line, and where the scope
    /// was opened. An error if there is no memory for the notes.
    pub(crate) fn announced(
        &mut self,
        from: (Rank, Window),
        kind: WriteKind,
        run: Range<usize>,
        write: [&Site; 2],
    ) -> Result<(), Shortage> {
        let [line, opened] = write.map(|site| self.number(site));
        let mark = Mark { rank: from.0.index() as u32, line };
        let alone = self.alone.entry(from).or_insert_with(|| Alone { opened, writes: HashMap::new() });
        make_room(&mut alone.writes, run.len())?;
        alone.writes.extend(run.map(|place| (place, (kind, mark))));
        Ok(())
    }

    /// That scope has ended; its writes are applied.
    pub(crate) fn flushed(&mut self, from: Rank, window: Window) {
        self.alone.remove(&(from, window));
    }

    /// The first of these places that a rank other than `reader` has written and not flushed.
    pub(crate) fn unflushed(&self, reader: Rank, mut places: impl Iterator<Item = usize>) -> Option<Clash> {
        let others = || self.alone.iter().filter(|((rank, _), _)| *rank != reader);
        if self.scopes.is_empty() && others().next().is_none() {
            return None;
        }
        places.find_map(|place| {
            let together = self.scopes.values().find_map(|scope| {
                let write = scope.writers.get(&place)?.of_another(reader.index() as u32)?;
                Some(self.together(scope, write))
            });
            let earlier = together.or_else(|| {
                let mut alone = others();
                alone.find_map(|(_, alone)| Some(self.write(*alone.writes.get(&place)?, true, alone.opened)))
            })?;
            Some(Clash { place, earlier, later: None })
        })
    }

    fn number(&mut self, line: &Site) -> LineNumber {
        if let Some(number) = self.numbers.get(line) {
            return *number;
        }
        self.lines.push(line.clone());
        let number = u32::try_from(self.lines.len()).ok().and_then(NonZeroU32::new).expect("a program has fewer lines");
        self.numbers.insert(line.clone(), number);
        number
    }

    /// A write in a collective scope.
    fn together(&self, scope: &Collective, (kind, mark): (WriteKind, Mark)) -> Write {
        self.write((kind, mark), false, scope.opened.get(&mark.rank).copied().unwrap_or(mark.line))
    }

    fn write(&self, (kind, mark): (WriteKind, Mark), alone: bool, opened: LineNumber) -> Write {
        let line = |number: LineNumber| self.lines[number.get() as usize - 1].clone();
        Write { rank: Rank::new(mark.rank as usize), kind, alone, line: line(mark.line), opened: line(opened) }
    }
}

/// Grows a table for `more` entries, if there is memory for that.
fn make_room<V>(table: &mut HashMap<usize, V>, more: usize) -> Result<(), Shortage> {
    if table.capacity() - table.len() < more {
        // The new table has a power of two of entries, an eighth of them free; the old one stays beside it until then.
        let entries = ((table.len() + more) * 8 / 7).next_power_of_two();
        promise(entries * (size_of::<(usize, V)>() + 1))?;
        table.reserve(more);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::batch::BatchBuilder;
    use aurora_net::Buffer;

    /// A batch of single writes, each at its own line.
    fn batch(places: &[usize], line: &Site) -> Buffer {
        let mut batch = BatchBuilder::<u16>::new(100).with_lines();
        batch.open(Buffer::own(vec![0; batch.wanted()]));
        for place in places {
            batch.push(*place, 7);
            batch.note(1, line);
        }
        batch.take()
    }

    /// What comes of the writes of some ranks in one scope: the place, and the two ranks.
    fn clash(writes: &[(usize, WriteKind, &[usize])]) -> Option<(usize, usize, usize)> {
        let (mut checker, opened) = (Checker::default(), Site::here());
        writes.iter().find_map(|(rank, kind, places)| {
            let (line, rank) = (Site::here(), Rank::new(*rank));
            let bytes = batch(places, &line);
            let batch = Batch::parse(&bytes, 2, 100).expect("it fits");
            let clash = checker.applied(1, (rank, &opened), *kind, &batch).expect("there is memory")?;
            let later = clash.later.expect("a write");
            assert_eq!((&later.line, &later.opened, later.rank), (&line, &opened, rank));
            Some((clash.place, clash.earlier.rank.index(), later.rank.index()))
        })
    }

    #[test]
    fn an_element_takes_as_much_memory_as_is_said() {
        // And a byte more, in tables that are at least half and at most seven eighths full.
        assert_eq!(size_of::<(usize, Writers)>(), 32);
    }

    #[test]
    fn puts_of_two_ranks_clash_and_those_of_one_do_not() {
        use WriteKind::{Put, Update};
        assert_eq!(clash(&[(0, Put, &[1, 2, 3]), (0, Put, &[2]), (1, Put, &[4, 5])]), None);
        assert_eq!(clash(&[(0, Put, &[1, 2, 3]), (1, Put, &[4, 3])]), Some((3, 0, 1)));
        assert_eq!(clash(&[(0, Update, &[1]), (1, Update, &[1]), (2, Update, &[1])]), None);
        assert_eq!(clash(&[(0, Update, &[1]), (1, Put, &[1])]), Some((1, 0, 1)));
        assert_eq!(clash(&[(0, Put, &[1]), (1, Update, &[1])]), Some((1, 0, 1)));
        // A rank orders its own writes; another's update is not lost behind them.
        assert_eq!(clash(&[(0, Put, &[1]), (0, Update, &[1]), (0, Put, &[1])]), None);
        assert_eq!(clash(&[(0, Update, &[1]), (1, Update, &[1]), (0, Put, &[1])]), Some((1, 1, 0)));
    }

    #[test]
    fn a_scope_that_is_settled_is_forgotten() {
        let (mut checker, line) = (Checker::default(), Site::here());
        let bytes = batch(&[1, 2], &line);
        let batch = Batch::parse(&bytes, 2, 100).expect("it fits");
        let mut wrote = |epoch, rank| {
            let clash = checker.applied(epoch, (Rank::new(rank), &line), WriteKind::Put, &batch);
            clash.expect("there is memory").is_some()
        };
        assert!(!wrote(1, 0) && !wrote(2, 1) && wrote(2, 0));
        checker.settled(2);
        assert!(checker.unflushed(Rank::new(2), 0..3).is_some());
        checker.settled(1);
        assert_eq!((checker.unflushed(Rank::new(2), 0..3), checker.scopes.len()), (None, 0));
    }

    #[test]
    fn what_is_announced_is_not_for_others_to_read_until_it_is_flushed() {
        let (mut checker, line, opened) = (Checker::default(), Site::here(), Site::here());
        let [me, other] = [0, 1].map(Rank::new);
        checker.announced((me, Window::WHOLE), WriteKind::Put, 3..5, [&line, &opened]).expect("there is memory");
        assert_eq!(checker.unflushed(me, 0..10), None);
        assert_eq!(checker.unflushed(other, [0, 1, 2, 5].into_iter()), None);
        let clash = checker.unflushed(other, 0..10).expect("it is not flushed");
        assert_eq!(
            (clash.place, clash.earlier),
            (3, Write { rank: me, kind: WriteKind::Put, alone: true, line, opened })
        );
        checker.flushed(me, Window::WHOLE);
        assert_eq!(checker.unflushed(other, 0..10), None);
    }
}
