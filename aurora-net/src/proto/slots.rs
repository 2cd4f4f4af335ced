//! Storage of unacknowledged transfers.

use super::outgoing::Outgoing;

/// Transfers by slot. A slot is reused when its transfer is complete.
#[derive(Debug, Default)]
pub(super) struct Slots {
    slots: Vec<Option<Outgoing>>,
    free: Vec<u32>,
}

impl Slots {
    pub(super) fn insert(&mut self, transfer: Outgoing) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(transfer);
                slot
            }
            None => {
                self.slots.push(Some(transfer));
                u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 transfers are queued")
            }
        }
    }

    pub(super) fn remove(&mut self, slot: u32) -> Option<Outgoing> {
        let transfer = self.slots[slot as usize].take()?;
        self.free.push(slot);
        Some(transfer)
    }

    pub(super) fn get(&self, slot: u32) -> Option<&Outgoing> {
        self.slots[slot as usize].as_ref()
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut Outgoing> {
        self.slots[slot as usize].as_mut()
    }

    /// The transfer in `slot`, if it is still number `number`: the slot may have been reused.
    pub(super) fn opened(&mut self, slot: u32, number: u64) -> Option<&mut Outgoing> {
        self.get_mut(slot).filter(|transfer| transfer.number == Some(number))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.len() == self.free.len()
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = Outgoing> {
        self.free.clear();
        self.slots.drain(..).flatten()
    }
}
