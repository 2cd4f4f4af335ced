//! The value of a scalar at its home, and its changes by requests.

use crate::memory::Word;
use crate::ops::OpId;
use crate::scalar::message::ScalarRequest;
use crate::scalar::{ScalarFn, plain};
use std::sync::Arc;

/// The value, encoded.
#[derive(Debug)]
pub(crate) enum Value {
    /// A value that only the home's kernel knows.
    Bytes(Vec<u8>),
    /// A number, with its length in bytes. Ranks of the home's node also change it in place.
    Word(Arc<Word>, usize),
}

impl Value {
    /// From its encoding; `is_word`: a number of up to 8 bytes, kept in a word of this rank's own memory.
    pub(crate) fn new(bytes: Vec<u8>, is_word: bool) -> Self {
        let mut value = Value::Bytes(bytes);
        if is_word {
            value.move_to(Word::own());
        }
        value
    }

    /// Moves the value to a word that no rank uses yet.
    pub(crate) fn move_to(&mut self, word: Word) {
        let bytes = self.read();
        word.change(|_| plain::word(&bytes));
        *self = Value::Word(Arc::new(word), bytes.len());
    }

    pub(crate) fn word(&self) -> Option<&Arc<Word>> {
        match self {
            Value::Bytes(_) => None,
            Value::Word(word, _) => Some(word),
        }
    }

    pub(crate) fn read(&self) -> Vec<u8> {
        match self {
            Value::Bytes(bytes) => bytes.clone(),
            Value::Word(word, len) => word.get().to_le_bytes()[..*len].to_vec(),
        }
    }

    /// Replaces the value by `new(value)`, again if a rank has changed it in place meanwhile. Returns the old value,
    /// and true if the new value differs; `None` if `new` gives no value that fits.
    pub(crate) fn change(&mut self, mut new: impl FnMut(&[u8]) -> Option<Vec<u8>>) -> Option<(Vec<u8>, bool)> {
        match self {
            Value::Bytes(bytes) => {
                let old = std::mem::replace(bytes, new(bytes)?);
                let changed = *bytes != old;
                Some((old, changed))
            }
            Value::Word(word, len) => change_word(word, *len, new),
        }
    }
}

/// As [`Value::change`], of a number of `len` bytes in a word.
pub(crate) fn change_word(
    word: &Word,
    len: usize,
    mut new: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> Option<(Vec<u8>, bool)> {
    let mut made = 0;
    let old = word.change(|old| {
        made = new(&old.to_le_bytes()[..len]).filter(|new| new.len() == len).and_then(|new| plain::word(&new))?;
        Some(made)
    })?;
    Some((old.to_le_bytes()[..len].to_vec(), made != old))
}

/// The value after a request, with operations from `find`; `None` if the payload does not fit.
pub(crate) fn requested(
    request: ScalarRequest,
    payload: &[u8],
    current: &[u8],
    find: impl Fn(OpId) -> Option<ScalarFn>,
) -> Option<Vec<u8>> {
    match request {
        ScalarRequest::Load => Some(current.to_vec()),
        ScalarRequest::Swap => Some(payload.to_vec()),
        ScalarRequest::Fetch(op) => find(op)?(current, payload),
        ScalarRequest::CompareExchange => {
            let (len, rest) = payload.split_at_checked(4)?;
            let (expected, new) = rest.split_at_checked(u32::from_le_bytes(len.try_into().ok()?) as usize)?;
            Some(if expected == current { new.to_vec() } else { current.to_vec() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_bytes_change_alike() {
        for is_word in [true, false] {
            let mut value = Value::new(vec![5, 1], is_word);
            assert_eq!((value.word().is_some(), value.read()), (is_word, vec![5, 1]));
            assert_eq!(value.change(|old| Some(vec![old[0] + 1, 9])), Some((vec![5, 1], true)));
            assert_eq!(value.change(|old| Some(old.to_vec())), Some((vec![6, 9], false)));
            assert_eq!(value.change(|_| None), None);
            assert_eq!(value.read(), [6, 9]);
        }
        assert_eq!(Value::new(vec![5, 1], true).change(|_| Some(vec![1])), None, "numbers do not shrink");
    }

    #[test]
    fn what_requests_make() {
        let none = |_| None;
        let exchange = [&2_u32.to_le_bytes()[..], &[7, 8], &[1]].concat();
        let made = |request, payload: &[u8], current: &[u8]| requested(request, payload, current, none);
        assert_eq!(made(ScalarRequest::CompareExchange, &exchange, &[7, 8]), Some(vec![1]));
        assert_eq!(made(ScalarRequest::CompareExchange, &exchange, &[7, 9]), Some(vec![7, 9]));
        assert_eq!(made(ScalarRequest::CompareExchange, &exchange[..5], &[7, 9]), None);
        assert_eq!(made(ScalarRequest::Swap, &[3], &[7]), Some(vec![3]));
        assert_eq!(made(ScalarRequest::Load, &[], &[7]), Some(vec![7]));
    }
}
