//! Checksums of blocks, by which a result is compared with the result of the sequential program.

/// An odd number whose bits look random: 2^64 divided by the golden ratio.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// A checksum of all values and their order. Each step is a bijection of the checksum before it, and a bijection of the
/// value: so a change of one value always changes the result.
pub fn checksum<'v>(values: impl IntoIterator<Item = &'v f64>) -> u64 {
    values.into_iter().fold(FACTOR, |sum, value| (sum.rotate_left(23) ^ value.to_bits()).wrapping_mul(FACTOR))
}

/// Two lists as one.
pub fn joined(mut all: Vec<u64>, more: Vec<u64>) -> Vec<u64> {
    all.extend(more);
    all
}

/// The number of blocks whose checksums are not the right ones. Missing and additional blocks count too.
pub fn wrong(right: &[u64], found: &[u64]) -> u64 {
    let differ = right.iter().zip(found).filter(|(right, found)| right != found).count();
    (differ + right.len().abs_diff(found.len())) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_one_value_changes_the_checksum() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let right = checksum(&values);
        for at in 0..100 {
            let mut changed = values.clone();
            changed[at] += 1.0;
            assert_ne!(checksum(&changed), right);
            changed.swap(at, (at + 1) % 100);
            assert_ne!(checksum(&changed), right);
        }
        assert_ne!(checksum(&[0.0]), checksum(&[0.0, 0.0]));
    }

    #[test]
    fn missing_blocks_are_wrong() {
        assert_eq!(
            [wrong(&[1, 2], &[1, 2]), wrong(&[1, 2], &[2, 2]), wrong(&[1, 2], &[1]), wrong(&[], &[3])],
            [0, 1, 1, 1]
        );
    }
}
