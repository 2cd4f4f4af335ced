use crate::digest;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::ops::Range;

/// The maximum number of characters of a name.
const LONGEST: usize = 60;

/// A key as the detector knows it: its place among all keys, which is a digest of its encoding, and its name. The hash
/// of a key is no place, because different keys may have the same hash.
#[derive(Serialize, Deserialize)]
pub(crate) struct Place {
    digest: u64,
    pub(super) name: String,
}

impl Place {
    /// The place of `key`, or `None` if serde cannot encode it.
    pub(crate) fn of(key: &(impl Serialize + ?Sized)) -> Option<Self> {
        let encoded = postcard::to_allocvec(key).ok()?;
        let name = serde_json::to_string(key).unwrap_or_else(|_| hexadecimal(&encoded));
        Some(Place { digest: digest::of(&encoded), name: cut(name) })
    }

    /// The range of this place alone: no place is the last number.
    pub(crate) fn range(&self) -> Range<usize> {
        let place = (self.digest >> 1) as usize;
        place..place + 1
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::from("0x");
    bytes.iter().take(LONGEST).for_each(|byte| write!(text, "{byte:02x}").expect("memory takes all"));
    text
}

fn cut(mut name: String) -> String {
    if let Some((end, _)) = name.char_indices().nth(LONGEST) {
        name.truncate(end);
        name.push_str("..");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn name(key: &(impl Serialize + ?Sized)) -> String {
        Place::of(key).expect("it can be encoded").name
    }

    #[test]
    fn names_are_readable_and_short() {
        assert_eq!([name("word"), name(&7u64), name(&(3, 'x'))], ["\"word\"", "7", "[3,\"x\"]"]);
        assert_eq!(name(&BTreeMap::from([((1u8, 2u8), 3u8)])), "0x01010203");
        assert_eq!(name(&"é".repeat(100)), format!("\"{}..", "é".repeat(59)));
        assert_eq!(name(&BTreeMap::from([((), [7u8; 100].to_vec())])).len(), LONGEST + 2);
    }

    #[test]
    fn what_a_key_is_borrowed_as_has_its_place() {
        let place = |place: Option<Place>| place.expect("it can be encoded").range();
        assert_eq!(place(Place::of("word")), place(Place::of(&String::from("word"))));
        assert_ne!(place(Place::of("word")), place(Place::of("wort")));
    }
}
