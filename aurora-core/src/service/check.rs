//! Checking mode: who has written which element of a block, kept by its owner, so that two ranks that write one element in
//! the same ReleaseC are found, and a rank that reads what another has not flushed.
//!
//! *Writes of a collective scope* are noted as their batches are applied, each with the line that a batch carries for it, and
//! forgotten when the scope is settled. A put of one rank and a put or an update of another clash; updates do not, for
//! they are by the one operation of the scope, which commutes. *Writes of a ReleaseC alone* wait in its rank's buffers,
//! so that rank announces each to the owner as it is made, and waits until it is noted; they are forgotten when that scope
//! has ended.
//!
//! What it costs, at the owner: 40 to 80 bytes for each element that is written, until the scope is over, and a look at a hash
//! table for each element written or read. Large tables are made only where there is memory for them. Without checking mode
//! there is none of this. Pure: no messages.

use super::batch::Batch;
use crate::Site;
use crate::element::OpId;
use crate::memory::{Shortage, promise};
use crate::message::Epoch;
use aurora_net::Rank;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// The lines of the writes in a batch: they travel behind its places.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Lines {
    sites: Vec<Site>,
    /// For so many values the line of this number.
    runs: Vec<(u32, u32)>,
}

impl Lines {
    /// The next values were written at this line.
    pub(crate) fn note(&mut self, values: usize, line: &Site) {
        let line = line.clone().clipped();
        let number = self.sites.iter().rposition(|site| *site == line).unwrap_or_else(|| {
            self.sites.push(line);
            self.sites.len() - 1
        }) as u32;
        match self.runs.last_mut() {
            Some((len, last)) if *last == number => *len += values as u32,
            _ => self.runs.push((values as u32, number)),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.sites.clear();
        self.runs.clear();
    }

    /// The bytes, as they travel.
    pub(crate) fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("lines are plain data")
    }

    /// Those of a batch; none where its sender does not check.
    pub(crate) fn decode(bytes: &[u8]) -> Self {
        postcard::from_bytes(bytes).unwrap_or_default()
    }

    /// The line of each value, in order; `None` for those of which it is not known.
    fn of_values(&self) -> impl Iterator<Item = Option<&Site>> {
        let known = self.runs.iter();
        known
            .flat_map(|(len, line)| std::iter::repeat_n(self.sites.get(*line as usize), *len as usize))
            .chain(std::iter::repeat(None))
    }
}

/// What a rank has done to an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Deed {
    Put,
    Update,
}

impl Deed {
    /// What a write with this operation is.
    pub(crate) fn of(op: Option<OpId>) -> Self {
        if op.is_some() { Deed::Update } else { Deed::Put }
    }
}

/// A write: by whom, what, at which line, in the scope that was opened at which.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Write {
    pub(crate) rank: Rank,
    pub(crate) deed: Deed,
    /// In a ReleaseC alone.
    pub(crate) alone: bool,
    pub(crate) line: Site,
    pub(crate) opened: Site,
}

/// Two writes of which one is in vain, or a write and somebody who reads before it is flushed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Clash {
    /// The element's place in the block.
    pub(crate) place: usize,
    pub(crate) earlier: Write,
    pub(crate) later: Option<Write>,
}

/// A rank and the numbers of its lines: 12 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Mark {
    rank: u32,
    line: u32,
    opened: u32,
}

/// Who has written an element in a collective scope. Two updates of different ranks say of all that there were others.
#[derive(Clone, Copy, Default, Debug)]
struct Writers {
    put: Option<Mark>,
    updates: [Option<Mark>; 2],
}

impl Writers {
    /// Notes a write. What it clashes with comes back.
    fn note(&mut self, deed: Deed, mark: Mark) -> Option<(Deed, Mark)> {
        let is_other = |other: &Mark| other.rank != mark.rank;
        let put = self.put.filter(is_other).map(|other| (Deed::Put, other));
        match deed {
            Deed::Put => {
                let update = || self.updates.into_iter().flatten().find(is_other).map(|other| (Deed::Update, other));
                let clash = put.or_else(update);
                self.put = self.put.or(Some(mark));
                clash
            }
            Deed::Update => {
                match self.updates {
                    [None, _] => self.updates[0] = Some(mark),
                    [Some(first), None] if is_other(&first) => self.updates[1] = Some(mark),
                    _ => {}
                }
                put
            }
        }
    }

    /// A write of another rank.
    fn of_another(&self, reader: u32) -> Option<(Deed, Mark)> {
        let put = self.put.map(|mark| (Deed::Put, mark));
        let all = put.into_iter().chain(self.updates.into_iter().flatten().map(|mark| (Deed::Update, mark)));
        all.into_iter().find(|(_, mark)| mark.rank != reader)
    }
}

/// All that an owner knows of writes to one block.
#[derive(Default, Debug)]
pub(crate) struct Checker {
    /// Lines, by the numbers that stand for them.
    lines: Vec<Site>,
    numbers: BTreeMap<Site, u32>,
    /// The collective scope whose batches are being applied.
    epoch: Epoch,
    writers: HashMap<usize, Writers>,
    /// What each rank has announced in its ReleaseC alone.
    alone: BTreeMap<Rank, HashMap<usize, (Deed, Mark)>>,
}

impl Checker {
    /// A batch of a collective scope, in which `from` has opened a ReleaseC at `opened`, is applied: notes its writes, until one of them
    /// clashes.
    ///
    /// # Errors
    /// There is no memory for it.
    pub(crate) fn applied(
        &mut self,
        epoch: Epoch,
        (from, opened): (Rank, &Site),
        deed: Deed,
        batch: &Batch<'_>,
    ) -> Result<Option<Clash>, Shortage> {
        if self.epoch != epoch {
            self.settled();
            self.epoch = epoch;
        }
        make_room(&mut self.writers, batch.len())?;
        let lines = Lines::decode(batch.lines());
        let opened = self.number(opened);
        let mut of_values = lines.of_values();
        for (run, _) in batch.runs(0) {
            for place in run {
                let line = of_values.next().flatten().map_or(opened, |line| self.number(line));
                let mark = Mark { rank: from.index() as u32, line, opened };
                if let Some(earlier) = self.writers.entry(place).or_default().note(deed, mark) {
                    let later = Some(self.write((deed, mark), false));
                    return Ok(Some(Clash { place, earlier: self.write(earlier, false), later }));
                }
            }
        }
        Ok(None)
    }

    /// The scope is settled.
    pub(crate) fn settled(&mut self) {
        self.writers = HashMap::new();
    }

    /// A rank has written a run, in the ReleaseC alone that it opened at `opened`; its owner will have the values later.
    ///
    /// # Errors
    /// As [`applied`](Self::applied).
    pub(crate) fn announced(
        &mut self,
        from: Rank,
        deed: Deed,
        run: Range<usize>,
        write: [&Site; 2],
    ) -> Result<(), Shortage> {
        let [line, opened] = write.map(|site| self.number(site));
        let mark = Mark { rank: from.index() as u32, line, opened };
        let places = self.alone.entry(from).or_default();
        make_room(places, run.len())?;
        places.extend(run.map(|place| (place, (deed, mark))));
        Ok(())
    }

    /// That scope has ended, and its writes are applied.
    pub(crate) fn flushed(&mut self, from: Rank) {
        self.alone.remove(&from);
    }

    /// An element, of those that `reader` reads, that another rank has written and not flushed.
    pub(crate) fn unflushed(&self, reader: Rank, mut places: impl Iterator<Item = usize>) -> Option<Clash> {
        let others = || self.alone.iter().filter(|(rank, _)| **rank != reader);
        if self.writers.is_empty() && others().next().is_none() {
            return None;
        }
        places.find_map(|place| {
            let together = self.writers.get(&place).and_then(|writers| writers.of_another(reader.index() as u32));
            let alone = || others().find_map(|(_, writes)| writes.get(&place)).copied();
            let earlier = match together {
                Some(write) => self.write(write, false),
                None => self.write(alone()?, true),
            };
            Some(Clash { place, earlier, later: None })
        })
    }

    fn number(&mut self, line: &Site) -> u32 {
        if let Some(number) = self.numbers.get(line) {
            return *number;
        }
        let number = self.lines.len() as u32;
        self.lines.push(line.clone());
        self.numbers.insert(line.clone(), number);
        number
    }

    fn write(&self, (deed, mark): (Deed, Mark), alone: bool) -> Write {
        let line = |number: u32| self.lines[number as usize].clone();
        Write { rank: Rank::new(mark.rank as usize), deed, alone, line: line(mark.line), opened: line(mark.opened) }
    }
}

/// Grows a table for so many entries more, if there is memory for that.
fn make_room<V>(table: &mut HashMap<usize, V>, more: usize) -> Result<(), Shortage> {
    if table.capacity() - table.len() < more {
        // It grows to the next power of two of which an eighth is left free, beside the old one.
        let entries = ((table.len() + more) * 8 / 7).next_power_of_two();
        promise(entries * (size_of::<(usize, V)>() + 1))?;
        table.reserve(more);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::batch::BatchBuilder;
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
    fn clash(writes: &[(usize, Deed, &[usize])]) -> Option<(usize, usize, usize)> {
        let (mut checker, opened) = (Checker::default(), Site::here());
        writes.iter().find_map(|(rank, deed, places)| {
            let (line, rank) = (Site::here(), Rank::new(*rank));
            let bytes = batch(places, &line);
            let batch = Batch::parse(&bytes, 2, 100).expect("it fits");
            let clash = checker.applied(1, (rank, &opened), *deed, &batch).expect("there is memory")?;
            let later = clash.later.expect("a write");
            assert_eq!((&later.line, &later.opened, later.rank), (&line, &opened, rank));
            Some((clash.place, clash.earlier.rank.index(), later.rank.index()))
        })
    }

    #[test]
    fn puts_of_two_ranks_clash_and_those_of_one_do_not() {
        use Deed::{Put, Update};
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
            let clash = checker.applied(epoch, (Rank::new(rank), &line), Deed::Put, &batch);
            clash.expect("there is memory").is_some()
        };
        assert!(!wrote(1, 0) && !wrote(2, 1) && wrote(2, 0));
        assert!(checker.unflushed(Rank::new(2), 0..3).is_some());
        checker.settled();
        assert_eq!((checker.unflushed(Rank::new(2), 0..3), checker.writers.capacity()), (None, 0));
    }

    #[test]
    fn what_is_announced_is_not_for_others_to_read_until_it_is_flushed() {
        let (mut checker, line, opened) = (Checker::default(), Site::here(), Site::here());
        let [me, other] = [0, 1].map(Rank::new);
        checker.announced(me, Deed::Put, 3..5, [&line, &opened]).expect("there is memory");
        assert_eq!(checker.unflushed(me, 0..10), None);
        assert_eq!(checker.unflushed(other, [0, 1, 2, 5].into_iter()), None);
        let clash = checker.unflushed(other, 0..10).expect("it is not flushed");
        assert_eq!((clash.place, clash.earlier), (3, Write { rank: me, deed: Deed::Put, alone: true, line, opened }));
        checker.flushed(me);
        assert_eq!(checker.unflushed(other, 0..10), None);
    }

    #[test]
    fn lines_survive_the_wire() {
        let (a, b) = (Site::here(), Site::here());
        let mut lines = Lines::default();
        [(2, &a), (1, &a), (1, &b), (1, &a)].into_iter().for_each(|(values, line)| lines.note(values, line));
        assert_eq!(lines.runs, [(3, 0), (1, 1), (1, 0)]);
        let lines = Lines::decode(&lines.encode());
        let of_values: Vec<_> = lines.of_values().take(6).collect();
        assert_eq!(of_values, [Some(&a), Some(&a), Some(&a), Some(&b), Some(&a), None]);
        assert!(Lines::decode(&[7; 3]).of_values().next() == Some(None));
    }
}
