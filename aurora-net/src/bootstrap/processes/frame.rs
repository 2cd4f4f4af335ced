//! Messages on the control socket: a length, then the value in postcard's form.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind};

const LENGTH: usize = 4;

/// More than the contacts of any job take.
const LONGEST: usize = 16 << 20;

/// `message` as bytes for the socket.
pub(crate) fn encode(message: &impl Serialize) -> Vec<u8> {
    let body = postcard::to_stdvec(message).expect("messages are plain data");
    let mut frame = Vec::with_capacity(LENGTH + body.len());
    frame.extend((body.len() as u32).to_le_bytes());
    frame.extend(body);
    frame
}

/// Bytes that have arrived, until they make a message.
#[derive(Debug, Default)]
pub(crate) struct Frames(Vec<u8>);

impl Frames {
    /// Adds what has arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    /// The next whole message; an error where the bytes make none.
    pub fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let Some(length) = self.0.first_chunk::<LENGTH>() else {
            return Ok(None);
        };
        let end = LENGTH + u32::from_le_bytes(*length) as usize;
        if end > LONGEST {
            return Err(ErrorKind::InvalidData.into());
        }
        let Some(body) = self.0.get(LENGTH..end) else {
            return Ok(None);
        };
        let message = postcard::from_bytes(body).map_err(|_| ErrorKind::InvalidData)?;
        self.0.drain(..end);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_out_whole_however_they_arrive() {
        let bytes = [encode(&"one"), encode(&"two"), encode(&"")].concat();
        let mut frames = Frames::default();
        let mut found: Vec<String> = Vec::new();
        for byte in bytes {
            frames.push(&[byte]);
            found.extend(frames.next::<String>().unwrap());
        }
        assert_eq!(found, ["one", "two", ""]);
    }

    #[test]
    fn garbage_is_an_error() {
        for bytes in [&[0xff; 8][..], &[1, 0, 0, 0, 0xff][..]] {
            let mut frames = Frames::default();
            frames.push(bytes);
            assert!(frames.next::<String>().is_err());
        }
    }
}
