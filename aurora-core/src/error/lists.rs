//! Texts that list the blocks of a vector, such as `GVector<u64> of 8 elements in blocks of [3, 0, 5]`. A job may have
//! a thousand ranks: errors show the first of them, and where two lists differ.

use super::Claim;
use std::borrow::Cow;
use std::fmt;

/// The text before a list, and the text between its numbers.
const BEFORE: &str = " in blocks of ";
const BETWEEN: &str = ", ";

/// The text before the list, the numbers, and the text behind them.
fn split(text: &str) -> Option<(&str, &str, &str)> {
    let listed = text.find(BEFORE)?;
    let first = listed + text[listed..].find('[')? + 1;
    let end = first + text[first..].find(']')?;
    Some((&text[..first], &text[first..end], &text[end..]))
}

/// The text with at most the first eight numbers of a list.
pub(crate) fn clip(text: &str) -> Cow<'_, str> {
    const SHOWN: usize = 8;
    let Some((before, list, behind)) = split(text) else {
        return text.into();
    };
    match list.match_indices(BETWEEN).nth(SHOWN - 1) {
        None => text.into(),
        Some((end, _)) => {
            let more = list[end..].matches(BETWEEN).count();
            format!("{before}{} and {more} more{behind}", &list[..end]).into()
        }
    }
}

/// A [`Claim`] with a clipped list.
pub(super) struct Clipped<'a>(pub(super) &'a Claim);

impl fmt::Display for Clipped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Claim { rank, action, site } = self.0;
        write!(f, "{rank} {} at {site}", clip(action))
    }
}

/// The first rank for which the lists of two calls differ.
pub(super) fn first_difference(first: &Claim, second: &Claim) -> Option<String> {
    let ((_, first, _), (_, second, _)) = (split(&first.action)?, split(&second.action)?);
    let mut pairs = first.split(BETWEEN).zip(second.split(BETWEEN)).enumerate();
    let (rank, (first, second)) = pairs.find(|(_, (first, second))| first != second)?;
    Some(format!("; the lists differ first at rank {rank}: {first} and {second}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Site;
    use aurora_net::Rank;

    fn claim(action: String) -> Claim {
        Claim { rank: Rank::new(3), action, site: Site::here() }
    }

    #[test]
    fn long_lists_are_clipped() {
        let of = |blocks: &[usize]| {
            clip(&format!("GVector<[u8; 2]> of 9 elements in blocks of {blocks:?} rows")).into_owned()
        };
        let begin = "GVector<[u8; 2]> of 9 elements in blocks of [";
        assert_eq!(of(&[]), format!("{begin}] rows"));
        assert_eq!(of(&[1, 2, 3, 4, 5, 6, 7, 8]), format!("{begin}1, 2, 3, 4, 5, 6, 7, 8] rows"));
        assert_eq!(of(&[1; 10]), format!("{begin}1, 1, 1, 1, 1, 1, 1, 1 and 2 more] rows"));
        let other = format!("GVector<[u8; 2]> of {:?}", [1; 20]);
        assert_eq!(clip(&other), other);
        let claim = claim(format!("makes 9 elements in blocks of {:?}", [1; 9]));
        assert!(Clipped(&claim).to_string().contains("1, 1 and 1 more] at "));
    }

    #[test]
    fn the_first_rank_that_differs_is_named() {
        let of = |blocks: &[usize]| claim(format!("makes GVector<[u8; 2]> of 9 elements in blocks of {blocks:?}"));
        let (mut one, mut other) = (vec![4; 100], vec![4; 100]);
        assert_eq!(first_difference(&of(&one), &of(&other)), None);
        (one[77], other[77], other[90]) = (5, 3, 0);
        let words = "; the lists differ first at rank 77: 5 and 3";
        assert_eq!(first_difference(&of(&one), &of(&other)).as_deref(), Some(words));
        assert_eq!(first_difference(&of(&one), &claim("makes 9 elements".into())), None);
    }
}
