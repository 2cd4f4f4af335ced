//! What two endpoints tell each other about transfers that a carrier may move: small transfers of their own, without a header.
//!
//! ```text
//! OFFER    0 | id u64 | payload's length u64 | header
//! ACCEPT   1 | id u64 | tag u16
//! DECLINE  2 | id u64
//! TAKEN    3 | id u64
//! DROPPED  4 | id u64 | by its sender: 1, by its receiver: 0
//! PING     5
//! ```

use super::carrier::Tag;
use bytes::Bytes;

/// One of them; `id` is the number that the transfer's sender has given it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Note {
    /// A transfer may come by the carrier.
    Offer { id: u64, len: u64, header: Bytes },
    /// It shall, with this tag.
    Accept { id: u64, tag: Tag },
    /// It shall not.
    Decline { id: u64 },
    /// The whole of it is here.
    Taken { id: u64 },
    /// Its sender or its receiver has given it up.
    Dropped { id: u64, by_sender: bool },
    /// To be acknowledged, as all transfers are.
    Ping,
}

impl Note {
    pub fn encode(&self) -> Bytes {
        let mut bytes = Vec::with_capacity(32);
        let mut begin = |kind: u8, id: u64| {
            bytes.push(kind);
            bytes.extend_from_slice(&id.to_le_bytes());
        };
        match self {
            Note::Offer { id, len, header } => {
                begin(0, *id);
                bytes.extend_from_slice(&len.to_le_bytes());
                bytes.extend_from_slice(header);
            }
            Note::Accept { id, tag } => {
                begin(1, *id);
                bytes.extend_from_slice(&tag.to_le_bytes());
            }
            Note::Decline { id } => begin(2, *id),
            Note::Taken { id } => begin(3, *id),
            Note::Dropped { id, by_sender } => {
                begin(4, *id);
                bytes.push(u8::from(*by_sender));
            }
            Note::Ping => bytes.push(5),
        }
        bytes.into()
    }

    /// None: it makes no sense.
    pub fn decode(bytes: &[u8]) -> Option<Note> {
        let (kind, rest) = bytes.split_first()?;
        if *kind == 5 {
            return rest.is_empty().then_some(Note::Ping);
        }
        let (id, rest) = rest.split_first_chunk()?;
        let id = u64::from_le_bytes(*id);
        match (kind, rest) {
            (0, rest) => {
                let (len, header) = rest.split_first_chunk()?;
                Some(Note::Offer { id, len: u64::from_le_bytes(*len), header: Bytes::copy_from_slice(header) })
            }
            (1, &[low, high]) => Some(Note::Accept { id, tag: Tag::from_le_bytes([low, high]) }),
            (2, []) => Some(Note::Decline { id }),
            (3, []) => Some(Note::Taken { id }),
            (4, [by_sender @ (0 | 1)]) => Some(Note::Dropped { id, by_sender: *by_sender == 1 }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_survive_the_wire_and_nonsense_does_not() {
        let notes = [
            Note::Offer { id: 1 << 40, len: 1 << 33, header: Bytes::from_static(b"header") },
            Note::Offer { id: 0, len: 1, header: Bytes::new() },
            Note::Accept { id: 7, tag: 300 },
            Note::Decline { id: 8 },
            Note::Taken { id: 9 },
            Note::Dropped { id: 10, by_sender: true },
            Note::Dropped { id: 11, by_sender: false },
            Note::Ping,
        ];
        for note in notes {
            let bytes = note.encode();
            assert_eq!(Note::decode(&bytes), Some(note.clone()));
            let longer = [&bytes[..], &[0]].concat();
            let is_offer = matches!(note, Note::Offer { .. });
            assert_eq!(Note::decode(&longer).is_some(), is_offer, "{note:?} and a byte more");
            for end in 0..bytes.len().min(9) {
                assert_eq!(Note::decode(&bytes[..end]), None, "{note:?} cut at {end}");
            }
        }
        assert_eq!(Note::decode(&[6, 0, 0, 0, 0, 0, 0, 0, 0]), None);
    }
}
