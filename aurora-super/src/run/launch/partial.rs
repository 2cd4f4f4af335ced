//! Partial results: their identity, their merges, and the check of the identity.

use super::{Launch, Trouble, names};
use crate::Group;
use crate::run::blocks::short;
use crate::run::operand::{Merging, Value};

impl Launch {
    /// The operation of the update that a group's instructions do.
    fn merging(&self) -> Merging {
        self.merging.expect("a launch that writes has no partial results")
    }

    /// Makes the identity, with which the partial result of a group begins.
    pub(in crate::run) fn identity(&self, group: Group) -> Result<Value, Trouble> {
        let block = self.result(group);
        let like = self.arrays.of(block).make(block)?;
        self.shielded("the identity", Some((group, 0)), || (self.merging().identity)(&like))
    }

    /// Merges a partial result into another.
    pub(in crate::run) fn merge(&self, group: Group, into: Value, part: Value) -> Result<Value, Trouble> {
        self.shielded("the merge", Some((group, 0)), || (self.merging().merge)(into, part))
    }

    /// Encodes a value of a group's result.
    pub(in crate::run) fn encode(&self, group: Group, value: &Value) -> Result<Vec<u8>, Trouble> {
        let block = self.result(group);
        self.arrays.of(block).encode(block, value)
    }

    /// Encodes a value of a group's result, and checks that the identity does not change it.
    pub(in crate::run) fn encode_checked(&self, group: Group, part: &Value) -> Result<Vec<u8>, Trouble> {
        let encoded = self.encode(group, part)?;
        let merged = self.merge(group, self.identity(group)?, part.clone())?;
        let merged = self.encode(group, &merged)?;
        // A hash table may have another order of equal entries: the same bytes in another order are no finding.
        let sorted = |bytes: &[u8]| {
            let mut counts = [0_usize; 256];
            bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
            counts
        };
        if merged == encoded || sorted(&merged) == sorted(&encoded) {
            return Ok(encoded);
        }
        let cause = format!(
            "the identity of {} is wrong: merged with it, a value of {} changes, in {self}; `Merge::identity` has to \
             return a value that changes nothing, such as 0 for a sum",
            short((self.merging().name)()),
            self.arrays.of(self.result(group)).show(self.result(group))
        );
        Err(Trouble { name: names::IDENTITY, cause })
    }
}
