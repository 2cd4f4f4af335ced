//! Payloads in memory of the object's own.

use super::*;
use aurora_core::object::{Loan, Place};
use serde::{Deserialize, Serialize};

/// Memory of its own: received bytes are at their place, and lent bytes are read again.
struct Memory {
    bytes: Vec<u8>,
    arrived: bool,
    released: bool,
}

#[derive(Serialize, Deserialize)]
enum About {
    Placed,
    Discarded,
    Stale,
}

const MINE: u64 = 3;

impl SharedObject for Memory {
    fn place(&mut self, _: Rank, header: &[u8], len: usize, _: &Cx<'_>) -> Place {
        match decode(header) {
            Ok(About::Placed) if len == self.bytes.len() => Place::At(Loan::new(MINE)),
            Ok(About::Stale) => Place::At(Loan::new(MINE + 1)),
            _ => Place::Discard,
        }
    }

    fn write(&mut self, loan: Loan, offset: usize, bytes: &[u8]) {
        if loan == Loan::new(MINE) {
            self.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
        }
    }

    fn read(&mut self, loan: Loan, offset: usize, into: &mut [u8]) -> bool {
        let bytes = self.bytes.get(offset..offset + into.len()).filter(|_| loan == Loan::new(MINE));
        bytes.map(|bytes| into.copy_from_slice(bytes)).is_some()
    }

    fn released(&mut self, loan: Loan, cx: &mut Cx<'_>) {
        self.released |= loan == Loan::new(MINE);
        cx.progress();
    }

    fn deliver(&mut self, _: Rank, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Read<()> {
        let Received::Placed(token) = payload else {
            return Err(Malformed);
        };
        if let About::Placed = decode(header)? {
            assert_eq!(Loan::of(token), Loan::new(MINE));
            self.arrived = true;
        }
        cx.progress();
        Ok(())
    }

    fn awaits(&self, _: Wait, name: &ObjectName) -> Awaited {
        Awaited { ranks: Vec::new(), doing: format!("waits for bytes of {name}") }
    }
}

#[test]
fn payloads_go_where_they_are_placed() {
    const LEN: usize = 300_000;
    on_all_routes(2, |world| {
        let mine = world.rank().index() as u8 + 1;
        let memory = Memory { bytes: vec![mine; LEN], arrived: false, released: false };
        let memory = world.share(Plan::new("Memory", &3), |_| Ok(memory))?;
        if world.is_root() {
            memory.act(|_, cx| {
                for about in [About::Discarded, About::Stale, About::Placed] {
                    let payload = cx.lent(Loan::new(MINE), LEN);
                    cx.send(Rank::new(1), &about, payload, How::default());
                }
                // An unknown loan is given up, and its received bytes are never delivered.
                let payload = cx.lent(Loan::new(MINE + 9), LEN);
                cx.send(Rank::new(1), &About::Placed, payload, How::default());
                Ok(())
            })?;
            memory.wait(ONE, |memory, _| memory.released.then_some(Ok(())))?;
        } else {
            memory.wait(ONE, |memory, _| memory.arrived.then_some(Ok(())))?;
            memory.act(|memory, _| {
                assert!(memory.bytes.iter().all(|byte| *byte == 1));
                Ok(())
            })?;
        }
        world.barrier()
    });
}
