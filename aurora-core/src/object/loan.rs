//! Memory of an object that the transport reads or writes at this moment.

use crate::ids::ObjectId;
use aurora_net::Token;
use std::collections::HashMap;

/// Memory of an object that the transport uses: a number that the object chooses, below 2^40.
///
/// An object lends memory to be read ([`Cx::lent`](super::Cx::lent)) or written ([`Place::At`](super::Place::At)). The
/// transport names the loan in [`read`](super::SharedObject::read) and [`write`](super::SharedObject::write). An object
/// with many kinds of loans keeps them in a [`Loans`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Loan(u64);

/// Bits of a token that the object chooses. The object's number stands above them.
const BITS: u32 = 40;

/// Parts of an object, each with loans of its own.
const TAGS: u64 = 16;

impl Loan {
    /// The loan of this number.
    ///
    /// # Panics
    /// If the number has more than 40 bits.
    pub fn new(number: u64) -> Self {
        assert!(number >> BITS == 0, "a loan's number has 40 bits at most");
        Loan(number)
    }

    /// Returns the number of this loan.
    pub fn number(self) -> u64 {
        self.0
    }

    /// The part of the object to which the loan belongs: [`Loans::tagged`].
    pub(crate) fn tag(self) -> u8 {
        (self.0 % TAGS) as u8
    }

    /// The loan that a token of the transport stands for, as the called object knows it.
    pub fn of(token: Token) -> Self {
        Loan(token.0 & ((1 << BITS) - 1))
    }

    /// The transport's name of a loan of `object`.
    pub(crate) fn token(self, object: ObjectId) -> Token {
        Token(object.0 << BITS | self.0)
    }
}

pub(crate) fn object_of(token: Token) -> ObjectId {
    ObjectId(token.0 >> BITS)
}

/// The loans of one object, each with a value of the object's own.
#[derive(Debug)]
pub struct Loans<L> {
    next: u64,
    loans: HashMap<Loan, L>,
}

impl<L> Default for Loans<L> {
    fn default() -> Self {
        Loans::tagged(0)
    }
}

impl<L> Loans<L> {
    /// The loans of the part of an object with this number, below 16.
    pub(crate) fn tagged(tag: u8) -> Self {
        assert!(u64::from(tag) < TAGS, "a tag has 4 bits");
        Loans { next: tag.into(), loans: HashMap::new() }
    }

    /// Adds a loan.
    pub fn add(&mut self, loan: L) -> Loan {
        // After 2^36 loans the numbers begin again. They keep their tag.
        let number = loop {
            self.next = (self.next + TAGS) % (1 << BITS);
            if !self.loans.contains_key(&Loan(self.next)) {
                break Loan(self.next);
            }
        };
        self.loans.insert(number, loan);
        number
    }

    /// The value of a loan. `None`: it has ended.
    pub fn get(&self, loan: Loan) -> Option<&L> {
        self.loans.get(&loan)
    }

    /// The value of a loan, mutably.
    pub fn get_mut(&mut self, loan: Loan) -> Option<&mut L> {
        self.loans.get_mut(&loan)
    }

    /// Ends a loan.
    pub fn end(&mut self, loan: Loan) -> Option<L> {
        self.loans.remove(&loan)
    }

    /// The values of all loans.
    pub fn values(&self) -> impl Iterator<Item = &L> {
        self.loans.values()
    }

    /// The values of all loans, mutably.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut L> {
        self.loans.values_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_begin_again_and_keep_their_tag() {
        let mut loans = Loans::tagged(3);
        let first = loans.add('a');
        loans.next = (1 << BITS) - 2 * TAGS + 3;
        let later = ['b', 'c', 'd'].map(|value| loans.add(value));
        // The first number after the end is 3, and the next one is taken.
        assert_eq!(later.map(Loan::number), [(1 << BITS) - TAGS + 3, 3, 2 * TAGS + 3]);
        assert!(later.iter().chain([&first]).all(|loan| loan.tag() == 3));
        assert_eq!((loans.end(later[1]), loans.get(first), loans.values().count()), (Some('c'), Some(&'a'), 3));
    }
}
