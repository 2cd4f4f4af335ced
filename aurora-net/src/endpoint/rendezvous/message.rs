//! The messages between two endpoints about transfers by a carrier. They travel as small transfers without a header.
//!
//! ```text
//! RTS      0 | id u64 | payload's length u64 | header
//! CTS      1 | id u64 | tag u16
//! NACK     2 | id u64
//! FIN      3 | id u64
//! ABORT    4 | id u64 | by its sender: 1, by its receiver: 0
//! PING     5
//! ```

use super::carrier::Tag;
use bytes::Bytes;

/// A message; `id` is the sender's number of the transfer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Message {
    /// Request to send: the sender could send a transfer by the carrier.
    Rts { id: u64, len: u64, header: Bytes },
    /// Clear to send: the receiver expects the transfer with this tag.
    Cts { id: u64, tag: Tag },
    /// The receiver declines: the transfer goes by UDP.
    Nack { id: u64 },
    /// The receiver has the whole transfer.
    Fin { id: u64 },
    /// The sender or the receiver has given the transfer up.
    Abort { id: u64, by_sender: bool },
    /// Asks for an acknowledgement, which every transfer gets.
    Ping,
}

impl Message {
    pub fn encode(&self) -> Bytes {
        let mut bytes = Vec::with_capacity(32);
        let mut begin = |kind: u8, id: u64| {
            bytes.push(kind);
            bytes.extend_from_slice(&id.to_le_bytes());
        };
        match self {
            Message::Rts { id, len, header } => {
                begin(0, *id);
                bytes.extend_from_slice(&len.to_le_bytes());
                bytes.extend_from_slice(header);
            }
            Message::Cts { id, tag } => {
                begin(1, *id);
                bytes.extend_from_slice(&tag.to_le_bytes());
            }
            Message::Nack { id } => begin(2, *id),
            Message::Fin { id } => begin(3, *id),
            Message::Abort { id, by_sender } => {
                begin(4, *id);
                bytes.push(u8::from(*by_sender));
            }
            Message::Ping => bytes.push(5),
        }
        bytes.into()
    }

    /// `None`: malformed.
    pub fn decode(bytes: &[u8]) -> Option<Message> {
        let (kind, rest) = bytes.split_first()?;
        if *kind == 5 {
            return rest.is_empty().then_some(Message::Ping);
        }
        let (id, rest) = rest.split_first_chunk()?;
        let id = u64::from_le_bytes(*id);
        match (kind, rest) {
            (0, rest) => {
                let (len, header) = rest.split_first_chunk()?;
                Some(Message::Rts { id, len: u64::from_le_bytes(*len), header: Bytes::copy_from_slice(header) })
            }
            (1, &[low, high]) => Some(Message::Cts { id, tag: Tag::from_le_bytes([low, high]) }),
            (2, []) => Some(Message::Nack { id }),
            (3, []) => Some(Message::Fin { id }),
            (4, [by_sender @ (0 | 1)]) => Some(Message::Abort { id, by_sender: *by_sender == 1 }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_decoded_as_encoded_and_nonsense_is_not() {
        let messages = [
            Message::Rts { id: 1 << 40, len: 1 << 33, header: Bytes::from_static(b"header") },
            Message::Rts { id: 0, len: 1, header: Bytes::new() },
            Message::Cts { id: 7, tag: 300 },
            Message::Nack { id: 8 },
            Message::Fin { id: 9 },
            Message::Abort { id: 10, by_sender: true },
            Message::Abort { id: 11, by_sender: false },
            Message::Ping,
        ];
        for message in messages {
            let bytes = message.encode();
            assert_eq!(Message::decode(&bytes), Some(message.clone()));
            let longer = [&bytes[..], &[0]].concat();
            let is_rts = matches!(message, Message::Rts { .. });
            assert_eq!(Message::decode(&longer).is_some(), is_rts, "{message:?} and a byte more");
            for end in 0..bytes.len().min(9) {
                assert_eq!(Message::decode(&bytes[..end]), None, "{message:?} cut at {end}");
            }
        }
        assert_eq!(Message::decode(&[6, 0, 0, 0, 0, 0, 0, 0, 0]), None);
    }
}
