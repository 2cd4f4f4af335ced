//! Memory that the data of other ranks fills: taken in advance, or while it is filled.

use super::{Array, Fresh, Meter, Shortage, Storage};
use std::sync::Arc;

/// Promised memory with a meter. Bytes for which there is no memory are not written; the shortage is kept.
pub(crate) struct Metered {
    storage: Arc<dyn Storage>,
    meter: Meter,
    short: Option<Shortage>,
}

impl Metered {
    pub(crate) fn new(bytes: usize, promised: Fresh) -> Self {
        match promised {
            Ok(storage) => Metered { storage, meter: Meter::new(bytes), short: None },
            Err(shortage) => {
                Metered { storage: Arc::new(Array::<u8>::default()), meter: Meter::new(0), short: Some(shortage) }
            }
        }
    }

    pub(crate) fn short(&self) -> Option<&Shortage> {
        self.short.as_ref()
    }

    /// The number of its bytes, and of those that have not been taken.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.storage.byte_len(), self.meter.untouched())
    }

    /// Takes about `most` bytes before they are written; false once all are taken.
    pub(crate) fn take(&mut self, most: usize) -> Result<bool, Shortage> {
        if let Some(shortage) = &self.short {
            return Err(shortage.clone());
        }
        let Some(bytes) = self.meter.next(most)? else {
            return Ok(false);
        };
        if let Some(storage) = Arc::get_mut(&mut self.storage) {
            storage.take(bytes)?;
        }
        Ok(true)
    }

    /// Writes bytes from `at` on. Does nothing while a guard shows the memory, or if it is `short`.
    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) {
        let range = at..at + bytes.len();
        if self.short.is_none() {
            self.short = self.meter.touch(range.clone()).err();
        }
        if let Some(place) = self.bytes_mut().and_then(|all| all.get_mut(range)) {
            place.copy_from_slice(bytes);
        }
    }

    /// All bytes, unless a guard shows them or the memory is [`short`](Metered::short).
    pub(crate) fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        let storage = Arc::get_mut(&mut self.storage).filter(|_| self.short.is_none());
        storage.map(Storage::bytes_mut)
    }

    pub(crate) fn share(&self) -> Arc<dyn Storage> {
        self.storage.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::MemoryLimit;

    fn metered(len: usize) -> Metered {
        let promised = Array::<u8>::promised(len).map(|array| Arc::new(array) as Arc<dyn Storage>);
        Metered::new(len, promised)
    }

    #[test]
    fn what_is_shown_is_not_written() {
        let mut memory = metered(4);
        memory.write(1, &[1, 2]);
        let shown = memory.share();
        memory.write(0, &[9; 4]);
        assert!(memory.bytes_mut().is_none());
        assert_eq!(shown.bytes(), [0, 1, 2, 0]);
        drop(shown);
        memory.write(2, &[3, 4]);
        memory.write(3, &[9, 9]);
        assert_eq!(memory.share().bytes(), [0, 1, 3, 4]);
    }

    #[test]
    fn all_of_it_is_taken_in_steps() {
        let mut memory = metered(5 << 20);
        let mut steps = 0;
        while memory.take(1 << 20).expect("there is memory") {
            steps += 1;
        }
        assert!((5..=20).contains(&steps), "{steps}");
        assert!(!metered(100).take(1).expect("too little to look at"));
    }

    #[test]
    fn a_shortage_is_kept() {
        let shortage = Shortage { asked: 8, together: 8, available: 1, limit: MemoryLimit::Machine };
        let mut memory = Metered::new(8, Err(shortage.clone()));
        memory.write(0, &[1]);
        assert_eq!(memory.short(), Some(&shortage));
        assert_eq!(memory.take(8), Err(shortage));
    }
}
