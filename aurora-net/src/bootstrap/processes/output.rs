//! Prints the output of a started process on stderr, each line with its rank.

use crate::Rank;
use rustix::io::Errno;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Longer lines are split.
const LONGEST: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct OutputPipe {
    pipe: Option<OwnedFd>,
    lines: Lines,
}

impl OutputPipe {
    pub fn new(rank: Rank, pipe: impl Into<OwnedFd>) -> io::Result<Self> {
        let pipe = pipe.into();
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok(OutputPipe { pipe: Some(pipe), lines: Lines::new(rank) })
    }

    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Prints all complete lines that have arrived.
    pub fn forward(&mut self) {
        let mut chunk = [0; 16 << 10];
        while let Some(pipe) = &self.pipe {
            match rustix::io::read(pipe, &mut chunk) {
                Ok(0) => return self.finish(),
                Ok(length) => print(&self.lines.push(&chunk[..length])),
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(_) => return self.finish(),
            }
        }
    }

    /// Prints the rest and closes the pipe. Another process may hold the other end open after the rank has ended.
    pub fn finish(&mut self) {
        if self.pipe.take().is_some() {
            print(&self.lines.rest());
        }
    }
}

fn print(bytes: &[u8]) {
    if !bytes.is_empty() {
        // Errors are ignored: stderr may be closed.
        let _ = io::stderr().lock().write_all(bytes);
    }
}

/// Splits bytes into lines and prefixes each with the rank.
#[derive(Debug)]
struct Lines {
    prefix: Vec<u8>,
    begun: Vec<u8>,
}

impl Lines {
    fn new(rank: Rank) -> Self {
        Lines { prefix: format!("[{}] ", rank.index()).into_bytes(), begun: Vec::new() }
    }

    fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut whole = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend(piece);
            if piece.ends_with(b"\n") || self.begun.len() > LONGEST {
                whole.extend(self.rest());
            }
        }
        whole
    }

    fn rest(&mut self) -> Vec<u8> {
        if self.begun.is_empty() {
            return Vec::new();
        }
        let mut line = self.prefix.clone();
        line.append(&mut self.begun);
        if !line.ends_with(b"\n") {
            line.push(b'\n');
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_prefixed_once_and_whole() {
        let mut lines = Lines::new(Rank::new(3));
        assert_eq!(lines.push(b"one\ntw"), b"[3] one\n");
        assert_eq!(lines.push(b"o\n\nthr"), b"[3] two\n[3] \n");
        assert_eq!(lines.rest(), b"[3] thr\n");
        assert_eq!(lines.rest(), b"");
        let long = lines.push(&[b'x'; LONGEST + 1]);
        assert_eq!(long.len(), 4 + LONGEST + 2);
    }
}
