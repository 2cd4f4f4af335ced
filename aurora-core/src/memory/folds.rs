//! The use of a rank's partial copy in shared memory: by its own rank, or by the owners that fold it into their blocks.
//!
//! The rank writes the copy while no owner has to fold it. Then it *publishes* the copy to a number of owners, and
//! sends each a message. An owner reads the copy after that message and notes its fold. The last of these notes gives
//! the copy back. So the two never race; in `model` below, loom tries all interleavings. If an owner never folds,
//! because the object is faulty, the copy is not used again.

use super::gate::Word;
use std::sync::atomic::Ordering;

/// The number of owners that have to fold the copy.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(super) struct Unfolded<W>(W);

impl<W: Word> Unfolded<W> {
    /// True if the copy is its rank's: the reads of all owners come before.
    pub(super) fn is_free(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }

    /// The copy is final. Called by its rank while it is free, before the messages to the owners.
    pub(super) fn publish(&self, owners: usize) {
        self.0.store(owners as u64, Ordering::Release);
    }

    /// An owner has folded the copy and does not read it again.
    pub(super) fn note_fold(&self) {
        self.0.add(1u64.wrapping_neg(), Ordering::Release);
    }
}

#[cfg(test)]
mod model {
    use super::super::model::{Modelled, Plain, beside};
    use super::*;
    use loom::sync::Arc;

    struct Shared {
        unfolded: Unfolded<Modelled>,
        copy: Plain,
        messages: [Modelled; 2],
    }

    /// A rank writes its copy, publishes it, and writes it once more as soon as it may. Two owners fold it when they
    /// have the message.
    fn two_scopes(is_free: fn(&Shared) -> bool, note_fold: fn(&Shared)) {
        loom::model(move || {
            let messages = [Modelled::new(0), Modelled::new(0)];
            let shared = Arc::new(Shared { unfolded: Unfolded(Modelled::new(0)), copy: Plain::new(0), messages });
            let owner = |number: usize| {
                beside(&shared, move |shared| {
                    if shared.messages[number].load(Ordering::Acquire) == 1 {
                        assert_eq!(shared.copy.read(), 1);
                        note_fold(shared);
                    }
                })
            };
            let owners = [owner(0), owner(1)];
            assert!(shared.unfolded.is_free());
            shared.copy.write(1);
            shared.unfolded.publish(2);
            shared.messages.iter().for_each(|message| message.store(1, Ordering::Release));
            if is_free(&shared) {
                shared.copy.write(2);
            }
            owners.into_iter().for_each(|owner| owner.join().unwrap());
        });
    }

    #[test]
    fn nobody_writes_what_an_owner_folds() {
        two_scopes(|shared| shared.unfolded.is_free(), |shared| shared.unfolded.note_fold());
    }

    #[test]
    #[should_panic]
    fn a_rank_that_waits_for_one_owner_only_is_found_out() {
        two_scopes(|shared| shared.unfolded.0.load(Ordering::Acquire) < 2, |shared| shared.unfolded.note_fold());
    }

    #[test]
    #[should_panic]
    fn a_relaxed_note_is_found_out() {
        two_scopes(
            |shared| shared.unfolded.is_free(),
            |shared| shared.unfolded.0.add(1u64.wrapping_neg(), Ordering::Relaxed),
        );
    }

    #[test]
    #[should_panic]
    fn a_relaxed_look_is_found_out() {
        two_scopes(|shared| shared.unfolded.0.load(Ordering::Relaxed) == 0, |shared| shared.unfolded.note_fold());
    }
}
