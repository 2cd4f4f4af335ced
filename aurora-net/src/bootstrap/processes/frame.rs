//! Messages on the control socket: a length, then the value encoded by postcard.

use crate::strangers;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind};

const LENGTH: usize = 4;

/// The maximum length of a message: more than the contacts of any job need.
const LONGEST: usize = 16 << 20;

/// The permitted length of a message, by its sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trust {
    /// The sender has not proved yet that it belongs to the job.
    Stranger,
    Rank,
}

pub(crate) fn encode(message: &impl Serialize) -> Vec<u8> {
    let body = postcard::to_stdvec(message).expect("messages are plain data");
    let mut frame = Vec::with_capacity(LENGTH + body.len());
    frame.extend((body.len() as u32).to_le_bytes());
    frame.extend(body);
    frame
}

#[derive(Debug, Default)]
pub(crate) struct Frames(Vec<u8>);

impl Frames {
    fn push(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    /// The next message, with as many calls of `read` as it takes.
    pub fn receive<T: DeserializeOwned>(
        &mut self,
        trust: Trust,
        mut read: impl FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<T> {
        loop {
            if let Some(message) = self.next(trust)? {
                return Ok(message);
            }
            let mut chunk = [0; 4096];
            match read(&mut chunk) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) => self.push(&chunk[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The next whole message. An error if the bytes are malformed or the message is too long for its sender.
    fn next<T: DeserializeOwned>(&mut self, trust: Trust) -> io::Result<Option<T>> {
        let Some(length) = self.0.first_chunk::<LENGTH>() else {
            return Ok(None);
        };
        let end = LENGTH + u32::from_le_bytes(*length) as usize;
        let longest = match trust {
            Trust::Stranger => strangers::LONGEST,
            Trust::Rank => LONGEST,
        };
        if end > longest {
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
            found.extend(frames.next::<String>(Trust::Stranger).unwrap());
        }
        assert_eq!(found, ["one", "two", ""]);
    }

    #[test]
    fn garbage_is_an_error() {
        for bytes in [&[0xff; 8][..], &[1, 0, 0, 0, 0xff][..]] {
            let mut frames = Frames::default();
            frames.push(bytes);
            assert!(frames.next::<String>(Trust::Rank).is_err());
        }
    }

    #[test]
    fn a_stranger_may_say_little() {
        let mut frames = Frames::default();
        frames.push(&encode(&"x".repeat(strangers::LONGEST))[..LENGTH]);
        assert!(frames.next::<String>(Trust::Stranger).is_err());
        assert!(frames.next::<String>(Trust::Rank).unwrap().is_none(), "the rest is waited for");
    }
}
