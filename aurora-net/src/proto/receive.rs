//! Incoming transfers.

use super::assembler::{Assembler, Finished, Progress};
use super::range_set::RangeSet;
use super::{Config, Event, Payloads};
use crate::charge::charge;
use crate::wire::DatagramError;
use crate::{Placement, Rank, Received};
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};

/// The overhead of an early piece in bytes.
const EARLY_OVERHEAD: u64 = 64;

#[derive(Debug)]
enum Incoming {
    /// Pieces that have arrived before the header.
    Early(Vec<(u64, Vec<u8>)>),
    Open(Assembler),
}

/// The memory of incomplete transfers in bytes, without placed payloads and fixed parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Held {
    pub(crate) early: u64,
    pub(crate) buffered: u64,
    pub(crate) transfers: usize,
}

/// All incomplete transfers, and the numbers of the delivered ones. The limits follow from the granted window: a sender
/// that keeps to the window never reaches them.
#[derive(Debug)]
pub(super) struct ReceiveState {
    peer: Rank,
    window: u64,
    /// The limit for incomplete transfers, for pieces of one transfer, and for gaps between delivered transfers.
    most: usize,
    incoming: BTreeMap<u64, Incoming>,
    finished: RangeSet,
    /// Memory of early pieces, with overhead.
    early: u64,
    reserved: u64,
    gaps: u64,
    pub(super) events: VecDeque<Event>,
    pub(super) transfers: u64,
    pub(super) bytes: u64,
}

impl ReceiveState {
    pub(super) fn new(config: &Config) -> Self {
        let window = config.window.max(2 * charge(config.mtu) as u64);
        ReceiveState {
            peer: config.peer,
            window,
            most: 256 + 2 * (window / charge(0) as u64) as usize,
            incoming: BTreeMap::new(),
            finished: RangeSet::default(),
            early: 0,
            reserved: 0,
            gaps: 0,
            events: VecDeque::new(),
            transfers: 0,
            bytes: 0,
        }
    }

    pub(super) fn open(
        &mut self,
        number: u64,
        header: &[u8],
        total: u64,
        bytes: &[u8],
        io: &mut impl Payloads,
    ) -> Result<Progress, DatagramError> {
        if self.is_finished(number) {
            return Ok(Progress::Redundant);
        }
        let early = match self.incoming.get(&number) {
            Some(Incoming::Open(_)) => return self.write(number, 0, bytes, io),
            Some(Incoming::Early(_)) => true,
            None => false,
        };
        self.admit(number, early)?;
        if !early && bytes.len() as u64 == total {
            self.deliver_whole(number, header, bytes, io);
            return Ok(Progress::Complete);
        }
        let budget = (4 * self.window).saturating_sub(self.reserved);
        let reserve = budget.min(self.window);
        let assembler = Assembler::new(self.peer, header, total, reserve, io);
        self.reserved += assembler.reserved();
        let before = self.incoming.insert(number, Incoming::Open(assembler));
        let mut progress = self.write(number, 0, bytes, io);
        if let Some(Incoming::Early(pieces)) = before {
            for (offset, piece) in pieces {
                self.early -= piece.len() as u64 + EARLY_OVERHEAD;
                // Early pieces that do not fit the transfer are ignored.
                if progress != Ok(Progress::Complete)
                    && self.write(number, offset, &piece, io) == Ok(Progress::Complete)
                {
                    progress = Ok(Progress::Complete);
                }
            }
        }
        match progress? {
            // At least the header was new.
            Progress::Redundant => Ok(Progress::New),
            progress => Ok(progress),
        }
    }

    pub(super) fn data(
        &mut self,
        number: u64,
        offset: u64,
        bytes: &[u8],
        io: &mut impl Payloads,
    ) -> Result<Progress, DatagramError> {
        match self.incoming.get(&number) {
            Some(Incoming::Open(_)) => self.write(number, offset, bytes, io),
            _ if self.is_finished(number) => Ok(Progress::Redundant),
            _ => self.keep(number, offset, bytes),
        }
    }

    /// The sender has abandoned the transfer.
    pub(super) fn reset(&mut self, number: u64) -> Result<Progress, DatagramError> {
        if self.is_finished(number) {
            return Ok(Progress::Redundant);
        }
        self.admit(number, true)?;
        match self.incoming.remove(&number) {
            Some(Incoming::Early(pieces)) => {
                self.early -= pieces.iter().map(|(_, piece)| piece.len() as u64 + EARLY_OVERHEAD).sum::<u64>();
            }
            Some(Incoming::Open(assembler)) => {
                self.reserved -= assembler.reserved();
                self.gaps -= assembler.gaps();
            }
            None => {}
        }
        self.finished.insert(number..number + 1, |_| ());
        Ok(Progress::New)
    }

    pub(super) fn clear(&mut self) {
        self.incoming.clear();
        self.early = 0;
        self.reserved = 0;
        self.gaps = 0;
    }

    /// The memory held, counted from scratch.
    pub(super) fn held(&self) -> Held {
        let mut held = Held { transfers: self.incoming.len(), ..Held::default() };
        for incoming in self.incoming.values() {
            match incoming {
                Incoming::Early(pieces) => {
                    held.early += pieces.iter().map(|(_, piece)| piece.len() as u64 + EARLY_OVERHEAD).sum::<u64>();
                }
                Incoming::Open(assembler) => held.buffered += assembler.memory(),
            }
        }
        held
    }

    /// Payload bytes of open transfers that have not arrived.
    pub(super) fn missing(&self) -> u64 {
        let open = self.incoming.values().map(|incoming| match incoming {
            Incoming::Open(assembler) => assembler.missing(),
            Incoming::Early(_) => 0,
        });
        open.sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.incoming.is_empty()
    }

    fn is_finished(&self, number: u64) -> bool {
        self.finished.covers(&(number..number + 1))
    }

    /// Checks that another incomplete transfer (unless `known`) and another gap are permitted.
    fn admit(&self, number: u64, known: bool) -> Result<(), DatagramError> {
        let limit = self.most;
        if !known && self.incoming.len() >= limit {
            return Err(DatagramError::Excess { what: "incomplete transfers", limit });
        }
        if self.finished.len() >= limit && self.finished.would_grow(&(number..number + 1)) {
            return Err(DatagramError::Excess { what: "gaps between transfers", limit });
        }
        Ok(())
    }

    fn keep(&mut self, number: u64, offset: u64, bytes: &[u8]) -> Result<Progress, DatagramError> {
        let cost = bytes.len() as u64 + EARLY_OVERHEAD;
        if self.early + cost > 2 * self.window {
            let limit = 2 * self.window as usize;
            return Err(DatagramError::Excess { what: "bytes before their header", limit });
        }
        self.admit(number, self.incoming.contains_key(&number))?;
        let incoming = self.incoming.entry(number).or_insert_with(|| Incoming::Early(Vec::new()));
        if let Incoming::Early(pieces) = incoming {
            self.early += cost;
            pieces.push((offset, bytes.to_vec()));
        }
        Ok(Progress::New)
    }

    fn write(
        &mut self,
        number: u64,
        offset: u64,
        bytes: &[u8],
        io: &mut impl Payloads,
    ) -> Result<Progress, DatagramError> {
        let Some(Incoming::Open(assembler)) = self.incoming.get_mut(&number) else {
            return Ok(Progress::Redundant);
        };
        self.reserved -= assembler.reserved();
        self.gaps -= assembler.gaps();
        let ahead = (4 * self.window).saturating_sub(self.gaps).min(2 * self.window);
        let result = assembler.write(offset, bytes, self.most, ahead, io);
        self.reserved += assembler.reserved();
        self.gaps += assembler.gaps();
        if result == Ok(Progress::Complete)
            && let Some(Incoming::Open(assembler)) = self.incoming.remove(&number)
        {
            self.reserved -= assembler.reserved();
            let Finished { header, payload, size } = assembler.finish();
            self.deliver(number, header, payload, size);
        }
        result
    }

    /// The fast path for a transfer in one packet.
    fn deliver_whole(&mut self, number: u64, header: &[u8], bytes: &[u8], io: &mut impl Payloads) {
        let payload = match bytes.len() {
            0 => Received::Bytes(Vec::new()),
            len => match io.place(self.peer, header, len) {
                Placement::Buffer => Received::Bytes(bytes.to_vec()),
                Placement::At(token) => {
                    io.write(token, 0, bytes);
                    Received::Placed(token)
                }
            },
        };
        let size = (header.len() + bytes.len()) as u64;
        self.deliver(number, Bytes::copy_from_slice(header), payload, size);
    }

    fn deliver(&mut self, number: u64, header: Bytes, payload: Received, size: u64) {
        self.finished.insert(number..number + 1, |_| ());
        self.transfers += 1;
        self.bytes += size;
        self.events.push_back(Event::Delivered { header, payload });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Memory;

    fn state() -> (ReceiveState, Memory) {
        let config = Config::new(0, Rank::new(0), Rank::new(1));
        (ReceiveState::new(&config), Memory::default())
    }

    fn delivered(state: &mut ReceiveState) -> Vec<Vec<u8>> {
        let events = state.events.drain(..).map(|event| match event {
            Event::Delivered { payload: Received::Bytes(bytes), .. } => bytes,
            other => panic!("{other:?}"),
        });
        events.collect()
    }

    #[test]
    fn data_may_overtake_its_header() {
        let (mut state, mut io) = state();
        assert_eq!(state.data(0, 3, b"def", &mut io), Ok(Progress::New));
        assert_eq!(state.data(0, 6, b"g", &mut io), Ok(Progress::New));
        assert_eq!(state.open(0, b"", 7, b"abc", &mut io), Ok(Progress::Complete));
        assert_eq!(delivered(&mut state), [b"abcdefg"]);
        assert_eq!(state.held(), Held::default());
        assert_eq!((state.early, state.reserved), (0, 0));
    }

    #[test]
    fn early_data_that_does_not_fit_is_ignored() {
        let (mut state, mut io) = state();
        assert_eq!(state.data(0, 900, b"beyond", &mut io), Ok(Progress::New));
        assert_eq!(state.open(0, b"", 4, b"ab", &mut io), Ok(Progress::New));
        assert_eq!(state.data(0, 2, b"cd", &mut io), Ok(Progress::Complete));
        assert_eq!(delivered(&mut state), [b"abcd"]);
    }

    #[test]
    fn each_transfer_is_delivered_once() {
        let (mut state, mut io) = state();
        for number in [1, 0, 2] {
            assert_eq!(state.open(number, b"", 2, b"xy", &mut io), Ok(Progress::Complete));
            assert_eq!(state.open(number, b"", 2, b"xy", &mut io), Ok(Progress::Redundant));
            assert_eq!(state.data(number, 0, b"xy", &mut io), Ok(Progress::Redundant));
        }
        assert_eq!(delivered(&mut state).len(), 3);
        assert_eq!(state.finished.len(), 1, "three neighbours are one entry");
    }

    #[test]
    fn a_reset_before_during_and_after() {
        let (mut state, mut io) = state();
        assert_eq!(state.reset(0), Ok(Progress::New));
        assert_eq!(state.open(0, b"", 1, b"x", &mut io), Ok(Progress::Redundant));
        state.open(1, b"", 9, b"x", &mut io).unwrap();
        state.data(2, 5, b"early", &mut io).unwrap();
        for number in [1, 2] {
            assert_eq!(state.reset(number), Ok(Progress::New));
            assert_eq!(state.reset(number), Ok(Progress::Redundant));
        }
        assert_eq!(delivered(&mut state).len(), 0);
        assert_eq!((state.held(), state.early, state.reserved), (Held::default(), 0, 0));
    }
}
