//! The envelope of a packet: sender, number and checksum.

use super::DatagramError;
use super::reader::{Reader, put_u48};
use crate::Rank;
use crc_fast::CrcAlgorithm;

/// A packet's number at its sender. Never reused, even for the same data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PacketNumber(pub u64);

/// Bytes of a packet besides its frames.
pub const OVERHEAD: usize = HEADER + CHECKSUM;

const HEADER: usize = 8 + 4 + 6 + 2;
/// The length of the checksum at the end of a packet.
pub const CHECKSUM: usize = 4;

/// A packet with a valid envelope.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The packet's number.
    pub number: PacketNumber,
    /// The oldest packet that the sender waits for: lower numbers need no acknowledgement.
    pub floor: PacketNumber,
    /// The packet's frames, encoded.
    pub frames: &'a [u8],
}

/// The sender that a datagram names, which selects the connection. Checks the key first; [`open`] checks the rest.
///
/// # Errors
/// [`DatagramError::Truncated`] and [`DatagramError::ForeignKey`].
pub fn sender_of(key: u64, datagram: &[u8]) -> Result<Rank, DatagramError> {
    let truncated = DatagramError::Truncated { len: datagram.len() };
    let mut reader = Reader::new(datagram);
    if reader.u64().ok_or(truncated)? != key {
        return Err(DatagramError::ForeignKey);
    }
    if datagram.len() < OVERHEAD {
        return Err(truncated);
    }
    let rank = reader.u32().ok_or(truncated)?;
    Ok(Rank::new(rank as usize))
}

/// Checks and unwraps a datagram from `from` to `to`.
///
/// # Errors
/// [`DatagramError::Truncated`], [`ForeignKey`](DatagramError::ForeignKey),
/// [`ForeignRank`](DatagramError::ForeignRank), [`Corrupt`](DatagramError::Corrupt).
pub fn open(key: u64, from: Rank, to: Rank, datagram: &[u8]) -> Result<Packet<'_>, DatagramError> {
    let claimed = sender_of(key, datagram)?;
    let truncated = DatagramError::Truncated { len: datagram.len() };
    let (sealed, checksum) = datagram.split_last_chunk().ok_or(truncated)?;
    if checksum_of(to, sealed) != u32::from_le_bytes(*checksum) {
        return Err(DatagramError::Corrupt);
    }
    // Checked after the checksum, so that damage is not taken for a foreign rank.
    if claimed != from {
        return Err(DatagramError::ForeignRank { claimed, peer: from });
    }
    let (header, frames) = sealed.split_at(HEADER);
    let mut reader = Reader::new(&header[12..]);
    let number = reader.u48().ok_or(truncated)?;
    let distance = reader.u16().ok_or(truncated)?;
    Ok(Packet { number: PacketNumber(number), floor: PacketNumber(number.saturating_sub(u64::from(distance))), frames })
}

/// Starts a packet at the end of `buf`.
pub fn begin(buf: &mut Vec<u8>, key: u64, from: Rank, number: PacketNumber, floor: PacketNumber) {
    buf.extend_from_slice(&key.to_le_bytes());
    buf.extend_from_slice(&(from.index() as u32).to_le_bytes());
    put_u48(buf, number.0);
    // If clipped, the receiver ignores packets that are further behind, and their data is sent again.
    let distance = u16::try_from(number.0 - floor.0).unwrap_or(u16::MAX);
    buf.extend_from_slice(&distance.to_le_bytes());
}

/// Ends the packet that starts at `start` of `buf`.
pub fn seal(buf: &mut Vec<u8>, start: usize, to: Rank) {
    let checksum = checksum_of(to, &buf[start..]);
    buf.extend_from_slice(&checksum.to_le_bytes());
}

fn checksum_of(to: Rank, bytes: &[u8]) -> u32 {
    crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32 ^ to.index() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: u64 = 0x0123_4567_89ab_cdef;

    fn sealed() -> Vec<u8> {
        let mut buf = Vec::new();
        begin(&mut buf, KEY, Rank::new(3), PacketNumber(70_000), PacketNumber(69_990));
        buf.extend_from_slice(b"frames");
        seal(&mut buf, 0, Rank::new(5));
        buf
    }

    #[test]
    fn what_is_sealed_can_be_opened() {
        let datagram = sealed();
        assert_eq!(datagram.len(), OVERHEAD + 6);
        let packet = open(KEY, Rank::new(3), Rank::new(5), &datagram).unwrap();
        assert_eq!(packet.number, PacketNumber(70_000));
        assert_eq!(packet.floor, PacketNumber(69_990));
        assert_eq!(packet.frames, b"frames");
    }

    #[test]
    fn the_key_comes_first() {
        assert_eq!(sender_of(KEY, &sealed()), Ok(Rank::new(3)));
        assert_eq!(sender_of(KEY, &KEY.to_le_bytes()), Err(DatagramError::Truncated { len: 8 }));
        let short_and_foreign = [0; 9];
        assert_eq!(sender_of(KEY, &short_and_foreign), Err(DatagramError::ForeignKey));
    }

    #[test]
    fn the_wrong_rank_at_either_end_is_noticed() {
        let datagram = sealed();
        let misdirected = open(KEY, Rank::new(3), Rank::new(4), &datagram);
        assert_eq!(misdirected.unwrap_err(), DatagramError::Corrupt);
        let other = open(KEY, Rank::new(2), Rank::new(5), &datagram);
        assert_eq!(other.unwrap_err(), DatagramError::ForeignRank { claimed: Rank::new(3), peer: Rank::new(2) });
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        for bit in 0..sealed().len() * 8 {
            let mut datagram = sealed();
            datagram[bit / 8] ^= 1 << (bit % 8);
            assert!(open(KEY, Rank::new(3), Rank::new(5), &datagram).is_err());
        }
    }
}
