//! The numbers by which ranks name types and operations, and the operations that an object knows.

use serde::{Deserialize, Serialize};
use std::any::{TypeId, type_name};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// The short name of a type, without its path.
pub(crate) fn short<T>() -> &'static str {
    let name = type_name::<T>();
    name.split(['<', '(', '['])
        .next()
        .and_then(|path| path.rsplit("::").next())
        .filter(|n| !n.is_empty())
        .unwrap_or(name)
}

/// A type's number, the same on all ranks: they run the same program, in which a `TypeId` belongs to one type. A name
/// does not: two blocks of one function, or two uses of a macro, can each declare a `struct O`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct TypeKey(u64);

impl TypeKey {
    #[inline]
    pub(crate) fn of<T: 'static>() -> Self {
        let mut bits = Bits(0);
        TypeId::of::<T>().hash(&mut bits);
        TypeKey(bits.finish())
    }

    #[inline]
    pub(crate) fn number(self) -> u64 {
        self.0
    }
}

/// Passes on the value that a `TypeId` hashes, which is a hash already.
struct Bits(u64);

impl Hasher for Bits {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    #[inline]
    fn write_u64(&mut self, bits: u64) {
        self.0 = crate::digest::add(self.0, bits);
    }
}

/// An operation's number, the same on all ranks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct OpId(TypeKey);

impl OpId {
    /// The number of operation `O`.
    #[inline]
    pub fn of<O: 'static>() -> Self {
        OpId(TypeKey::of::<O>())
    }
}

/// The operations that an object knows, and the function `F` that applies each to its elements.
#[derive(Clone, Debug)]
pub(crate) struct Operations<F> {
    known: BTreeMap<OpId, Known<F>>,
}

#[derive(Clone, Debug)]
struct Known<F> {
    /// The operation's type: another operation may have the same 64-bit number.
    of: TypeId,
    name: &'static str,
    apply: F,
}

/// Two operations of the program have one number: the name of the operation that was known first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SameNumber(pub(crate) &'static str);

impl<F> Default for Operations<F> {
    fn default() -> Self {
        Operations { known: BTreeMap::new() }
    }
}

impl<F: Copy> Operations<F> {
    /// Adds an operation; a known one stays as it is. An error if another operation has its number.
    pub(crate) fn add<O: 'static>(&mut self, apply: F) -> Result<OpId, SameNumber> {
        let (id, known) = (OpId::of::<O>(), Known { of: TypeId::of::<O>(), name: type_name::<O>(), apply });
        self.insert(id, known).map(|()| id)
    }

    fn insert(&mut self, id: OpId, new: Known<F>) -> Result<(), SameNumber> {
        let of = new.of;
        let known = self.known.entry(id).or_insert(new);
        if known.of == of { Ok(()) } else { Err(SameNumber(known.name)) }
    }

    pub(crate) fn knows<O: 'static>(&self) -> bool {
        self.known.get(&OpId::of::<O>()).is_some_and(|known| known.of == TypeId::of::<O>())
    }

    #[inline]
    pub(crate) fn find(&self, id: OpId) -> Option<F> {
        self.known.get(&id).map(|known| known.apply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two types of one name.
    fn pair() -> [(TypeKey, &'static str); 2] {
        let first = {
            struct O;
            (TypeKey::of::<O>(), type_name::<O>())
        };
        let second = {
            struct O;
            (TypeKey::of::<O>(), type_name::<O>())
        };
        [first, second]
    }

    #[test]
    fn types_of_one_name_are_told_apart() {
        let [first, second] = pair();
        assert_eq!(first.1, second.1);
        assert_ne!(first.0, second.0);
        assert_eq!(pair()[0], first);
    }

    #[test]
    fn what_is_known_stays() {
        let mut known = Operations::default();
        let id = known.add::<u8>(1).expect("the first");
        assert_eq!(known.add::<u8>(2), Ok(id));
        assert_eq!((known.find(id), known.knows::<u8>(), known.knows::<u16>()), (Some(1), true, false));
        assert_eq!(known.find(OpId::of::<u16>()), None);
    }

    #[test]
    fn a_number_that_two_have_is_never_the_wrong_function() {
        let mut known = Operations::default();
        let first = Known { of: TypeId::of::<u8>(), name: "first", apply: 1 };
        let second = Known { of: TypeId::of::<u16>(), name: "second", apply: 2 };
        // The number of the second, as if it were that of the first too.
        let id = OpId::of::<u16>();
        assert_eq!(known.insert(id, first), Ok(()));
        assert_eq!(known.insert(id, second), Err(SameNumber("first")));
        assert_eq!((known.find(id), known.knows::<u16>()), (Some(1), false));
    }
}
