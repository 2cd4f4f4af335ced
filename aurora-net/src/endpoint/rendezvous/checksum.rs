//! The checksum behind each piece, which detects bit flips that MPI's transport does not.

use crc_fast::{CrcAlgorithm, checksum};

pub(super) const LEN: usize = 4;

pub(super) fn append(piece: &mut Vec<u8>, id: u64, offset: usize) {
    let sum = checksum_of(piece, id, offset);
    piece.extend_from_slice(&sum);
}

/// The content of a received piece, if its checksum matches the content, the transfer and the offset.
pub(super) fn verified(sealed: &[u8], id: u64, offset: usize) -> Option<&[u8]> {
    let (piece, sum) = sealed.split_last_chunk()?;
    (*sum == checksum_of(piece, id, offset)).then_some(piece)
}

/// CRC32C of the content, combined with the transfer and the offset.
fn checksum_of(piece: &[u8], id: u64, offset: usize) -> [u8; LEN] {
    let which = (id as u32).rotate_left(16) ^ offset as u32;
    (checksum(CrcAlgorithm::Crc32Iscsi, piece) as u32 ^ which).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flipped_bit_and_another_piece_are_noticed() {
        let mut piece = b"a piece".to_vec();
        append(&mut piece, 3, 512);
        assert_eq!(verified(&piece, 3, 512), Some(&b"a piece"[..]));
        assert_eq!(verified(&piece, 4, 512), None);
        assert_eq!(verified(&piece, 3, 0), None);
        for bit in 0..8 * piece.len() {
            let mut damaged = piece.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(verified(&damaged, 3, 512), None, "bit {bit}");
        }
        assert_eq!(verified(&piece[..3], 3, 512), None);
    }
}
